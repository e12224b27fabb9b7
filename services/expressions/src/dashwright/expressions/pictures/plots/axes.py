"""Axes of a plot: a value axis for each scale at its left or right, and the time axis below, with grid lines behind the series."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.plots.marks import Plot
from dashwright.expressions.pictures.plots.plotted import PlottedSeries, is_boolean
from dashwright.expressions.pictures.plots.ranges import value_range
from dashwright.expressions.pictures.plots.scales import ScaleKey, ValueScale, distribution_of, range_settings, scale_of
from dashwright.expressions.pictures.plots.ticks import step_decimals, value_ticks
from dashwright.expressions.pictures.plots.time_ticks import time_ticks
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import text_element, text_width, truncated
from dashwright.expressions.pictures.theme import Theme

# All lengths are in pixels.
FONT_SIZE: Final = 11.0
TIME_AXIS_HEIGHT: Final = 20.0
#: The gap between the labels of a value axis and the plot.
_LABEL_GAP: Final = 7.0
#: The font size of the title of a value axis, and the width of the title with its margin.
_TITLE_SIZE: Final = 12.0
_TITLE_WIDTH: Final = 18.0
_MAX_LABEL_WIDTH: Final = 140.0
#: Zeros at the end of a number's decimals: of ``1.50 kB``, group 1 is the ``1`` and group 2 the ``.5`` before the zeros.
_TRAILING_ZEROS: Final = re.compile(r"(\d)(?:\.0+|(\.\d*?[1-9])0+)(?!\d)")
#: Prefixes of units whose labels keep the zeros at their end: in a time such as ``10:00``, zeros are not decimals.
_UNITS_WITH_FIXED_TEXT: Final = ("date", "time", "currency", "locale", "bool")


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """A value axis with its scale."""

    key: ScaleKey
    style: Style  #: The style of the first series.
    colour: str  #: The colour of the first series.
    scale: ValueScale
    values: Sequence[float]  #: The values at the ticks.
    labels: Sequence[str]
    is_right: bool
    is_visible: bool
    has_grid: bool

    @property
    def title(self) -> str:
        """The text along the axis."""
        return string_of(self.style.custom.get("axisLabel")).strip()

    @property
    def width(self) -> float:
        """The width in pixels."""
        if not self.is_visible:
            return 0.0
        configured = self.style.custom.get("axisWidth")
        default = max((text_width(label, FONT_SIZE) for label in self.labels), default=0.0) + _LABEL_GAP
        width = configured if isinstance(configured, int | float) and 0 < configured <= _MAX_LABEL_WIDTH else default
        return float(width) + (_TITLE_WIDTH if self.title else 0.0)


def value_axes(plotted: Sequence[PlottedSeries], height: float) -> list[ValueAxis]:
    """Return the axis of each scale that has a range. ``height`` is the height of the plot in pixels."""
    by_key: dict[ScaleKey, list[PlottedSeries]] = {}
    for series in plotted:
        if not series.look.is_hidden:
            by_key.setdefault(series.scale, []).append(series)
    axes: list[ValueAxis] = []
    for key, members in by_key.items():
        first = members[0]
        ends = _ends(members)
        if ends is None:
            continue
        style = Style({**first.style.config, "unit": "percentunit"}, first.style.theme) if first.is_percent else first.style
        placement = style.custom.get("axisPlacement")
        is_visible = placement != "hidden"
        # By default, the first visible axis is at the left and the others are at the right, and one axis has a grid.
        has_left_axis = any(axis.is_visible and not axis.is_right for axis in axes)
        is_right = placement == "right" or (placement != "left" and has_left_axis)
        scale = scale_of(style.custom, ends, height)
        ticks = value_ticks(scale, string_of(style.config.get("unit")), has_integers=style.decimals == 0)
        texts = tick_texts(style, ticks.values, ticks.step)
        labels = [truncated(text, FONT_SIZE, _MAX_LABEL_WIDTH) for text in texts]
        grid = style.custom.get("axisGridShow")
        has_grid = grid if isinstance(grid, bool) else not any(axis.has_grid for axis in axes)
        axes.append(
            ValueAxis(
                key,
                style,
                first.colour,
                scale,
                ticks.values,
                labels,
                is_right=is_right,
                is_visible=is_visible,
                has_grid=has_grid and is_visible,
            )
        )
    return axes


def tick_texts(style: Style, values: Sequence[float], step: float | None = None) -> list[str]:
    """Return the labels of ticks, with the configured number of decimals.

    By default, labels have the decimals of ``step``, the distance between ticks, without zeros at their end.
    """
    if style.decimals is not None:
        return [style.format_value(value) for value in values]
    if step and (decimals := step_decimals(step)):
        style = Style({**style.config, "decimals": decimals}, style.theme)
    is_fixed = string_of(style.config.get("unit")).startswith(_UNITS_WITH_FIXED_TEXT)
    texts = [style.format_value(value) for value in values]
    return texts if is_fixed else [_TRAILING_ZEROS.sub(r"\1\2", text) for text in texts]


def grid_elements(axes: Sequence[ValueAxis], plot: Plot, theme: Theme) -> list[str]:
    """Return the grid lines behind the series."""
    ys = [axis.scale.position(value) for axis in axes if axis.has_grid for value in axis.values]
    lines = [f"M0 {y:.1f}H{plot.width:.1f}" for y in ys]
    lines += [f"M{x:.1f} 0V{plot.height:.1f}" for x in plot.xs(np.array(_time_ticks(plot)[0])).tolist()]
    return [f'<path d="{"".join(lines)}" fill="none" stroke="{theme.grid}" stroke-width="1"/>'] if lines else []


def value_axis_elements(axes: Sequence[ValueAxis], left: float, top: float, width: float, theme: Theme) -> list[str]:
    """Return the labels and titles of the axes next to a plot, whose left and top edges and width are in pixels."""
    elements: list[str] = []
    # The outer edge of the axes at the left and at the right, by ``is_right``.
    edges = {False: left, True: left + width}
    for axis in axes:
        if not axis.is_visible:
            continue
        outwards = 1 if axis.is_right else -1
        edge = edges[axis.is_right]
        colour = axis.colour if axis.style.custom.get("axisColorMode") == "series" else theme.muted
        for value, label in zip(axis.values, axis.labels, strict=True):
            y = top + axis.scale.position(value) + FONT_SIZE * 0.35
            x = edge + outwards * _LABEL_GAP
            elements.append(text_element(label, x, y, size=FONT_SIZE, colour=colour, anchor="start" if axis.is_right else "end"))
        if axis.style.custom.get("axisBorderShow") is True:
            elements.append(f'<path d="M{edge:.1f} {top:.1f}v{axis.scale.height:.1f}" fill="none" stroke="{colour}"/>')
        edge += outwards * axis.width
        if axis.title:
            # The title is turned, so its letters extend from the baseline ``x`` to the left, and descenders 4 pixels to the right.
            elements.append(_title(axis, edge - 4 if axis.is_right else edge + _TITLE_SIZE, top, colour))
        edges[axis.is_right] = edge
    return elements


def time_axis_elements(plot: Plot, left: float, top: float, limits: tuple[float, float], theme: Theme) -> list[str]:
    """Return the labels below a plot. ``limits`` are the positions between which labels fit."""
    elements = []
    times, labels = _time_ticks(plot)
    for x, label in zip(plot.xs(np.array(times)).tolist(), labels, strict=True):
        half_width = text_width(label, FONT_SIZE) / 2
        if limits[0] <= left + x - half_width and left + x + half_width <= limits[1]:
            y = top + plot.height + TIME_AXIS_HEIGHT - 5
            elements.append(text_element(label, left + x, y, size=FONT_SIZE, colour=theme.muted, anchor="middle"))
    return elements


def _time_ticks(plot: Plot) -> tuple[Sequence[float], Sequence[str]]:
    ticks = time_ticks(plot.start, plot.end, plot.width, lambda text: text_width(text, FONT_SIZE), plot.zone)
    return ticks.times, ticks.labels


def _ends(members: Sequence[PlottedSeries]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of the scale that some series share, or None if they have no range."""
    first = members[0]
    is_logarithmic = distribution_of(first.style.custom)[0] == "log"
    lows, highs = [], []
    for member in members:
        # A logarithmic scale shows only positive values.
        values = member.values[member.values > 0] if is_logarithmic else member.values[~np.isnan(member.values)]
        if len(values):
            lows.append(float(values.min()))
            highs.append(float(values.max()))
    settings = range_settings(first.style.config, is_percent=first.is_percent)
    if is_boolean(first.series):
        settings = replace(settings, minimum=0, maximum=1)
    ends = value_range(settings, min(lows, default=None), max(highs, default=None))
    return ends if ends and all(map(math.isfinite, ends)) and ends[0] < ends[1] else None


def _title(axis: ValueAxis, x: float, top: float, colour: str) -> str:
    """Return the title of an axis, which reads from the bottom to the top."""
    y = top + axis.scale.height / 2
    text = truncated(axis.title, _TITLE_SIZE, axis.scale.height)
    element = text_element(text, x, y, size=_TITLE_SIZE, colour=colour, anchor="middle")
    return f'<g transform="rotate(-90 {x:.1f} {y:.1f})">{element}</g>'


def scales_by_key(axes: Sequence[ValueAxis]) -> Mapping[Any, ValueScale]:
    """Return the scale of each axis by its key."""
    return {axis.key: axis.scale for axis in axes}
