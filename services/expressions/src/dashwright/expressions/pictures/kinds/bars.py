"""Bars by category, from tables of a text column and numbers; without text, a bar for each number."""

from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import object_of
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.pictures.kinds import vega
from dashwright.expressions.pictures.kinds.drawing import NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.kinds.stat import numbers_of_panel
from dashwright.expressions.pictures.series import PlotSeries, numbers_of
from dashwright.expressions.pictures.style import series_colours, shown_name, style_of

_MOST_BARS: Final = 100
_SHOWN: Final = 40


def draw(sheet: Sheet) -> PanelDrawing:
    """Return the bars. Raises NothingToDraw if there are no numbers."""
    rows, found = _rows(sheet)
    if not rows:
        raise NothingToDraw("No data")
    styles = [style_of(sheet.panel, sheet.theme, series) for series in found]
    names = [shown_name(style, series) for style, series in zip(styles, found, strict=True)]
    renamed = {series.name: name for series, name in zip(found, names, strict=True)}
    flat = sheet.panel.options.get("orientation") == "horizontal"
    value = {"field": "v", "type": "quantitative", "axis": {"title": None, "labelExpr": styles[0].unit.label(styles[0].decimals)}}
    category: dict[str, Any] = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": int(sheet.width // 4 if flat else 90), "grid": False},
    }
    encoding: dict[str, Any] = {"y": category, "x": value} if flat else {"x": category, "y": value}
    encoding["color"] = {**vega.colours(sheet, names, series_colours(styles), as_lines=False)}
    if len(names) == 1:
        encoding["color"]["legend"] = None
    elif sheet.panel.options.get("stacking") not in ("normal", "percent"):
        encoding["yOffset" if flat else "xOffset"] = {"field": "s"}
    values = [{**row, "s": renamed[row["s"]]} for row in rows]
    layer = {"data": {"values": values}, "mark": {"type": "bar", "cornerRadiusEnd": 2}, "encoding": encoding}
    return PanelDrawing(chart=vega.chart(sheet, [layer]))


def _rows(sheet: Sheet) -> tuple[list[dict[str, Any]], list[PlotSeries]]:
    for frame in sheet.frames:
        if rows := _table(frame):
            series = {row["s"]: PlotSeries(row["s"], None, np.zeros(0)) for row in rows}
            return rows, list(series.values())
    numbers = numbers_of_panel(sheet, object_of(sheet.panel.options.get("reduceOptions")))
    values = [{"c": shown_name(item.style, item.series), "v": item.value, "s": "value"} for item in numbers if item.value is not None]
    return values, [PlotSeries("value", None, np.zeros(0))]


def _table(frame: Frame) -> list[dict[str, Any]]:
    category = next((field for field in frame.fields if field.type is FieldType.STRING), None)
    if category is None:
        return []
    values = []
    for field in frame.fields:
        if field.type.is_numeric:
            for name, value in list(zip(category.values, numbers_of(field).tolist(), strict=True))[:_MOST_BARS]:
                values.append({"c": str(name)[:_SHOWN], "v": None if value != value else value, "s": field.name})
    return values
