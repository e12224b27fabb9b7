"""Durations as targets write them, such as ``90s``, ``1h30m``, ``500ms`` and ``7d``.

The grammar is Grafana's: signs, decimals and combinations are for units up to the hour only. Days, weeks, months and
years are whole numbers; a month is a twelfth of a year, and a year 365.25 days.
"""

import re
from fractions import Fraction
from functools import lru_cache

from dashwright.common.errors import BadRequest

_NANOSECONDS_OF_CLOCK_UNIT = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DAY_NANOSECONDS = 24 * _NANOSECONDS_OF_CLOCK_UNIT["h"]
_YEAR_NANOSECONDS = _DAY_NANOSECONDS * 365 + _DAY_NANOSECONDS // 4
_NANOSECONDS_OF_CALENDAR_UNIT = {
    "d": _DAY_NANOSECONDS,
    "w": 7 * _DAY_NANOSECONDS,
    "M": _YEAR_NANOSECONDS // 12,
    "y": _YEAR_NANOSECONDS,
}
_CALENDAR_DURATION = re.compile(r"(\d+)([dwMy])", re.ASCII)
_COUNT_AND_UNIT = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)", re.ASCII)
#: The maximum length of a duration, and of its quotation in an error.
_MAX_LENGTH = 100

#: A query has two or three durations, and most queries have the same ones.
_MAX_CACHED_DURATIONS = 1_000


@lru_cache(maxsize=_MAX_CACHED_DURATIONS)
def nanoseconds(duration: str) -> int:
    """Return the duration in nanoseconds; it may be negative. Raises BadRequest that describes the fault."""
    if not duration:
        raise _fault("empty input", duration)
    if len(duration) > _MAX_LENGTH:
        raise _fault("invalid duration", duration)
    if match := _CALENDAR_DURATION.fullmatch(duration):
        return int(match[1]) * _NANOSECONDS_OF_CALENDAR_UNIT[match[2]]
    unsigned = duration[1:] if duration[0] in "+-" else duration
    if unsigned == "0":
        return 0
    total = _clock_nanoseconds(unsigned, duration)
    return -total if duration[0] == "-" else total


def _clock_nanoseconds(unsigned: str, duration: str) -> int:
    """Return the sum of counts with clock units, such as ``1h30m``. ``duration`` is the source with its sign, for errors."""
    total, position = 0, 0
    # The first count is required: a sign alone is invalid.
    while position < len(unsigned) or not position:
        match = _COUNT_AND_UNIT.match(unsigned, position)
        if match is None:
            raise _fault("invalid duration", duration)
        count, unit = match.groups()
        if not unit:
            raise _fault("missing unit in duration", duration)
        if unit not in _NANOSECONDS_OF_CLOCK_UNIT:
            raise _fault(f'unknown unit "{unit}" in duration', duration)
        total += int(Fraction(count) * _NANOSECONDS_OF_CLOCK_UNIT[unit])
        position = match.end()
    return total


def _fault(reason: str, duration: str) -> BadRequest:
    return BadRequest(f'{reason} "{duration[:_MAX_LENGTH]}"; write it like 500ms, 30s, 1h30m, 2d, 1w, 1M or 1y')
