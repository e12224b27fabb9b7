"""The differences between a response and the outcomes of the reference implementation."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tests.reference_engine.frames import Frame, decode_frame
from tests.reference_engine.graph import inputs_of
from tests.reference_engine.requests import parse_expression
from tests.reference_engine.values import Item, Labels, NoData, Number, Outcome, Refused, Scalar, Series, Value

Json = Any


def differences(request: Json, outcomes: Mapping[str, Outcome | Refused], status: int, response: Json) -> Iterator[str]:
    """Yield a line for each difference between a response and the outcomes: of the status, the visible refIds and their results."""
    visible = {query["refId"]: query for query in request["queries"] if not query.get("hide")}
    results = response["results"]
    if list(results) != sorted(visible):
        yield f"results are {list(results)}, expected {sorted(visible)}"
        return
    failed = [ref_id for ref_id, result in results.items() if "error" in result]
    if status != (400 if failed else 200) or ("message" in response) != bool(failed):
        yield f"HTTP {status}, message {response.get('message')}, and errors in {failed}"
    # The error of unreadable frames is only in a response if an expression reads the frames.
    read_ref_ids = _read_ref_ids(request)
    for ref_id, query in visible.items():
        result = results[ref_id]
        if "type" in query:
            lines = _expression_differences(ref_id, outcomes[ref_id], result, classic=query["type"] == "classic_conditions")
        else:
            lines = _query_differences(query, outcomes[ref_id] if ref_id in read_ref_ids else None, result)
        yield from (f"{ref_id}: {difference}" for difference in lines)


def _read_ref_ids(request: Json) -> set[str]:
    """Return the refIds that visible expressions read, directly or through other expressions."""
    expressions = {query["refId"]: parse_expression(query, request) for query in request["queries"] if "type" in query}
    waiting = [query["refId"] for query in request["queries"] if not query.get("hide")]
    ref_ids: set[str] = set()
    while waiting:
        expression = expressions.get(waiting.pop())
        names = [] if expression is None or isinstance(expression, Refused) else inputs_of(expression)
        waiting += [name for name in names if name not in ref_ids]
        ref_ids |= set(names)
    return ref_ids


def _query_differences(query: Json, outcome: Outcome | Refused | None, result: Json) -> Iterator[str]:
    """Yield differences of the frames of a data source query, and of its error if an expression could not read them."""
    frames, source_frames = result["frames"], json.loads(query["rawFrameContent"])
    if [frame["schema"].get("refId") for frame in frames] != [query["refId"]] * len(source_frames):
        yield "the response does not have each frame of the query, with its refId"
    elif not all(
        _frames_equal(decode_frame(returned_frame), decode_frame(source_frame))
        for returned_frame, source_frame in zip(frames, source_frames, strict=True)
    ):
        yield f"frames {frames}"
    if isinstance(outcome, Refused):
        yield from _error_differences(outcome, result)
    elif result["status"] != 200 or "error" in result:
        yield f"status {result['status']}, {result.get('error')}"


def _frames_equal(actual: Frame, expected: Frame) -> bool:
    """Return whether two frames are equal, apart from rounding of numbers."""
    field_pairs = list(zip(actual.fields, expected.fields, strict=False))
    have_equal_fields = all((a.name, a.type, a.labels, a.config) == (b.name, b.type, b.labels, b.config) for a, b in field_pairs)
    have_equal_cells = all(
        len(a.cells) == len(b.cells)
        and all(_are_equal(x, y) if a.type == "number" else x == y for x, y in zip(a.cells, b.cells, strict=True))
        for a, b in field_pairs
    )
    return (
        (actual.name, actual.meta, len(actual.fields)) == (expected.name, expected.meta, len(expected.fields))
        and have_equal_fields
        and have_equal_cells
    )


def _error_differences(expected: Refused, result: Json) -> Iterator[str]:
    """Yield the difference of a result from an expected error. Only the kind of the error, ``[sse.kind]``, is compared."""
    kind = re.match(r"\[sse\.(\w+)\] ", result.get("error", ""))
    if result["status"] != 400 or "error" not in result or result.get("errorSource") != "plugin":
        yield f"status {result['status']}, {result.get('error')}; expected the error {expected.kind}: {expected}"
    elif (kind[1] if kind else "") != expected.kind:
        yield f"{result['error']}; expected the error {expected.kind}: {expected}"


def _expression_differences(ref_id: str, outcome: Outcome | Refused, result: Json, *, classic: bool) -> Iterator[str]:
    """Yield differences of the error, or of the items, warnings and matches of an expression."""
    if isinstance(outcome, Refused):
        yield from _error_differences(outcome, result)
        if result["frames"]:
            yield "the result has frames and an error"
        return
    if result["status"] != 200 or "error" in result:
        yield f"status {result['status']}, {result.get('error')}; expected {outcome.items}"
        return
    frames = result["frames"]
    if len(frames) != len(outcome.items):
        yield f"{len(frames)} items; expected {len(outcome.items)}: {outcome.items}"
        return
    for index, (frame, item) in enumerate(zip(frames, outcome.items, strict=True)):
        yield from (f"item {index}: {difference}" for difference in _item_differences(ref_id, item, frame, classic=classic))
    yield from _warning_differences(outcome.warnings, result)
    if classic:
        yield from _match_differences(outcome, frames[0]["schema"]["meta"].get("custom") or [])


def _warning_differences(warnings: Sequence[str], result: Json) -> Iterator[str]:
    """Yield differences of warnings: they are notices of the first frame, or of the result if it has no frame."""
    objects_with_notices = [result, *((frame["schema"].get("meta") or {}) for frame in result["frames"])]
    index_with_warnings = 1 if result["frames"] else 0
    for index, object_with_notices in enumerate(objects_with_notices):
        notices = object_with_notices.get("notices", [])
        if notices != [{"severity": "warning", "text": text} for text in (warnings if index == index_with_warnings else [])]:
            yield f"notices {index}: {notices}; expected {warnings}"


def _item_differences(ref_id: str, item: Item, frame: Json, *, classic: bool) -> Iterator[str]:
    """Yield differences of an item's names, labels, types, times and values."""
    schema, expected_schema = frame["schema"], _expected_schema(ref_id, item, classic=classic)
    # The representation of a field is not part of its value. Notices and matches are compared separately.
    fields = [{key: value for key, value in field.items() if key != "typeInfo"} for field in schema["fields"]]
    meta = {key: value for key, value in (schema.get("meta") or {}).items() if key not in {"notices", "custom"}}
    if (schema.get("name", ""), schema["refId"], meta, fields) != expected_schema:
        yield f"schema {schema}; expected {expected_schema}"
        return
    columns = decode_frame(frame).fields
    values = columns[-1].cells if columns else []
    match item:
        case Series(points=points):
            if columns[0].cells != [time for time, _ in points]:
                yield f"times {columns[0].cells}; expected {[time for time, _ in points]}"
            expected_values = [value for _, value in points]
        case Number(value=value) | Scalar(value=value):
            expected_values = [value]
        case NoData():
            expected_values = []
    if len(values) != len(expected_values) or not all(map(_are_equal, values, expected_values)):
        yield f"values {values}; expected {expected_values}"


def _expected_schema(ref_id: str, item: Item, *, classic: bool) -> tuple[str, str, Json, Json]:
    """Return the name, the refId, the meta and the fields of the frame of an item."""
    if isinstance(item, NoData):
        return "no data", ref_id, {}, []
    value = {**({} if classic else {"name": ref_id}), "type": "number", **({"labels": dict(item.labels)} if item.labels else {})}
    kind = "timeseries-multi" if isinstance(item, Series) else "numeric-multi"
    times = [{"name": "Time", "type": "time"}] if isinstance(item, Series) else []
    return "", ref_id, {"type": kind, "typeVersion": [0, 1]}, [*times, value]


def _match_differences(outcome: Outcome, actual: Json) -> Iterator[str]:
    """Yield the difference of the matches of classic conditions, if any."""
    match_pairs = zip(actual, outcome.matches, strict=False)
    if len(actual) != len(outcome.matches) or not all(_matches_equal(match, *parts) for match, parts in match_pairs):
        yield f"matches {actual}; expected {outcome.matches}"


def _matches_equal(actual: Json, value: Value, metric: str, labels: Labels | None) -> bool:
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
    """Return the shortest decimal without exponent that is read as the same number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return format(Decimal(repr(number).removesuffix(".0")), "f")


def _are_equal(actual: Value, expected: Value) -> bool:
    """Return whether two values are equal: NaN equals NaN, null equals null, and rounding may differ."""
    if actual is None or expected is None:
        return actual is expected
    return (math.isnan(actual) and math.isnan(expected)) or math.isclose(actual, expected, rel_tol=1e-12, abs_tol=1e-12)
