"""Which type of panel is drawn how."""

from collections.abc import Callable, Mapping
from typing import Final

from dashwright.expressions.pictures.kinds import bars, gauge, stat, table, timeseries, words
from dashwright.expressions.pictures.kinds.drawing import PanelDrawing, Sheet

KINDS: Final[Mapping[str, Callable[[Sheet], PanelDrawing]]] = {
    "timeseries": timeseries.draw,
    "barchart": bars.draw,
    "stat": stat.draw,
    "gauge": gauge.draw,
    "bargauge": gauge.draw_bars,
    "table": table.draw,
    "text": words.draw,
}
WITHOUT_QUERIES: Final = frozenset({"text", "row"})
