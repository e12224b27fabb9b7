"""Lengths of time in words, such as *1 hour, 5 minutes*, and as clocks, such as *01:05:00*."""

import math
from typing import Final

from dashwright.expressions.javascript.number_text import shortest_text
from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.moment import MAX_DATE

# In milliseconds.
_SECOND: Final = 1_000
_MINUTE: Final = 60_000
_HOUR: Final = 3_600_000
_DAY: Final = 86_400_000
#: The units of durations and their lengths, as in Grafana.
_WORDS: Final = (
    ("year", 365 * _DAY),
    ("month", 30 * _DAY),
    ("week", 7 * _DAY),
    ("day", _DAY),
    ("hour", _HOUR),
    ("minute", _MINUTE),
    ("second", _SECOND),
    ("millisecond", 1),
)
#: The suffix of negative durations.
_AGO: Final = " ago"
_INVALID: Final = "Invalid date"


def words(milliseconds: int, unit: str) -> ValueFormat:
    """Return the format of values as durations in words. The values are in ``unit``, which lasts ``milliseconds``.

    The decimals of a value are the number of further units after the largest one.
    """

    def format_words(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        if math.isnan(value):
            return FormattedValue("")
        if not value:
            return FormattedValue("0", suffix=f" {unit}s")
        suffix = _AGO if value < 0 else ""
        duration = abs(value) * milliseconds
        if math.isinf(duration):
            return FormattedValue("Infinity years", suffix=suffix)
        return FormattedValue(", ".join(_parts(duration, max(decimals or 0, 0) + 1)), suffix=suffix)

    return format_words


def _parts(duration: float, limit: int) -> list[str]:
    """Return a duration in milliseconds as at most ``limit`` counts of units, such as *1 hour* and *5 minutes*."""
    parts: list[str] = []
    for name, size in _WORDS:
        count = math.floor(duration / size)
        if (count or parts) and len(parts) < limit:
            duration %= size
            parts.append(f"{shortest_text(float(count))} {name}{'' if count == 1 else 's'}")
    return parts


def clock_of_seconds(*, with_days: bool) -> ValueFormat:
    """Return the format of seconds as *HH:MM:SS*, after the number of days if ``with_days``."""

    def format_clock(value: float, _decimals: int | None, _context: DateContext) -> FormattedValue:
        suffix = _AGO if value < 0 else ""
        if not math.isfinite(value):
            return FormattedValue("NaN" if math.isnan(value) else "Infinity", suffix=suffix)
        all_seconds = float(math.floor(abs(value)))
        days = float(math.floor(all_seconds / 86_400)) if with_days else 0
        # Above 2**53, the rounded product may be larger than the value.
        all_seconds = abs(all_seconds - days * 24 * 3600)
        hours, minutes, seconds = float(math.floor(all_seconds / 3600)), math.floor(all_seconds % 3600 / 60), math.floor(all_seconds % 60)
        clock = f"{shortest_text(hours):0>2}:{minutes:02}:{seconds:02}"
        return FormattedValue(f"{shortest_text(days)} d {clock}" if days else clock, suffix=suffix)

    return format_clock


def stopwatch(milliseconds: int) -> ValueFormat:
    """Return the format of values as durations such as *1h:05m:00s:000ms*. The unit of the values lasts ``milliseconds``.

    The decimals of a value are the number of further units after the largest one.
    """

    def format_stopwatch(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        duration = value * milliseconds
        # This comparison is also false for NaN.
        if not abs(duration) <= MAX_DATE:
            return FormattedValue(_beyond_dates(duration, decimals))
        all_milliseconds = math.floor(duration) if duration >= 0 else math.ceil(duration)
        hours, minutes = math.floor(duration / _HOUR), all_milliseconds // _MINUTE % 60
        seconds, milliseconds_of_second = all_milliseconds // _SECOND % 60, all_milliseconds % _SECOND
        parts = [f"{hours}h", f"{minutes:02}m", f"{seconds:02}s", f"{milliseconds_of_second:03}ms"]
        if duration < _SECOND:
            return FormattedValue(parts[-1])
        # The index of the largest unit that the duration fills: hours, minutes or seconds.
        first = 2 if duration < _MINUTE else 1 if duration < _HOUR else 0
        last = len(parts) if decimals is None else first + max(decimals, 0) + 1
        return FormattedValue(":".join(parts[first:last]))

    return format_stopwatch


def _beyond_dates(duration: float, decimals: int | None) -> str:
    """Return the text of a number of milliseconds beyond the dates of JavaScript, of which Grafana shows only the hours."""
    if duration < 0:
        return _INVALID
    hours = shortest_text(float(math.floor(duration / _HOUR)) if math.isfinite(duration) else duration)
    return f"{hours}h" if decimals == 0 else f"{hours}h:{_INVALID}"
