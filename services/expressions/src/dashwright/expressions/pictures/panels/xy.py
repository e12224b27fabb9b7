"""Charts of numbers against numbers: points of XY charts, and lines of trends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of, object_of, objects_of, string_of
from dashwright.expressions.pictures.display.columns import DisplayColumn, columns_of
from dashwright.expressions.pictures.panels.axes import (
    AXIS_HEIGHT,
    LABEL_MARGIN,
    LABEL_SIZE,
    PixelScale,
    bottom_axis,
    labels_width,
    time_axis,
    value_axis,
    value_ticks,
)
from dashwright.expressions.pictures.panels.columns import as_series, is_hidden, series_colour
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import LegendEntry, with_legend
from dashwright.expressions.pictures.series import MAX_SERIES, PlotSeries, downsampled, float_values, points_per_series
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import path, polyline, text_element

#: The part of the width that the labels of the vertical axis take at most.
_LABEL_SHARE: Final = 0.3
_MARGIN: Final = 8.0
#: The height of the title of the horizontal axis in pixels.
_TITLE_HEIGHT: Final = 14.0
_DEFAULT_POINT_SIZE: Final = 5.0
_MAX_POINT_SIZE: Final = 100.0
_POINT_OPACITY: Final = 0.5
#: The share of the range of values that the vertical axis has beyond each end.
_PADDING: Final = 0.1
#: Larger values are drawn at this value, so that distances are finite.
_MAX_VALUE: Final = 1e300


@dataclass(frozen=True, slots=True)
class XySeries:
    """A series of points whose positions are two columns of one length."""

    x: DisplayColumn
    y: DisplayColumn
    xs: NDArray[np.float64]
    ys: NDArray[np.float64]


def draw_points(props: PanelProps) -> PanelDrawing:
    """Return an XY chart of points.

    By default, the first column of numbers or times has the x values, and each further column of numbers has y values.
    """
    columns = columns_of(props.frames[:MAX_SERIES], props.field_settings)
    pairs = _configured_pairs(props, columns)
    if not pairs:
        for frame_columns in columns:
            candidates = [column for column in frame_columns if column.type in ("number", "time")]
            pairs += [(candidates[0], column) for column in candidates[1:] if column.type == "number"]
    return _draw(props, _series(props, pairs), default_look="points")


def draw_trend(props: PanelProps) -> PanelDrawing:
    """Return a trend: lines over the column that the option ``xField`` names, by default the first one of numbers."""
    name = props.panel.options.get("xField")
    pairs = []
    for columns in columns_of(props.frames[:MAX_SERIES], props.field_settings):
        numbers = [column for column in columns if column.type == "number"]
        x = next((column for column in numbers if name in (column.name, column.field.name)), numbers[0] if numbers else None)
        pairs += [(x, column) for column in numbers if x and column is not x]
    return _draw(props, _series(props, pairs), default_look="lines")


def _configured_pairs(props: PanelProps, columns: Sequence[Sequence[DisplayColumn]]) -> list[tuple[DisplayColumn, DisplayColumn]]:
    """Return the x and y columns that the option ``series`` selects, each by its name or by a matcher."""
    candidates = [column for frame_columns in columns for column in frame_columns if column.type in ("number", "time")]
    pairs = []
    for settings in objects_of(props.panel.options.get("series"))[:MAX_SERIES]:
        x, y = (_named(candidates, settings.get(axis)) for axis in ("x", "y"))
        # The columns may be from different frames.
        if x and y and len(x.field) == len(y.field):
            pairs.append((x, y))
    return pairs


def _named(columns: Sequence[DisplayColumn], reference: Any) -> DisplayColumn | None:
    """Return the column to which a reference, a name or ``{"matcher": {"options": name}}``, refers, or None."""
    name = reference if isinstance(reference, str) else object_of(object_of(reference).get("matcher")).get("options")
    return next((column for column in columns if name in (column.name, column.field.name)), None)


def _series(props: PanelProps, pairs: Sequence[tuple[DisplayColumn, DisplayColumn]]) -> list[XySeries]:
    """Return the series of pairs of columns, as far as they have points and are visible. Raises NothingToDraw without such series."""
    xy_series = []
    pairs = pairs[:MAX_SERIES]
    for (x, _), y in zip(pairs, as_series([y for _, y in pairs], props.theme), strict=True):
        # Times are stored in nanoseconds and drawn in milliseconds.
        scale = 1e6 if x.type == "time" else 1.0
        xs, ys = (np.clip(values, -_MAX_VALUE, _MAX_VALUE) for values in (float_values(x.field) / scale, float_values(y.field)))
        is_known = ~np.isnan(xs) & ~np.isnan(ys)
        if is_known.any() and not is_hidden(y):
            xy_series.append(XySeries(x, y, xs[is_known], ys[is_known]))
    if not xy_series:
        # Columns for both axes exist, but no row has both values: that is missing data, not a wrong type.
        is_empty = bool(pairs) or not any(frame.row_count for frame in props.frames)
        raise NothingToDraw("No data" if is_empty else "The data need a column of numbers or times and one of numbers")
    return xy_series


def _draw(props: PanelProps, all_series: Sequence[XySeries], *, default_look: str) -> PanelDrawing:
    """Return the chart of some series. ``default_look`` is ``points`` or ``lines``."""
    colours = [series_colour(series.y) for series in all_series]
    entries = [LegendEntry(series.y.name, colour) for series, colour in zip(all_series, colours, strict=True)]
    legend_elements, cell = with_legend(props, entries)
    x_style, y_style = (Style(column.config, props.theme) for column in (all_series[0].x, all_series[0].y))
    low, high = _range([series.ys for series in all_series], y_style, padding=_PADDING)
    y_scale = PixelScale(low, high, cell.y + cell.height - AXIS_HEIGHT - _TITLE_HEIGHT, cell.y + _MARGIN)
    y_ticks = value_ticks(low, high, y_scale.start - y_scale.end, y_style)
    left = labels_width([label for _, label in y_ticks], cell.width * _LABEL_SHARE) + LABEL_MARGIN
    area = Cell(cell.x + left, y_scale.end, max(cell.width - left - 2 * _MARGIN, 1.0), max(y_scale.start - y_scale.end, 1.0))
    x_low, x_high = _range([series.xs for series in all_series], x_style, padding=0.0)
    x_scale = PixelScale(x_low, x_high, area.x, area.x + area.width)
    elements = value_axis(area, y_scale, y_ticks, props.theme)
    if all_series[0].x.type == "time":
        elements += time_axis(area, x_low, x_high, props.zone, props.theme, has_grid=True)
    else:
        x_ticks = value_ticks(x_low, x_high, area.width, x_style, is_horizontal=True)
        elements += bottom_axis(area, [(x_scale.position(tick), label) for tick, label in x_ticks], props.theme, has_grid=True)
    title_y = area.y + area.height + AXIS_HEIGHT + _TITLE_HEIGHT - 4
    title = all_series[0].x.name
    elements.append(text_element(title, area.x + area.width / 2, title_y, size=LABEL_SIZE, colour=props.theme.muted, anchor="middle"))
    limit = points_per_series(int(props.width), len(all_series))
    for series, colour in zip(all_series, colours, strict=True):
        elements += _marks(series, colour, x_scale, y_scale, limit, default_look)
    return PanelDrawing([*elements, *legend_elements])


def _range(all_values: Sequence[NDArray[np.float64]], style: Style, *, padding: float) -> tuple[float, float]:
    """Return the limits of an axis: the configured ones, else the lowest and highest value with ``padding`` (a share of the range)."""
    low, high = min(float(values.min()) for values in all_values), max(float(values.max()) for values in all_values)
    margin = (high - low) * padding
    if high == low:
        margin = abs(high) / 2 or 1.0
    low, high = (
        low - margin if style.minimum is None else max(style.minimum, -_MAX_VALUE),
        high + margin if style.maximum is None else min(style.maximum, _MAX_VALUE),
    )
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def _marks(series: XySeries, colour: str, x_scale: PixelScale, y_scale: PixelScale, limit: int, default_look: str) -> list[str]:
    """Return the points of a series, its line, or both, as far as they are inside of the axes."""
    custom = object_of(series.y.config.get("custom"))
    look = string_of(custom.get("show")) or default_look
    is_inside = (series.xs >= x_scale.low) & (series.xs <= x_scale.high) & (series.ys >= y_scale.low) & (series.ys <= y_scale.high)
    xs, ys = series.xs[is_inside], series.ys[is_inside]
    elements = []
    if "lines" in look:
        # Lines of trends ascend; those of XY charts connect points in the order of rows.
        order = np.argsort(xs, kind="stable") if default_look == "lines" else np.arange(len(xs))
        line = downsampled(PlotSeries(series.y.name, xs[order], ys[order]), limit)
        points = zip(xs[order].tolist() if line.times is None else line.times.tolist(), line.values.tolist(), strict=True)
        width = min(max(number_of(custom.get("lineWidth")) or 1.0, 0.5), 10.0)
        elements.append(polyline([(x_scale.position(x), y_scale.position(y)) for x, y in points], colour, width))
    if "points" in look:
        # Points at the same pixel are drawn once.
        positions = np.column_stack([x_scale.positions(xs), y_scale.positions(ys)])
        pixels = np.unique(np.round(positions), axis=0)
        # Every n-th point, so that at most ``limit`` are drawn.
        pixels = pixels[:: math.ceil(len(pixels) / limit) or 1]
        size = number_of(object_of(custom.get("pointSize")).get("fixed")) or _DEFAULT_POINT_SIZE
        radius = min(max(size, 1.0), _MAX_POINT_SIZE) / 2
        circles = "".join(
            f"M{x - radius:.1f} {y}a{radius:.1f} {radius:.1f} 0 1 0 {2 * radius:.1f} 0a{radius:.1f} {radius:.1f} 0 1 0 {-2 * radius:.1f} 0"
            for x, y in pixels.tolist()
        )
        elements.append(path(circles, fill=colour, opacity=_POINT_OPACITY, stroke=colour))
    return elements
