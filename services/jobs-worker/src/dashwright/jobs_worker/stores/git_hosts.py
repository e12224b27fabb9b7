"""The request budgets of git hosts, which all workers share, and the part of each organization in them.

A host is ``name:port``, an organization its namespace. Times are those of the database.
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
"""Longest pause that a host can request."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The time until requests are possible again."""

    seconds: float
    #: The host itself asked the organization to pause.
    is_paused: bool


async def take(connection: Connection, host: str, namespace: str, requests: float, *, most: float, at_least: float) -> Wait | None:
    """Take requests if ``at_least`` are left of the ``most`` in a minute, and return None; else take none and return the wait.

    An organization leaves an eighth of what it took in the last minute to others.
    """
    arguments = host, most, requests, at_least, namespace
    if await connection.fetchval(_sql.take, *arguments):
        return None
    (row,) = await connection.fetch(_sql.wait, *arguments)
    return Wait(row["seconds"], row["is_paused"])


async def pause(connection: Connection, host: str, namespace: str, wish: timedelta | None) -> float:
    """Stop the requests of an organization to a host and return for how many seconds; without ``wish`` for longer each time."""
    bounded = None if wish is None else min(max(wish, timedelta(seconds=1)), LONGEST_WISH)
    seconds: float = await connection.fetchval(_sql.pause, host, bounded, SHORTEST_PAUSE, LONGEST_PAUSE, namespace)
    return seconds


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete the budgets of hosts that were not called for so long."""
    await connection.execute(_sql.forget, older_than)
