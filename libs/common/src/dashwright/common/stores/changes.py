"""The change feed: what happened to any object, in the order of resource versions."""

import uuid
from collections.abc import Sequence
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


async def trim(connection: Connection, *, older_than: timedelta) -> Sequence[uuid.UUID]:
    """Drops changes that nobody is expected to resume from any more; answers the objects that they were of."""
    return [row["uid"] for row in await connection.fetch(_sql.trim, older_than)]
