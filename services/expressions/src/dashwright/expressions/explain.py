"""How an answer came about, for who asks with ``explain``: the order of execution and, by refId, what went in, what came out, how long."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.bounds import size_of
from dashwright.expressions.engine.evaluate import Results, Trace
from dashwright.expressions.engine.expression import Dropped, Outcome
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Values
from dashwright.expressions.fetching import Fetched
from dashwright.expressions.requests.request import Request

_SHOWN_DROPS = 100


def explanation(
    request: Request, given: Mapping[str, Values | Table | DashwrightError], outcomes: Results, trace: Trace, fetched: Fetched
) -> dict[str, Any]:
    """``given`` is what ordinary queries gave to expressions, ``fetched`` where that came from."""
    values = {**given, **{ref_id: outcome.values if isinstance(outcome, Outcome) else outcome for ref_id, outcome in outcomes.items()}}
    inputs = {node.ref_id: node.inputs for node in request.nodes}
    taken = {**fetched.seconds, **trace.seconds}
    kinds = request.kinds | fetched.types
    nodes = {
        ref_id: _node(kinds[ref_id], [{"refId": name, **_told(values.get(name))} for name in inputs[ref_id]], taken.get(ref_id))
        | {"output": _told(values.get(ref_id))}
        | _dropped(outcomes.get(ref_id))
        | _cached(fetched.cached.get(ref_id))
        for ref_id in trace.order
    }
    return {"order": list(trace.order), "nodes": nodes}


def _node(kind: str, inputs: list[dict[str, Any]], seconds: float | None) -> dict[str, Any]:
    return {"kind": kind, "inputs": inputs, "milliseconds": None if seconds is None else round(seconds * 1000, 3)}


def _cached(found: bool | None) -> dict[str, str]:
    """Of a query whose answers are kept: whether this one was."""
    return {} if found is None else {"cache": "hit" if found else "miss"}


def _told(values: Values | Table | DashwrightError | None) -> dict[str, Any]:
    """What a refId holds. An ordinary query that no expression reads is never turned into values."""
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


def _drop(dropped: Dropped) -> dict[str, Any]:
    shown = [dict(labels.pairs) for labels in dropped.labels[:_SHOWN_DROPS]]
    return {"operation": dropped.operation, "operand": dropped.operand, "count": len(dropped.labels), "items": shown}
