"""Results of a panel's queries as series, downsampled to what a picture can show."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_layout import VALUE_TYPES
from dashwright.expressions.engine.reducers import REDUCERS, Reducer

MAX_SERIES: Final = 50
#: The limit of points in one series.
MAX_POINTS: Final = 2_000

#: The limit of points of all series of a panel together, but each series may have the minimum.
_MAX_POINTS_OF_ALL_SERIES: Final = 15_000
_MIN_POINTS: Final = 50
_POINTS_PER_PIXEL: Final = 1.3
#: Names of columns that do not distinguish series.
_GENERIC_NAMES: Final = frozenset({"", "value", "values", "Value", "A-series"})
#: The times of a stack, at most this number for each one of its longest series.
_MAX_UNION: Final = 4


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """A series to draw."""

    name: str
    times: NDArray[np.float64] | None  #: In milliseconds since 1970; None without times.
    values: NDArray[np.float64]  #: NaN where there is no value.
    ref_id: str = ""


def series_of(frames: Sequence[Frame]) -> list[PlotSeries]:
    """Return a series with a unique name for each column of numbers, at most ``MAX_SERIES``."""
    columns = []
    for frame in frames:
        for field, times, values in _numeric_columns(frame):
            columns.append((frame, field, times, values))
            if len(columns) >= MAX_SERIES:
                break
    differing_labels = _differing_labels(frames)
    names = _unique_names([_series_name(frame, field, differing_labels) for frame, field, _, _ in columns])
    return [PlotSeries(name, times, values, frame.ref_id) for name, (frame, _, times, values) in zip(names, columns, strict=True)]


def downsampled(series: PlotSeries, limit: int) -> PlotSeries:
    """Return the series with at most ``limit`` points: the lowest and the highest value of each bucket.

    A bucket without values becomes a point without a value, so that long gaps remain visible.
    """
    if len(series.values) <= limit or series.times is None:
        return series
    indexes = _extremes(series.values, limit)
    return PlotSeries(series.name, series.times[indexes], series.values[indexes], series.ref_id)


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
    return [PlotSeries(series.name, times[indexes], row[indexes], series.ref_id) for row, series in zip(values, all_series, strict=True)]


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
                # Only the name, the labels and the configuration of this field are used.
                named_field = Field(group_name or field.name, field.type, field.values, labels=field.labels, config=field.config)
                # Lines connect the neighbours of values that a join added.
                is_drawn = slice(None) if field.absent is None else ~field.absent[rows]
                yield named_field, None if times is None else times[rows][is_drawn], values[rows][is_drawn]


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


def _differing_labels(frames: Sequence[Frame]) -> frozenset[str]:
    """Return the names of the labels in which the columns of numbers differ."""
    values_by_label: dict[str, set[str | None]] = {}
    numeric_fields = [field for frame in frames for field in frame.fields if field.type in VALUE_TYPES]
    label_sets = [dict(field.labels.pairs) if field.labels else {} for field in numeric_fields]
    for label_name in {label_name for labels in label_sets for label_name in labels}:
        values_by_label[label_name] = {labels.get(label_name) for labels in label_sets}
    return frozenset(label_name for label_name, values in values_by_label.items() if len(values) > 1)


def _series_name(frame: Frame, field: Field, differing_labels: frozenset[str]) -> str:
    """Return the configured name, else the labels that differ from other series, else the name of the column or frame."""
    config = field.config or {}
    for setting in ("displayName", "displayNameFromDS"):
        if isinstance(configured_name := config.get(setting), str) and configured_name:
            return configured_name
    pairs = field.labels.pairs if field.labels else ()
    column_name = "" if field.name in _GENERIC_NAMES else field.name
    distinguishing_pairs = [(key, value) for key, value in pairs if key in differing_labels]
    if len(distinguishing_pairs) == 1:
        return distinguishing_pairs[0][1]
    if distinguishing_pairs:
        return "{" + _label_list(distinguishing_pairs) + "}"
    return column_name or frame.name or _label_list(pairs) or field.name or frame.ref_id


def _label_list(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in pairs)


def _unique_names(names: Sequence[str]) -> list[str]:
    """Return the names with a number added to repeated ones."""
    counts: dict[str, int] = {}
    unique_names = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        unique_names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return unique_names
