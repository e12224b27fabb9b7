"""Results of a panel's queries as series, downsampled to the resolution of a picture."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.calculations.table import CALCULATIONS, Calculation
from dashwright.expressions.calculations.values import FieldValues
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_layout import VALUE_TYPES
from dashwright.expressions.pictures.display_names import ColumnNames

#: Further series of a panel are ignored.
MAX_SERIES: Final = 50
#: The limit of points in one series.
MAX_POINTS: Final = 2_000

#: The limit of points of all series of a panel together.
_MAX_POINTS_OF_ALL_SERIES: Final = 15_000
#: The number of points that each series may have even if the series together exceed the limit.
_MIN_POINTS: Final = 50
#: Points of a series per pixel of a panel's width; more would not be visible.
_POINTS_PER_PIXEL: Final = 1.3


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """The column that a series comes from."""

    field: Field
    frame: Frame
    names: ColumnNames  #: The names of all columns that the panel shows.
    values: NDArray[np.float64]  #: The values of the series, also infinite ones and those that are not numbers.
    nulls: NDArray[np.bool_]  #: True for each value that is null.

    def calculated(self, calculation: Calculation) -> Any:
        """Return the result of a calculation on the values."""
        return calculation(FieldValues(_cells(self.values, self.nulls)))


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
    names = ColumnNames(frames)
    columns = ((source, times) for frame in frames for source, times in _numeric_columns(frame, names))
    return [
        PlotSeries(
            names.of_field(source.field, source.frame, source.field.config or {}),
            times,
            np.where(source.nulls, np.nan, np.where(np.isfinite(source.values), source.values, np.nan)),
            source.frame.ref_id,
            source,
        )
        for source, times in islice(columns, MAX_SERIES)
    ]


def downsampled(series: PlotSeries, limit: int) -> PlotSeries:
    """Return the series with at most ``limit`` points: the lowest and the highest value of each bucket.

    A bucket without values becomes a point without a value, so that long gaps remain visible.
    """
    if len(series.values) <= limit or series.times is None:
        return series
    indexes = extremes(series.values, limit)
    return replace(series, times=series.times[indexes], values=series.values[indexes])


def extremes(values: NDArray[np.float64], limit: int) -> NDArray[np.intp]:
    """Return the indexes of the lowest and the highest value of each bucket of values, at most ``limit`` in all."""
    # Each bucket has two of the indexes.
    size = math.ceil(len(values) / max(limit // 2, 1))
    count = math.ceil(len(values) / max(size, 1))
    padded = np.full(count * size, np.nan)
    padded[: len(values)] = values
    buckets = padded.reshape(count, size)
    is_missing = np.isnan(buckets)
    # A bucket without values has its first index twice.
    lows = np.where(is_missing, np.inf, buckets).argmin(axis=1)
    highs = np.where(is_missing, -np.inf, buckets).argmax(axis=1)
    indexes: NDArray[np.intp] = np.unique(np.arange(count) * size + np.stack([lows, highs]))
    return indexes


def points_per_series(width: int, series_count: int) -> int:
    """Return the number of points that each of ``series_count`` series may have in a panel ``width`` pixels wide."""
    points_for_width = max(int(_POINTS_PER_PIXEL * width), _MIN_POINTS)
    share_of_all_points = max(_MAX_POINTS_OF_ALL_SERIES // max(series_count, 1), _MIN_POINTS)
    return min(MAX_POINTS, points_for_width, share_of_all_points)


def reduced_value(values: NDArray[np.float64], calculation: str) -> float | None:
    """Return the result of a calculation on the values of a series; None if it is not a number.

    ``calculation`` is its name, such as ``max``. An unknown name means ``lastNotNull``.
    """
    result = calculated(values, CALCULATIONS.get(calculation) or CALCULATIONS["lastNotNull"])
    return float(result) if isinstance(result, int | float) and math.isfinite(result) else None


def calculated(values: NDArray[np.float64], calculation: Calculation) -> Any:
    """Return the result of a calculation on the values of a series, in which NaN is null."""
    return calculation(FieldValues(_cells(values, np.isnan(values))))


def _cells(values: NDArray[np.float64], nulls: NDArray[np.bool_]) -> list[float | None]:
    """Return the values of a column as calculations read them."""
    cells: list[float | None] = values.tolist()
    for index in np.flatnonzero(nulls).tolist():
        cells[index] = None
    return cells


def _numeric_columns(frame: Frame, names: ColumnNames) -> Iterator[tuple[SeriesSource, NDArray[np.float64] | None]]:
    """Yield each column of numbers with its times.

    If the frame has a time column and string columns, a column of numbers becomes several: one for each group of rows with equal strings.
    """
    time_field = frame.time_field
    times = None if time_field is None else milliseconds_of(time_field)
    string_fields = [field for field in frame.fields if field.type is FieldType.STRING] if times is not None else []
    row_groups = _rows_by_name(string_fields) if string_fields else [("", slice(None))]
    for field in frame.fields:
        if field.type in VALUE_TYPES:
            values = field.values.astype(np.float64)
            nulls = np.zeros(len(values), dtype=np.bool_) if field.nulls is None else field.nulls
            for group_name, rows in row_groups:
                # Only the name, the labels and the configuration of a field with a group's name are used.
                named_field = replace(field, name=group_name) if group_name else field
                # Values that a join added are left out, so that lines connect their neighbours.
                selection = slice(None) if field.absent is None else ~field.absent[rows]
                source = SeriesSource(named_field, frame, names, values[rows][selection], nulls[rows][selection])
                yield source, None if times is None else times[rows][selection]


def _rows_by_name(fields: Sequence[Field]) -> list[tuple[str, Any]]:
    """Return the distinct names of rows, joined from the values of the fields, each with the indexes of the rows that have it."""
    rows_by_name: dict[str, list[int]] = {}
    for row, values in enumerate(zip(*(field.values for field in fields), strict=True)):
        name = " ".join("" if value is None else str(value) for value in values)
        rows_by_name.setdefault(name, []).append(row)
    return list(rows_by_name.items())[:MAX_SERIES]


def milliseconds_of(field: Field) -> NDArray[np.float64]:
    """Return a column of times in milliseconds since 1970. Whole milliseconds are exact, so that they can be compared with a range."""
    milliseconds, nanoseconds = np.divmod(field.values, 1_000_000)
    return milliseconds.astype(np.float64) + nanoseconds / 1e6


def float_values(field: Field) -> NDArray[np.float64]:
    """Return the column as floats; nulls and infinities are NaN."""
    values = field.values.astype(np.float64)
    if field.nulls is not None:
        values = np.where(field.nulls, np.nan, values)
    return np.where(np.isinf(values), np.nan, values)
