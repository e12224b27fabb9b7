"""Playlists in the classic API: search, read, create, change and delete, by the rules of the resource API."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.api.classic import common
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import playlists
from dashwright.api.stores.playlists import PlaylistRow
from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import PLAYLIST
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

_VERSION: Final = PLAYLIST.version


class Playlists:
    """The playlists of a caller's current organization, by their uid."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer

    async def search(self, caller: Identity, containing: str, *, limit: int) -> Sequence[PlaylistRow]:
        """Return the playlists whose title contains a string, by title."""
        async with self._database.connection() as connection:
            return await playlists.search(connection, caller.namespace, containing, limit=limit)

    async def get(self, caller: Identity, uid: str) -> StoredObject:
        """Return a playlist. Raises NotFound."""
        async with self._database.connection() as connection:
            matches = await resources.get_many(connection, PLAYLIST, caller.namespace, [uid])
        if not matches:
            raise _not_found()
        return matches[0]

    async def create(self, context: WriteContext, uid: str, spec: dict[str, Any]) -> StoredObject:
        """Create a playlist with a spec and return it. An empty uid is generated. Raises AlreadyExists, Invalid and Forbidden."""
        desired = common.new_object(PLAYLIST, uid or common.new_uid(), _VERSION, spec, folder="")
        return await self._writer.create(desired, context)

    async def replace(self, context: WriteContext, uid: str, spec: dict[str, Any]) -> StoredObject:
        """Replace the spec of a playlist and return it. Raises NotFound, Invalid and Forbidden."""

        def apply_change(current: StoredObject) -> DesiredObject:
            return common.replacement(current, _VERSION, spec, folder="")

        try:
            return (await self._writer.update(PLAYLIST, context.identity.namespace, uid, apply_change, context)).stored_object
        except NotFound as error:
            raise _not_found() from error

    async def delete(self, context: WriteContext, uid: str) -> None:
        """Delete a playlist. Raises NotFound and Forbidden."""
        try:
            await self._writer.delete(PLAYLIST, context.identity.namespace, uid, context)
        except NotFound as error:
            raise _not_found() from error


def _not_found() -> NotFound:
    return NotFound("playlist not found")
