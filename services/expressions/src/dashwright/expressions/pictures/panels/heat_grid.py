"""Grids of heat maps: the counts of cells, from series that are buckets or calculated from values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.engine.duration import nanoseconds
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.frame_layout import VALUE_TYPES
from dashwright.expressions.pictures.panels.bucket_sizes import round_duration, round_size
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.series import MAX_SERIES, PlotSeries, series_of

#: The numbers of calculated buckets by default.
_DEFAULT_COLUMNS: Final = 20
_DEFAULT_ROWS: Final = 10
#: Smaller counts are rounding errors of differences, as in Grafana.
_SMALLEST_COUNT: Final = 1e-9
#: Larger values are counted in the outermost row, so that the difference of two values is finite.
_MAX_VALUE: Final = 1e300
#: The minimum height of a row, so that quotients of values and heights are finite.
_MIN_HEIGHT: Final = 1e-300
_BUCKET_LABEL: Final = "le"
_HEATMAP_FORMAT: Final = "heatmap"


@dataclass(frozen=True, slots=True)
class HeatGrid:
    """The cells of a heat map, in rows from bottom to top and columns from left to right."""

    counts: NDArray[np.float64]  #: By row and column; NaN for a cell without a value.
    starts: NDArray[np.float64]  #: The start of each column, in milliseconds since 1970.
    ends: NDArray[np.float64]  #: The end of each column, in milliseconds since 1970.
    names: Sequence[str] = ()  #: The names of the rows, if the series are buckets.
    name_place: str = "middle"  #: The place of the name of a row: ``top`` for an upper bound, ``bottom`` for a lower one.
    edges: Sequence[float] = ()  #: The edges of calculated rows, one more than there are rows.
    is_logarithmic: bool = False  #: True if the distances of edges differ, for example because each edge is a multiple of the previous.


def grid_of(props: PanelProps) -> HeatGrid:
    """Return the grid of a panel with at most one cell for each two pixels. Raises NothingToDraw if there are no times or values."""
    all_series = [series for series in series_of(props.frames) if series.times is not None and len(series.values)]
    if not all_series:
        raise NothingToDraw(_missing_text(props.frames))
    options = props.panel.options
    if options.get("calculate") is True:
        return _calculated(all_series, object_of(options.get("calculation")), props)
    return _of_buckets(all_series, props)


def _missing_text(frames: Sequence[Frame]) -> str:
    """Return the message about the missing columns of frames without a series."""
    filled = [frame for frame in frames if frame.row_count]
    if not filled:
        return "No data"
    has_times = any(field.type is FieldType.TIME for frame in filled for field in frame.fields)
    return "No numbers in the data" if has_times else "No time in the data"


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A series that is drawn as a row."""

    series: PlotSeries
    bound: str = ""  #: The value of its label ``le``.
    group: tuple[Any, ...] = ()  #: The labels that all buckets of one histogram have.
    is_cumulative: bool = False  #: True if the counts include those of lower buckets.


def _of_buckets(all_series: Sequence[PlotSeries], props: PanelProps) -> HeatGrid:
    """Return a grid with a row for each series, sorted by their upper bounds if all names are numbers."""
    formats = {target.get("refId"): target.get("format") for target in props.panel.targets}
    buckets = _labelled(all_series, props.frames, formats)
    times: NDArray[np.float64] = np.unique(np.concatenate([bucket.series.times for bucket in buckets if bucket.series.times is not None]))
    times = times[~np.isnan(times)]
    if not len(times):
        raise NothingToDraw("No time in the data")
    interval = float(np.diff(times).min()) if len(times) > 1 else props.end - props.start
    # Times that would be narrower than two pixels share a column.
    size = math.ceil(len(times) / max(int(props.width // 2), 1))
    rows = {index: _row(bucket.series, times, size) for index, bucket in enumerate(buckets)}
    names = [bucket.bound or bucket.series.name for bucket in buckets]
    bounds = [_bound(name) for name in names]
    order = list(range(len(buckets)))
    if all(bound is not None for bound in bounds):
        order.sort(key=lambda index: bounds[index] or 0.0)
    previous_rows: dict[tuple[Any, ...], NDArray[np.float64]] = {}
    counts: dict[str, NDArray[np.float64]] = {}
    for index in order:
        bucket, row = buckets[index], rows[index]
        if bucket.is_cumulative:
            difference = row - np.nan_to_num(previous_rows[bucket.group]) if bucket.group in previous_rows else row
            previous_rows[bucket.group] = row
            row = np.where(difference < _SMALLEST_COUNT, 0.0, difference)
        # Counts of histograms that differ only in other labels are added.
        counts[names[index]] = _sum_of(counts[names[index]], row) if names[index] in counts else row
    layout = string_of(object_of(props.panel.options.get("rowsFrame")).get("layout")) or "auto"
    is_upper = layout == "le" or (layout == "auto" and any(bucket.bound for bucket in buckets))
    name_place = "top" if is_upper else "bottom" if layout == "ge" else "middle"
    # The last time of each column is its end.
    ends = times[np.minimum(np.arange(size, len(times) + size, size), len(times)) - 1]
    return HeatGrid(np.array(list(counts.values())), times[::size] - interval, ends, list(counts), name_place)


def _labelled(all_series: Sequence[PlotSeries], frames: Sequence[Frame], formats: dict[Any, Any]) -> list[_Bucket]:
    """Return the series with the labels of their columns. Without one series for each column, labels are unknown."""
    fields = [
        (frame, field)
        for frame in frames
        if frame.row_count and any(field.type is FieldType.TIME for field in frame.fields)
        for field in frame.fields
        if field.type in VALUE_TYPES
    ][:MAX_SERIES]
    # ``series_of`` may group the rows of one column into several series.
    if len(fields) != len(all_series):
        return [_Bucket(series) for series in all_series]
    buckets = []
    for series, (frame, field) in zip(all_series, fields, strict=True):
        labels = dict(field.labels.pairs) if field.labels else {}
        bound = labels.pop(_BUCKET_LABEL, "")
        is_cumulative = bool(bound) and formats.get(frame.ref_id) == _HEATMAP_FORMAT
        buckets.append(_Bucket(series, bound, (frame.ref_id, *sorted(labels.items())), is_cumulative))
    return buckets


def _bound(name: str) -> float | None:
    """Return the number in a name such as *0.5* or *+Inf*; None for any other name."""
    try:
        number = float(name)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _row(series: PlotSeries, times: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the sum of a series in each column; NaN in a column without a value.

    ``times`` are those of all series. Each column contains ``size`` of them.
    """
    count = math.ceil(len(times) / size)
    sums, is_missing = np.zeros(count), np.ones(count, dtype=bool)
    if series.times is not None:
        is_known = ~np.isnan(series.times) & ~np.isnan(series.values)
        columns = np.searchsorted(times, series.times[is_known]) // size
        np.add.at(sums, columns, series.values[is_known])
        is_missing[columns] = False
    sums[is_missing] = np.nan
    return sums


def _sum_of(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums, in which a missing value is 0 unless both are missing."""
    total: NDArray[np.float64] = np.where(np.isnan(first) & np.isnan(second), np.nan, np.nan_to_num(first) + np.nan_to_num(second))
    return total


def _calculated(all_series: Sequence[PlotSeries], calculation: dict[str, Any], props: PanelProps) -> HeatGrid:
    """Return the numbers of values in buckets of time and value."""
    times = np.concatenate([series.times for series in all_series if series.times is not None])
    values = np.concatenate([series.values for series in all_series])
    columns, rows = object_of(calculation.get("xBuckets")), object_of(calculation.get("yBuckets"))
    scale = object_of(rows.get("scale"))
    is_logarithmic = scale.get("type") == "log"
    is_used = ~np.isnan(values) & ~np.isnan(times) & (times >= props.start) & (times <= props.end)
    if is_logarithmic:
        is_used &= values > 0
    times, values = times[is_used], np.clip(values[is_used], -_MAX_VALUE, _MAX_VALUE)
    if not len(values):
        raise NothingToDraw("No data")
    width = _column_width(columns, props)
    base = 10.0 if number_of(scale.get("log")) == 10 else 2.0
    positions = np.log(values) / math.log(base) if is_logarithmic else values
    height = _row_height(rows, float(positions.min()), float(positions.max()), props.height, is_logarithmic=is_logarithmic)
    x, y = np.floor(times / width).astype(np.int64), np.floor(positions / height).astype(np.int64)
    first_x, first_y = int(x.min()), int(y.min())
    counts = np.zeros((int(y.max()) - first_y + 1, int(x.max()) - first_x + 1))
    np.add.at(counts, (y - first_y, x - first_x), 1.0)
    starts = (first_x + np.arange(counts.shape[1], dtype=np.float64)) * np.float64(width)
    edges = [(first_y + index) * height for index in range(counts.shape[0] + 1)]
    if is_logarithmic:
        edges = [base**edge for edge in edges]
    return HeatGrid(counts, starts, starts + width, edges=edges, is_logarithmic=is_logarithmic)


def _column_width(settings: dict[str, Any], props: PanelProps) -> float:
    """Return the width of columns in milliseconds: as configured, or a round time for a number of columns."""
    span = max(props.end - props.start, 1.0)
    # A column is at least two pixels wide.
    smallest = span / max(props.width / 2, 1)
    if settings.get("mode") == "size" and (size := _milliseconds(settings.get("value"))):
        return max(size, smallest)
    count = number_of(settings.get("value")) if settings.get("mode") != "size" else None
    return round_duration(max(span / max(count or _DEFAULT_COLUMNS, 1), smallest))


def _milliseconds(value: Any) -> float | None:
    """Return the milliseconds of a duration, such as *5m*, or of a number; None if it is neither or not positive."""
    number = number_of(value)
    if number is None and isinstance(value, str):
        try:
            number = nanoseconds(value) / 1e6
        except BadRequest:
            return None
    return number if number and number > 0 else None


def _row_height(settings: dict[str, Any], low: float, high: float, panel_height: float, *, is_logarithmic: bool) -> float:
    """Return the height of rows in values, or in powers of the base: as configured, or a round number for a number of rows."""
    value = number_of(settings.get("value"))
    # A row is at least two pixels high.
    smallest = (high - low) / max(panel_height / 2, 1)
    # If values differ little relative to their size, rows have a minimum height, so that 64-bit integers can count them.
    smallest = max(smallest, abs(high) * 1e-12, abs(low) * 1e-12, _MIN_HEIGHT)
    if is_logarithmic:
        # The setting is the number of rows for each power of the base.
        return max(1 / max(value or 1.0, 1.0), smallest)
    if settings.get("mode") == "size" and value and value > 0:
        return max(value, smallest)
    # Equal values have one row, whose height is in proportion to them.
    span = (high - low) or abs(high) or 1.0
    row_count = value if value and value > 0 else _DEFAULT_ROWS
    return round_size(max(span / max(row_count, 1), smallest))
