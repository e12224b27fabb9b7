"""Deletes of several objects: the selected ones, the content of a folder, and what a repository manages."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from dashwright.api.domain.access.tree import Level
from dashwright.api.domain.access.view import View
from dashwright.api.domain.selectors import Selection
from dashwright.api.resources.metadata import finalizers_of
from dashwright.api.stores import folders, lists
from dashwright.api.stores.folders import FolderContent
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.kinds.annotations import FROM_FILE, REPOSITORY_MANAGER
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER, JOB, LIBRARY_PANEL, find
from dashwright.common.kinds.repository import CLEAN_UP, REMOVE_MANAGED
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.stores import changes, hooks, jobs, managed_objects, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import StoredObject

MOST_DELETED: Final = 10_000
"""Objects that one request may delete."""


async def select(connection: Connection, kind: Kind, namespace: str, selection: Selection, view: View) -> Sequence[StoredObject]:
    """Return the selected objects that the caller may see, without bodies. Raises BadRequest if they exceed one transaction."""
    if selection.is_empty:
        return []
    found = await lists.page(
        connection,
        kind,
        namespace,
        at=await changes.head(connection, StreamName.OBJECTS),
        after="",
        limit=MOST_DELETED,
        labels=selection.labels,
        name=selection.name,
        other_names=selection.other_names,
        number=selection.number,
        scope=view.scope(kind),
        bodies=False,
    )
    if found.after is not None:
        raise BadRequest(f"more than {MOST_DELETED} {kind.plural} are selected, more than one request may delete; select fewer")
    return found.items


def deepest_first(folders: Sequence[StoredObject]) -> Sequence[StoredObject]:
    """Return folders in an order in which each follows those inside it."""
    parents = {folder.name: folder.folder for folder in folders}

    def depth(name: str | None) -> int:
        way: set[str] = set()
        while name is not None and name in parents and name not in way:
            way.add(name)
            name = parents[name]
        return len(way)

    return sorted(folders, key=lambda folder: depth(folder.name), reverse=True)


async def cascade(connection: Connection, namespace: str, stored: StoredObject, view: View, *, actor: str) -> None:
    """Delete the content of a folder at any depth: all of it, or with an error nothing.

    Raises Forbidden for objects that a repository manages or the caller may not delete, and for library panels that other
    dashboards show. Raises BadRequest for objects that a file provisions or that wait for finalizers.
    """
    names: defaultdict[Kind, list[str]] = defaultdict(list)
    # The level Edit on a folder covers all its content; without it each object is checked.
    covers_content = view.level(FOLDER, stored.name, stored.folder) >= Level.EDIT
    for item in await folders.contents(connection, namespace, stored.name):
        kind = find(item.group, item.plural)
        assert kind is not None, f"{item.plural}.{item.group} is stored but not described"
        _check_removable(stored, kind, item)
        if not covers_content and not view.may(kind.actions["delete"], kind, item.name, item.folder):
            raise Forbidden(f'folder "{stored.name}" holds objects whose delete needs {kind.actions["delete"]}; nothing was deleted')
        names[kind].append(item.name)
    for kind in sorted(names, key=_order):
        if kind is LIBRARY_PANEL:
            await _check_unused(connection, namespace, stored, names[kind])
        await resources.delete(connection, kind, namespace, names[kind], actor=actor, keep=kind.history)


def _order(kind: Kind) -> tuple[bool, bool]:
    """Return the sort key of a kind: dashboards before the library panels that they show, folders last."""
    return kind.is_tree, kind is LIBRARY_PANEL


async def _check_unused(connection: Connection, namespace: str, folder: StoredObject, panels: Sequence[str]) -> None:
    for name in panels:
        if await resources.is_referred_to(connection, namespace, name):
            raise Forbidden(
                f'folder "{folder.name}" holds the library panel "{name}", which dashboards in other folders show; nothing was deleted',
                message_id="folder.library-panels-in-use",
            )


def _check_removable(folder: StoredObject, kind: Kind, item: FolderContent) -> None:
    holds = f'folder "{folder.name}" holds the {kind.singular} "{item.name}"'
    manager, name = item.manager or ("", "")
    if manager == REPOSITORY_MANAGER:
        raise Forbidden(f'{holds}, which the repository "{name}" manages; delete its file there first')
    if manager == FROM_FILE:
        raise BadRequest(f"{holds}, which is provisioned from a file; delete the file first")
    if item.finalizers:
        raise BadRequest(f"{holds}, which waits for finalizers ({', '.join(item.finalizers)}); delete it first")


async def end_jobs(connection: Connection, namespace: str, repository: str, *, now: int) -> None:
    """End the jobs of a deleted repository. A worker without its lease writes nothing more. ``now`` is in Unix milliseconds."""
    message = "the repository was deleted"
    status = JobStatus(state=State.ERROR, finished=now, message=message, errors=[message])
    await jobs.end_all(connection, JOB, namespace, repository, status=status.to_json())


async def end_management(connection: Connection, namespace: str, repository: StoredObject, *, actor: str) -> None:
    """Delete or release the managed objects of a deleted repository, as its finalizers say."""
    if REMOVE_MANAGED in finalizers_of(repository):
        await _remove_managed(connection, namespace, repository.name, actor=actor)
    else:
        await managed_objects.release_managed(connection, namespace, repository.name)


async def queue_hook_removal(connection: Connection, namespace: str, repository: StoredObject) -> None:
    """Queue the removal of the webhook at the git host. A worker does it, because a host can be slow or away."""
    if CLEAN_UP in finalizers_of(repository):
        await hooks.mark_for_removal(connection, repository.uid, namespace, repository.name)


async def _remove_managed(connection: Connection, namespace: str, repository: str, *, actor: str) -> None:
    """Delete managed objects, folders last. Folders with objects of other managers are kept."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for item in await managed_objects.managed(connection, namespace, repository):
        names[item.group, item.resource].append(item.name)
    for (group, plural), managed in sorted(names.items(), key=lambda item: item[0] == (FOLDER.group, FOLDER.plural)):
        kind = find(group, plural)
        assert kind is not None, f"{plural}.{group} is stored but not described"
        kept = set(await managed_objects.release_holding(connection, namespace, managed, repository)) if kind is FOLDER else set()
        listed = [name for name in managed if name not in kept]
        await resources.delete(connection, kind, namespace, listed, actor=actor, keep=kind.history)
