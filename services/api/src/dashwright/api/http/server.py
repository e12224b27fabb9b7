"""The listener: it binds an address, limits connections and requests, and stops without losing a response."""

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from aiohttp import StreamReader, web
from aiohttp.web_protocol import RequestHandler

from dashwright.api.http.addresses import NO_PROXIES, TrustedProxies
from dashwright.api.http.authentication import Authenticator
from dashwright.api.http.connections import ConnectionLimiter
from dashwright.api.http.dispatch import Dispatcher
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.http.exchange import SERVER, Exchange, ObjectAccess, Refusals
from dashwright.api.http.in_flight import Deadlines, InFlightRequests
from dashwright.api.http.origins import DEFAULT_ORIGIN_POLICY, OriginPolicy
from dashwright.api.http.response import SAFE_HEADERS
from dashwright.api.http.response_budget import ResponseBudget
from dashwright.api.http.routing import Route
from dashwright.api.http.sending import Sender
from dashwright.api.http.streaming import Streams
from dashwright.common.errors import BadRequest, DashwrightError, Unavailable
from dashwright.common.observability import tracing

log = structlog.get_logger()


_QUOTATION: Final = re.compile(r": (bytearray\()?b?['\"].*")
"""The part of a message of aiohttp's parser that quotes the request."""

_LINE_TOO_LONG: Final = re.compile(r"Got more than (\d+) bytes when reading")
"""The message of aiohttp's parser about a line of the head that is too long."""

_FLUSH_TIMEOUT_SECONDS = 2.0
"""Longest time for connections to send their buffered data when the server stops."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a listener; times are in seconds."""

    request_seconds: float = 60.0  #: Time until the start of a response.
    keep_alive_seconds: float = 75.0  #: Idle time of a connection between two requests.
    drain_seconds: float = 20.0  #: Time that a stop waits for requests in progress.
    linger_seconds: float = 2.0  #: Time to read an unread body after the response; without it, the client might not get the response.
    write_seconds: float = 30.0  #: Time for which a client may read nothing of its buffered response.
    response_bytes: int = 128 * 1024 * 1024  #: Memory for responses in flight.
    address_connections: int = 2000  #: Number of open connections of one address.
    head_seconds: float = 20.0  #: Time until the first request head of a connection.
    line_bytes: int = 16_384  #: Size of the request line, and of each header.
    headers: int = 128  #: Number of headers of a request.
    backlog: int = 1024  #: Number of connections that wait to be accepted.


class Server:
    """A listener over a route table. Call ``start`` and ``stop`` in one event loop."""

    def __init__(
        self,
        routes: Iterable[Route],
        authenticator: Authenticator,
        limits: Limits = Limits(),
        refusals: Refusals | None = None,
        proxies: TrustedProxies = NO_PROXIES,
        object_access: ObjectAccess | None = None,
        origins: OriginPolicy = DEFAULT_ORIGIN_POLICY,
        headers: Mapping[str, str] = SAFE_HEADERS,
        on_identified: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._limits = limits
        self._proxies = proxies
        self._streams = Streams()
        self._deadlines = Deadlines(limits.request_seconds)
        self._in_flight = InFlightRequests()
        sender = Sender(self._streams, ResponseBudget(limits.response_bytes), self._in_flight)
        self._exchange = Exchange(
            Dispatcher(routes),
            authenticator,
            sender,
            self._deadlines,
            self._in_flight,
            refusals,
            proxies,
            object_access,
            origins,
            headers,
            on_identified,
        )
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Start serving, and return the port, which the system chooses for 0. Raises OSError if the address cannot be bound."""
        limits = self._limits
        listener = _Listener(
            self._exchange,
            self._streams,
            limits,
            ConnectionLimiter(limits.address_connections, self._proxies),
            access_log=None,
            keepalive_timeout=limits.keep_alive_seconds,
            lingering_time=limits.linger_seconds,
            max_line_size=limits.line_bytes,
            max_field_size=limits.line_bytes,
            max_headers=limits.headers,
            auto_decompress=False,  # ``Call`` decompresses bodies, because it limits their decompressed size.
        )
        runner = web.ServerRunner(listener, shutdown_timeout=_FLUSH_TIMEOUT_SECONDS)
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

    async def check(self) -> None:
        """Raise Unavailable if the server is draining or stopping."""
        if self._in_flight.is_stopping:
            raise Unavailable("the server is stopping")

    async def drain(self, seconds: float) -> None:
        """Serve for some more seconds, in which ``check`` fails and each response closes its connection.

        A load balancer sends new connections to other servers then. Does nothing if the server has not been started.
        """
        if self._runner is not None and seconds > 0:
            self._in_flight.is_stopping = True
            log.info("draining", seconds=seconds)
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Stop accepting connections, end endless streams, wait for requests in progress up to the limit, and close."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        for site in runner.sites:
            await site.stop()
        self._in_flight.is_stopping = True
        self._streams.stop()
        for connection in runner.server.connections if runner.server else ():
            if isinstance(connection, _Connection) and connection.is_idle:
                connection.close()
        # aiohttp's own wait would read nothing more from a client that is still sending its body.
        all_finished = await self._in_flight.wait_until_done(self._limits.drain_seconds)
        await runner.cleanup()
        self._deadlines.close()
        log.info("stopped_listening", finished=all_finished)


class _Listener(web.Server):
    """The low-level server of aiohttp, with ``_Connection`` as its protocol."""

    def __init__(self, exchange: Exchange, streams: Streams, limits: Limits, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(self._respond, **options)
        self._exchange = exchange
        self._streams = streams
        self._limits = limits
        self._limiter = limiter
        self._options = options

    def __call__(self) -> RequestHandler:
        return _Connection(self, self._streams, self._limits, self._limiter, loop=asyncio.get_running_loop(), **self._options)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send the response to a request, and return it."""
        try:
            return await self._exchange(request)
        finally:
            # The connection must know the body, to end it if the client disconnects.
            if not request.content.is_eof():
                assert isinstance(request.protocol, _Connection)
                request.protocol.unread_body = request.content


class _Connection(RequestHandler):
    """A connection that responds to unreadable requests with a Kubernetes ``Status``, and cancels its stream if the client disconnects.

    It is closed if its client reads none of the buffered data for ``write_seconds``, or sends no request head within
    ``head_seconds``.
    """

    __slots__ = ("_address", "_head_timer", "_limiter", "_limits", "_stall_timer", "_streams", "unread_body")

    def __init__(self, listener: _Listener, streams: Streams, limits: Limits, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(listener, **options)
        self._streams = streams
        self._limits = limits
        self._limiter = limiter
        self._address: str | None = None  #: The peer's address, while the limiter counts the connection.
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        #: The body of a request whose response was sent before the body was read.
        self.unread_body: StreamReader | None = None

    @property
    def is_idle(self) -> bool:
        """True while no request is in progress."""
        # aiohttp waits for the next request by this future.
        return self._waiter is not None and not self._waiter.done()

    @property
    def has_sent_request(self) -> bool:
        """True if a request head has arrived, whether it is readable or not."""
        return self._request_count > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the first request head, or abort the connection if its address is over its limit."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if not self._limiter.admit(address, self):
            log.info("too_many_connections", address=address)
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
            return
        self._address = address
        self._head_timer = self._loop.call_later(self._limits.head_seconds, self._close_without_request)

    def pause_writing(self) -> None:
        """Start the timer for a client that does not read, because the buffer is full."""
        super().pause_writing()
        self._start_stall_timer()

    def resume_writing(self) -> None:
        """Stop the timer for a client that does not read."""
        super().resume_writing()
        self._stop_stall_timer()

    def force_close(self) -> None:
        """Close the connection after the client has read the buffered data, at the latest after ``write_seconds``."""
        if self._stall_timer is None and self.transport is not None and self.transport.get_write_buffer_size():
            self._start_stall_timer()
        super().force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Cancel the stream of the connection, and stop counting the connection."""
        super().connection_lost(exc)
        if self.unread_body is not None:
            # Without an end of the body, aiohttp and a stop of the server would wait ``linger_seconds`` for more of it.
            self.unread_body.feed_eof()
        self._stop_stall_timer()
        self._streams.cancel(self)
        if self._address is not None:
            self._limiter.record_close(self._address, self)
            self._address = None
        if self._head_timer is not None:
            self._head_timer.cancel()

    def _close_without_request(self) -> None:
        """Close the connection if no request head has arrived in time."""
        if not self.has_sent_request:
            self.force_close()

    def _start_stall_timer(self) -> None:
        assert self.transport is not None
        self._stall_timer = self._loop.call_later(self._limits.write_seconds, _abort_stalled, self.transport)

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Return the response to a request head that could not be parsed.

        The path is unknown, so the body is a Kubernetes ``Status``: clients of the classic API understand its ``message``, too. Raises
        ConnectionError if the response to the request has begun.
        """
        if request.writer.output_size > 0:
            raise ConnectionError("the response had begun")
        error = _error_for_head(status, message)
        if error.status == 500:
            log.error("request_failed", exc_info=exc)
        else:
            log.info("request_unreadable", fault=error.message)
        refusal = error_response(error, ErrorShape.STATUS, tracing.enter(None).trace_id)
        assert isinstance(refusal.body, bytes)
        headers = {"Content-Type": refusal.content_type, "Server": SERVER}
        response = web.Response(status=refusal.status, body=refusal.body, headers=headers)
        response.force_close()
        return response


def _abort_stalled(transport: asyncio.Transport) -> None:
    """Abort a connection without waiting for its client to read the buffered data."""
    log.info("client_not_reading", peer=transport.get_extra_info("peername"), waiting=transport.get_write_buffer_size())
    transport.abort()


def _error_for_head(status: int, message: str | None) -> DashwrightError:
    """Return the error for a status and message of aiohttp about a request that it could not parse or handle."""
    if status >= 500:
        return DashwrightError("the exchange itself failed")
    # The other lines of the parser's message, and what follows a colon, quote the request, which may contain a secret.
    reason = _QUOTATION.sub("", (message or "unknown fault").partition("\n")[0].strip()).rstrip(":")
    if too_long := _LINE_TOO_LONG.fullmatch(reason):
        reason = f"a line of its head has more than {too_long[1]} bytes; shorten the URL or the header"
    return BadRequest(f"The request is not readable as HTTP/1.1: {reason[:100]}")
