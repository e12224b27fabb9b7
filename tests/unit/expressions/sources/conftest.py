"""Servers and clients that end with their test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from tests.unit.expressions.sources.servers import Fake, Handler, client

from dashwright.expressions.sources.http_client import HttpClient

Serve = Callable[[Handler], Awaitable[Fake]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server that responds by the given handler."""
    async with AsyncExitStack() as stack:

        async def start(handler: Handler) -> Fake:
            server = Fake(handler)
            await stack.enter_async_context(server.server)
            return server

        yield start


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """A client that may reach this machine."""
    opened = client()
    yield opened
    await opened.close()
