"""A cell of a table panel: its value, its place, and the options of its column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.display.colour_math import text_colour_on
from dashwright.expressions.pictures.display.processor import DisplayValue
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.panels.table_columns import Align, TableColumn
from dashwright.expressions.pictures.svg import BASELINE, BOLD_WIDTH, text_element, truncated
from dashwright.expressions.transformations.data import Trend

# In pixels.
FONT_SIZE: Final = 13.0
PADDING: Final = 6.0
LINE_HEIGHT: Final = 22.0
#: The cell options of each display mode of older dashboards.
_OLD_MODES: Final[Mapping[str, Mapping[str, Any]]] = {
    "color-text": {"type": "color-text"},
    "color-background": {"type": "color-background", "mode": "gradient"},
    "color-background-solid": {"type": "color-background", "mode": "basic"},
    "basic": {"type": "gauge", "mode": "basic"},
    "gradient-gauge": {"type": "gauge", "mode": "gradient"},
    "lcd-gauge": {"type": "gauge", "mode": "lcd"},
}
_AUTO: Final = "auto"
SPARKLINE: Final = "sparkline"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table."""

    column: TableColumn
    index: int  #: The position of its row among the rows of the column.
    display: DisplayValue
    area: Cell
    props: PanelProps
    text_width: float  #: The width of the widest text of the column, in pixels.
    row_colour: str = ""  #: The background that another column gives to the row.

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the type of the cell."""
        return cell_options(self.column)

    @property
    def type(self) -> str:
        """The type of the cell. Without a configured one, a trend is a sparkline."""
        type_ = string_of(self.options.get("type")) or _AUTO
        return SPARKLINE if type_ == _AUTO and isinstance(self.raw, Trend) else type_

    @property
    def raw(self) -> Any:
        """The value as the query or a transformation returned it; a time as text."""
        if self.column.values[self.index] is None:
            return None
        return str(self.display) if self.column.source.type == "time" else self.column.raw[self.index]

    @property
    def text_colour(self) -> str:
        """The colour of text without a colour of its own."""
        return text_colour_on(self.row_colour) if self.row_colour else self.props.theme.text


def cell_options(column: TableColumn) -> Mapping[str, Any]:
    """Return the options of the cells of a column: the configured ones, or the display mode of older dashboards as options."""
    options = object_of(column.custom.get("cellOptions"))
    return options or _OLD_MODES.get(string_of(column.custom.get("displayMode")), {})


def text_in(text: str, area: Cell, align: Align, colour: str, *, bold: bool = False) -> str:
    """Return a text in a cell, truncated to its width."""
    x = {"start": area.x + PADDING, "middle": area.x + area.width / 2, "end": area.x + area.width - PADDING}[align]
    text_width = (area.width - 2 * PADDING) / (BOLD_WIDTH if bold else 1)
    visible = truncated(text, FONT_SIZE, text_width)
    y = area.y + area.height / 2 + FONT_SIZE * BASELINE
    return text_element(visible, x, y, size=FONT_SIZE, colour=colour, anchor=align, bold=bold)
