"""Time as an argument: code that needs the time takes a Clock, so that tests control it."""

import time
from datetime import UTC, datetime


class Clock:
    """Clock of the system."""

    def seconds(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def milliseconds(self) -> int:
        """Return Unix time in milliseconds, as the API shows it."""
        return int(self.seconds() * 1000)

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self.seconds(), UTC)
