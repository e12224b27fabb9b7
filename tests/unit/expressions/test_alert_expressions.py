"""Targets of resample, threshold and classic conditions are parsed and evaluated, or rejected with the reason."""

import json
import time
from typing import Any

import orjson
import pytest

from dashwright.expressions.engine.hysteresis import fingerprint
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.queries import respond

EXPRESSION = {"type": "__expr__", "uid": "__expr__"}
TESTDATA = {"type": "grafana-testdata-datasource", "uid": "any"}
# Labels, and their fingerprints as Grafana computes and stores them.
FINGERPRINTS = [
    ({}, 14695981039346656037),
    ({"a": "b"}, 3235092508251482840),
    ({"label": "value4"}, 17197996166602471624),
    ({"host": "web01", "dc": "MIA"}, 15968369124705884078),
    ({"grüße": "日本"}, 1794436909742347472),
]


def raw_query(ref_id: str, *frames: Any) -> dict[str, Any]:
    """Return a query whose result is these frames."""
    return {"refId": ref_id, "datasource": TESTDATA, "scenarioId": "raw_frame", "rawFrameContent": json.dumps(frames)}


def series(values: list[Any], name: str = "", **labels: str) -> dict[str, Any]:
    """Return a frame with points at 1 s, 2 s, and so on. ``name`` is the name of the frame."""
    fields = [{"name": "time", "type": "time"}, {"name": "load", "type": "number", "labels": labels}]
    return {"schema": {"name": name, "fields": fields}, "data": {"values": [[1000 * (n + 1) for n in range(len(values))], values]}}


def target(ref_id: str, type_: str, **fields: Any) -> dict[str, Any]:
    """Return an expression of a type."""
    return {"refId": ref_id, "datasource": EXPRESSION, "type": type_, **fields}


def condition(reference: str, reducer: str, evaluator: str, *params: float, operator: str = "and") -> dict[str, Any]:
    """Return one of several classic conditions, on the reduction of a query."""
    return {
        "evaluator": {"type": evaluator, "params": params},
        "operator": {"type": operator},
        "query": {"params": [reference]},
        "reducer": {"type": reducer},
    }


def recovery_condition(*fingerprints: Any, **options: Any) -> dict[str, Any]:
    """Return the condition of a threshold. An item fires above 100; an item with one of the fingerprints fires until it is below 31.

    The options replace members of the frame of fingerprints.
    """
    fields = [{"name": "fingerprints", "type": "number", "typeInfo": {"frame": "uint64"}}]
    frame = {"schema": {"meta": {"type": "fingerprints", "typeVersion": [1, 0]}, "fields": fields}, "data": {"values": [fingerprints]}}
    return {
        "evaluator": {"type": "gt", "params": [100]},
        "unloadEvaluator": {"type": "lt", "params": [31]},
        "loadedDimensions": {**frame, **options},
    }


def nested_object(levels: int) -> Any:
    """Return objects inside each other, of which the innermost is empty."""
    return {"in": nested_object(levels - 1)} if levels else {}


async def send_queries(*queries: Any, **fields: Any) -> tuple[int, Any]:
    """Return the status and body of the response to queries about the first minute of 1970."""
    response = await respond(json.dumps({"queries": queries, "from": "0", "to": "60000", **fields}).encode())
    pieces = [response.body] if isinstance(response.body, bytes) else [piece async for piece in response.body]
    return int(response.headers["status"]), orjson.loads(b"".join(pieces))


async def frames_of(ref_id: str, *queries: Any, **fields: Any) -> list[Any]:
    """Return the frames of one refId after a successful request."""
    status, body = await send_queries(*queries, **fields)
    assert status == 200, body
    frames: list[Any] = body["results"][ref_id]["frames"]
    return frames


async def error_of(ref_id: str, *queries: Any, **fields: Any) -> str:
    """Return the error of one refId after a refused request."""
    status, body = await send_queries(*queries, **fields)
    assert status == 400
    return str(body["results"][ref_id]["error"])


async def test_classic_conditions_return_a_number_and_matches() -> None:
    """Classic conditions return one number, and in ``custom`` the matches.

    A match has its value as a decimal string without exponent, the name of its series, and its labels or null.
    """
    conditions = [condition("$A", "last", "gt", 0), condition("B", "last", "gt", 5, operator="or")]
    frames = await frames_of(
        "C",
        raw_query("A", series([1, 1e21], h="a"), series([0.1])),
        raw_query("B", series([7], "cpu", h="b")),
        target("C", "classic_conditions", conditions=conditions),
    )
    assert frames == [
        {
            "schema": {
                "refId": "C",
                "meta": {
                    "type": "numeric-multi",
                    "typeVersion": [0, 1],
                    "custom": [
                        {"value": "1000000000000000000000", "metric": "load", "labels": {"h": "a"}},
                        {"value": "0.1", "metric": "load", "labels": None},
                        {"value": "7", "metric": "cpu", "labels": {"h": "b"}},
                    ],
                },
                "fields": [{"type": "number", "typeInfo": {"frame": "float64", "nullable": True}}],
            },
            "data": {"values": [[1.0]]},
        }
    ]


async def test_classic_conditions_without_data_have_a_reason() -> None:
    """Without data, the result is null, and its only match has the reason. If nothing matches, the list of matches is empty."""
    frames_without_data = await frames_of(
        "C", raw_query("A"), target("C", "classic_conditions", conditions=[condition("A", "avg", "gt", 1)])
    )
    assert frames_without_data[0]["data"]["values"] == [[None]]
    assert frames_without_data[0]["schema"]["meta"]["custom"] == [{"value": "", "metric": "NoData", "labels": None}]
    frames_below_threshold = await frames_of(
        "C", raw_query("A", series([1])), target("C", "classic_conditions", conditions=[condition("A", "avg", "gt", 1)])
    )
    assert frames_below_threshold[0]["data"]["values"] == [[0.0]]
    assert frames_below_threshold[0]["schema"]["meta"]["custom"] == []


@pytest.mark.parametrize(("entity", "text"), [("Inf", "+Inf"), ("NegInf", "-Inf"), ("NaN", "NaN")])
async def test_values_that_are_not_finite_are_matched(entity: str, text: str) -> None:
    """The matches of classic conditions show infinities and NaN, such as the result of a division by zero."""
    # JSON has no such numbers, so the frame has null, and ``entities`` says which number row 0 has.
    frame = {
        "schema": {"meta": {"type": "numeric-multi", "typeVersion": [0, 1]}, "fields": [{"name": "n", "type": "number"}]},
        "data": {"values": [[None]], "entities": [{entity: [0]}]},
    }
    frames = await frames_of("C", raw_query("A", frame), target("C", "classic_conditions", conditions=[condition("A", "last", "ne", 1)]))
    assert frames[0]["schema"]["meta"]["custom"] == [{"value": text, "metric": "n", "labels": None}]


async def test_a_resample_has_its_own_time_range_or_that_of_the_request() -> None:
    """A resample expression has the time range of the request or its own. Its first timestamp is the start of the range."""
    fields = {"expression": "$A", "window": "30s", "downsampler": "sum", "upsampler": "fillna"}
    own_range = {"timeRange": {"from": "10000", "to": "90000"}}
    queries = [raw_query("A", series([1, 2])), target("B", "resample", **fields), target("C", "resample", **fields, **own_range)]
    (frame,) = await frames_of("B", *queries)
    assert frame["data"]["values"] == [[0, 30_000, 60_000], [None, 3.0, None]]
    assert frame["schema"]["fields"][1]["name"] == "B"
    (frame_of_own_range,) = await frames_of("C", *queries)
    assert frame_of_own_range["data"]["values"] == [[10_000, 40_000, 70_000], [3.0, None, None]]


async def test_the_number_of_windows_is_limited() -> None:
    """Too many windows, or times beyond 64 bits, are rejected before the windows are computed. The error names the limit."""
    fields = {"expression": "$A", "downsampler": "sum", "upsampler": "fillna"}
    started = time.process_time()
    error_of_short_windows = await error_of("B", raw_query("A", series([1])), target("B", "resample", window="1ms", **fields), to="1000000")
    assert "1000001 windows, more than the 500000 allowed (setting DASHWRIGHT_RESAMPLE_BUCKETS)" in error_of_short_windows
    error_of_far_end = await error_of("B", raw_query("A", series([1])), target("B", "resample", window="1y", **fields), to="9000-01-01")
    assert "beyond the years" in error_of_far_end
    assert time.process_time() - started < 0.4


async def test_an_invalid_target_is_an_error_of_its_ref_id() -> None:
    """The error of an invalid target is the error of its refId, and says what is invalid."""
    fields = {"expression": "$", "window": "5s", "downsampler": "sum", "upsampler": "fillna"}
    assert "failed to parse expression 'B': no variable specified to reference for refId B" in await error_of(
        "B", target("B", "resample", **fields)
    )
    error_without_conditions = await error_of("B", target("B", "threshold", expression="A", conditions=[]))
    assert "failed to parse expression 'B': threshold expression requires exactly one condition" in error_without_conditions
    assert "at least one condition" in await error_of("B", target("B", "classic_conditions", conditions=[]))
    conditions = [condition("A", "avg", "gt", 1), condition("A", "median", "between", 1, 2)]
    assert "evaluator invalid evaluator type: between in condition 2" in await error_of(
        "B", target("B", "classic_conditions", conditions=conditions)
    )


@pytest.mark.parametrize(("labels", "number"), FINGERPRINTS)
def test_fingerprints_are_those_of_stored_rules(labels: dict[str, str], number: int) -> None:
    """A fingerprint is the FNV-1 hash with 64 bits over the sorted labels, with a byte 0xFF after each key and each value."""
    assert fingerprint(Labels.of(labels)) == number


@pytest.mark.parametrize("convert", [int, str])
async def test_loaded_dimensions_keep_their_digits(convert: type) -> None:
    """Loaded dimensions are JSON integers or decimal strings of 64 bits: a fingerprint with another last digit belongs to another item.

    A loaded item with the value 50 still fires, because it is above the recovery threshold of 31, and it follows the other items.
    """
    frames = [series([50], label="value4"), series([50], label="value5"), series([150], label="value6")]
    # The label of each item, and 1 if the item fires.
    items = [("value4", 0), ("value5", 0), ("value6", 1)]
    items_with_value4_loaded = [("value5", 0), ("value6", 1), ("value4", 1)]
    fingerprint_of_value4 = 17197996166602471624
    fingerprint_of_no_item = fingerprint_of_value4 + 1
    for loaded, expected in ((fingerprint_of_value4, items_with_value4_loaded), (fingerprint_of_no_item, items)):
        fields = {"expression": "A", "conditions": [recovery_condition(convert(loaded))]}
        result_frames = await frames_of("B", raw_query("A", *frames), target("B", "threshold", **fields))
        result = [(frame["schema"]["fields"][1]["labels"]["label"], frame["data"]["values"][1][0]) for frame in result_frames]
        assert result == expected


@pytest.mark.parametrize(
    ("schema", "values", "fault"),
    [
        ({"meta": {"type": "fingerprints", "typeVersion": [1, 0]}, "fields": []}, [], "expected a single field but got 0"),
        (
            {
                "meta": {"type": "fingerprints", "typeVersion": [1, 0]},
                "fields": [{"type": "number", "typeInfo": {"frame": "uint64"}}, {"type": "string"}],
            },
            [[], []],
            "expected a single field but got 2",
        ),
        (
            {
                "meta": {"type": "fingerprints", "typeVersion": [1, 0]},
                "fields": [{"type": "number", "typeInfo": {"frame": "uint64", "nullable": True}}],
            },
            [[]],
            "the field type must be uint64",
        ),
        (
            {"meta": {"type": "fingerprints", "typeVersion": [1, 0]}, "fields": [{"type": "number"}]},
            [[1.5]],
            "the field type must be uint64",
        ),
        ({"fields": [{"type": "number", "typeInfo": {"frame": "uint64"}}]}, [[1]], "expected meta.type fingerprints"),
        (
            {"meta": {"type": "fingerprints", "typeVersion": [1, 1]}, "fields": [{"type": "number", "typeInfo": {"frame": "uint64"}}]},
            [[1]],
            "is newer than [1, 0]",
        ),
        (
            {"meta": {"type": "fingerprints", "typeVersion": [1, 0]}, "fields": [{"type": "number", "typeInfo": {"frame": "uint64"}}]},
            # 2**64 - 1, rounded by a client that has only 64-bit floats.
            [[18446744073709552000]],
            "not uint64",
        ),
        ({"meta": {"type": "fingerprints", "custom": nested_object(400)}}, [], "cannot be kept as JSON"),
    ],
)
async def test_invalid_loaded_dimensions_are_rejected(schema: Any, values: Any, fault: str) -> None:
    """Loaded dimensions must be one field of type uint64 in a frame of a known type and version."""
    fields = {"expression": "A", "conditions": [recovery_condition(schema=schema, data={"values": values})]}
    error = await error_of("B", raw_query("A", series([1])), target("B", "threshold", **fields))
    assert "failed to parse loaded dimensions: " in error
    assert fault in error


async def test_a_threshold_without_loaded_dimensions_uses_its_evaluator() -> None:
    """Without ``loadedDimensions`` (the rule never fired) or ``unloadEvaluator`` (no recovery threshold), only ``evaluator`` decides."""
    for missing in ("unloadEvaluator", "loadedDimensions"):
        incomplete_condition = recovery_condition(fingerprint(Labels.of({"h": "a"})))
        del incomplete_condition[missing]
        frames = await frames_of(
            "B", raw_query("A", series([50, 150], h="a")), target("B", "threshold", expression="A", conditions=[incomplete_condition])
        )
        assert frames[0]["data"]["values"][1] == [0.0, 1.0]


async def test_classic_conditions_read_queries_only() -> None:
    """Classic conditions that read an expression are an error, and so is an expression that reads classic conditions.

    Valid classic conditions that such an expression reads have a result.
    """
    classic_conditions = target("C", "classic_conditions", conditions=[condition("B", "last", "gt", 1)])
    threshold = target("D", "threshold", expression="C", conditions=[{"evaluator": {"type": "gt", "params": [0]}}])
    queries = [raw_query("A", series([1])), target("B", "reduce", expression="A", reducer="mean"), classic_conditions]
    assert "only data source queries may be inputs to a classic condition, B is a Expression" in await error_of("C", *queries)
    valid_target = target("C", "classic_conditions", conditions=[condition("A", "last", "gt", 1)])
    status, body = await send_queries(raw_query("A", series([1])), valid_target, threshold)
    assert status == 400
    assert "classic conditions may not be the input for other expressions, but C is the input for D" in body["results"]["D"]["error"]
    assert body["results"]["C"]["frames"][0]["data"]["values"] == [[0.0]]
