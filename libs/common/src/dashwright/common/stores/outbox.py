"""The outbox: wishes to publish, recorded in the transaction whose effect they announce.

Whoever recorded a wish publishes it right after the commit; the relay publishes what was left behind. A message may so be
published twice, never not at all.
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
    """A message to publish. ``id`` is its row in the outbox."""

    id: int
    exchange: str
    routing_key: str
    body: str
    headers: Mapping[str, str]


async def published(connection: Connection, ids: Sequence[int]) -> None:
    """Forgets wishes that the broker has confirmed."""
    await connection.execute(_sql.published, list(ids))


async def overdue(connection: Connection, *, older_than: timedelta, limit: int) -> Sequence[Wakeup]:
    """Wishes left behind, locked until the transaction ends."""
    rows = await connection.fetch(_sql.overdue, older_than, limit)
    return [Wakeup(row["id"], row["exchange"], row["routing_key"], row["body"], orjson.loads(row["headers"])) for row in rows]


async def depth(connection: Connection) -> int:
    """How many wishes wait."""
    count: int = await connection.fetchval(_sql.depth)
    return count
