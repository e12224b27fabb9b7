"""Histograms: how many values of each series are in each bucket of values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of, object_of
from dashwright.expressions.engine.frame import Field, Frame
from dashwright.expressions.pictures.display.columns import DisplayColumn, columns_of
from dashwright.expressions.pictures.panels.axes import (
    AXIS_HEIGHT,
    LABEL_MARGIN,
    PixelScale,
    bottom_axis,
    labels_width,
    value_axis,
    value_ticks,
)
from dashwright.expressions.pictures.panels.bar_layers import STACKED, bar_ends, value_range
from dashwright.expressions.pictures.panels.bar_marks import BarLook, ChartBar, bar_elements, is_drawn
from dashwright.expressions.pictures.panels.bucket_sizes import round_size
from dashwright.expressions.pictures.panels.columns import as_series, is_hidden, series_colour
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import LegendEntry, with_legend
from dashwright.expressions.pictures.series import MAX_SERIES, float_values
from dashwright.expressions.pictures.style import Style

#: The number of buckets if none is configured, as in Grafana.
_DEFAULT_COUNT: Final = 30
#: The minimum width of a bucket in pixels.
_MIN_BUCKET_WIDTH: Final = 2.0
#: The part of the width that the labels of counts take at most.
_LABEL_SHARE: Final = 0.3
#: The least number of pixels between two labels of edges.
_LABEL_SPACING: Final = 70.0
_MARGIN: Final = 8.0
#: Larger values are counted in the outermost bucket, so that the difference of two values is finite.
_MAX_VALUE: Final = 1e300
#: The minimum size of buckets, so that quotients of values and sizes are finite.
_MIN_SIZE: Final = 1e-300
#: The columns with the edges of buckets, in a frame that a transformation has already divided into buckets.
_EDGE_NAMES: Final = ("xMin", "xMax")
#: The name of the only series if the option ``combine`` adds all of them.
_COMBINED_NAME: Final = "Count"


@dataclass(frozen=True, slots=True)
class HistogramBuckets:
    """The counts of each series in buckets, from small to large values."""

    edges: NDArray[np.float64]  #: One more than there are buckets.
    counts: Sequence[NDArray[np.float64]]  #: The count in each bucket, for each series.
    names: Sequence[str]
    styles: Sequence[Style]
    colours: Sequence[str]
    note: str = ""  #: A message about omitted or enlarged buckets.


def draw(props: PanelProps) -> PanelDrawing:
    """Return the histogram. Raises NothingToDraw if there are no numbers."""
    buckets = buckets_of(props)
    entries = [LegendEntry(name, colour) for name, colour in zip(buckets.names, buckets.colours, strict=True)]
    legend_elements, cell = with_legend(props, entries)
    stacking = object_of(buckets.styles[0].custom.get("stacking")).get("mode")
    stacking = stacking if stacking in STACKED else "none"
    ends = bar_ends(buckets.counts, stacking)
    low, high = value_range(ends, None, None, stacking)
    vertical = PixelScale(low, high, cell.y + cell.height - AXIS_HEIGHT, cell.y + _MARGIN)
    axis_style = Style({"unit": "percentunit"} if stacking == "percent" else {"unit": "short", "decimals": 0}, props.theme)
    ticks = value_ticks(low, high, vertical.start - vertical.end, axis_style)
    left = labels_width([label for _, label in ticks], cell.width * _LABEL_SHARE) + LABEL_MARGIN
    area = Cell(cell.x + left, vertical.end, max(cell.width - left - 2 * _MARGIN, 1.0), max(vertical.start - vertical.end, 1.0))
    horizontal = PixelScale(float(buckets.edges[0]), float(buckets.edges[-1]), area.x, area.x + area.width)
    elements = value_axis(area, vertical, ticks, props.theme)
    for style, colour, (starts, tops) in zip(buckets.styles, buckets.colours, ends, strict=True):
        bars = _bars(buckets, starts, tops, horizontal, vertical, colour)
        elements += bar_elements(bars, BarLook.of(style))
    labels = [(horizontal.position(value), label) for value, label in _labels(buckets, area)]
    return PanelDrawing(
        [*elements, *bottom_axis(area, labels, props.theme), *legend_elements], notes=[buckets.note] if buckets.note else ()
    )


def buckets_of(props: PanelProps) -> HistogramBuckets:
    """Return the buckets of a panel. Raises NothingToDraw if there are no numbers."""
    for frame in props.frames:
        if {field.name for field in frame.fields}.issuperset(_EDGE_NAMES) and frame.row_count:
            return _buckets_of_frame(props, frame)
    columns = _number_columns(props, props.frames)
    all_values = [_numbers(column.field) for column in columns]
    filled = [values for values in all_values if len(values)]
    if not filled:
        # Columns of numbers exist, but all of their cells are null: that is missing data, not a wrong type.
        is_empty = not any(frame.row_count for frame in props.frames) or bool(columns)
        raise NothingToDraw("No data" if is_empty else "No numbers in the data")
    low, high = min(float(values.min()) for values in filled), max(float(values.max()) for values in filled)
    size, note = _size(props, low, high)
    # Only the remainder of the offset matters.
    offset = math.fmod(number_of(props.panel.options.get("bucketOffset")) or 0.0, size)
    first = math.floor((low - offset) / size)
    count = math.floor((high - offset) / size) - first + 1
    counts = [np.bincount(_indexes(values, offset, size, first, count), minlength=count).astype(np.float64) for values in all_values]
    edges = offset + (first + np.arange(count + 1, dtype=np.float64)) * np.float64(size)
    if props.panel.options.get("combine") is True:
        style = Style(columns[0].config, props.theme)
        return HistogramBuckets(edges, [np.sum(counts, axis=0)], [_COMBINED_NAME], [style], [series_colour(columns[0])], note)
    return _buckets(props, edges, counts, columns, note)


def _number_columns(props: PanelProps, frames: Sequence[Frame]) -> list[DisplayColumn]:
    """Return the columns of edges, and of the first ``MAX_SERIES`` columns of other numbers those that are not hidden."""
    columns = [column for columns in columns_of(frames[:MAX_SERIES], props.field_settings) for column in columns if column.type == "number"]
    edges = [column for column in columns if column.field.name in _EDGE_NAMES]
    value_columns = [column for column in columns if column.field.name not in _EDGE_NAMES]
    return [*edges, *(column for column in as_series(value_columns[:MAX_SERIES], props.theme) if not is_hidden(column))]


def _buckets(
    props: PanelProps, edges: NDArray[np.float64], counts: Sequence[NDArray[np.float64]], columns: Sequence[DisplayColumn], note: str
) -> HistogramBuckets:
    """Return the buckets of columns of counts, with the names, styles and colours of the columns."""
    styles = [Style(column.config, props.theme) for column in columns]
    return HistogramBuckets(edges, counts, [column.name for column in columns], styles, [series_colour(column) for column in columns], note)


def _numbers(field: Field) -> NDArray[np.float64]:
    """Return the values of a column without NaN. Values beyond ``_MAX_VALUE`` are replaced by it."""
    values = float_values(field)
    return np.clip(values[~np.isnan(values)], -_MAX_VALUE, _MAX_VALUE)


def _indexes(values: NDArray[np.float64], offset: float, size: float, first: int, count: int) -> NDArray[np.int64]:
    """Return the index of the bucket of each value."""
    indexes: NDArray[np.float64] = np.floor((values - offset) / size) - first
    return np.clip(indexes, 0, count - 1).astype(np.int64)


def _size(props: PanelProps, low: float, high: float) -> tuple[float, str]:
    """Return the size of buckets, and a note if it is larger than configured because there would be more buckets than pixels."""
    options = props.panel.options
    # A minimum relative to the values keeps the quotients of values and size within 64-bit integers.
    smallest = max((high - low) / max(props.width / _MIN_BUCKET_WIDTH, 1), abs(low) * 1e-12, abs(high) * 1e-12, _MIN_SIZE)
    size = number_of(options.get("bucketSize"))
    if size and size > 0:
        return min(max(size, smallest), _MAX_VALUE), "buckets are larger than configured" if size < smallest else ""
    count = number_of(options.get("bucketCount")) or _DEFAULT_COUNT
    unrounded_size = max((high - low) / max(count, 1), smallest) if high > low else max(abs(high) / 10, _MIN_SIZE)
    return round_size(unrounded_size), ""


def _buckets_of_frame(props: PanelProps, frame: Frame) -> HistogramBuckets:
    """Return the buckets of a frame with the columns ``xMin`` and ``xMax``, and counts in its other columns."""
    fields = {field.name: field for field in frame.fields}
    starts, ends = (np.nan_to_num(float_values(fields[name])) for name in _EDGE_NAMES)
    limit = max(int(props.width // _MIN_BUCKET_WIDTH), 1)
    columns = [column for column in _number_columns(props, [frame]) if column.field.name not in _EDGE_NAMES]
    if not columns:
        raise NothingToDraw("No numbers in the data")
    order = np.argsort(starts, kind="stable")[:limit]
    edges = np.append(starts[order], ends[order][-1])
    note = f"only the first {limit} of {len(starts)} buckets" if len(starts) > limit else ""
    counts = [np.nan_to_num(float_values(column.field))[order] for column in columns]
    return _buckets(props, edges, counts, columns, note)


def _bars(
    buckets: HistogramBuckets,
    starts: NDArray[np.float64],
    tops: NDArray[np.float64],
    horizontal: PixelScale,
    vertical: PixelScale,
    colour: str,
) -> list[ChartBar]:
    """Return the bars of a series, with a gap of one pixel between wide ones. An empty bucket has no bar."""
    lefts = [horizontal.position(edge) for edge in buckets.edges.tolist()]
    bars = []
    for index, (start, top) in enumerate(zip(starts.tolist(), tops.tolist(), strict=True)):
        if is_drawn(start, top) and start != top:
            upper_y, lower_y = sorted((vertical.position(start), vertical.position(top)))
            gap = 1.0 if lefts[index + 1] - lefts[index] > 3 else 0.0
            width = max(lefts[index + 1] - lefts[index] - gap, 0.5)
            bars.append(ChartBar(Cell(lefts[index] + gap / 2, upper_y, width, lower_y - upper_y), colour, text=""))
    return bars


def _labels(buckets: HistogramBuckets, area: Cell) -> list[tuple[float, str]]:
    """Return the values with labels: the edges of buckets if there is room, else round values."""
    count, style = max(int(area.width // _LABEL_SPACING), 1), buckets.styles[0]
    edges: list[float] = buckets.edges.tolist()
    # If there is no room for a label at every fourth edge, round values are easier to read than a few edges.
    if len(edges) > 4 * count:
        return value_ticks(edges[0], edges[-1], area.width, style, is_horizontal=True)
    return [(edge, style.format_value(edge)) for edge in edges[:: math.ceil(len(edges) / count)]]
