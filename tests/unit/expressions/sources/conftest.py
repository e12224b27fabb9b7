"""Servers and clients that end with their test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from tests.unit.expressions.sources.servers import FakeServer, Handler, loopback_client

from dashwright.expressions.sources.http_client import HttpClient

Serve = Callable[[Handler], Awaitable[FakeServer]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Yield a function that starts a server with a handler."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler) -> FakeServer:
            server = FakeServer(handler)
            await stack.enter_async_context(server.server)
            return server

        yield start


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """Yield a client that may reach this machine."""
    created = loopback_client()
    yield created
    await created.close()
