"""Results of a panel's queries as series, downsampled to what a picture can show."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_layout import VALUE_TYPES
from dashwright.expressions.engine.reducers import REDUCERS, Reducer
from dashwright.expressions.pictures.display_names import DisplayNames

MAX_SERIES: Final = 50
#: The limit of points in one series.
MAX_POINTS: Final = 2_000

#: The limit of points of all series of a panel together, but each series may have the minimum.
_MAX_POINTS_OF_ALL_SERIES: Final = 15_000
_MIN_POINTS: Final = 50
_POINTS_PER_PIXEL: Final = 1.3
#: The times of a stack, at most this number for each one of its longest series.
_MAX_UNION: Final = 4


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """The column that a series comes from."""

    field: Field
    frame: Frame
    names: DisplayNames  #: Of the frames that the panel shows.


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """A series to draw."""

    name: str
    times: NDArray[np.float64] | None  #: In milliseconds since 1970; None without times.
    values: NDArray[np.float64]  #: NaN where there is no value.
    ref_id: str = ""
    source: SeriesSource | None = None  #: None for a series without a column, such as one of totals.


def series_of(frames: Sequence[Frame]) -> list[PlotSeries]:
    """Return a series with its display name for each column of numbers, at most ``MAX_SERIES``."""
    names = DisplayNames(frames)
    columns = ((frame, *column) for frame in frames for column in _numeric_columns(frame))
    return [
        PlotSeries(names.of_field(field, frame, field.config or {}), times, values, frame.ref_id, SeriesSource(field, frame, names))
        for frame, field, times, values in islice(columns, MAX_SERIES)
    ]


def downsampled(series: PlotSeries, limit: int) -> PlotSeries:
    """Return the series with at most ``limit`` points: the lowest and the highest value of each bucket.

    A bucket without values becomes a point without a value, so that long gaps remain visible.
    """
    if len(series.values) <= limit or series.times is None:
        return series
    indexes = _extremes(series.values, limit)
    return replace(series, times=series.times[indexes], values=series.values[indexes])


def downsampled_stack(all_series: Sequence[PlotSeries], limit: int) -> list[PlotSeries]:
    """Return the series of a stack with at most ``limit`` common times: those of the lowest and the highest total of each bucket.

    Series of a stack need the same times, otherwise the total lacks members. Series whose times differ too much are
    downsampled one by one.
    """
    longest = max((len(series.values) for series in all_series), default=0)
    if longest <= limit:
        return list(all_series)
    times = np.unique(np.concatenate([series.times for series in all_series if series.times is not None]))
    if len(times) > _MAX_UNION * longest:
        return [downsampled(series, limit) for series in all_series]
    values = np.full((len(all_series), len(times)), np.nan)
    for row, series in zip(values, all_series, strict=True):
        if series.times is not None:
            row[np.searchsorted(times, series.times)] = series.values
    has_values = ~np.isnan(values).all(axis=0)
    indexes = _extremes(np.where(has_values, np.nansum(values, axis=0), np.nan), limit)
    return [replace(series, times=times[indexes], values=row[indexes]) for row, series in zip(values, all_series, strict=True)]


def _extremes(values: NDArray[np.float64], limit: int) -> list[int]:
    """Return the indexes of the lowest and the highest value of each bucket, at most ``limit`` in all."""
    edges = np.linspace(0, len(values), limit // 2 + 1).astype(int)
    indexes: list[int] = []
    for start, end in pairwise(edges.tolist()):
        bucket = values[start:end]
        if not len(bucket) or np.isnan(bucket).all():
            indexes.append(start)
        else:
            indexes += sorted({start + int(np.nanargmin(bucket)), start + int(np.nanargmax(bucket))})
    return indexes


def points_per_series(width: int, series_count: int) -> int:
    """Return the number of points that each of ``series_count`` series may have in a panel ``width`` pixels wide."""
    points_for_width = max(int(_POINTS_PER_PIXEL * width), _MIN_POINTS)
    share_of_all_points = max(_MAX_POINTS_OF_ALL_SERIES // max(series_count, 1), _MIN_POINTS)
    return min(MAX_POINTS, points_for_width, share_of_all_points)


def reduced_value(values: NDArray[np.float64], calculation: str) -> float | None:
    """Return the result of a calculation, such as ``max``, on the values of a series; None if the series has no values."""
    if calculation == "last":
        return float(values[-1]) if len(values) and not math.isnan(values[-1]) else None
    numbers = values[~np.isnan(values)]
    return float(_CALCULATIONS.get(calculation, _CALCULATIONS["lastNotNull"])(numbers)) if len(numbers) else None


def _calculation(reducer: Reducer) -> Callable[[NDArray[np.float64]], Any]:
    """Return a function that applies a reducer, which takes a block of series, to the values of one series."""
    return lambda numbers: reducer.reduce(numbers[np.newaxis])[0]


#: The calculations of panels by name: those of ``REDUCERS``, and those that only panels have. Each requires at least one number.
_CALCULATIONS: Final[Mapping[str, Callable[[NDArray[np.float64]], Any]]] = {
    **{name: _calculation(reducer) for reducer in REDUCERS.values() for name in reducer.calculations},
    "first": lambda numbers: numbers[0],
    "firstNotNull": lambda numbers: numbers[0],
    "range": np.ptp,
    "delta": lambda numbers: numbers[-1] - numbers[0],
    "diff": lambda numbers: numbers[-1] - numbers[0],
    "stdDev": np.std,
    "variance": np.var,
}


def _numeric_columns(frame: Frame) -> Iterator[tuple[Field, NDArray[np.float64] | None, NDArray[np.float64]]]:
    """Yield each column of numbers with its times and values.

    If the frame has a time column and string columns, a column of numbers becomes several: one for each group of rows with equal strings.
    """
    time_field = next((field for field in frame.fields if field.type is FieldType.TIME), None)
    times = None if time_field is None else time_field.values.astype(np.float64) / 1e6
    string_fields = [field for field in frame.fields if field.type is FieldType.STRING] if times is not None else []
    row_groups = _rows_by_name(string_fields) if string_fields else [("", slice(None))]
    for field in frame.fields:
        if field.type in VALUE_TYPES:
            values = float_values(field)
            for group_name, rows in row_groups:
                # Only the name, the labels and the configuration of a field with a group's name are used.
                named_field = replace(field, name=group_name) if group_name else field
                yield named_field, None if times is None else times[rows], values[rows]


def _rows_by_name(fields: Sequence[Field]) -> list[tuple[str, Any]]:
    """Return the distinct names of rows, joined from the values of the fields, each with the indexes of the rows that have it."""
    rows_by_name: dict[str, list[int]] = {}
    for row, values in enumerate(zip(*(field.values for field in fields), strict=True)):
        name = " ".join("" if value is None else str(value) for value in values)
        rows_by_name.setdefault(name, []).append(row)
    return list(rows_by_name.items())[:MAX_SERIES]


def float_values(field: Field) -> NDArray[np.float64]:
    """Return the column as floats; nulls and infinities are NaN."""
    values = field.values.astype(np.float64)
    if field.nulls is not None:
        values = np.where(field.nulls, np.nan, values)
    return np.where(np.isinf(values), np.nan, values)
