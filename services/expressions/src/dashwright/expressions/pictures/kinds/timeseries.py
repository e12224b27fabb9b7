"""Series over time: lines, areas, bars or points, thresholds behind them, and gaps where values are missing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import text_of
from dashwright.expressions.pictures.dashboard import number_of
from dashwright.expressions.pictures.kinds import vega
from dashwright.expressions.pictures.kinds.drawing import NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.series import PlotSeries, points_for, series_of, thinned
from dashwright.expressions.pictures.style import TRANSPARENT, Style, series_colours, shown_name, style_of

_INTERPOLATIONS: Final = {"smooth": "monotone", "stepBefore": "step-before", "stepAfter": "step-after"}
_GAP: Final = "break-paths-show-domains"
_SECOND: Final = 1000.0
_DAY: Final = 86_400_000.0


def draw(sheet: Sheet) -> PanelDrawing:
    """Return the chart. Raises NothingToDraw if no result has a time."""
    found = [series for series in series_of(sheet.frames) if series.times is not None]
    if not found:
        raise NothingToDraw("No data" if not sheet.frames else "No time in the data")
    styles = [style_of(sheet.panel, sheet.theme, series) for series in found]
    shown = [(series, style) for series, style in zip(found, styles, strict=True) if style.custom.get("hideFrom") is not True]
    most = points_for(int(sheet.width), len(shown))
    thin = [thinned(series, most) for series, _ in shown]
    names = [shown_name(style, series) for series, style in shown]
    first = styles[0]
    as_lines = first.custom.get("drawStyle") not in ("bars", "points")
    colours = vega.colours(sheet, names, series_colours([style for _, style in shown]), as_lines=as_lines)
    stacked = first.custom_kind("stacking", "mode") in ("normal", "percent")
    y, bounds = _y(first, thin, stacked=stacked, sheet=sheet)
    encoding = {"x": _x(sheet), "y": y, "color": colours}
    layers = [*_thresholds(first, bounds, y), _lines(first, thin, names, encoding, stacked=stacked, room=sheet.width)]
    if as_lines and (lonely := _lonely(thin, names)):
        layers.insert(-1, {"data": {"values": lonely}, "mark": {"type": "point", "filled": True, "clip": True}, "encoding": encoding})
    return PanelDrawing(chart=vega.chart(sheet, layers))


def _x(sheet: Sheet) -> dict[str, Any]:
    length = sheet.end - sheet.start
    form = "%H:%M:%S" if length < 300 * _SECOND else "%H:%M" if length < 1.5 * _DAY else "%m/%d %H:%M" if length < 8 * _DAY else "%m/%d"
    return {
        "field": "t",
        "type": "temporal",
        "scale": {"type": "utc", "domain": [sheet.start, sheet.end]},
        "axis": {"title": None, "format": form, "tickCount": max(1, int(sheet.width // 90)), "labelFlush": False, "labelOverlap": "greedy"},
    }


def _y(style: Style, found: Sequence[PlotSeries], *, stacked: bool, sheet: Sheet) -> tuple[dict[str, Any], tuple[float, float]]:
    """Return the axis, and the bounds of what it shows as far as they are known."""
    lows = [float(each.values[~_nan(each)].min()) for each in found if not _nan(each).all()]
    highs = [float(each.values[~_nan(each)].max()) for each in found if not _nan(each).all()]
    low, high = (sum(min(each, 0) for each in lows), sum(highs)) if stacked else (min(lows, default=0), max(highs, default=1))
    low = low if style.least is None else style.least
    high = high if style.most is None else style.most
    low, high = (low, high) if high > low else (low - (abs(low) or 1) / 2, low + (abs(low) or 1) / 2)
    is_logarithmic = style.custom_kind("scaleDistribution", "type") == "log" and low > 0
    scale: dict[str, Any] = {"domain": [low, high], "nice": style.most is None, "zero": False}
    if is_logarithmic:
        scale["type"] = "log"
    count = max(2, int(sheet.height // 45))
    axis: dict[str, Any] = {"title": None, "labelExpr": style.unit.label(style.decimals), "tickCount": count}
    if stacked and style.custom_kind("stacking", "mode") == "percent":
        scale, low, high = {"domain": [0, 1]}, 0, 1
        axis["labelExpr"] = "format(datum.value, '.0%')"
    elif not is_logarithmic and (ticks := style.unit.ticks(low, high, count)):
        axis["values"] = ticks
        if scale["nice"]:
            scale |= {"nice": False, "domain": [min(low, ticks[0]), max(high, ticks[-1])]}
    if style.custom.get("axisPlacement") == "right":
        axis["orient"] = "right"
    return {"field": "v", "type": "quantitative", "scale": scale, "axis": axis}, (low, high)


def _nan(series: PlotSeries) -> Any:
    return series.values != series.values


def _lonely(found: Sequence[PlotSeries], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return values without a neighbour, of which a line shows nothing."""
    rows = []
    for series, name in zip(found, names, strict=True):
        assert series.times is not None
        held = np.concatenate([[False], ~_nan(series), [False]])
        alone = held[1:-1] & ~held[:-2] & ~held[2:]
        rows += [
            {"t": at, "v": value, "s": name} for at, value in zip(series.times[alone].tolist(), series.values[alone].tolist(), strict=True)
        ]
    return rows


def _lines(
    style: Style, found: Sequence[PlotSeries], names: Sequence[str], encoding: Mapping[str, Any], *, stacked: bool, room: float
) -> dict[str, Any]:
    rows = []
    most = max(len(series.values) for series in found) or 1
    keep_gaps = style.custom.get("spanNulls") is not True and not stacked
    for series, name in zip(found, names, strict=True):
        assert series.times is not None
        for at, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
            if not math.isnan(value):
                rows.append({"t": at, "v": value, "s": name})
            elif keep_gaps:
                rows.append({"t": at, "v": None, "s": name})
    y = dict(encoding["y"])
    y["stack"] = ("normalize" if style.custom_kind("stacking", "mode") == "percent" else "zero") if stacked else None
    mark = {**_mark(style, stacked=stacked, room=room / most), "clip": True}
    return {"data": {"values": rows}, "mark": mark, "encoding": {**encoding, "y": y}}


def _mark(style: Style, *, stacked: bool, room: float) -> dict[str, Any]:
    """Return the mark of the series; ``room`` is the pixels for a point."""
    custom = style.custom
    width = min(max(number_of(custom.get("lineWidth")) or 1.5, 0.5), 10)
    fill = min(max((number_of(custom.get("fillOpacity")) or 0) / 100, 0), 1)
    drawn = text_of(custom.get("drawStyle")) or "line"
    if drawn == "points":
        return {"type": "point", "filled": True, "size": 16}
    if drawn == "bars":
        return {"type": "bar", "opacity": max(fill, 0.7), "width": min(max(room * 0.7, 1), 40)}
    mark: dict[str, Any] = {"type": "line", "strokeWidth": width, "invalid": _GAP}
    if stacked or fill:
        mark = {"type": "area", "fillOpacity": fill or 0.1, "line": {"strokeWidth": width, "invalid": _GAP}, "invalid": _GAP}
    if interpolation := _INTERPOLATIONS.get(text_of(custom.get("lineInterpolation"))):
        mark["interpolate"] = interpolation
    if custom.get("showPoints") == "always":
        mark["point"] = {"size": 18}
    return mark


def _thresholds(style: Style, bounds: tuple[float, float], y: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return areas between the thresholds, and lines at them, within the bounds."""
    mode = style.custom_kind("thresholdsStyle", "mode")
    low, high = bounds
    steps = style.thresholds(least=low, most=high) if mode and mode != "off" else []
    layers: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        start = low if step.value is None else step.value
        following = steps[number + 1].value if number + 1 < len(steps) else None
        end = high if following is None else following
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
    mark = {"type": "rect", "color": colour, "opacity": 0.13}
    return {"data": {"values": [{"v": start, "w": end}]}, "mark": mark, "encoding": {"y": y, "y2": {"field": "w"}}}
