"""A whole request of ``POST /api/ds/query``, read and evaluated. Times are epoch milliseconds as text."""

import json
from typing import Any

from tests.reference_engine import classic, math_text, reduce, resample, threshold
from tests.reference_engine.durations import window
from tests.reference_engine.frames import decoded, items_of
from tests.reference_engine.graph import Graph, Parsed
from tests.reference_engine.values import Items, Outcome, Refused

Json = Any


def outcomes_of(request: Json) -> dict[str, Outcome | Refused]:
    """Return the outcome of every refId, also of hidden ones, because others can read them."""
    expressions = {query["refId"]: query for query in request["queries"] if "type" in query}
    graph = Graph(
        {ref_id: parsed(query, request) for ref_id, query in expressions.items()},
        {query["refId"]: _read(query) for query in request["queries"] if query["refId"] not in expressions},
        frozenset(ref_id for ref_id, query in expressions.items() if query["type"] == "classic_conditions"),
    )
    return {query["refId"]: graph.outcome(query["refId"]) for query in request["queries"]}


def _read(query: Json) -> Items | Refused:
    try:
        return items_of([decoded(frame) for frame in json.loads(query["rawFrameContent"] or "[]")])
    except Refused as refused:
        return refused


def parsed(query: Json, request: Json) -> Parsed | Refused:
    try:
        return _parse_expression(query, request)
    except Refused as refused:
        return refused


def _parse_expression(query: Json, request: Json) -> Parsed:
    match query["type"]:
        case "math":
            return math_text.parsed(query["expression"])
        case "reduce":
            settings = query.get("settings") or {}
            name = reference(query["expression"])
            return reduce.Reduce(name, query["reducer"].lower(), settings.get("mode", ""), settings.get("replaceWithValue"))
        case "resample":
            span = query.get("timeRange") or request
            start, end = (int(span[edge]) * 10**6 for edge in ("from", "to"))
            length = window(query["window"])
            return resample.Resample(reference(query["expression"]), length, query["downsampler"], query["upsampler"], start, end)
        case "threshold":
            (condition,) = query["conditions"]
            unload = condition.get("unloadEvaluator")
            return threshold.Threshold(
                reference(query["expression"]),
                _test(condition["evaluator"]),
                _test(unload) if unload else None,
                _loaded(condition.get("loadedDimensions")),
            )
    return [
        classic.Condition(
            condition["operator"]["type"],
            reference(condition["query"]["params"][0]),
            condition["reducer"]["type"],
            condition["evaluator"]["type"],
            condition["evaluator"]["params"],
        )
        for condition in query["conditions"]
    ]


def reference(text: str) -> str:
    """Return the refId of ``A``, ``$A`` or ``${my query}``."""
    if text.startswith("${") and text.endswith("}"):
        return text[2:-1]
    return text.removeprefix("$")


def _test(evaluator: Json) -> threshold.Test:
    return threshold.Test(evaluator["type"], evaluator["params"])


def _loaded(frame: Json) -> set[int]:
    """Return the fingerprints, whole numbers or texts; no frame and a frame without schema have no items."""
    return {int(number) for number in frame["data"]["values"][0]} if frame else set()
