"""Conversion of the engine's frames to those of transformations, and back."""

import numpy as np
from tests.unit.expressions.transformations.tables import column, frame

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.conversion import from_frame, to_frame, to_typed_frame
from dashwright.expressions.transformations.data import CellType
from dashwright.expressions.transformations.pipeline import read_steps
from dashwright.expressions.transformations.result import transform, transformed_for_drawing

#: Times that whole milliseconds cannot represent.
NANOS = np.array([1_000_000_001, 2_000_000_002], np.int64)
#: A frame with exact times, an integer of 61 bits and a null.
ENGINE_FRAME = Frame(
    [
        Field("time", FieldType.TIME, NANOS),
        Field(
            "n",
            FieldType.INT64,
            np.array([2**60, 0], np.int64),
            np.array([False, True]),
            labels=Labels.of({"h": "a"}),
            config={"unit": "s"},
        ),
    ],
    "name",
    "A",
    {"type": "x"},
)


def test_untouched_columns_are_exact() -> None:
    """Columns whose cells no transformation changes keep their types, nanoseconds and large integers."""
    converted = to_frame(from_frame(ENGINE_FRAME))
    for field, original in zip(converted.fields, ENGINE_FRAME.fields, strict=True):
        assert field.type == original.type
        assert field.values is original.values
        assert field.labels == original.labels
        assert field.config == original.config
    assert converted.name == "name"
    assert converted.ref_id == "A"
    assert converted.meta == {"type": "x"}


def test_cells_are_milliseconds_numbers_and_nulls() -> None:
    """For transformations, a time is a number of milliseconds, and a null is ``None``."""
    assert [list(column.values) for column in from_frame(ENGINE_FRAME).columns] == [[1000, 2000], [2**60, None]]


def test_undefined_cells_are_null_but_known() -> None:
    """A cell that a join added is null for clients, and undefined for charts."""
    (field,) = to_frame(frame("A", column("v", [1, None, UNDEFINED]))).fields
    assert field.nulls is not None
    assert field.absent is not None
    assert field.nulls.tolist() == [False, True, True]
    assert field.absent.tolist() == [False, False, True]


def test_columns_of_mixed_cells_keep_their_type_for_clients() -> None:
    """A column of numbers with text among them has JSON documents in the engine, and the type of numbers in the schema for clients."""
    # The last cell is a list, whose undefined item is null in JSON.
    typed = to_typed_frame(frame("A", column("v", [1, "Not Found", [UNDEFINED]])))
    assert typed.frame.fields[0].type is FieldType.JSON
    assert list(typed.frame.fields[0].values) == [1, "Not Found", [None]]
    assert typed.types == [CellType.NUMBER]


def test_nested_tables_are_not_drawn() -> None:
    """The frames of a picture lack the columns of nested tables."""
    step = {
        "id": "groupToNestedTable",
        "options": {"fields": {"time": {"operation": "groupby"}, "n": {"operation": "aggregate", "aggregations": ["max"]}}},
    }
    (frame_to_draw,) = transformed_for_drawing([[ENGINE_FRAME]], read_steps([step]), Context())
    assert [field.name for field in frame_to_draw.fields] == ["time", "n (max)"]


def test_drawn_columns_of_mixed_cells_keep_their_type() -> None:
    """A panel draws a column of numbers with text among them as numbers, as in Grafana."""
    field = to_frame(frame("A", column("v", [1, "Not Found"]))).fields[0]
    assert field.type == FieldType.JSON
    assert field.declared_type == "number"


def test_too_many_frames_are_an_error_of_the_result() -> None:
    """The frames of all queries are counted before they are converted."""
    result = transform([[ENGINE_FRAME] * 6_000, [ENGINE_FRAME] * 6_000], [], Context())
    assert result.error is not None
    assert "12000 frames" in result.error.message
