"""Deadline of an evaluation. A thread cannot be stopped from outside, so the work checks the deadline between its steps."""

import math
import time
from collections.abc import Callable

from dashwright.common.errors import DeadlineExceeded

_SETTING = "setting DASHWRIGHT_EVALUATION_SECONDS"


class Deadline:
    """The end of an evaluation, ``seconds`` from its creation. The threads and tasks of one request share it.

    ``origin`` says where the number of seconds comes from, for the error.
    """

    __slots__ = ("_clock", "_end", "_origin", "_seconds")

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic, origin: str = _SETTING) -> None:
        self._clock = clock
        self._seconds = seconds
        self._origin = origin
        self._end = clock() + seconds

    @staticmethod
    def earlier(seconds: float, caller_seconds: float) -> "Deadline":
        """Return a deadline in ``seconds``, or in ``caller_seconds`` if the caller's own deadline is earlier."""
        if caller_seconds < seconds:
            return Deadline(caller_seconds, origin="all that was left of the caller's deadline")
        return Deadline(seconds)

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the end, 0 after it."""
        return max(0.0, self._end - self._clock())

    def check(self) -> None:
        """Raise DeadlineExceeded after the end."""
        if self._clock() >= self._end:
            raise DeadlineExceeded(
                f"the evaluation took longer than the {self._seconds:g} s allowed ({self._origin}); "
                "ask for fewer series or a shorter time range",
                message_id="sse.deadline",
            )

    def expire(self) -> None:
        """Set the end to the past, so that threads that work for a disconnected caller stop at their next check."""
        self._end = -math.inf
