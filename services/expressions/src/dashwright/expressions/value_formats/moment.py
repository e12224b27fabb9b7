"""Dates in the notation of Moment.js, such as ``YYYY-MM-DD HH:mm``, which dashboards contain."""

import re
from calendar import isleap
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final


def _ordinal(number: int) -> str:
    """Return an English ordinal number, such as *1st*."""
    suffix = "th" if 10 <= number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _day_from_sunday(time: datetime) -> int:
    return time.isoweekday() % 7


def _local_week(time: datetime) -> tuple[int, int]:
    """Return the year and the number of a week that begins on Sunday. The first week of a year contains January 1."""
    day_of_saturday = _day_of_year(time) + 6 - _day_from_sunday(time)
    if day_of_saturday > 365 + isleap(time.year):
        return time.year + 1, 1
    return time.year, (day_of_saturday - 1) // 7 + 1


def _quarter(time: datetime) -> int:
    return (time.month + 2) // 3


def _day_of_year(time: datetime) -> int:
    return time.timetuple().tm_yday


_TOKENS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "YYYYYY": lambda time: f"+{time.year:06}",
    "YYYY": lambda time: f"{time.year:04}",
    "YY": lambda time: f"{time.year % 100:02}",
    "Y": lambda time: str(time.year),
    "Q": lambda time: str(_quarter(time)),
    "Qo": lambda time: _ordinal(_quarter(time)),
    "MMMM": lambda time: f"{time:%B}",
    "MMM": lambda time: f"{time:%b}",
    "MM": lambda time: f"{time.month:02}",
    "Mo": lambda time: _ordinal(time.month),
    "M": lambda time: str(time.month),
    "DDDD": lambda time: f"{time:%j}",
    "DDDo": lambda time: _ordinal(_day_of_year(time)),
    "DDD": lambda time: str(_day_of_year(time)),
    "DD": lambda time: f"{time.day:02}",
    "Do": lambda time: _ordinal(time.day),
    "D": lambda time: str(time.day),
    "dddd": lambda time: f"{time:%A}",
    "ddd": lambda time: f"{time:%a}",
    "dd": lambda time: f"{time:%a}"[:2],
    "do": lambda time: _ordinal(_day_from_sunday(time)),
    "d": lambda time: str(_day_from_sunday(time)),
    "e": lambda time: str(_day_from_sunday(time)),
    "E": lambda time: str(time.isoweekday()),
    "WW": lambda time: f"{time.isocalendar().week:02}",
    "Wo": lambda time: _ordinal(time.isocalendar().week),
    "W": lambda time: str(time.isocalendar().week),
    "ww": lambda time: f"{_local_week(time)[1]:02}",
    "wo": lambda time: _ordinal(_local_week(time)[1]),
    "w": lambda time: str(_local_week(time)[1]),
    "GGGG": lambda time: f"{time.isocalendar().year:04}",
    "GG": lambda time: f"{time.isocalendar().year % 100:02}",
    "gggg": lambda time: f"{_local_week(time)[0]:04}",
    "gg": lambda time: f"{_local_week(time)[0] % 100:02}",
    "HH": lambda time: f"{time.hour:02}",
    "H": lambda time: str(time.hour),
    "hh": lambda time: f"{time.hour % 12 or 12:02}",
    "h": lambda time: str(time.hour % 12 or 12),
    "kk": lambda time: f"{time.hour or 24:02}",
    "k": lambda time: str(time.hour or 24),
    "mm": lambda time: f"{time.minute:02}",
    "m": lambda time: str(time.minute),
    "ss": lambda time: f"{time.second:02}",
    "s": lambda time: str(time.second),
    "zz": lambda time: time.tzname() or "",
    "z": lambda time: time.tzname() or "",
    "ZZ": lambda time: f"{time:%z}",
    "Z": lambda time: f"{time:%z}"[:3] + ":" + f"{time:%z}"[3:5],
    "X": lambda time: str(round(time.timestamp() * 1000) // 1000),
    "x": lambda time: str(round(time.timestamp() * 1000)),
    "A": lambda time: "AM" if time.hour < 12 else "PM",
    "a": lambda time: "am" if time.hour < 12 else "pm",
}
#: The notation of each format that Moment.js names, in English.
_NAMED_FORMATS: Final = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "LLL": "MMMM D, YYYY h:mm A",
    "LL": "MMMM D, YYYY",
    "L": "MM/DD/YYYY",
    "llll": "ddd, MMM D, YYYY h:mm A",
    "lll": "MMM D, YYYY h:mm A",
    "ll": "MMM D, YYYY",
    "l": "M/D/YYYY",
}
_ESCAPED: Final = r"\[([^\]]*)\]"
_NAMED_FORMAT: Final = re.compile(f"{_ESCAPED}|LTS?|L{{1,4}}|l{{1,4}}")
#: A token, or the digits of a fraction of a second.
_TOKEN: Final = re.compile("|".join([_ESCAPED, *sorted(_TOKENS, key=len, reverse=True), "S{1,9}"]))


def format_date(time: datetime, pattern: str) -> str:
    """Return the time in a notation of Moment.js. Text in brackets is unchanged."""
    expanded = _NAMED_FORMAT.sub(lambda match: _NAMED_FORMATS.get(match[0], match[0]), pattern)
    return _TOKEN.sub(lambda match: _text_of_token(match, time), expanded)


def _text_of_token(match: re.Match[str], time: datetime) -> str:
    if match[1] is not None:
        return match[1]
    if match[0].startswith("S"):
        return f"{time.microsecond // 1000:03}000000"[: len(match[0])]
    return _TOKENS[match[0]](time)
