"""Durations as targets write them: ``90s``, ``1h30m``, ``500ms``, or one whole number of days or more: ``7d``.

The grammar is Grafana's: signs, decimals and combinations are for units up to the hour only. Days, weeks, months and
years are whole numbers; a month is a twelfth of a year, and a year 365.25 days.
"""

import re
from fractions import Fraction

from dashwright.common.errors import BadRequest

_CLOCK = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DAY = 24 * _CLOCK["h"]
_CALENDAR = {"d": _DAY, "w": 7 * _DAY, "M": _DAY * 36525 // 1200, "y": _DAY * 36525 // 100}
_CALENDAR_DURATION = re.compile(r"(\d+)([dwMy])", re.ASCII)
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)", re.ASCII)
_LONGEST = 100


def nanoseconds(text: str) -> int:
    """Return the duration, of either sign. Raises BadRequest that describes the fault."""
    if not text:
        raise _fault("empty input", text)
    if len(text) > _LONGEST:
        raise _fault("invalid duration", text)
    if whole := _CALENDAR_DURATION.fullmatch(text):
        return int(whole[1]) * _CALENDAR[whole[2]]
    unsigned = text.removeprefix(text[0]) if text[0] in "+-" else text
    if unsigned == "0":
        return 0
    return -_of_clock(unsigned, text) if text[0] == "-" else _of_clock(unsigned, text)


def _of_clock(unsigned: str, text: str) -> int:
    total, position = 0, 0
    while position < len(unsigned) or not position:
        part = _PART.match(unsigned, position)
        if part is None:
            raise _fault("invalid duration", text)
        number, unit = part.groups()
        if not unit:
            raise _fault("missing unit in duration", text)
        if unit not in _CLOCK:
            raise _fault(f'unknown unit "{unit}" in duration', text)
        total += int(Fraction(number) * _CLOCK[unit])
        position = part.end()
    return total


def _fault(what: str, text: str) -> BadRequest:
    return BadRequest(f'{what} "{text[:_LONGEST]}"; write it like 500ms, 30s, 1h30m, 2d, 1w, 1M or 1y')
