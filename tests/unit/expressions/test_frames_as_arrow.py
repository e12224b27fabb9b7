"""Arrow streams as a client reads them: pyarrow reads every stream with full validation."""

import io
import json
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common import media
from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.formats import arrow, codec
from dashwright.expressions.formats.codec import CHUNK_VALUES, chunks
from dashwright.expressions.formats.response import Result
from dashwright.expressions.queries import respond


def tables(body: bytes) -> list[Any]:
    """Return the table of each stream in the body."""
    source, result = io.BytesIO(body), []
    while source.tell() < len(body):
        with pa.ipc.open_stream(source) as stream:
            result.append(stream.read_all())
        result[-1].validate(full=True)
    return result


def write_frames(*frames: Frame) -> list[Any]:
    """Return each frame as pyarrow reads it from its stream."""
    writer = arrow.ArrowFrameWriter()
    return tables(b"".join(part for frame in frames for part, _ in writer.write(frame)))


def metadata(schema: Any) -> dict[str, str]:
    """Return the metadata of a schema or field."""
    return {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}


def field(type_: FieldType, values: list[Any], *, name: str = "f", **fields: Any) -> Field:
    """Return a column. None is a null, whose slot has the value that the engine writes there."""
    filler: Any = {FieldType.FLOAT32: np.nan, FieldType.FLOAT64: np.nan, FieldType.STRING: None, FieldType.JSON: None}.get(type_, 0)
    array = np.empty(len(values), type_.dtype)
    array[:] = [filler if value is None else value for value in values]
    nulls = np.array([value is None for value in values], np.bool_)
    return Field(name, type_, array, nulls if nulls.any() else None, nullable=bool(nulls.any()), **fields)


def are_equal(left: list[Any], right: list[Any]) -> bool:
    """Return whether two lists have equal values. NaN equals NaN."""
    # Only NaN is unequal to itself.
    return len(left) == len(right) and all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))


def test_a_frame_is_a_stream_with_metadata() -> None:
    """The schema of a frame has refId, name and meta, and each field has labels and configuration. Unset values are absent."""
    fields = [
        field(FieldType.TIME, [1, 2], name="t"),
        field(FieldType.FLOAT64, [1.5, None], name="v", labels=Labels.of({"h": "ü"}), config={"unit": "s"}),
    ]
    first, second = write_frames(Frame(fields, "name", "A", {"type": "timeseries-wide"}), Frame(fields[:1]))
    assert metadata(first.schema) == {"refId": "A", "name": "name", "meta": '{"type":"timeseries-wide","typeVersion":[0,0]}'}
    assert first.schema.names == ["t", "v"]
    assert metadata(first.schema.field(0)) == {}
    assert metadata(first.schema.field(1)) == {"labels": '{"h":"ü"}', "config": '{"unit":"s"}'}
    assert [first.schema.field(i).nullable for i in (0, 1)] == [False, True]
    assert first.schema.field(0).type == pa.timestamp("ns", "UTC")
    assert metadata(second.schema) == {}


def test_null_is_null_and_nan_is_nan() -> None:
    """Null, NaN and infinities are different in Arrow, without the list ``entities`` that JSON needs for them."""
    [table] = write_frames(Frame([field(FieldType.FLOAT64, [None, np.nan, np.inf, -np.inf, 1.0])]))
    assert are_equal(table["f"].to_pylist(), [None, np.nan, np.inf, -np.inf, 1.0])
    assert table["f"].null_count == 1


def test_empty_labels_differ_from_missing_ones() -> None:
    """Empty labels are written as an empty map, and missing labels are not written, as in JSON."""
    fields = [field(FieldType.BOOL, [True], name=name, labels=labels) for name, labels in (("a", Labels.of()), ("b", None))]
    [table] = write_frames(Frame(fields))
    assert [metadata(item) for item in table.schema] == [{"labels": "{}"}, {}]


def test_columns_may_have_equal_or_empty_names() -> None:
    """Columns may have equal names, as in wide frames, or empty names."""
    [table] = write_frames(Frame([field(FieldType.INT8, [index], name=name) for index, name in enumerate(["cpu", "cpu", "", ""])]))
    assert table.schema.names == ["cpu", "cpu", "", ""]
    assert [column.to_pylist() for column in table.columns] == [[0], [1], [2], [3]]


def test_a_shared_time_column_is_the_same_on_every_frame() -> None:
    """A time column that several frames share is encoded once and is in each of them. Other columns have their own times."""
    shared, other = (field(FieldType.TIME, values, name="t") for values in ([1, 2], [3, 4]))
    frames = [Frame([times, field(FieldType.FLOAT64, [1.0, 2.0])]) for times in (shared, shared, other, shared)]
    read_times = [table["t"].cast(pa.int64()).to_pylist() for table in write_frames(*frames)]
    assert read_times == [[1, 2], [1, 2], [3, 4], [1, 2]]


@pytest.mark.parametrize("rows", [0, 1, 8, 63, 64, 65, 1000])
@pytest.mark.parametrize("null_share", [None, 0.0, 0.1, 1.0])
def test_series_are_encoded_independently(rows: int, null_share: float | None) -> None:
    """The bytes of a series do not depend on the labels, nulls, names and layout of earlier series of the same writer."""
    random = np.random.default_rng(rows)
    times = field(FieldType.TIME, list(range(rows)), name="t")
    meta = {"type": "timeseries-multi", "typeVersion": [0, 1], "custom": {"h": "h1"}}
    labels = [None, Labels.of(), *(Labels.of({"h": f"h{index}"}) for index in range(8, 12)), Labels.of({"h": "h1"})]
    frames = []
    # Layout, nullability, name and metadata change at different intervals, so that many combinations follow each other.
    for index, item in enumerate(labels * 3):
        values = random.random((rows, 2))[:, index % 2]
        nulls = None if null_share is None else random.random(rows) < null_share
        value = Field("v", FieldType.FLOAT64, values, nulls, nullable=index % 2 == 0, labels=item)
        frames.append(Frame([times, value], "" if index % 4 else "name", "A", meta if index % 5 else None))
    shared_writer = arrow.ArrowFrameWriter()
    for frame in frames:
        assert list(shared_writer.write(frame)) == list(arrow.ArrowFrameWriter().write(frame))
    assert [table["v"].null_count for table in write_frames(*frames)] == [
        0 if frame.fields[1].nulls is None else np.count_nonzero(frame.fields[1].nulls) for frame in frames
    ]


@pytest.mark.parametrize("fields", [[], [field(FieldType.FLOAT64, [])], [field(FieldType.STRING, []), field(FieldType.TIME, [])]])
def test_a_frame_without_rows_or_fields_is_a_stream_too(fields: list[Field]) -> None:
    """A frame without rows or fields is a stream with its schema and without rows."""
    [table] = write_frames(Frame(fields, "no data", "A"))
    assert table.num_rows == 0
    assert table.num_columns == len(fields)
    assert metadata(table.schema) == {"name": "no data", "refId": "A"}


def test_enums_and_json() -> None:
    """An enum is written as numbers, with the names in the configuration of its field. JSON has Arrow's extension type for JSON."""
    config = {"type": {"enum": {"text": ["off", "on"]}}}
    enum, json_field = field(FieldType.ENUM, [1, None], name="e", config=config), field(FieldType.JSON, [{"a": [1]}, None], name="j")
    [table] = write_frames(Frame([enum, json_field]))
    assert table.schema.field(0).type == pa.uint16()
    assert json.loads(metadata(table.schema.field(0))["config"]) == config
    assert table.schema.field(1).type == pa.json_(pa.string())
    assert [None if item is None else json.loads(item) for item in table["j"].to_pylist()] == [{"a": [1]}, None]


def test_a_long_frame_is_sent_in_batches() -> None:
    """A long frame is divided into record batches and sent in chunks of limited size. No row is lost."""
    count = CHUNK_VALUES * 2 + 7
    nulls = np.arange(count) % 3 == 0
    fields = [
        Field("t", FieldType.TIME, np.arange(count)),
        Field("v", FieldType.FLOAT64, np.where(nulls, np.nan, np.arange(count)), nulls, nullable=True),
        Field("b", FieldType.BOOL, np.arange(count) % 2 == 0),
        Field("s", FieldType.STRING, np.array([str(index) for index in range(count)], object)),
    ]
    parts = list(chunks(arrow.ArrowFrameWriter().write(Frame(fields))))
    assert len(parts) > count * len(fields) // CHUNK_VALUES
    # A value needs less than 16 bytes, so no part has much more than the values of one chunk.
    assert max(map(len, parts)) < CHUNK_VALUES * 16
    [table] = tables(b"".join(parts))
    assert table["t"].cast(pa.int64()).to_pylist() == list(range(count))
    assert table["v"].to_pylist() == [None if null else index for index, null in enumerate(nulls.tolist())]
    assert table["b"].to_pylist() == [index % 2 == 0 for index in range(count)]
    assert table["s"].to_pylist() == [str(index) for index in range(count)]


@pytest.mark.parametrize("writer", [arrow.ArrowFrameWriter(), codec.JsonFrameWriter()])
def test_many_small_frames_are_encoded_in_several_chunks(writer: arrow.ArrowFrameWriter | codec.JsonFrameWriter) -> None:
    """Ten thousand frames with one value each are encoded in at least 30 chunks, in both formats."""
    frame = Frame([field(FieldType.FLOAT64, [1.0])])
    # Even a frame with a single value has a cost, because of its schema.
    parts = list(chunks(part for _ in range(10_000) for part in writer.write(frame)))
    assert len(parts) >= 30


def test_a_strided_column_is_written() -> None:
    """A column whose values are not adjacent in memory is written like any other."""
    [table] = write_frames(Frame([Field("f", FieldType.FLOAT64, np.arange(10.0)[::3])]))
    assert table["f"].to_pylist() == [0, 3, 6, 9]


_VALUES: dict[FieldType, st.SearchStrategy[Any]] = {
    **{type_: st.integers(np.iinfo(type_.dtype).min, np.iinfo(type_.dtype).max) for type_ in FieldType if type_.dtype.kind in "iu"},
    FieldType.FLOAT32: st.floats(width=32),
    FieldType.FLOAT64: st.floats(),
    FieldType.BOOL: st.booleans(),
    FieldType.STRING: st.text(),
    FieldType.JSON: st.recursive(
        st.booleans() | st.text() | st.integers(0, 9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ),
}


def read_column(type_: FieldType, column: Any) -> list[Any]:
    """Return the values of a column of pyarrow, as they were before writing."""
    if type_ is FieldType.TIME:
        return list(column.cast(pa.int64()).to_pylist())
    cells = column.to_pylist()
    return [None if item is None else json.loads(item) for item in cells] if type_ is FieldType.JSON else list(cells)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(FieldType)).flatmap(lambda type_: st.tuples(st.just(type_), st.lists(st.none() | _VALUES[type_], max_size=20)))
)
def test_pyarrow_reads_every_value(column: tuple[FieldType, list[Any]]) -> None:
    """Values and nulls of every type are read unchanged, with the Arrow type that corresponds to their type."""
    type_, values = column
    [table] = write_frames(Frame([field(type_, values)]))
    assert are_equal(read_column(type_, table["f"]), values)
    assert table["f"].null_count == values.count(None)
    if type_.is_numeric:
        # Arrow has other names for floats.
        assert str(table.schema.field(0).type) == {"float32": "float", "float64": "double"}.get(type_, type_.value)


def test_results_are_in_request_order_and_errors_are_streams_without_fields() -> None:
    """Results are in the order of the request, with frames before the error of the same refId. Errors have status and text as in JSON."""
    frame = Frame([field(FieldType.FLOAT64, [1.0])], ref_id="B")
    results = {
        "B": Result([frame, frame]),
        "A": Result(error=BadRequest("no such thing", message_id="sse.x")),
        "C": Result([Frame(ref_id="C")], SourceFailed("away")),
    }
    streams = tables(b"".join(chunks(arrow.fragments(results))))
    assert [metadata(table.schema) for table in streams] == [
        {"refId": "B"},
        {"refId": "B"},
        {"refId": "A", "status": "400", "error": "[sse.x] no such thing", "errorSource": "plugin"},
        {"refId": "C"},
        {"refId": "C", "status": "502", "error": "away", "errorSource": "downstream"},
    ]
    assert [table.num_columns for table in streams] == [1, 1, 0, 0, 0]


async def test_a_query_is_served_as_arrow() -> None:
    """Results have the order of the request. An error is a stream of its own, and the response to a rejected request is JSON."""
    source = {"type": "grafana-testdata-datasource"}
    content = {
        "schema": {"fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number"}]},
        "data": {"values": [[1, 2], [1, None]]},
    }
    queries = [
        {"refId": "B", "type": "math", "expression": "$A + 1"},
        {"refId": "A", "datasource": source, "scenarioId": "raw_frame", "rawFrameContent": json.dumps([content])},
        {"refId": "C", "type": "math", "expression": "$Z"},
    ]
    response = await respond(orjson.dumps({"queries": queries}), QueryContext(accept=media.ARROW))
    # The response is 400 because of C, which refers to a missing query.
    assert response.headers["status"] == 400
    assert response.headers["content_type"] == media.ARROW
    assert isinstance(response.body, bytes)
    # In the order of the request.
    b, a, c = tables(response.body)
    assert b["B"].to_pylist() == [2, None]
    assert a["v"].to_pylist() == [1, None]
    assert b["Time"].cast(pa.int64()).to_pylist() == [1_000_000, 2_000_000]
    assert metadata(c.schema)["refId"] == "C"
    rejection = await respond(b"{", QueryContext(accept=media.ARROW))
    assert rejection.headers["status"] == 400
    assert rejection.headers["content_type"] == "application/json"
