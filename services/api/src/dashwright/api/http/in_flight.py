"""Requests in progress: their number, and a time limit for each."""

import asyncio


class InFlightRequests:
    """Counter of requests, from their head to the last byte of their response."""

    def __init__(self) -> None:
        self.stopping = False  #: True once the server stops: each connection is closed after its response.
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> None:
        """Count a request."""
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        """Count the end of a request."""
        self._count -= 1
        if not self._count:
            self._none.set()

    async def wait_until_done(self, seconds: float) -> bool:
        """Wait until no request is in progress. Return False if that takes longer than ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await self._none.wait()
        except TimeoutError:
            return False
        return True


class Deadlines:
    """One time limit for many tasks, each of which is cancelled when its time is over.

    One timer serves all tasks: starting a timer for each request would cost more than dispatch and authentication together.
    """

    def __init__(self, seconds: float) -> None:
        """Limit each task to ``seconds``."""
        self.seconds = seconds
        # All have the same limit, so the order of insertion is the order of the deadlines.
        self._due: dict[asyncio.Task[object], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: asyncio.Task[object]) -> None:
        """Start the time of a task."""
        loop = task.get_loop()
        self._due[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._sweep, loop)

    def is_over(self, task: asyncio.Task[object]) -> bool:
        """Return whether a task was cancelled because its time was over."""
        return task not in self._due

    def end(self, task: asyncio.Task[object]) -> None:
        """Stop the time of a task. A cancellation because of it is undone, so that the task can respond."""
        if self._due.pop(task, None) is None:
            task.uncancel()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for task, due in list(self._due.items()):
            if due > now:
                self._timer = loop.call_at(due, self._sweep, loop)
                return
            del self._due[task]
            task.cancel()
