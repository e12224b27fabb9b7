"""Where an object may lie, and what becomes of what lies in a folder that goes. Called under the lock of objects."""

from collections import defaultdict
from collections.abc import Sequence

import orjson

from dashwright.api.domain.access.tree import Level
from dashwright.api.domain.access.view import View
from dashwright.api.stores import folders
from dashwright.api.stores.folders import FolderContent
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.kinds.annotations import FOLDER as IN_FOLDER
from dashwright.common.kinds.annotations import FROM_FILE, REPOSITORY, repository_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER, LIBRARY_PANEL, find
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Stored


async def check_place(connection: Connection, namespace: str, write: resources.Write, old: Stored | None) -> None:
    """Raises NotFound for a folder that is none, and Forbidden for one that a repository manages which does not manage the object.

    ``old`` is None of a new object.
    """
    folder = write.annotations.get(IN_FOLDER)
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


async def check_nesting(connection: Connection, namespace: str, write: resources.Write, old: Stored | None, *, most: int) -> None:
    """Raises BadRequest for a folder that would lie in itself, or deeper than ``most`` folders one in another."""
    parent = write.annotations.get(IN_FOLDER)
    if not parent or (old is not None and old.folder == parent):
        return
    way = await folders.ancestors(connection, namespace, parent)
    if write.name in {step.name for step in way}:
        raise BadRequest(
            f'folder "{write.name}" cannot be moved into "{parent}", which is the same folder or lies in it', message_id="folder.circular"
        )
    height = 1 if old is None else await folders.height(connection, namespace, write.name, most=most + 1)
    if len(way) + height > most:
        raise BadRequest(
            f'folder "{write.name}" would lie too deep in "{parent}": '
            f"at most {most} folders may lie one in another (DASHWRIGHT_FOLDER_DEPTH)",
            message_id="folder.maximum-depth-reached",
        )


async def check_empty(connection: Connection, namespace: str, stored: Stored) -> None:
    """Raises BadRequest for a folder that something lies in."""
    if await resources.has_children(connection, namespace, stored.name):
        raise BadRequest(
            f'folder "{stored.name}" cannot be deleted: it is not empty; remove what it holds first, or delete it with '
            "propagationPolicy Foreground (kubectl delete --cascade=foreground), which removes everything inside",
            message_id="folder.not-empty",
        )


async def cascade(connection: Connection, namespace: str, stored: Stored, view: View, *, actor: str) -> None:
    """Removes what lies in a folder, at any depth: everything, or nothing.

    Raises Forbidden for what a repository manages, for what the caller may not remove and for panels that are shown elsewhere, and
    BadRequest for what a file provisions or waits for finalizers.
    """
    names: defaultdict[Kind, list[str]] = defaultdict(list)
    is_theirs = view.level(FOLDER, stored.name, stored.folder) >= Level.EDIT
    for item in await folders.contents(connection, namespace, stored.name):
        kind = find(item.group, item.plural)
        assert kind is not None, f"{item.plural}.{item.group} is stored but not described"
        _check_removable(stored, kind, item)
        if not is_theirs and not view.may(kind.actions["delete"], kind, item.name, item.folder):
            raise Forbidden(f'folder "{stored.name}" holds objects that need {kind.actions["delete"]} to be removed; nothing was removed')
        names[kind].append(item.name)
    for kind in sorted(names, key=_order):
        if kind is LIBRARY_PANEL:
            await _check_unused(connection, namespace, stored, names[kind])
        await resources.delete(connection, kind, namespace, names[kind], actor=actor, keep=kind.history)


def _order(kind: Kind) -> tuple[bool, bool]:
    """Dashboards first, which show panels; folders last."""
    return kind.is_tree, kind is LIBRARY_PANEL


async def _check_unused(connection: Connection, namespace: str, folder: Stored, panels: Sequence[str]) -> None:
    for name in panels:
        if await resources.is_referred_to(connection, namespace, name):
            raise Forbidden(
                f'folder "{folder.name}" holds the library panel "{name}", which dashboards elsewhere show; nothing was removed',
                message_id="folder.library-panels-in-use",
            )


def _check_removable(folder: Stored, kind: Kind, item: FolderContent) -> None:
    holds = f'folder "{folder.name}" holds the {kind.singular} "{item.name}"'
    manager, name = item.manager or ("", "")
    if manager == REPOSITORY:
        raise Forbidden(f'{holds}, which the repository "{name}" manages; remove its file there first')
    if manager == FROM_FILE:
        raise BadRequest(f"{holds}, which is provisioned from a file; remove the file first")
    if item.finalizers:
        raise BadRequest(f"{holds}, which waits for finalizers ({', '.join(item.finalizers)}); remove it first")
