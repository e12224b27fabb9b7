"""Outbox: messages to publish, recorded in the transaction whose effect they announce.

The process that recorded a message publishes it right after the commit; the relay publishes overdue ones. So a message
may be published twice, but is never lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import orjson

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "outbox.sql")


@dataclass(frozen=True, slots=True)
class Wakeup:
    """Message to publish."""

    id: int  #: Row in the outbox.
    exchange: str
    routing_key: str
    body: str
    headers: Mapping[str, str]


async def published(connection: Connection, ids: Sequence[int]) -> None:
    """Delete messages that the broker has confirmed."""
    await connection.execute(_sql.published, list(ids))


async def overdue(connection: Connection, *, older_than: timedelta, limit: int) -> Sequence[Wakeup]:
    """Return overdue messages, locked until the transaction ends."""
    rows = await connection.fetch(_sql.overdue, older_than, limit)
    return [Wakeup(row["id"], row["exchange"], row["routing_key"], row["body"], orjson.loads(row["headers"])) for row in rows]


async def depth(connection: Connection) -> int:
    """Return the number of messages in the outbox."""
    count: int = await connection.fetchval(_sql.depth)
    return count
