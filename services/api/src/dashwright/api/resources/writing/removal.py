"""Deletes of several objects: selected objects, the content of a folder, and the managed objects of a deleted repository."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from dashwright.api.domain.access.tree import Level
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.selectors import Selection
from dashwright.api.resources.metadata import finalizers_of
from dashwright.api.stores import folders, lists
from dashwright.api.stores.folders import FolderContent
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.kinds.annotations import FROM_FILE, REPOSITORY_MANAGER
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER, JOB, LIBRARY_PANEL
from dashwright.common.kinds.registry import find as find_kind
from dashwright.common.kinds.repository import CLEAN_UP, REMOVE_MANAGED
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.stores import changes, hooks, jobs, managed_objects, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import StoredObject

MAX_DELETED: Final = 10_000
"""Limit on the objects that one request deletes."""


async def select_objects(
    connection: Connection, kind: Kind, namespace: str, selection: Selection, view: AccessView
) -> Sequence[StoredObject]:
    """Return the selected objects that the caller may see, without bodies. Raises BadRequest if there are more than ``MAX_DELETED``."""
    if selection.is_empty:
        return []
    page = await lists.page(
        connection,
        kind,
        namespace,
        version=await changes.visible_version(connection, StreamName.OBJECTS, namespace),
        after="",
        limit=MAX_DELETED,
        labels=selection.labels,
        name=selection.name,
        excluded_names=selection.excluded_names,
        numeric_id=selection.numeric_id,
        scope=view.scope(kind),
        with_bodies=False,
    )
    if page.after is not None:
        raise BadRequest(f"more than {MAX_DELETED} {kind.plural} are selected, which is the limit of one request; select fewer")
    return page.items


def deepest_first(folders: Sequence[StoredObject]) -> Sequence[StoredObject]:
    """Return folders sorted so that each comes after the folders inside it."""
    parents = {folder.name: folder.folder for folder in folders}

    def depth(name: str | None) -> int:
        """Return how many of ``folders`` are on the path from this one up to the root."""
        ancestors: set[str] = set()
        while name is not None and name in parents and name not in ancestors:
            ancestors.add(name)
            name = parents[name]
        return len(ancestors)

    return sorted(folders, key=lambda folder: depth(folder.name), reverse=True)


async def delete_content(connection: Connection, namespace: str, folder: StoredObject, view: AccessView, *, actor: str) -> None:
    """Delete the content of a folder at any depth. If an error is raised, roll back the transaction, so that nothing is deleted.

    Raises Forbidden for objects that a repository manages or the caller may not delete, and for library panels that other
    dashboards show. Raises BadRequest for objects that a file provisions or that wait for finalizers.
    """
    names_by_kind: defaultdict[Kind, list[str]] = defaultdict(list)
    # The level EDIT on a folder includes all its content. Without this level, the permission on each object is checked.
    may_edit_all_content = view.level(FOLDER, folder.name, folder.folder) >= Level.EDIT
    for item in await folders.contents(connection, namespace, folder.name):
        kind = find_kind(item.group, item.plural)
        assert kind is not None, f"{item.plural}.{item.group} is stored but not described"
        _check_deletable(folder, kind, item)
        if not may_edit_all_content and not view.may(kind.actions["delete"], kind, item.name, item.folder):
            raise Forbidden(f'folder "{folder.name}" holds objects whose delete needs {kind.actions["delete"]}; nothing was deleted')
        names_by_kind[kind].append(item.name)
    for kind in sorted(names_by_kind, key=_deletion_order):
        if kind is LIBRARY_PANEL:
            await _check_unused(connection, namespace, folder, names_by_kind[kind])
        await resources.delete(connection, kind, namespace, names_by_kind[kind], actor=actor, to_trash=kind.history)


def _deletion_order(kind: Kind) -> tuple[bool, bool]:
    """Return the sort key of a kind: dashboards before the library panels that they show, folders last."""
    return kind.is_tree, kind is LIBRARY_PANEL


async def _check_unused(connection: Connection, namespace: str, folder: StoredObject, panel_names: Sequence[str]) -> None:
    """Raise Forbidden if a dashboard shows one of the library panels. The dashboards in the folder are deleted already."""
    for name in panel_names:
        if await resources.is_panel_used(connection, namespace, name):
            raise Forbidden(
                f'folder "{folder.name}" holds the library panel "{name}", which dashboards in other folders show; nothing was deleted',
                message_id="folder.library-panels-in-use",
            )


def _check_deletable(folder: StoredObject, kind: Kind, item: FolderContent) -> None:
    """Raise Forbidden or BadRequest if an object in a folder is managed, provisioned, or waits for finalizers."""
    prefix = f'folder "{folder.name}" holds the {kind.singular} "{item.name}"'
    manager_kind, manager_name = item.manager or ("", "")
    if manager_kind == REPOSITORY_MANAGER:
        raise Forbidden(f'{prefix}, which the repository "{manager_name}" manages; delete its file there first')
    if manager_kind == FROM_FILE:
        raise BadRequest(f"{prefix}, which is provisioned from a file; delete the file first")
    if item.finalizers:
        raise BadRequest(f"{prefix}, which waits for finalizers ({', '.join(item.finalizers)}); delete it first")


async def end_jobs(connection: Connection, namespace: str, repository: str, *, finished_at: int) -> None:
    """End the jobs of a deleted repository, so that their workers lose the leases. ``finished_at`` is in Unix milliseconds."""
    message = "the repository was deleted"
    status = JobStatus(state=State.ERROR, finished=finished_at, message=message, errors=[message])
    await jobs.end_all(connection, JOB, namespace, repository, status=status.to_json())


async def end_management(connection: Connection, namespace: str, repository: StoredObject, *, actor: str) -> None:
    """Delete or release the managed objects of a deleted repository, depending on its finalizers."""
    if REMOVE_MANAGED in finalizers_of(repository):
        await _remove_managed(connection, namespace, repository.name, actor=actor)
    else:
        await managed_objects.release_managed(connection, namespace, repository.name)


async def queue_webhook_removal(connection: Connection, namespace: str, repository: StoredObject) -> None:
    """Queue the removal of the webhook at the git host, which a worker does because the host may be slow or unavailable."""
    if CLEAN_UP in finalizers_of(repository):
        await hooks.mark_for_removal(connection, repository.uid, namespace, repository.name)


async def _remove_managed(connection: Connection, namespace: str, repository: str, *, actor: str) -> None:
    """Delete the managed objects of a repository, folders last. Folders with other objects are released instead."""
    names_by_kind: defaultdict[Kind, list[str]] = defaultdict(list)
    for item in await managed_objects.list_managed(connection, namespace, repository):
        kind = find_kind(item.group, item.resource)
        assert kind is not None, f"{item.resource}.{item.group} is stored but not described"
        names_by_kind[kind].append(item.name)
    for kind, managed_names in sorted(names_by_kind.items(), key=lambda kind_and_names: kind_and_names[0] is FOLDER):
        released_names: set[str] = set()
        if kind is FOLDER:
            released_names = set(await managed_objects.release_nonempty_folders(connection, namespace, managed_names, repository))
        deletable_names = [name for name in managed_names if name not in released_names]
        await resources.delete(connection, kind, namespace, deletable_names, actor=actor, to_trash=kind.history)
