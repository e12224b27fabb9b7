"""Steps of range queries, and the notation of durations in queries. All durations are in nanoseconds.

The rules are Grafana's, so that saved queries have the same step as in Grafana.
"""

import re
from bisect import bisect_left
from typing import Final

from dashwright.expressions.engine.duration import nanoseconds

MILLISECOND: Final = 1_000_000
SECOND: Final = 1000 * MILLISECOND
_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
YEAR: Final = 365 * _DAY

#: The default scrape interval of targets.
DEFAULT_SCRAPE_INTERVAL: Final = 15 * SECOND

#: The maximum number of points that Prometheus returns for one series.
_MAX_POINTS: Final = 11_000

#: The number of points if the client gives none.
_DEFAULT_POINTS: Final = 1500

#: Upper bounds, each with the duration to which durations up to the bound are rounded (Grafana's table).
ROUNDED_DURATIONS: Final = (
    (10 * MILLISECOND, MILLISECOND),
    (15 * MILLISECOND, 10 * MILLISECOND),
    (35 * MILLISECOND, 20 * MILLISECOND),
    (75 * MILLISECOND, 50 * MILLISECOND),
    (150 * MILLISECOND, 100 * MILLISECOND),
    (350 * MILLISECOND, 200 * MILLISECOND),
    (750 * MILLISECOND, 500 * MILLISECOND),
    (1500 * MILLISECOND, SECOND),
    (3500 * MILLISECOND, 2 * SECOND),
    (7500 * MILLISECOND, 5 * SECOND),
    (12500 * MILLISECOND, 10 * SECOND),
    (17500 * MILLISECOND, 15 * SECOND),
    (25 * SECOND, 20 * SECOND),
    (45 * SECOND, 30 * SECOND),
    (90 * SECOND, _MINUTE),
    (210 * SECOND, 2 * _MINUTE),
    (450 * SECOND, 5 * _MINUTE),
    (750 * SECOND, 10 * _MINUTE),
    (1050 * SECOND, 15 * _MINUTE),
    (25 * _MINUTE, 20 * _MINUTE),
    (45 * _MINUTE, 30 * _MINUTE),
    (90 * _MINUTE, _HOUR),
    (150 * _MINUTE, 2 * _HOUR),
    (270 * _MINUTE, 3 * _HOUR),
    (9 * _HOUR, 6 * _HOUR),
    (24 * _HOUR, 12 * _HOUR),
    (7 * _DAY, _DAY),
    (21 * _DAY, 7 * _DAY),
    (42 * _DAY, 30 * _DAY),
)
_UPPER_BOUNDS: Final = [bound for bound, _ in ROUNDED_DURATIONS]


def parse_interval(interval: str) -> int:
    """Return an interval such as ``15s``, ``>1m`` or ``15`` (seconds) in nanoseconds. Raises BadRequest if it is invalid."""
    duration = interval.strip().replace("<", "", 1).replace(">", "", 1)
    return nanoseconds(f"{duration}s" if duration.isdecimal() else duration)


def round_duration(duration: int) -> int:
    """Return the duration rounded to a usual one, such as 1, 2, 5, 10, 15, 20 or 30 seconds."""
    index = bisect_left(_UPPER_BOUNDS, duration)
    return ROUNDED_DURATIONS[index][1] if index < len(ROUNDED_DURATIONS) else YEAR


def step(range_length: int, min_step: int, max_points: int) -> int:
    """Return the step of a range query: at least ``min_step``, with at most about ``max_points`` points."""
    ideal_step = range_length // (max_points or _DEFAULT_POINTS)
    client_step = min_step if ideal_step < min_step else round_duration(ideal_step)
    rounded_step = max(client_step, round_duration(range_length // _MAX_POINTS))
    # Rounding down and aligning the ends may add points, so the limit of the server is enforced again, by the smallest step in
    # whole milliseconds with at most ``_MAX_POINTS`` points, those at both ends included. The two negations round up.
    min_server_milliseconds = -(-range_length // ((_MAX_POINTS - 1) * MILLISECOND))
    return max(rounded_step, min_server_milliseconds * MILLISECOND)


def rate_interval(interval: int, scrape_interval: int) -> int:
    """Return a window that always contains enough scrapes for a rate, for points at this interval."""
    return max(interval + scrape_interval, 4 * scrape_interval)


def format_brief(duration: int) -> str:
    """Return the duration rounded down to its largest unit: 90 seconds are ``1m``."""
    for unit, name in ((YEAR, "y"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (SECOND, "s")):
        if duration >= unit:
            return f"{duration // unit}{name}"
    return f"{max(1, duration // MILLISECOND)}ms"


def format_exact(duration: int) -> str:
    """Return the duration in hours, minutes and seconds: ``1h0m0s``, ``2m15s``, ``1.5s``; below a second ``200ms``."""
    if duration < SECOND:
        return f"{duration / MILLISECOND:.15g}ms"
    hours, remainder = divmod(duration, _HOUR)
    minutes, remainder = divmod(remainder, _MINUTE)
    seconds = format_seconds(remainder)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def format_seconds(duration: int) -> str:
    """Return a duration or a time since the epoch in seconds, as a decimal without trailing zeros."""
    if duration < 0:
        return f"-{format_seconds(-duration)}"
    seconds, nanos = divmod(duration, SECOND)
    return re.sub(r"\.?0+$", "", f"{seconds}.{nanos:09}")


def align(time: int, step: int, utc_offset: int = 0) -> int:
    """Return the time rounded down to a multiple of ``step`` since the epoch in the time zone with this offset."""
    return (time + utc_offset) // step * step - utc_offset
