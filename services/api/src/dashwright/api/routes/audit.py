"""The audit: who did what to what, newest first. Nothing changes it but time."""

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

_READ: Final = "audit:read"
_PAGE, _LARGEST_PAGE = 100, 1000
_FILTERS: Final = {
    "from": "events of that time and later; RFC 3339",
    "to": "events before that time; RFC 3339",
    "actor": "who did it: user:1, service-account:7, api-key:3, queue:default, anonymous",
    "action": "what was done: token.create",
    "object": "to what: org:5",
    "outcome": ", ".join(Outcome),
    "requestId": "by which request",
    "orgId": "about which organization; another than one's own is for server admins, who see all without it",
    "before": "the next of the page before",
    "limit": f"events on a page, {_PAGE} unless given, at most {_LARGEST_PAGE}",
}


def routes(database: Database) -> list[Route]:
    """Admins see what is about their organization, server admins all."""

    async def listed(call: Call) -> Response:
        wanted, before = _filter(call), _number(call, "before")
        limit = call.number("limit", _PAGE, least=1, most=_LARGEST_PAGE)
        async with database.connection() as connection:
            page = await audit.query(connection, wanted, before=before, limit=limit)
        return json_response(AuditPage(events=[_event_view(event) for event in page.events], next=page.next).members())

    operation = Operation(
        "listAuditEvents",
        "who did what to what",
        "audit",
        responses={200: AuditPage},
        query=_FILTERS,
        parameters={"orgId": int, "before": int, "limit": int},
    )
    return [Route("GET", "/api/audit", listed, Permission(_READ), operation)]


def _filter(call: Call) -> EventFilter:
    outcome = call.query.get("outcome")
    if outcome is not None and outcome not in set(Outcome):
        raise BadRequest(f"outcome is one of {', '.join(Outcome)}")
    return EventFilter(
        org_id=_organization(call),
        since=_time(call, "from"),
        until=_time(call, "to"),
        actor=call.query.get("actor"),
        action=call.query.get("action"),
        object=call.query.get("object"),
        outcome=None if outcome is None else Outcome(outcome),
        request_id=call.query.get("requestId"),
    )


def _organization(call: Call) -> int | None:
    """Raises Forbidden for an organization that the caller may not look into."""
    wanted, own = _number(call, "orgId"), call.identity.org_id
    if call.identity.is_server_admin:
        return wanted
    if wanted not in (None, own):
        raise permission_denied(_READ)
    return own


def _number(call: Call, name: str) -> int | None:
    text = call.query.get(name)
    if text is None:
        return None
    number = parse_integer(text)
    if number is None:
        raise BadRequest(f"{name} is no whole number")
    return number


def _time(call: Call, name: str) -> datetime | None:
    text = call.query.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{name} is no time; write it as 2026-01-31T12:00:00Z") from error


def _event_view(event: AuditRecord) -> AuditEvent:
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
