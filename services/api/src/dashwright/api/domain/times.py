"""Times as the classic API shows them: RFC 3339 in UTC, whole seconds."""

from datetime import UTC, datetime
from typing import Final

LAST: Final = 253_402_300_799
"""The last second that can be shown, the end of the year 9999, in Unix seconds."""

_FIRST: Final = -62_135_596_800


def format_time(moment: datetime) -> str:
    """``2026-01-31T12:00:00Z``."""
    return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def format_seconds(seconds: int) -> str:
    """Unix seconds as a time. What lies beyond the years 1 to 9999 is shown as their first or last second."""
    return format_time(datetime.fromtimestamp(min(max(seconds, _FIRST), LAST), UTC))
