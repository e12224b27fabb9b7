"""Limits on the connections of an address, and on their time without a request."""

import asyncio
import ipaddress
from dataclasses import dataclass

from dashwright.api.http.addresses import TrustedProxies
from dashwright.api.http.connections import ConnectionLimiter
from dashwright.api.http.server import Limits

from .conftest import Serve

REMOTE_ADDRESS, PROXY_ADDRESS, LOCAL_ADDRESS = "192.0.2.1", "10.0.0.1", "127.0.0.1"
PROXIES = TrustedProxies([ipaddress.ip_network("10.0.0.0/8")])


@dataclass(eq=False)
class Connection:
    """A connection, which may have sent a request."""

    has_sent_request: bool = False


def test_connections_of_an_address_are_limited() -> None:
    """The number of connections of an address is limited, without an effect on other addresses. A closed connection does not count.

    This machine and trusted proxies have no limit, because they have many clients.
    """
    limiter = ConnectionLimiter(2, PROXIES)
    first = Connection()
    assert limiter.admit(REMOTE_ADDRESS, first)
    assert limiter.admit(REMOTE_ADDRESS, Connection())
    assert not limiter.admit(REMOTE_ADDRESS, Connection())
    assert limiter.admit("192.0.2.2", Connection())
    assert all(limiter.admit(peer, Connection()) for peer in (PROXY_ADDRESS, LOCAL_ADDRESS) for _ in range(10))
    limiter.record_close(REMOTE_ADDRESS, first)
    assert limiter.admit(REMOTE_ADDRESS, Connection())


def test_idle_connections_of_an_address_are_limited() -> None:
    """The limit of connections without a request applies to this machine too, but not to trusted proxies.

    A connection no longer counts after its first request, or when it is closed.
    """
    limiter = ConnectionLimiter(100, PROXIES, unfinished_limit=2)
    for peer in (REMOTE_ADDRESS, LOCAL_ADDRESS):
        first, second = Connection(), Connection()
        assert limiter.admit(peer, first)
        assert limiter.admit(peer, second)
        assert not limiter.admit(peer, Connection())
        # The request permits one further connection, and so does the close.
        first.has_sent_request = True
        assert limiter.admit(peer, Connection())
        assert not limiter.admit(peer, Connection())
        limiter.record_close(peer, second)
        assert limiter.admit(peer, Connection())
        assert not limiter.admit(peer, Connection())
    assert all(limiter.admit(PROXY_ADDRESS, Connection()) for _ in range(10))


async def test_a_connection_without_a_complete_head_is_closed(serve: Serve) -> None:
    """A connection without a complete head is closed after the time limit. A connection that sends its request in time is kept open."""
    gateway = await serve([], Limits(head_seconds=0.1, drain_seconds=1))
    unfinished_reader, unfinished_writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    finished_reader, finished_writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    unfinished_writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    finished_writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(5):
        assert await unfinished_reader.read() == b""
    # The second request is sent after the time limit for the first one.
    finished_writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # Both requests have a response: 404, because the gateway has no routes. Its body is a JSON object.
    for _ in range(2):
        assert b" 404 " in await finished_reader.readuntil(b"\r\n\r\n")
        await finished_reader.readuntil(b"}")
    for open_writer in (unfinished_writer, finished_writer):
        open_writer.close()
