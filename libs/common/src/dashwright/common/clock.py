"""Time as an argument: what reads the time takes a Clock, so tests decide what time it is."""

import time
from datetime import UTC, datetime


class Clock:
    """The system's time. ``seconds`` is Unix time; ``milliseconds`` is what the interface shows."""

    def seconds(self) -> float:
        return time.time()

    def milliseconds(self) -> int:
        return int(self.seconds() * 1000)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds(), UTC)
