"""Steps of range queries, and the notation of durations in queries. All durations are in nanoseconds.

The rules are Grafana's, so that a saved query gets the same step.
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
_YEAR: Final = 365 * _DAY

#: Default scrape interval of targets.
SCRAPE: Final = 15 * SECOND

#: Most points that Prometheus returns for one series.
_MOST_POINTS: Final = 11_000

#: Upper bounds with the duration that each rounds to; a duration takes the first pair whose bound it does not exceed.
_ROUNDED: Final = (
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
_LIMITS: Final = [limit for limit, _ in _ROUNDED]


def interval(text: str) -> int:
    """Return a duration as data sources and queries write it: ``15s``, ``>1m``, or seconds. Raises BadRequest."""
    text = text.strip().replace("<", "", 1).replace(">", "", 1)
    return nanoseconds(f"{text}s" if text.isdecimal() else text)


def rounded(length: int) -> int:
    """Return the duration rounded to one that users would choose: 1, 2, 5, 10, 15, 20, 30 seconds and so on."""
    place = bisect_left(_LIMITS, length)
    return _ROUNDED[place][1] if place < len(_ROUNDED) else _YEAR


def step(span: int, least: int, most_points: int) -> int:
    """Return the step of a query over ``span``: at least ``least``, for about ``most_points`` points at most."""
    wanted = span // (most_points or 1500)
    chosen = max(least if wanted < least else rounded(wanted), rounded(span // _MOST_POINTS))
    # Rounding may go down too far and aligning the ends may add a point, so the server's limit is enforced again.
    smallest = -(-span // ((_MOST_POINTS - 1) * MILLISECOND)) * MILLISECOND
    return max(chosen, smallest)


def rate_interval(length: int, scrape: int) -> int:
    """Return a window that always covers enough scrapes for a rate, for points ``length`` apart."""
    return max(length + scrape, 4 * scrape)


def brief(length: int) -> str:
    """Return the duration in the largest unit that fits, the rest cut off: ``90s`` is ``1m``."""
    for unit, name in ((_YEAR, "y"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (SECOND, "s")):
        if length >= unit:
            return f"{length // unit}{name}"
    return f"{max(1, length // MILLISECOND)}ms"


def exact(length: int) -> str:
    """Return the duration in hours, minutes and seconds: ``1h0m0s``, ``2m15s``, ``1.5s``; below a second ``200ms``."""
    if length < SECOND:
        return f"{length / MILLISECOND:.15g}ms"
    hours, rest = divmod(length, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds = decimal(rest)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def decimal(length: int) -> str:
    """Return a duration or a time since the epoch in seconds, with no more digits than needed."""
    if length < 0:
        return f"-{decimal(-length)}"
    whole, part = divmod(length, SECOND)
    return re.sub(r"\.?0+$", "", f"{whole}.{part:09}")


def aligned(instant: int, width: int, offset: int = 0) -> int:
    """Return the instant rounded down to a multiple of ``width``, counted from the epoch in a zone ``offset`` from UTC."""
    return (instant + offset) // width * width - offset
