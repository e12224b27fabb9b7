"""Rows of a time series query as a wide frame, one column a series: text columns are labels, other columns values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.sources.postgres.macros import Fill, FillMode

#: The meta of a frame that was made of labelled rows.
WIDE = {"type": "timeseries-wide", "typeVersion": [0, 1]}

_TIME = "Time"
_METRIC = "metric"
_SECONDS = (1e9, 1e10)
_NANOSECONDS = (1e18, 1e19)
_MILLISECOND = 1_000_000
_LATEST = (1 << 63) // _MILLISECOND - 1
_CUT = "choose fewer columns or labels, a larger interval, or format table"


def time_column(fields: Sequence[Field]) -> int | None:
    """Return the position of the time column, or None.

    It is the last one named ``time``, else the first named ``time_sec`` or like ``Time``, else the first of a type of
    times.
    """
    exact = [number for number, item in enumerate(fields) if item.name == "time"]
    alike = [number for number, item in enumerate(fields) if item.name.lower() in {"time", "time_sec"} and _may_be_time(item)]
    typed = [number for number, item in enumerate(fields) if item.type is FieldType.TIME]
    return exact[-1] if exact else next(iter(alike + typed), None)


def _may_be_time(item: Field) -> bool:
    return item.type is FieldType.TIME or item.type.is_numeric


def as_time(item: Field) -> Field:
    """Return a column of numbers as times: epoch seconds, milliseconds or nanoseconds, by their size.

    Numbers with the size of current epoch seconds or nanoseconds are read as such; all others are milliseconds.
    """
    if item.type is FieldType.TIME:
        return item
    if not _may_be_time(item):
        raise BadRequest(
            f"the column {item.name!r:.80} of type {item.type} is not a time; select a timestamp, or a number of seconds or milliseconds "
            "since 1970, or use format table"
        )
    counted = item.values.astype(np.float64)
    nulls = (np.zeros(len(counted), np.bool_) if item.nulls is None else item.nulls) | ~np.isfinite(counted)
    counted = np.where(nulls, 0, counted)
    size = np.abs(counted)
    in_seconds = (size >= _SECONDS[0]) & (size < _SECONDS[1])
    in_nanoseconds = (size >= _NANOSECONDS[0]) & (size < _NANOSECONDS[1])
    milliseconds = np.trunc(np.where(in_seconds, counted * 1e3, np.where(in_nanoseconds, counted / 1e6, counted)))
    if np.any(np.abs(milliseconds) > _LATEST):
        raise BadRequest(
            f"the column {item.name!r:.80} holds numbers that are not times between 1677 and 2262; give seconds or milliseconds since 1970"
        )
    return Field(item.name, FieldType.TIME, milliseconds.astype(np.int64) * _MILLISECOND, nulls if nulls.any() else None, nullable=True)


def as_series(fields: Sequence[Field], fill: Fill | None, limits: Limits) -> tuple[list[Field], bool]:
    """Return the columns of the wide frame, the time first if there are labels; and whether there are labels.

    Raises BadRequest if there is no time, a value cannot be one of a series, or labelled rows are not in the order of
    time; TooLarge for too many cells.
    """
    position = time_column(fields)
    if position is None:
        raise BadRequest(
            "a time series needs a time column and the result has none: name one time (such as $__time(created)), or use format table"
        )
    times = replace(as_time(fields[position]), name=_TIME)
    texts = [item for item in fields if item.type is FieldType.STRING]
    values = [_as_value(item) for number, item in enumerate(fields) if number != position and item.type is not FieldType.STRING]
    if not texts or not values or not len(times):
        return [times if number == position else _as_value(item) for number, item in enumerate(fields)], False
    wide = _wide(times, texts, values, fill, limits)
    if len(fields) == 3 and [item.name for item in texts] == [_METRIC]:
        # A single text column ``metric`` names the series, as in versions of Grafana before labels.
        wide[1:] = [replace(item, name=dict(item.labels.pairs)[_METRIC], labels=None) for item in wide[1:] if item.labels is not None]
    return wide, True


def _as_value(item: Field) -> Field:
    """Return the column as floats: booleans are 1 and 0, times are milliseconds since 1970; text is unchanged."""
    if item.type in {FieldType.FLOAT64, FieldType.STRING}:
        return item
    if item.type is FieldType.JSON:
        raise BadRequest(
            f"the column {item.name!r:.80} is JSON, which cannot be a value of a series; select a part of it, cast to a number or "
            "(as a label) to text, or use format table"
        )
    values = item.values.astype(np.float64)
    if item.type is FieldType.TIME:
        values /= _MILLISECOND
    if item.nulls is not None:
        values[item.nulls] = np.nan
    return replace(item, type=FieldType.FLOAT64, values=values)


def _wide(times: Field, texts: Sequence[Field], values: Sequence[Field], fill: Fill | None, limits: Limits) -> list[Field]:
    names = [item.name for item in texts]
    if len(set(names)) < len(names):
        raise BadRequest(f"two text columns have the same name ({', '.join(names)[:200]}); name each label differently")
    if times.nulls is not None:
        raise BadRequest("the time of a row is null; leave such rows out (where … is not null)")
    steps = np.diff(times.values)
    if np.any(steps < 0):
        raise BadRequest("the rows of a time series with labels must be in the order of time; add order by time")
    starts = np.concatenate([[True], steps > 0])
    axis, rows = times.values[starts], np.cumsum(starts) - 1
    labels, series = _label_sets(texts)
    cells = len(axis) * len(labels) * len(values)
    if cells > limits.query_points:
        raise limits.refusal("query_points", f"{len(labels)} label sets at {len(axis)} times make {cells} values", _CUT)
    made = [column for item in values for column in _spread(item, labels, series, rows, len(axis), fill)]
    rank = {each: [dict(each.pairs)[name] for name in names] for each in labels}
    made.sort(key=lambda column: (column.name, rank[column.labels or NONE]))
    return [Field(_TIME, FieldType.TIME, axis), *made]


def _label_sets(texts: Sequence[Field]) -> tuple[list[Labels], NDArray[np.intp]]:
    """Return the distinct label sets in the order of their first row, and the set of each row.

    A null text counts as the empty text.
    """
    coded = [_coded(item) for item in texts]
    numbers = coded[0][1]
    for known, codes in coded[1:]:
        # Renumbered after each column, so that the products stay small.
        numbers = np.unique(numbers, return_inverse=True)[1] * len(known) + codes
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    order = np.empty(len(first), np.intp)
    order[by_first] = np.arange(len(first))
    rows = first[by_first].tolist()
    sets = [Labels.of((item.name, known[codes[row]]) for item, (known, codes) in zip(texts, coded, strict=True)) for row in rows]
    return sets, order[numbers]


class _Codes(dict[str | None, int]):
    """Numbers texts in the order of their first use; null counts as the empty text, which is 0."""

    def __init__(self) -> None:
        super().__init__({"": 0, None: 0})

    def __missing__(self, text: str | None) -> int:
        return self.setdefault(text, len(self) - 1)


def _coded(item: Field) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct texts, and the one of each row."""
    codes = _Codes()
    numbers = np.fromiter(map(codes.__getitem__, item.values.tolist()), np.intp, len(item))
    return [text for text in codes if text is not None], numbers


def _spread(
    item: Field, labels: Sequence[Labels], series: NDArray[np.intp], rows: NDArray[np.intp], height: int, fill: Fill | None
) -> list[Field]:
    """Return one value column as a column for each label set; of several rows for one cell the last counts."""
    cells, nulls = np.full((len(labels), height), np.nan), np.ones((len(labels), height), np.bool_)
    cells[series, rows] = item.values
    nulls[series, rows] = False if item.nulls is None else item.nulls
    if fill is not None:
        given = np.zeros(cells.shape, np.bool_)
        given[series, rows] = True
        _fill_gaps(cells, nulls, given, fill)
    return [
        Field(item.name, FieldType.FLOAT64, column, mask if mask.any() else None, nullable=True, labels=each)
        for each, column, mask in zip(labels, cells, nulls, strict=True)
    ]


def _fill_gaps(cells: NDArray[np.float64], nulls: NDArray[np.bool_], given: NDArray[np.bool_], fill: Fill) -> None:
    if fill.mode is FillMode.VALUE:
        cells[~given], nulls[~given] = fill.value, False
    elif fill.mode is FillMode.PREVIOUS:
        latest = np.maximum.accumulate(np.where(given, np.arange(given.shape[1]), 0), axis=1)
        cells[:], nulls[:] = np.take_along_axis(cells, latest, 1), np.take_along_axis(nulls, latest, 1)


def filled(fields: Sequence[Field], fill: Fill, start: int, end: int) -> list[Field]:
    """Return a wide frame with a row at every step from ``start`` (rounded down to a step) to ``end``, in nanoseconds.

    The values of a row are those of the last row within the step before it, else those of the fill. Raises BadRequest
    if the rows are not in the order of time.
    """
    times = next(item for item in fields if item.type is FieldType.TIME)
    if times.nulls is not None or np.any(np.diff(times.values) < 0):
        raise BadRequest("only rows in the order of time, none of them null, can be filled; add order by time")
    grid = np.arange(start // fill.step * fill.step, end + 1, fill.step, dtype=np.int64)
    latest = np.searchsorted(times.values, grid, side="right") - 1
    known = latest >= 0
    latest = np.maximum(latest, 0)
    fresh = known & (times.values[latest] > grid - fill.step)
    return [Field(item.name, item.type, grid) if item is times else _at(item, latest, known, fresh, fill) for item in fields]


def points(fill: Fill, start: int, end: int) -> int:
    """Return the number of rows that ``filled`` makes."""
    return (end - start // fill.step * fill.step) // fill.step + 1


def _at(item: Field, latest: NDArray[np.intp], known: Mask, fresh: Mask, fill: Fill) -> Field:
    if item.type is not FieldType.FLOAT64:
        values, nulls = item.values[latest], ~known if item.nulls is None else ~known | item.nulls[latest]
        values[nulls] = None
        return replace(item, values=values, nulls=nulls if nulls.any() else None)
    taken = known if fill.mode is FillMode.PREVIOUS else fresh
    values = np.where(taken, item.values[latest], fill.value)
    nulls = ~taken if fill.mode is not FillMode.VALUE else np.zeros(len(taken), np.bool_)
    if item.nulls is not None:
        nulls |= taken & item.nulls[latest]
    values[nulls] = np.nan
    return replace(item, values=values, nulls=nulls if nulls.any() else None)
