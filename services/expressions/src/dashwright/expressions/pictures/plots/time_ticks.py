"""Ticks of time axes: round times of a time zone, with the formats that Grafana shows them in."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta, tzinfo
from typing import Final

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
_YEAR: Final = 365 * _DAY
#: The distances of ticks in milliseconds. From a month on, ticks are at the starts of months and years.
_STEPS: Final = (
    *(1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500),
    *(_SECOND * count for count in (1, 5, 10, 15, 30)),
    *(_MINUTE * count for count in (1, 5, 10, 15, 30)),
    *(_HOUR * count for count in (1, 2, 3, 4, 6, 8, 12)),
    *(_DAY * count for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15)),
    *(_MONTH * count for count in (1, 2, 3, 4, 6)),
    *(_YEAR * count for count in (1, 2, 5, 10, 25, 50, 100, 200, 500)),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH: Final = _EPOCH.replace(tzinfo=None)
#: The maximum change of the offset of a zone, in milliseconds.
_MAX_CHANGE: Final = 3 * _HOUR
#: The minimum distance of two ticks in pixels, from which the format of the first label is chosen.
_SPACE: Final = 40.0
#: The minimum gap between two labels in pixels.
_GAP: Final = 18.0
#: The minimum distance between two ticks, as a share of the usual distance.
_MIN_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class TimeTicks:
    """The ticks of a time axis."""

    times: Sequence[float]  #: In milliseconds since 1970.
    labels: Sequence[str]


def time_ticks(start: float, end: float, width: float, text_width: Callable[[str], float], zone: tzinfo = UTC) -> TimeTicks:
    """Return the ticks of an axis between two times in milliseconds, on a width in pixels.

    Ticks are round in the zone. Each label is in the offset that the zone has at its tick, also if the offset changes in the range.
    """
    length = end - start
    if not length > 0 or not width > 0:
        return TimeTicks([], [])
    # The label of the start is a sample of the width of all labels. Its format is that of the closest possible ticks.
    closest_step = length * _SPACE / width
    sample = _format(length, closest_step)(local_time(start, zone))
    label_length = length * text_width(sample) / width
    min_step = label_length + length * _GAP / width
    step = next((step for step in _STEPS if step >= min_step), _STEPS[-1])
    candidates = _starts_of_months(start, end, step, zone) if step >= _MONTH else _multiples(start, end, step, zone)
    times: list[float] = []
    for time in candidates:
        # Where clocks are changed, ticks are closer, and an hour may occur twice.
        if start <= time <= end and (not times or time - times[-1] >= max(label_length, step * _MIN_SHARE)):
            times.append(time)
    format_time = _format(length, step)
    return TimeTicks(times, [format_time(local_time(time, zone)) for time in times])


def local_time(time: float, zone: tzinfo) -> datetime:
    """Return the time of milliseconds since 1970 in a zone. Times outside of the calendar are those of its ends."""
    try:
        return (_EPOCH + timedelta(milliseconds=time)).astimezone(zone)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if time > 0 else datetime.min.replace(tzinfo=UTC)


def _multiples(start: float, end: float, step: float, zone: tzinfo) -> Iterator[float]:
    """Yield the times, in ascending order, that the clocks of the zone show as multiples of a step since 1970."""
    # The offsets of zones are whole minutes, so the multiples of shorter steps are the same in all zones.
    if zone is UTC or step < _MINUTE:
        yield from _even(start, end, step)
        return
    first, last = (_clock(local_time(time, zone)) for time in (start, end))
    multiples = set[float]()
    # Clocks that are set back within the range show times after ``last`` before the change, or times before ``first`` after it.
    for clock in _even(min(first, last) - _MAX_CHANGE, max(first, last) + _MAX_CHANGE, step):
        multiples.update(_instants(clock, zone))
    yield from sorted(multiples)


def _even(start: float, end: float, step: float) -> Iterator[float]:
    """Yield the multiples of a step from ``start`` to ``end``."""
    time = math.ceil(start / step) * step
    while time <= end:
        yield time
        time += step


def _starts_of_months(start: float, end: float, step: float, zone: tzinfo) -> Iterator[float]:
    """Yield the starts of every n-th month or year. ``step`` is n months or years in milliseconds."""
    months = round(step / _YEAR) * 12 if step >= _YEAR else round(step / _MONTH)
    first = local_time(start, zone)
    # The number of a month, counted from the year 0.
    index = math.ceil((first.year * 12 + first.month - 1) / months) * months
    while index // 12 < MAXYEAR:
        clock = _clock(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC))
        # ``end`` is in UTC, from which the clocks of a zone differ by less than a day.
        if clock > end + _DAY:
            return
        yield from _instants(clock, zone)
        index += months


def _clock(time: datetime) -> float:
    """Return the milliseconds since 1970 that a clock shows, as if it were in UTC."""
    return (time.replace(tzinfo=None) - _LOCAL_EPOCH).total_seconds() * _SECOND


def _instants(clock: float, zone: tzinfo) -> list[float]:
    """Return the times when clocks of a zone show milliseconds since 1970: two if they are set back then, and none if they skip it."""
    try:
        shown_time = _LOCAL_EPOCH + timedelta(milliseconds=clock)
        times = {shown_time.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
        existing = [time for time in times if time.astimezone(zone).replace(tzinfo=None) == shown_time]
    except OverflowError:
        return [clock]
    return sorted(_clock(time) for time in existing)


def _format(length: float, step: float) -> Callable[[datetime], str]:
    """Return the format of times on an axis of a length with ticks at a distance, in milliseconds, as Grafana chooses it."""
    if step < _SECOND:
        return lambda time: f"{time:%H:%M:%S}.{time.microsecond // 1000:03d}"
    if step <= _MINUTE:
        return lambda time: f"{time:%H:%M:%S}"
    if length <= _DAY:
        return lambda time: f"{time:%H:%M}"
    if step <= _DAY:
        return lambda time: f"{time:%m/%d %H:%M}"
    if length < _YEAR:
        return lambda time: f"{time:%m/%d}"
    return lambda time: f"{time:%Y-%m}" if step < _YEAR else f"{time:%Y}"
