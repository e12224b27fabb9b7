"""Callers and workers for the tests of calls, and pieces that record how far they were produced and whether they were closed."""

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
    """Delay of a slow reader between two pieces; virtual time in memory."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    await over.wait()


async def echo(request: Request) -> Reply:
    return Reply(request.body, {"content-type": "text/plain", "asked": request.headers.get("asked", "")})


class Pieces:
    """An endless or limited body made piece by piece."""

    def __init__(self, count: int | None = None, size: int = 10, error: Exception | None = None) -> None:
        self.made = 0
        self.closed = asyncio.Event()
        self._count = count
        self._size = size
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while self._count is None or self.made < self._count:
                self.made += 1
                yield self.piece(self.made)
            if self._error is not None:
                raise self._error
        finally:
            self.closed.set()

    def piece(self, number: int) -> bytes:
        return bytes([number % 256]) * self._size

    def reply(self) -> Reply:
        return Reply(aiter(self))


class Stuck:
    """A handler that never replies."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Request] = asyncio.Queue()
        self.cancelled = asyncio.Event()

    async def __call__(self, request: Request) -> Reply:
        self.begun.put_nowait(request)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply(b"")


class Calls:
    """Starts callers and workers on one broker and ends them with the test."""

    def __init__(self, broker: Broker, clock: Clock, stack: AsyncExitStack) -> None:
        self.broker = broker
        self._clock = clock
        self._stack = stack

    async def client(self, signer: Signer = SIGNER) -> RpcClient:
        client = RpcClient(self.broker, signer, clock=self._clock, reconnecting=60)
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
        server = RpcServer(
            self.broker,
            self.broker.topology.query,
            handler,
            signer,
            prefetch=prefetch,
            window=window,
            chunk=chunk,
            announce_after=0.02,
            clock=self._clock,
            **options,
        )
        await server.start()
        self._stack.push_async_callback(server.stop, drain=0)
        return server
