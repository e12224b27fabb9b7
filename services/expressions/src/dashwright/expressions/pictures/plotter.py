"""Makers of PNGs: a few child processes that draw concurrently, and a cache of the latest PNGs."""

import asyncio
import hashlib
import time
from contextlib import suppress
from typing import Final

from cachetools import LRUCache

from dashwright.common.errors import DeadlineExceeded
from dashwright.expressions.pictures.png_process import IDLE_SECONDS, LATE, PngProcess

#: The default of the size of the cache in bytes: about 15 pictures of 50 panels, or 1,000 of one panel.
MAX_CACHE_BYTES: Final = 16 * 1024 * 1024

_DIGEST_BYTES: Final = 32

#: An organization, the digest of an SVG, and a scale.
PngKey = tuple[int, bytes, float]


def key_of(org_id: int, svg: str, scale: float) -> PngKey:
    """Return the key of a PNG. It contains all that a PNG depends on: points, theme, size and texts are in the SVG.

    The organization is in it so that the time of a request does not reveal which pictures another organization has.
    """
    return org_id, hashlib.blake2b(svg.encode(), digest_size=_DIGEST_BYTES).digest(), scale


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
        self._cache: LRUCache[PngKey, bytes] = LRUCache(cache_bytes, getsizeof=len)

    @property
    def pids(self) -> list[int]:
        """The process ids of the children."""
        return [process.pid for process in self._processes if process.pid is not None]

    async def png(self, svg: str, scale: float, deadline: float, *, org_id: int = 0) -> bytes:
        """Return the PNG of an SVG of an organization, made by ``deadline``, a time of ``time.monotonic``.

        Raises NotDrawn if the library cannot draw the SVG, DeadlineExceeded if the PNG is late, and Unavailable if the
        process needs too much memory, ends or cannot be started.
        """
        key = key_of(org_id, svg, scale)
        if (cached := self._cache.get(key)) is not None:
            return cached
        png = await self._draw(svg, scale, deadline)
        with suppress(ValueError):  # larger than the cache
            self._cache[key] = png
        return png

    async def stop(self) -> None:
        """End all children and threads."""
        await asyncio.gather(*(process.stop() for process in self._processes))

    async def _draw(self, svg: str, scale: float, deadline: float) -> bytes:
        """Return a PNG from the next idle process. Raises like ``png``."""
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                process = await self._idle.get()
        except TimeoutError as error:
            raise DeadlineExceeded(LATE) from error
        try:
            return await process.png(svg, scale, deadline)
        finally:
            self._idle.put_nowait(process)
