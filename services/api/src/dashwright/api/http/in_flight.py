"""Requests in progress: their number, and a time limit for each."""

import asyncio


class InFlightRequests:
    """Counter of requests, from their head to the last byte of their response."""

    def __init__(self) -> None:
        self.is_stopping = False  #: Whether the server stops. Each connection is then closed after its response.
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def begin(self) -> None:
        """Count a request."""
        self._count += 1
        self._idle.clear()

    def end(self) -> None:
        """Count the end of a request."""
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def wait_until_done(self, seconds: float) -> bool:
        """Wait until no request is in progress. Return False if that takes longer than ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


class Deadlines:
    """One time limit for many tasks. A task is cancelled at its deadline.

    One timer serves all tasks: a timer for each request would cost more than dispatch and authentication together.
    """

    def __init__(self, seconds: float) -> None:
        """Limit each task to ``seconds``."""
        self.seconds = seconds
        # All tasks have the same limit, so the order of insertion is the order of the deadlines.
        self._deadlines: dict[asyncio.Task[object], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: asyncio.Task[object]) -> None:
        """Start the time limit of a task."""
        loop = task.get_loop()
        self._deadlines[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._cancel_expired, loop)

    def restart(self, task: asyncio.Task[object]) -> None:
        """Start the time limit of a task again, unless it has expired or ended."""
        if self._deadlines.pop(task, None) is not None:
            # Inserted again: the order of insertion remains the order of the deadlines.
            self._deadlines[task] = task.get_loop().time() + self.seconds

    def has_expired(self, task: asyncio.Task[object]) -> bool:
        """Return whether a task was cancelled at its deadline."""
        return task not in self._deadlines

    def end(self, task: asyncio.Task[object]) -> None:
        """Remove the deadline of a task. A cancellation at the deadline is undone, so that the task can respond."""
        if self._deadlines.pop(task, None) is None:
            task.uncancel()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cancel_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel the tasks whose deadline has passed, and set the timer for the next deadline."""
        self._timer = None
        now = loop.time()
        for task, deadline in list(self._deadlines.items()):
            if deadline > now:
                self._timer = loop.call_at(deadline, self._cancel_expired, loop)
                return
            del self._deadlines[task]
            task.cancel()
