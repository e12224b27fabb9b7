"""Rows of the histories of queries, which belong to a user in an organization."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "query_history.sql")


@dataclass(frozen=True, slots=True)
class HistoryOwner:
    """The user and the organization of a history."""

    user_id: int
    org_id: int


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Queries that a user ran together."""

    id: int
    uid: str
    data_source_uid: str
    #: A JSON list.
    queries: str
    comment: str
    is_starred: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """A search in a history. Empty values and None mean that a filter is not applied."""

    data_sources: Collection[str] = ()
    #: A part of the queries or of the comment.
    containing: str = ""
    only_starred: bool = False
    since: datetime | None = None
    until: datetime | None = None
    oldest_first: bool = False


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of entries."""

    entries: Sequence[HistoryEntry]
    #: The number of matches on all pages; 0 for a page after the last one.
    total: int


async def lock(connection: Connection, user_id: int) -> None:
    """Make the transaction the only one that adds to the histories of a user."""
    await connection.execute(_sql.lock, user_id)


async def insert(
    connection: Connection, owner: HistoryOwner, uid: str, data_source_uid: str, queries: str, *, now: datetime
) -> HistoryEntry | None:
    """Insert an entry and return it, or return None if the user does not exist."""
    statement = _sql.bind(
        "insert",
        org_id=owner.org_id,
        user_id=owner.user_id,
        uid=uid,
        data_source_uid=data_source_uid,
        queries=queries,
        now=now,
    )
    row = await connection.fetchrow(*statement)
    return None if row is None else HistoryEntry(**row)


async def delete_surplus(connection: Connection, user_id: int, *, keep: int) -> None:
    """Delete all but the newest ``keep`` entries of a user, in all organizations; starred ones are deleted last."""
    await connection.execute(_sql.delete_surplus, user_id, keep)


async def search(connection: Connection, owner: HistoryOwner, query: HistoryQuery, *, limit: int, offset: int) -> HistoryPage:
    """Return a page of matching entries."""
    statement = _sql.bind(
        "search",
        user_id=owner.user_id,
        org_id=owner.org_id,
        data_sources=list(query.data_sources) or None,
        containing=query.containing,
        only_starred=query.only_starred,
        since=query.since,
        until=query.until,
        oldest_first=query.oldest_first,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*statement)
    entries = [HistoryEntry(**{name: value for name, value in row.items() if name != "total"}) for row in rows]
    return HistoryPage(entries, rows[0]["total"] if rows else 0)


async def change(
    connection: Connection, owner: HistoryOwner, uid: str, *, comment: str | None = None, is_starred: bool | None = None
) -> HistoryEntry | None:
    """Change an entry and return it, or return None for an unknown uid. None keeps a value."""
    statement = _sql.bind("change", user_id=owner.user_id, org_id=owner.org_id, uid=uid, comment=comment, is_starred=is_starred)
    row = await connection.fetchrow(*statement)
    return None if row is None else HistoryEntry(**row)


async def delete(connection: Connection, owner: HistoryOwner, uid: str) -> int | None:
    """Delete an entry and return its id, or None for an unknown uid."""
    entry_id: int | None = await connection.fetchval(_sql.delete, owner.user_id, owner.org_id, uid)
    return entry_id


async def delete_old(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete at most ``limit`` entries that are older than a time and have no star, and return their number."""
    count: int = await connection.fetchval(_sql.delete_old, before, limit)
    return count
