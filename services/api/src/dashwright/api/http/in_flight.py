"""Requests in progress: their number, and a time limit for each."""

import asyncio


class InFlightRequests:
    """Counts requests from their head to the last byte of their answer. Once ``stopping``, each connection ends with its answer."""

    def __init__(self) -> None:
        self.stopping = False
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> None:
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        self._count -= 1
        if not self._count:
            self._none.set()

    async def ended(self, seconds: float) -> bool:
        """Waits until none is left; whether that was so in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._none.wait()
        except TimeoutError:
            return False
        return True


class Deadlines:
    """Cancels each task that has been watched for ``seconds``. All have the same limit, so the first to begin is the first due."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._due: dict[asyncio.Task[object], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: asyncio.Task[object]) -> None:
        loop = task.get_loop()
        self._due[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._sweep, loop)

    def is_over(self, task: asyncio.Task[object]) -> bool:
        """Whether a watched task was cancelled for its time."""
        return task not in self._due

    def end(self, task: asyncio.Task[object]) -> None:
        """Stops watching, and takes a cancellation for its time back: the task goes on."""
        if self._due.pop(task, None) is None:
            task.uncancel()

    def close(self) -> None:
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
