"""Evaluation of a request whose queries have results. It does no I/O, so it may run in a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine import frame_layout
from dashwright.expressions.engine.evaluate import EvaluationStats, Results, evaluate
from dashwright.expressions.engine.expression import DroppedItems, Outcome, TableExpression
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frame_set import FrameSet, first_meta, with_first_meta
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limit_checks import check_size, size_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Values
from dashwright.expressions.engine.values_to_frames import frames_of
from dashwright.expressions.fetching import FetchedResults
from dashwright.expressions.formats.response import Result, notices_of
from dashwright.expressions.formats.transformed import TransformationResult
from dashwright.expressions.requests.request import Request


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a request."""

    results: dict[str, Result]  #: By refId, in request order, without hidden ones.
    explanation: dict[str, Any] | None = None  #: A description of the evaluation, if the client requested it.
    transformed: TransformationResult | None = None  #: The frames after the panel's transformations, if the client requested them.


def evaluate_fetched(request: Request, fetched: FetchedResults, limits: Limits, *, explain: bool = False) -> Evaluation:
    """Return the results of a request from the results of its data sources."""
    query_results = {
        node.ref_id: _with_assertion(node, fetched.results[node.ref_id]) for node in request.nodes if node.ref_id in fetched.results
    }
    tables = _tables_of(request, query_results, fetched)
    query_values = _values_of(request, query_results, tables, fetched, limits)
    stats = EvaluationStats()
    # An explanation also describes hidden expressions.
    requested = {node.ref_id for node in request.nodes if explain or node.ref_id not in request.hidden}
    outcomes = evaluate(request.nodes, query_values, limits, stats, requested, tables)
    results = {ref_id: _source_result(ref_id, result, query_values.get(ref_id)) for ref_id, result in query_results.items()}
    results |= {ref_id: _expression_result(ref_id, outcome) for ref_id, outcome in outcomes.items()}
    visible = {node.ref_id: results[node.ref_id] for node in request.nodes if node.ref_id not in request.hidden}
    for ref_id, result in visible.items():
        is_read_by_expression = ref_id in query_values or ref_id in tables
        warnings = [*request.notices.get(ref_id, ()), *(_version_warnings(result.frames) if is_read_by_expression else ())]
        if warnings:
            visible[ref_id] = _with_warnings(result, warnings)
    return Evaluation(visible, explanation(request, {**tables, **query_values}, outcomes, stats, fetched) if explain else None)


def _tables_of(request: Request, query_results: Mapping[str, Result], fetched: FetchedResults) -> dict[str, Table]:
    """Return the frames of the queries that SQL expressions select from. Failed queries are omitted."""
    return {
        ref_id: Table(tuple(query_results[ref_id].frames), fetched.types.get(ref_id, ""))
        for ref_id in _inputs(request, of_tables=True)
        if ref_id in query_results and not query_results[ref_id].error
    }


def _values_of(
    request: Request, query_results: Mapping[str, Result], tables: Mapping[str, Table], fetched: FetchedResults, limits: Limits
) -> dict[str, Values | DashwrightError]:
    """Return the values or errors of the queries that expressions read, and the errors of those that SQL selects from."""
    failed_tables = _inputs(request, of_tables=True) - tables.keys()
    read_as_values = _inputs(request, of_tables=False) | failed_tables
    return {
        ref_id: _read_values(ref_id, fetched.types.get(ref_id, ""), result, limits)
        for ref_id, result in query_results.items()
        if ref_id in read_as_values
    }


def _inputs(request: Request, *, of_tables: bool) -> set[str]:
    """Return the refIds that SQL expressions select from if ``of_tables``, else those that all other expressions read."""
    return {ref_id for node in request.nodes if isinstance(node.expression, TableExpression) is of_tables for ref_id in node.inputs}


def _with_assertion(node: Node, result: Result) -> Result:
    """Return the result, with an error if its frames differ from what the query asserts."""
    if node.assertion is None or result.error:
        return result
    try:
        node.assertion.check(node.ref_id, result.frames)
    except DashwrightError as error:
        return Result(result.frames, error)
    return result


def _read_values(ref_id: str, source_type: str, result: Result, limits: Limits) -> Values | DashwrightError:
    """Return the values in the frames of a query, or the error of the query or of reading its frames."""
    if result.error:
        return result.error
    try:
        limits.deadline.check()
        values = values_of(result.frames, source_type)
        check_size(ref_id, values, limits)
    except DashwrightError as error:
        read_error = type(error)(f"failed to read data from query {ref_id}: {error.message}", message_id="sse.readDataError")
        read_error.__cause__ = error
        return read_error
    return values


def _source_result(ref_id: str, result: Result, values: Values | DashwrightError | None) -> Result:
    """Return the result of a query with its refId on each frame, and with the error if its frames could not be read as values."""
    frames = result.frames
    if isinstance(frames, FrameSet):
        frames = frames.with_ref_id(ref_id)
    else:
        frames = [Frame(frame.fields, frame.name, ref_id, frame.meta) for frame in frames]
    return Result(frames, values if isinstance(values, DashwrightError) else result.error)


def _expression_result(ref_id: str, outcome: Outcome | DashwrightError) -> Result:
    """Return the result of an expression: its frames or its error. Without frames, the result itself has the warnings."""
    if isinstance(outcome, DashwrightError):
        return Result(error=outcome)
    # The frames contain the warnings as notices of the first frame.
    frames = frames_of(outcome, ref_id)
    return Result(frames, warnings=() if frames else outcome.warnings)


def _version_warnings(frames: Sequence[Frame]) -> list[str]:
    """Return a warning if the frames declare a newer version of the data plane contract than this engine implements."""
    newer_version = frame_layout.newer_version(first_meta(frames)) if frames else ""
    if not newer_version:
        return []
    newest_known = ".".join(map(str, frame_layout.NEWEST_VERSION))
    return [f"the frames declare version {newer_version} of their type; they were read as {newest_known}, the newest known here"]


def _with_warnings(result: Result, warnings: Sequence[str]) -> Result:
    """Return the result with warnings on its first frame, or on the result itself if it has no frame."""
    if not result.frames:
        return replace(result, warnings=[*result.warnings, *warnings])
    meta = dict(first_meta(result.frames) or {})
    existing = meta.get("notices")
    notices = [*(existing if isinstance(existing, list) else ()), *notices_of(warnings)]
    return replace(result, frames=with_first_meta(result.frames, {**meta, "notices": notices}))


#: The maximum number of dropped items that an explanation lists for each operand.
_MAX_EXPLAINED_ITEMS = 100


def explanation(
    request: Request,
    query_values: Mapping[str, Values | Table | DashwrightError],
    outcomes: Results,
    stats: EvaluationStats,
    fetched: FetchedResults,
) -> dict[str, Any]:
    """Return a description of the evaluation: the order of execution and, by refId, inputs, output and duration.

    ``query_values`` has the values, tables and errors of data source queries.
    """
    values = {
        **query_values,
        **{ref_id: outcome.values if isinstance(outcome, Outcome) else outcome for ref_id, outcome in outcomes.items()},
    }
    inputs = {node.ref_id: node.inputs for node in request.nodes}
    seconds = {**fetched.seconds, **stats.seconds}
    types = request.types | fetched.types
    nodes: dict[str, dict[str, Any]] = {}
    for ref_id in stats.order:
        input_summaries = [{"refId": name, **_value_summary(values.get(name))} for name in inputs[ref_id]]
        nodes[ref_id] = {
            **_node_members(types[ref_id], input_summaries, seconds.get(ref_id)),
            "output": _value_summary(values.get(ref_id)),
            **_dropped_member(outcomes.get(ref_id)),
            **_cache_member(fetched.cache_hits.get(ref_id)),
        }
    return {"order": list(stats.order), "nodes": nodes}


def _node_members(node_type: str, inputs: list[dict[str, Any]], seconds: float | None) -> dict[str, Any]:
    return {"kind": node_type, "inputs": inputs, "milliseconds": None if seconds is None else round(seconds * 1000, 3)}


def _cache_member(is_hit: bool | None) -> dict[str, str]:
    """Return the member ``cache`` of a node, which says whether the result came from the cache.

    A result that is never cached (None) has no such member.
    """
    return {} if is_hit is None else {"cache": "hit" if is_hit else "miss"}


def _value_summary(values: Values | Table | DashwrightError | None) -> dict[str, Any]:
    """Return the type and size of values, an error, or nothing for a query that no expression reads."""
    if values is None:
        return {}
    if isinstance(values, DashwrightError):
        # Messages of internal errors are for the logs only.
        return {"error": values.message if values.status < 500 else values.message_id}
    items, points = size_of(values)
    return {"type": values.type_name, "items": items, "points": points}


def _dropped_member(outcome: Outcome | DashwrightError | None) -> dict[str, Any]:
    """Return the member ``dropped`` of a node, or nothing if no items were dropped."""
    if not isinstance(outcome, Outcome) or not outcome.dropped_items:
        return {}
    return {"dropped": [_dropped_items_json(dropped_items) for dropped_items in outcome.dropped_items]}


def _dropped_items_json(dropped_items: DroppedItems) -> dict[str, Any]:
    """Return the items that an operation dropped, as an explanation describes them."""
    label_sets = [dict(labels.pairs) for labels in dropped_items.labels[:_MAX_EXPLAINED_ITEMS]]
    return {
        "operation": dropped_items.operation,
        "operand": dropped_items.operand,
        "count": len(dropped_items.labels),
        "items": label_sets,
    }
