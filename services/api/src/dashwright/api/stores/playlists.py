"""Search for playlists by title."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.kinds.registry import PLAYLIST

_sql = load(__package__, "playlists.sql")


@dataclass(frozen=True, slots=True)
class PlaylistRow:
    """A stored playlist. ``spec`` is a JSON string."""

    uid: str
    spec: str


async def search(connection: Connection, namespace: str, containing: str, *, limit: int) -> Sequence[PlaylistRow]:
    """Return the playlists of a namespace whose title contains a string, by title."""
    rows = await connection.fetch(_sql.search, namespace, PLAYLIST.group, PLAYLIST.plural, containing, limit)
    return [PlaylistRow(row["name"], row["spec"]) for row in rows]
