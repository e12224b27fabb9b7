"""Time series panels: lines, areas, bars or points, with thresholds behind them and gaps where values are missing.

In the data for Vega, ``t`` is the time of a point, ``v`` its value and ``s`` its series.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.panels import vega
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.sections import number_of
from dashwright.expressions.pictures.series import PlotSeries, downsampled, downsampled_stack, points_per_series, series_of
from dashwright.expressions.pictures.style import TRANSPARENT, Style, display_name, series_colours, style_of

_INTERPOLATIONS: Final = {"smooth": "monotone", "stepBefore": "step-before", "stepAfter": "step-after"}
#: Vega-Lite's name for the mode in which a line ends at a missing value.
_INVALID_MODE: Final = "break-paths-show-domains"
_SECOND_MS: Final = 1000.0
_DAY_MS: Final = 86_400_000.0


def draw(props: PanelProps) -> PanelDrawing:
    """Return the chart. Raises NothingToDraw if no frame has a time column."""
    all_series = [series for series in series_of(props.frames) if series.times is not None]
    if not all_series:
        raise NothingToDraw("No data" if not props.frames else "No time in the data")
    styles = [style_of(props.panel, props.theme, series) for series in all_series]
    visible_pairs = [(series, style) for series, style in zip(all_series, styles, strict=True) if style.custom.get("hideFrom") is not True]
    point_limit = points_per_series(int(props.width), len(visible_pairs))
    # The series share axes and a mark, so the settings of the first one apply to all.
    first_style = styles[0]
    is_stacked = first_style.custom_string("stacking", "mode") in ("normal", "percent")
    found = [series for series, _ in visible_pairs]
    visible_series = downsampled_stack(found, point_limit) if is_stacked else [downsampled(series, point_limit) for series in found]
    names = [display_name(style, series) for series, style in visible_pairs]
    as_lines = first_style.custom.get("drawStyle") not in ("bars", "points")
    colours = vega.colours(props, names, series_colours([style for _, style in visible_pairs]), as_lines=as_lines)
    y, value_range = _y_encoding(first_style, visible_series, is_stacked=is_stacked, props=props)
    encoding = {"x": _x_encoding(props), "y": y, "color": colours}
    series_layer = _series_layer(first_style, visible_series, names, encoding, is_stacked=is_stacked, width=props.width)
    layers = [*_threshold_layers(first_style, value_range, y), series_layer]
    if as_lines and (isolated_points := _isolated_points(visible_series, names)):
        layers.insert(
            -1, {"data": {"values": isolated_points}, "mark": {"type": "point", "filled": True, "clip": True}, "encoding": encoding}
        )
    return PanelDrawing(chart=vega.chart(props, layers))


def _x_encoding(props: PanelProps) -> dict[str, Any]:
    range_length = props.end - props.start
    if range_length < 300 * _SECOND_MS:
        time_format = "%H:%M:%S"
    elif range_length < 1.5 * _DAY_MS:
        time_format = "%H:%M"
    else:
        time_format = "%m/%d %H:%M" if range_length < 8 * _DAY_MS else "%m/%d"
    return {
        "field": "t",
        "type": "temporal",
        "scale": {"type": "utc", "domain": [props.start, props.end]},
        "axis": {
            "title": None,
            "format": time_format,
            "tickCount": max(1, int(props.width // 90)),
            "labelFlush": False,
            "labelOverlap": "greedy",
        },
    }


def _y_encoding(
    style: Style, all_series: Sequence[PlotSeries], *, is_stacked: bool, props: PanelProps
) -> tuple[dict[str, Any], tuple[float, float]]:
    """Return the encoding of the y axis, and the lowest and the highest value on the axis."""
    lows = [float(series.values[~_is_missing(series)].min()) for series in all_series if not _is_missing(series).all()]
    highs = [float(series.values[~_is_missing(series)].max()) for series in all_series if not _is_missing(series).all()]
    if is_stacked:
        low, high = sum(min(series_low, 0) for series_low in lows), sum(highs)
    else:
        low, high = min(lows, default=0), max(highs, default=1)
    low = low if style.minimum is None else style.minimum
    high = high if style.maximum is None else style.maximum
    if not high > low:
        margin = (abs(low) or 1) / 2
        low, high = low - margin, low + margin
    is_logarithmic = style.custom_string("scaleDistribution", "type") == "log" and low > 0
    scale: dict[str, Any] = {"domain": [low, high], "nice": style.maximum is None, "zero": False}
    if is_logarithmic:
        scale["type"] = "log"
    tick_count = max(2, int(props.height // 45))
    axis: dict[str, Any] = {"title": None, "labelExpr": style.unit.label_expression(style.decimals), "tickCount": tick_count}
    if is_stacked and style.custom_string("stacking", "mode") == "percent":
        scale, low, high = {"domain": [0, 1]}, 0, 1
        axis["labelExpr"] = "format(datum.value, '.0%')"
    elif not is_logarithmic and (ticks := style.unit.ticks(low, high, tick_count)):
        axis["values"] = ticks
        if scale["nice"]:
            scale |= {"nice": False, "domain": [min(low, ticks[0]), max(high, ticks[-1])]}
    if style.custom.get("axisPlacement") == "right":
        axis["orient"] = "right"
    return {"field": "v", "type": "quantitative", "scale": scale, "axis": axis}, (low, high)


def _is_missing(series: PlotSeries) -> NDArray[np.bool_]:
    return np.isnan(series.values)


def _isolated_points(all_series: Sequence[PlotSeries], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return points without a neighbour, which a line would not show."""
    rows = []
    for series, name in zip(all_series, names, strict=True):
        assert series.times is not None
        has_value = np.concatenate([[False], ~_is_missing(series), [False]])
        is_isolated = has_value[1:-1] & ~has_value[:-2] & ~has_value[2:]
        rows += [
            {"t": time, "v": value, "s": name}
            for time, value in zip(series.times[is_isolated].tolist(), series.values[is_isolated].tolist(), strict=True)
        ]
    return rows


def _series_layer(
    style: Style, all_series: Sequence[PlotSeries], names: Sequence[str], encoding: Mapping[str, Any], *, is_stacked: bool, width: float
) -> dict[str, Any]:
    """Return the layer of the series; ``width`` is that of the panel in pixels."""
    rows = []
    max_length = max(len(series.values) for series in all_series) or 1
    keep_gaps = style.custom.get("spanNulls") is not True and not is_stacked
    for series, name in zip(all_series, names, strict=True):
        assert series.times is not None
        for time, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
            if not math.isnan(value):
                rows.append({"t": time, "v": value, "s": name})
            elif keep_gaps:
                rows.append({"t": time, "v": None, "s": name})
    y = dict(encoding["y"])
    y["stack"] = ("normalize" if style.custom_string("stacking", "mode") == "percent" else "zero") if is_stacked else None
    mark = {**_mark(style, is_stacked=is_stacked, point_width=width / max_length), "clip": True}
    return {"data": {"values": rows}, "mark": mark, "encoding": {**encoding, "y": y}}


def _mark(style: Style, *, is_stacked: bool, point_width: float) -> dict[str, Any]:
    """Return the mark of the series; ``point_width`` is in pixels."""
    custom = style.custom
    line_width = min(max(number_of(custom.get("lineWidth")) or 1.5, 0.5), 10)
    fill_opacity = min(max((number_of(custom.get("fillOpacity")) or 0) / 100, 0), 1)
    draw_style = string_of(custom.get("drawStyle")) or "line"
    if draw_style == "points":
        return {"type": "point", "filled": True, "size": 16}
    if draw_style == "bars":
        return {"type": "bar", "opacity": max(fill_opacity, 0.7), "width": min(max(point_width * 0.7, 1), 40)}
    mark: dict[str, Any] = {"type": "line", "strokeWidth": line_width, "invalid": _INVALID_MODE}
    if is_stacked or fill_opacity:
        mark = {
            "type": "area",
            "fillOpacity": fill_opacity or 0.1,
            "line": {"strokeWidth": line_width, "invalid": _INVALID_MODE},
            "invalid": _INVALID_MODE,
        }
    if interpolation := _INTERPOLATIONS.get(string_of(custom.get("lineInterpolation"))):
        mark["interpolate"] = interpolation
    if custom.get("showPoints") == "always":
        mark["point"] = {"size": 18}
    return mark


def _threshold_layers(style: Style, value_range: tuple[float, float], y: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return layers with the areas between thresholds, with lines at the thresholds, or with both, as configured.

    They are limited to ``value_range``, the lowest and the highest value on the axis.
    """
    mode = style.custom_string("thresholdsStyle", "mode")
    low, high = value_range
    steps = style.thresholds(minimum=low, maximum=high) if mode and mode != "off" else []
    layers: list[dict[str, Any]] = []
    for index, step in enumerate(steps):
        start = low if step.value is None else step.value
        next_value = steps[index + 1].value if index + 1 < len(steps) else None
        end = high if next_value is None else next_value
        if step.colour == TRANSPARENT:
            continue
        if "area" in mode and min(end, high) > max(start, low):
            layers.append(_band(max(start, low), min(end, high), step.colour, y))
        if ("line" in mode or "dashed" in mode) and step.value is not None and low <= start <= high:
            dash = [6, 4] if "dashed" in mode else [1, 0]
            mark = {"type": "rule", "color": step.colour, "strokeWidth": 1.5, "strokeDash": dash}
            layers.append({"data": {"values": [{"v": start}]}, "mark": mark, "encoding": {"y": y}})
    return layers


def _band(start: float, end: float, colour: str, y: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layer that colours the area between two values of the y axis, in the data ``v`` and ``w``."""
    mark = {"type": "rect", "color": colour, "opacity": 0.13}
    return {"data": {"values": [{"v": start, "w": end}]}, "mark": mark, "encoding": {"y": y, "y2": {"field": "w"}}}
