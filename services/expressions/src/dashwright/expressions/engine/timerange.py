"""Points in time as requests write them: epoch milliseconds, a duration before now, or date math.

Date math (``now-6h``, ``2014-05-30||/w``) is Grafana's: an anchor (``now``, or an ISO 8601 date followed by ``||``) and
any number of steps, ``+2d``, ``-M`` or ``/w``. Fiscal years start in January, weeks on Monday. Times without a zone are
UTC.
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
_STEP = re.compile(r"([+-])(\d{0,6})(f[yQ]|[yMwdhHmsbQ])|/(f[yQ]|[yMwdhHmsQ])", re.ASCII)
_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)(ms|[yMwdhms])", re.ASCII)
_FIXED = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "H": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_MONTHS = {"y": 12, "fy": 12, "Q": 3, "fQ": 3, "M": 1}
_WORKDAYS = 5


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range, both ends included, with a time zone."""

    start: datetime
    end: datetime


def time_range(start: str, end: str, now: datetime) -> TimeRange:
    """Return the range between two texts. Rounding (``/d``) is down for ``start`` and up for ``end``.

    Up is the last millisecond of the unit. Raises BadRequest with a cause for each invalid end, ``from`` or ``to``.
    """
    causes = []
    ends = []
    for name, text in (("from", start), ("to", end)):
        try:
            ends.append(_instant(text.strip(), now, up=name == "to"))
        except (ValueError, OverflowError):
            advice = "give epoch milliseconds, a duration before now such as 5m, an ISO 8601 time, or date math such as now-6h"
            causes.append(Cause(name, "FieldValueInvalid", f"{name} {text[:80]!r} is not a time; {advice}"))
    if not causes and ends[1] < ends[0]:
        text = f"the time range is empty: from {start[:80]!r} is after to {end[:80]!r}; swap them"
        causes.append(Cause("to", "FieldValueInvalid", text))
    if causes:
        raise BadRequest("; ".join(cause.message for cause in causes), causes=causes)
    return TimeRange(ends[0], ends[1])


def _instant(text: str, now: datetime, *, up: bool) -> datetime:
    # Four digits are a year: as milliseconds they would be one of the first ten seconds of 1970.
    if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) and len(text) != 4:
        return _EPOCH + timedelta(milliseconds=int(text))
    if text.startswith("now"):
        return _stepped(now, text[3:], up=up)
    if durations := _whole(_DURATION, text):
        return _before(now, durations)
    date, _, steps = text.partition("||")
    return _stepped(_date(date), steps, up=up)


def _whole(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the matches if they make up the whole text without gaps, else an empty list."""
    position, found = 0, []
    while match := pattern.match(text, position):
        found.append(match)
        position = match.end()
    return found if position == len(text) else []


def _before(now: datetime, durations: list[re.Match[str]]) -> datetime:
    for count, unit in (duration.groups() for duration in durations):
        now = now - float(count) * _FIXED[unit] if unit in _FIXED else _moved(now, -int(count), unit)
    return now


def _date(text: str) -> datetime:
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("no ISO 8601 date")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    time = f"{hour or '00'}:{minute or '00'}:{second or '00'}.{(fraction or '').ljust(6, '0')[:6]}"
    return datetime.fromisoformat(f"{date}T{time}{zone or 'Z'}")


def _stepped(instant: datetime, text: str, *, up: bool) -> datetime:
    steps = _whole(_STEP, text)
    if text and not steps:
        raise ValueError("unknown steps")
    for sign, count, unit, rounded in (step.groups() for step in steps):
        instant = _rounded(instant, rounded, up=up) if rounded else _moved(instant, int(f"{sign}{count or 1}"), unit)
    return instant


def _moved(instant: datetime, count: int, unit: str) -> datetime:
    if unit in _FIXED:
        return instant + count * _FIXED[unit]
    if unit == "b":
        return _moved_workdays(instant, count)
    year, month = divmod(instant.year * 12 + instant.month - 1 + count * _MONTHS[unit], 12)
    # A day that the target month lacks moves into the month after it, as in Grafana.
    last = calendar.monthrange(year, month + 1)[1]
    over = max(0, instant.day - last)
    return instant.replace(year=year, month=month + 1, day=instant.day - over) + timedelta(days=over)


def _moved_workdays(instant: datetime, count: int) -> datetime:
    """Return the instant moved by business days, Monday to Friday.

    A step from a weekend ends on the next workday in its direction.
    """
    weeks, days = divmod(abs(count), _WORKDAYS)
    direction = timedelta(days=1 if count > 0 else -1)
    if weeks and not days and instant.weekday() >= _WORKDAYS:
        weeks, days = weeks - 1, _WORKDAYS
    instant += weeks * 7 * direction
    for _ in range(days):
        instant += direction
        while instant.weekday() >= _WORKDAYS:
            instant += direction
    return instant


def _rounded(instant: datetime, unit: str, *, up: bool) -> datetime:
    start = _start_of(instant, unit)
    return _moved(start, 1, unit) - timedelta(milliseconds=1) if up else start


def _start_of(instant: datetime, unit: str) -> datetime:
    if unit == "s":
        return instant.replace(microsecond=0)
    if unit == "m":
        return instant.replace(second=0, microsecond=0)
    if unit in {"h", "H"}:
        return instant.replace(minute=0, second=0, microsecond=0)
    day = instant.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "w":
            return day - timedelta(days=day.weekday())
        case "M":
            return day.replace(day=1)
        case "Q" | "fQ":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "y" | "fy":
            return day.replace(month=1, day=1)
    return day
