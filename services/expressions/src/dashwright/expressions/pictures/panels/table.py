"""Table panels: as many rows and columns as fit into the panel, with a header and a footer."""

from collections.abc import Sequence
from typing import Final

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import longest
from dashwright.expressions.pictures.panels.table_cells import FONT_SIZE, PADDING, TableCell, cell_text, draw_cell, row_colour, text_in
from dashwright.expressions.pictures.panels.table_columns import MIN_ROW_HEIGHT, TableColumn, table_columns, widths
from dashwright.expressions.pictures.panels.table_footer import footer_texts
from dashwright.expressions.pictures.svg import polyline, rectangle, text_element

# In pixels.
_ROW_HEIGHTS: Final = {"sm": MIN_ROW_HEIGHT, "md": 42.0, "lg": 48.0}
_HEADER_HEIGHT: Final = 30.0
_NOTE_HEIGHT: Final = 18.0
_NOTE_SIZE: Final = 10.0


def draw(props: PanelProps) -> PanelDrawing:
    """Return the table. Raises NothingToDraw if no frame has columns."""
    options = props.panel.options
    columns = table_columns(props)
    header_height = 0.0 if options.get("showHeader") is False else _HEADER_HEIGHT
    row_height = _ROW_HEIGHTS.get(string_of(options.get("cellHeight")), _ROW_HEIGHTS["sm"])
    footer = footer_texts(columns, options)
    row_count = columns[0].row_count
    room = props.height - header_height - (row_height if footer else 0)
    # If rows do not fit, a line below the others has their number.
    shown_count = row_count if row_count * row_height <= room else max(0, int((room - _NOTE_HEIGHT) // row_height))
    shown = [[column.source.processor.display(value) for value in column.values[:shown_count]] for column in columns]
    texts = [
        [column.source.name, *(cell_text(column, value) for value in values), *footer[index : index + 1]]
        for index, (column, values) in enumerate(zip(columns, shown, strict=True))
    ]
    areas = _areas(columns, texts, props.width)
    text_widths = [svg.text_width(longest(column_texts[1:]), FONT_SIZE) for column_texts in texts]
    elements = _header(props, columns, areas) if header_height else []
    for row in range(shown_count):
        y = header_height + row * row_height
        colours = [row_colour(column, values[row]) for column, values in zip(columns, shown, strict=True)]
        colour = next((colour for colour in colours if colour), "")
        if colour:
            elements.append(rectangle(0, y, props.width, row_height, colour))
        for column, values, (x, width), text_width in zip(columns, shown, areas, text_widths, strict=True):
            elements += draw_cell(TableCell(column, values[row], Cell(x, y, width, row_height), props, text_width, colour))
        elements.append(polyline([(0, y + row_height), (props.width, y + row_height)], props.theme.grid))
    y = header_height + shown_count * row_height
    if shown_count < row_count:
        note = f"{row_count - shown_count} more rows"
        place = (props.width - PADDING, y + _NOTE_HEIGHT * 0.75)
        elements.append(text_element(note, *place, size=_NOTE_SIZE, colour=props.theme.muted, anchor="end"))
    if footer:
        elements += _footer(props, columns, areas, footer, props.height - row_height, row_height)
    return PanelDrawing(elements)


def _areas(columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], available: float) -> list[tuple[float, float]]:
    """Return the position and the width of each column that begins inside of the panel."""
    x, areas = 0.0, []
    for width in widths(columns, texts, FONT_SIZE, available):
        areas.append((x, width))
        x += width
    return areas


def _header(props: PanelProps, columns: Sequence[TableColumn], areas: Sequence[tuple[float, float]]) -> list[str]:
    elements = [
        text_in(column.source.name, Cell(x, 0, width, _HEADER_HEIGHT), column.align, props.theme.text, bold=True)
        for column, (x, width) in zip(columns, areas, strict=True)
    ]
    return [*elements, polyline([(0, _HEADER_HEIGHT), (props.width, _HEADER_HEIGHT)], props.theme.border)]


def _footer(
    props: PanelProps, columns: Sequence[TableColumn], areas: Sequence[tuple[float, float]], texts: Sequence[str], y: float, height: float
) -> list[str]:
    elements = [polyline([(0, y), (props.width, y)], props.theme.border)]
    for column, text, (x, width) in zip(columns, texts, areas, strict=True):
        elements.append(text_in(text, Cell(x, y, width, height), column.align, props.theme.text, bold=True))
    return elements
