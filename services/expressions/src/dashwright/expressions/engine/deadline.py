"""When the evaluation of a request must end. A thread cannot be stopped from outside, so what works asks here between its steps."""

import math
import time
from collections.abc import Callable

from dashwright.common.errors import DeadlineExceeded

_SETTING = "setting DASHWRIGHT_EVALUATION_SECONDS"


class Deadline:
    """``seconds`` from now; without them there is no end. Shared by whoever works on the request and whoever waits for it.

    ``bound`` is what the error names as the reason for that time.
    """

    __slots__ = ("_bound", "_clock", "_ends", "_seconds")

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic, bound: str = _SETTING) -> None:
        self._bound = bound
        self._clock = clock
        self._seconds = seconds
        self._ends = clock() + seconds

    @staticmethod
    def of(seconds: float, left: float) -> "Deadline":
        """After ``seconds``, or sooner where the caller waits only as long as ``left``."""
        return Deadline(left, bound="all that was left of the caller's deadline") if left < seconds else Deadline(seconds)

    @property
    def left(self) -> float:
        """Seconds until the end, 0 after it."""
        return max(0.0, self._ends - self._clock())

    def check(self) -> None:
        """Raises DeadlineExceeded when the time is over."""
        if self._clock() >= self._ends:
            raise DeadlineExceeded(
                f"the evaluation took longer than the {self._seconds:g} s allowed ({self._bound}); "
                "ask for fewer series or a shorter time range",
                message_id="sse.deadline",
            )

    def end(self) -> None:
        """Brings the end forward to now: nobody waits any more."""
        self._ends = -math.inf
