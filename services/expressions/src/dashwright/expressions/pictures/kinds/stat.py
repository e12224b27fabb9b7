"""Single large numbers, with their series as a small line behind them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import object_of, text_of
from dashwright.expressions.pictures.kinds.drawing import Cell, NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.series import PlotSeries, reduced, series_of, thinned
from dashwright.expressions.pictures.style import Style, shown_name, style_of
from dashwright.expressions.pictures.svg import box, line, shortened, text, width_of

_MOST_SHOWN: Final = 25
_ON_COLOUR: Final = "#ffffff"
_LARGEST: Final = 56.0
_SMALLEST: Final = 9.0


@dataclass(frozen=True, slots=True)
class PanelNumber:
    """A number of a panel, the series that it comes from, and its style."""

    value: float | None
    series: PlotSeries
    style: Style


def numbers_of_panel(sheet: Sheet, reducing: Mapping[str, Any]) -> list[PanelNumber]:
    """Return a number for each series, or for each row if ``reducing`` has ``values``."""
    calculations = reducing.get("calcs")
    calculation = text_of(calculations[0]) if isinstance(calculations, list) and calculations else "lastNotNull"
    found = []
    for series in series_of(sheet.frames):
        style = style_of(sheet.panel, sheet.theme, series)
        if reducing.get("values") is True:
            rows = series.values[:_MOST_SHOWN].tolist()
            found += [PanelNumber(None if math.isnan(value) else value, series, style) for value in rows]
        else:
            found.append(PanelNumber(reduced(series.values, calculation), series, style))
    return found


def draw(sheet: Sheet) -> PanelDrawing:
    """Return the numbers in cells. Raises NothingToDraw."""
    options = sheet.panel.options
    numbers = numbers_of_panel(sheet, object_of(options.get("reduceOptions")))[:_MOST_SHOWN]
    if not numbers:
        style = style_of(sheet.panel, sheet.theme)
        numbers = [PanelNumber(None, PlotSeries("", None, np.zeros(0)), style)]
    parts: list[str] = []
    mode = text_of(options.get("textMode"))
    for number, cell in zip(numbers, cells(sheet, len(numbers), text_of(options.get("orientation"))), strict=True):
        named = (len(numbers) > 1 and mode != "value") or mode in ("value_and_name", "name")
        parts += _one(sheet, number, cell, is_named=named, options=options)
    return PanelDrawing(parts)


def cells(sheet: Sheet, count: int, orientation: str) -> list[Cell]:
    """Return parts of a sheet of about the same size. Raises NothingToDraw if they would be too small."""
    if orientation == "horizontal":
        columns = 1
    elif orientation == "vertical":
        columns = count
    else:
        columns = min(count, max(1, round(math.sqrt(count * sheet.width / max(sheet.height, 1) / 2))))
    rows = -(-count // columns)
    width, height = sheet.width / columns, sheet.height / rows
    if width < 12 or height < 10:
        raise NothingToDraw(f"{count} values, too many to show here")
    return [Cell(number % columns * width, number // columns * height, width, height) for number in range(count)]


def _one(sheet: Sheet, number: PanelNumber, cell: Cell, *, is_named: bool, options: Mapping[str, Any]) -> list[str]:
    colour = number.style.colour(number.value)
    coloured = text_of(options.get("colorMode"))
    filled = coloured in ("background", "background_solid") and number.value is not None
    parts = [box(cell.x + 2, cell.y + 2, cell.width - 4, cell.height - 4, colour, radius=3)] if filled else []
    if text_of(options.get("graphMode")) != "none" and cell.height > 60:
        parts += _sparkline(number.series, cell, _ON_COLOUR if filled else colour)
    words = number.style.text(number.value)
    name = shown_name(number.style, number.series) if is_named else ""
    size = fitting(words, cell.width - 16, cell.height * (0.45 if name else 0.6))
    middle, centre = cell.y + cell.height / 2, cell.x + cell.width / 2
    ink = _ON_COLOUR if filled else sheet.theme.text if coloured == "none" or number.value is None else colour
    if name:
        small = min(14.0, max(_SMALLEST, cell.height * 0.18))
        above = max(cell.y + small + 2, middle - size * 0.55)
        tint = _ON_COLOUR if filled else sheet.theme.muted
        parts.append(text(shortened(name, small, cell.width - 12), centre, above, size=small, colour=tint, anchor="middle"))
        middle += small * 0.6
    shown = shortened(words, size, cell.width - 8)
    return [*parts, text(shown, centre, middle + size * 0.36, size=size, colour=ink, anchor="middle", bold=True)]


def fitting(words: str, width: float, height: float) -> float:
    """Return the size of letters at which a text fills a place."""
    return max(_SMALLEST, min(_LARGEST, height, width / max(width_of(words, 1) * 1.08, 0.1)))


def _sparkline(series: PlotSeries, cell: Cell, colour: str) -> list[str]:
    """Return the series in the lower third of a cell, in pieces where it has gaps."""
    series = thinned(series, max(2, int(cell.width)))
    held = ~np.isnan(series.values)
    if series.times is None or held.sum() < 2:
        return []
    low, high = float(series.values[held].min()), float(series.values[held].max())
    first, last = float(series.times[0]), float(series.times[-1])
    height, bottom = cell.height * 0.28, cell.y + cell.height - 5
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
        if math.isnan(value):
            pieces.append([])
            continue
        x = cell.x + 4 + (cell.width - 8) * ((at - first) / ((last - first) or 1))
        pieces[-1].append((x, bottom - height * ((value - low) / ((high - low) or 1))))
    drawn: Sequence[str] = [line(piece, colour, 1.2) for piece in pieces if len(piece) > 1]
    return ['<g opacity="0.55">', *drawn, "</g>"]
