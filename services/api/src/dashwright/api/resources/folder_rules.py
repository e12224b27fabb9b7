"""Where an object may lie, and what becomes of what lies in a folder that goes. Called under the lock of objects."""

from dashwright.api.domain.access.view import View
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.kinds.annotations import FOLDER as IN_FOLDER
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Stored


async def check_place(connection: Connection, namespace: str, write: resources.Write, old: Stored | None) -> None:
    """Raises NotFound for a folder that is none, and Forbidden for one that a repository manages. ``old`` is None of a new object."""
    folder = write.annotations.get(IN_FOLDER)
    if not folder or (old is not None and old.folder == folder):
        return
    found = await resources.owners(connection, FOLDER, namespace, [folder])
    if folder not in found:
        raise resources.not_found(FOLDER, folder)
    if repository := repository_of(found[folder]):
        raise Forbidden(f'folder "{folder}" is managed by the repository "{repository}"; add a file there instead')


async def check_empty(connection: Connection, namespace: str, stored: Stored) -> None:
    """Raises BadRequest for a folder that something lies in."""
    if await resources.has_children(connection, namespace, stored.name):
        raise BadRequest(
            f'folder "{stored.name}" cannot be deleted: it is not empty; remove what it holds first', message_id="folder.not-empty"
        )


async def cascade(connection: Connection, namespace: str, stored: Stored, view: View) -> None:
    """Removes what lies in a folder, at any depth."""
    await check_empty(connection, namespace, stored)
