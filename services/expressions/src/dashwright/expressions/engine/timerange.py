"""Times as requests write them: epoch milliseconds, a duration before now, or date math.

Date math, such as ``now-6h`` and ``2014-05-30||/w``, is Grafana's: ``now``, or an ISO 8601 date and ``||``, then any
number of steps such as ``+2d``, ``-M`` and ``/w``. Dates without a zone are UTC; steps use the time zone of ``now``.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dashwright.common.errors import BadRequest, Cause

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?", re.ASCII
)
#: A step of date math. The unit ``Q`` is a quarter, ``b`` a business day, and ``fy`` and ``fQ`` are of the fiscal year.
_STEP = re.compile(r"([+-])(\d{0,6})(f[yQ]|[yMwdhHmsbQ])|/(f[yQ]|[yMwdhHmsQ])", re.ASCII)
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|[yMwdhms])", re.ASCII)
#: Units of a fixed length. A step of days or weeks keeps the time of day, even if the offset of the zone changes.
_FIXED_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "H": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
#: Units whose steps are elapsed time, even if the offset of the zone changes.
_CLOCK_UNITS = frozenset({"h", "H", "m", "s", "ms"})
_MONTHS_OF_UNIT = {"y": 12, "fy": 12, "Q": 3, "fQ": 3, "M": 1}
_WORKDAYS_PER_WEEK = 5
#: The maximum number of characters of a time that an error quotes.
_MAX_QUOTED = 80


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range that includes both ends. The times have a time zone."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class CalendarRules:
    """The first day of weeks and the first month of fiscal years, on which rounded times depend."""

    week_start: int = calendar.MONDAY
    fiscal_year_start: int = 1  #: A month, 1 to 12.


_DEFAULT_RULES = CalendarRules()


def parse_time_range(start: str, end: str, now: datetime, rules: CalendarRules = _DEFAULT_RULES) -> TimeRange:
    """Return the range between two times in any notation. Rounding (``/d``) is down for ``start`` and up for ``end``.

    Rounding up gives the last millisecond of the unit. Raises BadRequest with a cause for each invalid field, ``from`` or ``to``.
    """
    causes = []
    times = []
    for name, value in (("from", start), ("to", end)):
        try:
            times.append(_parse_time(value.strip(), now, rules, round_up=name == "to"))
        except (ValueError, OverflowError):
            advice = "give epoch milliseconds, a duration before now such as 5m, an ISO 8601 time, or date math such as now-6h"
            causes.append(Cause(name, "FieldValueInvalid", f"{name} {value[:_MAX_QUOTED]!r} is not a time; {advice}"))
    if not causes and times[1] < times[0]:
        hint = "; four digits are a year" if any(re.fullmatch(r"\d{4}", text.strip(), re.ASCII) for text in (start, end)) else ""
        quoted_start, quoted_end = (repr(text[:_MAX_QUOTED]) for text in (start, end))
        message = f"the time range is empty: from {quoted_start} is after to {quoted_end}{hint}; give a later end"
        causes.append(Cause("to", "FieldValueInvalid", message))
    if causes:
        raise BadRequest("; ".join(cause.message for cause in causes), causes=causes)
    return TimeRange(times[0], times[1])


def moved_by(instant: datetime, steps: str, rules: CalendarRules = _DEFAULT_RULES, *, round_up: bool = False) -> datetime:
    """Return the instant after steps of date math such as ``-1d/d``, in its time zone. Raises BadRequest for other text."""
    try:
        return _apply_steps(instant, steps, rules, round_up=round_up)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{steps[:_MAX_QUOTED]!r} are not steps of date math such as -1d") from error


def _parse_time(value: str, now: datetime, rules: CalendarRules, *, round_up: bool) -> datetime:
    """Return the time that a request writes in any notation. Raises ValueError or OverflowError if it is invalid."""
    # Four digits are a year: as milliseconds they would be one of the first ten seconds of 1970.
    if re.fullmatch(r"-?\d{1,18}", value, re.ASCII) and len(value) != 4:
        return _EPOCH + timedelta(milliseconds=int(value))
    if value.startswith("now"):
        return _apply_steps(now, value[3:], rules, round_up=round_up)
    if durations := _consecutive_matches(_DURATION, value):
        return _before(now, durations)
    date, _, steps = value.partition("||")
    return _apply_steps(_parse_date(date), steps, rules, round_up=round_up)


def _consecutive_matches(pattern: re.Pattern[str], value: str) -> list[re.Match[str]]:
    """Return the matches if they cover the complete string, else an empty list."""
    position, matches = 0, []
    while match := pattern.match(value, position):
        matches.append(match)
        position = match.end()
    return matches if position == len(value) else []


def _before(now: datetime, durations: list[re.Match[str]]) -> datetime:
    """Return the instant that is all durations before ``now``. Raises ValueError if a number of months or years is not whole."""
    instant = now
    for count, unit in (duration.groups() for duration in durations):
        if unit in _FIXED_UNITS:
            instant -= float(count) * _FIXED_UNITS[unit]
        else:
            instant = _moved(instant, -int(count), unit)
    return instant


def _parse_date(value: str) -> datetime:
    match = _DATE.fullmatch(value)
    if match is None:
        raise ValueError("not an ISO 8601 date")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    time = f"{hour or '00'}:{minute or '00'}:{second or '00'}.{(fraction or '').ljust(6, '0')[:6]}"
    return datetime.fromisoformat(f"{date}T{time}{zone or 'Z'}")


def _apply_steps(instant: datetime, steps: str, rules: CalendarRules, *, round_up: bool) -> datetime:
    """Return the instant after steps of date math. Raises ValueError or OverflowError if they are invalid."""
    matches = _consecutive_matches(_STEP, steps)
    if steps and not matches:
        raise ValueError("unknown steps")
    for sign, count, unit, rounding_unit in (match.groups() for match in matches):
        signed_count = int(f"{sign or ''}{count or 1}")
        instant = _rounded(instant, rounding_unit, rules, up=round_up) if rounding_unit else _moved(instant, signed_count, unit)
    return instant


def _moved(instant: datetime, count: int, unit: str) -> datetime:
    """Return the instant moved by ``count`` units."""
    if unit in _CLOCK_UNITS:
        # Arithmetic in a zone would ignore that its offset changes.
        return (instant.astimezone(UTC) + count * _FIXED_UNITS[unit]).astimezone(instant.tzinfo)
    if unit in _FIXED_UNITS:
        return instant + count * _FIXED_UNITS[unit]
    if unit == "b":
        return _moved_workdays(instant, count)
    year, zero_based_month = divmod(instant.year * 12 + instant.month - 1 + count * _MONTHS_OF_UNIT[unit], 12)
    month = zero_based_month + 1
    # A day that the new month does not have becomes a day of the next month, as in Grafana.
    days_of_month = calendar.monthrange(year, month)[1]
    excess_days = max(0, instant.day - days_of_month)
    return instant.replace(year=year, month=month, day=instant.day - excess_days) + timedelta(days=excess_days)


def _moved_workdays(instant: datetime, count: int) -> datetime:
    """Return the instant moved by business days, Monday to Friday.

    A move from a weekend ends on a workday.
    """
    weeks, days = divmod(abs(count), _WORKDAYS_PER_WEEK)
    direction = timedelta(days=1 if count > 0 else -1)
    # Whole weeks after a Saturday end on a Saturday, so the last week is moved day by day.
    if weeks and not days and _is_weekend(instant):
        weeks, days = weeks - 1, _WORKDAYS_PER_WEEK
    instant += weeks * 7 * direction
    for _ in range(days):
        instant += direction
        while _is_weekend(instant):
            instant += direction
    return instant


def _is_weekend(instant: datetime) -> bool:
    return instant.weekday() >= _WORKDAYS_PER_WEEK


def _rounded(instant: datetime, unit: str, rules: CalendarRules, *, up: bool) -> datetime:
    """Return the first instant of the unit that contains the instant, or if ``up`` its last millisecond."""
    start = _start_of(instant, unit, rules)
    return _moved(_moved(start, 1, unit), -1, "ms") if up else start


def _start_of(instant: datetime, unit: str, rules: CalendarRules) -> datetime:
    """Return the first instant of the unit that contains the instant."""
    if unit == "s":
        return instant.replace(microsecond=0)
    if unit == "m":
        return instant.replace(second=0, microsecond=0)
    if unit in {"h", "H"}:
        return instant.replace(minute=0, second=0, microsecond=0)
    day = instant.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "w":
        return day - timedelta(days=(day.weekday() - rules.week_start) % 7)
    if unit in _MONTHS_OF_UNIT:
        first_month = rules.fiscal_year_start if unit.startswith("f") else 1
        return _moved(day.replace(day=1), -((day.month - first_month) % _MONTHS_OF_UNIT[unit]), "M")
    return day
