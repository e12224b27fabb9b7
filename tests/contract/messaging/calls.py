"""Clients and servers for the tests of calls, and response bodies that record how far they were read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import Reply, Request, RpcClient, RpcServer
from dashwright.common.messaging.rpc_server import RequestHandler
from dashwright.common.messaging.signing import Signer


async def pause(seconds: float) -> None:
    """Wait for some seconds of the event loop, whose time is virtual with the memory broker."""
    # A timer of the loop, unlike a real sleep, lets virtual time pass.
    is_resumed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, is_resumed.set)
    await is_resumed.wait()


async def echo(request: Request) -> Reply:
    """Return the body and the header ``custom`` of a request."""
    return Reply(request.body, {"content-type": "text/plain", "custom": request.headers.get("custom", "")})


class ChunkedBody:
    """Body of ``count`` chunks of ``size`` bytes, or of endless chunks if ``count`` is None. ``error`` is raised after the last chunk."""

    def __init__(self, count: int | None = None, size: int = 10, error: Exception | None = None) -> None:
        #: Number of chunks that were produced.
        self.produced = 0
        #: Set when the iteration ends, for any reason.
        self.closed = asyncio.Event()
        self._count = count
        self._size = size
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while self._count is None or self.produced < self._count:
                self.produced += 1
                yield self.chunk(self.produced)
            if self._error is not None:
                raise self._error
        finally:
            self.closed.set()

    def chunk(self, number: int) -> bytes:
        """Return the chunk with a number, which counts from 1."""
        return bytes([number % 256]) * self._size

    def reply(self) -> Reply:
        """Return a reply that produces this body while it is sent."""
        return Reply(aiter(self))


class HangingHandler:
    """Handler that never replies."""

    def __init__(self) -> None:
        #: Requests whose handling has started.
        self.started: asyncio.Queue[Request] = asyncio.Queue()
        #: Set when a request is cancelled.
        self.cancelled = asyncio.Event()

    async def __call__(self, request: Request) -> Reply:
        self.started.put_nowait(request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply(b"")


class CallFactory:
    """Factory of clients and servers on one broker, which stops them after the test."""

    def __init__(self, broker: Broker, clock: Clock, stack: AsyncExitStack) -> None:
        self.broker = broker
        self._clock = clock
        self._stack = stack

    async def client(self, signer: Signer = SIGNER) -> RpcClient:
        """Start a client and return it."""
        client = RpcClient(self.broker, signer, clock=self._clock, reconnect_timeout=60)
        await client.start()
        self._stack.push_async_callback(client.close)
        return client

    async def server(
        self,
        handler: RequestHandler,
        *,
        signer: Signer = SIGNER,
        window: int = 8,
        chunk: int = 2**20,
        prefetch: int = 4,
        **options: float,
    ) -> RpcServer:
        """Start a server of the query queue and return it. ``chunk`` is the maximum size of a chunk in bytes."""
        server = RpcServer(
            self.broker,
            self.broker.topology.query,
            handler,
            signer,
            prefetch=prefetch,
            window=window,
            chunk_bytes=chunk,
            # Shorter than every pause in the tests of announcements.
            announce_after=0.02,
            clock=self._clock,
            **options,
        )
        await server.start()
        self._stack.push_async_callback(server.stop, drain=0)
        return server
