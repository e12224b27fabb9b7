"""Gauges: numbers between a minimum and a maximum, as half circles or as horizontal bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.stat import PanelNumber, cells, fitting_size, panel_numbers
from dashwright.expressions.pictures.style import display_name
from dashwright.expressions.pictures.svg import arc, rectangle, text_element, text_width, truncated

_MAX_GAUGES: Final = 12
_MAX_BARS: Final = 40
# In pixels.
_NAME_SIZE: Final = 12.0
_MIN_ROW_HEIGHT: Final = 14
_MAX_ROW_HEIGHT: Final = 48


def draw(props: PanelProps) -> PanelDrawing:
    """Return a half circle for each number. Raises NothingToDraw if there are no numbers."""
    numbers = panel_numbers(props, object_of(props.panel.options.get("reduceOptions")))[:_MAX_GAUGES]
    if not numbers:
        raise NothingToDraw("No data")
    elements: list[str] = []
    for number, cell in zip(numbers, cells(props, len(numbers), string_of(props.panel.options.get("orientation"))), strict=True):
        elements += _gauge(props, number, cell, is_named=len(numbers) > 1)
    return PanelDrawing(elements)


def draw_bars(props: PanelProps) -> PanelDrawing:
    """Return a horizontal bar for each number. Raises NothingToDraw if there are no numbers."""
    numbers = panel_numbers(props, object_of(props.panel.options.get("reduceOptions")))
    if not numbers:
        raise NothingToDraw("No data")
    numbers = numbers[: min(_MAX_BARS, max(1, int(props.height // _MIN_ROW_HEIGHT)))]
    row_height = min(props.height / len(numbers), _MAX_ROW_HEIGHT)
    formatted_values = [number.style.format_value(number.value) for number in numbers]
    elements: list[str] = []
    for row, (number, formatted_value) in enumerate(zip(numbers, formatted_values, strict=True)):
        cell = Cell(4, row * row_height, props.width - 8, row_height)
        elements += _bar(props, number, formatted_value, cell, _Columns.fitting(formatted_values, cell), _value_range(number, numbers))
    return PanelDrawing(elements)


def _value_range(number: PanelNumber, numbers: list[PanelNumber]) -> tuple[float, float]:
    """Return the minimum and the maximum of a gauge or bar.

    Without a configured minimum, it is the smallest number, but at most 0. Without a configured maximum, it is 100 % for a percentage,
    100 for a single number, and otherwise the largest number, but at least 0.
    """
    values = [item.value for item in numbers if item.value is not None]
    unit = number.style.config.get("unit")
    default_maximum = 100.0
    if unit == "percentunit":
        default_maximum = 1.0
    elif unit != "percent" and len(numbers) > 1:
        default_maximum = max([*values, 0.0])
    minimum = number.style.minimum if number.style.minimum is not None else min([*values, 0.0])
    return minimum, number.style.maximum if number.style.maximum is not None else default_maximum


def _share(value: float | None, value_range: tuple[float, float]) -> float:
    """Return how far a value is from the minimum to the maximum, from 0 to 1; a missing value is 0."""
    minimum, maximum = value_range
    return 0.0 if value is None or maximum <= minimum else min(max((value - minimum) / (maximum - minimum), 0.0), 1.0)


def _gauge(props: PanelProps, number: PanelNumber, cell: Cell, *, is_named: bool) -> list[str]:
    """Return a gauge: an arc as long as the share of the number, a thin outer arc for each threshold, and the number as text."""
    minimum, maximum = _value_range(number, [number])
    height = cell.height - (_NAME_SIZE + 8 if is_named else 4)
    radius = max(8.0, min(cell.width / 2 - 14, height - 12))
    thickness = max(4.0, radius * 0.24)
    centre = (cell.x + cell.width / 2, cell.y + (height + radius) / 2 + 2)
    share, colour = _share(number.value, (minimum, maximum)), number.style.colour(number.value)
    elements = [arc(centre, radius - thickness / 2, (0, 1), props.theme.grid, thickness)]
    if share > 0:
        elements.append(arc(centre, radius - thickness / 2, (0, share), colour, thickness))
    steps = number.style.thresholds(minimum=minimum, maximum=maximum)
    starts = [_share(minimum if step.value is None else step.value, (minimum, maximum)) for step in steps]
    ends = [*starts[1:], 1.0] if starts else []
    for step, start, end in zip(steps, starts, ends, strict=True):
        if end > start:
            elements.append(arc(centre, radius + 2, (start, end), step.colour, 3))
    formatted_value = number.style.format_value(number.value)
    size = fitting_size(formatted_value, (radius - thickness) * 1.7, radius * 0.5)
    elements.append(text_element(formatted_value, centre[0], centre[1] - 2, size=size, colour=colour, anchor="middle", bold=True))
    if is_named:
        name = truncated(display_name(number.style, number.series), _NAME_SIZE, cell.width - 8)
        elements.append(text_element(name, centre[0], cell.y + cell.height - 5, size=_NAME_SIZE, colour=props.theme.muted, anchor="middle"))
    return elements


@dataclass(frozen=True, slots=True)
class _Columns:
    """The font size and the widths of names and values in pixels, equal for all bars."""

    font_size: float
    name_width: float
    value_width: float

    @staticmethod
    def fitting(values: Sequence[str], cell: Cell) -> "_Columns":
        """Return the columns for formatted values; ``cell`` is the rectangle of one bar."""
        font_size = min(13.0, cell.height * 0.6, cell.width / 14)
        widest_value = max(text_width(value, font_size) for value in values) * 1.15 + 16
        return _Columns(font_size, cell.width * 0.3, min(cell.width * 0.4, max(widest_value, cell.width * 0.15)))


def _bar(
    props: PanelProps, number: PanelNumber, formatted_value: str, cell: Cell, columns: _Columns, value_range: tuple[float, float]
) -> list[str]:
    size, bar_x = columns.font_size, cell.x + columns.name_width
    bar_width = cell.width - columns.name_width - columns.value_width
    bar_height = cell.height * 0.66
    bar_y = cell.y + (cell.height - bar_height) / 2
    baseline = cell.y + cell.height / 2 + size * 0.36
    name = truncated(display_name(number.style, number.series), size, columns.name_width - 8)
    value = truncated(formatted_value, size, columns.value_width - 8)
    colour = number.style.colour(number.value)
    return [
        text_element(name, bar_x - 8, baseline, size=size, colour=props.theme.text, anchor="end"),
        rectangle(bar_x, bar_y, bar_width, bar_height, props.theme.grid, radius=2),
        rectangle(bar_x, bar_y, bar_width * _share(number.value, value_range), bar_height, colour, radius=2, opacity=0.85),
        text_element(value, bar_x + bar_width + 8, baseline, size=size, colour=colour, bold=True),
    ]
