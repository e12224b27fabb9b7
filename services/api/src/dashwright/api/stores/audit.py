"""Audit events: who did what to which object, from where, and with which outcome.

Events are only added, and deleted after their retention time.
"""

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
    """The result of an audited action."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Event:
    """An audit event to record."""

    actor: Actor
    action: str
    #: The object acted on, such as ``org:5``.
    object: str = ""
    outcome: Outcome = Outcome.OK
    status: int = 200
    #: Chosen by the code that records the event, never copied from a request.
    details: Mapping[str, Any] = field(default_factory=dict)
    #: The organization that the event concerns, whichever the actor acted in. None or 0: the server.
    org_id: int | None = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A stored audit event."""

    id: int
    at: datetime
    #: None for an event that concerns the server.
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
    """Conditions on audit events. None means that a filter is not applied."""

    org_id: int | None = None
    #: Inclusive.
    since: datetime | None = None
    #: Exclusive.
    until: datetime | None = None
    actor: str | None = None
    action: str | None = None
    object: str | None = None
    outcome: Outcome | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of audit events, the newest first."""

    events: Sequence[AuditRecord]
    #: The ``before`` of the next page; None on the last page.
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
    """Record an action on the object ``what`` (such as ``org:5``) in the caller's transaction.

    The event is stored only if the change itself is committed.
    """
    await record_all(connection, [Event(actor, action, what, Outcome.OK, status, details or {}, org_id=org_id)])


async def record_all(connection: Connection, events: Iterable[Event]) -> None:
    """Record several events in their order.

    For events without a transaction of their own, such as refused requests.
    """
    rows = [_row(event) for event in events]
    if len(rows) == 1:
        await connection.execute(_sql.record, *rows[0])
    else:
        await connection.executemany(_sql.record, rows)


async def query(connection: Connection, wanted: EventFilter, *, before: int | None = None, limit: int = 100) -> EventPage:
    """Return a page of events below the number ``before``, the newest first.

    Pages neither repeat nor skip events that existed when the first page was read.
    """
    parameters = _sql.bind(
        "query",
        org_id=wanted.org_id,
        since=wanted.since,
        until=wanted.until,
        actor=wanted.actor,
        action=wanted.action,
        object=wanted.object,
        outcome=wanted.outcome,
        request_id=wanted.request_id,
        before=before,
        limit=limit + 1,  # One more shows whether there is a next page.
    )
    rows = await connection.fetch(*parameters)
    events = [_recorded(row) for row in rows[:limit]]
    return EventPage(events, events[-1].id if len(rows) > limit else None)


async def forget(connection: Connection, older_than: datetime, *, limit: int = 10_000) -> int:
    """Delete at most ``limit`` events that are older than a time, and return how many were deleted.

    If the result equals ``limit``, there may be more. Requires a transaction.
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
    """Return a text that the database can store: client-chosen names must never cause an event to be lost."""
    return text[:_LONGEST].replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _recorded(row: Any) -> AuditRecord:
    return AuditRecord(**{**row, "outcome": Outcome(row["outcome"]), "details": orjson.loads(row["details"])})
