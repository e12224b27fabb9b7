"""Store of the results of items that are to be sent to their reply addresses."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "item_replies.sql")


@dataclass(frozen=True, slots=True)
class DueReply:
    """Item that ended and whose result is to be sent."""

    index: int
    id: str
    state: str
    reply_to: str
    correlation_id: str | None
    finished_at: datetime


async def list_batches(connection: Connection, *, limit: int) -> Sequence[uuid.UUID]:
    """Return batches with items whose results are to be sent."""
    return [row["batch"] for row in await connection.fetch(_sql.list_batches, limit)]


async def try_lock(connection: Connection, batch: uuid.UUID) -> bool:
    """Make the transaction the only one that sends results of a batch. Return False if another one sends them."""
    return bool(await connection.fetchval(_sql.try_lock, batch))


async def has_due(connection: Connection, batch: uuid.UUID) -> bool:
    """Return whether results of a batch are to be sent."""
    return bool(await connection.fetchval(_sql.has_due, batch))


async def list_due(connection: Connection, batch: uuid.UUID, *, limit: int) -> Sequence[DueReply]:
    """Return the first items of a batch whose results are to be sent."""
    return [DueReply(**row) for row in await connection.fetch(_sql.list_due, batch, limit)]


async def lock(connection: Connection, batch: uuid.UUID, replies: Sequence[DueReply]) -> frozenset[int]:
    """Lock items and return their indices, without those that have changed since they were listed."""
    indices, ends = [reply.index for reply in replies], [reply.finished_at for reply in replies]
    return frozenset(row["index"] for row in await connection.fetch(*_sql.bind("lock", batch=batch, indices=indices, ends=ends)))


async def record(connection: Connection, batch: uuid.UUID, indices: Sequence[int]) -> None:
    """Record that the results of items were sent."""
    await connection.execute(_sql.record, batch, list(indices))
