"""How often git hosts may still be asked, which all workers share. A host is ``name:port``; times are those of the database."""

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
    """``is_paused``: the host itself asked for it."""

    seconds: float
    is_paused: bool


async def take(connection: Connection, host: str, requests: float, *, most: float, at_least: float) -> Wait | None:
    """Takes requests where ``at_least`` are left of the ``most`` in a minute; else tells how long to wait, and takes none."""
    if await connection.fetchval(_sql.take, host, most, requests, at_least):
        return None
    row = await connection.fetchrow(_sql.wait, host, most, at_least)
    return Wait(row["seconds"], row["is_paused"]) if row is not None else Wait(0, is_paused=False)


async def pause(connection: Connection, host: str, wish: timedelta | None) -> float:
    """Nobody asks the host for as long as it wishes; where it does not say, for longer each time. Answers the seconds."""
    bounded = None if wish is None else min(max(wish, timedelta(seconds=1)), LONGEST_WISH)
    seconds: float = await connection.fetchval(_sql.pause, host, bounded, SHORTEST_PAUSE, LONGEST_PAUSE)
    return seconds


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Drops what is known of hosts that were not asked for so long."""
    await connection.execute(_sql.forget, older_than)
