"""Bar charts: a group of bars for each row of a frame with a string column, or one bar for each number if no frame has one.

In the data for Vega, ``c`` is the category of a bar, ``v`` its value and ``s`` its series.
"""

import math
from typing import Any, Final

import numpy as np

from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.pictures.panels import vega
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import panel_items
from dashwright.expressions.pictures.series import PlotSeries, float_values
from dashwright.expressions.pictures.style import display_name, series_colours, style_of

_MAX_BARS: Final = 100
_MAX_CATEGORY_LENGTH: Final = 40


def draw(props: PanelProps) -> PanelDrawing:
    """Return the bar chart. Raises NothingToDraw if there are no numbers."""
    rows, all_series = _bars(props)
    if not rows:
        raise NothingToDraw("No data")
    styles = [style_of(props.panel, props.theme, series) for series in all_series]
    names = [display_name(style, series) for style, series in zip(styles, all_series, strict=True)]
    display_names = {series.name: name for series, name in zip(all_series, names, strict=True)}
    is_horizontal = props.panel.options.get("orientation") == "horizontal"
    value_encoding = {
        "field": "v",
        "type": "quantitative",
        "axis": {"title": None, "labelExpr": styles[0].unit.label_expression(styles[0].decimals)},
    }
    category_encoding: dict[str, Any] = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": int(props.width // 4 if is_horizontal else 90), "grid": False},
    }
    category_axis, value_axis = ("y", "x") if is_horizontal else ("x", "y")
    encoding: dict[str, Any] = {category_axis: category_encoding, value_axis: value_encoding}
    encoding["color"] = {**vega.colours(props, names, series_colours(styles))}
    if len(names) == 1:
        encoding["color"]["legend"] = None
    elif props.panel.options.get("stacking") not in ("normal", "percent"):
        encoding["yOffset" if is_horizontal else "xOffset"] = {"field": "s"}
    named_rows = [{**row, "s": display_names[row["s"]]} for row in rows]
    layer = {"data": {"values": named_rows}, "mark": {"type": "bar", "cornerRadiusEnd": 2}, "encoding": encoding}
    return PanelDrawing(chart=vega.chart(props, [layer]))


def _bars(props: PanelProps) -> tuple[list[dict[str, Any]], list[PlotSeries]]:
    """Return the data for Vega, and the series in them. The data are those of the first frame with a string column, if any."""
    for frame in props.frames:
        if rows := _bars_of_table(frame):
            series = {row["s"]: PlotSeries(row["s"], None, np.zeros(0)) for row in rows}
            return rows, list(series.values())
    numbers = [item for item in panel_items(props) if item.column and not math.isnan(item.display.number)]
    rows = [{"c": item.title, "v": item.display.number, "s": "value"} for item in numbers]
    return rows, [PlotSeries("value", None, np.zeros(0))]


def _bars_of_table(frame: Frame) -> list[dict[str, Any]]:
    """Return the data for Vega: a bar for each value of a numeric column. The first string column has the categories."""
    category_field = next((field for field in frame.fields if field.type is FieldType.STRING), None)
    if category_field is None:
        return []
    rows = []
    for field in frame.fields:
        if field.type.is_numeric:
            for name, value in list(zip(category_field.values, float_values(field).tolist(), strict=True))[:_MAX_BARS]:
                rows.append({"c": str(name)[:_MAX_CATEGORY_LENGTH], "v": None if math.isnan(value) else value, "s": field.name})
    return rows
