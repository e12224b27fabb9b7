"""Axes of charts: the ticks of times and numbers, and their labels and grid lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.panels.drawing import Cell
from dashwright.expressions.pictures.plots import ticks as plot_ticks
from dashwright.expressions.pictures.plots.axes import tick_texts
from dashwright.expressions.pictures.plots.scales import ValueScale
from dashwright.expressions.pictures.plots.time_ticks import time_ticks
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import path, text_element, text_width
from dashwright.expressions.pictures.theme import Theme

LABEL_SIZE: Final = 11.0
#: The height in pixels below a chart for the labels of its horizontal axis.
AXIS_HEIGHT: Final = 20.0
#: Pixels between the labels of a vertical axis and the left border of the panel.
LABEL_MARGIN: Final = 4
#: Pixels between labels, and between a chart and the labels to the left of it.
_LABEL_DISTANCE: Final = 6.0
#: Added to the widths of labels, because the fonts of browsers may be wider.
_WIDTH_TOLERANCE: Final = 4
#: Pixels from the lower edge of a chart to the baseline of the labels below it, and from the middle of other labels to theirs.
_BASELINE_BELOW: Final = 15
_BASELINE: Final = 4
#: The distance between ticks of a vertical axis, relative to a horizontal axis, whose labels need more room.
_HORIZONTAL_SHARE: Final = 30 / 80
#: The minimum length in pixels from which horizontal ticks are computed, because ticks of vertical axes up to 150 pixels are closer.
_MIN_TICK_LENGTH: Final = 151.0


@dataclass(frozen=True, slots=True)
class PixelScale:
    """The linear mapping of values from ``low`` to ``high`` to pixels from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def position(self, value: float) -> float:
        """Return the position of a value in pixels."""
        # Halved, so that distances of huge values are finite.
        share = (value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)
        return self.start + (self.end - self.start) * share

    def positions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of values in pixels."""
        return self.start + (self.end - self.start) * ((values / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0))


def value_ticks(low: float, high: float, length: float, style: Style, *, is_horizontal: bool = False) -> list[tuple[float, str]]:
    """Return the ticks of an axis with a length in pixels, with their labels in the unit of a style. Horizontal labels need more room."""
    height = max(length * _HORIZONTAL_SHARE, _MIN_TICK_LENGTH) if is_horizontal else length
    unit_id = string_of(style.config.get("unit"))
    ticks = plot_ticks.value_ticks(ValueScale(low, high, height), unit_id, has_integers=style.decimals == 0)
    return list(zip(ticks.values, tick_texts(style, ticks.values, ticks.step), strict=True))


def padded_range(low: float, high: float) -> tuple[float, float]:
    """Return a range for bars that contains 0 and has room beyond the bars."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return 0.0, 1.0
    # Divided first, so that the margin of huge values is finite. A tenth of the smallest numbers is 0.
    margin = (high / 10 - low / 10) or high - low
    return (low - margin if low < 0 else 0.0), (high + margin if high > 0 else 0.0)


def time_axis(area: Cell, start: float, end: float, zone: tzinfo, theme: Theme, *, has_grid: bool = False) -> list[str]:
    """Return the labels of times in a zone below an area, with ``has_grid`` also a vertical line at each label."""
    ticks = time_ticks(start, end, area.width, lambda label: text_width(label, LABEL_SIZE), zone)
    scale = PixelScale(start, end, area.x, area.x + area.width)
    labelled = [(scale.position(time), label) for time, label in zip(ticks.times, ticks.labels, strict=True)]
    return bottom_axis(area, labelled, theme, has_grid=has_grid)


def bottom_axis(area: Cell, labelled: Sequence[tuple[float, str]], theme: Theme, *, has_grid: bool = False) -> list[str]:
    """Return labels at positions in pixels below an area, with ``has_grid`` also a vertical line at each position.

    A label that would touch the previous one is omitted.
    """
    elements = []
    if has_grid and labelled:
        lines = "".join(f"M{position:.1f} {area.y:.1f}v{area.height:.1f}" for position, _ in labelled)
        elements.append(path(lines, stroke=theme.grid))
    free_from, right = -math.inf, area.x + area.width + _LABEL_DISTANCE
    for position, label in labelled:
        width = text_width(label, LABEL_SIZE)
        middle = max(min(position, right - width / 2), width / 2)
        if middle - width / 2 < free_from:
            continue
        free_from = middle + width / 2 + _LABEL_DISTANCE
        y = area.y + area.height + _BASELINE_BELOW
        elements.append(text_element(label, middle, y, size=LABEL_SIZE, colour=theme.muted, anchor="middle"))
    return elements


def value_axis(area: Cell, scale: PixelScale, ticks: Sequence[tuple[float, str]], theme: Theme) -> list[str]:
    """Return horizontal lines at ticks of an area, with their labels to the left of it."""
    lines = "".join(f"M{area.x:.1f} {scale.position(tick):.1f}h{area.width:.1f}" for tick, _ in ticks)
    return [path(lines, stroke=theme.grid), *left_labels(area, [(scale.position(tick), label) for tick, label in ticks], theme)]


def left_labels(area: Cell, labelled: Sequence[tuple[float, str]], theme: Theme) -> list[str]:
    """Return labels at vertical positions in pixels to the left of an area, as many as fit."""
    elements: list[str] = []
    last_position = math.inf
    for position, label in labelled:
        if abs(last_position - position) < LABEL_SIZE:
            continue
        last_position = position
        x, y = area.x - _LABEL_DISTANCE, position + _BASELINE
        elements.append(text_element(label, x, y, size=LABEL_SIZE, colour=theme.muted, anchor="end"))
    return elements


def labels_width(labels: Sequence[str], width_limit: float) -> float:
    """Return the width in pixels that labels to the left of an area need, with some space for wider fonts, at most ``width_limit``."""
    widest = max((text_width(label, LABEL_SIZE) for label in labels), default=0.0)
    return min(widest + _LABEL_DISTANCE + _WIDTH_TOLERANCE, width_limit)
