"""Kinds of panel pictures: one module each, and the table of the panel types that they draw."""

from collections.abc import Callable, Mapping
from typing import Final

from dashwright.expressions.pictures.kinds import bars, gauge, stat, table, timeseries, words
from dashwright.expressions.pictures.kinds.drawing import PanelDrawing, Sheet

#: The function that draws a panel, by the panel's type. A panel of another type shows that it is not drawn.
KINDS: Final[Mapping[str, Callable[[Sheet], PanelDrawing]]] = {
    "timeseries": timeseries.draw,
    "barchart": bars.draw,
    "stat": stat.draw,
    "gauge": gauge.draw,
    "bargauge": gauge.draw_bars,
    "table": table.draw,
    "text": words.draw,
}

#: Types of panels whose queries are not run.
WITHOUT_QUERIES: Final = frozenset({"text", "row"})
