"""What all chores have in common: done again and again, never ending the process, stopped by name."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()


class Chore:
    """Does ``work`` every ``seconds``. A failure is logged and the chore goes on."""

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], *, seconds: float) -> None:
        self._name = name
        self._work = work
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._work()
            except Unavailable as error:
                log.info("chore_waits", chore=self._name, error=error.message)
            except Exception:
                log.exception("chore_failed", chore=self._name)
            await asyncio.sleep(self._seconds)
