"""Streamed responses, which end when their source fails, the connection is lost, or the server stops."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import structlog
from aiohttp import web

from dashwright.common.errors import DashwrightError

log = structlog.get_logger()

SLICE_BYTES: Final = 64 * 1024
"""Bytes of one write to a connection. The buffer of the connection takes the same number before a write waits."""


class Streams:
    """The streamed responses in progress.

    A stop of the server ends each endless response cleanly, as if its source had ended. If a source fails, the connection is
    aborted, so that the client cannot mistake the body for a complete one. A lost connection ends its stream immediately.
    """

    def __init__(self) -> None:
        self._task_by_connection: dict[object, asyncio.Task[object]] = {}
        self._endless_tasks: set[asyncio.Task[object]] = set()
        self._is_stopping = False

    async def send(self, request: web.BaseRequest, response: web.StreamResponse, body: AsyncIterator[bytes], *, is_endless: bool) -> None:
        """Send the head and all chunks of a response. Call it in the task of the request."""
        connection = request.protocol
        task = asyncio.current_task()
        assert task is not None
        self._task_by_connection[connection] = task
        if is_endless:
            self._endless_tasks.add(task)
        try:
            await self._write_chunks(request, response, body, is_head_only=is_endless and self._is_stopping)
        except asyncio.CancelledError:
            is_cancelled_by_stop = is_endless and self._is_stopping
            is_cancelled_by_disconnect = _is_disconnected(request)
            if not (is_cancelled_by_stop or is_cancelled_by_disconnect):
                _abort(request)
                raise
            task.uncancel()  # The task continues, and ends the response.
        except ConnectionError:
            log.debug("client_gone")
        finally:
            del self._task_by_connection[connection]
            self._endless_tasks.discard(task)
            await close_body(body)

    async def _write_chunks(
        self, request: web.BaseRequest, response: web.StreamResponse, body: AsyncIterator[bytes], *, is_head_only: bool
    ) -> None:
        """Send the head and the chunks. A failure of the source is logged, and aborts the connection."""
        await response.prepare(request)
        if request.method == "HEAD" or is_head_only:
            return
        try:
            async for chunk in body:
                await self.write(response, chunk)
        except ConnectionError:
            raise  # The client disconnected: the source has not failed.
        except Exception as error:
            if isinstance(error, DashwrightError) and error.status != 500:
                log.warning("stream_broken", error=error.message, code=error.code, **error.details)
            else:
                log.exception("stream_broken")
            _abort(request)

    @staticmethod
    async def write(response: web.StreamResponse, chunk: bytes) -> None:
        """Write a chunk of any size, as fast as the client reads."""
        if len(chunk) <= SLICE_BYTES:
            await response.write(chunk)
            return
        view = memoryview(chunk)
        for start in range(0, len(chunk), SLICE_BYTES):
            await response.write(view[start : start + SLICE_BYTES])

    def cancel(self, connection: object) -> None:
        """Cancel the stream of a lost connection."""
        if (task := self._task_by_connection.get(connection)) is not None:
            task.cancel()

    def stop(self) -> None:
        """End every endless stream. Endless streams that begin later send only their head."""
        self._is_stopping = True
        for task in self._endless_tasks:
            task.cancel()


async def close_body(body: object) -> None:
    """Close a streamed body if it can be closed."""
    aclose = getattr(body, "aclose", None)
    if aclose is not None:
        await aclose()


def _abort(request: web.BaseRequest) -> None:
    """Abort the connection without waiting for the client to read the buffered data."""
    if request.transport is not None:
        request.transport.abort()


def _is_disconnected(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()
