"""Heat maps: how many values are in cells of time and value."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of
from dashwright.expressions.engine.duration import nanoseconds
from dashwright.expressions.javascript.values import float_of, is_true, number_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames

#: The numbers of columns and rows by default.
_COLUMNS: Final = 20
_ROWS: Final = 10
#: More columns or rows than any result may have.
_MAX_EXTENT: Final = 1e9
_NANOS_PER_MILLISECOND: Final = 1_000_000
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_YEAR: Final = 365 * _DAY
#: Sizes of cells in milliseconds that Grafana chooses from.
_DURATIONS: Final = (
    *(1, 2, 4, 5, 10, 20, 25, 40, 50, 100, 200, 250, 400, 500),
    *(count * unit for unit in (_SECOND, _MINUTE) for count in (1, 2, 4, 5, 10, 15, 20, 30)),
    *(count * _HOUR for count in (1, 2, 4, 6, 8, 12, 18)),
    *(count * _DAY for count in (1, 2, 3, 4, 5, 6, 7, 10, 15, 30, 45, 60, 90, 180)),
    *(count * _YEAR for count in range(1, 11)),
)
#: Sizes of cells of numbers that Grafana chooses from: a multiple of a half times a power of ten, whole from 1 on.
_SIZES: Final = tuple(
    size
    for exponent in range(-16, 16)
    for halves in range(2, 20)
    if (size := float(f"{halves * 5}e{exponent - 1}")) < 1 or size.is_integer()
)


def heatmap(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the counts of values in cells, followed by the frames if ``keepOriginalData`` is set.

    ``xBuckets`` and ``yBuckets`` have a ``mode``, ``size`` or ``count``, and its ``value``. Rows may be logarithmic. Without times and
    numbers, the frames are unchanged.

    Raises BadRequest if values of a logarithmic scale are not positive.
    """
    columns_with_times = [(frame, times, column) for frame in frames if (times := frame.time_column) for column in _numbers(frame)]
    context.check_cells(sum(frame.row_count for frame, _, _ in columns_with_times), 2)
    pairs = [
        (float_of(time), float_of(value))
        for _, times, column in columns_with_times
        for time, value in zip(times.values, column.values, strict=True)
    ]
    points = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return frames
    rows = object_of(options.get("yBuckets"))
    scale = object_of(rows.get("scale"))
    base = _base_of(scale)
    if base and (points[:, 1] <= 0).any():
        raise BadRequest("a logarithmic scale has only positive values; remove the others, or use a linear scale")
    heights = np.log(points[:, 1]) / math.log(base) if base else points[:, 1]
    width = _size(object_of(options.get("xBuckets")), points[:, 0], _DURATIONS, _COLUMNS, is_time=True)
    # The value of logarithmic rows is the number of rows per power of the base.
    height = 1 / (_positive(rows.get("value")) or 1.0) if base else _size(rows, heights, _SIZES, _ROWS)
    first_frame, first_times, first_column = columns_with_times[0]
    name = DisplayNames(frames).of(first_column, first_frame)
    lefts, bounds, counts = _cells(points[:, 0], heights, width, height, context)
    lower = [base**bound for bound in bounds] if base else bounds
    config = {**first_column.config, "custom": {"scaleDistribution": dict(scale) or {"type": "linear"}}}
    columns = [
        Column("xMin", first_times.type, lefts, config=first_times.config),
        Column("yMin", CellType.NUMBER, lower, config=config),
        Column("Count", CellType.NUMBER, counts, config={"unit": "short"}),
    ]
    result = DataFrame(columns, len(lefts), name, meta={"type": "heatmap-cells"})
    return [result, *frames] if is_true(options.get("keepOriginalData")) else [result]


def _base_of(scale: Mapping[str, Any]) -> int | None:
    """Return the base of a logarithmic scale, 2 or 10; None for any other scale."""
    if scale.get("type") != "log":
        return None
    return 10 if number_of(scale.get("log")) == 10 else 2


def _numbers(frame: DataFrame) -> list[Column]:
    return [column for column in frame.columns if column.type is CellType.NUMBER]


def _size(
    settings: Mapping[str, Any], values: NDArray[np.float64], sizes: Sequence[float], default_count: int, *, is_time: bool = False
) -> float:
    """Return the size of cells: the configured one, or the largest size at which a number of cells covers the values."""
    value = _milliseconds(settings.get("value")) if is_time and settings.get("mode") == "size" else _positive(settings.get("value"))
    if value and settings.get("mode") == "size":
        return value
    span = float(values.max() - values.min()) / max((value or default_count) - 1, 1)
    return float(sizes[max(bisect_right(sizes, span) - 1, 0)])


def _positive(value: Any) -> float | None:
    number = float_of(value)
    return number if math.isfinite(number) and number > 0 else None


def _milliseconds(value: Any) -> float | None:
    """Return the milliseconds of a number or of a duration, such as ``5m``; None if it is neither."""
    if (number := _positive(value)) is not None:
        return number
    try:
        return nanoseconds(value) / _NANOS_PER_MILLISECOND if isinstance(value, str) and value else None
    except BadRequest:
        return None


def _cells(
    times: NDArray[np.float64], heights: NDArray[np.float64], width: float, height: float, context: Context
) -> tuple[list[float], list[float], list[float]]:
    """Return the left edge, the lower bound and the count of each cell, column by column."""
    with np.errstate(over="ignore"):
        x, y = np.floor(times / width), np.floor(heights / height)
    first_x, first_y = float(x.min()), float(y.min())
    extents = float(x.max()) - first_x + 1, float(y.max()) - first_y + 1
    # A size that is tiny or infinite relative to the values gives no number of cells.
    column_count, row_count = (int(extent) if extent < _MAX_EXTENT else int(_MAX_EXTENT) for extent in extents)
    context.check_cells(column_count * row_count, 3)
    counts = np.zeros((column_count, row_count))
    np.add.at(counts, ((x - first_x).astype(np.int64), (y - first_y).astype(np.int64)), 1.0)
    lefts = np.repeat((first_x + np.arange(column_count)) * width, row_count)
    bounds = np.tile((first_y + np.arange(row_count)) * height, column_count)
    return lefts.tolist(), bounds.tolist(), counts.ravel().tolist()
