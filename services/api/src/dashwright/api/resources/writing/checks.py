"""Checks of a write that need the store. Call them in the transaction of the write, under the lock of objects."""

import orjson

from dashwright.api.domain.access.view import View, is_above_rules
from dashwright.api.resources.metadata import annotations_of, check_unmanaged, finalizers_of, is_deleting
from dashwright.api.resources.writing import removal
from dashwright.api.stores import folders, lists
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Cause, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.annotations import CALLER_TOOLS, FOLDER_KEY, FROM_FILE, MANAGED_BY, repository_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL, REPOSITORY
from dashwright.common.kinds.repository import source_of
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import RepositoryStatus, RepositoryType, SyncTarget
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import changes, quotas, repositories, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import StoredObject


async def check_write(
    connection: Connection, namespace: str, write: resources.Write, old: StoredObject | None, settings: AdmissionSettings
) -> None:
    """Raise an error if stored objects forbid the write.

    Raises NotFound for a missing folder, and BadRequest for folders in a circle or nested too deeply. Raises Invalid for a
    second repository that targets the instance or reads the same files.
    """
    if write.kind.in_folder:
        await check_place(connection, namespace, write, old)
    if write.kind.is_tree:
        await check_nesting(connection, namespace, write, old, most=settings.folder_depth)
    if write.kind is REPOSITORY:
        target = orjson.loads(write.spec)["sync"]["target"]
        if old is not None:
            _check_target(old, target)
        if target == SyncTarget.INSTANCE:
            await _check_only_instance(connection, namespace, write.name)
        await _check_source(connection, namespace, write, old, settings)


def check_claims(write: resources.Write, old: StoredObject | None, caller: Identity) -> None:
    """Raise Forbidden if a caller who is not an Admin adds a manager or finalizer that would keep Admins from an object."""
    if is_above_rules(caller):
        return
    manager, kept = write.annotations.get(MANAGED_BY), None if old is None else annotations_of(old).get(MANAGED_BY)
    if manager is not None and manager not in (kept, *CALLER_TOOLS):
        text = f'{MANAGED_BY}: only an Admin may set "{manager[:100]}"; use one of {", ".join(sorted(CALLER_TOOLS))}, or leave it out'
        raise Forbidden(text)
    before = () if old is None else orjson.loads(old.metadata).get("finalizers") or ()
    added = set(write.finalizers) - {*before, *write.kind.finalizers}
    if added:
        raise Forbidden(f"metadata.finalizers: only an Admin may add {', '.join(sorted(added))[:100]}; leave finalizers out")


async def check_created(connection: Connection, kind: Kind, namespace: str, limits: QuotaRules) -> None:
    """Raise QuotaReached if the object that was just created exceeds the quota."""
    if kind is DASHBOARD:
        await quotas.check_dashboards(connection, limits, namespace, created=1)


def _check_target(old: StoredObject, target: str) -> None:
    if orjson.loads(old.spec)["sync"]["target"] != target and RepositoryStatus.model_validate_json(old.status or "{}").stats:
        text = "Forbidden: Changing sync target after running sync is not supported; delete the repository and create it again"
        raise REPOSITORY.invalid(old.name, [Cause("spec.sync.target", "FieldValueForbidden", text)])


async def _check_only_instance(connection: Connection, namespace: str, name: str) -> None:
    at, after = await changes.head(connection, StreamName.OBJECTS), ""
    while True:
        page = await lists.page(connection, REPOSITORY, namespace, at=at, after=after, limit=200)
        for other in page.items:
            if other.name != name and orjson.loads(other.spec)["sync"]["target"] == SyncTarget.INSTANCE:
                text = f"Forbidden: Another repository is already targeting root: {other.name}"
                raise REPOSITORY.invalid(name, [Cause("spec.sync.target", "FieldValueForbidden", text)])
        if page.after is None:
            return
        after = page.after


async def _check_source(
    connection: Connection, namespace: str, write: resources.Write, old: StoredObject | None, settings: AdmissionSettings
) -> None:
    """Raise Invalid if another repository reads the same files: an object has one manager, so one of both would always fail.

    An unchanged source is not checked again.
    """
    spec = orjson.loads(write.spec)
    source = source_of(spec, settings.permitted_paths)
    if source is None or (old is not None and source_of(orjson.loads(old.spec), settings.permitted_paths) == source):
        return
    for name, stored_spec in await repositories.find_mentions(connection, namespace, write.name, source.text):
        other = source_of(orjson.loads(stored_spec), settings.permitted_paths)
        # The query finds candidates by text; paths and URLs are compared here.
        if other is not None and other.overlaps(source):
            field = "spec.local.path" if spec["type"] == RepositoryType.LOCAL else f"spec.{spec['type']}"
            where = "folder" if spec["type"] == RepositoryType.LOCAL else "url, branch and directory"
            text = f'Forbidden: the repository "{name}" already reads this {where}; choose another one, or change or delete that repository'
            raise REPOSITORY.invalid(write.name, [Cause(field, "FieldValueForbidden", text)])


def check_finalizers(stored: StoredObject, write: resources.Write) -> None:
    """Raise Invalid if a deleted object gets a new finalizer."""
    if is_deleting(stored) and (added := sorted(set(write.finalizers) - set(finalizers_of(stored)))):
        text = f"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {added}"
        raise stored.kind.invalid(stored.name, [Cause("metadata.finalizers", "FieldValueForbidden", text)])


async def check_delete(
    connection: Connection, namespace: str, stored: StoredObject, view: View, *, actor: str, cascade: bool = False, grace: int | None = None
) -> None:
    """Raise an error if an object must not be deleted.

    Raises Forbidden if a repository manages it or dashboards show it, and BadRequest if a file provisions it or the folder is
    not empty. With ``cascade`` the content of a folder is deleted. A ``grace`` of 0 allows the delete of provisioned objects.
    """
    kind = stored.kind
    check_unmanaged(
        stored,
        instead="delete its file in the repository. If the repository allows writes from the API, "
        "delete the object by name instead of in a collection",
    )
    if grace != 0 and annotations_of(stored).get(MANAGED_BY) == FROM_FILE:
        raise BadRequest(f"provisioned {kind.singular} cannot be deleted", message_id="dashboard.provisioned")
    if kind is LIBRARY_PANEL and await resources.is_referred_to(connection, namespace, stored.name):
        raise Forbidden("the library element has connections", message_id="library-panel.connected")
    if kind.is_tree and cascade:
        await removal.cascade(connection, namespace, stored, view, actor=actor)
    elif kind.is_tree:
        await check_empty(connection, namespace, stored)


async def check_place(connection: Connection, namespace: str, write: resources.Write, old: StoredObject | None) -> None:
    """Raise NotFound for a missing folder, and Forbidden if a repository manages the folder but not the object.

    A new object has no ``old`` one.
    """
    folder = write.annotations.get(FOLDER_KEY)
    if not folder or (old is not None and old.folder == folder):
        return
    found = await resources.owners(connection, FOLDER, namespace, [folder])
    if folder not in found:
        raise resources.not_found(FOLDER, folder)
    repository = repository_of(found[folder])
    own = repository_of(orjson.loads(old.metadata).get("annotations") or {}) if old is not None else None
    if repository and own and own != repository:
        raise Forbidden(
            f"resource manager (repo:{own}) does not match folder manager (repo:{repository}); "
            "resources must be managed by the same manager as their containing folder"
        )
    if repository and not own:
        raise Forbidden(f'folder "{folder}" is managed by the repository "{repository}"; add a file there instead')


async def check_nesting(connection: Connection, namespace: str, write: resources.Write, old: StoredObject | None, *, most: int) -> None:
    """Raise BadRequest for a folder inside itself, or with more than ``most`` levels."""
    parent = write.annotations.get(FOLDER_KEY)
    if not parent or (old is not None and old.folder == parent):
        return
    way = await folders.ancestors(connection, namespace, parent)
    if write.name in {step.name for step in way}:
        raise BadRequest(
            f'folder "{write.name}" cannot be moved into "{parent}", which is the same folder or inside it', message_id="folder.circular"
        )
    height = 1 if old is None else await folders.height(connection, namespace, write.name, most=most + 1)
    if len(way) + height > most:
        raise BadRequest(
            f'folder "{write.name}" would be nested too deeply in "{parent}": at most {most} levels are allowed (DASHWRIGHT_FOLDER_DEPTH)',
            message_id="folder.maximum-depth-reached",
        )


async def check_empty(connection: Connection, namespace: str, stored: StoredObject) -> None:
    """Raise BadRequest for a folder that is not empty."""
    if await resources.has_children(connection, namespace, stored.name):
        raise BadRequest(
            f'folder "{stored.name}" cannot be deleted: it is not empty; delete its content first, or delete it with '
            "propagationPolicy Foreground (kubectl delete --cascade=foreground), which deletes its content, too",
            message_id="folder.not-empty",
        )
