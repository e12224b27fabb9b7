"""Work that a process repeats in the background."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()


class Chore:
    """Background task that runs ``work`` at its start and then every ``seconds`` seconds. Errors are logged and do not end the task.

    Each execution of ``work`` is a round. ``stop`` cancels a running round. With ``final_round`` it waits for the running round
    and runs another one.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], *, seconds: float, final_round: bool = False) -> None:
        self._name = name
        self._work = work
        self._seconds = seconds
        self._final_round = final_round
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the background task."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """End the background task. Does nothing if it was not started."""
        if self._task is None:
            return
        self._stopping.set()
        # A round before the final one is not cancelled: during a commit, that could lead the final round to write the same data again.
        if not self._final_round:
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        if self._final_round:
            await self._round()

    async def _run(self) -> None:
        while not self._stopping.is_set():
            await self._round()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._stopping.wait()

    async def _round(self) -> None:
        """Run the work once, and log its error."""
        try:
            await self._work()
        except Unavailable as error:
            log.info("chore_delayed", chore=self._name, error=error.message)
        except Exception:
            log.exception("chore_failed", chore=self._name)
