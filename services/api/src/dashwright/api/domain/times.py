"""Timestamps as the classic API formats them, and the time since a user was active."""

from datetime import UTC, datetime, timedelta
from typing import Final

MAX_SECONDS: Final = 253_402_300_799
"""The last time that can be formatted, the end of the year 9999, in Unix seconds."""

_MIN_SECONDS: Final = -62_135_596_800
"""The first time that can be formatted, the start of the year 1, in Unix seconds."""

ZERO_TIME: Final = "0001-01-01T00:00:00Z"
"""Go's zero time, which Grafana's clients recognise as a missing time."""


def format_time(timestamp: datetime) -> str:
    """Return ``2026-01-31T12:00:00Z``: RFC 3339 in UTC, in whole seconds."""
    return timestamp.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def format_seconds(seconds: int) -> str:
    """Return Unix seconds in the format of ``format_time``. Times before the year 1 or after 9999 become the first or last time."""
    return format_time(datetime.fromtimestamp(min(max(seconds, _MIN_SECONDS), MAX_SECONDS), UTC))


_TEN_YEARS: Final = timedelta(days=3653)
"""Ten years with three leap days."""
_UNITS: Final = ((525_600, "y"), (43_800, "M"), (1_440, "d"), (60, "h"), (1, "m"))
"""Length in minutes and letter of each unit, the largest first. A month is a twelfth of a year."""


def last_seen(last_seen_at: datetime | None, created: datetime) -> datetime:
    """Return when a user was last active. For a user who never signed in, it is ten years before their creation, as in Grafana."""
    return created - _TEN_YEARS if last_seen_at is None else last_seen_at


def age(since: datetime, now: datetime) -> str:
    """Return the time since ``since`` in its largest unit, rounded down: ``10y``, ``4M``, ``2d``, ``3h``, ``5m`` or ``< 1 minute``."""
    minutes = int((now - since).total_seconds() // 60)
    for length, letter in _UNITS:
        if minutes >= length:
            return f"{minutes // length}{letter}"
    return "< 1 minute"
