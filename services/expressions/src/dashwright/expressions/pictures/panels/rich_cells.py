"""Cells of table panels that contain more than a text: pills, Markdown, documents, and small lines of series."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import orjson

from dashwright.expressions.javascript.values import text_of
from dashwright.expressions.pictures.display.colour_math import text_colour_on
from dashwright.expressions.pictures.display.colour_modes import colour_by_text
from dashwright.expressions.pictures.display.values import document_text
from dashwright.expressions.pictures.panels.drawing import Cell
from dashwright.expressions.pictures.panels.rich_text import markdown_blocks
from dashwright.expressions.pictures.panels.sparkline import sparkline_of_series
from dashwright.expressions.pictures.panels.table_cell import FONT_SIZE, PADDING, TableCell, text_in
from dashwright.expressions.pictures.panels.text import text_runs
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.svg import BASELINE, TextRun, rectangle, rich_text_element, text_element, text_width, truncated
from dashwright.expressions.transformations.data import Trend

# In pixels.
_PILL_SIZE: Final = 12.0
_PILL_HEIGHT: Final = 20.0
_PILL_PADDING: Final = 6.0
_PILL_GAP: Final = 4.0
_SPARKLINE_HEIGHT: Final = 25.0
#: The part of a cell that the value of a sparkline takes at most.
_VALUE_SHARE: Final = 0.5
#: Further pills of a cell, and further characters of its text, are left out.
_MAX_PILLS: Final = 50
_MAX_LENGTH: Final = 1_000
#: Longer text is not read as JSON.
_MAX_DOCUMENT_LENGTH: Final = 100_000
_NO_TREND: Final = "no data"


def pills(cell: TableCell) -> list[str]:
    """Return a label for each value of a list: a JSON array, or text that is separated by commas."""
    area, elements = cell.area, []
    x, end = area.x + PADDING, area.x + area.width - PADDING
    y = area.y + (area.height - _PILL_HEIGHT) / 2
    for text in pill_texts(cell.raw):
        width = min(text_width(text, _PILL_SIZE) + 2 * _PILL_PADDING, end - x)
        if width <= 2 * _PILL_PADDING:
            break
        colour = _colour_of_pill(cell, text)
        label = truncated(text, _PILL_SIZE, width - 2 * _PILL_PADDING + 1)
        position = (x + _PILL_PADDING, y + _PILL_HEIGHT / 2 + _PILL_SIZE * BASELINE)
        elements.append(rectangle(x, y, width, _PILL_HEIGHT, colour, radius=3))
        elements.append(text_element(label, *position, size=_PILL_SIZE, colour=text_colour_on(colour)))
        x += width + _PILL_GAP
    return elements


def pill_texts(value: Any) -> list[str]:
    """Return the texts of the pills of a value."""
    items = value
    if isinstance(value, str) and value.startswith("["):
        items = _read_json(value)
    if isinstance(items, list):
        return [text_of(item)[:_MAX_LENGTH] for item in items[:_MAX_PILLS]]
    text = "" if value is None else text_of(value)[:_MAX_LENGTH].strip()
    return [part.strip() for part in text.split(",")][:_MAX_PILLS] if text else []


def _colour_of_pill(cell: TableCell, text: str) -> str:
    """Return the colour of a pill: by the mappings of the column if it has some, else by the text."""
    source = cell.column.source
    has_mappings = bool(source.config.get("mappings"))
    colour = source.processor.display(text).colour if has_mappings else colour_by_text(source.config, text, cell.props.theme)
    return colour if colour.startswith("#") else cell.props.theme.grid


def markdown(cell: TableCell) -> list[str]:
    """Return the first line of a text in Markdown."""
    blocks = markdown_blocks(str(cell.display)[:_MAX_LENGTH])
    spans = next((block.spans for block in blocks if block.spans), ())
    return _line([replace(run, size=FONT_SIZE) for run in text_runs(spans, cell.props.theme)], cell)


def document(cell: TableCell) -> list[str]:
    """Return a value as JSON, in the font of code."""
    value = cell.raw
    if isinstance(value, str):
        value = _read_json(value)
    text = value if isinstance(value, str) else document_text(value)
    return _line([TextRun(text[:_MAX_LENGTH], FONT_SIZE - 1, cell.text_colour, code=True)], cell) if text else []


def sparkline_cell(cell: TableCell) -> list[str]:
    """Return the line of a trend, or of a list of numbers, behind its value."""
    series = _series_of(cell.raw)
    if series is None:
        return [text_in(str(cell.display) or _NO_TREND, cell.area, cell.column.align, cell.text_colour)]
    area, props = cell.area, cell.props
    has_value = cell.options.get("hideValue") is not True and isinstance(cell.raw, Trend)
    value_width = min(cell.text_width + 2 * PADDING, area.width * _VALUE_SHARE) if has_value else 0.0
    value_area = Cell(area.x, area.y, value_width, area.height)
    height = min(_SPARKLINE_HEIGHT, area.height - 4)
    line = Cell(
        area.x + value_width + PADDING, area.y + (area.height - height) / 2, max(area.width - value_width - 2 * PADDING, 1.0), height
    )
    colour = cell.display.colour if cell.display.colour.startswith("#") else props.theme.text
    # A list has no times: the empty range means its own extent.
    start, end = (props.start, props.end) if isinstance(cell.raw, Trend) else (0.0, 0.0)
    elements = [text_in(str(cell.display), value_area, "end", cell.text_colour)] if has_value else []
    return elements + sparkline_of_series(series, line, colour, start=start, end=end)


def _series_of(value: Any) -> PlotSeries | None:
    """Return the series in a cell; None if it has less than two numbers."""
    times: Sequence[Any]
    if isinstance(value, Trend):
        times, numbers = (column.values for column in value.frame.columns)
    elif isinstance(value, list):
        times, numbers = range(len(value)), value
    else:
        return None
    pairs = [(time, number) for time, number in zip(times, numbers, strict=True) if _is_finite(time)]
    values = np.array([number if _is_finite(number) else np.nan for _, number in pairs], dtype=np.float64)
    if np.count_nonzero(~np.isnan(values)) < 2:
        return None
    finite_times = np.array([time for time, _ in pairs], dtype=np.float64)
    order = np.argsort(finite_times, kind="stable")
    return PlotSeries("", finite_times[order], values[order])


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _read_json(text: str) -> Any:
    """Return the value that a text describes as JSON, or the text itself."""
    try:
        return orjson.loads(text[:_MAX_DOCUMENT_LENGTH])
    except orjson.JSONDecodeError:
        return text


def _line(runs: Sequence[TextRun], cell: TableCell) -> list[str]:
    """Return runs of text in one line, as far as they fit."""
    width, fitting_runs = cell.area.width - 2 * PADDING, []
    for run in runs:
        is_too_wide = text_width(run.text, run.size, code=run.code) > width
        text = truncated(run.text, run.size, width, code=run.code) if is_too_wide else run.text.replace("\n", " ")
        if not text:
            break
        fitting_runs.append(replace(run, text=text))
        width -= text_width(text, run.size, code=run.code)
    if not fitting_runs:
        return []
    return [rich_text_element(fitting_runs, cell.area.x + PADDING, cell.area.y + cell.area.height / 2 + FONT_SIZE * BASELINE)]
