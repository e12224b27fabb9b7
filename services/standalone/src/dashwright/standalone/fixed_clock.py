"""A clock for reproducible results of relative times."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from dashwright.common.clock import Clock


@dataclass(frozen=True, slots=True)
class FixedClock(Clock):
    """A clock that always returns the same time."""

    time: datetime

    @classmethod
    def at(cls, time: datetime) -> Self:
        """Return a clock at a time. A time without an offset is in UTC."""
        return cls(time if time.tzinfo else time.replace(tzinfo=UTC))

    def seconds(self) -> float:
        """Return the fixed time in seconds since the epoch."""
        return self.time.timestamp()
