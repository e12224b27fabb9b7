"""Cells of table panels. ``CELL_TYPES`` at the end has a function for each type that is not plain text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.pictures.display.colour_math import darkened, spun
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.processor import DisplayValue
from dashwright.expressions.pictures.panels.bar_fills import FILLS, GaugeBar, gradient_fill
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.panels.scale_of_item import scale_of
from dashwright.expressions.pictures.panels.table_columns import Align, TableColumn
from dashwright.expressions.pictures.svg import rectangle, text_element, truncated
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient

# In pixels.
FONT_SIZE: Final = 13.0
PADDING: Final = 6.0
_BAR_MARGIN: Final = 4.0
_BASELINE: Final = 0.36
#: The part of a cell that the text of a gauge takes at most.
_GAUGE_TEXT_SHARE: Final = 0.5
#: The ends of the gradient of backgrounds, relative to the cell.
_GRADIENT: Final = ((0.07, 0.25), (0.93, 0.75))
#: The cell options of each display mode of older dashboards.
_OLD_MODES: Final[Mapping[str, Mapping[str, Any]]] = {
    "color-text": {"type": "color-text"},
    "color-background": {"type": "color-background", "mode": "gradient"},
    "color-background-solid": {"type": "color-background", "mode": "basic"},
    "basic": {"type": "gauge", "mode": "basic"},
    "gradient-gauge": {"type": "gauge", "mode": "gradient"},
    "lcd-gauge": {"type": "gauge", "mode": "lcd"},
}


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table."""

    column: TableColumn
    shown: DisplayValue
    area: Cell
    props: PanelProps
    text_width: float  #: The width of the widest text of the column, in pixels.
    row_colour: str = ""  #: The background that another column gives to the row.

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the type of the cell."""
        return cell_options(self.column)


def cell_options(column: TableColumn) -> Mapping[str, Any]:
    """Return the options of the cells of a column: the configured ones, or those of the display mode of older dashboards."""
    options = object_of(column.custom.get("cellOptions"))
    return options or _OLD_MODES.get(string_of(column.custom.get("displayMode")), {})


def row_colour(column: TableColumn, shown: DisplayValue) -> str:
    """Return the background that a column gives to its whole row, or an empty string."""
    options = cell_options(column)
    is_for_row = options.get("type") == "color-background" and options.get("applyToRow") is True
    return shown.colour if is_for_row and shown.colour.startswith("#") else ""


def cell_text(column: TableColumn, shown: DisplayValue) -> str:
    """Return the text of a cell. Links show their titles, and images their descriptions, because pictures do not fetch them."""
    options = cell_options(column)
    if options.get("type") == "data-links":
        titles = [string_of(link.get("title")) for link in objects_of(column.source.config.get("links"))]
        return " · ".join(title for title in titles if title) or str(shown)
    if options.get("type") == "image":
        return string_of(options.get("alt")) or "image"
    return str(shown)


def draw_cell(cell: TableCell) -> list[str]:
    """Return the elements of a cell."""
    return CELL_TYPES.get(string_of(cell.options.get("type")), _plain)(cell)


def text_in(text: str, area: Cell, align: Align, colour: str, *, bold: bool = False) -> str:
    """Return a text in a cell, truncated to its width."""
    x = {"start": area.x + PADDING, "middle": area.x + area.width / 2, "end": area.x + area.width - PADDING}[align]
    visible = truncated(text, FONT_SIZE, area.width - 2 * PADDING)
    y = area.y + area.height / 2 + FONT_SIZE * _BASELINE
    return text_element(visible, x, y, size=FONT_SIZE, colour=colour, anchor=align, bold=bold)


def _plain(cell: TableCell) -> list[str]:
    colour = DisplayValue("", 0, cell.row_colour).contrast if cell.row_colour else cell.props.theme.text
    return [text_in(cell_text(cell.column, cell.shown), cell.area, cell.column.align, colour)]


def _coloured_text(cell: TableCell) -> list[str]:
    colour = cell.shown.colour if cell.shown.colour.startswith("#") else cell.props.theme.text
    return [text_in(str(cell.shown), cell.area, cell.column.align, colour)]


def _coloured_background(cell: TableCell) -> list[str]:
    colour = cell.shown.colour
    if not colour.startswith("#") or cell.row_colour:
        return _plain(cell)
    area, elements, fill = cell.area, [], colour
    if cell.options.get("mode") != "basic":
        gradient, fill = linear_gradient([Stop(0, spun(darkened(colour, 10), 5)), Stop(1, colour)], *_GRADIENT, is_in_pixels=False)
        elements.append(gradient)
    elements.append(rectangle(area.x, area.y, area.width, area.height, fill))
    return [*elements, text_in(str(cell.shown), area, cell.column.align, cell.shown.contrast)]


def _gauge(cell: TableCell) -> list[str]:
    if cell.shown.number != cell.shown.number:
        return _plain(cell)
    area, text = cell.area, str(cell.shown)
    is_text_hidden = cell.options.get("valueDisplayMode") == "hidden"
    text_room = 0.0 if is_text_hidden else min(cell.text_width + 2 * PADDING, area.width * _GAUGE_TEXT_SHARE)
    bar_width = max(area.width - text_room - 2 * _BAR_MARGIN, 1)
    bar_area = Cell(area.x + _BAR_MARGIN, area.y + _BAR_MARGIN, bar_width, max(area.height - 2 * _BAR_MARGIN, 1))
    source = cell.column.source
    item = DisplayItem(cell.shown, source.name, source, source.processor)
    fill = FILLS.get(string_of(cell.options.get("mode")), gradient_fill)
    elements = fill(GaugeBar(item, scale_of(item), bar_area, is_vertical=False), cell.props)
    if not is_text_hidden:
        is_text = cell.options.get("valueDisplayMode") == "text" or not cell.shown.colour.startswith("#")
        colour = cell.props.theme.text if is_text else cell.shown.colour
        place = Cell(area.x + area.width - text_room, area.y, text_room, area.height)
        elements = [*elements, text_in(text, place, "end", colour)]
    return elements


#: The function that draws a cell, by the type in the options of its column. Other types show text.
CELL_TYPES: Final[Mapping[str, Callable[[TableCell], list[str]]]] = {
    "color-text": _coloured_text,
    "color-background": _coloured_background,
    "gauge": _gauge,
}
