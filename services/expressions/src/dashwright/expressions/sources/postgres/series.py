"""Conversion of rows to a wide frame with one column per series. String columns are labels, other columns are values.

With labels, the wide frame is a ``FrameSet``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.axis import Axis, Times
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import TIME_NAME, FrameSet
from dashwright.expressions.engine.labels import LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Block, Cells, Mask, Positions, Series
from dashwright.expressions.sources.postgres.macros import Fill, FillMode

#: The meta of a wide frame of series with labels.
WIDE_META = {"type": "timeseries-wide", "typeVersion": [0, 1]}

_METRIC_NAME = "metric"
#: Numbers in these ranges are epoch seconds and epoch nanoseconds of the years 2001 to 2286. Others are epoch milliseconds.
_SECONDS_RANGE = (1e9, 1e10)
_NANOSECONDS_RANGE = (1e18, 1e19)
_NANOS_PER_MILLISECOND = 1_000_000
_MAX_MILLISECONDS = (1 << 63) // _NANOS_PER_MILLISECOND - 1
_ADVICE = "choose fewer columns or labels, a larger interval, or format table"


def time_column_index(fields: Sequence[Field]) -> int | None:
    """Return the position of the time column, or None.

    It is the last column named ``time``, else the first named ``time_sec`` or ``Time`` in any case, else the first column
    of times.
    """
    by_exact_name = [index for index, field in enumerate(fields) if field.name == "time"]
    by_name = [index for index, field in enumerate(fields) if field.name.lower() in {"time", "time_sec"} and _may_be_time(field)]
    by_type = [index for index, field in enumerate(fields) if field.type is FieldType.TIME]
    return by_exact_name[-1] if by_exact_name else next(iter([*by_name, *by_type]), None)


def _may_be_time(field: Field) -> bool:
    return field.type is FieldType.TIME or field.type.is_numeric


def as_time(field: Field) -> Field:
    """Return a column as times. Numbers are epoch seconds, milliseconds or nanoseconds, by their size.

    Raises BadRequest if the column cannot be times.
    """
    if field.type is FieldType.TIME:
        return field
    if not _may_be_time(field):
        raise BadRequest(
            f"the column {field.name!r:.80} of type {field.type} is not a time; select a timestamp, or a number of seconds or milliseconds "
            "since 1970, or use format table"
        )
    numbers = field.values.astype(np.float64)
    nulls = (np.zeros(len(numbers), np.bool_) if field.nulls is None else field.nulls) | ~np.isfinite(numbers)
    numbers = np.where(nulls, 0, numbers)
    magnitudes = np.abs(numbers)
    are_seconds = (magnitudes >= _SECONDS_RANGE[0]) & (magnitudes < _SECONDS_RANGE[1])
    are_nanoseconds = (magnitudes >= _NANOSECONDS_RANGE[0]) & (magnitudes < _NANOSECONDS_RANGE[1])
    milliseconds = np.trunc(np.where(are_seconds, numbers * 1e3, np.where(are_nanoseconds, numbers / 1e6, numbers)))
    if np.any(np.abs(milliseconds) > _MAX_MILLISECONDS):
        raise BadRequest(
            f"the column {field.name!r:.80} holds numbers that are not times between 1677 and 2262; give seconds or milliseconds since 1970"
        )
    return Field(
        field.name, FieldType.TIME, milliseconds.astype(np.int64) * _NANOS_PER_MILLISECOND, nulls if nulls.any() else None, nullable=True
    )


def as_series(fields: Sequence[Field], fill: Fill | None, limits: Limits) -> FrameSet | Frame:
    """Return the wide frame of rows; a set if they have labels.

    ``fill`` replaces the missing rows of a label set at times that only other label sets have. Raises BadRequest if there is no time
    column, a column cannot be a value, or labelled rows are not in the order of time; TooLarge for too many values.
    """
    position = time_column_index(fields)
    if position is None:
        raise BadRequest(
            "a time series needs a time column and the result has none: name one time (such as $__time(created)), or use format table"
        )
    times = replace(as_time(fields[position]), name=TIME_NAME)
    label_fields = [field for field in fields if field.type is FieldType.STRING]
    value_fields = [_as_value(field) for index, field in enumerate(fields) if index != position and field.type is not FieldType.STRING]
    if not label_fields or not value_fields or not len(times):
        return Frame([times if index == position else _as_value(field) for index, field in enumerate(fields)])
    frames = _wide_set(times, label_fields, value_fields, fill, limits)
    if len(fields) == 3 and frames.values.labels.keys == (_METRIC_NAME,):
        # Next to a time and a value, the string column ``metric`` has the names of the series, as in Grafana before labels.
        empty_label_sets = LabelSets((), (), None, len(frames.values))
        return replace(frames, values=replace(frames.values, labels=empty_label_sets), value_names=frames.values.labels.columns[0])
    return frames


def _as_value(field: Field) -> Field:
    """Return the column as floats: booleans are 1 and 0, times are milliseconds since 1970. Strings are unchanged."""
    if field.type in {FieldType.FLOAT64, FieldType.STRING}:
        return field
    if field.type is FieldType.JSON:
        raise BadRequest(
            f"the column {field.name!r:.80} is JSON, which cannot be a value of a series; select a part of it, cast to a number or "
            "(as a label) to text, or use format table"
        )
    values = field.values.astype(np.float64)
    if field.type is FieldType.TIME:
        values /= _NANOS_PER_MILLISECOND
    if field.nulls is not None:
        values[field.nulls] = np.nan
    return replace(field, type=FieldType.FLOAT64, values=values)


def _wide_set(times: Field, label_fields: Sequence[Field], value_fields: Sequence[Field], fill: Fill | None, limits: Limits) -> FrameSet:
    """Return a series for each combination of a value column and a label set, sorted by name and labels."""
    names = [field.name for field in label_fields]
    if len(set(names)) < len(names):
        raise BadRequest(f"two text columns have the same name ({', '.join(names)[:200]}); name each label differently")
    if times.nulls is not None:
        raise BadRequest("the time of a row is null; leave such rows out (where … is not null)")
    differences = np.diff(times.values)
    if np.any(differences < 0):
        raise BadRequest("the rows of a time series with labels must be in the order of time; add order by time")
    is_new_time = np.concatenate([[True], differences > 0])
    distinct_times, time_of_row = times.values[is_new_time], np.cumsum(is_new_time) - 1
    label_columns, label_set_of_row = _label_columns(label_fields)
    label_set_count = len(label_columns[0])
    shape = label_set_count, len(distinct_times)
    cell_count = label_set_count * len(distinct_times) * len(value_fields)
    if cell_count > limits.query_points:
        message = f"{label_set_count} label sets at {len(distinct_times)} times make {cell_count} values"
        raise limits.refusal("query_points", message, _ADVICE)
    cells = [_cells_by_label_set(field, shape, (label_set_of_row, time_of_row), fill) for field in value_fields]
    # The name and the labels of each row of the stacked cells.
    series_keys = [(field.name, *label_values) for field in value_fields for label_values in zip(*label_columns, strict=True)]
    order = sorted(range(len(series_keys)), key=series_keys.__getitem__)
    # LabelSets requires sorted keys. The label with the index 0 follows the name in a row's key.
    by_name = sorted(range(len(names)), key=names.__getitem__)
    columns = [[series_keys[row][1 + index] for row in order] for index in by_name]
    labels = LabelSets(tuple([names[index] for index in by_name]), columns, None, len(order))
    block = Block(Axis(distinct_times), cells[0] if len(cells) == 1 else _stack(cells))
    series = Series(labels, (block,), np.zeros(len(order), np.intp), np.array(order, np.intp))
    return FrameSet(series, is_wide=True, value_names=[series_keys[row][0] for row in order])


def _stack(cells: Sequence[Cells]) -> Cells:
    values, nulls = np.concatenate([part.values for part in cells]), np.concatenate([part.null_mask() for part in cells])
    return Cells(values, nulls if nulls.any() else None)


def _label_columns(label_fields: Sequence[Field]) -> tuple[list[list[str]], Positions]:
    """Return the columns of the distinct label sets in the order of their first row, and the index of the label set of each row.

    A null counts as an empty string.
    """
    encoded_columns = [_encode(field) for field in label_fields]
    # A number for each row, equal for rows with equal strings in all columns so far.
    row_ids = encoded_columns[0][1]
    for strings, codes in encoded_columns[1:]:
        # Renumbered after each column, so that the products are small.
        row_ids = np.unique(row_ids, return_inverse=True)[1] * len(strings) + codes
    _, first_rows, row_ids = np.unique(row_ids, return_index=True, return_inverse=True)
    # ``unique`` orders label sets by their numbers. They are reordered by their first rows.
    by_first_row = np.argsort(first_rows)
    index_of_id = np.empty(len(first_rows), np.intp)
    index_of_id[by_first_row] = np.arange(len(first_rows))
    columns = [[strings[code] for code in codes[first_rows[by_first_row]].tolist()] for strings, codes in encoded_columns]
    return columns, index_of_id[row_ids]


class _StringCodes(dict[str | None, int]):
    """Codes of strings in the order of their first use. Null and the empty string have the code 0."""

    def __init__(self) -> None:
        super().__init__({"": 0, None: 0})

    def __missing__(self, string: str | None) -> int:
        # Null and the empty string are two entries with one code.
        return self.setdefault(string, len(self) - 1)


def _encode(field: Field) -> tuple[list[str], Positions]:
    """Return the distinct strings of a column, and for each row the index of its string."""
    codes = _StringCodes()
    row_codes = np.fromiter(map(codes.__getitem__, field.values.tolist()), np.intp, len(field))
    return [string for string in codes if string is not None], row_codes


def _cells_by_label_set(field: Field, shape: tuple[int, int], cell_of_row: tuple[Positions, Positions], fill: Fill | None) -> Cells:
    """Return the values of a column by label set and time. If several rows belong to one cell, the last counts.

    ``cell_of_row`` has the index of the label set and that of the time of each row.
    """
    cells, nulls = np.full(shape, np.nan), np.ones(shape, np.bool_)
    cells[cell_of_row] = field.values
    nulls[cell_of_row] = False if field.nulls is None else field.nulls
    if fill is not None:
        has_row = np.zeros(shape, np.bool_)
        has_row[cell_of_row] = True
        _fill_cells(cells, nulls, has_row, fill)
    return Cells(cells, nulls if nulls.any() else None)


def _fill_cells(cells: NDArray[np.float64], nulls: NDArray[np.bool_], has_row: NDArray[np.bool_], fill: Fill) -> None:
    """Fill the cells without a row, in place. In the mode NULL they remain null."""
    if fill.mode is FillMode.VALUE:
        cells[~has_row], nulls[~has_row] = fill.value, False
    elif fill.mode is FillMode.PREVIOUS:
        # Before its first row, a label set has the null cell of the first time.
        latest_times = np.maximum.accumulate(np.where(has_row, np.arange(has_row.shape[1]), 0), axis=1)
        cells[:], nulls[:] = np.take_along_axis(cells, latest_times, 1), np.take_along_axis(nulls, latest_times, 1)


@dataclass(frozen=True, slots=True)
class _GridRows:
    """The times of a grid, with the last row up to each time."""

    times: Times
    latest: Positions  #: The row of each time, 0 if none exists.
    has_latest: Mask  #: False for a time before the first row.
    has_recent: Mask  #: True if the row is less than a step before the time.


def with_filled_gaps(frame: Frame | FrameSet, fill: Fill, start: int, end: int) -> Frame | FrameSet:
    """Return the frame with a row at every step from ``start``, rounded down to a step, to ``end``, in nanoseconds.

    A row has the values of the last original row less than one step before it, else those that ``fill`` describes. Raises
    BadRequest if the rows are not in the order of time.
    """
    if isinstance(frame, FrameSet):
        assert isinstance(frame.values, Series)
        (block,) = frame.values.blocks
        rows = _grid_rows(block.axis.times, fill, start, end)
        filled = Block(Axis(rows.times), _fill_gaps(block.cells, rows, fill))
        return replace(frame, values=replace(frame.values, blocks=(filled,)))
    times = next(field for field in frame.fields if field.type is FieldType.TIME)
    if times.nulls is not None or np.any(np.diff(times.values) < 0):
        raise BadRequest("only rows in the order of time, none of them null, can be filled; add order by time")
    rows = _grid_rows(times.values, fill, start, end)
    fields = [Field(field.name, field.type, rows.times) if field is times else _fill_column(field, rows, fill) for field in frame.fields]
    return replace(frame, fields=fields)


def filled_row_count(fill: Fill, start: int, end: int) -> int:
    """Return the number of rows that ``with_filled_gaps`` returns."""
    return (end - start // fill.step * fill.step) // fill.step + 1


def _grid_rows(times: Times, fill: Fill, start: int, end: int) -> _GridRows:
    """Return the times of the grid from ``start`` to ``end``, with the last row up to each."""
    grid = np.arange(start // fill.step * fill.step, end + 1, fill.step, dtype=np.int64)
    latest = np.searchsorted(times, grid, side="right") - 1
    has_latest = latest >= 0
    latest = np.maximum(latest, 0)
    return _GridRows(grid, latest, has_latest, has_latest & (times[latest] > grid - fill.step))


def _fill_column(field: Field, rows: _GridRows, fill: Fill) -> Field:
    """Return the column on the grid."""
    if field.type is FieldType.FLOAT64:
        cells = _fill_gaps(Cells(field.values, field.nulls), rows, fill)
        return replace(field, values=cells.values, nulls=cells.nulls)
    # A string column always has the string of the row before.
    values = field.values[rows.latest]
    nulls = ~rows.has_latest if field.nulls is None else ~rows.has_latest | field.nulls[rows.latest]
    values[nulls] = None
    return replace(field, values=values, nulls=nulls if nulls.any() else None)


def _fill_gaps(cells: Cells, rows: _GridRows, fill: Fill) -> Cells:
    """Return the cells on the grid. Their last dimension is time. A cell without a value is null unless the mode is VALUE."""
    has_value = rows.has_latest if fill.mode is FillMode.PREVIOUS else rows.has_recent
    values = np.where(has_value, cells.values[..., rows.latest], fill.value)
    nulls = np.zeros(values.shape, np.bool_) if fill.mode is FillMode.VALUE else np.broadcast_to(~has_value, values.shape).copy()
    if cells.nulls is not None:
        nulls |= has_value & cells.nulls[..., rows.latest]
    return Cells.with_nulls(values, nulls)
