"""Numbers between two ends: as half circles, or as bars next to one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import object_of, text_of
from dashwright.expressions.pictures.kinds.drawing import Cell, NothingToDraw, PanelDrawing, Sheet
from dashwright.expressions.pictures.kinds.stat import PanelNumber, cells, fitting, numbers_of_panel
from dashwright.expressions.pictures.style import shown_name
from dashwright.expressions.pictures.svg import arc, box, shortened, text, width_of

_MOST_GAUGES: Final = 12
_MOST_BARS: Final = 40
_NAME: Final = 12.0
_LOWEST_ROW: Final = 14


def draw(sheet: Sheet) -> PanelDrawing:
    """Return half circles. Raises NothingToDraw."""
    numbers = numbers_of_panel(sheet, object_of(sheet.panel.options.get("reduceOptions")))[:_MOST_GAUGES]
    if not numbers:
        raise NothingToDraw("No data")
    parts: list[str] = []
    for number, cell in zip(numbers, cells(sheet, len(numbers), text_of(sheet.panel.options.get("orientation"))), strict=True):
        parts += _gauge(sheet, number, cell, is_named=len(numbers) > 1)
    return PanelDrawing(parts)


def draw_bars(sheet: Sheet) -> PanelDrawing:
    """Return a bar for each number. Raises NothingToDraw."""
    numbers = numbers_of_panel(sheet, object_of(sheet.panel.options.get("reduceOptions")))
    if not numbers:
        raise NothingToDraw("No data")
    numbers = numbers[: min(_MOST_BARS, max(1, int(sheet.height // _LOWEST_ROW)))]
    height = min(sheet.height / len(numbers), 48)
    words = [number.style.text(number.value) for number in numbers]
    parts: list[str] = []
    for row, (number, shown) in enumerate(zip(numbers, words, strict=True)):
        cell = Cell(4, row * height, sheet.width - 8, height)
        parts += _bar(sheet, number, shown, cell, _Columns.of(words, cell), _ends(number, numbers))
    return PanelDrawing(parts)


def _ends(number: PanelNumber, among: list[PanelNumber]) -> tuple[float, float]:
    """Return the least and the most: as configured, else of all numbers, and for percentages 0 and 100."""
    values = [each.value for each in among if each.value is not None]
    unit = number.style.configured.get("unit")
    usual = 100.0 if unit == "percent" else 1.0 if unit == "percentunit" else max([*values, 0.0]) if len(among) > 1 else 100.0
    least = number.style.least if number.style.least is not None else min([*values, 0.0])
    return least, number.style.most if number.style.most is not None else usual


def _share(value: float | None, ends: tuple[float, float]) -> float:
    least, most = ends
    return 0.0 if value is None or most <= least else min(max((value - least) / (most - least), 0.0), 1.0)


def _gauge(sheet: Sheet, number: PanelNumber, cell: Cell, *, is_named: bool) -> list[str]:
    least, most = _ends(number, [number])
    room = cell.height - (_NAME + 8 if is_named else 4)
    radius = max(8.0, min(cell.width / 2 - 14, room - 12))
    thick = max(4.0, radius * 0.24)
    middle = (cell.x + cell.width / 2, cell.y + (room + radius) / 2 + 2)
    share, colour = _share(number.value, (least, most)), number.style.colour(number.value)
    parts = [arc(middle, radius - thick / 2, (0, 1), sheet.theme.grid, thick)]
    if share > 0:
        parts.append(arc(middle, radius - thick / 2, (0, share), colour, thick))
    steps = number.style.thresholds(least=least, most=most)
    starts = [_share(least if step.value is None else step.value, (least, most)) for step in steps]
    for step, start, end in zip(steps, starts, [*starts, 1.0][1:], strict=True):
        if end > start:
            parts.append(arc(middle, radius + 2, (start, end), step.colour, 3))
    words = number.style.text(number.value)
    size = fitting(words, (radius - thick) * 1.7, radius * 0.5)
    parts.append(text(words, *(middle[0], middle[1] - 2), size=size, colour=colour, anchor="middle", bold=True))
    if is_named:
        name = shortened(shown_name(number.style, number.series), _NAME, cell.width - 8)
        parts.append(text(name, middle[0], cell.y + cell.height - 5, size=_NAME, colour=sheet.theme.muted, anchor="middle"))
    return parts


@dataclass(frozen=True, slots=True)
class _Columns:
    """The size of letters and the widths of names and values, equal for all bars."""

    size: float
    left: float
    right: float

    @staticmethod
    def of(words: Sequence[str], cell: Cell) -> "_Columns":
        size = min(13.0, cell.height * 0.6, cell.width / 14)
        widest = max(width_of(each, size) for each in words) * 1.15 + 16
        return _Columns(size, cell.width * 0.3, min(cell.width * 0.4, max(widest, cell.width * 0.15)))


def _bar(sheet: Sheet, number: PanelNumber, words: str, cell: Cell, columns: _Columns, ends: tuple[float, float]) -> list[str]:
    size, left, right = columns.size, columns.left, columns.right
    long, middle = cell.width - left - right, cell.y + cell.height / 2 + size * 0.36
    name = shortened(shown_name(number.style, number.series), size, left - 8)
    colour = number.style.colour(number.value)
    thick = cell.height * 0.66
    top = cell.y + (cell.height - thick) / 2
    return [
        text(name, cell.x + left - 8, middle, size=size, colour=sheet.theme.text, anchor="end"),
        box(cell.x + left, top, long, thick, sheet.theme.grid, radius=2),
        box(cell.x + left, top, long * _share(number.value, ends), thick, colour, radius=2, opacity=0.85),
        text(shortened(words, size, right - 8), cell.x + left + long + 8, middle, size=size, colour=colour, bold=True),
    ]
