"""Table panels: as many rows and columns as fit into the panel, with a header and a footer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures import svg
from dashwright.expressions.pictures.display.processor import DisplayValue
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import longest
from dashwright.expressions.pictures.panels.table_cell import FONT_SIZE, LINE_HEIGHT, PADDING, TableCell, text_in
from dashwright.expressions.pictures.panels.table_cells import cell_text, draw_cell, row_colour, wrapped
from dashwright.expressions.pictures.panels.table_columns import MIN_ROW_HEIGHT, TableColumn, table_columns, widths
from dashwright.expressions.pictures.panels.table_footer import footer_texts
from dashwright.expressions.pictures.svg import polyline, rectangle, text_element

# In pixels.
_ROW_HEIGHTS: Final = {"sm": MIN_ROW_HEIGHT, "md": 42.0, "lg": 48.0}
_HEADER_HEIGHT: Final = 30.0
#: The minimum width in pixels of a column that is cut by the edge of the panel. A narrower part is not shown.
_MIN_VISIBLE_WIDTH: Final = 60.0
#: The number of rows, and of characters of each text, that are measured to compute the width of a column.
_MEASURED_ROWS: Final = 50
_MEASURED_LENGTH: Final = 200
_NOTE_HEIGHT: Final = 18.0
_NOTE_SIZE: Final = 10.0


@dataclass(frozen=True, slots=True)
class _ShownColumn:
    """A column that begins inside of the panel, with its place and the displays of the values of its rows."""

    column: TableColumn
    x: float
    width: float
    displays: Sequence[DisplayValue]

    @property
    def texts(self) -> list[str]:
        """The texts of the cells."""
        return [cell_text(self.column, index, display) for index, display in enumerate(self.displays)]


def draw(props: PanelProps) -> PanelDrawing:
    """Return the table. Raises NothingToDraw if no frame has columns."""
    options = props.panel.options
    columns = table_columns(props)
    shown_columns = _shown_columns(columns, props.width)
    header_height = 0.0 if options.get("showHeader") is False else _HEADER_HEIGHT
    row_height = _ROW_HEIGHTS.get(string_of(options.get("cellHeight")), _ROW_HEIGHTS["sm"])
    footer = footer_texts(columns, options)
    rows_height = props.height - header_height - (row_height if footer else 0)
    heights = _row_heights(shown_columns, row_height)
    row_count, omitted_columns = columns[0].row_count, len(columns) - len(shown_columns)
    # If rows or columns do not fit, a line says how many.
    has_note = omitted_columns > 0 or _fitting_count(heights, rows_height) < row_count
    heights = heights[: _fitting_count(heights, rows_height - _NOTE_HEIGHT if has_note else rows_height)]
    elements = _header(props, shown_columns) if header_height else []
    elements += _rows(props, shown_columns, heights, header_height)
    if has_note:
        note = _note(len(heights), row_count, omitted_columns, is_paged=_is_paged(props))
        note_position = (props.width - PADDING, header_height + sum(heights) + _NOTE_HEIGHT * 0.75)
        elements.append(text_element(note, *note_position, size=_NOTE_SIZE, colour=props.theme.muted, anchor="end"))
    if footer:
        elements += _footer(props, shown_columns, footer, props.height - row_height, row_height)
    return PanelDrawing(elements)


def _shown_columns(columns: Sequence[TableColumn], available: float) -> list[_ShownColumn]:
    """Return the columns that fit into a width in pixels. Further ones are reached by scrolling in Grafana.

    A column of which a part fits is narrowed to it, so that texts at its right end are visible.
    """
    displays = [[column.source.processor.display(value) for value in column.values] for column in columns]
    contents = [_content_width(column, column_displays) for column, column_displays in zip(columns, displays, strict=True)]
    x = 0.0
    shown_columns: list[_ShownColumn] = []
    for column, column_displays, width in zip(columns, displays, widths(columns, contents, available), strict=True):
        visible_width = min(width, available - x)
        if shown_columns and visible_width < min(width, _MIN_VISIBLE_WIDTH):
            break
        shown_columns.append(_ShownColumn(column, x, visible_width, column_displays))
        x += width
    return shown_columns


def _content_width(column: TableColumn, displays: Sequence[DisplayValue]) -> float:
    """Return the width in pixels that the header and the first texts of a column need, at least ``_MIN_VISIBLE_WIDTH``."""
    texts = [column.source.name, *(cell_text(column, index, display) for index, display in enumerate(displays[:_MEASURED_ROWS]))]
    needed = max(svg.text_width(text[:_MEASURED_LENGTH], FONT_SIZE) for text in texts) * svg.BOLD_WIDTH + 2 * PADDING
    return max(needed, _MIN_VISIBLE_WIDTH)


def _row_heights(shown_columns: Sequence[_ShownColumn], row_height: float) -> list[float]:
    """Return the heights of the rows, which wrapped texts increase."""
    heights = [row_height] * len(shown_columns[0].displays)
    for shown_column in shown_columns:
        for index, text in enumerate(shown_column.texts):
            lines = len(wrapped(shown_column.column, text, shown_column.width))
            if lines > 1:
                heights[index] = max(heights[index], lines * LINE_HEIGHT + 2 * PADDING)
    return heights


def _fitting_count(heights: Sequence[float], available: float) -> int:
    """Return how many of the first rows fit into a height in pixels."""
    used = 0.0
    for count, height in enumerate(heights):
        used += height
        if used > available:
            return count
    return len(heights)


def _is_paged(props: PanelProps) -> bool:
    """Return whether Grafana would show the rows in pages."""
    options = props.panel.options
    return options.get("enablePagination") is True or object_of(options.get("footer")).get("enablePagination") is True


def _note(shown_rows: int, row_count: int, omitted_columns: int, *, is_paged: bool) -> str:
    """Return how many rows and columns are not shown."""
    parts = []
    if is_paged and shown_rows:
        parts.append(f"1 - {shown_rows} of {row_count} rows")
    elif shown_rows < row_count:
        parts.append(f"{row_count - shown_rows} more rows")
    if omitted_columns:
        parts.append(f"{omitted_columns} more column{'s' if omitted_columns > 1 else ''}")
    return ", ".join(parts)


def _rows(props: PanelProps, shown_columns: Sequence[_ShownColumn], heights: Sequence[float], y: float) -> list[str]:
    """Return the cells of rows of some heights from ``y`` on, each row with a line below it."""
    elements: list[str] = []
    text_widths = [
        svg.text_width(longest([str(display) for display in shown_column.displays[: len(heights)]]), FONT_SIZE)
        for shown_column in shown_columns
    ]
    for row, height in enumerate(heights):
        colour = next(
            (colour for shown_column in shown_columns if (colour := row_colour(shown_column.column, shown_column.displays[row]))), ""
        )
        if colour:
            elements.append(rectangle(0, y, props.width, height, colour))
        for shown_column, text_width in zip(shown_columns, text_widths, strict=True):
            area = Cell(shown_column.x, y, shown_column.width, height)
            elements += draw_cell(TableCell(shown_column.column, row, shown_column.displays[row], area, props, text_width, colour))
        y += height
        elements.append(polyline([(0, y), (props.width, y)], props.theme.grid))
    return elements


def _header(props: PanelProps, shown_columns: Sequence[_ShownColumn]) -> list[str]:
    """Return the names of the columns, with a line below them."""
    elements = [
        text_in(
            shown_column.column.source.name,
            Cell(shown_column.x, 0, shown_column.width, _HEADER_HEIGHT),
            shown_column.column.align,
            props.theme.text,
            bold=True,
        )
        for shown_column in shown_columns
    ]
    return [*elements, polyline([(0, _HEADER_HEIGHT), (props.width, _HEADER_HEIGHT)], props.theme.border)]


def _footer(props: PanelProps, shown_columns: Sequence[_ShownColumn], texts: Sequence[str], y: float, height: float) -> list[str]:
    """Return the texts of the footer below a line at ``y``."""
    elements = [polyline([(0, y), (props.width, y)], props.theme.border)]
    for shown_column, text in zip(shown_columns, texts, strict=False):
        elements.append(
            text_in(text, Cell(shown_column.x, y, shown_column.width, height), shown_column.column.align, props.theme.text, bold=True)
        )
    return elements
