"""Conversion of query results to the tables that statements select from.

Series and numbers become *full-long* tables, with a row for each point and a string column for each label. The columns of
time series are ``time``, ``__value__`` and ``__metric_name__``; those of numbers are ``__metric_name__`` and ``__value__``.
They are followed by ``__display_name__`` if a field has one, and by the labels. Other frames are tables without changes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import frame_layout
from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NO_LABELS, Labels
from dashwright.expressions.engine.limit_checks import check_size
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, Mask, NoData, Numbers, Positions, Scalar, Series, Values
from dashwright.expressions.sql.relation import Relation, RelationColumn, unique_names

# Names of columns.
TIME: Final = "time"
VALUE: Final = "__value__"
METRIC: Final = "__metric_name__"
DISPLAY: Final = "__display_name__"

#: The limit of columns in a table, as in MySQL.
MAX_COLUMNS = 4096

#: Bytes of the largest code, that is, the index of a string in a dictionary.
_MAX_CODE_BYTES = 4
#: Bytes of the time and the value of one row.
_TIME_AND_VALUE_BYTES = 16
_NO_VALUES = np.empty(0)
_NO_CODES = np.empty(0, np.int8)


class _LongTableItem(NamedTuple):
    """A series, or numbers with the same labels, whose values become rows of a full-long table. Only a series has ``times``."""

    name: str
    labels: Labels
    display_name: str | None
    values: NDArray[Any]
    nulls: Mask | None
    times: Times | None = None


def relation_of(ref_id: str, result: Values | Table, limits: Limits) -> Relation:
    """Return the result of the query ``ref_id`` as a table. Raises BadRequest if its frames are not a table, or TooLarge."""
    match result:
        case Table():
            check_size(ref_id, result, limits)
            return _table_of_frames(ref_id, result.frames, limits)
        case NoData():
            return _series_table(ref_id, [], limits)
        case Scalar(cells=cells):
            # ``at(None)`` makes the single value an array of one value.
            return _number_table(ref_id, [_item_of_cells(ref_id, NO_LABELS, cells.at(None))], limits)
        case Numbers(labels=labels, cells=cells):
            # One number in each row, so that a row is an array of one value.
            rows = cells.at((slice(None), None))
            return _number_table(ref_id, [_item_of_cells(ref_id, label_set, rows.at(row)) for row, label_set in enumerate(labels)], limits)
        case Series():
            return _series_table(ref_id, list(_items_of_series(ref_id, result)), limits)


def _item_of_cells(name: str, labels: Labels, cells: Cells, times: Times | None = None) -> _LongTableItem:
    return _LongTableItem(name, labels, None, cells.values, cells.nulls, times)


def _items_of_series(ref_id: str, series: Series) -> Iterator[_LongTableItem]:
    for labels, block, row in zip(series.labels, series.block_of.tolist(), series.row_of.tolist(), strict=True):
        yield _item_of_cells(ref_id, labels, series.blocks[block].cells.at(row), series.blocks[block].axis.times)


def _table_of_frames(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    """Return frames of a declared type as a full-long table, or else a single frame without labels as it is."""
    declared_type = str((frames[0].meta or {}).get("type") or "") if frames else ""
    if converter := _CONVERTERS.get(declared_type):
        return converter(ref_id, frames, limits)
    non_empty_frames = [frame for frame in frames if frame.fields]
    if not non_empty_frames:
        return _series_table(ref_id, [], limits)
    if len(non_empty_frames) > 1:
        raise _conversion_error(declared_type, "has more than one dataframe that can not be automatically mapped to a single table")
    if any(field.labels for field in non_empty_frames[0].fields):
        raise _conversion_error(declared_type, "has labels in the response that can not be mapped to a table")
    return _unchanged_table(non_empty_frames[0])


def _conversion_error(declared_type: str, reason: str) -> BadRequest:
    description = f"has an unsupported data type [{declared_type}]" if declared_type else "is missing the data type (frame.meta.type)"
    return BadRequest(f"can not convert because the response {description} and {reason}; declare one of {', '.join(_CONVERTERS)}")


def _series_of_frames(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    items = []
    for frame in frames:
        if frame.fields:
            times = frame_layout.times_of(frame).values
            items += [_item_of_field(field, times) for field in frame.fields if field.type.is_numeric]
    return _series_table(ref_id, items, limits)


def _numbers_of_frames(ref_id: str, frames: Sequence[Frame], limits: Limits) -> Relation:
    items = []
    for frame in frames:
        if frame.row_count > 1:
            raise BadRequest(f"expected no more than one row in the frame, but got {frame.row_count}; declare it numeric-long or reduce it")
        items += [_item_of_field(field) for field in frame.fields if field.type.is_numeric]
    return _number_table(ref_id, items, limits)


#: The functions that convert frames to full-long tables, by ``meta.type`` of the frames.
_CONVERTERS: dict[str, Callable[[str, Sequence[Frame], Limits], Relation]] = {
    "timeseries-wide": lambda ref_id, frames, limits: _series_of_frames(ref_id, frames[:1], limits),
    "timeseries-multi": _series_of_frames,
    "timeseries-many": _series_of_frames,
    "numeric-wide": lambda ref_id, frames, limits: _numbers_of_frames(ref_id, frames[:1], limits),
    "numeric-multi": _numbers_of_frames,
}


def _item_of_field(field: Field, times: Times | None = None) -> _LongTableItem:
    display_name = (field.config or {}).get("displayNameFromDS")
    return _LongTableItem(
        field.name, field.labels or NO_LABELS, str(display_name) if display_name else None, field.values, field.nulls, times
    )


def _unchanged_table(frame: Frame) -> Relation:
    """Return a frame as a table without changes, except that duplicate names get a suffix."""
    original_names = [field.name for field in frame.fields]
    names = unique_names(original_names)
    if len(names) > MAX_COLUMNS:
        raise _too_many_columns_error(len(names))
    notices = [
        f"column {index} ({old_name!r}) is {new_name} in the table: names of columns that differ only in case are the same name"
        for index, (old_name, new_name) in enumerate(zip(original_names, names, strict=True), 1)
        if old_name != new_name
    ]
    columns = tuple([_unchanged_column(name, field) for name, field in zip(names, frame.fields, strict=True)])
    return Relation(columns, frame.row_count, tuple(notices))


def _unchanged_column(name: str, field: Field) -> RelationColumn:
    """Return a column as it is, except that an enum becomes strings. Raises BadRequest for an enum without strings."""
    if field.type is not FieldType.ENUM:
        return RelationColumn(name, field.type, field.values, field.nulls)
    type_config = (field.config or {}).get("type")
    enum = type_config.get("enum") if isinstance(type_config, dict) else None
    strings = enum.get("text") if isinstance(enum, dict) else None
    if not isinstance(strings, list) or (len(field) and int(field.values.max()) >= len(strings)):
        raise BadRequest(f"field {name} is an enum without a string for each of its values; set them in config.type.enum.text")
    return RelationColumn(name, FieldType.STRING, field.values.astype(np.int32), field.nulls, [str(string) for string in strings])


def _series_table(ref_id: str, items: list[_LongTableItem], limits: Limits) -> Relation:
    """Return a table with a row for each point, by ascending time and metric name."""
    items = sorted(items, key=lambda item: item.name)
    _check_table_size(ref_id, items, limits)
    times, layout = _order_by_time(items)
    value_column = _value_column(items, layout)
    metric_column = _string_column(METRIC, [item.name for item in items], layout)
    label_columns, notices = _label_columns(ref_id, items, (TIME, VALUE, METRIC, DISPLAY), layout)
    columns = (RelationColumn(TIME, FieldType.TIME, times), value_column, metric_column, *label_columns)
    return Relation(columns, len(times), notices)


def _number_table(ref_id: str, items: list[_LongTableItem], limits: Limits) -> Relation:
    """Return a table with a row for each number, in the given order."""
    _check_table_size(ref_id, items, limits)
    layout = _RowLayout([len(item.values) for item in items])
    metric_column = _string_column(METRIC, [item.name for item in items], layout)
    label_columns, notices = _label_columns(ref_id, items, (METRIC, VALUE, DISPLAY), layout)
    return Relation((metric_column, _value_column(items, layout), *label_columns), layout.row_count, notices)


class _RowLayout:
    """The order of the points of items as rows: item by item, or permuted by ``order``."""

    def __init__(self, lengths: Sequence[int], order: Positions | None = None) -> None:
        self._lengths = lengths
        self._order = order
        self.row_count = sum(lengths)

    def point_rows(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return a value for each row, from an array for each item with a value for each of its points."""
        concatenated = np.concatenate(arrays)
        return concatenated if self._order is None else concatenated[self._order]

    def item_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a value for each row, from one value for each item."""
        repeated = np.repeat(values, self._lengths)
        return repeated if self._order is None else repeated[self._order]


class _SharedTimesLayout(_RowLayout):
    """The order of items with the same ascending times: for each time a row of each item. No sorting is needed."""

    def __init__(self, item_count: int, time_count: int) -> None:
        super().__init__([time_count] * item_count)
        self._time_count = time_count

    def point_rows(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.stack(arrays, axis=1).reshape(-1)

    def item_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values, self._time_count)


def _order_by_time(items: Sequence[_LongTableItem]) -> tuple[Times, _RowLayout]:
    """Return the time of each row, and the layout of the points of all series as rows sorted by time."""
    times_of_items = [item.times for item in items if item.times is not None]
    if not times_of_items:
        return np.empty(0, np.int64), _RowLayout([])
    first_times = times_of_items[0]
    # Bytes compare faster than arrays.
    first_bytes = first_times.tobytes()
    are_shared = all(times is first_times or times.tobytes() == first_bytes for times in times_of_items)
    if are_shared and bool((np.diff(first_times) > 0).all()):
        return np.repeat(first_times, len(times_of_items)), _SharedTimesLayout(len(times_of_items), len(first_times))
    concatenated_times = np.concatenate(times_of_items)
    order = np.argsort(concatenated_times, kind="stable")
    return concatenated_times[order], _RowLayout(list(map(len, times_of_items)), order)


def _value_column(items: Sequence[_LongTableItem], layout: _RowLayout) -> RelationColumn:
    """Return the column of values, in the order of the rows."""
    if not items:
        return RelationColumn(VALUE, FieldType.FLOAT64, _NO_VALUES)
    values = layout.point_rows([item.values.astype(np.float64, copy=False) for item in items])
    if all(item.nulls is None for item in items):
        return RelationColumn(VALUE, FieldType.FLOAT64, values)
    nulls = [np.zeros(len(item.values), np.bool_) if item.nulls is None else item.nulls for item in items]
    return RelationColumn(VALUE, FieldType.FLOAT64, values, layout.point_rows(nulls))


def _label_columns(
    ref_id: str, items: Sequence[_LongTableItem], used_names: Sequence[str], layout: _RowLayout
) -> tuple[list[RelationColumn], tuple[str, ...]]:
    """Return the columns of display names and labels, and notices about renamed columns.

    A column does not get one of ``used_names``.
    """
    columns = []
    if any(item.display_name is not None for item in items):
        columns.append(_string_column(DISPLAY, [item.display_name for item in items], layout))
    label_names = sorted({label_name for item in items for label_name in item.labels.keys})
    if len(label_names) + len(used_names) > MAX_COLUMNS:
        raise _too_many_columns_error(len(label_names) + len(used_names))
    names = unique_names(label_names, used_names)
    label_sets = [dict(item.labels.pairs) for item in items]
    columns += [
        _string_column(name, [labels.get(label_name) for labels in label_sets], layout)
        for label_name, name in zip(label_names, names, strict=True)
    ]
    renamed = [(label_name, name) for label_name, name in zip(label_names, names, strict=True) if label_name != name]
    return columns, tuple(
        [
            f"label {label_name} of {ref_id} is column {name} in the table, because there is a column {label_name}"
            for label_name, name in renamed
        ]
    )


def _string_column(name: str, strings: Sequence[str | None], layout: _RowLayout) -> RelationColumn:
    """Return a string column from one string for each item; None is null."""
    codes_by_string = {string: code for code, string in enumerate(dict.fromkeys(string for string in strings if string is not None))}
    codes = np.array([0 if string is None else codes_by_string[string] for string in strings], _code_type(len(codes_by_string)))
    null_mask = np.array([string is None for string in strings], np.bool_)
    nulls = layout.item_rows(null_mask) if null_mask.any() else None
    values = layout.item_rows(codes) if len(strings) else _NO_CODES
    # Null rows have the code 0, so the dictionary needs a string even if all rows are null.
    return RelationColumn(name, FieldType.STRING, values, nulls, list(codes_by_string) or [""])


def _code_type(count: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type of the codes of ``count`` strings, which start at 0."""
    if count <= 1 << 7:
        return np.int8
    return np.int16 if count <= 1 << 15 else np.int32


def _check_table_size(ref_id: str, items: Iterable[_LongTableItem], limits: Limits) -> None:
    """Raise TooLarge if the table would be too large: with a column for each label, it may be much larger than the items."""
    items = list(items)
    row_count = sum(len(item.values) for item in items)
    label_names = {label_name for item in items for label_name in item.labels.keys}
    string_column_count = 1 + len(label_names)  # The metric name, and a column for each label.
    size = row_count * (_TIME_AND_VALUE_BYTES + _MAX_CODE_BYTES * string_column_count)
    if size > limits.sql_bytes:
        message = f"the table of {ref_id} takes {size} bytes: {row_count} rows with {len(label_names)} labels"
        raise limits.refusal("sql_bytes", message, "ask for a shorter time range or fewer labels")


def _too_many_columns_error(count: int) -> BadRequest:
    return BadRequest(f"the table has {count} columns, more than the {MAX_COLUMNS} that a table may have; let the query drop some")
