"""When somebody was last seen, in the words existing clients show."""

from datetime import datetime, timedelta
from typing import Final

_NEVER: Final = timedelta(days=3653)
_UNITS: Final = ((525_600, "y"), (43_800, "M"), (1_440, "d"), (60, "h"), (1, "m"))
"""Minutes of a unit, the largest first; a month is a twelfth of a year."""


def last_seen(seen: datetime | None, created: datetime) -> datetime:
    """Who was never seen counts as last seen ten years before they were made, as clients expect."""
    return created - _NEVER if seen is None else seen


def age(moment: datetime, now: datetime) -> str:
    """``10y``, ``4M``, ``2d``, ``3h``, ``5m`` or ``< 1 minute``: the largest unit, rounded down."""
    minutes = int((now - moment).total_seconds() // 60)
    for length, letter in _UNITS:
        if minutes >= length:
            return f"{minutes // length}{letter}"
    return "< 1 minute"
