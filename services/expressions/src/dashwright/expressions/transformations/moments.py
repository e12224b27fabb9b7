"""Times in text, in the notation and with the leniency of Moment.js, which Grafana uses."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.values import is_number
from dashwright.expressions.value_formats.moment import MAX_DATE, format_date, local_time

#: The format of times in text if none is given.
DEFAULT_FORMAT: Final = "YYYY-MM-DD HH:mm:ss"
_ISO_FORMAT: Final = "YYYY-MM-DDTHH:mm:ss.SSSZ"
_INVALID: Final = "Invalid date"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LENGTH: Final = 200
_TOKEN: Final = re.compile(r"\[([^\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|DDD|Do|DD|D|dddd|ddd|HH|H|hh|h|mm|m|ss|s|S+|ZZ|Z|X|x|A|a|[^\[]")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Regular expressions of the texts that each token of a format parses.
_DIGITS: Final = {"YYYY": r"\d{1,4}", "S": r"\d+", "X": r"[+-]?\d+(\.\d{1,3})?", "x": r"[+-]?\d+", "DDD": r"\d{1,3}", "DDDD": r"\d{1,3}"}
_WORDS: Final = {
    "MMM": r"[A-Za-z]+",
    "MMMM": r"[A-Za-z]+",
    "A": r"(?i:[ap]\.?m?\.?)",
    "a": r"(?i:[ap]\.?m?\.?)",
    "Do": r"\d{1,2}(st|nd|rd|th)?",
}
_OFFSET: Final = r"Z|[+-]\d\d:?\d\d"
_PATTERNS: Final[Mapping[str, str]] = {
    **_DIGITS,
    **_WORDS,
    **dict.fromkeys(("Z", "ZZ"), _OFFSET),
    **dict.fromkeys(("dddd", "ddd"), r"[A-Za-z]+"),
    **dict.fromkeys(("YY", "MM", "M", "DD", "D", "HH", "H", "hh", "h", "mm", "m", "ss", "s"), r"\d\d?"),
}


def zone_of(name: object, default: tzinfo) -> tzinfo:
    """Return the time zone of an option; ``default`` for ``browser`` or no name. Raises BadRequest for an unknown name."""
    if not isinstance(name, str) or name in ("", "browser"):
        return default
    if name.lower() == "utc":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadRequest(f"unknown time zone {name[:40]!r}; use a name such as Europe/Berlin, or utc") from error


def format_moment(value: Any, pattern: object, zone: tzinfo, *, is_named: bool = False) -> str:
    """Return a time, given in milliseconds or as text, in a format, by default in ISO 8601.

    ``is_named`` is True for a zone of the options; UTC is then written as *Z*.
    """
    milliseconds = parse_moment(value, None, zone) if isinstance(value, str) else value
    time = local_time(milliseconds, zone) if is_number(milliseconds) else None
    if time is None:
        return _INVALID
    if isinstance(pattern, str) and pattern:
        return format_date(time, pattern[:_MAX_LENGTH])
    is_utc = is_named and not time.time.utcoffset()
    return format_date(time, "YYYY-MM-DDTHH:mm:ss" + ("[Z]" if is_utc else "Z"))


def whole_milliseconds(number: float) -> int | None:
    """Return the milliseconds of a ``Date``; None if they are beyond its range."""
    return int(number) if abs(number) <= MAX_DATE else None


def parse_iso(text: str) -> float | None:
    """Return the milliseconds of a time in ISO 8601; None if the text is no such time."""
    try:
        time = datetime.fromisoformat(text[:_MAX_LENGTH].strip())
    except ValueError:
        return None
    return _milliseconds(time if time.tzinfo else time.replace(tzinfo=UTC))


def parse_moment(text: str, pattern: str | None, zone: tzinfo) -> float | None:
    """Return the milliseconds of a time in a format, by default ``DEFAULT_FORMAT``, or None if no part of it is found.

    As in Moment.js, missing parts have their first value, and separators may differ. Text that ends with Z is in ISO
    8601.
    """
    if text.endswith("Z"):
        pattern, zone = _ISO_FORMAT, UTC
    parts: dict[str, str] = {}
    remaining_text = text[:_MAX_LENGTH]
    for match in _TOKEN.finditer((pattern or DEFAULT_FORMAT)[:_MAX_LENGTH]):
        token = "S" if match[0].startswith("S") else match[0]
        if token in _PATTERNS:
            part = re.search(_PATTERNS[token], remaining_text)
            if part:
                parts[token] = part[0]
                remaining_text = remaining_text[part.end() :]
        elif remaining_text.startswith(match[1] or token):
            remaining_text = remaining_text[len(match[1] or token) :]
    try:
        return _time_of_parts(parts, zone)
    except (ValueError, OverflowError):
        return None


def _time_of_parts(parts: Mapping[str, str], zone: tzinfo) -> float | None:
    """Return the milliseconds of the parts of a time by tokens. Raises ValueError or OverflowError for an impossible time."""
    if not parts:
        return None
    for token, factor in (("X", 1000), ("x", 1)):
        if token in parts:
            return float(parts[token]) * factor
    offset = parts.get("Z") or parts.get("ZZ")
    time = datetime(*_date(parts), *_clock(parts), tzinfo=_offset_zone(offset) if offset else zone)
    if day_of_year := parts.get("DDD") or parts.get("DDDD"):
        time = time.replace(month=1, day=1) + timedelta(days=int(day_of_year) - 1)
    return _milliseconds(time)


def _date(parts: Mapping[str, str]) -> tuple[int, int, int]:
    """Return year, month and day. Missing parts before the first given part are from today, and missing parts after it are 1."""
    now = datetime.now(UTC)
    year: int | None = None
    if "YYYY" in parts:
        year = _year(parts["YYYY"])
    elif "YY" in parts:
        year = _year(parts["YY"])
    month = _number(parts, "MM", "M")
    name = parts.get("MMM") or parts.get("MMMM")
    if name:
        month = _MONTHS.index(name[:3].lower()) + 1
    day = _number(parts, "DD", "D")
    if "Do" in parts:
        # The letters are those of st, nd, rd and th.
        day = int(parts["Do"].rstrip("sthnrd"))
    if year is None and month is None and day is None:
        return now.year, now.month, now.day
    if year is None and month is None:
        return now.year, now.month, day or 1
    return now.year if year is None else year, 1 if month is None else month, 1 if day is None else day


def _year(digits: str) -> int:
    """Return a year. Two digits are a year from 1969 to 2068."""
    year = int(digits)
    if len(digits) != 2:
        return year
    return year + (2000 if year <= 68 else 1900)


def _clock(parts: Mapping[str, str]) -> tuple[int, int, int, int]:
    """Return hour, minute, second and microsecond."""
    hour = _number(parts, "HH", "H")
    if hour is None:
        hour = _number(parts, "hh", "h") or 0
        half = (parts.get("A") or parts.get("a") or "").lower()
        if half.startswith("p") and hour < 12:
            hour += 12
        elif half.startswith("a") and hour == 12:
            hour = 0
    microsecond = int(parts.get("S", "")[:6].ljust(6, "0"))
    return hour, _number(parts, "mm", "m") or 0, _number(parts, "ss", "s") or 0, microsecond


def _number(parts: Mapping[str, str], *tokens: str) -> int | None:
    return next((int(parts[token]) for token in tokens if token in parts), None)


def _offset_zone(text: str) -> tzinfo:
    if text == "Z":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _milliseconds(time: datetime) -> float:
    return (time - _EPOCH) // timedelta(milliseconds=1)
