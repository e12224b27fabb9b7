"""Thresholds in a plot: areas between them and lines at them, over the whole width, as Grafana draws them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.plots.marks import Plot
from dashwright.expressions.pictures.plots.scales import ValueScale
from dashwright.expressions.pictures.style import Style, ThresholdStep
from dashwright.expressions.pictures.svg import rectangle

_AREA_OPACITY: Final = 0.15
_LINE_OPACITY: Final = 0.7
_LINE_WIDTH: Final = 2
_DASH: Final = "10 10"
#: Whether lines are drawn, whether they are dashed, and whether areas are drawn, by the mode of ``thresholdsStyle``.
_MODES: Final = {
    "line": (True, False, False),
    "dashed": (True, True, False),
    "area": (False, False, True),
    "line+area": (True, False, True),
    "dashed+area": (True, True, True),
}


def has_thresholds(style: Style) -> bool:
    """Return whether the thresholds of a style are drawn."""
    return style.custom_string("thresholdsStyle", "mode") in _MODES


def threshold_elements(style: Style, scale: ValueScale, plot: Plot) -> list[str]:
    """Return the elements of the thresholds of a style on a scale."""
    has_lines, is_dashed, has_areas = _MODES[style.custom_string("thresholdsStyle", "mode")]
    soft_low, soft_high = style.custom.get("axisSoftMin"), style.custom.get("axisSoftMax")
    low = next((limit for limit in (style.minimum, soft_low) if isinstance(limit, int | float)), scale.low)
    high = next((limit for limit in (style.maximum, soft_high) if isinstance(limit, int | float)), scale.high)
    steps = style.thresholds(minimum=low, maximum=high)
    elements = _areas(steps, scale, plot) if has_areas else []
    return elements + (_lines(steps, scale, plot, is_dashed=is_dashed) if has_lines else [])


def _areas(steps: Sequence[ThresholdStep], scale: ValueScale, plot: Plot) -> list[str]:
    """Return the areas between thresholds in the colours of their steps."""
    elements = []
    # The first step is the base; its value is ignored.
    limits = [scale.height, *(_position(step, scale) for step in steps[1:]), 0.0]
    for step, (bottom, top) in zip(steps, pairwise(limits), strict=False):
        if step.colour != TRANSPARENT and bottom > top:
            elements.append(rectangle(0, top, plot.width, bottom - top, step.colour, opacity=_AREA_OPACITY))
    return elements


def _lines(steps: Sequence[ThresholdStep], scale: ValueScale, plot: Plot, *, is_dashed: bool) -> list[str]:
    """Return the lines at thresholds."""
    dash = f' stroke-dasharray="{_DASH}"' if is_dashed else ""
    # Up to the last transparent step, a line is the upper limit of the colour below it, and has that colour.
    last_transparent = max((index for index, step in enumerate(steps) if step.colour == TRANSPARENT), default=0)
    elements = []
    for index, step in enumerate(steps[1:], 1):
        colour = steps[index - 1].colour if index <= last_transparent else step.colour
        if step.value is None or colour == TRANSPARENT or not scale.low <= step.value <= scale.high:
            continue
        y = scale.position(step.value)
        elements.append(
            f'<path d="M0 {y:.1f}H{plot.width:.1f}" fill="none" stroke="{colour}" stroke-opacity="{_LINE_OPACITY}"'
            f' stroke-width="{_LINE_WIDTH}"{dash}/>'
        )
    return elements


def _position(step: ThresholdStep, scale: ValueScale) -> float:
    """Return the position of a step, limited to the plot."""
    return scale.height if step.value is None else min(max(scale.position(step.value), 0.0), scale.height)
