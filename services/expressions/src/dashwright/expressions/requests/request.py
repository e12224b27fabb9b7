"""Parsing of a request's body. An invalid request is rejected before any query runs."""

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
from dashwright.expressions.engine.timerange import TimeRange, parse_time_range
from dashwright.expressions.requests.binding import BoundQuery, Fault, bind
from dashwright.expressions.requests.targets import expression_of
from dashwright.expressions.sql.engine import SqlEngine

#: The default time range of a request.
DEFAULT_FROM, DEFAULT_TO = "now-6h", "now"


@dataclass(slots=True)
class RequestBody:
    """A body before its queries are bound: the JSON of queries and targets, and the time range."""

    queries: list[tuple[str, Any]] = field(default_factory=list)  #: The JSON pointer and the JSON of each query and target, in order.
    start: str = DEFAULT_FROM
    end: str = DEFAULT_TO
    transformations: Any = None  #: The JSON of a panel's transformations.
    faults: list[Fault] = field(default_factory=list)  #: Faults of the body itself, without those of its queries.


def read_body(body: bytes, endpoint: QueryEndpoint) -> RequestBody:
    """Return the queries, targets and time range of a body.

    All endpoints read ``queries``. All except ``/api/ds/query`` also require a panel's ``type`` and ``targets``.
    Raises BadRequest if the body is not JSON.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"bad request data: the body is not JSON: {error}") from error
    request_body = RequestBody()
    if not isinstance(document, dict):
        request_body.faults.append(_fault("", "must be an object with targets and a type, or with queries"))
        return request_body
    if endpoint is not QueryEndpoint.QUERY:
        _read_panel(document, request_body)
    _add_queries(document, "queries", request_body)
    request_body.start = _time_value(document, "from", DEFAULT_FROM, request_body)
    request_body.end = _time_value(document, "to", DEFAULT_TO, request_body)
    return request_body


def _read_panel(document: dict[str, Any], request_body: RequestBody) -> None:
    """Add the targets of a panel to ``request_body``, and faults if its type or targets are missing or invalid."""
    for name, python_type, expected in (("type", str, "text"), ("targets", list, "a list")):
        value = document.get(name)
        if value is None:
            request_body.faults.append(_fault(f"/{name}", "is required"))
        elif not isinstance(value, python_type):
            request_body.faults.append(_fault(f"/{name}", f"must be {expected}"))
    if isinstance(document.get("targets"), list):
        _add_queries(document, "targets", request_body)
    request_body.transformations = document.get("transformations")


def _add_queries(document: dict[str, Any], name: str, request_body: RequestBody) -> None:
    queries = document.get(name)
    if isinstance(queries, list):
        request_body.queries += [(f"/{name}/{index}", query) for index, query in enumerate(queries)]
    elif queries is not None:
        request_body.faults.append(_fault(f"/{name}", "must be a list"))


def _time_value(document: dict[str, Any], name: str, default: str, request_body: RequestBody) -> str:
    """Return ``from`` or ``to`` as text, or the default if it is missing. An invalid time adds a fault."""
    value = document.get(name)
    if value is None:
        return default
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    request_body.faults.append(_fault(f"/{name}", "must be text, or epoch milliseconds as an integer"))
    return default


def _fault(pointer: str, message: str) -> Fault:
    return Fault(pointer, message, "bad-request")


#: The maximum number of faults in the message of an error, and in its list of causes.
_MAX_FAULTS_IN_MESSAGE = 5
_MAX_CAUSES = 100


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can run. All dictionaries are keyed by refId."""

    nodes: tuple[Node, ...]  #: In request order, without hidden nodes that no visible node reads.
    source_queries: dict[str, SourceQuery]  #: Queries of data sources.
    time_ranges: dict[str, TimeRange]
    types: dict[str, str]  #: The type of the expression, or the type of data source that the query names.
    notices: dict[str, tuple[str, ...]]  #: Warnings about ignored properties.
    hidden: frozenset[str]  #: RefIds whose results the response does not contain.
    transformations: Any = None  #: The JSON of a panel's transformations.


@dataclass(slots=True)
class RequestDraft:
    """A request while it is parsed."""

    bound_queries: dict[str, BoundQuery] = field(default_factory=dict)  #: Queries without faults by refId, in request order.
    time_ranges: dict[str, TimeRange] = field(default_factory=dict)  #: The time ranges of the bound queries, by refId.
    transformations: Any = None  #: The JSON of a panel's transformations.
    faults: list[Fault] = field(default_factory=list)  #: Faults of the body and of its queries.


def parse_request(body: bytes, context: QueryContext, now: datetime, limits: Limits, sql: SqlEngine | None = None) -> Request:
    """Return the request in a body.

    Raises a BadRequest that lists each validation error with its JSON pointer, refId and remedy, or DeadlineExceeded if
    parsing takes too long.
    """
    draft = draft_request(body, context, now, limits)
    if draft.faults:
        raise _refusal(draft.faults)
    if not draft.bound_queries:
        raise BadRequest("No queries found; give at least one", message_id="query.noQueries")
    queries = {ref_id: bound.query for ref_id, bound in draft.bound_queries.items()}
    nodes = _required_nodes([node_of(ref_id, query, draft.time_ranges[ref_id], limits, sql) for ref_id, query in queries.items()], queries)
    queries = {node.ref_id: queries[node.ref_id] for node in nodes}
    return Request(
        nodes=nodes,
        source_queries={ref_id: query for ref_id, query in queries.items() if isinstance(query, SourceQuery)},
        time_ranges=draft.time_ranges,
        types={ref_id: query.datasource.type if isinstance(query, SourceQuery) else query.type for ref_id, query in queries.items()},
        notices={ref_id: bound.notices for ref_id, bound in draft.bound_queries.items() if bound.notices},
        hidden=frozenset(ref_id for ref_id, query in queries.items() if query.hide),
        transformations=draft.transformations,
    )


def _required_nodes(nodes: Sequence[Node], queries: Mapping[str, Target | SourceQuery]) -> tuple[Node, ...]:
    """Return the nodes that are not hidden, and those that they read, directly or through other nodes."""
    inputs = {node.ref_id: node.inputs for node in nodes}
    required: set[str] = set()
    pending = [ref_id for ref_id, query in queries.items() if not query.hide]
    while pending:
        ref_id = pending.pop()
        if ref_id not in required:
            required.add(ref_id)
            pending += inputs.get(ref_id, ())
    return tuple([node for node in nodes if node.ref_id in required])


def draft_request(body: bytes, context: QueryContext, now: datetime, limits: Limits) -> RequestDraft:
    """Return the bound queries and all faults of a body. Raises BadRequest if it is not JSON, DeadlineExceeded if binding is too slow."""
    request_body = read_body(body, context.endpoint)
    draft = RequestDraft(transformations=request_body.transformations, faults=request_body.faults)
    default_range = _default_range(request_body, now, draft)
    if len(request_body.queries) > limits.query_targets:
        refusal = limits.refusal("query_targets", f"there are {len(request_body.queries)} queries and targets", "send fewer at a time")
        first_surplus_pointer, _ = request_body.queries[limits.query_targets]
        draft.faults.append(Fault(first_surplus_pointer, refusal.message, refusal.message_id))
        # Queries are not even bound: a message about each of them would cost the time that the limit prevents.
        return draft
    for pointer, query in request_body.queries:
        limits.deadline.check()
        bound_or_faults = bind(query, pointer, context)
        if isinstance(bound_or_faults, BoundQuery):
            _add_query(bound_or_faults, default_range, now, draft)
        else:
            draft.faults += bound_or_faults
    _check_total_length(draft, limits)
    return draft


def _check_total_length(draft: RequestDraft, limits: Limits) -> None:
    """Add a fault at the first target at which the total length of expressions exceeds the limit of a request."""
    total_length = 0
    for ref_id, bound in draft.bound_queries.items():
        total_length += len(getattr(bound.query, "expression", "") if isinstance(bound.query, Target) else "")
        if total_length > limits.request_expressions:
            problem = f"the expressions up to this one have {total_length} characters together"
            refusal = limits.refusal("request_expressions", problem, "send fewer at a time")
            draft.faults.append(Fault(f"{bound.pointer}/expression", refusal.message, refusal.message_id, ref_id))
            return


def node_of(ref_id: str, query: Target | SourceQuery, time_range: TimeRange, limits: Limits, sql: SqlEngine | None) -> Node:
    """Return the node of a query in the graph. If the expression is invalid, the node has the error instead."""
    assertion = _assertion(query)
    if isinstance(query, SourceQuery):
        return Node(ref_id, assertion=assertion)
    try:
        limits.deadline.check()
        return Node(ref_id, expression_of(query, time_range, limits, sql), assertion=assertion)
    except DashwrightError as error:
        return Node(ref_id, error=error)


def _default_range(request_body: RequestBody, now: datetime, draft: RequestDraft) -> TimeRange:
    """Return the time range of queries without their own. If it is invalid, add faults to the draft and return an empty range."""
    try:
        return parse_time_range(request_body.start, request_body.end, now)
    except BadRequest as error:
        draft.faults += [Fault(f"/{cause.field}", cause.message, error.message_id) for cause in error.causes]
        # The queries are still bound, so that the error lists their faults too.
        return TimeRange(now, now)


def _add_query(bound: BoundQuery, default_range: TimeRange, now: datetime, draft: RequestDraft) -> None:
    """Add a query with its time range to the draft, or a fault if its refId is used already or its time range is invalid."""
    query = bound.query
    if query.ref_id in draft.bound_queries:
        message = f"refId {query.ref_id} is used by more than one query; give each its own"
        draft.faults.append(Fault(f"{bound.pointer}/refId", message, "query.duplicateRefId"))
        return
    draft.bound_queries[query.ref_id] = bound
    draft.time_ranges[query.ref_id] = default_range
    if query.time_range is None:
        return
    try:
        draft.time_ranges[query.ref_id] = parse_time_range(query.time_range.from_, query.time_range.to, now)
    except BadRequest as error:
        pointer = f"{bound.pointer}/timeRange"
        draft.faults += [Fault(f"{pointer}/{cause.field}", cause.message, error.message_id, query.ref_id) for cause in error.causes]


def _assertion(query: Target | SourceQuery) -> Assertion | None:
    assertions = query.result_assertions
    if assertions is None:
        return None
    major, minor = assertions.type_version
    return Assertion(assertions.type or "", (major, minor), assertions.max_frames or 0)


def _refusal(faults: Sequence[Fault]) -> BadRequest:
    descriptions = "; ".join(fault.description for fault in faults[:_MAX_FAULTS_IN_MESSAGE])
    remainder = f"; and {len(faults) - _MAX_FAULTS_IN_MESSAGE} more" if len(faults) > _MAX_FAULTS_IN_MESSAGE else ""
    causes = [Cause(fault.pointer, "FieldValueInvalid", fault.message) for fault in faults[:_MAX_CAUSES]]
    return BadRequest(f"{descriptions}{remainder}", message_id=faults[0].message_id, causes=causes)
