"""Dates in the notation of Moment.js, such as ``YYYY-MM-DD HH:mm``, which dashboards contain."""

import math
import re
from calendar import isleap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

#: The calendar repeats after this many years, on the same days of the week.
CYCLE_YEARS: Final = 400
CYCLE_DAYS: Final = 146_097
_CYCLE_MILLISECONDS: Final = CYCLE_DAYS * 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: The times in milliseconds that ``datetime`` has in any time zone: the years 2 to 9998.
_FIRST_MILLISECOND: Final = -62_104_060_800_000
_LAST_MILLISECOND: Final = 253_370_764_799_999
#: The last millisecond that a date of JavaScript reaches.
MAX_DATE: Final = 8.64e15


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A time in a zone, in any year. For a year beyond those of ``datetime``, ``time`` is in another cycle of 400 years."""

    time: datetime
    cycles: int = 0  #: The number of cycles to add to ``time``.

    @property
    def year(self) -> int:
        """The year. The year 0 is before the year 1."""
        return self.time.year + self.cycles * CYCLE_YEARS

    @property
    def milliseconds(self) -> int:
        """The milliseconds since 1970."""
        return (self.time - _EPOCH) // timedelta(milliseconds=1) + self.cycles * _CYCLE_MILLISECONDS


def local_time(milliseconds: float, zone: tzinfo) -> LocalTime | None:
    """Return the time of milliseconds since 1970 in a zone, or None if JavaScript has no such date."""
    # This comparison is also false for NaN.
    if not abs(milliseconds) <= MAX_DATE:
        return None
    milliseconds_of_cycle, cycles = math.trunc(milliseconds), 0
    if not _FIRST_MILLISECOND <= milliseconds_of_cycle <= _LAST_MILLISECOND:
        cycles, milliseconds_of_cycle = divmod(milliseconds_of_cycle, _CYCLE_MILLISECONDS)
    return LocalTime((_EPOCH + timedelta(milliseconds=milliseconds_of_cycle)).astimezone(zone), cycles)


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


#: The texts of the tokens that do not depend on the year.
_TOKENS: Final[Mapping[str, Callable[[datetime], str]]] = {
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
    "Hmmss": lambda time: f"{time.hour}{time:%M%S}",
    "Hmm": lambda time: f"{time.hour}{time:%M}",
    "hmmss": lambda time: f"{time.hour % 12 or 12}{time:%M%S}",
    "hmm": lambda time: f"{time.hour % 12 or 12}{time:%M}",
    "A": lambda time: "AM" if time.hour < 12 else "PM",
    "a": lambda time: "am" if time.hour < 12 else "pm",
}


def _filled(number: int, width: int) -> str:
    """Return a number with at least ``width`` digits after its sign."""
    return f"{'-' * (number < 0)}{abs(number):0{width}}"


def _last_digits(year: int) -> str:
    """Return the last two digits of a year."""
    return _filled(int(math.fmod(year, 100)), 2)


def _year_of_era(time: LocalTime) -> int:
    """Return the year counted from the start of its era: 1 for the years 1 and 0 (1 BC)."""
    return time.year if time.year > 0 else 1 - time.year


def _era(after: str, before: str) -> Callable[[LocalTime], str]:
    """Return the text of a token of eras: ``after`` from the year 1 on, and ``before`` for earlier years."""
    return lambda time: after if time.year > 0 else before


def _year_of_iso_week(time: LocalTime) -> int:
    """Return the year to which the ISO week of a time belongs."""
    return time.cycles * CYCLE_YEARS + time.time.isocalendar().year


def _year_of_week(time: LocalTime) -> int:
    """Return the year to which the week of a time, from Sunday on, belongs."""
    return time.cycles * CYCLE_YEARS + _local_week(time.time)[0]


#: The texts of the tokens that depend on the year.
_TOKENS_OF_YEARS: Final[Mapping[str, Callable[[LocalTime], str]]] = {
    "YYYYYY": lambda time: "+" * (time.year >= 0) + _filled(time.year, 6),
    "YYYYY": lambda time: _filled(time.year, 5),
    "YYYY": lambda time: _filled(time.year, 4),
    "YY": lambda time: _last_digits(time.year),
    "Y": lambda time: f"+{time.year}" if time.year > 9999 else _filled(time.year, 4),
    "yyyy": lambda time: f"{_year_of_era(time):04}",
    "yyy": lambda time: f"{_year_of_era(time):03}",
    "yy": lambda time: f"{_year_of_era(time):02}",
    "yo": lambda time: _ordinal(_year_of_era(time)),
    "y": lambda time: str(_year_of_era(time)),
    "NNNN": _era("Anno Domini", "Before Christ"),
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), _era("AD", "BC")),
    "GGGGG": lambda time: _filled(_year_of_iso_week(time), 5),
    "GGGG": lambda time: _filled(_year_of_iso_week(time), 4),
    "GG": lambda time: _last_digits(_year_of_iso_week(time)),
    "ggggg": lambda time: _filled(_year_of_week(time), 5),
    "gggg": lambda time: _filled(_year_of_week(time), 4),
    "gg": lambda time: _last_digits(_year_of_week(time)),
    "X": lambda time: str(time.milliseconds // 1000),
    "x": lambda time: str(time.milliseconds),
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
#: Text in brackets, or a character after a backslash, which are unchanged.
_ESCAPED: Final = r"\[([^\[]*)\]|\\(.)"
_NAMED_FORMAT: Final = re.compile(f"{_ESCAPED}|LTS?|L{{1,4}}|l{{1,4}}")
#: A token, or the digits of a fraction of a second.
_TOKEN: Final = re.compile("|".join([_ESCAPED, *sorted([*_TOKENS, *_TOKENS_OF_YEARS], key=len, reverse=True), "S{1,9}"]))


def format_date(time: LocalTime, pattern: str) -> str:
    """Return the time in a notation of Moment.js. Text in brackets is unchanged."""
    expanded = _NAMED_FORMAT.sub(lambda match: _NAMED_FORMATS.get(match[0], match[0]), pattern)
    return _TOKEN.sub(lambda match: _text_of_token(match, time), expanded)


def _text_of_token(match: re.Match[str], time: LocalTime) -> str:
    """Return the text for a token in a notation; escaped text is returned without its brackets or backslash."""
    token = match[0]
    if match[1] is not None or match[2] is not None:
        return match[1] or match[2] or ""
    if token.startswith("S"):
        # Dates of JavaScript have milliseconds only, so further digits are zeros.
        return f"{time.time.microsecond // 1000:03}000000"[: len(token)]
    return _TOKENS_OF_YEARS[token](time) if token in _TOKENS_OF_YEARS else _TOKENS[token](time.time)
