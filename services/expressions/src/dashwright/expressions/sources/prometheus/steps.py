"""How far apart the points of a range query lie, and how lengths of time are written in queries. All lengths are in nanoseconds.

The rules are those of the platform whose dashboards and alert rules are asked here: a saved query must come to the same step.
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

SCRAPE: Final = 15 * SECOND
"""How often targets are scraped where nobody says."""

_MOST_POINTS: Final = 11_000
"""Prometheus refuses more for one series."""

# A length is rounded to the second of the first pair whose first it does not exceed.
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
    """A length as data sources and queries hold it: ``15s``, ``>1m``, or a number of seconds. Raises BadRequest."""
    text = text.strip().replace("<", "", 1).replace(">", "", 1)
    return nanoseconds(f"{text}s" if text.isdecimal() else text)


def rounded(length: int) -> int:
    """The length that people would choose: 1, 2, 5, 10, 15, 20, 30 seconds and so on."""
    place = bisect_left(_LIMITS, length)
    return _ROUNDED[place][1] if place < len(_ROUNDED) else _YEAR


def step(span: int, least: int, most_points: int) -> int:
    """The step of a query over ``span``: at least ``least``, and so that no more than about ``most_points`` points come back."""
    wanted = span // (most_points or 1500)
    chosen = max(least if wanted < least else rounded(wanted), rounded(span // _MOST_POINTS))
    # Rounding may have gone down too far, and aligning the ends may add a point.
    borne = -(-span // ((_MOST_POINTS - 1) * MILLISECOND)) * MILLISECOND
    return max(chosen, borne)


def rate_interval(length: int, scrape: int) -> int:
    """A window over which a rate always sees enough scrapes, for points that lie ``length`` apart."""
    return max(length + scrape, 4 * scrape)


def brief(length: int) -> str:
    """In the largest unit that fits, the rest cut off: ``90s`` is ``1m``."""
    for unit, name in ((_YEAR, "y"), (_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (SECOND, "s")):
        if length >= unit:
            return f"{length // unit}{name}"
    return f"{max(1, length // MILLISECOND)}ms"


def exact(length: int) -> str:
    """In hours, minutes and seconds: ``1h0m0s``, ``2m15s``, ``1.5s``; below a second in ``200ms``."""
    if length < SECOND:
        return f"{length / MILLISECOND:.15g}ms"
    hours, rest = divmod(length, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds = decimal(rest)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def decimal(length: int) -> str:
    """In seconds, with no more digits than needed; times since the epoch, too."""
    if length < 0:
        return f"-{decimal(-length)}"
    whole, part = divmod(length, SECOND)
    return re.sub(r"\.?0+$", "", f"{whole}.{part:09}")


def aligned(instant: int, width: int, offset: int = 0) -> int:
    """Down to a multiple of ``width``, counted from the epoch in a zone that lies ``offset`` from UTC."""
    return (instant + offset) // width * width - offset
