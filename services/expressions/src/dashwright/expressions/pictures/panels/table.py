"""Table panels: as many rows and columns as fit into the panel."""

import math
from datetime import UTC, datetime
from typing import Any, Final, Literal

import numpy as np

from dashwright.common.json_shapes import string_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.style import Style, display_name, style_of
from dashwright.expressions.pictures.svg import polyline, text_element, text_width, truncated

# In pixels.
_ROW_HEIGHT: Final = 24
_FONT_SIZE: Final = 12.0
_MIN_COLUMN_WIDTH: Final = 40.0

_MAX_COLUMNS: Final = 20
#: The number of rows by which the widths of columns are computed.
_MEASURED_ROWS: Final = 50


def draw(props: PanelProps) -> PanelDrawing:
    """Return the table. Raises NothingToDraw if no frame has columns."""
    frames = [frame for frame in props.frames if frame.fields]
    if not frames:
        raise NothingToDraw("No data")
    columns = _joined_columns(frames)[: max(1, min(_MAX_COLUMNS, int(props.width // _MIN_COLUMN_WIDTH)))]
    titles = [PlotSeries(_title(column), None, np.zeros(0)) for column in columns]
    styles = [style_of(props.panel, props.theme, title) for title in titles]
    row_count = max(len(column) for column in columns)
    # The first row of the panel is the header. If rows are omitted, the last one says how many.
    fitting_row_count = max(0, int((props.height - _ROW_HEIGHT) // _ROW_HEIGHT))
    displayed_row_count = row_count if row_count <= fitting_row_count else max(0, fitting_row_count - 1)
    cells = [
        [_cell_text(column, row, style) for row in range(min(displayed_row_count, len(column)))]
        for column, style in zip(columns, styles, strict=True)
    ]
    names = [display_name(style, title) for title, style in zip(titles, styles, strict=True)]
    elements, x = [polyline([(4, _ROW_HEIGHT), (props.width - 4, _ROW_HEIGHT)], props.theme.border)], 8.0
    for column, name, column_cells, width in zip(columns, names, cells, _widths(names, cells, props.width - 16), strict=True):
        elements += _column(props, column, name, column_cells, x, width)
        x += width
    if displayed_row_count < row_count:
        text = f"{row_count - displayed_row_count} more rows"
        elements.append(
            text_element(
                text, props.width - 8, (displayed_row_count + 1) * _ROW_HEIGHT + 14, size=10, colour=props.theme.muted, anchor="end"
            )
        )
    return PanelDrawing(elements)


def _joined_columns(frames: list[Frame]) -> list[Field]:
    """Return the columns of the table. A single frame is the table.

    Several frames become a table with a row for each of them: the labels and the last value of the frame's last column.
    """
    if len(frames) == 1:
        return list(frames[0].fields)
    fields = [frame.fields[-1] for frame in frames if frame.row_count]
    label_names = sorted({label_name for field in fields if field.labels for label_name in field.labels.keys})
    columns = []
    for label_name in label_names:
        values = np.array([dict(field.labels.pairs).get(label_name) if field.labels else None for field in fields], dtype=object)
        columns.append(Field(label_name, FieldType.STRING, values))
    last_numbers = np.array([_last_number(field) for field in fields], dtype=np.float64)
    return [*columns, Field("Value", FieldType.FLOAT64, last_numbers)]


def _title(column: Field) -> str:
    """Return the display name that transformations or the data source gave the column, else its name."""
    config = column.config or {}
    return string_of(config.get("displayName")) or string_of(config.get("displayNameFromDS")) or column.name


def _last_number(field: Field) -> float:
    """Return the last value of a column; NaN if it is null or not a number."""
    is_null = field.nulls is not None and field.nulls[-1]
    return float(field.values[-1]) if field.type.is_numeric and not is_null else float("nan")


def _cell_text(column: Field, row: int, style: Style) -> str:
    value: Any = column.values[row]
    if column.nulls is not None and column.nulls[row]:
        return ""
    if column.type is FieldType.TIME:
        return datetime.fromtimestamp(int(value) / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if column.type.is_numeric:
        return style.format_value(None if math.isnan(value) else float(value))
    return "" if value is None else str(value)[:500]


def _widths(names: list[str], cells: list[list[str]], width: float) -> list[float]:
    """Return the widths of columns by their content, scaled so that their sum is ``width``."""
    content_widths = [
        max([_MIN_COLUMN_WIDTH, *(text_width(text, _FONT_SIZE) + 16 for text in (name, *column_cells[:_MEASURED_ROWS]))])
        for name, column_cells in zip(names, cells, strict=True)
    ]
    return [content_width * width / sum(content_widths) for content_width in content_widths]


def _column(props: PanelProps, column: Field, name: str, cells: list[str], x: float, width: float) -> list[str]:
    """Return the texts of a column below its name. ``x`` and ``width`` are in pixels."""
    anchor: Literal["start", "end"] = "end" if column.type.is_numeric else "start"
    anchor_x = x + width - 8 if column.type.is_numeric else x
    elements: list[str] = []
    for row, text in enumerate([name, *cells]):
        colour = props.theme.muted if row == 0 else props.theme.text
        visible_text = truncated(text, _FONT_SIZE, width - 8)
        elements.append(
            text_element(
                visible_text,
                anchor_x,
                row * _ROW_HEIGHT + 16,
                size=_FONT_SIZE,
                colour=colour,
                anchor=anchor,
                bold=row == 0,
            )
        )
    return elements
