"""Intervals between the points of a chart, by Grafana's rules."""

from bisect import bisect_right
from typing import Any, Final

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus import steps

#: The defaults of an interval variable: the number of points, and the shortest interval.
_DEFAULT_COUNT: Final = 30
_DEFAULT_MINIMUM: Final = "10s"


def interval_of(range_length: int, resolution: int, minimum: int = 0) -> int:
    """Return the interval in nanoseconds for a range with about ``resolution`` points, rounded and at least ``minimum``."""
    return max(_rounded(range_length / max(1, resolution)), minimum)


def automatic_interval(time_range: TimeRange, count: Any, minimum: Any) -> str:
    """Return the value *auto* of an interval variable, such as ``2m``. Invalid settings are replaced by the defaults."""
    points = count if isinstance(count, int) and 0 < count < 100_000 else _DEFAULT_COUNT
    length = round((time_range.end - time_range.start).total_seconds() * steps.SECOND)
    return steps.format_brief(interval_of(length, points, minimum_of(minimum, _DEFAULT_MINIMUM)))


def minimum_of(setting: Any, default: str = "") -> int:
    """Return an interval setting in nanoseconds, or the default if the setting is invalid, or 0 if both are invalid."""
    for text in (setting, default):
        if isinstance(text, str) and text:
            try:
                return max(0, steps.parse_interval(text))
            except DashwrightError:
                continue
    return 0


def _rounded(duration: float) -> int:
    """Return the duration rounded to a usual one. Unlike a server's step, a duration at a bound is rounded up."""
    bounds = steps.ROUNDED_DURATIONS
    index = bisect_right(bounds, duration, key=lambda entry: entry[0])
    return bounds[index][1] if index < len(bounds) else steps.YEAR
