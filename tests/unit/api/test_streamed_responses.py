"""The end of a streamed response: with its source, its client, the server, or after a failure."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientPayloadError
from structlog.testing import capture_logs

from dashwright.api.http import server
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Route
from dashwright.api.http.server import Limits
from dashwright.common.errors import Unavailable

from .conftest import Serve, wait_until_closed


class Source:
    """A source of chunks that a test provides, which records that it was closed."""

    def __init__(self) -> None:
        #: An exception fails the source, and None ends it.
        self.pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the provided chunks."""
        try:
            while (piece := await self.pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.closed.set()

    async def handle(self, _: Call) -> Response:
        """Return a stream, which a stop of the server awaits."""
        return Response(200, self.read(), "text/plain")

    async def watch(self, _: Call) -> Response:
        """Return an endless stream, which a stop of the server ends."""
        return Response(200, self.read(), "text/plain", is_endless=True)


@pytest.fixture
def source() -> Source:
    """Return a source without chunks."""
    return Source()


async def test_a_stream_sends_each_chunk_immediately(serve: Serve, source: Source) -> None:
    """A chunk is sent before the next one is produced."""
    client = (await serve([Route("GET", "/api/stream", source.handle, PUBLIC)])).client
    async with client.get("/api/stream") as response:
        for piece in (b"one", b"two"):
            source.pieces.put_nowait(piece)
            assert await response.content.readany() == piece
        source.pieces.put_nowait(None)
        assert await response.content.read() == b""


@pytest.mark.parametrize(
    ("error", "level", "has_traceback"),
    [pytest.param(RuntimeError("x"), "error", True, id="defect"), pytest.param(Unavailable("x"), "warning", False, id="known failure")],
)
async def test_a_source_that_fails_breaks_the_stream_off(
    serve: Serve, source: Source, error: Exception, level: str, has_traceback: bool
) -> None:
    """The client of a stream whose source fails receives an error, not an incomplete response that seems complete.

    Only a defect is logged as an error with its traceback.
    """
    client = (await serve([Route("GET", "/api/stream", source.handle, PUBLIC)])).client
    with capture_logs() as lines:
        async with client.get("/api/stream") as response:
            source.pieces.put_nowait(b"one")
            assert await response.content.readany() == b"one"
            source.pieces.put_nowait(error)
            with pytest.raises((ClientPayloadError, ConnectionError)):
                await response.content.read()
        await source.closed.wait()
    (line,) = [line for line in lines if line["event"] == "stream_broken"]
    assert line["log_level"] == level
    assert ("exc_info" in line) == has_traceback


async def test_a_lost_client_ends_a_silent_stream(serve: Serve, source: Source) -> None:
    """A stream whose source produces nothing ends when its client disconnects."""
    client = (await serve([Route("GET", "/api/stream", source.handle, PUBLIC)])).client
    async with client.get("/api/stream") as response:
        source.pieces.put_nowait(b"one")
        assert await response.content.readany() == b"one"
        response.close()
    async with asyncio.timeout(2):
        await source.closed.wait()


async def test_a_stop_ends_an_endless_stream_cleanly(serve: Serve, source: Source) -> None:
    """A stop ends an endless stream with a complete body, so that the client can reconnect to another gateway."""
    gateway = await serve([Route("GET", "/api/stream", source.watch, PUBLIC)])
    async with gateway.client.get("/api/stream") as response:
        source.pieces.put_nowait(b"one")
        assert await response.content.readany() == b"one"
        await gateway.server.stop()
        assert await response.content.read() == b""
    assert source.closed.is_set()


async def test_a_stop_completes_streams(serve: Serve, source: Source) -> None:
    """A stop completes streams, so that no client mistakes a part for the complete response."""
    gateway = await serve([Route("GET", "/api/stream", source.handle, PUBLIC)])
    async with gateway.client.get("/api/stream") as response:
        source.pieces.put_nowait(b"one")
        assert await response.content.readany() == b"one"
        stop = asyncio.create_task(gateway.server.stop())
        await wait_until_closed(gateway.port)
        source.pieces.put_nowait(b"two")
        source.pieces.put_nowait(None)
        assert await response.content.read() == b"two"
    await stop


async def test_a_stream_that_outlasts_the_stop_is_broken_off(serve: Serve, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that outlasts the time limit of the stop is broken off, so that its client receives an error."""
    monkeypatch.setattr(server, "_FLUSH_TIMEOUT_SECONDS", 0.1)
    gateway = await serve([Route("GET", "/api/stream", source.handle, PUBLIC)], Limits(drain_seconds=0.05))
    async with gateway.client.get("/api/stream") as response:
        source.pieces.put_nowait(b"one")
        assert await response.content.readany() == b"one"
        await gateway.server.stop()
        with pytest.raises((ClientPayloadError, ConnectionError)):
            await response.content.read()
    assert source.closed.is_set()


async def test_head_of_a_stream_reads_no_source(serve: Serve, source: Source) -> None:
    """The response to HEAD does not wait for a chunk of the source."""
    client = (await serve([Route("GET", "/api/stream", source.handle, PUBLIC)])).client
    async with asyncio.timeout(2), client.head("/api/stream") as response:
        assert response.status == 200
