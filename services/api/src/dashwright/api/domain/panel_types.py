"""Panel types that pictures show. A new type needs an entry here and in ``DRAW_FUNCTIONS`` of ``expressions/pictures/panels``."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PanelType:
    """A panel type, with the names used in dashboards and lists."""

    id: str
    name: str
    description: str


#: All panel types that are drawn. Panels of other types are stored unchanged, and pictures show their title and type.
DRAWN_TYPES: Final = (
    PanelType("barchart", "Bar chart", "Bars for each category"),
    PanelType("bargauge", "Bar gauge", "Values as bars between a minimum and a maximum"),
    PanelType("gauge", "Gauge", "Values as dials between a minimum and a maximum"),
    PanelType("heatmap", "Heatmap", "Counts by time and bucket, as colours"),
    PanelType("histogram", "Histogram", "Counts of values in buckets"),
    PanelType("logs", "Logs", "Lines of logs with their levels"),
    PanelType("piechart", "Pie chart", "Shares of a total"),
    PanelType("stat", "Stat", "Single values in large letters"),
    PanelType("state-timeline", "State timeline", "States and their durations"),
    PanelType("status-history", "Status history", "States at regular times"),
    PanelType("table", "Table", "Rows and columns"),
    PanelType("text", "Text", "Markdown, HTML or plain text"),
    PanelType("timeseries", "Time series", "Lines, bars or points over time"),
    PanelType("trend", "Trend", "Lines over numbers other than times"),
    PanelType("xychart", "XY chart", "Points or lines of numbers over numbers"),
)
