"""Comparison of a response with the reference: the places where they differ."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.reference_engine.frames import Frame, decoded
from tests.reference_engine.graph import inputs_of
from tests.reference_engine.requests import parsed
from tests.reference_engine.values import Item, Labels, NoData, Number, Outcome, Refused, Scalar, Series, Value

Json = Any


def differences(request: Json, expected_value: Mapping[str, Outcome | Refused], status: int, response: Json) -> Iterator[str]:
    """Yield one line for each difference between the statuses, the visible refIds, and their results."""
    visible = {query["refId"]: query for query in request["queries"] if not query.get("hide")}
    results = response["results"]
    if list(results) != sorted(visible):
        yield f"results are {list(results)}, expected {sorted(visible)}"
        return
    failed = [ref_id for ref_id, result in results.items() if "error" in result]
    if status != (400 if failed else 200) or ("message" in response) != bool(failed):
        yield f"HTTP {status}, message {response.get('message')}, and errors in {failed}"
    read = _running_expressions(request)
    for ref_id, query in visible.items():
        result = results[ref_id]
        if "type" in query:
            differing = _of_expression(ref_id, expected_value[ref_id], result, classic=query["type"] == "classic_conditions")
        else:
            differing = _of_query(query, expected_value[ref_id] if ref_id in read else None, result)
        yield from (f"{ref_id}: {difference}" for difference in differing)


def _running_expressions(request: Json) -> set[str]:
    """Return the refIds of expressions that run: visible ones, and those that they read, directly or through others."""
    expressions = {query["refId"]: parsed(query, request) for query in request["queries"] if "type" in query}
    waiting = [query["refId"] for query in request["queries"] if not query.get("hide")]
    ref_ids: set[str] = set()
    while waiting:
        expression = expressions.get(waiting.pop())
        names = [] if expression is None or isinstance(expression, Refused) else inputs_of(expression)
        waiting += [name for name in names if name not in ref_ids]
        ref_ids |= set(names)
    return ref_ids


def _of_query(query: Json, expected_value: Outcome | Refused | None, result: Json) -> Iterator[str]:
    """Yield differences of the frames of a data source query, and of its error if an expression that reads them failed."""
    frames, source_frames = result["frames"], json.loads(query["rawFrameContent"])
    if [frame["schema"].get("refId") for frame in frames] != [query["refId"]] * len(source_frames):
        yield "the frames are not as many as given, each with the refId"
    elif not all(
        _same_frame(decoded(returned_frame), decoded(source_frame))
        for returned_frame, source_frame in zip(frames, source_frames, strict=True)
    ):
        yield f"frames {frames}"
    if isinstance(expected_value, Refused):
        yield from _of_error(expected_value, result)
    elif result["status"] != 200 or "error" in result:
        yield f"status {result['status']}, {result.get('error')}"


def _same_frame(actual: Frame, expected_value: Frame) -> bool:
    pairs = list(zip(actual.fields, expected_value.fields, strict=False))
    have_same_fields = all((a.name, a.type, a.labels, a.config) == (b.name, b.type, b.labels, b.config) for a, b in pairs)
    cells = all(
        len(a.cells) == len(b.cells)
        and all(_are_equal(x, y) if a.type == "number" else x == y for x, y in zip(a.cells, b.cells, strict=True))
        for a, b in pairs
    )
    return (
        (actual.name, actual.meta, len(actual.fields)) == (expected_value.name, expected_value.meta, len(expected_value.fields))
        and have_same_fields
        and cells
    )


def _of_error(expected_value: Refused, result: Json) -> Iterator[str]:
    kind = re.match(r"\[sse\.(\w+)\] ", result.get("error", ""))
    if result["status"] != 400 or "error" not in result or result.get("errorSource") != "plugin":
        yield f"status {result['status']}, {result.get('error')}; wanted the error {expected_value.kind}: {expected_value}"
    elif (kind[1] if kind else "") != expected_value.kind:
        yield f"{result['error']}; wanted the error {expected_value.kind}: {expected_value}"


def _of_expression(ref_id: str, expected_value: Outcome | Refused, result: Json, *, classic: bool) -> Iterator[str]:
    if isinstance(expected_value, Refused):
        yield from _of_error(expected_value, result)
        if result["frames"]:
            yield "there are frames beside the error"
        return
    if result["status"] != 200 or "error" in result:
        yield f"status {result['status']}, {result.get('error')}; wanted {expected_value.items}"
        return
    frames = result["frames"]
    if len(frames) != len(expected_value.items):
        yield f"{len(frames)} items; wanted {len(expected_value.items)}: {expected_value.items}"
        return
    for index, (frame, item) in enumerate(zip(frames, expected_value.items, strict=True)):
        yield from (f"item {index}: {difference}" for difference in _of_item(ref_id, item, frame, classic=classic))
    yield from _of_warnings(expected_value.warnings, result)
    if classic:
        yield from _of_matches(expected_value, frames[0]["schema"]["meta"].get("custom") or [])


def _of_warnings(expected_value: Sequence[str], result: Json) -> Iterator[str]:
    """Yield differences of warnings, which are notices of the first frame or, without one, of the result."""
    holders = [result, *((frame["schema"].get("meta") or {}) for frame in result["frames"])]
    first = 1 if result["frames"] else 0
    for index, holder in enumerate(holders):
        notices = holder.get("notices", [])
        if notices != [{"severity": "warning", "text": text} for text in (expected_value if index == first else [])]:
            yield f"notices {index}: {notices}; wanted {expected_value}"


def _of_item(ref_id: str, item: Item, frame: Json, *, classic: bool) -> Iterator[str]:
    """Yield differences of names, labels, types, times and values."""
    schema, expected_value = frame["schema"], _schema(ref_id, item, classic=classic)
    result = [{key: value for key, value in field.items() if key != "typeInfo"} for field in schema["fields"]]
    meta = {key: value for key, value in (schema.get("meta") or {}).items() if key not in {"notices", "custom"}}
    if (schema.get("name", ""), schema["refId"], meta, result) != expected_value:
        yield f"schema {schema}; wanted {expected_value}"
        return
    columns = decoded(frame).fields
    values = columns[-1].cells if columns else []
    match item:
        case Series(points=points):
            if columns[0].cells != [time for time, _ in points]:
                yield f"times {columns[0].cells}; wanted {[time for time, _ in points]}"
            expected = [value for _, value in points]
        case Number(value=value) | Scalar(value=value):
            expected = [value]
        case NoData():
            expected = []
    if len(values) != len(expected) or not all(map(_are_equal, values, expected)):
        yield f"values {values}; wanted {expected}"


def _schema(ref_id: str, item: Item, *, classic: bool) -> tuple[str, str, Json, Json]:
    if isinstance(item, NoData):
        return "no data", ref_id, {}, []
    value = {**({} if classic else {"name": ref_id}), "type": "number", **({"labels": dict(item.labels)} if item.labels else {})}
    kind = "timeseries-multi" if isinstance(item, Series) else "numeric-multi"
    times = [{"name": "Time", "type": "time"}] if isinstance(item, Series) else []
    return "", ref_id, {"type": kind, "typeVersion": [0, 1]}, [*times, value]


def _of_matches(expected_value: Outcome, actual: Json) -> Iterator[str]:
    pairs = zip(actual, expected_value.matches, strict=False)
    if len(actual) != len(expected_value.matches) or not all(_same_match(match, *parts) for match, parts in pairs):
        yield f"matches {actual}; wanted {expected_value.matches}"


def _same_match(actual: Json, value: Value, metric: str, labels: Labels | None) -> bool:
    """Return whether a match has this value, metric and labels.

    The value of a match is text: the shortest decimal without exponent that is read as the same number, or empty for null.
    """
    text = actual["value"]
    if (actual["metric"], actual["labels"]) != (metric, labels and dict(labels)):
        return False
    if value is None or not text:
        return value is None and not text
    return text == decimal(float(text)) and _are_equal(float(text), value)


def decimal(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return format(Decimal(repr(number).removesuffix(".0")), "f")


def _are_equal(actual: Value, expected_value: Value) -> bool:
    """Return whether two values are equal: NaN equals NaN, null equals null, and rounding may differ."""
    if actual is None or expected_value is None:
        return actual is expected_value
    return (math.isnan(actual) and math.isnan(expected_value)) or math.isclose(actual, expected_value, rel_tol=1e-12, abs_tol=1e-12)
