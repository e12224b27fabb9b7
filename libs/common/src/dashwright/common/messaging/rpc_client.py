"""RPC client, which sends requests to workers and receives their responses. ``rpc`` describes the protocol."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from time import perf_counter
from uuid import uuid4
from weakref import WeakValueDictionary

import structlog

from dashwright.common.clock import Clock
from dashwright.common.errors import DashwrightError, DeadlineExceeded, Unavailable
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.broker import Broker, Inbox
from dashwright.common.messaging.message import Header, Headers, Message, count_header
from dashwright.common.messaging.signing import SIGNATURE, Purpose, Signer
from dashwright.common.observability import metrics

_log = structlog.get_logger()

#: Enough time to restore a broken connection, unless the broker is down.
_RECONNECT_TIMEOUT_SECONDS = 3.0


class RpcClient:
    """RPC client of a process. All calls share one inbox.

    A call waits at most ``reconnect_timeout`` seconds for a lost connection to return.
    """

    def __init__(
        self, broker: Broker, signer: Signer, *, clock: Clock | None = None, reconnect_timeout: float = _RECONNECT_TIMEOUT_SECONDS
    ) -> None:
        self._reconnect_timeout = reconnect_timeout
        self._broker = broker
        self._signer = signer
        self._clock = clock or Clock()
        self._inbox: Inbox | None = None
        # Weak references, so that responses without a reader disappear. Their workers are cancelled when the next chunk arrives.
        self._responses: WeakValueDictionary[str, RpcResponse] = WeakValueDictionary()
        #: Tasks that ask workers to stop calls.
        self._cancel_tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the inbox."""
        self._inbox = await self._broker.inbox(self._receive, self._on_lost, confirmed=True)

    async def close(self) -> None:
        """Close the inbox. Pending calls fail with Unavailable."""
        inbox, self._inbox = self._inbox, None
        self._on_lost()
        await asyncio.gather(*self._cancel_tasks)
        if inbox is not None:
            await inbox.close()

    async def call(self, queue: str, body: bytes, *, timeout: float, headers: Headers | None = None) -> "RpcResponse":
        """Send a request and return the response when its first chunk has arrived.

        After the first chunk, ``timeout`` is the maximum time in seconds between two chunks. Raises the error of the worker,
        DeadlineExceeded after ``timeout`` seconds, Unroutable if the queue does not exist, and Unavailable if the broker is
        unreachable.
        """
        if self._inbox is None:
            raise Unavailable("Calls to workers have not started or have ended; try again later")
        loop = asyncio.get_running_loop()
        deadline, timeout_milliseconds = loop.time() + timeout, int(timeout * 1000)
        response = RpcResponse(self._broker, self._signer, queue, timeout)
        self._responses[response.call_id] = response
        request = Message(
            body=body,
            headers={
                **(headers or {}),
                wire.DEADLINE: self._clock.milliseconds() + timeout_milliseconds,
                wire.IDLE_TIMEOUT: timeout_milliseconds,
            },
            correlation_id=response.call_id,
            # A restart of the broker ends the call, and its caller does not wait after the timeout: then the request is of no use.
            persistent=False,
            expiration=timeout,
        )
        request = self._signer.signed(request, Purpose.REQUEST, queue)
        try:
            await self._inbox.send(queue, request, mandatory=True, timeout=min(timeout, self._reconnect_timeout))
            async with asyncio.timeout_at(deadline):
                await response.wait_for_first_chunk()
        except TimeoutError as error:
            await response.abort("deadline-exceeded")
            raise DeadlineExceeded(_timeout_message(timeout, is_accepted=response.is_accepted)) from error
        except DashwrightError as error:
            await response.abort(error.code)
            raise
        except asyncio.CancelledError:
            await response.aclose()
            raise
        return response

    def _receive(self, message: Message) -> None:
        """Pass a message to its call. Ignore a message without a valid signature: the call continues to wait for its worker."""
        if not self._signer.is_genuine(message, Purpose.RESPONSE):
            # The first label is otherwise a queue, which an inbox does not have.
            metrics.messages_refused.labels("answers", "signature").inc()
            _log.warning("rpc_response_refused", call_id=message.correlation_id, reason="no service with this SECRET_KEY signed it")
            return
        response = self._responses.get(message.correlation_id or "")
        if response is not None and response.accept(message):
            return
        # The worker of an unknown or ended call must stop, unless it has sent its last chunk.
        if message.reply_to and not message.headers.get(wire.LAST):
            task = asyncio.get_running_loop().create_task(
                cancel(self._broker, self._signer, message.reply_to, message.correlation_id or "")
            )
            self._cancel_tasks.add(task)
            task.add_done_callback(self._cancel_tasks.discard)

    def _on_lost(self) -> None:
        for response in [*self._responses.values()]:
            response.fail(Unavailable("The connection to the message broker was lost during a call to a worker; try again"))


def _timeout_message(seconds: float, *, is_accepted: bool) -> str:
    """Return the message of DeadlineExceeded for a call without a first chunk."""
    if is_accepted:
        return f"The worker did not begin its response within {seconds:g} s; request less or allow more time"
    return f"No worker took the request within {seconds:g} s; check that one is running and not overloaded"


class RpcResponse:
    """Response of a worker, which may still be arriving.

    Read it once, by ``complete_body``, ``read`` or ``chunks``. Call ``aclose`` to stop reading early.
    """

    def __init__(self, broker: Broker, signer: Signer, queue: str, idle_timeout: float) -> None:
        #: Id of the call, and nonce of the request. A response is signed for one call and valid for no other.
        self.call_id = uuid4().hex
        self.headers: Mapping[str, Header] = {}
        self._broker = broker
        self._signer = signer
        self._queue = queue
        self._idle_timeout = idle_timeout
        self._started = perf_counter()
        self._changed = asyncio.Event()
        #: True once the last chunk or an error has arrived, or the call was aborted. The reader may still have unread chunks.
        self._is_ended = False
        self._error: DashwrightError | None = None
        self._reset(attempt=0)

    def _reset(self, attempt: int) -> None:
        """Prepare for the chunks of an attempt. Attempt 0 is before any message of a worker."""
        self._attempt = attempt
        self._worker_address: str | None = None
        #: Received chunks that the reader has not read.
        self._chunks: deque[bytes] = deque()
        self._received_count = 0
        self._read_count = 0
        #: The read count of which the worker was last notified.
        self._reported_count = 0
        self._window = 1

    @property
    def is_accepted(self) -> bool:
        """True if a worker has accepted the request."""
        return self._worker_address is not None

    @property
    def complete_body(self) -> bytes | None:
        """The body if it arrived in one chunk, as most do, and was not read by ``chunks``. Otherwise None: call ``read``."""
        is_complete = self._is_ended and self._error is None
        has_one_unread_chunk = self._received_count == 1 and len(self._chunks) == 1
        return self._chunks[0] if is_complete and has_one_unread_chunk else None

    async def read(self) -> bytes:
        """Return the body. Raises the errors of ``chunks``."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body as they arrive.

        Raises the error of the worker, Unavailable if the worker was lost, and DeadlineExceeded if the next chunk does not
        arrive in time.
        """
        while True:
            while self._chunks:
                self._read_count += 1
                await self._report_read_count()
                yield self._chunks.popleft()
            if self._error is not None:
                raise self._error
            if self._is_ended:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(self._idle_timeout):
                    await self._changed.wait()
            except TimeoutError as error:
                await self.abort("deadline-exceeded")
                raise DeadlineExceeded(
                    f"The worker was silent for {self._idle_timeout:g} s in the middle of its response; try again"
                ) from error

    async def aclose(self) -> None:
        """Stop reading. Ask the worker to stop if it has not finished."""
        await self.abort("cancelled")

    async def abort(self, outcome: str) -> None:
        """End the call with an outcome for the metrics, and ask the worker to stop."""
        if self._is_ended:
            return
        self._finish(outcome)
        if self._worker_address is not None:
            await cancel(self._broker, self._signer, self._worker_address, self.call_id)

    async def wait_for_first_chunk(self) -> None:
        """Wait for the first chunk. Raises the error of the worker."""
        while not self._received_count and self._error is None:
            self._changed.clear()
            await self._changed.wait()
        # An error after the first chunk is raised by ``chunks``, in its place after the chunks.
        if self._error is not None and not self._chunks:
            raise self._error

    def accept(self, message: Message) -> bool:
        """Process a message of the worker. Return False if the call has ended or the message is outdated."""
        attempt = max(1, count_header(message.headers, wire.ATTEMPT))
        if self._is_ended or attempt < self._attempt:
            return False
        if attempt > self._attempt:
            # A second attempt sends the response from its beginning, but the reader has already read chunks of the first attempt.
            if self._read_count:
                self.fail(Unavailable("The worker was lost in the middle of its response; try again"))
                return False
            self._reset(attempt)
        self._worker_address = message.reply_to
        if wire.SEQUENCE in message.headers:
            self._add(message)
        return True

    def fail(self, error: DashwrightError) -> None:
        """End the call with an error. Do nothing if it has ended."""
        if not self._is_ended:
            self._error = error
            self._finish(error.code)

    def _add(self, message: Message) -> None:
        """Add a chunk, or end the call with the error in the message."""
        headers = message.headers
        if headers.get(wire.ERROR_CODE):
            # The sequence number is ignored: a worker that stops while it sends a chunk cannot know whether the chunk was sent.
            self.fail(wire.decode_error(message.body))
            return
        if headers[wire.SEQUENCE] != self._received_count:
            self.fail(Unavailable("A piece of the worker's response was lost; try again"))
            return
        if self._received_count == 0:
            self.headers = {name: value for name, value in headers.items() if not name.startswith(wire.PREFIX) and name != SIGNATURE}
            self._window = max(1, count_header(headers, wire.WINDOW))
        self._received_count += 1
        self._chunks.append(message.body)
        if headers.get(wire.LAST):
            self._finish("ok")
        self._changed.set()

    async def _report_read_count(self) -> None:
        """Notify the worker of the read count, if half of the window was read since the last report."""
        unreported_count = self._read_count - self._reported_count
        # Reports after a full window would be too late: the worker would have to wait for each.
        half_window = max(1, self._window // 2)
        if self._is_ended or self._worker_address is None or unreported_count < half_window:
            return
        self._reported_count = self._read_count
        message = Message(body=b"", headers={wire.READ_COUNT: self._read_count}, correlation_id=self.call_id, persistent=False)
        await self._broker.reply(self._worker_address, self._signer.signed(message, Purpose.CONTROL))

    def _finish(self, outcome: str) -> None:
        self._is_ended = True
        self._changed.set()
        metrics.rpc_seconds.labels(self._queue, outcome).observe(perf_counter() - self._started)


async def cancel(broker: Broker, signer: Signer, worker_address: str, call_id: str) -> None:
    """Ask the worker at an inbox address to stop a call. If this message is lost, the worker stops at its idle timeout."""
    message = Message(body=b"", headers={wire.CANCEL: True}, correlation_id=call_id, persistent=False)
    try:
        await broker.reply(worker_address, signer.signed(message, Purpose.CONTROL))
    except Unavailable as error:
        _log.info("rpc_cancel_not_sent", call_id=call_id, error=error.message)
