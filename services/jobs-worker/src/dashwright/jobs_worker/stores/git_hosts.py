"""How often git hosts may still be asked, which all workers share, and each organization's part in that.

A host is ``name:port``, an organization its namespace; times are those of the database.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "git_hosts.sql")

SHORTEST_PAUSE: Final = timedelta(seconds=30)
LONGEST_PAUSE: Final = timedelta(minutes=15)
LONGEST_WISH: Final = timedelta(hours=1)
"""What a host says is believed up to here."""


@dataclass(frozen=True, slots=True)
class Wait:
    """``is_paused``: the host itself asked the organization for it."""

    seconds: float
    is_paused: bool


async def take(connection: Connection, host: str, namespace: str, requests: float, *, most: float, at_least: float) -> Wait | None:
    """Takes requests where ``at_least`` are left of the ``most`` in a minute; else tells how long to wait, and takes none.

    An organization leaves an eighth of what it took in the last minute to others.
    """
    asked = host, most, requests, at_least, namespace
    if await connection.fetchval(_sql.take, *asked):
        return None
    (row,) = await connection.fetch(_sql.wait, *asked)
    return Wait(row["seconds"], row["is_paused"])


async def pause(connection: Connection, host: str, namespace: str, wish: timedelta | None) -> float:
    """The organization does not ask the host for as long as it wishes; where it does not say, for longer each time. Answers the seconds."""
    bounded = None if wish is None else min(max(wish, timedelta(seconds=1)), LONGEST_WISH)
    seconds: float = await connection.fetchval(_sql.pause, host, bounded, SHORTEST_PAUSE, LONGEST_PAUSE, namespace)
    return seconds


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Drops what is known of hosts that were not asked for so long."""
    await connection.execute(_sql.forget, older_than)
