"""Work that a process repeats in the background, on its own schedule and not for a caller."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()


class Chore:
    """A background task that does ``work`` once when it starts and then every ``seconds``. A failure is logged, and the next round follows.

    ``stop`` cancels the round under way. With ``final_round`` it lets that round end and does one more, which writes out what is left.
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
        # A round that is cancelled in the middle of a commit may be written twice by the final one.
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
        try:
            await self._work()
        except Unavailable as error:
            log.info("chore_waits", chore=self._name, error=error.message)
        except Exception:
            log.exception("chore_failed", chore=self._name)
