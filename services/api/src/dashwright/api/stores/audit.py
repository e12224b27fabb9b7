"""Audit events: actor, action, object, address and outcome.

Events are never changed. They are deleted after their retention time.
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
from dashwright.common.kinds.kind import Kind

_sql = queries.load(__package__, "audit.sql")

_MAX_STRING_LENGTH = 1000
"""Limit on the characters of a value that clients choose. A longer value is cut."""


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
    #: Values that the recording code chooses; never copies of a request, which might contain a secret.
    details: Mapping[str, Any] = field(default_factory=dict)
    #: The id of the organization that the event concerns, which may differ from the actor's. None or 0: the server.
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


def event_of(kind: Kind, verb: str) -> str:
    """Return the action of the audit event of a verb, such as ``dashboard.create``."""
    return f"{kind.singular}.{verb}"


def subject_of(kind: Kind, name: str) -> str:
    """Return the object of an audit event, such as ``dashboard:home``."""
    return f"{kind.singular}:{name}"


async def record(
    connection: Connection,
    actor: Actor,
    action: str,
    audited_object: str,
    *,
    org_id: int | None,
    status: int = 200,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record an action on an object, such as ``org:5``, in the caller's transaction.

    The event is stored only if the change itself is committed.
    """
    await record_all(connection, [Event(actor, action, audited_object, Outcome.OK, status, details or {}, org_id=org_id)])


async def record_all(connection: Connection, events: Iterable[Event]) -> None:
    """Record several events in their order, such as those of refused requests, which have no transaction of their own."""
    all_events = [*events]
    query = _sql.bind(
        "record_all",
        org_ids=[event.org_id or None for event in all_events],
        actors=[_storable(event.actor.uid) for event in all_events],
        logins=[_storable(event.actor.login) for event in all_events],
        actions=[event.action for event in all_events],
        objects=[_storable(event.object) for event in all_events],
        outcomes=[event.outcome.value for event in all_events],
        statuses=[event.status for event in all_events],
        addresses=[_storable(event.actor.address) for event in all_events],
        request_ids=[_storable(event.actor.request_id) for event in all_events],
        trace_ids=[_storable(event.actor.trace_id) for event in all_events],
        details=[orjson.dumps(dict(event.details)).decode() for event in all_events],
    )
    await connection.execute(*query)


async def query(connection: Connection, event_filter: EventFilter, *, before: int | None = None, limit: int = 100) -> EventPage:
    """Return a page of events whose id is less than ``before``, the newest first.

    Pages neither repeat nor skip events that existed when the first page was read.
    """
    parameters = _sql.bind(
        "query",
        org_id=event_filter.org_id,
        since=event_filter.since,
        until=event_filter.until,
        actor=event_filter.actor,
        action=event_filter.action,
        object=event_filter.object,
        outcome=event_filter.outcome,
        request_id=event_filter.request_id,
        before=before,
        limit=limit + 1,  # One more event than requested shows whether there is a next page.
    )
    rows = await connection.fetch(*parameters)
    events = [_audit_record(row) for row in rows[:limit]]
    return EventPage(events, events[-1].id if len(rows) > limit else None)


async def delete_old(connection: Connection, older_than: datetime, *, limit: int = 10_000) -> int:
    """Delete at most ``limit`` events that are older than a time, and return how many were deleted.

    If the result equals ``limit``, there may be more. Requires a transaction.
    """
    # A trigger refuses deletes of events unless the transaction permits them.
    await connection.execute(_sql.permit_deletes)
    command_tag = await connection.execute(_sql.delete_old, older_than, limit)  # Such as "DELETE 3".
    await connection.execute(_sql.forbid_deletes)
    return int(command_tag.removeprefix("DELETE "))


def _storable(value: str) -> str:
    """Return a string that PostgreSQL can store, so that no event is lost because of a client's input."""
    return value[:_MAX_STRING_LENGTH].replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _audit_record(row: Any) -> AuditRecord:
    return AuditRecord(**{**row, "outcome": Outcome(row["outcome"]), "details": orjson.loads(row["details"])})
