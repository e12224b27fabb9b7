"""The window of a resample."""

import re
from decimal import Decimal
from typing import Final

from tests.reference_engine.values import Refused

_CLOCK_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DAY: Final = 24 * 3600 * 10**9
_CALENDAR_UNITS: Final = {"d": _DAY, "w": 7 * _DAY, "M": _DAY * 304375 // 10000, "y": _DAY * 36525 // 100}
_PART: Final = r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)"


def window(text: str) -> int:
    """Return a positive duration in nanoseconds.

    The text has decimal numbers of clock units, such as ``1h1.5m``, or one whole number of days, weeks, months or years.
    """
    if calendar := re.fullmatch(r"(\d+)([dwMy])", text):
        nanoseconds = int(calendar[1]) * _CALENDAR_UNITS[calendar[2]]
    elif re.fullmatch(rf"[+-]?({_PART})+", text):
        nanoseconds = int(sum(Decimal(number) * _CLOCK_UNITS[unit] for number, unit in re.findall(_PART, text)))
        nanoseconds = -nanoseconds if text.startswith("-") else nanoseconds
    else:
        raise Refused("parseError", f'failed to parse resample "window" duration field: {text}')
    if nanoseconds <= 0:
        raise Refused("parseError", 'the resample "window" must be longer than 0')
    return nanoseconds
