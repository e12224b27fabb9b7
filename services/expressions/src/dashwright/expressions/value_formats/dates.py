"""Values that are times, in milliseconds since 1970, as dates in the zone of the picture."""

import math
from calendar import monthrange
from datetime import datetime, timedelta
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.moment import CYCLE_DAYS, CYCLE_YEARS, LocalTime, format_date, local_time

ISO: Final = "YYYY-MM-DD HH:mm:ss"
US: Final = "MM/DD/YYYY h:mm:ss a"
#: A narrow space precedes *AM*, as browsers write the local time of English.
LOCAL: Final = "MM/DD/YYYY, hh:mm:ss\u202fA"
_MILLISECONDS: Final = ".SSS"
#: The default notation, without the offset.
_DEFAULT: Final = "YYYY-MM-DD[T]HH:mm:ss"
_INVALID: Final = FormattedValue("Invalid date")
_CYCLE_MONTHS: Final = CYCLE_YEARS * 12


def date(pattern: str, pattern_of_today: str = "") -> ValueFormat:
    """Return the format of times in a notation of Moment.js; that of times of the current day may differ."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time = local_time(value, context.zone)
        if time is None:
            return _INVALID
        is_today = pattern_of_today and not time.cycles and time.time.date() == context.current_time.date()
        # As in Moment.js, the default ends with the offset, which is *Z* for UTC.
        offset = "Z" if time.time.utcoffset() else "[Z]"
        return FormattedValue(format_date(time, (pattern_of_today if is_today else pattern) or _DEFAULT + offset))

    return format_time


def system_date() -> ValueFormat:
    """Return the format of times that have no unit of their own."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time = local_time(value, context.zone)
        pattern = ISO + _MILLISECONDS if context.with_milliseconds else ISO
        return _INVALID if time is None else FormattedValue(format_date(time, pattern))

    return format_time


def relative_date() -> ValueFormat:
    """Return the format of times relative to now, such as *5 minutes ago*, with the limits of Moment.js."""

    def format_time(value: float, _decimals: int | None, context: DateContext) -> FormattedValue:
        time, now = local_time(value, context.zone), LocalTime(context.current_time)
        if time is None:
            return _INVALID
        is_future = time.milliseconds > now.milliseconds
        text = _distance(now, time) if is_future else _distance(time, now)
        return FormattedValue(f"in {text}" if is_future else f"{text} ago")

    return format_time


def _distance(start: LocalTime, end: LocalTime) -> str:
    """Return the length of time between two times in words, rounded to the unit that Moment.js chooses."""
    months, days = _months_and_days(start, end)
    # As in Moment.js, a month has the average length of those of a cycle.
    all_days = round(months * CYCLE_DAYS / _CYCLE_MONTHS) + days
    seconds = _half_up(all_days * 86_400)
    minutes, hours = _half_up(all_days * 1440), _half_up(all_days * 24)
    all_months = months + days * _CYCLE_MONTHS / CYCLE_DAYS
    if seconds <= 44:
        return "a few seconds"
    # Each count is used if it is below the number after it.
    counts = (
        (minutes, 45, "a minute", "minutes"),
        (hours, 22, "an hour", "hours"),
        (_half_up(all_days), 26, "a day", "days"),
        (_half_up(all_months), 11, "a month", "months"),
        (_half_up(all_months / 12), math.inf, "a year", "years"),
    )
    number, _, singular, plural = next(count for count in counts if count[0] < count[1])
    return singular if number <= 1 else f"{number} {plural}"


def _months_and_days(start: LocalTime, end: LocalTime) -> tuple[int, float]:
    """Return the whole months between two times, and the days that remain."""
    months = (end.time.year - start.time.year) * 12 + end.time.month - start.time.month
    end_of_months = _months_later(start.time, months)
    if end_of_months > end.time:
        months -= 1
        end_of_months = _months_later(start.time, months)
    return months + (end.cycles - start.cycles) * _CYCLE_MONTHS, (end.time - end_of_months) / timedelta(days=1)


def _months_later(time: datetime, months: int) -> datetime:
    """Return the same day in a later month, or the month's last day if it is shorter."""
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    _, last_day = monthrange(year, month + 1)
    return time.replace(year=year, month=month + 1, day=min(time.day, last_day))


def _half_up(value: float) -> int:
    """Return the nearest whole number; a half is rounded up."""
    return math.floor(value + 0.5)
