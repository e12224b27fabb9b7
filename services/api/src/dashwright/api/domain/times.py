"""Times as the classic API formats them, and the time since a user was seen."""

from datetime import UTC, datetime, timedelta
from typing import Final

LAST: Final = 253_402_300_799
"""The last second that can be formatted, the end of the year 9999, in Unix seconds."""

_FIRST: Final = -62_135_596_800


def format_time(moment: datetime) -> str:
    """Return ``2026-01-31T12:00:00Z``: RFC 3339 in UTC, in whole seconds."""
    return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def format_seconds(seconds: int) -> str:
    """Return Unix seconds as a time. Times outside of the years 1 to 9999 become their first or last second."""
    return format_time(datetime.fromtimestamp(min(max(seconds, _FIRST), LAST), UTC))


_NEVER: Final = timedelta(days=3653)
_UNITS: Final = ((525_600, "y"), (43_800, "M"), (1_440, "d"), (60, "h"), (1, "m"))
"""Minutes of each unit, the largest first. A month is a twelfth of a year."""


def last_seen(seen: datetime | None, created: datetime) -> datetime:
    """Return when a user was seen. Users who never signed in count as seen ten years before their creation, as clients expect."""
    return created - _NEVER if seen is None else seen


def age(moment: datetime, now: datetime) -> str:
    """Return ``10y``, ``4M``, ``2d``, ``3h``, ``5m`` or ``< 1 minute``: the largest unit, rounded down."""
    minutes = int((now - moment).total_seconds() // 60)
    for length, letter in _UNITS:
        if minutes >= length:
            return f"{minutes // length}{letter}"
    return "< 1 minute"
