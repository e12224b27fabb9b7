"""Serving side of RPC: runs a handler for each request and sends its reply no faster than the reader reads."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from dashwright.common.clock import Clock
from dashwright.common.errors import DashwrightError, DeadlineExceeded, Unavailable
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.broker import Broker, Inbox, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery, Header, Headers, Message, count
from dashwright.common.messaging.signing import NonceCache, Purpose, Signer
from dashwright.common.observability import metrics, tracing

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request of a caller."""

    body: bytes
    headers: Headers
    deadline: float  #: Unix seconds. The handler is cancelled then, or when the caller stops waiting.

    @property
    def is_repeated(self) -> bool:
        """True if an earlier worker took the request and died. What that worker did is unknown."""
        return count(self.headers, wire.ATTEMPT) > 1


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a handler, whole or in pieces that are produced while sending.

    A generator is closed when the reader stops.
    """

    body: bytes | AsyncIterator[bytes]
    headers: Headers = field(default_factory=dict)


RequestHandler = Callable[[Request], Awaitable[Reply]]


class RpcServer:
    """Server for the calls of one queue.

    A reply is sent in pieces of at most ``chunk`` bytes, at most ``window`` of them ahead of the reader. A reader may
    take ``lingering`` times the patience of its request in total, since it occupies a slot of ``prefetch``.
    """

    def __init__(
        self,
        broker: Broker,
        queue: str,
        handler: RequestHandler,
        signer: Signer,
        *,
        prefetch: int,
        window: int = 8,
        chunk: int = 2**20,
        announce_after: float = 0.1,
        lingering: float = 10,
        clock: Clock | None = None,
    ) -> None:
        self.handler = handler
        self.signer = signer
        self.window = window
        self.chunk = chunk
        self.announce_after = announce_after
        self.lingering = lingering
        self._broker = broker
        self._queue = queue
        self._prefetch = prefetch
        self._clock = clock or Clock()
        self._inbox: Inbox | None = None
        self._subscription: Subscription | None = None
        self._calls: dict[str, _Call] = {}
        self._nonces = NonceCache()

    async def start(self) -> None:
        """Open the inbox and begin to consume requests."""
        self._inbox = await self._broker.inbox(self._receive, self._lost, confirmed=False)
        self._subscription = await self._broker.consume(self._queue, self._serve, prefetch=self._prefetch)

    async def stop(self, *, drain: float) -> None:
        """Accept no more requests and give running ones ``drain`` seconds. The others return to the queue for another worker."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)
        if self._inbox is not None:
            await self._inbox.close()

    async def _serve(self, delivery: Delivery) -> DeliveryResult:
        request = delivery.message
        call_id, reply_to = request.correlation_id, request.reply_to
        if not call_id or not reply_to or not wire.is_genuine(self.signer, Purpose.REQUEST, self._queue, request):
            return self._refuse("signature")
        now = self._clock.seconds()
        deadline, patience = count(request.headers, wire.DEADLINE) / 1000, count(request.headers, wire.PATIENCE) / 1000
        remaining = deadline - now
        if remaining <= 0 or self._inbox is None:
            _log.info("rpc_request_expired")
            return Ack()
        attempt = max(1, count(request.headers, wire.ATTEMPT))
        call = _Call(self, self._inbox, request, attempt, deadline, patience)
        if delivery.redelivered:
            await self._repeat(call, request, attempt, remaining)
            return Ack()
        if not self._nonces.add(f"{call_id}/{attempt}", now=now, until=deadline):
            return self._refuse("replay")
        self._calls[call_id] = call
        try:
            await call.run(remaining)
        finally:
            del self._calls[call_id]
        return Ack()

    def _refuse(self, reason: Literal["signature", "replay"]) -> DeliveryResult:
        """Drop a message and log why.

        Not a dead letter, since the sender is unknown: dead letters are for work that should have been done.
        """
        metrics.messages_refused.labels(self._queue, reason).inc()
        advice = "services with another DASHWRIGHT_SECRET_KEY, or programs that may write to this queue and should not"
        _log.warning("rpc_request_refused", reason=reason, look_for=advice)
        return Ack()

    async def _repeat(self, call: "_Call", request: Message, attempt: int, remaining: float) -> None:
        """Put a redelivered request into the queue as its second attempt, or refuse it after the second.

        A broker reports only that a request was delivered before, not how often, so the attempt is in a header.
        """
        if attempt == 1:
            again = replace(request, headers={**request.headers, wire.ATTEMPT: 2}, expiration=remaining)
            again = wire.signed(self.signer, Purpose.REQUEST, self._queue, again)
            await self._broker.publish("", self._queue, again)
            return
        _log.error("rpc_request_given_up")
        await call.send_error(Unavailable("The request stopped the worker twice; it may be too large for a worker"))

    def _receive(self, message: Message) -> None:
        call = self._calls.get(message.correlation_id or "")
        if call is None or not wire.is_genuine(self.signer, Purpose.CONTROL, "", message):
            return
        if message.headers.get(wire.CANCEL):
            call.stop(None)
        else:
            call.taken(count(message.headers, wire.TAKEN))

    def _lost(self) -> None:
        for call in self._calls.values():
            call.lose_reader()


class _Call:
    """Request that is being handled."""

    def __init__(self, server: RpcServer, inbox: Inbox, request: Message, attempt: int, deadline: float, patience: float) -> None:
        self._server = server
        self._inbox = inbox
        self._request = request
        self._attempt = attempt
        self._deadline = deadline
        self._patience = patience
        self._sent = 0
        self._taken = 0
        self._more = asyncio.Event()
        self._scope: asyncio.Timeout | None = None
        self._stopped = False
        self._end: float | None = None
        self._last_word: DashwrightError | None = None

    async def run(self, remaining: float) -> None:
        """Reply within the deadline, and after the first piece without too long a silence. Stop early if the reader stops."""
        loop = asyncio.get_running_loop()
        announcing: list[asyncio.Task[None]] = []
        timer = loop.call_later(self._server.announce_after, lambda: announcing.append(loop.create_task(self._announce())))
        try:
            async with asyncio.timeout(remaining) as self._scope:
                try:
                    await self._handle()
                finally:
                    # Control messages that arrive from here on come too late.
                    self._scope = None
        except TimeoutError:
            if self._sent and not self._stopped:
                longest = self._server.lingering * self._patience
                text = f"The reader read nothing for {self._patience:g} s, or did not finish within {longest:g} s"
                self._last_word = DeadlineExceeded(f"{text}; read faster or request less")
            _log.info(
                "rpc_response_stopped", sent=self._sent, reason=self._last_word.message if self._last_word else "the caller stopped waiting"
            )
            if self._last_word is not None:
                await self.send_error(self._last_word)
        finally:
            timer.cancel()
            for task in announcing:
                await task

    async def send_error(self, error: DashwrightError) -> None:
        """Send an error as the last piece. If that fails, the caller's own deadline ends the call."""
        headers: dict[str, Header] = {wire.SEQUENCE: self._sent, wire.LAST: True, wire.FAILED: error.code}
        try:
            await self._send(wire.encode_error(error), headers)
        except Unavailable as unsent:
            _log.warning("rpc_error_not_sent", error=unsent.message)

    def taken(self, pieces: int) -> None:
        """Record how many pieces the reader has read."""
        self._taken = max(self._taken, pieces)
        self._more.set()
        if self._sent:
            self._end_in(self._patience)

    def stop(self, last_word: DashwrightError | None) -> None:
        """Cancel the handler, or close its generator. ``last_word`` is sent to the caller."""
        if not self._stopped:
            self._end_in(0)
            self._stopped = True
            self._last_word = last_word

    def lose_reader(self) -> None:
        """Stop a call whose reader cannot report any more because the inbox was lost."""
        if self._sent:
            self.stop(Unavailable("The worker lost the message broker in the middle of its response; try again"))

    async def _handle(self) -> None:
        try:
            request = Request(body=self._request.body, headers=self._request.headers, deadline=self._deadline)
            reply = await self._server.handler(request)
            await self._send_body(reply)
        except DashwrightError as error:
            await self.send_error(error)
        except Exception:  # noqa: BLE001 - the outermost loop of a request
            _log.exception("rpc_handler_failed")
            trace = tracing.current()
            trace_id = trace.trace_id if trace else "unknown"
            await self.send_error(DashwrightError(f"The worker failed; its logs have trace {trace_id}", details={"traceID": trace_id}))

    async def _send_body(self, reply: Reply) -> None:
        if isinstance(reply.body, bytes):
            pieces = [*_split(reply.body, self._server.chunk)]
            for index, piece in enumerate(pieces):
                await self._send_piece(piece, reply.headers, last=index == len(pieces) - 1)
            return
        # None = None | Send each piece one behind, since only the last one is marked as such.
        held: bytes | None = None
        async with aclosing(_pieces(reply.body, self._server.chunk)) as stream:
            async for piece in stream:
                if held is not None:
                    await self._send_piece(held, reply.headers, last=False)
                held = piece
            await self._send_piece(held or b"", reply.headers, last=True)

    async def _send_piece(self, piece: bytes, headers: Headers, *, last: bool) -> None:
        while self._sent - self._taken >= self._server.window:
            self._more.clear()
            await self._more.wait()
        own: dict[str, Header] = {wire.SEQUENCE: self._sent}
        if self._sent == 0:
            own = {**headers, **own}
            if not last:
                own[wire.WINDOW] = self._server.window
        if last:
            own[wire.LAST] = True
        await self._send(piece, own)
        self._sent += 1
        self._end_in(self._patience)

    async def _announce(self) -> None:
        try:
            await self._send(b"", {})
        except Unavailable as error:
            _log.info("rpc_announcement_not_sent", error=error.message)

    async def _send(self, body: bytes, headers: dict[str, Header]) -> None:
        headers[wire.ATTEMPT] = self._attempt
        message = Message(body=body, headers=headers, correlation_id=self._request.correlation_id, persistent=False)
        assert self._request.reply_to is not None
        await self._inbox.send(self._request.reply_to, wire.signed(self._server.signer, Purpose.RESPONSE, "", message), mandatory=False)

    def _end_in(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        if self._sent and self._end is None:
            self._end = now + self._server.lingering * self._patience
        if self._scope is not None and not self._stopped and not self._scope.expired():
            self._scope.reschedule(now + seconds if self._end is None else min(now + seconds, self._end))


def _split(body: bytes, size: int) -> Iterator[bytes]:
    """Yield the body in pieces of at most ``size`` bytes; an empty body is one empty piece."""
    if len(body) <= size:
        yield body
        return
    view = memoryview(body)
    for start in range(0, len(body), size):
        yield bytes(view[start : start + size])


async def _pieces(source: AsyncIterator[bytes], size: int) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a source, large ones split and empty ones left out; close the source at the end."""
    try:
        async for whole in source:
            for piece in _split(whole, size):
                if piece:
                    yield piece
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()
