"""Parsing of a request's body. A malformed request is rejected before any query runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from dashwright.common.errors import BadRequest, Cause, DashwrightError
from dashwright.common.models.expressions import SourceQuery, Target
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine.assertions import Assertion
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange, time_range
from dashwright.expressions.requests.binding import BoundQuery, Fault, bind
from dashwright.expressions.requests.targets import expression_of
from dashwright.expressions.sql.engine import SqlEngine

#: Default time range of a request.
DEFAULT_FROM, DEFAULT_TO = "now-6h", "now"


@dataclass(slots=True)
class RequestEnvelope:
    """The members of a body: its queries and targets with their JSON pointers, and its time range."""

    items: list[tuple[str, Any]] = field(default_factory=list)  #: JSON pointers with their values, in the order of the body.
    start: str = DEFAULT_FROM
    end: str = DEFAULT_TO
    faults: list[Fault] = field(default_factory=list)


def open_envelope(body: bytes, endpoint: QueryEndpoint) -> RequestEnvelope:
    """Return the members of a body.

    ``/api/ds/query`` takes a list of queries; all other endpoints require a panel's ``type`` and ``targets``.
    Raises BadRequest if the body is not JSON.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"bad request data: the body is not JSON: {error}") from error
    envelope = RequestEnvelope()
    if not isinstance(document, dict):
        envelope.faults.append(_invalid("", "must be an object with targets and a type, or with queries"))
        return envelope
    if endpoint is not QueryEndpoint.QUERY:
        _open_panel(document, envelope)
    _add_items(document, "queries", envelope)
    envelope.start = _time(document, "from", DEFAULT_FROM, envelope)
    envelope.end = _time(document, "to", DEFAULT_TO, envelope)
    return envelope


def _open_panel(document: dict[str, Any], envelope: RequestEnvelope) -> None:
    for name, kind, expected in (("type", str, "text"), ("targets", list, "a list")):
        value = document.get(name)
        if value is None:
            envelope.faults.append(_invalid(f"/{name}", "is required"))
        elif not isinstance(value, kind):
            envelope.faults.append(_invalid(f"/{name}", f"must be {expected}"))
    if isinstance(document.get("targets"), list):
        _add_items(document, "targets", envelope)


def _add_items(document: dict[str, Any], name: str, envelope: RequestEnvelope) -> None:
    items = document.get(name)
    if isinstance(items, list):
        envelope.items += [(f"/{name}/{number}", item) for number, item in enumerate(items)]
    elif items is not None:
        envelope.faults.append(_invalid(f"/{name}", "must be a list"))


def _time(document: dict[str, Any], name: str, default: str, envelope: RequestEnvelope) -> str:
    value = document.get(name)
    if value is None:
        return default
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    envelope.faults.append(_invalid(f"/{name}", "must be text, or epoch milliseconds as an integer"))
    return default


def _invalid(pointer: str, message: str) -> Fault:
    return Fault(pointer, message, "bad-request")


_MAX_FAULTS_IN_MESSAGE = 5
_MAX_CAUSES = 100


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can run. All dictionaries are keyed by refId."""

    nodes: tuple[Node, ...]  #: In request order, without hidden nodes whose results are not used.
    sources: dict[str, SourceQuery]  #: Ordinary queries.
    ranges: dict[str, TimeRange]
    kinds: dict[str, str]  #: The type of the expression or of the data source.
    notices: dict[str, tuple[str, ...]]  #: Warnings.
    hidden: frozenset[str]


@dataclass(slots=True)
class RequestDraft:
    """A request while it is parsed."""

    bound: dict[str, BoundQuery] = field(default_factory=dict)  #: Queries without faults, in request order.
    ranges: dict[str, TimeRange] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def parse_request(body: bytes, context: QueryContext, now: datetime, limits: Limits, sql: SqlEngine | None = None) -> Request:
    """Return the request in a body.

    Raises a BadRequest that lists each validation error with its JSON pointer, refId and remedy, or DeadlineExceeded if
    parsing takes too long.
    """
    draft = draft_request(body, context, now, limits)
    if draft.faults:
        raise _refusal(draft.faults)
    if not draft.bound:
        raise BadRequest("No queries found; give at least one", message_id="query.noQueries")
    queries = {ref_id: bound.query for ref_id, bound in draft.bound.items()}
    nodes = _needed([node_of(ref_id, query, draft.ranges[ref_id], limits, sql) for ref_id, query in queries.items()], queries)
    queries = {node.ref_id: queries[node.ref_id] for node in nodes}
    return Request(
        nodes,
        {ref_id: query for ref_id, query in queries.items() if isinstance(query, SourceQuery)},
        draft.ranges,
        {ref_id: query.datasource.type if isinstance(query, SourceQuery) else query.type for ref_id, query in queries.items()},
        {ref_id: bound.notices for ref_id, bound in draft.bound.items() if bound.notices},
        frozenset(ref_id for ref_id, query in queries.items() if query.hide),
    )


def _needed(nodes: Sequence[Node], queries: Mapping[str, Target | SourceQuery]) -> tuple[Node, ...]:
    """Return the nodes that are not hidden, and those that they read directly or through others."""
    inputs = {node.ref_id: node.inputs for node in nodes}
    needed: set[str] = set()
    reached = [ref_id for ref_id, query in queries.items() if not query.hide]
    while reached:
        ref_id = reached.pop()
        if ref_id not in needed:
            needed.add(ref_id)
            reached += inputs.get(ref_id, ())
    return tuple([node for node in nodes if node.ref_id in needed])


def draft_request(body: bytes, context: QueryContext, now: datetime, limits: Limits) -> RequestDraft:
    """Return the bound queries and all faults of a body. Raises BadRequest if it is not JSON, and DeadlineExceeded."""
    envelope = open_envelope(body, context.endpoint)
    draft = RequestDraft(faults=envelope.faults)
    default_range = _default_range(envelope, now, draft)
    if len(envelope.items) > limits.query_targets:
        refusal = limits.refusal("query_targets", f"there are {len(envelope.items)} queries and targets", "send fewer at a time")
        draft.faults.append(Fault(envelope.items[limits.query_targets][0], refusal.message, refusal.message_id))
        return draft
    for pointer, item in envelope.items:
        limits.deadline.check()
        bound = bind(item, pointer, context)
        if isinstance(bound, BoundQuery):
            _add(bound, default_range, now, draft)
        else:
            draft.faults += bound
    _check_expressions(draft, limits)
    return draft


def _check_expressions(draft: RequestDraft, limits: Limits) -> None:
    """Add one fault, at the first target with which the total length of expressions exceeds the limit of a request."""
    total = 0
    for ref_id, bound in draft.bound.items():
        total += len(getattr(bound.query, "expression", "") if isinstance(bound.query, Target) else "")
        if total > limits.request_expressions:
            found = f"the expressions up to this one have {total} characters together"
            refusal = limits.refusal("request_expressions", found, "send fewer at a time")
            draft.faults.append(Fault(f"{bound.pointer}/expression", refusal.message, refusal.message_id, ref_id))
            return


def node_of(ref_id: str, query: Target | SourceQuery, span: TimeRange, limits: Limits, sql: SqlEngine | None) -> Node:
    """Return the graph's node of a query; a target whose expression cannot be parsed is a node with that fault."""
    assertion = _assertion(query)
    if isinstance(query, SourceQuery):
        return Node(ref_id, assertion=assertion)
    try:
        limits.deadline.check()
        return Node(ref_id, expression_of(query, span, limits, sql), assertion=assertion)
    except DashwrightError as error:
        return Node(ref_id, fault=error)


def _default_range(envelope: RequestEnvelope, now: datetime, draft: RequestDraft) -> TimeRange:
    try:
        return time_range(envelope.start, envelope.end, now)
    except BadRequest as error:
        draft.faults += [Fault(f"/{cause.field}", cause.message, error.message_id) for cause in error.causes]
        return TimeRange(now, now)


def _add(bound: BoundQuery, default_range: TimeRange, now: datetime, draft: RequestDraft) -> None:
    query = bound.query
    if query.ref_id in draft.bound:
        message = f"refId {query.ref_id} is used by more than one query; give each its own"
        draft.faults.append(Fault(f"{bound.pointer}/refId", message, "query.duplicateRefId"))
        return
    draft.bound[query.ref_id] = bound
    draft.ranges[query.ref_id] = default_range
    if query.time_range is None:
        return
    try:
        draft.ranges[query.ref_id] = time_range(query.time_range.from_, query.time_range.to, now)
    except BadRequest as error:
        pointer = f"{bound.pointer}/timeRange"
        draft.faults += [Fault(f"{pointer}/{cause.field}", cause.message, error.message_id, query.ref_id) for cause in error.causes]


def _assertion(query: Target | SourceQuery) -> Assertion | None:
    asserted = query.result_assertions
    if asserted is None:
        return None
    major, minor = asserted.type_version
    return Assertion(asserted.type or "", (major, minor), asserted.max_frames or 0)


def _refusal(faults: Sequence[Fault]) -> BadRequest:
    text = "; ".join(fault.text for fault in faults[:_MAX_FAULTS_IN_MESSAGE])
    more = f"; and {len(faults) - _MAX_FAULTS_IN_MESSAGE} more" if len(faults) > _MAX_FAULTS_IN_MESSAGE else ""
    causes = [Cause(fault.pointer, "FieldValueInvalid", fault.message) for fault in faults[:_MAX_CAUSES]]
    return BadRequest(f"{text}{more}", message_id=faults[0].message_id, causes=causes)
