"""Rows and columns, as many as there is room for."""

from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.kinds.drawing import NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.style import Style, shown_name, style_of
from dashwright.expressions.pictures.svg import line, shortened, text, width_of

_ROW: Final = 24
_SIZE: Final = 12.0
_NARROWEST: Final = 40.0
_MOST_COLUMNS: Final = 20


def draw(sheet: Sheet) -> PanelDrawing:
    """Return the table. Raises NothingToDraw."""
    frames = [frame for frame in sheet.frames if frame.fields]
    if not frames:
        raise NothingToDraw("No data")
    columns = _joined(frames)[: max(1, min(_MOST_COLUMNS, int(sheet.width // _NARROWEST)))]
    styles = [style_of(sheet.panel, sheet.theme, PlotSeries(column.name, None, np.zeros(0))) for column in columns]
    rows = max(len(column) for column in columns)
    fitting = max(0, int((sheet.height - _ROW) // _ROW))
    shown = rows if rows <= fitting else max(0, fitting - 1)
    cells = [[_words(column, row, style) for row in range(min(shown, len(column)))] for column, style in zip(columns, styles, strict=True)]
    names = [shown_name(style, PlotSeries(column.name, None, np.zeros(0))) for column, style in zip(columns, styles, strict=True)]
    parts, x = [line([(4, _ROW), (sheet.width - 4, _ROW)], sheet.theme.border)], 8.0
    for column, name, texts, width in zip(columns, names, cells, _widths(names, cells, sheet.width - 16), strict=True):
        parts += _column(sheet, column, name, texts, x, width)
        x += width
    if shown < rows:
        words = f"{rows - shown} more rows"
        parts.append(text(words, sheet.width - 8, (shown + 1) * _ROW + 14, size=10, colour=sheet.theme.muted, anchor="end"))
    return PanelDrawing(parts)


def _joined(frames: list[Frame]) -> list[Field]:
    """Return the columns of one table; of several frames, a row each with the labels and the last value."""
    if len(frames) == 1:
        return list(frames[0].fields)
    fields = [frame.fields[-1] for frame in frames if frame.rows]
    keys = sorted({key for field in fields if field.labels for key in field.labels.keys})
    columns = []
    for key in keys:
        values = np.array([dict(field.labels.pairs).get(key) if field.labels else None for field in fields], dtype=object)
        columns.append(Field(key, FieldType.STRING, values))
    numbers = np.array([_last(field) for field in fields], dtype=np.float64)
    return [*columns, Field("Value", FieldType.FLOAT64, numbers)]


def _last(field: Field) -> float:
    return float(field.values[-1]) if field.type.is_numeric and not (field.nulls is not None and field.nulls[-1]) else float("nan")


def _words(column: Field, row: int, style: Style) -> str:
    value: Any = column.values[row]
    if column.nulls is not None and column.nulls[row]:
        return ""
    if column.type is FieldType.TIME:
        return datetime.fromtimestamp(int(value) / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if column.type.is_numeric:
        return style.text(None if value != value else float(value))
    return "" if value is None else str(value)[:500]


def _widths(names: list[str], cells: list[list[str]], room: float) -> list[float]:
    """Return the widths of columns by their content, scaled to the room."""
    wanted = [
        max([_NARROWEST, *(width_of(words, _SIZE) + 16 for words in (name, *texts[:50]))]) for name, texts in zip(names, cells, strict=True)
    ]
    return [width * room / sum(wanted) for width in wanted]


def _column(sheet: Sheet, column: Field, name: str, cells: list[str], x: float, width: float) -> list[str]:
    anchor, at = ("end", x + width - 8) if column.type.is_numeric else ("start", x)
    texts: list[str] = []
    for row, words in enumerate([name, *cells]):
        colour = sheet.theme.muted if row == 0 else sheet.theme.text
        shown = shortened(words, _SIZE, width - 8)
        texts.append(
            text(shown, at, row * _ROW + 16, size=_SIZE, colour=colour, anchor="end" if anchor == "end" else "start", bold=row == 0)
        )
    return texts
