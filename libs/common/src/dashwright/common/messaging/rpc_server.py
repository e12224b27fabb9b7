"""RPC server, which runs a handler for each request and sends its reply at the speed of the reader."""

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
from dashwright.common.messaging.message import Delivery, Header, Headers, Message, count_header
from dashwright.common.messaging.signing import NonceCache, Purpose, Signer
from dashwright.common.observability import metrics, tracing

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request of an RPC client."""

    body: bytes
    headers: Headers
    deadline: float  #: Unix seconds. The handler is cancelled at this time, or earlier if the caller stops waiting.

    @property
    def is_repeated(self) -> bool:
        """True if an earlier worker accepted the request and died. It may have done all, some or none of the work."""
        return count_header(self.headers, wire.ATTEMPT) > 1


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a handler. Its body is complete, or an iterator of chunks that are produced while they are sent.

    A generator is closed when the reader stops.
    """

    body: bytes | AsyncIterator[bytes]
    headers: Headers = field(default_factory=dict)


RequestHandler = Callable[[Request], Awaitable[Reply]]


class RpcServer:
    """Server of the calls of one queue.

    A reply is sent in chunks of at most ``chunk_bytes`` bytes, of which at most ``window`` are sent before the reader has read
    them. The reader must finish within ``max_idle_timeouts`` times the idle timeout of its request, since its call occupies one of
    the ``prefetch`` slots. If the first chunk takes longer than ``announce_after`` seconds, the worker first announces that it has
    accepted the call.
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
        chunk_bytes: int = 2**20,
        announce_after: float = 0.1,
        max_idle_timeouts: float = 10,
        clock: Clock | None = None,
    ) -> None:
        self.handler = handler
        self.signer = signer
        self.window = window
        self.chunk_bytes = chunk_bytes
        self.announce_after = announce_after
        self.max_idle_timeouts = max_idle_timeouts
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
        self._inbox = await self._broker.inbox(self._receive, self._on_lost, confirmed=False)
        self._subscription = await self._broker.consume(self._queue, self._serve, prefetch=self._prefetch)

    async def stop(self, *, drain: float) -> None:
        """Accept no more requests and wait at most ``drain`` seconds for running ones. Unfinished requests return to the queue."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)
        if self._inbox is not None:
            await self._inbox.close()

    async def _serve(self, delivery: Delivery) -> DeliveryResult:
        """Handle the delivery of a request. The call has ended when this returns."""
        request = delivery.message
        call_id, reply_to = request.correlation_id, request.reply_to
        if not call_id or not reply_to or not self.signer.is_genuine(request, Purpose.REQUEST, self._queue):
            return self._refuse("signature")
        now = self._clock.seconds()
        deadline = count_header(request.headers, wire.DEADLINE) / 1000
        idle_timeout = count_header(request.headers, wire.IDLE_TIMEOUT) / 1000
        remaining_seconds = deadline - now
        if remaining_seconds <= 0 or self._inbox is None:
            _log.info("rpc_request_expired")
            return Ack()
        attempt = max(1, count_header(request.headers, wire.ATTEMPT))
        call = _Call(self, self._inbox, request, attempt, deadline, idle_timeout)
        if delivery.redelivered:
            try:
                await self._repeat(call, request, attempt, remaining_seconds)
            except Unavailable as error:
                # The broker delivers the request again, or the caller reaches its deadline. The request must not become a dead letter.
                _log.info("rpc_request_not_repeated", error=error.message)
            return Ack()
        if not self._nonces.add(f"{call_id}/{attempt}", now=now, expires_at=deadline):
            return self._refuse("replay")
        self._calls[call_id] = call
        try:
            await call.run(remaining_seconds)
        finally:
            # After a lost connection, the second attempt may have begun while the first one was still running.
            if self._calls.get(call_id) is call:
                del self._calls[call_id]
        return Ack()

    def _refuse(self, reason: Literal["signature", "replay"]) -> DeliveryResult:
        """Discard a request and log the reason.

        The request becomes no dead letter, since its sender is unknown and dead letters are for valid work.
        """
        metrics.messages_refused.labels(self._queue, reason).inc()
        advice = "services with another DASHWRIGHT_SECRET_KEY, or programs that may write to this queue and should not"
        _log.warning("rpc_request_refused", reason=reason, look_for=advice)
        return Ack()

    async def _repeat(self, call: "_Call", request: Message, attempt: int, remaining_seconds: float) -> None:
        """Publish a redelivered request as its second attempt, or send an error to the caller if it is the second attempt.

        The attempt is a header, since a broker reports only that a request was delivered before, but not how often.
        """
        if attempt == 1:
            second_attempt = replace(request, headers={**request.headers, wire.ATTEMPT: 2}, expiration=remaining_seconds)
            second_attempt = self.signer.signed(second_attempt, Purpose.REQUEST, self._queue)
            await self._broker.publish("", self._queue, second_attempt)
            return
        _log.error("rpc_request_given_up")
        await call.send_error(Unavailable("The request stopped the worker twice; it may be too large for a worker"))

    def _receive(self, message: Message) -> None:
        """Pass a control message to its call. Ignore it if the call has ended or the signature is invalid."""
        call = self._calls.get(message.correlation_id or "")
        if call is None or not self.signer.is_genuine(message, Purpose.CONTROL):
            return
        if message.headers.get(wire.CANCEL):
            call.stop(None)
        else:
            call.record_read_count(count_header(message.headers, wire.READ_COUNT))

    def _on_lost(self) -> None:
        for call in self._calls.values():
            call.handle_inbox_loss()


class _Call:
    """Call whose handler is running, or whose reply is being sent.

    ``deadline`` is in Unix seconds, and limits the time until the first chunk. After it, the idle timeout and ``_final_deadline`` apply.
    """

    def __init__(self, server: RpcServer, inbox: Inbox, request: Message, attempt: int, deadline: float, idle_timeout: float) -> None:
        self._server = server
        self._inbox = inbox
        self._request = request
        self._attempt = attempt
        self._deadline = deadline
        self._idle_timeout = idle_timeout
        #: True if an announcement, a chunk or an error was sent.
        self._has_replied = False
        #: Number of chunks that were sent.
        self._sent_count = 0
        #: Number of chunks that the reader reported as read.
        self._read_count = 0
        self._progressed = asyncio.Event()
        #: Timeout of the running handler, which sent chunks and control messages postpone. None before and after it.
        self._timeout: asyncio.Timeout | None = None
        self._is_stopped = False
        #: Time of the event loop at which the whole response must have been sent. None before the first chunk.
        self._final_deadline: float | None = None
        #: Error to send as the last chunk if the call is stopped.
        self._final_error: DashwrightError | None = None

    async def run(self, remaining_seconds: float) -> None:
        """Run the handler and send its reply, within the deadline and the idle timeout. Stop early if the reader stops."""
        loop = asyncio.get_running_loop()
        announcements: list[asyncio.Task[None]] = []
        timer = loop.call_later(self._server.announce_after, lambda: announcements.append(loop.create_task(self._announce())))
        try:
            async with asyncio.timeout(remaining_seconds) as self._timeout:
                try:
                    await self._handle()
                finally:
                    # From now on control messages are too late to have an effect.
                    self._timeout = None
        except TimeoutError:
            # Without a sent chunk, the caller has reached the same deadline and needs no error.
            if self._sent_count and not self._is_stopped:
                total_timeout = self._server.max_idle_timeouts * self._idle_timeout
                problem = f"The reader read nothing for {self._idle_timeout:g} s, or did not finish within {total_timeout:g} s"
                self._final_error = DeadlineExceeded(f"{problem}; read faster or request less")
            _log.info(
                "rpc_response_stopped",
                sent=self._sent_count,
                reason=self._final_error.message if self._final_error else "the caller stopped waiting",
            )
            if self._final_error is not None:
                await self.send_error(self._final_error)
        finally:
            timer.cancel()
            for task in announcements:
                await task

    async def send_error(self, error: DashwrightError) -> None:
        """Send an error as the last chunk. If that fails, the caller ends the call at its own deadline."""
        headers: dict[str, Header] = {wire.SEQUENCE: self._sent_count, wire.LAST: True, wire.ERROR_CODE: error.code}
        try:
            await self._send(wire.encode_error(error), headers)
        except Unavailable as failure:
            _log.warning("rpc_error_not_sent", error=failure.message)

    def record_read_count(self, read_count: int) -> None:
        """Record the number of chunks that the reader has read."""
        self._read_count = max(self._read_count, read_count)
        self._progressed.set()
        if self._sent_count:
            self._set_timeout(self._idle_timeout)

    def stop(self, final_error: DashwrightError | None) -> None:
        """Cancel the handler, or close its generator. ``final_error`` is sent to the caller unless it is None."""
        if not self._is_stopped:
            # Before the flag is set, since a stopped call ignores new timeouts.
            self._set_timeout(0)
            self._is_stopped = True
            self._final_error = final_error

    def handle_inbox_loss(self) -> None:
        """Stop the call if chunks were sent: the reader cannot report its read count without the inbox."""
        if self._sent_count:
            self.stop(Unavailable("The worker lost the message broker in the middle of its response; try again"))

    async def _handle(self) -> None:
        """Run the handler, and send its reply or its error."""
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
        """Send the chunks of a reply, the last of which is marked."""
        if isinstance(reply.body, bytes):
            chunks = [*_split(reply.body, self._server.chunk_bytes)]
            for index, chunk in enumerate(chunks):
                await self._send_chunk(chunk, reply.headers, is_last=index == len(chunks) - 1)
            return
        # A chunk is sent when the next one exists or the body has ended: only then is it known whether it must be marked as the last.
        unsent_chunk: bytes | None = None
        async with aclosing(_chunks_of(reply.body, self._server.chunk_bytes)) as stream:
            async for chunk in stream:
                if unsent_chunk is not None:
                    await self._send_chunk(unsent_chunk, reply.headers, is_last=False)
                unsent_chunk = chunk
            await self._send_chunk(unsent_chunk or b"", reply.headers, is_last=True)

    async def _send_chunk(self, chunk: bytes, reply_headers: Headers, *, is_last: bool) -> None:
        """Wait until fewer than ``window`` chunks are unread, then send a chunk. The first chunk has the headers of the reply."""
        while self._sent_count - self._read_count >= self._server.window:
            self._progressed.clear()
            await self._progressed.wait()
        headers: dict[str, Header] = {wire.SEQUENCE: self._sent_count}
        if self._sent_count == 0:
            headers = {**reply_headers, **headers}
            if not is_last:
                headers[wire.WINDOW] = self._server.window
        if is_last:
            headers[wire.LAST] = True
        await self._send(chunk, headers)
        self._sent_count += 1
        self._set_timeout(self._idle_timeout)

    async def _announce(self) -> None:
        """Send the reply address to the caller, in a message that is not a chunk."""
        # After a chunk, the caller knows the address. After the last chunk, it would respond to an announcement with a cancellation.
        if self._has_replied:
            return
        try:
            await self._send(b"", {})
        except Unavailable as error:
            _log.info("rpc_announcement_not_sent", error=error.message)

    async def _send(self, body: bytes, headers: dict[str, Header]) -> None:
        """Send a signed message to the caller."""
        self._has_replied = True
        if self._attempt > 1:
            headers[wire.ATTEMPT] = self._attempt
        message = Message(body=body, headers=headers, correlation_id=self._request.correlation_id, persistent=False)
        assert self._request.reply_to is not None
        await self._inbox.send(self._request.reply_to, self._server.signer.signed(message, Purpose.RESPONSE), mandatory=False)

    def _set_timeout(self, seconds: float) -> None:
        """Let the call time out after ``seconds``, but not later than the final deadline, which begins with the first chunk."""
        now = asyncio.get_running_loop().time()
        if self._sent_count and self._final_deadline is None:
            self._final_deadline = now + self._server.max_idle_timeouts * self._idle_timeout
        times_out_at = now + seconds
        if self._final_deadline is not None:
            times_out_at = min(times_out_at, self._final_deadline)
        if self._timeout is not None and not self._is_stopped and not self._timeout.expired():
            self._timeout.reschedule(times_out_at)


def _split(body: bytes, size: int) -> Iterator[bytes]:
    """Yield the body in chunks of at most ``size`` bytes. An empty body is one empty chunk."""
    if len(body) <= size:
        yield body
        return
    view = memoryview(body)
    for start in range(0, len(body), size):
        yield bytes(view[start : start + size])


async def _chunks_of(source: AsyncIterator[bytes], size: int) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a source in chunks of 1 to ``size`` bytes. Close the source at the end."""
    try:
        async for block in source:
            for chunk in _split(block, size):
                if chunk:
                    yield chunk
    finally:
        if isinstance(source, AsyncGenerator):
            await source.aclose()
