"""Conversion of the engine's frames to frames of transformations, and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.formats.codec import NANOS_PER_MILLISECOND, JsonFrameWriter
from dashwright.expressions.formats.transformed import TypedFrame
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number, text_of
from dashwright.expressions.transformations.data import Cells, CellType, Column, DataFrame, Trend

_MAX_MILLISECONDS: Final = (2**63 - 1) // NANOS_PER_MILLISECOND
#: The type of a column by the type of its field. All other fields are numbers.
_TYPES: Final[Mapping[FieldType, CellType]] = {
    FieldType.TIME: CellType.TIME,
    FieldType.STRING: CellType.STRING,
    FieldType.BOOL: CellType.BOOLEAN,
    FieldType.ENUM: CellType.ENUM,
    FieldType.JSON: CellType.OTHER,
}


class FieldCells(Sequence[Any]):
    """The cells of a field of the engine, which are read when they are first needed."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self._cells: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.field)

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def _read(self) -> list[Any]:
        if self._cells is None:
            self._cells = _cells_of(self.field)
        return self._cells


def _cells_of(field: Field) -> list[Any]:
    values = field.values // NANOS_PER_MILLISECOND if field.type is FieldType.TIME else field.values
    cells: list[Any] = values.tolist()
    if field.nulls is None:
        return cells
    return [None if is_null else cell for cell, is_null in zip(cells, field.nulls.tolist(), strict=True)]


def from_frame(frame: Frame) -> DataFrame:
    """Return a frame of the engine as transformations read it."""
    columns = [
        Column(
            field.name,
            _TYPES.get(field.type, CellType.NUMBER),
            FieldCells(field),
            None if field.labels is None else dict(field.labels.pairs),
            field.config or {},
        )
        for field in frame.fields
    ]
    return DataFrame(columns, frame.row_count, frame.name, frame.ref_id, frame.meta)


def to_frame(frame: DataFrame, *, keeps_trends: bool = False) -> Frame:
    """Return a transformed frame as the engine and pictures read it.

    A column with cells of several types becomes a column of JSON documents, and undefined cells are null. Nested frames become
    JSON, and so do trends unless they are kept for a picture.
    """
    return Frame([_field(column, keeps_trends=keeps_trends) for column in frame.columns], frame.name, frame.ref_id, frame.meta)


def to_typed_frame(frame: DataFrame) -> TypedFrame:
    """Return a transformed frame with the types of its columns, as a response contains it."""
    return TypedFrame(to_frame(frame), [column.type.value for column in frame.columns])


def _field(column: Column, *, keeps_trends: bool) -> Field:
    labels = None if column.labels is None else Labels.of({text_of(key): text_of(value) for key, value in column.labels.items()})
    cells = column.values
    if isinstance(cells, FieldCells) and _TYPES.get(cells.field.type, CellType.NUMBER) is column.type:
        return replace(cells.field, name=column.name, labels=labels, config=column.config or None)
    type_, values, nulls = _array(column.type, cells, keeps_trends=keeps_trends)
    declared = column.type.value if type_ is FieldType.JSON and column.type in _DECLARED_TYPES else ""
    config = column.config or None
    field = Field(column.name, type_, values, nulls, nullable=True, labels=labels, config=config, declared_type=declared)
    absent = np.array([cell is UNDEFINED for cell in cells], np.bool_)
    return replace(field, absent=absent) if absent.any() else field


def _array(type_: CellType, cells: Cells, *, keeps_trends: bool) -> tuple[FieldType, NDArray[Any], NDArray[np.bool_] | None]:
    """Return the type, the values and the nulls of cells."""
    nulls = np.array([is_missing(cell) for cell in cells], np.bool_)
    present_cells = [cell for cell in cells if not is_missing(cell)]
    # Columns of all other types become JSON.
    accepts, field_type = _COLUMN_TYPES.get(type_, (lambda _cell: False, FieldType.JSON))
    if not all(map(accepts, present_cells)):
        field_type = FieldType.JSON
    empty = _EMPTY.get(field_type)
    values = np.empty(len(cells), field_type.dtype)
    if field_type is FieldType.JSON:
        cells = [cell if keeps_trends and isinstance(cell, Trend) else _document(cell) for cell in cells]
    values[:] = [empty if is_missing(cell) else cell for cell in cells]
    if field_type is FieldType.TIME:
        values *= NANOS_PER_MILLISECOND
    return field_type, values, nulls if nulls.any() else None


def _document(cell: Any) -> Any:
    """Return a cell as JSON can express it."""
    if isinstance(cell, DataFrame):
        return orjson.Fragment(_encoded(cell))
    if isinstance(cell, Trend):
        # The frame with ``value`` as a further member, before its closing brace.
        return orjson.Fragment(_encoded(cell.frame)[:-1] + b',"value":' + orjson.dumps(_document(cell.value)) + b"}")
    if isinstance(cell, list):
        return [_document(item) for item in cell]
    return None if cell is UNDEFINED else cell


def _encoded(frame: DataFrame) -> bytes:
    """Return a frame as JSON."""
    typed = to_typed_frame(frame)
    return b"".join(fragment for fragment, _ in JsonFrameWriter().write(typed.frame, typed.types))


def _is_time(cell: Any) -> bool:
    return is_number(cell) and abs(cell) < _MAX_MILLISECONDS


#: The types that a column keeps for pictures if some of its cells have other types.
_DECLARED_TYPES: Final = frozenset({CellType.TIME, CellType.NUMBER, CellType.STRING, CellType.BOOLEAN, CellType.ENUM})
#: The values at nulls.
_EMPTY: Final[Mapping[FieldType, Any]] = {FieldType.TIME: 0, FieldType.FLOAT64: np.nan, FieldType.BOOL: False}

#: For each type of column: a test whether a cell has this type, and the type of the field if all cells have it.
_COLUMN_TYPES: Final[Mapping[CellType, tuple[Callable[[Any], bool], FieldType]]] = {
    CellType.TIME: (_is_time, FieldType.TIME),
    CellType.NUMBER: (is_number, FieldType.FLOAT64),
    CellType.BOOLEAN: (lambda cell: isinstance(cell, bool), FieldType.BOOL),
    CellType.STRING: (lambda cell: isinstance(cell, str), FieldType.STRING),
}
