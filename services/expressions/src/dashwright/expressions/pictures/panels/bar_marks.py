"""Bars of bar charts and histograms, and the values at their ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import number_of
from dashwright.expressions.pictures.panels.axes import PixelScale
from dashwright.expressions.pictures.panels.drawing import Cell
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import BASELINE, path, text_element, text_width

_DEFAULT_OPACITY: Final = 80
_DEFAULT_LINE_WIDTH: Final = 1.0
_MAX_LINE_WIDTH: Final = 10.0
#: The smallest and the largest size of the values at bars, in pixels, as in Grafana.
_MIN_VALUE_SIZE: Final = 8.0
_MAX_VALUE_SIZE: Final = 30.0
#: Values in larger fonts are reduced until they fit above the highest bar.
_MIN_LARGE_VALUE_SIZE: Final = 14.0
#: The largest size of values in bars.
_MAX_INNER_SIZE: Final = 14.0
#: The font size of a value next to a bar relative to the bar's height, and the share of a bar's width that a value above it takes.
_SIZE_TO_HEIGHT: Final = 0.65
_WIDTH_SHARE: Final = 0.95
#: Pixels between a bar and its value.
_VALUE_GAP: Final = 4.0


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A bar with its place in pixels."""

    cell: Cell
    colour: str
    text: str  #: The value.
    is_negative: bool = False


@dataclass(frozen=True, slots=True)
class BarLook:
    """The settings of the bars of a series."""

    opacity: float  #: From 0 to 1.
    line_width: float  #: In pixels.

    @staticmethod
    def of(style: Style) -> "BarLook":
        """Return the look that a style configures."""
        opacity, width = number_of(style.custom.get("fillOpacity")), number_of(style.custom.get("lineWidth"))
        return BarLook(
            min(max(_DEFAULT_OPACITY if opacity is None else opacity, 0), 100) / 100,
            min(max(_DEFAULT_LINE_WIDTH if width is None else width, 0.0), _MAX_LINE_WIDTH),
        )


def bar_cell(scale: PixelScale, ends: tuple[float, float], across: float, thickness: float, *, is_horizontal: bool) -> Cell:
    """Return the place of a bar between two values, cut at the ends of the scale. ``across`` is its left or upper edge in pixels."""
    lowest, highest = min(scale.start, scale.end), max(scale.start, scale.end)
    low, high = sorted(min(max(scale.position(value), lowest), highest) for value in ends)
    return Cell(low, across, high - low, thickness) if is_horizontal else Cell(across, low, thickness, high - low)


def bar_elements(bars: Sequence[ChartBar], look: BarLook) -> list[str]:
    """Return one element for the bars of each colour."""
    by_colour: dict[str, list[str]] = {}
    for bar in bars:
        cell = bar.cell
        outline = f"M{cell.x:.1f} {cell.y:.1f}h{cell.width:.1f}v{cell.height:.1f}h{-cell.width:.1f}z"
        by_colour.setdefault(bar.colour, []).append(outline)
    stroke_width = look.line_width
    return [
        path("".join(outlines), fill=colour, opacity=look.opacity, stroke=colour if stroke_width else "none", width=stroke_width)
        for colour, outlines in by_colour.items()
    ]


def value_elements(bars: Sequence[ChartBar], area: Cell, colour: str, mode: str, *, is_stacked: bool, is_horizontal: bool) -> list[str]:
    """Return the values of bars in one size: beyond their ends, or in the middle of stacked ones.

    ``mode`` is ``always``, ``never``, or anything else to show the values if they are readable.
    """
    if mode == "never" or not bars:
        return []
    if is_horizontal:
        size = min(bar.cell.height for bar in bars) * _SIZE_TO_HEIGHT
    else:
        widest = max(text_width(bar.text, 1.0) for bar in bars) or 1.0
        size = min(bar.cell.width for bar in bars) * _WIDTH_SHARE / widest
    size = min(size, _MAX_VALUE_SIZE)
    if size < _MIN_VALUE_SIZE and mode != "always":
        return []
    size = max(size, _MIN_VALUE_SIZE)
    if is_stacked:
        size = min(size, _MAX_INNER_SIZE)
        return [_inside(bar, size, colour) for bar in bars if bar.cell.height >= size and bar.cell.width >= text_width(bar.text, size)]
    if not is_horizontal:
        free_height = min((bar.cell.y - area.y for bar in bars if not bar.is_negative), default=math.inf)
        size = min(size, max(free_height, _MIN_LARGE_VALUE_SIZE))
    draw_value = _value_at_side if is_horizontal else _value_above
    return [draw_value(bar, size, colour, area) for bar in bars]


def _inside(bar: ChartBar, size: float, colour: str) -> str:
    """Return the value in the middle of a bar."""
    x, y = bar.cell.x + bar.cell.width / 2, bar.cell.y + bar.cell.height / 2 + size * BASELINE
    return text_element(bar.text, x, y, size=size, colour=colour, anchor="middle")


def _value_above(bar: ChartBar, size: float, colour: str, area: Cell) -> str:
    """Return the value above a bar, or below a negative one, moved into the area if it would exceed it."""
    bottom = bar.cell.y + bar.cell.height
    y = min(bottom + size, area.y + area.height) if bar.is_negative else max(bar.cell.y - _VALUE_GAP, area.y + size * 0.8)
    return text_element(bar.text, bar.cell.x + bar.cell.width / 2, y, size=size, colour=colour, anchor="middle")


def _value_at_side(bar: ChartBar, size: float, colour: str, area: Cell) -> str:
    """Return the value beyond the end of a bar, or in the bar if it does not fit beyond it."""
    y, width = bar.cell.y + bar.cell.height / 2 + size * BASELINE, text_width(bar.text, size)
    left, right = bar.cell.x, bar.cell.x + bar.cell.width
    if bar.is_negative:
        x = left - _VALUE_GAP if left - _VALUE_GAP - width >= area.x else min(left + _VALUE_GAP + width, area.x + area.width)
        return text_element(bar.text, x, y, size=size, colour=colour, anchor="end")
    x = right + _VALUE_GAP if right + _VALUE_GAP + width <= area.x + area.width else max(right - _VALUE_GAP - width, area.x)
    return text_element(bar.text, x, y, size=size, colour=colour)


def is_drawn(start: float, end: float) -> bool:
    """Return whether both ends of a bar are known, so that it can be drawn."""
    return not (math.isnan(start) or math.isnan(end))
