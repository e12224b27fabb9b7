"""Frames are written as JSON and read from it without loss of nanoseconds, infinities and nulls. Invalid documents are rejected."""

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.formats.codec import CHUNK_VALUES, JsonFrameWriter, chunks
from dashwright.expressions.formats.frame_reader import read_frames


def write_frames(*frames: Frame) -> Any:
    """Return frames as a client reads them from JSON."""
    writer = JsonFrameWriter()
    return [orjson.loads(b"".join(chunks(writer.write(frame)))) for frame in frames]


def decode(*frames: Any) -> list[Frame]:
    """Return the frames that JSON documents describe."""
    return read_frames(orjson.dumps(list(frames)))


def test_special_values_are_listed_as_entities() -> None:
    """NaN and infinities are written as null and listed in ``entities``. A null is not listed."""
    values = np.array([np.nan, np.nan, np.inf, -np.inf, 2.0])
    nulls = np.array([False, True, False, False, False])
    frame = Frame(
        [Field("a", FieldType.FLOAT64, np.arange(5.0), labels=Labels.of()), Field("b", FieldType.FLOAT64, values, nulls, nullable=True)],
        ref_id="A",
    )
    assert write_frames(frame) == [
        {
            "schema": {
                "refId": "A",
                "fields": [
                    {"name": "a", "type": "number", "typeInfo": {"frame": "float64"}, "labels": {}},
                    {"name": "b", "type": "number", "typeInfo": {"frame": "float64", "nullable": True}},
                ],
            },
            "data": {
                "values": [[0, 1, 2, 3, 4], [None, None, None, None, 2]],
                "entities": [None, {"NaN": [0], "Inf": [2], "NegInf": [3]}],
            },
        }
    ]


def test_times_are_milliseconds_with_the_rest_in_nanos() -> None:
    """Times are epoch milliseconds, rounded down (also before 1970). ``nanos`` has the remaining nanoseconds, if any time has some."""
    whole_milliseconds = Field("t", FieldType.TIME, np.array([1_577_934_240_000_000_000, 0]))
    with_nanoseconds = Field("t", FieldType.TIME, np.array([1_000_000_001, -1]))
    assert write_frames(Frame([whole_milliseconds], name="simple")) == [
        {
            "schema": {"name": "simple", "fields": [{"name": "t", "type": "time", "typeInfo": {"frame": "time.Time"}}]},
            "data": {"values": [[1_577_934_240_000, 0]]},
        }
    ]
    assert write_frames(Frame([with_nanoseconds]))[0]["data"] == {"values": [[1000, -1]], "nanos": [[1, 999_999]]}


def test_booleans_texts_and_configuration_are_written_unchanged() -> None:
    """Booleans, texts and configuration are written unchanged.

    Empty names, missing labels and missing configuration are omitted. ``meta`` always has a version.
    """
    fields = [
        Field("", FieldType.BOOL, np.array([True, False])),
        Field("s", FieldType.STRING, np.array(["x", None], object), np.array([False, True]), nullable=True, config={"unit": "s"}),
        Field("n", FieldType.INT64, np.array([2**60, 0]), np.array([False, True]), nullable=True),
    ]
    assert write_frames(Frame(fields, meta={"custom": {"a": 1}})) == [
        {
            "schema": {
                "meta": {"custom": {"a": 1}, "typeVersion": [0, 0]},
                "fields": [
                    {"type": "boolean", "typeInfo": {"frame": "bool"}},
                    {"name": "s", "type": "string", "typeInfo": {"frame": "string", "nullable": True}, "config": {"unit": "s"}},
                    {"name": "n", "type": "number", "typeInfo": {"frame": "int64", "nullable": True}},
                ],
            },
            "data": {"values": [[True, False], ["x", None], [2**60, None]]},
        }
    ]


def test_a_shared_time_column_is_the_same_on_every_frame() -> None:
    """A time column that several frames share is encoded once and is in each of them. Other columns have their own times."""
    shared, other = np.array([1, 2], np.int64) * 1_000_000, np.array([3], np.int64) * 1_000_000
    frames = [Frame([Field("t", FieldType.TIME, times)]) for times in (shared, shared, other, shared)]
    assert [frame["data"]["values"] for frame in write_frames(*frames)] == [[[1, 2]], [[1, 2]], [[3]], [[1, 2]]]


def test_no_chunk_is_much_larger_than_the_limit() -> None:
    """A long column is split, and short columns are joined. All chunks together are the complete text."""
    frame = Frame([Field("a", FieldType.INT8, np.ones(size, np.int8)) for size in (CHUNK_VALUES * 2 + 1, 10, 10)])
    parts = list(chunks(JsonFrameWriter().write(frame)))
    # Two full chunks, and one with the last value of the long column and both short columns.
    assert len(parts) == 3
    # Each value is written as ``1,``, except the last value of a column.
    assert all(part.count(b"1,") <= CHUNK_VALUES for part in parts)
    assert [len(column) for column in orjson.loads(b"".join(parts))["data"]["values"]] == [CHUNK_VALUES * 2 + 1, 10, 10]


_COLUMNS = {
    FieldType.FLOAT64: st.none() | st.floats(),
    FieldType.INT8: st.none() | st.integers(-128, 127),
    FieldType.UINT64: st.none() | st.integers(0, 2**64 - 1),
    FieldType.BOOL: st.none() | st.booleans(),
    FieldType.STRING: st.none() | st.text(),
    FieldType.TIME: st.none() | st.integers(-(2**62), 2**62),
    FieldType.JSON: st.none() | st.dictionaries(st.text(), st.integers(0, 9), min_size=1),
}


def column(type_: FieldType, values: list[Any]) -> Field:
    """Return a column with labels. None is a null, whose slot has the value that the engine writes there."""
    filler: Any = {FieldType.FLOAT64: np.nan, FieldType.STRING: None, FieldType.JSON: None}.get(type_, 0)
    array = np.empty(len(values), type_.dtype)
    array[:] = [filler if value is None else value for value in values]
    nulls = np.array([value is None for value in values], np.bool_)
    return Field("f", type_, array, nulls if nulls.any() else None, nullable=bool(nulls.any()), labels=Labels.of({"k": "v"}))


@settings(deadline=None)
@given(st.sampled_from(sorted(_COLUMNS)).flatmap(lambda type_: st.builds(column, st.just(type_), st.lists(_COLUMNS[type_]))))
def test_a_written_frame_is_read_back(field: Field) -> None:
    """Values, nulls, labels and nullability of every type are the same after encoding and parsing."""
    frame = Frame([field], "name", "A", {"type": "table", "typeVersion": [0, 1]})
    [read_frame] = decode(*write_frames(frame))
    assert read_frame.name == "name"
    assert read_frame.ref_id == "A"
    assert read_frame.meta == frame.meta
    [result] = read_frame.fields
    assert result.type == field.type
    assert result.labels == field.labels
    assert result.nullable == field.nullable
    assert result.values.dtype == field.values.dtype
    assert cell_texts(result) == cell_texts(field)


def cell_texts(field: Field) -> list[str | None]:
    """Return the text of each value, by which NaN equals NaN, and None for each null."""
    return [None if null else str(value) for value, null in zip(field.values.tolist(), nulls_of(field), strict=True)]


def nulls_of(field: Field) -> list[bool]:
    """Return whether each value of a column is null."""
    return [False] * len(field) if field.nulls is None else field.nulls.tolist()


@pytest.mark.parametrize(
    ("field", "values", "fault"),
    [
        ({"type": "number"}, ["1"], r"\[0\].data.values\[0\] is declared float64 but holds str"),
        ({"type": "number"}, [True], "holds bool"),
        ({"type": "boolean"}, [1], "holds int"),
        ({"type": "time"}, [1.5], "not time.Time: 1.5 is not whole"),
        ({"type": "time"}, [2**60], "outside the years"),
        ({"type": "number", "typeInfo": {"frame": "int8"}}, [300], "not int8"),
        ({"type": "number", "typeInfo": {"frame": "uint64"}}, ["x"], "not uint64"),
        ({"type": "number", "typeInfo": {"frame": "decimal"}}, [1], r"fields\[0\] has the unknown type 'decimal'"),
        ({}, [1], "unknown type None"),
        ({"type": "number", "labels": {"a": 1}}, [1], r"labels.a must be text"),
        ({"type": "number", "colour": 1}, [1], "unknown property 'colour'"),
        ({"type": "number", "config": []}, [1], "config must be an object"),
    ],
)
def test_an_invalid_field_is_an_error(field: dict[str, Any], values: list[Any], fault: str) -> None:
    """The error of an invalid field names the fault, and where it is."""
    with pytest.raises(BadRequest, match=fault):
        decode({"schema": {"fields": [field]}, "data": {"values": [values]}})


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (b"{", "not JSON"),
        (b"{}", "the frames must be a list"),
        (b"[1]", r"\[0\] must be an object"),
        (b'[{"rows":[]}]', "unknown property 'rows'"),
        (b'[{"schema":{"fields":[{"type":"number"}]},"data":{"values":[]}}]', "0 columns where the schema has 1"),
        (b'[{"schema":{"fields":[{"type":"number"},{"type":"number"}]},"data":{"values":[[1],[]]}}]', "different lengths"),
        (b'[{"schema":{"fields":[{"type":"number"}]},"data":{"values":[[1]],"entities":[{"NaN":[1]}]}}]', "row numbers from 0 to 0"),
        (b'[{"schema":{"fields":[{"type":"string"}]},"data":{"values":[["a"]],"entities":[{"NaN":[0]}]}}]', "only a float field"),
        (b'[{"schema":{"fields":[{"type":"number"}]},"data":{"values":[[1]],"nanos":[[1]]}}]', "only a time field"),
        (b'[{"schema":{"fields":[{"type":"time"}]},"data":{"values":[[1]],"nanos":[[1000000]]}}]', "from 0 to 999999"),
        (b'[{"schema":{"fields":[{"type":"time"}]},"data":{"values":[[1]],"nanos":[]}}]', "nanos has 0 entries"),
        (b'[{"schema":{"meta":{"typeVersion":[1]}}}]', "two whole numbers"),
    ],
)
def test_an_invalid_document_is_an_error(document: bytes, fault: str) -> None:
    """Each invalid part of a document is an error that names the fault: nothing is guessed or ignored."""
    with pytest.raises(BadRequest, match=fault):
        read_frames(document)


def test_numbers_as_text_and_nanoseconds_are_read() -> None:
    """Integers may be texts, and times may have nanoseconds."""
    [frame] = decode(
        {
            "schema": {"fields": [{"type": "number", "typeInfo": {"frame": "uint64"}}, {"type": "time"}]},
            "data": {"values": [["18446744073709551615"], [1000]], "nanos": [None, [5]]},
        }
    )
    assert frame.fields[0].values.tolist() == [2**64 - 1]
    assert frame.fields[1].values.tolist() == [1_000_000_005]


def test_entities_mark_numbers_among_nulls() -> None:
    """A null that ``entities`` lists is NaN or an infinity. Every other null is a null."""
    schema = {"fields": [{"type": "number"}]}
    entities = {"NaN": [0], "Inf": [1], "NegInf": [3]}
    [frame] = decode({"schema": schema, "data": {"values": [[None, None, None, None, 5]], "entities": [entities]}})
    values = frame.fields[0].values
    assert np.isnan(values[0])
    assert values[1] == np.inf
    assert values[3] == -np.inf
    assert nulls_of(frame.fields[0]) == [False, False, True, False, False]


# Random documents with the members of frames.
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["schema", "data", "fields", "values", "entities", "nanos", "type", "typeInfo", "frame", "meta", "NaN", "labels"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
# Frames with one field, whose parts may be invalid.
_FIELDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "time", "boolean", "string", "other", "enum"]) | _JSON},
    optional={"typeInfo": st.fixed_dictionaries({"frame": st.sampled_from(list(FieldType))}) | _JSON, "labels": _JSON, "config": _JSON},
)
_FRAMES = st.fixed_dictionaries(
    {
        "schema": st.fixed_dictionaries({"fields": st.lists(_FIELDS, min_size=1, max_size=1)}),
        "data": st.fixed_dictionaries(
            {"values": st.lists(st.lists(_JSON, max_size=3), min_size=1, max_size=1)},
            optional={"entities": st.lists(_JSON, max_size=1), "nanos": st.lists(_JSON, max_size=1)},
        ),
    }
)


@settings(deadline=None)
@given(st.binary(max_size=50) | st.lists(_JSON | _FRAMES, max_size=2).map(orjson.dumps))
def test_any_bytes_are_frames_or_a_bad_request(content: bytes) -> None:
    """Any bytes are read as frames, or rejected with BadRequest. Other exceptions are not raised."""
    try:
        frames = read_frames(content)
    except BadRequest:
        return
    assert all(isinstance(frame, Frame) for frame in frames)
