"""The memory of responses whose clients read slowly, or not at all."""

import asyncio
import socket
from contextlib import ExitStack

import pytest

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.response_budget import ResponseBudget, ResponseOwner
from dashwright.api.http.routing import PUBLIC, Route
from dashwright.api.http.server import Limits
from dashwright.common.errors import TooManyRequests, Unavailable

from .conftest import Gateway, Serve

# Each owner has a login and an organization.
FIRST_OWNER, SECOND_OWNER, OWNER_IN_ORG_2 = ResponseOwner("ann", 1), ResponseOwner("ed", 1), ResponseOwner("vic", 2)
#: A body that does not fit into the buffers of sockets, so that the gateway keeps it while the client does not read.
LARGE_BODY = bytes(8 * 1024 * 1024)


async def large(_: Call) -> Response:
    """Return a large body."""
    return Response(200, LARGE_BODY, "application/octet-stream")


async def small(_: Call) -> Response:
    """Return a small body."""
    return Response(200, b"small", "text/plain")


ROUTES = [Route("GET", "/api/large", large, PUBLIC), Route("GET", "/api/small", small, PUBLIC)]


def test_a_caller_has_a_quarter_and_an_organization_half() -> None:
    """A caller may use a quarter of the budget, and an organization half; further responses to them are refused with 429.

    Once the whole budget is used, responses to all callers are refused with 503.
    """
    budget = ResponseBudget(800)
    with ExitStack() as stack:
        stack.enter_context(budget.reserve(FIRST_OWNER, 200))
        with pytest.raises(TooManyRequests, match="your share"), budget.reserve(FIRST_OWNER, 1):
            pass
        stack.enter_context(budget.reserve(SECOND_OWNER, 200))
        with pytest.raises(TooManyRequests, match="your organization"), budget.reserve(ResponseOwner("eve", 1), 1):
            pass
        stack.enter_context(budget.reserve(OWNER_IN_ORG_2, 200))
        stack.enter_context(budget.reserve(ResponseOwner("zoe", 3), 200))
        with pytest.raises(Unavailable, match="RESPONSE_BYTES"), budget.reserve(ResponseOwner("max", 4), 1):
            pass
    assert budget.used == 0
    with budget.reserve(FIRST_OWNER, 200):
        assert budget.used == 200


def test_a_single_response_may_exceed_the_budget() -> None:
    """A client without other unread responses receives a response of any size. A further response is refused."""
    budget = ResponseBudget(800)
    with budget.reserve(FIRST_OWNER, 5000), pytest.raises(TooManyRequests), budget.reserve(FIRST_OWNER, 1):
        pass


def test_a_shared_body_counts_once() -> None:
    """A body that many responses share, such as a line of many watches, counts once."""
    # Without sharing, two lines of 150 bytes already exceed the caller's share of 200.
    budget, line = ResponseBudget(800), bytes(150)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(budget.reserve(FIRST_OWNER, len(line), shared_chunk=line))
        assert budget.used == 150
        with pytest.raises(TooManyRequests), budget.reserve(FIRST_OWNER, 150, shared_chunk=bytes(150)):
            pass
    assert budget.used == 0


async def request_slowly(gateway: Gateway, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request over a connection with small buffers, and return when the response begins."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", gateway.port))
    reader, writer = await asyncio.open_connection(sock=connection, limit=1024)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    return reader, writer


async def test_a_caller_with_a_full_share_is_refused_until_it_is_read(serve: Serve) -> None:
    """A caller with a full share is refused, with the time to retry, until the earlier response is read completely."""
    gateway = await serve(ROUTES, Limits(response_bytes=len(LARGE_BODY), drain_seconds=2))
    reader, writer = await request_slowly(gateway, "/api/large")
    async with gateway.client.get("/api/large") as response:
        assert response.status == 429
        assert response.headers["Retry-After"] == "1"
        assert "DASHWRIGHT_RESPONSE_BYTES" in (await response.json())["message"]
    await reader.readuntil(b"\r\n\r\n")
    assert len(await reader.readexactly(len(LARGE_BODY))) == len(LARGE_BODY)
    writer.close()
    async with gateway.client.get("/api/large") as response:
        assert len(await response.read()) == len(LARGE_BODY)


async def test_a_client_that_reads_nothing_is_disconnected(serve: Serve) -> None:
    """A stalled connection is closed after the time limit, and its memory is free again."""
    gateway = await serve(ROUTES, Limits(response_bytes=len(LARGE_BODY), write_seconds=0.1, drain_seconds=2))
    reader, writer = await request_slowly(gateway, "/api/large")
    async with asyncio.timeout(5):
        while True:
            # This client is refused until the memory is free.
            async with gateway.client.get("/api/large") as response:
                if response.status == 200:
                    break
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(len(LARGE_BODY))
    writer.close()
