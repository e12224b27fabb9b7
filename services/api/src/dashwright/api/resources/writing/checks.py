"""Checks of a write against stored objects. Call them in the transaction of the write, under the lock of objects."""

from typing import Final

import orjson

from dashwright.api.domain import batch_items
from dashwright.api.domain.access.view import AccessView, bypasses_rules
from dashwright.api.resources.metadata import annotations_of, check_unmanaged, finalizers_of, is_deleting
from dashwright.api.resources.writing import declared, removal
from dashwright.api.stores import folders, lists
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Cause, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.annotations import CALLER_TOOLS, FOLDER_KEY, FROM_FILE, MANAGED_BY, repository_of
from dashwright.common.kinds.batch import DEFAULT_ITEM_KIND
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import BATCH, DASHBOARD, FOLDER, LIBRARY_PANEL, PLAYLIST, REPOSITORY
from dashwright.common.kinds.repository import source_of
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import RepositoryStatus, RepositoryType, SyncTarget
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import changes, quotas, repositories, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import StoredObject

#: Number of repositories that are read in one batch.
_PAGE_SIZE: Final = 200


async def check_write(
    connection: Connection, namespace: str, write: resources.Write, current: StoredObject | None, settings: AdmissionSettings
) -> None:
    """Raise an error if stored objects forbid the write.

    Raises NotFound for a missing folder, and BadRequest for a folder inside itself or nested too deeply. Raises Invalid for a
    second repository that is synced to the instance instead of a folder, or that reads the same files as another one.
    """
    # A new folder inside itself is refused by this check, before its parent is reported as missing.
    if write.kind.is_tree:
        await check_nesting(connection, namespace, write, current, max_depth=settings.folder_depth)
    if write.kind.in_folder:
        await check_folder(connection, namespace, write, current)
    if write.kind is REPOSITORY:
        target = orjson.loads(write.spec)["sync"]["target"]
        if current is not None:
            _check_target(current, target)
        if target == SyncTarget.INSTANCE:
            await _check_single_instance_target(connection, namespace, write.name)
        await _check_source(connection, namespace, write, current, settings)


def check_caller_permissions(write: resources.Write, current: StoredObject | None, caller: Identity) -> None:
    """Raise Forbidden if a caller may not create the items of a batch.

    Also raises Forbidden if a caller who is not an Admin adds a manager or finalizer, because these restrict what Admins may do.
    """
    if write.kind is BATCH and current is None:
        items = orjson.loads(write.spec).get("items") or ()
        batch_items.require_permissions({item.get("kind", DEFAULT_ITEM_KIND) for item in items}, caller)
    if bypasses_rules(caller):
        return
    # Clients send back the metadata that they read, so a stored manager and stored finalizers are permitted.
    manager = write.annotations.get(MANAGED_BY)
    current_manager = None if current is None else annotations_of(current).get(MANAGED_BY)
    if manager is not None and manager not in (current_manager, *CALLER_TOOLS):
        message = f'{MANAGED_BY}: only an Admin may set "{manager[:100]}"; use one of {", ".join(sorted(CALLER_TOOLS))}, or leave it out'
        raise Forbidden(message)
    current_finalizers = () if current is None else orjson.loads(current.metadata).get("finalizers") or ()
    added_finalizers = set(write.finalizers) - {*current_finalizers, *write.kind.finalizers}
    if added_finalizers:
        raise Forbidden(f"metadata.finalizers: only an Admin may add {', '.join(sorted(added_finalizers))[:100]}; leave finalizers out")


async def check_quota(connection: Connection, kind: Kind, namespace: str, limits: QuotaRules, settings: AdmissionSettings) -> None:
    """Raise QuotaReached or Forbidden if the object that this transaction created exceeds the quota or limit of its kind."""
    if kind is DASHBOARD:
        await quotas.check_dashboards(connection, limits, namespace, created=1)
    # The new playlist is counted, too, so an organization may have exactly as many as the limit.
    if kind is PLAYLIST and await lists.count(connection, kind, namespace) > settings.playlists:
        raise Forbidden(f"The organization has {settings.playlists} playlists, which is the limit (PLAYLISTS); delete some first")


def _check_target(current: StoredObject, target: str) -> None:
    """Raise Invalid if the sync target of a repository changes after its first sync."""
    # The statistics count managed objects, which exist only after a sync, or an export that adopted objects.
    was_synced = bool(RepositoryStatus.model_validate_json(current.status or "{}").stats)
    if was_synced and orjson.loads(current.spec)["sync"]["target"] != target:
        message = "Forbidden: Changing sync target after running sync is not supported; delete the repository and create it again"
        raise REPOSITORY.invalid(current.name, [Cause("spec.sync.target", "FieldValueForbidden", message)])


async def _check_single_instance_target(connection: Connection, namespace: str, name: str) -> None:
    """Raise Invalid if another repository than ``name`` is synced to the instance."""
    resource_version, last_name = await changes.visible_version(connection, StreamName.OBJECTS, namespace), ""
    while True:
        page = await lists.page(connection, REPOSITORY, namespace, version=resource_version, after=last_name, limit=_PAGE_SIZE)
        for repository in page.items:
            if repository.name != name and orjson.loads(repository.spec)["sync"]["target"] == SyncTarget.INSTANCE:
                message = f"Forbidden: Another repository is already targeting root: {repository.name}"
                raise REPOSITORY.invalid(name, [Cause("spec.sync.target", "FieldValueForbidden", message)])
        if page.after is None:
            return
        last_name = page.after


async def _check_source(
    connection: Connection, namespace: str, write: resources.Write, current: StoredObject | None, settings: AdmissionSettings
) -> None:
    """Raise Invalid if another repository reads the same files: the sync of one of them would always fail, as an object has one manager.

    An unchanged source is not checked again.
    """
    spec = orjson.loads(write.spec)
    source = source_of(spec, settings.permitted_paths)
    if source is None or (current is not None and source_of(orjson.loads(current.spec), settings.permitted_paths) == source):
        return
    for name, stored_spec in await repositories.find_mentions(connection, namespace, write.name, source.search_string):
        other_source = source_of(orjson.loads(stored_spec), settings.permitted_paths)
        # The query finds candidates that contain the text of the source; paths and URLs are compared here.
        if other_source is not None and other_source.overlaps(source):
            is_local = spec["type"] == RepositoryType.LOCAL
            field = "spec.local.path" if is_local else f"spec.{spec['type']}"
            source_term = "folder" if is_local else "url, branch and directory"
            advice = "choose another one, or change or delete that repository"
            message = f'Forbidden: the repository "{name}" already reads this {source_term}; {advice}'
            raise REPOSITORY.invalid(write.name, [Cause(field, "FieldValueForbidden", message)])


def check_finalizers(stored_object: StoredObject, write: resources.Write) -> None:
    """Raise Invalid if the write adds a finalizer to an object that is marked as deleted."""
    added_finalizers = sorted(set(write.finalizers) - set(finalizers_of(stored_object)))
    if added_finalizers and is_deleting(stored_object):
        message = f"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {added_finalizers}"
        raise stored_object.kind.invalid(stored_object.name, [Cause("metadata.finalizers", "FieldValueForbidden", message)])


async def check_delete(
    connection: Connection,
    namespace: str,
    stored_object: StoredObject,
    view: AccessView,
    *,
    actor: str,
    cascade: bool = False,
    grace_seconds: int | None = None,
) -> None:
    """Raise an error if an object must not be deleted. With ``cascade``, delete the content of a folder.

    Raises Forbidden if a repository manages the object, or dashboards show it as a library panel. Unless ``grace_seconds`` is 0,
    raises Forbidden for a repository that a file declares, and BadRequest for another object that a file provisions. Raises
    BadRequest without ``cascade`` for a folder that is not empty.
    """
    kind = stored_object.kind
    check_unmanaged(
        stored_object,
        advice="delete its file in the repository. If the repository allows writes from the API, "
        "delete the object by name instead of in a collection",
    )
    if grace_seconds != 0:
        declared.check_undeclared(stored_object, advice="remove it from the file, or delete it with gracePeriodSeconds 0")
    if grace_seconds != 0 and annotations_of(stored_object).get(MANAGED_BY) == FROM_FILE:
        raise BadRequest(f"provisioned {kind.singular} cannot be deleted", message_id="dashboard.provisioned")
    if kind is LIBRARY_PANEL and await resources.is_panel_used(connection, namespace, stored_object.name):
        raise Forbidden("the library element has connections", message_id="library-panel.connected")
    if kind.is_tree and cascade:
        await removal.delete_content(connection, namespace, stored_object, view, actor=actor)
    elif kind.is_tree:
        await check_empty(connection, namespace, stored_object)


async def check_folder(connection: Connection, namespace: str, write: resources.Write, current: StoredObject | None) -> None:
    """Raise NotFound if the write's folder is missing, and Forbidden if a repository manages the folder but not the object.

    ``current`` is ``None`` for a new object.
    """
    folder = write.annotations.get(FOLDER_KEY)
    # The folder of an object that is not moved was checked when the object was put there.
    if not folder or (current is not None and current.folder == folder):
        return
    annotations_by_name = await resources.annotations_by_name(connection, FOLDER, namespace, [folder])
    if folder not in annotations_by_name:
        raise resources.not_found(FOLDER, folder)
    folder_repository = repository_of(annotations_by_name[folder])
    object_repository = repository_of(orjson.loads(current.metadata).get("annotations") or {}) if current is not None else None
    if folder_repository and object_repository and object_repository != folder_repository:
        raise Forbidden(
            f"resource manager (repo:{object_repository}) does not match folder manager (repo:{folder_repository}); "
            "resources must be managed by the same manager as their containing folder"
        )
    if folder_repository and not object_repository:
        raise Forbidden(f'folder "{folder}" is managed by the repository "{folder_repository}"; add a file there instead')


async def check_nesting(
    connection: Connection, namespace: str, write: resources.Write, current: StoredObject | None, *, max_depth: int
) -> None:
    """Raise BadRequest for a folder inside itself, or if a folder would have more than ``max_depth`` levels from the root."""
    parent = write.annotations.get(FOLDER_KEY)
    if not parent or (current is not None and current.folder == parent):
        return
    ancestors = await folders.ancestors(connection, namespace, parent)
    if write.name in {parent, *(ancestor.name for ancestor in ancestors)}:
        raise BadRequest(
            f'folder "{write.name}" cannot be in "{parent}", which is the same folder or inside it', message_id="folder.circular"
        )
    # A moved folder brings the levels below it. Levels beyond the limit need not be counted.
    height = 1 if current is None else await folders.height(connection, namespace, write.name, limit=max_depth + 1)
    if len(ancestors) + height > max_depth:
        raise BadRequest(
            f'folder "{write.name}" would be nested too deeply in "{parent}": '
            f"at most {max_depth} levels are allowed (DASHWRIGHT_FOLDER_DEPTH)",
            message_id="folder.maximum-depth-reached",
        )


async def check_empty(connection: Connection, namespace: str, stored_object: StoredObject) -> None:
    """Raise BadRequest for a folder that is not empty."""
    if await resources.has_children(connection, namespace, stored_object.name):
        raise BadRequest(
            f'folder "{stored_object.name}" cannot be deleted: it is not empty; delete its content first, or delete it with '
            "propagationPolicy Foreground (kubectl delete --cascade=foreground), which deletes its content, too",
            message_id="folder.not-empty",
        )
