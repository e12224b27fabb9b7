"""Dates in the notation of Moment.js, such as ``YYYY-MM-DD HH:mm``, which dashboards contain."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

_TOKEN: Final = re.compile(r"\[([^\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|DD|D|dddd|ddd|HH|H|hh|h|mm|m|ss|s|SSS|ZZ|Z|X|x|A|a")

_TOKENS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "YYYY": lambda time: f"{time.year:04}",
    "YY": lambda time: f"{time.year % 100:02}",
    "MMMM": lambda time: f"{time:%B}",
    "MMM": lambda time: f"{time:%b}",
    "MM": lambda time: f"{time.month:02}",
    "M": lambda time: str(time.month),
    "DDDD": lambda time: f"{time:%j}",
    "DD": lambda time: f"{time.day:02}",
    "D": lambda time: str(time.day),
    "dddd": lambda time: f"{time:%A}",
    "ddd": lambda time: f"{time:%a}",
    "HH": lambda time: f"{time.hour:02}",
    "H": lambda time: str(time.hour),
    "hh": lambda time: f"{time.hour % 12 or 12:02}",
    "h": lambda time: str(time.hour % 12 or 12),
    "mm": lambda time: f"{time.minute:02}",
    "m": lambda time: str(time.minute),
    "ss": lambda time: f"{time.second:02}",
    "s": lambda time: str(time.second),
    "SSS": lambda time: f"{time.microsecond // 1000:03}",
    "ZZ": lambda time: f"{time:%z}",
    "Z": lambda time: f"{time:%z}"[:3] + ":" + f"{time:%z}"[3:5],
    "X": lambda time: str(int(time.timestamp())),
    "x": lambda time: str(round(time.timestamp() * 1000)),
    "A": lambda time: "AM" if time.hour < 12 else "PM",
    "a": lambda time: "am" if time.hour < 12 else "pm",
}


def format_date(time: datetime, pattern: str) -> str:
    """Return the time in a notation of Moment.js. Text in brackets is unchanged."""
    return _TOKEN.sub(lambda match: match[1] if match[1] is not None else _TOKENS[match[0]](time), pattern)
