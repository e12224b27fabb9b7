"""Functions that draw panels: a module for each form of drawing, and the table of functions by panel type."""

from collections.abc import Callable, Mapping
from typing import Final

from dashwright.expressions.pictures.panels import (
    barchart,
    bargauge,
    gauge,
    heatmap,
    histogram,
    logs,
    piechart,
    stat,
    state_timeline,
    status_history,
    table,
    text,
    timeseries,
    xy,
)
from dashwright.expressions.pictures.panels.drawing import PanelDrawing, PanelProps

#: The function that draws a panel, by the panel's type. A panel of any other type shows a message.
DRAW_FUNCTIONS: Final[Mapping[str, Callable[[PanelProps], PanelDrawing]]] = {
    "timeseries": timeseries.draw,
    "barchart": barchart.draw,
    "stat": stat.draw,
    "gauge": gauge.draw,
    "bargauge": bargauge.draw,
    "table": table.draw,
    "piechart": piechart.draw,
    "state-timeline": state_timeline.draw,
    "status-history": status_history.draw,
    "heatmap": heatmap.draw,
    "histogram": histogram.draw,
    "logs": logs.draw,
    "trend": xy.draw_trend,
    "xychart": xy.draw_points,
    "text": text.draw,
}

#: Types of panels whose queries are not run.
WITHOUT_QUERIES: Final = frozenset({"text", "row"})

#: Types of panels that show their text ``noValue`` as a value if the queries have no data.
WITH_NO_VALUE: Final = frozenset({"stat", "gauge", "bargauge"})
