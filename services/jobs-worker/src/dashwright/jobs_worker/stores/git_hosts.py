"""The request budgets of git hosts, which all workers share, and the share of each organization.

A host is identified by ``name:port`` and an organization by its namespace. Times are from the clock of the database.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "git_hosts.sql")

MIN_PAUSE: Final = timedelta(seconds=30)
"""First pause after a refusal without a requested pause."""

MAX_PAUSE: Final = timedelta(minutes=15)
"""Limit on repeated pauses, each of which is twice as long as the previous one."""

MAX_REQUESTED_PAUSE: Final = timedelta(hours=1)
"""Limit on the pause that a host can request."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The time until requests are possible again."""

    seconds: float
    #: ``True`` if the host refused requests of the organization; ``False`` if only the budget is used up.
    is_paused: bool


async def charge(connection: Connection, host: str, namespace: str, requests: float, *, limit: float, min_available: float) -> Wait | None:
    """Subtract requests from the budget of a host and return None; if the budget is too small, return the wait instead.

    ``limit`` is the number of requests that the host accepts in a minute. ``min_available`` requests must be available before the
    charge. Each organization also leaves an eighth of its requests of the last minute to other organizations.
    """
    arguments = host, limit, requests, min_available, namespace
    if await connection.fetchval(_sql.charge, *arguments):
        return None
    (row,) = await connection.fetch(_sql.wait, *arguments)
    return Wait(row["seconds"], row["is_paused"])


async def pause(connection: Connection, host: str, namespace: str, requested_pause: timedelta | None) -> float:
    """Pause the requests of an organization to a host, and return the pause in seconds.

    ``requested_pause`` is the pause that the host requested. Without it, repeated pauses double.
    """
    bounded_pause = None if requested_pause is None else min(max(requested_pause, timedelta(seconds=1)), MAX_REQUESTED_PAUSE)
    seconds: float = await connection.fetchval(_sql.pause, host, bounded_pause, MIN_PAUSE, MAX_PAUSE, namespace)
    return seconds


async def delete_unused(connection: Connection, *, older_than: timedelta) -> None:
    """Delete the budgets of hosts that were not called in the time ``older_than``."""
    await connection.execute(_sql.delete_unused, older_than)
