"""Deadline of an evaluation. A thread cannot be stopped from outside, so the work checks the deadline between its steps."""

import math
import time
from collections.abc import Callable

from dashwright.common.errors import DeadlineExceeded

_SETTING = "setting DASHWRIGHT_EVALUATION_SECONDS"


class Deadline:
    """The end of an evaluation, ``seconds`` from now; it is shared by the threads and tasks of one request.

    ``bound`` names the reason for that time in the error.
    """

    __slots__ = ("_bound", "_clock", "_ends", "_seconds")

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic, bound: str = _SETTING) -> None:
        self._bound = bound
        self._clock = clock
        self._seconds = seconds
        self._ends = clock() + seconds

    @staticmethod
    def of(seconds: float, left: float) -> "Deadline":
        """Return a deadline in ``seconds``, or in ``left`` if the caller's own deadline is sooner."""
        return Deadline(left, bound="all that was left of the caller's deadline") if left < seconds else Deadline(seconds)

    @property
    def left(self) -> float:
        """Seconds until the end, 0 after it."""
        return max(0.0, self._ends - self._clock())

    def check(self) -> None:
        """Raise DeadlineExceeded after the end."""
        if self._clock() >= self._ends:
            raise DeadlineExceeded(
                f"the evaluation took longer than the {self._seconds:g} s allowed ({self._bound}); "
                "ask for fewer series or a shorter time range",
                message_id="sse.deadline",
            )

    def end(self) -> None:
        """End the deadline now, because the caller is gone."""
        self._ends = -math.inf
