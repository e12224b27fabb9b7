"""Rows of snapshots of dashboards."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "snapshots.sql")


@dataclass(frozen=True, slots=True)
class SnapshotContent:
    """The name and body of a snapshot."""

    name: str
    #: JSON, as it was sent.
    dashboard: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SnapshotOwner:
    """The creator and dashboard of a snapshot, which decide who may delete it."""

    id: int
    #: The creator; None for an API key, or for an account that was deleted.
    user_id: int | None
    #: The uid of the dashboard; empty if the body has none.
    dashboard_uid: str


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A snapshot in a list."""

    key: str
    name: str
    created_at: datetime
    expires_at: datetime


async def lock(connection: Connection, org_id: int) -> None:
    """Make the transaction the only one that creates snapshots in an organization."""
    await connection.execute(_sql.lock, org_id)


async def count(connection: Connection, org_id: int, *, now: datetime) -> int:
    """Return the number of unexpired snapshots of an organization."""
    snapshot_count: int = await connection.fetchval(_sql.count, org_id, now)
    return snapshot_count


async def insert(
    connection: Connection, org_id: int, user_id: int, key: str, delete_key_hash: bytes, dashboard_uid: str, content: SnapshotContent
) -> int | None:
    """Insert a snapshot and return its id, or None if one of its keys is in use."""
    statement = _sql.bind(
        "insert",
        org_id=org_id,
        user_id=user_id,
        key=key,
        delete_key_hash=delete_key_hash,
        name=content.name,
        dashboard_uid=dashboard_uid,
        dashboard=content.dashboard,
        now=content.created_at,
        expires_at=content.expires_at,
    )
    snapshot_id: int | None = await connection.fetchval(*statement)
    return snapshot_id


async def read(connection: Connection, key: str, *, now: datetime) -> SnapshotContent | None:
    """Return the content of an unexpired snapshot of any organization, or None."""
    row = await connection.fetchrow(_sql.read, key, now)
    return None if row is None else SnapshotContent(**row)


async def find(
    connection: Connection, org_id: int, *, key: str | None = None, delete_key_hash: bytes | None = None, now: datetime
) -> SnapshotOwner | None:
    """Return the owner of an unexpired snapshot, found by its key or by the hash of its delete key. None for an unknown snapshot."""
    row = await connection.fetchrow(_sql.find, org_id, key, delete_key_hash, now)
    return None if row is None else SnapshotOwner(**row)


async def list_all(
    connection: Connection, org_id: int, *, user_id: int | None, containing: str, now: datetime, limit: int
) -> Sequence[SnapshotRow]:
    """Return the unexpired snapshots of a user, or of all users if ``user_id`` is None, sorted by name."""
    rows = await connection.fetch(_sql.list, org_id, user_id, containing, now, limit)
    return [SnapshotRow(**row) for row in rows]


async def delete(connection: Connection, snapshot_id: int) -> bool:
    """Delete a snapshot and return whether it existed."""
    return await connection.fetchval(_sql.delete, snapshot_id) is not None


async def delete_expired(connection: Connection, *, now: datetime, limit: int) -> int:
    """Delete at most ``limit`` expired snapshots and return their number."""
    deleted_count: int = await connection.fetchval(_sql.delete_expired, now, limit)
    return deleted_count
