"""The change feed: what happened to any object, in the order of resource versions."""

from datetime import timedelta
from enum import IntEnum

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "changes.sql")


class Book(IntEnum):
    """The two halves of the feed: each is in the order of its versions, one beside the other is not."""

    OBJECTS = 1
    JOBS = 2


async def head(connection: Connection, book: Book) -> int:
    """The newest version that this snapshot holds: where a list stands, and whence a watch goes on. Never 0, which stands for any."""
    position: int = await connection.fetchval(_sql.head, book)
    return position


async def latest(connection: Connection) -> int:
    """The newest version that anybody has drawn, seen or not: one above it comes from another database."""
    version: int = await connection.fetchval(_sql.latest)
    return version


async def trim(connection: Connection, *, older_than: timedelta) -> None:
    """Drops changes that nobody is expected to resume from any more."""
    await connection.execute(_sql.trim, older_than)
