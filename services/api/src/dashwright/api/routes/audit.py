"""The route of the audit log, the newest events first."""

from datetime import UTC, datetime
from typing import Final

from dashwright.api.domain import times
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.audit import AuditEvent, AuditPage
from dashwright.api.stores import audit
from dashwright.api.stores.audit import AuditRecord, EventFilter, Outcome
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest

_READ_PERMISSION: Final = "audit:read"
_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE = 100, 1000
_QUERY_PARAMETERS: Final = {
    "from": "events at this time or later; RFC 3339",
    "to": "events before this time; RFC 3339",
    "actor": "the actor: user:1, service-account:7, api-key:3, queue:default, anonymous",
    "action": "the action, such as token.create",
    "object": "the object, such as org:5",
    "outcome": ", ".join(Outcome),
    "requestId": "the id of the request",
    "orgId": "the organization of the events, by default the caller's own, or all for server admins. Only they may name another one",
    "before": "the value `next` of the previous page",
    "limit": f"events on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
}


def routes(database: Database) -> list[Route]:
    """Return the route. Admins may read the events of their organization, server admins all events."""

    async def list_events(call: Call) -> Response:
        event_filter, before = _event_filter(call), _optional_integer(call, "before")
        limit = call.query_integer("limit", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        async with database.connection() as connection:
            page = await audit.query(connection, event_filter, before=before, limit=limit)
        return json_response(AuditPage(events=[_event_view(event) for event in page.events], next=page.next).members())

    operation = Operation(
        "listAuditEvents",
        "the audit log",
        "audit",
        responses={200: AuditPage},
        query=_QUERY_PARAMETERS,
        parameters={"orgId": int, "before": int, "limit": int},
    )
    return [Route("GET", "/api/audit", list_events, Permission(_READ_PERMISSION), operation)]


def _event_filter(call: Call) -> EventFilter:
    """Return the filter in the query. Raises BadRequest for invalid values, and Forbidden for another organization."""
    outcome = call.query.get("outcome")
    if outcome is not None and outcome not in set(Outcome):
        raise BadRequest(f"outcome must be one of {', '.join(Outcome)}")
    return EventFilter(
        org_id=_org_id_to_filter_by(call),
        since=_time(call, "from"),
        until=_time(call, "to"),
        actor=call.query.get("actor"),
        action=call.query.get("action"),
        object=call.query.get("object"),
        outcome=None if outcome is None else Outcome(outcome),
        request_id=call.query.get("requestId"),
    )


def _org_id_to_filter_by(call: Call) -> int | None:
    """Return the id of the organization to filter by, or None for all. Raises Forbidden if the caller may not read its events."""
    requested_org_id, caller_org_id = _optional_integer(call, "orgId"), call.identity.org_id
    if call.identity.is_server_admin:
        return requested_org_id
    if requested_org_id not in (None, caller_org_id):
        raise permission_denied(_READ_PERMISSION)
    return caller_org_id


def _optional_integer(call: Call, name: str) -> int | None:
    """Return a query parameter as an integer, or None if it is missing."""
    value = call.query.get(name)
    if value is None:
        return None
    integer = parse_integer(value)
    if integer is None:
        raise BadRequest(f"{name} must be a whole number")
    return integer


def _time(call: Call, name: str) -> datetime | None:
    """Return a query parameter as a time in UTC, or None if it is missing. A time without a zone is in UTC."""
    value = call.query.get(name)
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{name} must be a time, such as 2026-01-31T12:00:00Z") from error


def _event_view(event: AuditRecord) -> AuditEvent:
    """Return the response model of an event."""
    return AuditEvent(
        id=event.id,
        at=times.format_time(event.at),
        org_id=event.org_id,
        actor=event.actor,
        login=event.login,
        action=event.action,
        object=event.object,
        outcome=event.outcome.value,
        status=event.status,
        address=event.address,
        request_id=event.request_id,
        trace_id=event.trace_id,
        details=dict(event.details),
    )
