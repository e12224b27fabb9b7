"""Drawing of the cells of table panels. ``CELL_TYPES`` at the end has a function for each type that is not plain text."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from dashwright.common.json_shapes import objects_of, string_of
from dashwright.expressions.pictures.display.colour_math import darkened, spun
from dashwright.expressions.pictures.display.items import DisplayItem, with_row_values
from dashwright.expressions.pictures.display.processor import DisplayValue
from dashwright.expressions.pictures.panels import rich_cells
from dashwright.expressions.pictures.panels.bar_fills import FILLS, GaugeBar, gradient_fill
from dashwright.expressions.pictures.panels.drawing import Cell
from dashwright.expressions.pictures.panels.scale_of_item import scale_of
from dashwright.expressions.pictures.panels.table_cell import FONT_SIZE, LINE_HEIGHT, PADDING, SPARKLINE, TableCell, cell_options, text_in
from dashwright.expressions.pictures.panels.table_columns import TableColumn
from dashwright.expressions.pictures.svg import rectangle, wrapped_lines
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient

# In pixels.
_BAR_MARGIN: Final = 4.0
#: The part of a cell that the text of a gauge takes at most.
_GAUGE_TEXT_SHARE: Final = 0.5
#: The ends of the gradient of backgrounds, relative to the cell.
_GRADIENT: Final = ((0.07, 0.25), (0.93, 0.75))
#: The maximum number of lines of a wrapped text.
_MAX_LINES: Final = 8
#: The types of cells whose texts may be wrapped.
_WRAPPED_TYPES: Final = frozenset({"", "auto", "color-text", "color-background", "data-links"})


def row_colour(column: TableColumn, display: DisplayValue) -> str:
    """Return the background that a column gives to its whole row, or an empty string."""
    options = cell_options(column)
    is_for_row = options.get("type") == "color-background" and options.get("applyToRow") is True
    return display.colour if is_for_row and display.colour.startswith("#") else ""


def cell_text(column: TableColumn, index: int, display: DisplayValue) -> str:
    """Return the text of a cell. Links show their titles, and images their descriptions, because pictures do not fetch them."""
    options = cell_options(column)
    if options.get("type") in ("data-links", "actions"):
        member = "links" if options["type"] == "data-links" else "actions"
        titles = [_title(string_of(link.get("title")), column, index, display) for link in objects_of(column.source.config.get(member))]
        return " · ".join(title for title in titles if title) or str(display)
    if options.get("type") == "image":
        return string_of(options.get("alt")) or "image"
    return str(display)


def _title(template: str, column: TableColumn, index: int, display: DisplayValue) -> str:
    """Return the title of a link, with references to the value and its row replaced."""
    for reference in ("${__value.text}", "${__value.raw}", "${__value.numeric}", "${__value}"):
        template = template.replace(reference, str(display))
    return with_row_values(template, column.siblings, column.rows[index]) if "${" in template or "$__" in template else template


def wrapped(column: TableColumn, text: str, width: float) -> list[str]:
    """Return the lines of a text in a column of a width in pixels: one, unless the column wraps its texts."""
    options = cell_options(column)
    wraps = (options.get("wrapText") is True or column.custom.get("wrapText") is True) and string_of(options.get("type")) in _WRAPPED_TYPES
    return (wrapped_lines(text, FONT_SIZE, width - 2 * PADDING, _MAX_LINES) or [""]) if wraps else [text]


def draw_cell(cell: TableCell) -> list[str]:
    """Return the elements of a cell."""
    return CELL_TYPES.get(cell.type, _plain)(cell)


def _plain(cell: TableCell) -> list[str]:
    """Return the text of a cell, in the colour of links if it has some."""
    has_link = bool(objects_of(cell.column.source.config.get("links"))) or cell.options.get("type") == "data-links"
    return _lines(cell, cell.props.theme.link if has_link and not cell.row_colour else cell.text_colour)


def _lines(cell: TableCell, colour: str) -> list[str]:
    """Return the text of a cell, one below another if it is wrapped."""
    lines = wrapped(cell.column, cell_text(cell.column, cell.index, cell.display), cell.area.width)
    top = cell.area.y + (cell.area.height - len(lines) * LINE_HEIGHT) / 2
    return [
        text_in(line, Cell(cell.area.x, top + position * LINE_HEIGHT, cell.area.width, LINE_HEIGHT), cell.column.align, colour)
        for position, line in enumerate(lines)
    ]


def _coloured_text(cell: TableCell) -> list[str]:
    return _lines(cell, cell.display.colour if cell.display.colour.startswith("#") else cell.props.theme.text)


def _coloured_background(cell: TableCell) -> list[str]:
    """Return the text of a cell on the colour of its value, as a gradient unless the mode is ``basic``."""
    colour = cell.display.colour
    if not colour.startswith("#") or cell.row_colour:
        return _plain(cell)
    area, elements, fill = cell.area, [], colour
    if cell.options.get("mode") != "basic":
        gradient, fill = linear_gradient([Stop(0, spun(darkened(colour, 10), 5)), Stop(1, colour)], *_GRADIENT, is_in_pixels=False)
        elements.append(gradient)
    elements.append(rectangle(area.x, area.y, area.width, area.height, fill))
    return [*elements, *_lines(cell, cell.display.text_colour)]


def _gauge(cell: TableCell) -> list[str]:
    """Return a bar for the number of a cell, with its text to the right; text alone for a value without a number."""
    if math.isnan(cell.display.number):
        return _plain(cell)
    area, text = cell.area, str(cell.display)
    is_text_hidden = cell.options.get("valueDisplayMode") == "hidden"
    text_width = 0.0 if is_text_hidden else min(cell.text_width + 2 * PADDING, area.width * _GAUGE_TEXT_SHARE)
    bar_width = max(area.width - text_width - 2 * _BAR_MARGIN, 1)
    bar_area = Cell(area.x + _BAR_MARGIN, area.y + _BAR_MARGIN, bar_width, max(area.height - 2 * _BAR_MARGIN, 1))
    source = cell.column.source
    item = DisplayItem(cell.display, source.name, source, source.processor)
    fill = FILLS.get(string_of(cell.options.get("mode")), gradient_fill)
    elements = fill(GaugeBar(item, scale_of(item), bar_area, is_vertical=False, in_table=True), cell.props)
    if not is_text_hidden:
        is_text = cell.options.get("valueDisplayMode") == "text" or not cell.display.colour.startswith("#")
        colour = cell.props.theme.text if is_text else cell.display.colour
        text_area = Cell(area.x + area.width - text_width, area.y, text_width, area.height)
        elements = [*elements, text_in(text, text_area, "end", colour)]
    return elements


#: The function that draws a cell, by the type in the options of its column. Other types show text.
CELL_TYPES: Final[Mapping[str, Callable[[TableCell], list[str]]]] = {
    "color-text": _coloured_text,
    "color-background": _coloured_background,
    "gauge": _gauge,
    "pill": rich_cells.pills,
    "markdown": rich_cells.markdown,
    "json-view": rich_cells.document,
    SPARKLINE: rich_cells.sparkline_cell,
}
