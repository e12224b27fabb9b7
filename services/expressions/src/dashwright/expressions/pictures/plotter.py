"""Makers of PNGs: a few child processes that draw concurrently, and a cache of the latest PNGs."""

import asyncio
import time

from dashwright.common.errors import DeadlineExceeded
from dashwright.expressions.pictures.png_cache import PngCache, key_of
from dashwright.expressions.pictures.png_process import IDLE_SECONDS, LATE, PngProcess


class Plotter:
    """Maker of PNGs in up to ``processes`` child processes, each of which is ended after ``idle_seconds`` without requests.

    The latest PNGs, ``cache_bytes`` in total, are kept.
    """

    def __init__(self, *, processes: int = 1, idle_seconds: float = IDLE_SECONDS, cache_bytes: int = 0) -> None:
        self._processes = [PngProcess(idle_seconds=idle_seconds) for _ in range(processes)]
        # The process that was used last is used first, so that only as many run as pictures are drawn concurrently.
        self._idle: asyncio.LifoQueue[PngProcess] = asyncio.LifoQueue()
        for process in self._processes:
            self._idle.put_nowait(process)
        self._cache = PngCache(cache_bytes)

    @property
    def pids(self) -> list[int]:
        """The process ids of the children."""
        return [process.pid for process in self._processes if process.pid is not None]

    async def png(self, svg: str, scale: float, deadline: float, *, org_id: int = 0) -> bytes:
        """Return the PNG of an SVG of an organization, made by ``deadline``, a time of ``time.monotonic``.

        Raises NotDrawn, DeadlineExceeded and Unavailable.
        """
        key = key_of(org_id, svg, scale)
        if (cached := self._cache.find(key)) is not None:
            return cached
        png = await self._draw(svg, scale, deadline)
        self._cache.add(key, png, len(png))
        return png

    async def stop(self) -> None:
        """End all children and threads."""
        await asyncio.gather(*(process.stop() for process in self._processes))

    async def _draw(self, svg: str, scale: float, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                process = await self._idle.get()
        except TimeoutError as error:
            raise DeadlineExceeded(LATE) from error
        try:
            return await process.png(svg, scale, deadline)
        finally:
            self._idle.put_nowait(process)
