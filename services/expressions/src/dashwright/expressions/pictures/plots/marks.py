"""Marks of series in a plot: areas, lines, bars and points, as elements of SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.pictures.plots import paths
from dashwright.expressions.pictures.plots.gradients import series_gradient
from dashwright.expressions.pictures.plots.plotted import PlottedSeries
from dashwright.expressions.pictures.plots.scales import ValueScale

_MIN_BAR_WIDTH: Final = 1.0
#: Bars with smaller gaps, in pixels, touch each other.
_MIN_GAP: Final = 1.0


@dataclass(frozen=True, slots=True)
class Plot:
    """The rectangle in which series are drawn, with its time axis. Positions are in pixels from its left and top edges."""

    width: float
    height: float
    start: float  #: The time at the left edge, in milliseconds since 1970.
    end: float  #: The time at the right edge.
    zone: tzinfo = UTC  #: Of the labels of the time axis.

    def xs(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the horizontal positions of times."""
        return (times - self.start) * (self.width / max(self.end - self.start, 1))


def series_elements(plotted: Sequence[PlottedSeries], scales: Mapping[object, ValueScale], plot: Plot) -> list[str]:
    """Return the elements of all visible series, from back to front."""
    visible = [series for series in plotted if not series.look.is_hidden and series.scale in scales and len(series.times)]
    slot = _bar_slot(visible, plot)
    # Reversed, so that the first of several series with one name remains.
    by_name = {name: series for series in reversed(plotted) for name in (series.name, series.series.name)}
    elements = []
    for series in visible:
        scale = scales[series.scale]
        drawing = _SeriesDrawing(series, scale, plot)
        if series.look.draw_style == "bars":
            elements += drawing.bars(slot)
        else:
            elements += drawing.areas(by_name.get(series.look.fills_to)) + drawing.lines() + drawing.points()
    return elements


def exceed_plot(plotted: Sequence[PlottedSeries], scales: Mapping[object, ValueScale]) -> bool:
    """Return whether values are above or below their scales, so that the plot must be clipped."""
    for series in plotted:
        scale = scales.get(series.scale)
        if scale is not None and not series.look.is_hidden and len(series.values):
            inside = (series.values >= scale.low) & (series.values <= scale.high) | np.isnan(series.values)
            if not inside.all():
                return True
    return False


def stay_near_plot(plotted: Sequence[PlottedSeries], distance: float) -> bool:
    """Return whether marks of values within their scales extend beyond the plot by at most ``distance`` pixels. See ``exceed_plot``."""
    looks = [series.look for series in plotted]
    # The values of the other series, down to which an area is filled, may be far outside.
    return not any(look.fills_to or max(look.line_width, look.point_size) / 2 > distance for look in looks)


class _SeriesDrawing:
    """The drawing of one series."""

    def __init__(self, plotted: PlottedSeries, scale: ValueScale, plot: Plot) -> None:
        self._plotted, self._look = plotted, plotted.look
        self._scale, self._plot = scale, plot
        self._xs = plot.xs(plotted.times)
        self._ys = scale.positions(plotted.values)
        self._runs = list(paths.runs(self._ys))

    def areas(self, target: PlottedSeries | None) -> list[str]:
        """Return the area below the line: down to another series, to the series below it in the stack, or to zero."""
        look = self._look
        if look.draw_style != "line" or not look.fill_opacity or (look.fills_to and target is None):
            return []
        floor = self._floor(target)
        parts = []
        for run in self._runs:
            # A series that the area is filled to may have gaps of its own.
            for part in paths.runs(floor[run]):
                section = slice(run.start + part.start, run.start + part.stop)
                parts.append(paths.area(self._xs[section], self._ys[section], floor[section], look.interpolation))
        definition, paint, opacity = self._fill()
        return [f'{definition}<path d="{"".join(parts)}" fill="{paint}" fill-opacity="{opacity:g}"/>'] if parts else []

    def lines(self) -> list[str]:
        """Return the line."""
        look = self._look
        if look.draw_style != "line" or not look.line_width:
            return []
        description = "".join(
            paths.line(self._xs[run], self._ys[run], look.interpolation) for run in self._runs if run.stop - run.start > 1
        )
        if not description:
            return []
        definition, paint = self._stroke()
        dash = f' stroke-dasharray="{" ".join(f"{length:g}" for length in look.dash)}"' if look.dash else ""
        ends = ' stroke-linecap="round"' if look.has_round_ends else ""
        attributes = f'stroke-width="{look.line_width:g}" stroke-linejoin="round"{dash}{ends}'
        return [f'{definition}<path d="{description}" fill="none" stroke="{paint}" {attributes}/>']

    def points(self) -> list[str]:
        """Return the points: all of them, or only each point between two gaps, which a line does not show."""
        look = self._look
        if look.draw_style == "points" or look.points == "always" or (look.points == "auto" and self._has_room_for_points()):
            selected = np.flatnonzero(~np.isnan(self._ys) & ~self._are_cuts())
        elif look.points == "auto":
            selected = np.array([run.start for run in self._runs if run.stop - run.start == 1], dtype=np.intp)
        else:
            return []
        if not len(selected) or not look.point_size:
            return []
        definition, paint = self._stroke()
        description = paths.dots(self._xs[selected], self._ys[selected])
        return [
            f'{definition}<path d="{description}" fill="none" stroke="{paint}" stroke-width="{look.point_size:g}" stroke-linecap="round"/>'
        ]

    def bars(self, slot: float) -> list[str]:
        """Return the bars, for points that are ``slot`` pixels apart, by the rules of uPlot.

        Edges are inside of bars that have gaps between them. Bars too narrow for their edges are filled with the colour of the edges.
        """
        look, floor = self._look, self._floor(None)
        is_drawn = ~np.isnan(self._ys)
        if self._plotted.floor is not None:
            # In a stack, bars of zero would be lines between other bars.
            is_drawn &= self._ys != floor
        selected = np.flatnonzero(is_drawn)
        if not len(selected):
            return []
        gap = slot * (1 - look.bar_share)
        gap = gap if gap >= _MIN_GAP else 0.0
        edge = look.line_width if look.line_width < slot * look.bar_share / 2 else 0.0
        width = min(max(slot - gap - (edge if gap else 0.0), _MIN_BAR_WIDTH), look.max_bar_width)
        # The alignment -1 moves bars to the left of their times, 0 centres them, and 1 moves them to the right.
        left = self._xs[selected] + (look.bar_alignment - 1) / 2 * width + (look.bar_alignment * edge / 2 if gap else 0.0)
        # Bars at the edges of the plot are cut.
        right = np.clip(left + width, 0, self._plot.width)
        left = np.clip(left, 0, self._plot.width)
        ys, floor = self._ys[selected], floor[selected]
        top = np.minimum(ys, floor) + edge // 2
        bottom = top + np.maximum(np.abs(ys - floor) - edge, 0)
        description = paths.bars(left, right - left, top, bottom)
        definition, paint, opacity = self._fill()
        stroke_definition, stroke = self._stroke()
        if look.line_width and not edge:
            return [f'{stroke_definition}<path d="{description}" fill="{stroke}"/>']
        paints = f'fill="{paint}" fill-opacity="{opacity:g}" stroke="{stroke}" stroke-width="{edge:g}"'
        return [f'{definition}{stroke_definition}<path d="{description}" {paints}/>']

    def _are_cuts(self) -> NDArray[np.bool_]:
        """Return which points only end a line at an edge of the plot, where the series has no point."""
        times, queried_times = self._plotted.times, self._plotted.series.times
        is_edge = (times == self._plot.start) | (times == self._plot.end)
        are_cuts: NDArray[np.bool_] = is_edge & ~np.isin(times, queried_times if queried_times is not None else times)
        return are_cuts

    def _has_room_for_points(self) -> bool:
        """Return whether points are so far apart that they are drawn on the line."""
        # Grafana shows points if they are further apart than twice their own size, which is 3 and twice the line width.
        return len(self._xs) <= self._plot.width / (2 * (3 + 2 * self._look.line_width))

    def _floor(self, target: PlottedSeries | None) -> NDArray[np.float64]:
        """Return the positions of the lower edge of the area."""
        if target is not None and len(target.times):
            is_present = ~np.isnan(target.values)
            if is_present.any():
                values = np.interp(self._plotted.times, target.times[is_present], target.values[is_present], np.nan, np.nan)
                return self._scale.positions(values)
        if self._plotted.floor is not None:
            return self._scale.positions(self._plotted.floor)
        return np.full(len(self._xs), self._scale.baseline)

    def _fill(self) -> tuple[str, str, float]:
        """Return the definition of a gradient, the paint that refers to it, and the opacity of the area."""
        gradient = series_gradient(self._plotted, self._scale) if self._look.gradient != "none" else None
        definition, paint = gradient or ("", self._plotted.colour)
        return definition, paint, self._look.fill_opacity

    def _stroke(self) -> tuple[str, str]:
        """Return the definition of a gradient, and the paint of the line that refers to it."""
        gradient = series_gradient(self._plotted, self._scale) if self._look.gradient == "scheme" else None
        return gradient or ("", self._plotted.colour)


def _bar_slot(visible: Sequence[PlottedSeries], plot: Plot) -> float:
    """Return the smallest distance in pixels between two times of the series that are drawn as bars."""
    times = [series.times for series in visible if series.look.draw_style == "bars"]
    distances = np.diff(np.unique(np.concatenate(times))) if times else np.zeros(0)
    return float(distances.min()) * plot.width / max(plot.end - plot.start, 1) if len(distances) else plot.width
