"""Streamed responses: their end after a failure of the source, a lost connection, or a stop of the server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import structlog
from aiohttp import web

log = structlog.get_logger()

SLICE: Final = 64 * 1024
"""Bytes of one write to a connection. Its own buffer holds as many before a writer waits."""


class Streams:
    """The streamed responses in progress.

    A stop of the server ends each endless response cleanly, as if its source had ended. A source that fails aborts the connection,
    so that the client cannot take a part for the whole. A lost connection ends the stream immediately, even if its source is silent.
    """

    def __init__(self) -> None:
        self._under_way: dict[object, asyncio.Task[object]] = {}
        self._endless: set[asyncio.Task[object]] = set()
        self._stopping = False

    async def send(self, request: web.BaseRequest, response: web.StreamResponse, body: AsyncIterator[bytes], *, endless: bool) -> None:
        """Send the head and every piece. Call it in the task of the request."""
        connection = request.protocol
        task = asyncio.current_task()
        assert task is not None
        self._under_way[connection] = task
        if endless:
            self._endless.add(task)
        try:
            await self._pump(request, response, body, ended=endless and self._stopping)
        except asyncio.CancelledError:
            if not (endless and self._stopping) and not _is_gone(request):
                _break_off(request)
                raise
            # Cancelled by ``stop`` or ``lost``: the task continues and closes the response.
            task.uncancel()
        except ConnectionError:
            log.debug("client_gone")
        finally:
            del self._under_way[connection]
            self._endless.discard(task)
            await close(body)

    async def _pump(self, request: web.BaseRequest, response: web.StreamResponse, body: AsyncIterator[bytes], *, ended: bool) -> None:
        await response.prepare(request)
        if request.method == "HEAD" or ended:
            return
        try:
            async for piece in body:
                await self.write(response, piece)
        except ConnectionError:
            raise
        except Exception:
            log.exception("stream_broken")
            _break_off(request)

    @staticmethod
    async def write(response: web.StreamResponse, piece: bytes) -> None:
        """Write a piece of any size as fast as the client reads."""
        if len(piece) <= SLICE:
            await response.write(piece)
            return
        view = memoryview(piece)
        for start in range(0, len(piece), SLICE):
            await response.write(view[start : start + SLICE])

    def lost(self, connection: object) -> None:
        """Cancel the stream of a connection that was lost."""
        if (task := self._under_way.get(connection)) is not None:
            task.cancel()

    def stop(self) -> None:
        """End every endless stream. Those that begin later send only their head."""
        self._stopping = True
        for task in self._endless:
            task.cancel()


async def close(body: object) -> None:
    """Close a streamed body if it can be closed."""
    aclose = getattr(body, "aclose", None)
    if aclose is not None:
        await aclose()


def _break_off(request: web.BaseRequest) -> None:
    """Abort the connection without waiting for the client to read what is buffered."""
    if request.transport is not None:
        request.transport.abort()


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()
