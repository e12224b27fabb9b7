"""Series of a time series panel, prepared for drawing: their looks, values after transforms and stacking, and scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import object_of
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.plots.colours import SeriesColours, colours_of
from dashwright.expressions.pictures.plots.looks import Look
from dashwright.expressions.pictures.plots.nulls import inserted_rows, insertion_distance, number_of_text, spanned_points
from dashwright.expressions.pictures.plots.range_cut import within_range
from dashwright.expressions.pictures.plots.scales import ScaleKey, scale_key
from dashwright.expressions.pictures.plots.stacking import StackMember, constant_value, stack_groups, upside_down
from dashwright.expressions.pictures.series import PlotSeries, downsampled, extremes, points_per_series, series_of
from dashwright.expressions.pictures.style import Style, styles_of
from dashwright.expressions.pictures.theme import Theme

#: The maximum number of common times of a stack. With more times, its series are thinned first.
_MAX_STACK_TIMES: Final = 20_000


@dataclass(frozen=True, slots=True)
class PlottedSeries:
    """A series as it is drawn. Times, values and floor have one length."""

    series: PlotSeries  #: As queried.
    name: str
    style: Style
    look: Look
    colours: SeriesColours
    scale: ScaleKey
    times: NDArray[np.float64]  #: In milliseconds since 1970.
    values: NDArray[np.float64]  #: After transforms and stacking; NaN at gaps.
    floor: NDArray[np.float64] | None = None  #: The values of the series below it in a stack; None without one.

    @property
    def colour(self) -> str:
        """The colour of the series."""
        return self.colours.line

    @property
    def is_percent(self) -> bool:
        """True if the values are shares of a stack."""
        return self.look.stack_mode == "percent"


def plotted_series(panel: Panel, frames: Sequence[Frame], theme: Theme, start: float, end: float, width: float) -> list[PlottedSeries]:
    """Return the series of a panel ``width`` pixels wide, in the range between two times in milliseconds."""
    timed_series = [series for series in series_of(frames) if series.times is not None]
    styles = styles_of(panel, theme, timed_series)
    colours = colours_of(styles, [style.name for style in styles], [series.values for series in timed_series])
    distances = _insertion_distances(timed_series, styles)
    plotted = []
    for series, style, its_colours in zip(timed_series, styles, colours, strict=True):
        look = _look(series, style)
        distance = distances.get(id(series.source.frame)) if series.source else None
        times, values = _values_in_graph(series, style, look, distance, start, end)
        key = scale_key(_config_of_scale(style, look), "number")
        plotted.append(PlottedSeries(series, style.name, style, look, its_colours, key, times, values))
    limit = points_per_series(int(width), len(plotted))
    return _with_stacks(plotted, limit)


def _look(series: PlotSeries, style: Style) -> Look:
    """Return the look that a style configures, with steps for booleans, and without points for a constant."""
    look = Look.of(style.custom)
    if look.transform == "constant":
        return replace(look, points="never")
    return replace(look, interpolation="stepAfter") if is_boolean(series) else look


def is_boolean(series: PlotSeries) -> bool:
    """Return whether the values of a series are those of a column of booleans."""
    return series.source is not None and series.source.field.type is FieldType.BOOL


def _config_of_scale(style: Style, look: Look) -> Mapping[str, Any]:
    """Return the configuration from which the scale is derived. Percent stacks share a scale of shares."""
    return {**style.config, "unit": "percentunit"} if look.stack_mode == "percent" else style.config


def _insertion_distances(all_series: Sequence[PlotSeries], styles: Sequence[Style]) -> dict[int, float | None]:
    """Return the distance at which nulls are inserted into each frame, by the identity of the frame."""
    settings: dict[int, list[Any]] = {}
    intervals: dict[int, Any] = {}
    for series, style in zip(all_series, styles, strict=True):
        if series.source:
            frame = series.source.frame
            settings.setdefault(id(frame), []).append(style.custom.get("insertNulls"))
            intervals[id(frame)] = _interval(frame)
    return {frame: insertion_distance(settings[frame], intervals[frame]) for frame in settings}


def _interval(frame: Frame) -> Any:
    """Return the distance of the times of a frame in milliseconds, if its data source gave it."""
    return object_of(frame.time_field.config if frame.time_field else None).get("interval")


def _values_in_graph(
    series: PlotSeries, style: Style, look: Look, distance: float | None, start: float, end: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times and values with inserted nulls, replaced nulls and the transform applied, without nulls that are spanned."""
    assert series.times is not None
    times, values = series.times, series.values
    # Nulls are inserted, and the series is cut, by searches in ascending times.
    if len(times) > 1 and (np.diff(times) < 0).any():
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    if look.transform == "constant":
        level = constant_value(values)
        return (np.array([start, end]), np.full(2, level)) if level is not None else (np.zeros(0), np.zeros(0))
    # Grafana's order: inserted nulls are replaced by ``noValue`` too, and only nulls that remain are spanned.
    if distance:
        times, indexes = inserted_rows(times, distance, start, end)
        values = np.where(indexes < 0, np.nan, values[indexes]) if len(values) else values
    replacement = number_of_text(style.config.get("noValue"))
    if replacement is not None:
        values = np.where(np.isnan(values), replacement, values)
    if look.transform == "negative-Y":
        values = upside_down(values)
    is_drawn = spanned_points(times, values, look.spanned_distance)
    interpolation = look.interpolation if look.draw_style == "line" else None
    return within_range(times[is_drawn], values[is_drawn], start, end, interpolation)


def _with_stacks(plotted: Sequence[PlottedSeries], limit: int) -> list[PlottedSeries]:
    """Return the series with stacked values, each with at most about ``limit`` points."""
    stacks: dict[Any, list[int]] = {}
    for position, series in enumerate(plotted):
        if _is_stacked(series):
            stacks.setdefault(series.look.stack_key(series.scale), []).append(position)
    result = [series if _is_stacked(series) else _thinned(series, limit) for series in plotted]
    for positions in stacks.values():
        for position, stacked in zip(positions, _stacked([plotted[position] for position in positions], limit), strict=True):
            result[position] = stacked
    return result


def _is_stacked(plotted: PlottedSeries) -> bool:
    return bool(plotted.look.stack_mode) and not plotted.look.is_hidden


def _thinned(plotted: PlottedSeries, limit: int) -> PlottedSeries:
    """Return a series with at most ``limit`` points."""
    thin = downsampled(PlotSeries(plotted.name, plotted.times, plotted.values), limit)
    assert thin.times is not None
    return replace(plotted, times=thin.times, values=thin.values)


def _stacked(members: Sequence[PlottedSeries], limit: int) -> list[PlottedSeries]:
    """Return the series of one stack key, stacked on each other.

    If there are more than ``limit`` times, those remain at which the totals of each interval are lowest and highest.
    """
    times = _common_times(members)
    if len(times) > _MAX_STACK_TIMES:
        members = [_thinned(member, max(_MAX_STACK_TIMES // len(members), 2)) for member in members]
        times = _common_times(members)
    result = list(members)
    rows = np.full((len(members), len(times)), np.nan)
    for row, member in zip(rows, members, strict=True):
        row[np.searchsorted(times, member.times)] = member.values
    # All members have the key ``()``, because their keys are equal.
    groups = stack_groups([StackMember(row, (), member.is_percent) for row, member in zip(rows, members, strict=True)])
    for group in groups:
        # All series of a group keep the same times, so that the lower edge of each fits the upper edge of the previous one.
        indexes = extremes(group.totals[-1], limit) if len(times) > limit else np.arange(len(times))
        floor = None
        for totals, position in zip(group.totals, group.members, strict=True):
            values = totals[indexes]
            result[position] = replace(members[position], times=times[indexes], values=values, floor=floor)
            floor = values
    return result


def _common_times(members: Sequence[PlottedSeries]) -> NDArray[np.float64]:
    """Return the distinct times of some series in ascending order."""
    return np.unique(np.concatenate([member.times for member in members]))
