"""Who did what to what, from where, with which outcome. Events are added and, after their time, forgotten; never changed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from dashwright.api.domain.actor import Actor
from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "audit.sql")

_LONGEST = 1000


class Outcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """One event to record.

    ``org_id`` is the organization that it is about, whichever the actor asked in; None, or 0: it is about the server. ``object`` names
    what it was done to (``org:5``); ``details`` are chosen by who records, never a request.
    """

    actor: Actor
    action: str
    object: str = ""
    outcome: Outcome = Outcome.OK
    status: int = 200
    details: Mapping[str, Any] = field(default_factory=dict)
    org_id: int | None = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One event as it was recorded; ``org_id`` is None for one about the server."""

    id: int
    at: datetime
    org_id: int | None
    actor: str
    login: str
    action: str
    object: str
    outcome: Outcome
    status: int
    address: str
    request_id: str
    trace_id: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What is asked for; None asks for everything. ``since`` belongs to the time asked for, ``until`` does not."""

    org_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    actor: str | None = None
    action: str | None = None
    object: str | None = None
    outcome: Outcome | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """The newest events first; ``next`` is the ``before`` of the page that follows, None where none does."""

    events: Sequence[AuditRecord]
    next: int | None


async def record(
    connection: Connection,
    actor: Actor,
    action: str,
    what: str,
    *,
    org_id: int | None,
    status: int = 200,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Records what the caller's transaction does to ``what`` (``org:5``): told where, and only where, the change is committed."""
    await record_all(connection, [Event(actor, action, what, Outcome.OK, status, details or {}, org_id=org_id)])


async def record_all(connection: Connection, events: Iterable[Event]) -> None:
    """Records many at once, in their order: those refused, for instance, of which no transaction of their own tells."""
    rows = [_row(event) for event in events]
    if len(rows) == 1:
        await connection.execute(_sql.record, *rows[0])
    else:
        await connection.executemany(_sql.record, rows)


async def query(connection: Connection, wanted: EventFilter, *, before: int | None = None, limit: int = 100) -> EventPage:
    """Events by number, from the newest on, or from below ``before``; pages neither repeat nor leave out what was there at the first."""
    parts = (wanted.org_id, wanted.since, wanted.until, wanted.actor, wanted.action, wanted.object, wanted.outcome, wanted.request_id)
    rows = await connection.fetch(_sql.query, *parts, before, limit + 1)
    events = [_recorded(row) for row in rows[:limit]]
    return EventPage(events, events[-1].id if len(rows) > limit else None)


async def forget(connection: Connection, older_than: datetime, *, limit: int = 10_000) -> int:
    """Deletes events from before a time, ``limit`` at most; answers how many: as many as the limit, and there may be more.

    Needs a transaction, which need be about nothing else.
    """
    await connection.execute(_sql.open_retention)
    done = await connection.execute(_sql.forget, older_than, limit)
    await connection.execute(_sql.close_retention)
    return int(done.removeprefix("DELETE "))


def _row(event: Event) -> tuple[Any, ...]:
    actor = event.actor
    return (
        event.org_id or None,
        _storable(actor.uid),
        _storable(actor.login),
        event.action,
        _storable(event.object),
        event.outcome.value,
        event.status,
        _storable(actor.address),
        _storable(actor.request_id),
        _storable(actor.trace_id),
        orjson.dumps(dict(event.details)).decode(),
    )


def _storable(text: str) -> str:
    """What callers call themselves may be anything; an event must not be lost for it."""
    return text[:_LONGEST].replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _recorded(row: Any) -> AuditRecord:
    return AuditRecord(**{**row, "outcome": Outcome(row["outcome"]), "details": orjson.loads(row["details"])})
