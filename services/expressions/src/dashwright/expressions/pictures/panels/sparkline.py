"""Sparklines: a small line of a column's values over time, with the area below it."""

import math
from typing import Final

import numpy as np

from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.panels.scale_of_item import Scale
from dashwright.expressions.pictures.series import PlotSeries, downsampled, milliseconds_of
from dashwright.expressions.pictures.svg import path

_FILL_OPACITY: Final = 0.2
_LINE_WIDTH: Final = 1.0
_MIN_POINTS: Final = 2


def sparkline(
    props: PanelProps, column: DisplayColumn | None, cell: Cell, colour: str, *, area: tuple[str, float] | None = None
) -> list[str]:
    """Return the values of a column over the time range of the panel; nothing for less than two values.

    ``area`` is the colour and the opacity of the area below the line, by default the colour of the line.
    """
    series = series_of_column(column) if column else None
    return [] if series is None else sparkline_of_series(series, cell, colour, start=props.start, end=props.end, area=area)


def sparkline_of_series(
    series: PlotSeries, cell: Cell, colour: str, *, start: float, end: float, area: tuple[str, float] | None = None
) -> list[str]:
    """Return the values of a series between two times in milliseconds, or over all of its times if the range is empty."""
    if series.times is None:
        return []
    # The lowest and the highest value of each pixel.
    series = downsampled(series, max(_MIN_POINTS, int(cell.width * 2)))
    assert series.times is not None
    scale = _scale(series)
    if end <= start:
        start, end = float(series.times[0]), float(series.times[-1])
    segments: list[list[tuple[float, float]]] = [[]]
    for time, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
        if math.isnan(value):
            segments.append([])
            continue
        x = cell.x + cell.width * min(max((time - start) / ((end - start) or 1), 0.0), 1.0)
        segments[-1].append((x, cell.y + cell.height * (1 - scale.share(value))))
    bottom, fill = cell.y + cell.height, area or (colour, _FILL_OPACITY)
    return [element for segment in segments if len(segment) > 1 for element in _segment(segment, bottom, colour, fill)]


def series_of_column(column: DisplayColumn) -> PlotSeries | None:
    """Return the values of a column with the times of its frame, or None without times or with less than two values."""
    times = column.frame.time_field
    if times is None or column.type not in ("number", "boolean"):
        return None
    values = np.where(np.isfinite(column.source.numbers), column.source.numbers, np.nan)
    if np.count_nonzero(~np.isnan(values)) < _MIN_POINTS:
        return None
    order = np.argsort(times.values, kind="stable")
    return PlotSeries(column.name, milliseconds_of(times)[order], values[order], column.frame.ref_id)


def _scale(series: PlotSeries) -> Scale:
    """Return the range of a series. As in Grafana, a constant series is in the middle, or at the bottom if it is zero."""
    low, high = float(np.nanmin(series.values)), float(np.nanmax(series.values))
    if high > low:
        return Scale(low, high)
    margin = abs(low) / 2
    return Scale(low - margin, high + margin) if margin else Scale(0.0, 100.0)


def _segment(points: list[tuple[float, float]], bottom: float, colour: str, area: tuple[str, float]) -> list[str]:
    """Return the line through points, and the area from it down to ``bottom`` in a colour and an opacity."""
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    outline = f"{line}L{points[-1][0]:.1f} {bottom:.1f}L{points[0][0]:.1f} {bottom:.1f}Z"
    return [path(outline, fill=area[0], opacity=area[1]), path(line, stroke=colour, width=_LINE_WIDTH)]
