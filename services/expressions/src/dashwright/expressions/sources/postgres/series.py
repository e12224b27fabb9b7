"""Conversion of rows to a wide frame with one column per series. String columns are labels, other columns are values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.engine.labels import NO_LABELS, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.sources.postgres.macros import Fill, FillMode

#: The meta of a wide frame.
WIDE_META = {"type": "timeseries-wide", "typeVersion": [0, 1]}

_TIME_NAME = "Time"
_METRIC_NAME = "metric"
#: Numbers in these ranges are epoch seconds and epoch nanoseconds of the years 2001 to 2286. Others are epoch milliseconds.
_SECONDS_RANGE = (1e9, 1e10)
_NANOSECONDS_RANGE = (1e18, 1e19)
_NANOS_PER_MILLISECOND = 1_000_000
_MAX_MILLISECONDS = (1 << 63) // _NANOS_PER_MILLISECOND - 1
_ADVICE = "choose fewer columns or labels, a larger interval, or format table"


def time_column(fields: Sequence[Field]) -> int | None:
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


def as_series(fields: Sequence[Field], fill: Fill | None, limits: Limits) -> tuple[list[Field], bool]:
    """Return the columns of the wide frame, and whether rows have labels. With labels, the time column is the first.

    ``fill`` applies to label sets without a row at a time of another one. Raises BadRequest if there is no time column, a
    column cannot be a value, or labelled rows are not in the order of time; TooLarge for too many values.
    """
    position = time_column(fields)
    if position is None:
        raise BadRequest(
            "a time series needs a time column and the result has none: name one time (such as $__time(created)), or use format table"
        )
    times = replace(as_time(fields[position]), name=_TIME_NAME)
    label_fields = [field for field in fields if field.type is FieldType.STRING]
    value_fields = [_as_value(field) for index, field in enumerate(fields) if index != position and field.type is not FieldType.STRING]
    if not label_fields or not value_fields or not len(times):
        return [times if index == position else _as_value(field) for index, field in enumerate(fields)], False
    time_field, *series_fields = _wide_fields(times, label_fields, value_fields, fill, limits)
    names_series = len(fields) == 3 and [field.name for field in label_fields] == [_METRIC_NAME]
    if names_series:
        # A single string column ``metric`` has the names of the series, as in versions of Grafana before labels.
        series_fields = [
            replace(field, name=dict(field.labels.pairs)[_METRIC_NAME], labels=None) for field in series_fields if field.labels is not None
        ]
    return [time_field, *series_fields], True


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


def _wide_fields(
    times: Field, label_fields: Sequence[Field], value_fields: Sequence[Field], fill: Fill | None, limits: Limits
) -> list[Field]:
    """Return the time column, and a column for each combination of a value column and a label set."""
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
    label_sets, label_set_of_row = _label_sets(label_fields)
    cell_count = len(distinct_times) * len(label_sets) * len(value_fields)
    if cell_count > limits.query_points:
        message = f"{len(label_sets)} label sets at {len(distinct_times)} times make {cell_count} values"
        raise limits.refusal("query_points", message, _ADVICE)
    columns = [
        column for field in value_fields for column in _spread(field, label_sets, label_set_of_row, time_of_row, len(distinct_times), fill)
    ]
    label_values = {label_set: [dict(label_set.pairs)[name] for name in names] for label_set in label_sets}
    columns.sort(key=lambda column: (column.name, label_values[column.labels or NO_LABELS]))
    return [Field(_TIME_NAME, FieldType.TIME, distinct_times), *columns]


def _label_sets(label_fields: Sequence[Field]) -> tuple[list[Labels], NDArray[np.intp]]:
    """Return the distinct label sets in the order of their first row, and the index of the label set of each row.

    A null counts as an empty string.
    """
    encoded_columns = [_encode(field) for field in label_fields]
    # A number for each row, equal for rows with equal strings in all columns so far.
    row_ids = encoded_columns[0][1]
    for strings, codes in encoded_columns[1:]:
        # Renumbered after each column, so that the products are small.
        row_ids = np.unique(row_ids, return_inverse=True)[1] * len(strings) + codes
    _, first_rows, row_ids = np.unique(row_ids, return_index=True, return_inverse=True)
    by_first_row = np.argsort(first_rows)
    index_of_id = np.empty(len(first_rows), np.intp)
    index_of_id[by_first_row] = np.arange(len(first_rows))
    label_sets = [
        Labels.of((field.name, strings[codes[row]]) for field, (strings, codes) in zip(label_fields, encoded_columns, strict=True))
        for row in first_rows[by_first_row].tolist()
    ]
    return label_sets, index_of_id[row_ids]


class _StringCodes(dict[str | None, int]):
    """Codes of strings in the order of their first use. Null and the empty string have the code 0."""

    def __init__(self) -> None:
        super().__init__({"": 0, None: 0})

    def __missing__(self, string: str | None) -> int:
        return self.setdefault(string, len(self) - 1)


def _encode(field: Field) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct strings of a column, and for each row the index of its string."""
    codes = _StringCodes()
    row_codes = np.fromiter(map(codes.__getitem__, field.values.tolist()), np.intp, len(field))
    return [string for string in codes if string is not None], row_codes


def _spread(
    field: Field,
    label_sets: Sequence[Labels],
    label_set_of_row: NDArray[np.intp],
    time_of_row: NDArray[np.intp],
    time_count: int,
    fill: Fill | None,
) -> list[Field]:
    """Return one value column as a column for each label set. If several rows have the same label set and time, the last counts.

    ``label_set_of_row`` and ``time_of_row`` have the index of the label set and that of the time of each row.
    """
    shape = len(label_sets), time_count
    cells, nulls = np.full(shape, np.nan), np.ones(shape, np.bool_)
    cells[label_set_of_row, time_of_row] = field.values
    nulls[label_set_of_row, time_of_row] = False if field.nulls is None else field.nulls
    if fill is not None:
        has_row = np.zeros(shape, np.bool_)
        has_row[label_set_of_row, time_of_row] = True
        _fill_cells(cells, nulls, has_row, fill)
    return [
        Field(field.name, FieldType.FLOAT64, column, mask if mask.any() else None, nullable=True, labels=label_set)
        for label_set, column, mask in zip(label_sets, cells, nulls, strict=True)
    ]


def _fill_cells(cells: NDArray[np.float64], nulls: NDArray[np.bool_], has_row: NDArray[np.bool_], fill: Fill) -> None:
    """Fill the cells without a row, in place."""
    if fill.mode is FillMode.VALUE:
        cells[~has_row], nulls[~has_row] = fill.value, False
    elif fill.mode is FillMode.PREVIOUS:
        latest_times = np.maximum.accumulate(np.where(has_row, np.arange(has_row.shape[1]), 0), axis=1)
        cells[:], nulls[:] = np.take_along_axis(cells, latest_times, 1), np.take_along_axis(nulls, latest_times, 1)


def with_filled_gaps(fields: Sequence[Field], fill: Fill, start: int, end: int) -> list[Field]:
    """Return the columns with a row at every step from ``start``, rounded down to a step, to ``end``, in nanoseconds.

    A row has the values of the last original row less than one step before it, else those that ``fill`` describes. Raises
    BadRequest if the rows are not in the order of time.
    """
    times = next(field for field in fields if field.type is FieldType.TIME)
    if times.nulls is not None or np.any(np.diff(times.values) < 0):
        raise BadRequest("only rows in the order of time, none of them null, can be filled; add order by time")
    grid = np.arange(start // fill.step * fill.step, end + 1, fill.step, dtype=np.int64)
    latest_rows = np.searchsorted(times.values, grid, side="right") - 1
    has_previous = latest_rows >= 0
    latest_rows = np.maximum(latest_rows, 0)
    has_row = has_previous & (times.values[latest_rows] > grid - fill.step)
    return [
        Field(field.name, field.type, grid) if field is times else _fill_column(field, latest_rows, has_previous, has_row, fill)
        for field in fields
    ]


def filled_row_count(fill: Fill, start: int, end: int) -> int:
    """Return the number of rows that ``with_filled_gaps`` returns."""
    return (end - start // fill.step * fill.step) // fill.step + 1


def _fill_column(field: Field, latest_rows: NDArray[np.intp], has_previous: Mask, has_row: Mask, fill: Fill) -> Field:
    """Return the column on the grid.

    ``latest_rows`` has the last row up to each time of the grid. ``has_previous`` is False for a time without such a row,
    ``has_row`` also if the row is a step or more before the time.
    """
    if field.type is not FieldType.FLOAT64:
        # A string column always has the string of the row before.
        values = field.values[latest_rows]
        nulls = ~has_previous if field.nulls is None else ~has_previous | field.nulls[latest_rows]
        values[nulls] = None
        return replace(field, values=values, nulls=nulls if nulls.any() else None)
    has_value = has_previous if fill.mode is FillMode.PREVIOUS else has_row
    values = np.where(has_value, field.values[latest_rows], fill.value)
    nulls = ~has_value if fill.mode is not FillMode.VALUE else np.zeros(len(has_value), np.bool_)
    if field.nulls is not None:
        nulls |= has_value & field.nulls[latest_rows]
    values[nulls] = np.nan
    return replace(field, values=values, nulls=nulls if nulls.any() else None)
