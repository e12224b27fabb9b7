"""The listener: binds an address, limits connections and what they send, and stops without losing a response."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from dashwright.api.http.addresses import PEERS, Addresses
from dashwright.api.http.authentication import Authenticator
from dashwright.api.http.budget import ResponseBudget
from dashwright.api.http.connections import ConnectionLimiter
from dashwright.api.http.dispatch import Dispatcher
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.http.exchange import SERVER, Exchange, ObjectAccess, Refusals
from dashwright.api.http.in_flight import Deadlines, InFlightRequests
from dashwright.api.http.origins import OWN, OriginPolicy
from dashwright.api.http.response import SAFE_HEADERS
from dashwright.api.http.routing import Route
from dashwright.api.http.sending import Sender
from dashwright.api.http.streaming import Streams
from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.identity import Identity
from dashwright.common.observability import tracing

log = structlog.get_logger()


_LAST_WRITES = 2.0
"""Seconds at a stop for connections to send what is still in their buffers."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a listener; times are in seconds."""

    request_seconds: float = 60.0  #: Until the start of a response.
    keep_alive_seconds: float = 75.0  #: Of a connection between two requests.
    drain_seconds: float = 20.0  #: That a stop waits for requests in progress.
    linger_seconds: float = 2.0  #: For which the rest of an unread body is taken after the response, so that the client can read that.
    write_seconds: float = 30.0  #: For which a client may read nothing of what is buffered for it.
    response_bytes: int = 128 * 1024 * 1024  #: Memory for responses in flight.
    address_connections: int = 2000  #: Connections of one address.
    head_seconds: float = 20.0  #: For the first request head of a connection.
    line_bytes: int = 16_384  #: Of the request line, and of each header.
    headers: int = 128  #: Headers of a request.
    backlog: int = 1024  #: Connections that wait to be accepted.


class Server:
    """A listener over a route table. Call ``start`` and ``stop`` in one event loop."""

    def __init__(
        self,
        routes: Iterable[Route],
        authenticator: Authenticator,
        limits: Limits = Limits(),
        refusals: Refusals | None = None,
        addresses: Addresses = PEERS,
        objects: ObjectAccess | None = None,
        origins: OriginPolicy = OWN,
        headers: Mapping[str, str] = SAFE_HEADERS,
        identified: Callable[[Identity], None] = lambda _: None,
    ) -> None:
        self._limits = limits
        self._addresses = addresses
        self._streams = Streams()
        self._deadlines = Deadlines(limits.request_seconds)
        self._running = InFlightRequests()
        sender = Sender(self._streams, ResponseBudget(limits.response_bytes), self._running)
        self._exchange = Exchange(
            Dispatcher(routes),
            authenticator,
            sender,
            self._deadlines,
            self._running,
            refusals,
            addresses,
            objects,
            origins,
            headers,
            identified,
        )
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Start serving, and return the port, which the system chooses for 0. Raises OSError if the address cannot be bound."""
        limits = self._limits
        listener = _Listener(
            self._exchange,
            self._streams,
            limits,
            ConnectionLimiter(limits.address_connections, self._addresses),
            access_log=None,
            keepalive_timeout=limits.keep_alive_seconds,
            lingering_time=limits.linger_seconds,
            max_line_size=limits.line_bytes,
            max_field_size=limits.line_bytes,
            max_headers=limits.headers,
            auto_decompress=False,
        )
        runner = web.ServerRunner(listener, shutdown_timeout=_LAST_WRITES)
        await runner.setup()
        site = web.TCPSite(runner, host, port, ssl_context=tls, backlog=limits.backlog)
        try:
            await site.start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        log.info("listening", address=site.name)
        return site.port

    async def stop(self) -> None:
        """Stop accepting connections, end endless streams, wait for requests in progress up to the limit, and close."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        for site in runner.sites:
            await site.stop()
        self._running.stopping = True
        self._streams.stop()
        for connection in runner.server.connections if runner.server else ():
            if isinstance(connection, _Connection) and connection.is_idle:
                connection.close()
        # Not aiohttp's own wait: that reads nothing more from a client that is still sending its body.
        finished = await self._running.wait_until_done(self._limits.drain_seconds)
        await runner.cleanup()
        self._deadlines.close()
        log.info("stopped_listening", finished=finished)


class _Listener(web.Server):
    """The low-level server of aiohttp, with ``_Connection`` as its protocol."""

    def __init__(self, exchange: Exchange, streams: Streams, limits: Limits, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(exchange, **options)
        self._streams = streams
        self._limits = limits
        self._limiter = limiter
        self._options = options

    def __call__(self) -> RequestHandler:
        return _Connection(self, self._streams, self._limits, self._limiter, loop=asyncio.get_running_loop(), **self._options)


class _Connection(RequestHandler):
    """A connection that responds to unreadable requests with a Status, and cancels its stream when the client disconnects.

    It is closed if its client reads nothing of buffered data for ``write_seconds``, or sends no request head in time.
    """

    __slots__ = ("_address", "_has_begun", "_head_timer", "_limiter", "_limits", "_stalled", "_streams")

    def __init__(self, listener: _Listener, streams: Streams, limits: Limits, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(listener, **options)
        self._streams = streams
        self._limits = limits
        self._limiter = limiter
        self._address: str | None = None
        self._has_begun = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """True while no request is in progress."""
        return self._waiter is not None and not self._waiter.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time for the first request head, or abort a connection of an address over its limit."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if not self._limiter.admit(address):
            log.info("too_many_connections", address=address)
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
            return
        self._address = address
        self._head_timer = self._loop.call_later(self._limits.head_seconds, self.force_close)

    def data_received(self, data: bytes) -> None:
        """Parse data from the client."""
        super().data_received(data)
        if self._request_count and not self._has_begun:
            self._begin()

    def pause_writing(self) -> None:
        """Start the time for the client to read: the buffer is full."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """Stop the time for the client to read."""
        super().resume_writing()
        self._forget_reader()

    def force_close(self) -> None:
        """Close after the buffered data, for which the client gets the usual time."""
        if self._stalled is None and self.transport is not None and self.transport.get_write_buffer_size():
            self._await_reader()
        super().force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Cancel the stream of the connection, and release its place."""
        super().connection_lost(exc)
        self._forget_reader()
        self._streams.lost(self)
        if self._address is not None:
            self._limiter.close(self._address, has_begun=self._has_begun)
            self._address = None
        if self._head_timer is not None:
            self._head_timer.cancel()

    def _begin(self) -> None:
        """Record the first request head, readable or not."""
        self._has_begun = True
        if self._address is not None:
            self._limiter.has_begun(self._address)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _await_reader(self) -> None:
        assert self.transport is not None
        self._stalled = self._loop.call_later(self._limits.write_seconds, _give_up, self.transport)

    def _forget_reader(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Return the response to a head that could not be parsed.

        Its path is unknown, so the body is a Status, whose ``message`` classic clients read as well.
        """
        if request.writer.output_size > 0:
            raise ConnectionError("the response had begun")
        fault = _fault(status, message)
        if fault.status == 500:
            log.error("request_failed", exc_info=exc)
        else:
            log.info("request_unreadable", fault=fault.message)
        response = error_response(fault, ErrorShape.STATUS, tracing.enter(None).trace_id)
        assert isinstance(response.body, bytes)
        headers = {"Content-Type": response.content_type, "Server": SERVER}
        sent = web.Response(status=response.status, body=response.body, headers=headers)
        sent.force_close()
        return sent


def _give_up(transport: asyncio.Transport) -> None:
    """Abort a connection without waiting for its client to read the buffered data."""
    log.info("client_not_reading", peer=transport.get_extra_info("peername"), waiting=transport.get_write_buffer_size())
    transport.abort()


def _fault(status: int, message: str | None) -> DashwrightError:
    if status >= 500:
        return DashwrightError("the exchange itself failed")
    # Only the first line of the parser's message: the others quote the request.
    words = (message or "unknown fault").partition("\n")[0].strip().rstrip(":")
    return BadRequest(f"The request is not readable as HTTP/1.1: {words[:100]}")
