"""Axes of charts that are drawn as our own SVG: the ticks of times and numbers, and their labels and grid lines."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from dashwright.expressions.pictures.panels.drawing import Cell
from dashwright.expressions.pictures.svg import path, text_element, text_width
from dashwright.expressions.pictures.theme import Theme

LABEL_SIZE: Final = 11.0
#: The height in pixels below a chart for the labels of its horizontal axis.
AXIS_HEIGHT: Final = 20.0
_LABEL_DISTANCE: Final = 6.0
_MIN_TIME_SPACING: Final = 80.0
_MIN_VALUE_SPACING: Final = 30.0
_SECOND: Final = 1_000.0
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
_YEAR: Final = 365 * _DAY
#: Distances of the ticks of times, in milliseconds.
_TIME_STEPS: Final = (
    *(float(step) for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(step * _SECOND for step in (1, 2, 5, 10, 15, 30)),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 4, 6, 8, 12)),
    *(step * _DAY for step in (1, 2, 3, 7, 14)),
)
#: Distances of the ticks of longer times, in months.
_MONTH_STEPS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
#: The first digits of round distances between numbers.
_ROUND_DIGITS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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


def round_step(rough: float) -> float:
    """Return the smallest round number that is not less than a positive number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((digit * power for digit in _ROUND_DIGITS if digit * power >= rough * 0.9999), 10 * power)


def round_time_step(rough: float) -> float:
    """Return the smallest usual distance of times that is not less than a number of milliseconds."""
    index = bisect_left(_TIME_STEPS, rough)
    return _TIME_STEPS[index] if index < len(_TIME_STEPS) else math.ceil(rough / _MONTH) * _MONTH


def number_ticks(low: float, high: float, count: int) -> list[float]:
    """Return about ``count`` round numbers from ``low`` to ``high``."""
    span = high - low
    if not 0 < span < math.inf or abs(low) > span * 1e12:
        return [low] if math.isfinite(low) else []
    step = round_step(max(span / max(count, 1), 1e-300))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def padded_range(low: float, high: float) -> tuple[float, float]:
    """Return a range for bars that contains 0 and has room beyond the bars."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return 0.0, 1.0
    room = (high / 10 - low / 10) or high - low
    return (low - room if low < 0 else 0.0), (high + room if high > 0 else 0.0)


def time_ticks(start: float, end: float, count: int) -> tuple[list[float], str]:
    """Return about ``count`` round times in milliseconds, and the format of their labels, as in Grafana."""
    span = end - start
    if span <= 0:
        return [], ""
    rough = span / max(count, 1)
    if rough > _TIME_STEPS[-1]:
        return _month_ticks(start, end, rough)
    step = round_time_step(rough)
    ticks = [index * step for index in range(math.ceil(start / step), math.floor(end / step) + 1)]
    return ticks, _time_format(step, span)


def time_label(time: float, time_format: str) -> str:
    """Return the label of a time in milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=time)
    if time_format == _MILLISECONDS:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return moment.strftime(time_format)


_MILLISECONDS: Final = "milliseconds"


def _time_format(step: float, span: float) -> str:
    if step < _SECOND:
        return _MILLISECONDS
    if step < _MINUTE:
        return "%H:%M:%S"
    if span <= _DAY:
        return "%H:%M"
    if step < _DAY:
        return "%m/%d %H:%M"
    return "%m/%d" if span < _YEAR else "%Y-%m-%d"


def _month_ticks(start: float, end: float, rough: float) -> tuple[list[float], str]:
    """Return the first days of months or years."""
    months = rough / _MONTH
    step = next((step for step in _MONTH_STEPS if step >= months), _MONTH_STEPS[-1])
    first, last = (_EPOCH + timedelta(milliseconds=time) for time in (start, end))
    indexes = range(-(-(first.year * 12 + first.month) // step) * step, last.year * 12 + last.month, step)
    # Months count from 0 in an index, so that a step of 12 gives first days of years.
    ticks = [_milliseconds(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)) for index in indexes]
    return ticks, "%Y" if step % 12 == 0 else "%Y-%m"


def _milliseconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds() * 1000


def time_axis(area: Cell, start: float, end: float, theme: Theme, *, has_grid: bool = False) -> list[str]:
    """Return the labels of times below an area, and vertical lines at the labels if wanted."""
    ticks, time_format = time_ticks(start, end, int(area.width // _MIN_TIME_SPACING))
    scale = PixelScale(start, end, area.x, area.x + area.width)
    labelled = [(scale.position(tick), time_label(tick, time_format)) for tick in ticks]
    return bottom_axis(area, labelled, theme, has_grid=has_grid)


def bottom_axis(area: Cell, labelled: Sequence[tuple[float, str]], theme: Theme, *, has_grid: bool = False) -> list[str]:
    """Return labels at positions in pixels below an area. A label that would touch the previous one is omitted."""
    elements = []
    if has_grid and labelled:
        lines = "".join(f"M{position:.1f} {area.y:.1f}v{area.height:.1f}" for position, _ in labelled)
        elements.append(path(lines, stroke=theme.grid))
    free_from, right = -math.inf, area.x + area.width + _LABEL_DISTANCE
    for position, label in labelled:
        width = text_width(label, LABEL_SIZE)
        middle = min(position, right - width / 2)
        if middle - width / 2 < free_from:
            continue
        free_from = middle + width / 2 + _LABEL_DISTANCE
        elements.append(text_element(label, middle, area.y + area.height + 15, size=LABEL_SIZE, colour=theme.muted, anchor="middle"))
    return elements


def value_axis(area: Cell, scale: PixelScale, label_of: Callable[[float], str], theme: Theme) -> list[str]:
    """Return horizontal lines at round values of an area, with labels to the left of it."""
    ticks = value_ticks(scale, area.height)
    lines = "".join(f"M{area.x:.1f} {scale.position(tick):.1f}h{area.width:.1f}" for tick in ticks)
    return [path(lines, stroke=theme.grid), *left_labels(area, [(scale.position(tick), label_of(tick)) for tick in ticks], theme)]


def value_ticks(scale: PixelScale, height: float) -> list[float]:
    """Return the values that have a label on an axis of a height in pixels."""
    return number_ticks(scale.low, scale.high, max(1, int(height // _MIN_VALUE_SPACING)))


def left_labels(area: Cell, labelled: Sequence[tuple[float, str]], theme: Theme) -> list[str]:
    """Return labels at vertical positions in pixels to the left of an area, as many as fit."""
    elements: list[str] = []
    used: list[float] = []
    for position, label in labelled:
        if used and abs(used[-1] - position) < LABEL_SIZE:
            continue
        used.append(position)
        elements.append(text_element(label, area.x - _LABEL_DISTANCE, position + 4, size=LABEL_SIZE, colour=theme.muted, anchor="end"))
    return elements


def labels_width(labels: Sequence[str], width_limit: float) -> float:
    """Return the width in pixels that labels to the left of an area need, at most ``width_limit``."""
    return min(max((text_width(label, LABEL_SIZE) for label in labels), default=0.0) + _LABEL_DISTANCE + 4, width_limit)
