"""Stat panels: single large numbers, with a sparkline of the series below each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.series import PlotSeries, downsampled, reduced_value, series_of
from dashwright.expressions.pictures.style import Style, display_name, style_of
from dashwright.expressions.pictures.svg import polyline, rectangle, text_element, text_width, truncated

_MAX_NUMBERS: Final = 25
_TEXT_ON_COLOUR: Final = "#ffffff"
_MAX_FONT_SIZE: Final = 56.0
_MIN_FONT_SIZE: Final = 9.0


@dataclass(frozen=True, slots=True)
class PanelNumber:
    """A number of a panel, the series that it comes from, and its style."""

    value: float | None
    series: PlotSeries
    style: Style


def panel_numbers(props: PanelProps, reduce_options: Mapping[str, Any]) -> list[PanelNumber]:
    """Return a number for each series, or for each row if the panel's ``reduceOptions`` have ``values``."""
    calculations = reduce_options.get("calcs")
    calculation = string_of(calculations[0]) if isinstance(calculations, list) and calculations else "lastNotNull"
    numbers = []
    for series in series_of(props.frames):
        style = style_of(props.panel, props.theme, series)
        if reduce_options.get("values") is True:
            rows = series.values[:_MAX_NUMBERS].tolist()
            numbers += [PanelNumber(None if math.isnan(value) else value, series, style) for value in rows]
        else:
            numbers.append(PanelNumber(reduced_value(series.values, calculation), series, style))
    return numbers


def draw(props: PanelProps) -> PanelDrawing:
    """Return a drawing with each number in its own cell. Raises NothingToDraw if there are too many numbers for the panel."""
    options = props.panel.options
    numbers = panel_numbers(props, object_of(options.get("reduceOptions")))[:_MAX_NUMBERS]
    if not numbers:
        style = style_of(props.panel, props.theme)
        numbers = [PanelNumber(None, PlotSeries("", None, np.zeros(0)), style)]
    elements: list[str] = []
    mode = string_of(options.get("textMode"))
    for number, cell in zip(numbers, cells(props, len(numbers), string_of(options.get("orientation"))), strict=True):
        is_named = (len(numbers) > 1 and mode != "value") or mode in ("value_and_name", "name")
        elements += _draw_number(props, number, cell, is_named=is_named, options=options)
    return PanelDrawing(elements)


def cells(props: PanelProps, count: int, orientation: str) -> list[Cell]:
    """Return ``count`` cells of equal size that cover the panel. Raises NothingToDraw if they would be too small."""
    if orientation == "horizontal":
        columns = 1
    elif orientation == "vertical":
        columns = count
    else:
        # Cells are about twice as wide as high.
        columns = min(count, max(1, round(math.sqrt(count * props.width / max(props.height, 1) / 2))))
    rows = -(-count // columns)
    width, height = props.width / columns, props.height / rows
    if width < 12 or height < 10:
        raise NothingToDraw(f"{count} values, too many to show here")
    return [Cell(index % columns * width, index // columns * height, width, height) for index in range(count)]


def _draw_number(props: PanelProps, number: PanelNumber, cell: Cell, *, is_named: bool, options: Mapping[str, Any]) -> list[str]:
    colour = number.style.colour(number.value)
    colour_mode = string_of(options.get("colorMode"))
    is_filled = colour_mode in ("background", "background_solid") and number.value is not None
    elements = [rectangle(cell.x + 2, cell.y + 2, cell.width - 4, cell.height - 4, colour, radius=3)] if is_filled else []
    if string_of(options.get("graphMode")) != "none" and cell.height > 60:
        elements += _sparkline(number.series, cell, _TEXT_ON_COLOUR if is_filled else colour)
    formatted_value = number.style.format_value(number.value)
    name = display_name(number.style, number.series) if is_named else ""
    size = fitting_size(formatted_value, cell.width - 16, cell.height * (0.45 if name else 0.6))
    middle_y, centre_x = cell.y + cell.height / 2, cell.x + cell.width / 2
    value_colour = _TEXT_ON_COLOUR if is_filled else props.theme.text if colour_mode == "none" or number.value is None else colour
    if name:
        name_size = min(14.0, max(_MIN_FONT_SIZE, cell.height * 0.18))
        name_y = max(cell.y + name_size + 2, middle_y - size * 0.55)
        name_colour = _TEXT_ON_COLOUR if is_filled else props.theme.muted
        elements.append(
            text_element(truncated(name, name_size, cell.width - 12), centre_x, name_y, size=name_size, colour=name_colour, anchor="middle")
        )
        middle_y += name_size * 0.6
    value = truncated(formatted_value, size, cell.width - 8)
    return [*elements, text_element(value, centre_x, middle_y + size * 0.36, size=size, colour=value_colour, anchor="middle", bold=True)]


def fitting_size(text: str, width: float, height: float) -> float:
    """Return the font size at which a text fills a width or height in pixels, within the limits of font sizes."""
    return max(_MIN_FONT_SIZE, min(_MAX_FONT_SIZE, height, width / max(text_width(text, 1) * 1.08, 0.1)))


def _sparkline(series: PlotSeries, cell: Cell, colour: str) -> list[str]:
    """Return the series as lines in the lower third of a cell; a line ends at a gap."""
    series = downsampled(series, max(2, int(cell.width)))
    has_value = ~np.isnan(series.values)
    if series.times is None or has_value.sum() < 2:
        return []
    low, high = float(series.values[has_value].min()), float(series.values[has_value].max())
    start, end = float(series.times[0]), float(series.times[-1])
    height, bottom = cell.height * 0.28, cell.y + cell.height - 5
    segments: list[list[tuple[float, float]]] = [[]]
    for time, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
        if math.isnan(value):
            segments.append([])
            continue
        x = cell.x + 4 + (cell.width - 8) * ((time - start) / ((end - start) or 1))
        segments[-1].append((x, bottom - height * ((value - low) / ((high - low) or 1))))
    lines: Sequence[str] = [polyline(segment, colour, 1.2) for segment in segments if len(segment) > 1]
    return ['<g opacity="0.55">', *lines, "</g>"]
