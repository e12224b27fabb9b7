"""Values that are times, in milliseconds since 1970, as dates in the zone of the picture."""

import math
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.moment import format_date

ISO: Final = "YYYY-MM-DD HH:mm:ss"
US: Final = "MM/DD/YYYY h:mm:ss a"
#: A narrow space precedes *AM*, as browsers write the local time of English.
LOCAL: Final = "MM/DD/YYYY, hh:mm:ss\u202fA"
_MILLISECONDS: Final = ".SSS"
_DEFAULT: Final = "YYYY-MM-DD[T]HH:mm:ssZ"
_INVALID: Final = FormattedValue("Invalid date")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def date(pattern: str, pattern_of_today: str = "") -> ValueFormat:
    """Return the format of times in a notation of Moment.js; that of times of the current day may differ."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time = time_of(value, context)
        if time is None:
            return _INVALID
        is_today = pattern_of_today and time.date() == context.current_time.date()
        return FormattedValue(format_date(time, (pattern_of_today if is_today else pattern) or _DEFAULT))

    return format_time


def system_date() -> ValueFormat:
    """Return the format of times that have no configured one."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time = time_of(value, context)
        pattern = ISO + _MILLISECONDS if context.with_milliseconds else ISO
        return _INVALID if time is None else FormattedValue(format_date(time, pattern))

    return format_time


def relative_date() -> ValueFormat:
    """Return the format of times relative to now, such as *5 minutes ago*, with the limits of Moment.js."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time = time_of(value, context)
        if time is None:
            return _INVALID
        now = context.current_time
        text = _distance(min(time, now), max(time, now))
        return FormattedValue(f"in {text}" if time > now else f"{text} ago")

    return format_time


def time_of(value: float, context: DateContext) -> datetime | None:
    """Return a time in the zone, or None if it is beyond the year 9999."""
    if not math.isfinite(value):
        return None
    try:
        return (_EPOCH + timedelta(milliseconds=math.trunc(value))).astimezone(context.zone)
    except (OverflowError, ValueError):
        return None


def _distance(start: datetime, end: datetime) -> str:
    """Return the length of time between two times, rounded."""
    months, days = _months_and_days(start, end)
    all_days = round(months * 146097 / 4800) + days
    seconds = _half_up(all_days * 86_400)
    minutes, hours = _half_up(all_days * 1440), _half_up(all_days * 24)
    all_months = months + days * 4800 / 146097
    if seconds <= 44:
        return "a few seconds"
    counts = (
        (minutes, 45, "a minute", "minutes"),
        (hours, 22, "an hour", "hours"),
        (_half_up(all_days), 26, "a day", "days"),
        (_half_up(all_months), 11, "a month", "months"),
        (_half_up(all_months / 12), math.inf, "a year", "years"),
    )
    number, _, one, many = next(count for count in counts if count[0] < count[1])
    return one if number <= 1 else f"{number} {many}"


def _months_and_days(start: datetime, end: datetime) -> tuple[int, float]:
    """Return the whole months between two times, and the days that remain."""
    months = (end.year - start.year) * 12 + end.month - start.month
    moved = _months_later(start, months)
    if moved > end:
        months -= 1
        moved = _months_later(start, months)
    return months, (end - moved) / timedelta(days=1)


def _months_later(time: datetime, months: int) -> datetime:
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    _, last_day = monthrange(year, month + 1)
    return time.replace(year=year, month=month + 1, day=min(time.day, last_day))


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)
