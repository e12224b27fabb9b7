"""Encodings compared with files: a frame of every type with special values, and a response with an error, as JSON and Arrow."""

import numpy as np
import pytest
from tests.golden import wire

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.values import Cells, NoData, Numbers, Scalar
from dashwright.expressions.engine.values_to_frames import frames_of
from dashwright.expressions.formats import arrow, response
from dashwright.expressions.formats.codec import JsonFrameWriter, chunks
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.formats.response import Result


def frame_of_every_type() -> Frame:
    """Return a frame with two columns of each type.

    The rows are an ordinary value, the lowest value of the type, and its highest or most unusual value. The second column of a type
    has a null.
    """
    columns: dict[FieldType, list[object]] = {
        FieldType.TIME: [0, -1, 1_700_000_000_123_456_789],
        FieldType.FLOAT32: [1.5, -np.inf, np.nan],
        FieldType.FLOAT64: [0.1, np.inf, np.nan],
        FieldType.BOOL: [True, False, True],
        FieldType.STRING: ["a", "", 'ü"\\\n'],
        FieldType.ENUM: [0, 1, 1],
        FieldType.JSON: [{"a": [1, None]}, [], "text"],
    }
    for type_ in FieldType:
        if type_.dtype.kind in "iu" and type_ not in columns:
            columns[type_] = [1, np.iinfo(type_.dtype).min, np.iinfo(type_.dtype).max]
    fields = []
    for type_, values in columns.items():
        array = np.empty(3, type_.dtype)
        array[:] = values
        config = {"type": {"enum": {"text": ["off", "on"]}}} if type_ is FieldType.ENUM else None
        fields.append(Field(type_.value, type_, array, config=config))
        array_with_null = array.copy()
        if type_.dtype == object:
            array_with_null[0] = None
        else:
            array_with_null[0] = np.nan if type_.is_float else 0
        nulls = np.array([True, False, False])
        fields.append(
            Field(f"{type_.value} or null", type_, array_with_null, nulls, nullable=True, labels=Labels.of({"k": "v"}), config=config)
        )
    return Frame(fields, "every type", "A", {"type": "table", "typeVersion": [0, 1], "custom": {"key": "value"}})


def results_of_every_type() -> dict[str, Result]:
    """Return results of every shape, in the order of the request."""
    numbers = Numbers(
        LabelSets.of((Labels.of({"h": "a"}), Labels.of())), Cells.with_nulls(np.array([1.0, np.nan]), np.array([False, True]))
    )
    return {
        "C": Result(frames_of(Outcome(numbers, ("mind this",)), "C")),
        "B": Result(frames_of(Outcome(Scalar.of(np.inf)), "B")),
        "A": Result(frames_of(Outcome(NoData()), "A")),
        "D": Result(error=BadRequest("no such thing", message_id="sse.x")),
        "E": Result(),
    }


def test_a_frame_of_every_type_has_the_recorded_json() -> None:
    """The JSON of a frame with every type equals the golden file, and is read as the same frame."""
    written = b"".join(chunks(JsonFrameWriter().write(frame_of_every_type())))
    wire.check("every_type.json", written + b"\n")
    [read_frame] = read_frames(b"[" + written + b"]")
    assert b"".join(chunks(JsonFrameWriter().write(read_frame))) == written
    for field, read_field in zip(frame_of_every_type().fields, read_frame.fields, strict=True):
        assert read_field.type == field.type
        assert read_field.nullable == field.nullable
        assert read_field.values.dtype == field.values.dtype


def test_a_frame_of_every_type_has_the_recorded_arrow_stream() -> None:
    """The Arrow stream of a frame with every type equals the golden file."""
    wire.check("every_type.arrows", b"".join(chunks(arrow.ArrowFrameWriter().write(frame_of_every_type()))))


def test_a_response_has_the_recorded_json() -> None:
    """The JSON of a response with numbers, a scalar, no data and an error equals the golden file."""
    wire.check("results_of_every_type.json", b"".join(chunks(response.fragments(results_of_every_type()))) + b"\n")


def test_a_response_has_the_recorded_arrow_streams() -> None:
    """The Arrow streams of a response with numbers, a scalar, no data and an error equal the golden file."""
    wire.check("results_of_every_type.arrows", b"".join(chunks(arrow.fragments(results_of_every_type()))))


def test_golden_files_are_not_written_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under CI, golden files are compared and never written."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    with pytest.raises(AssertionError, match="not written where CI is set"):
        wire.check("every_type.json", b"")
