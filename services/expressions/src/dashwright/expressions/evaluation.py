"""Evaluation of a request whose data was fetched. It works on values only, so it may run in a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine import shape
from dashwright.expressions.engine.bounds import check_size, size_of
from dashwright.expressions.engine.evaluate import Results, Trace, evaluate
from dashwright.expressions.engine.expression import DroppedItems, Outcome, TableExpression
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frame_values import values_of
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.value_frames import frames_of
from dashwright.expressions.engine.values import Values
from dashwright.expressions.fetching import FetchedResults
from dashwright.expressions.formats.response import Result, notices_of
from dashwright.expressions.requests.request import Request


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a request."""

    shown: dict[str, Result]  #: By refId, in request order.
    explanation: dict[str, Any] | None = None  #: How the results came about, if the client asked for it.


def evaluate_fetched(request: Request, fetched: FetchedResults, limits: Limits, *, explain: bool = False) -> Evaluation:
    """Return the results of a request from the results of its data sources."""
    checked = {node.ref_id: _checked(node, fetched.results[node.ref_id]) for node in request.nodes if node.ref_id in fetched.results}
    selected = {ref_id for node in request.nodes if isinstance(node.expression, TableExpression) for ref_id in node.inputs}
    wanted = {ref_id for node in request.nodes if not isinstance(node.expression, TableExpression) for ref_id in node.inputs}
    tables = {
        ref_id: Table(tuple(checked[ref_id].frames), fetched.types.get(ref_id, ""))
        for ref_id in selected
        if ref_id in checked and not checked[ref_id].error
    }
    read = (checked.keys() & wanted) | ((checked.keys() & selected) - tables.keys())
    given = {ref_id: _read(ref_id, fetched.types.get(ref_id, ""), result, limits) for ref_id, result in checked.items() if ref_id in read}
    trace = Trace()
    # An explanation also describes hidden outcomes.
    kept = {node.ref_id for node in request.nodes if explain or node.ref_id not in request.hidden}
    outcomes = evaluate(request.nodes, given, limits, trace, kept, tables)
    results = {ref_id: _shown_source(ref_id, result, given.get(ref_id)) for ref_id, result in checked.items()}
    results |= _shown_expressions(outcomes)
    shown = {node.ref_id: results[node.ref_id] for node in request.nodes if node.ref_id not in request.hidden}
    for ref_id, result in shown.items():
        if texts := [*request.notices.get(ref_id, ()), *(_of_a_newer_kind(result.frames) if ref_id in given or ref_id in tables else ())]:
            shown[ref_id] = _noticed(result, texts)
    return Evaluation(shown, explanation(request, {**tables, **given}, outcomes, trace, fetched) if explain else None)


def _checked(node: Node, result: Result) -> Result:
    """Return the result, with an error added if its frames are not as the query asserts."""
    if node.assertion is None or result.error:
        return result
    try:
        node.assertion.check(node.ref_id, result.frames)
    except DashwrightError as error:
        return Result(result.frames, error)
    return result


def _read(ref_id: str, source_type: str, result: Result, limits: Limits) -> Values | DashwrightError:
    if result.error:
        return result.error
    try:
        limits.deadline.check()
        values = values_of(result.frames, source_type)
        check_size(ref_id, values, limits)
    except DashwrightError as error:
        unreadable = type(error)(f"failed to read data from query {ref_id}: {error.message}", message_id="sse.readDataError")
        unreadable.__cause__ = error
        return unreadable
    return values


def _shown_source(ref_id: str, result: Result, read_as: Values | DashwrightError | None) -> Result:
    frames = [Frame(frame.fields, frame.name, ref_id, frame.meta) for frame in result.frames]
    return Result(frames, read_as if isinstance(read_as, DashwrightError) else result.error)


def _shown_expressions(outcomes: Results) -> dict[str, Result]:
    return {
        ref_id: _shown_outcome(ref_id, outcome) if isinstance(outcome, Outcome) else Result(error=outcome)
        for ref_id, outcome in outcomes.items()
    }


def _shown_outcome(ref_id: str, outcome: Outcome) -> Result:
    frames = frames_of(outcome, ref_id)
    return Result(frames, warnings=() if frames else outcome.warnings)


def _of_a_newer_kind(frames: Sequence[Frame]) -> list[str]:
    """Return a warning if frames that expressions read declare an unknown newer version."""
    newer = shape.newer_version(frames[0]) if frames else ""
    known = ".".join(map(str, shape.NEWEST_VERSION))
    return [f"the frames declare version {newer} of their type; they were read as {known}, the newest known here"] if newer else []


def _noticed(result: Result, texts: Sequence[str]) -> Result:
    """Return the result with warnings on its first frame, or on the result itself if it has no frame."""
    if not result.frames:
        return replace(result, warnings=[*result.warnings, *texts])
    first, *others = result.frames
    meta = dict(first.meta or {})
    given = meta.get("notices")
    notices = [*(given if isinstance(given, list) else ()), *notices_of(texts)]
    return replace(result, frames=[replace(first, meta={**meta, "notices": notices}), *others])


_SHOWN_DROPS = 100


def explanation(
    request: Request, given: Mapping[str, Values | Table | DashwrightError], outcomes: Results, trace: Trace, fetched: FetchedResults
) -> dict[str, Any]:
    """Return how the results came about: the order of execution and, by refId, inputs, output and duration.

    ``given`` holds the values of ordinary queries, ``fetched`` where they came from.
    """
    values = {**given, **{ref_id: outcome.values if isinstance(outcome, Outcome) else outcome for ref_id, outcome in outcomes.items()}}
    inputs = {node.ref_id: node.inputs for node in request.nodes}
    taken = {**fetched.seconds, **trace.seconds}
    kinds = request.kinds | fetched.types
    nodes = {
        ref_id: _node(kinds[ref_id], [{"refId": name, **_value_summary(values.get(name))} for name in inputs[ref_id]], taken.get(ref_id))
        | {"output": _value_summary(values.get(ref_id))}
        | _dropped(outcomes.get(ref_id))
        | _cached(fetched.cached.get(ref_id))
        for ref_id in trace.order
    }
    return {"order": list(trace.order), "nodes": nodes}


def _node(kind: str, inputs: list[dict[str, Any]], seconds: float | None) -> dict[str, Any]:
    return {"kind": kind, "inputs": inputs, "milliseconds": None if seconds is None else round(seconds * 1000, 3)}


def _cached(found: bool | None) -> dict[str, str]:
    """Return whether a query's result came from the cache, for queries whose results are cached."""
    return {} if found is None else {"cache": "hit" if found else "miss"}


def _value_summary(values: Values | Table | DashwrightError | None) -> dict[str, Any]:
    """Return what a refId holds. An ordinary query that no expression reads is never converted to values."""
    if values is None:
        return {}
    if isinstance(values, DashwrightError):
        return {"error": values.message if values.status < 500 else values.message_id}
    items, points = size_of(values)
    return {"type": values.kind, "items": items, "points": points}


def _dropped(outcome: Outcome | DashwrightError | None) -> dict[str, Any]:
    if not isinstance(outcome, Outcome) or not outcome.dropped:
        return {}
    return {"dropped": [_drop(dropped) for dropped in outcome.dropped]}


def _drop(dropped: DroppedItems) -> dict[str, Any]:
    shown = [dict(labels.pairs) for labels in dropped.labels[:_SHOWN_DROPS]]
    return {"operation": dropped.operation, "operand": dropped.operand, "count": len(dropped.labels), "items": shown}
