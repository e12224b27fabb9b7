"""The evaluation of a request of ``POST /api/ds/query``. Times are epoch milliseconds as text."""

import json
from typing import Any

from tests.reference_engine import classic, math_text, reduce, resample, threshold
from tests.reference_engine.durations import window
from tests.reference_engine.frames import decode_frame, items_of
from tests.reference_engine.graph import Graph, Parsed
from tests.reference_engine.values import Items, Outcome, Refused

Json = Any


def outcomes_of(request: Json) -> dict[str, Outcome | Refused]:
    """Return the outcome of every refId. Hidden ones are included, because expressions can read them."""
    expressions = {query["refId"]: query for query in request["queries"] if "type" in query}
    graph = Graph(
        {ref_id: parse_expression(query, request) for ref_id, query in expressions.items()},
        {query["refId"]: _query_items(query) for query in request["queries"] if query["refId"] not in expressions},
        frozenset(ref_id for ref_id, query in expressions.items() if query["type"] == "classic_conditions"),
    )
    return {query["refId"]: graph.outcome(query["refId"]) for query in request["queries"]}


def _query_items(query: Json) -> Items | Refused:
    """Return the items of a data source query, or the error if its frames cannot be read."""
    try:
        return items_of([decode_frame(frame) for frame in json.loads(query["rawFrameContent"] or "[]")])
    except Refused as refused:
        return refused


def parse_expression(query: Json, request: Json) -> Parsed | Refused:
    """Return the parsed expression, or the error if it is invalid. ``request`` has the time range."""
    try:
        return _parse_expression(query, request)
    except Refused as refused:
        return refused


def _parse_expression(query: Json, request: Json) -> Parsed:
    match query["type"]:
        case "math":
            return math_text.parse_math(query["expression"])
        case "reduce":
            settings = query.get("settings") or {}
            name = parse_reference(query["expression"])
            return reduce.Reduce(name, query["reducer"].lower(), settings.get("mode", ""), settings.get("replaceWithValue"))
        case "resample":
            span = query.get("timeRange") or request
            start, end = (int(span[edge]) * 10**6 for edge in ("from", "to"))
            length = window(query["window"])
            return resample.Resample(parse_reference(query["expression"]), length, query["downsampler"], query["upsampler"], start, end)
        case "threshold":
            (condition,) = query["conditions"]
            unload = condition.get("unloadEvaluator")
            return threshold.Threshold(
                parse_reference(query["expression"]),
                _evaluator(condition["evaluator"]),
                _evaluator(unload) if unload else None,
                _loaded_fingerprints(condition.get("loadedDimensions")),
            )
    return [
        classic.Condition(
            condition["operator"]["type"],
            parse_reference(condition["query"]["params"][0]),
            condition["reducer"]["type"],
            condition["evaluator"]["type"],
            condition["evaluator"]["params"],
        )
        for condition in query["conditions"]
    ]


def parse_reference(text: str) -> str:
    """Return the refId of ``A``, ``$A`` or ``${my query}``."""
    if text.startswith("${") and text.endswith("}"):
        return text[2:-1]
    return text.removeprefix("$")


def _evaluator(evaluator: Json) -> threshold.Evaluator:
    """Return the evaluator of a condition. Raises Refused without enough bounds."""
    return threshold.Evaluator(evaluator["type"], evaluator["params"])


def _loaded_fingerprints(frame: Json) -> set[int]:
    """Return the fingerprints of a frame of whole numbers or texts. The frame may be missing or empty."""
    return {int(number) for number in frame["data"]["values"][0]} if frame else set()
