"""Rows of short URLs."""

from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "short_urls.sql")


@dataclass(frozen=True, slots=True)
class ShortUrl:
    """A stored short URL."""

    #: Relative and percent-encoded.
    path: str
    last_used_at: datetime


async def lock(connection: Connection, org_id: int) -> None:
    """Make the transaction the only one that creates short URLs in an organization."""
    await connection.execute(_sql.lock, org_id)


async def touch_path(connection: Connection, org_id: int, path: str, *, now: datetime) -> str | None:
    """Record a use of the short URL with a path, and return its uid, or None for an unknown path."""
    uid: str | None = await connection.fetchval(_sql.touch_path, org_id, path, now)
    return uid


async def count(connection: Connection, org_id: int) -> int:
    """Return the number of short URLs of an organization."""
    url_count: int = await connection.fetchval(_sql.count, org_id)
    return url_count


async def insert(connection: Connection, org_id: int, uid: str, user_id: int, path: str, *, now: datetime) -> None:
    """Insert a short URL with a new path."""
    await connection.execute(*_sql.bind("insert", org_id=org_id, uid=uid, user_id=user_id, path=path, now=now))


async def find(connection: Connection, org_id: int, uid: str) -> ShortUrl | None:
    """Return the short URL with a uid, or None."""
    row = await connection.fetchrow(_sql.find, org_id, uid)
    return None if row is None else ShortUrl(**row)


async def touch(connection: Connection, org_id: int, uid: str, *, now: datetime) -> None:
    """Record a use of a short URL."""
    await connection.execute(_sql.touch, org_id, uid, now)


async def delete_unused(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete at most ``limit`` short URLs that were last used before a time, and return their number."""
    deleted_count: int = await connection.fetchval(_sql.delete_unused, before, limit)
    return deleted_count
