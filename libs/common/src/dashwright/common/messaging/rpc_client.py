"""Calling side of RPC: sends a request and reads the response as fast as its reader does. ``rpc`` describes the protocol."""

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
from dashwright.common.messaging.message import Header, Headers, Message, count
from dashwright.common.messaging.signing import SIGNATURE, Purpose, Signer
from dashwright.common.observability import metrics

_log = structlog.get_logger()

#: Seconds. A connection that only broke is restored sooner; a broker that is down is not.
_RECONNECTING = 3.0


class RpcClient:
    """Caller of workers. One for a process: all calls share an inbox.

    ``reconnecting``: seconds that a call waits for a lost broker.
    """

    def __init__(self, broker: Broker, signer: Signer, *, clock: Clock | None = None, reconnecting: float = _RECONNECTING) -> None:
        self._reconnecting = reconnecting
        self._broker = broker
        self._signer = signer
        self._clock = clock or Clock()
        self._inbox: Inbox | None = None
        # Weak references: a response that its reader dropped disappears, and its worker gets a cancel for the next piece.
        self._responses: WeakValueDictionary[str, RpcResponse] = WeakValueDictionary()
        self._cancels: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the inbox."""
        self._inbox = await self._broker.inbox(self._receive, self._lost, confirmed=True)

    async def close(self) -> None:
        """Close the inbox; pending calls fail with Unavailable."""
        inbox, self._inbox = self._inbox, None
        self._lost()
        await asyncio.gather(*self._cancels)
        if inbox is not None:
            await inbox.close()

    async def call(self, queue: str, body: bytes, *, timeout: float, headers: Headers | None = None) -> "RpcResponse":
        """Send a request and return the response once its first piece has arrived.

        Raises the error of the worker; DeadlineExceeded after ``timeout`` seconds; Unroutable if the queue does not
        exist; Unavailable if the broker is unreachable or was lost. After the first piece, ``timeout`` is the longest
        silence.
        """
        if self._inbox is None:
            raise Unavailable("Calls to workers have not started or have ended; try again later")
        loop = asyncio.get_running_loop()
        deadline, patience = loop.time() + timeout, int(timeout * 1000)
        response = RpcResponse(self._broker, self._signer, queue, timeout)
        self._responses[response.call_id] = response
        request = Message(
            body=body,
            headers={**(headers or {}), wire.DEADLINE: self._clock.milliseconds() + patience, wire.PATIENCE: patience},
            correlation_id=response.call_id,
            persistent=False,
            expiration=timeout,
        )
        request = wire.signed(self._signer, Purpose.REQUEST, queue, request)
        try:
            await self._inbox.send(queue, request, mandatory=True, timeout=min(timeout, self._reconnecting))
            async with asyncio.timeout_at(deadline):
                await response.begun()
        except TimeoutError as error:
            await response.give_up("deadline-exceeded")
            raise DeadlineExceeded(_too_late(timeout, is_taken=response.is_taken)) from error
        except DashwrightError as error:
            await response.give_up(error.code)
            raise
        except asyncio.CancelledError:
            await response.aclose()
            raise
        return response

    def _receive(self, message: Message) -> None:
        """Pass a message to its call. Messages without a valid signature are ignored: the call goes on waiting for its worker."""
        if not wire.is_genuine(self._signer, Purpose.RESPONSE, "", message):
            metrics.messages_refused.labels("answers", "signature").inc()
            _log.warning("rpc_response_refused", call_id=message.correlation_id, reason="no service with this SECRET_KEY signed it")
            return
        response = self._responses.get(message.correlation_id or "")
        if response is not None and response.take(message):
            return
        if message.reply_to and not message.headers.get(wire.LAST):
            task = asyncio.get_running_loop().create_task(
                cancel(self._broker, self._signer, message.reply_to, message.correlation_id or "")
            )
            self._cancels.add(task)
            task.add_done_callback(self._cancels.discard)

    def _lost(self) -> None:
        for response in [*self._responses.values()]:
            response.fail(Unavailable("The connection to the message broker was lost during a call to a worker; try again"))


def _too_late(seconds: float, *, is_taken: bool) -> str:
    if is_taken:
        return f"The worker did not begin its response within {seconds:g} s; request less or allow more time"
    return f"No worker took the request within {seconds:g} s; check that one is running and not overloaded"


class RpcResponse:
    """Response that is complete or still arriving.

    Read it once, by ``complete``, ``read`` or ``chunks``. A reader that stops early calls ``aclose``.
    """

    def __init__(self, broker: Broker, signer: Signer, queue: str, patience: float) -> None:
        #: Also the nonce of the request: a response is signed for this call and valid for no other.
        self.call_id = uuid4().hex
        self.headers: Mapping[str, Header] = {}
        self._broker = broker
        self._signer = signer
        self._queue = queue
        self._patience = patience
        self._started = perf_counter()
        self._news = asyncio.Event()
        self._ended = False
        self._error: DashwrightError | None = None
        self._begin(attempt=0)

    def _begin(self, attempt: int) -> None:
        self._attempt = attempt
        self._worker: str | None = None
        self._pieces: deque[bytes] = deque()
        self._received = 0
        self._taken = 0
        self._reported = 0
        self._window = 1

    @property
    def is_taken(self) -> bool:
        """True if a worker has accepted the request."""
        return self._worker is not None

    @property
    def complete(self) -> bytes | None:
        """Whole body if it arrived in one piece, as most do; otherwise None."""
        return self._pieces[0] if self._ended and self._error is None and self._received == len(self._pieces) == 1 else None

    async def read(self) -> bytes:
        """Return the whole body. Raises the errors of ``chunks``."""
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pieces as they arrive.

        Raises the error of the worker, Unavailable if the worker was lost, and DeadlineExceeded after too long a
        silence.
        """
        while True:
            while self._pieces:
                self._taken += 1
                await self._report()
                yield self._pieces.popleft()
            if self._error is not None:
                raise self._error
            if self._ended:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(self._patience):
                    await self._news.wait()
            except TimeoutError as error:
                await self.give_up("deadline-exceeded")
                raise DeadlineExceeded(
                    f"The worker was silent for {self._patience:g} s in the middle of its response; try again"
                ) from error

    async def aclose(self) -> None:
        """Stop reading; the worker is asked to stop if it has not finished."""
        await self.give_up("cancelled")

    async def give_up(self, outcome: str) -> None:
        """End the call with an outcome for the metrics, and ask the worker to stop."""
        if self._ended:
            return
        self._end(outcome)
        if self._worker is not None:
            await cancel(self._broker, self._signer, self._worker, self.call_id)

    async def begun(self) -> None:
        """Wait for the first piece. Raises the error of the worker."""
        while not self._received and self._error is None:
            self._news.clear()
            await self._news.wait()
        if self._error is not None and not self._pieces:
            raise self._error

    def take(self, message: Message) -> bool:
        """Accept a message of the worker. Return False if it is not wanted any more."""
        attempt = count(message.headers, wire.ATTEMPT)
        if self._ended or attempt < self._attempt:
            return False
        if attempt > self._attempt:
            # A second attempt starts from the beginning, but the reader already has pieces of the first one.
            if self._taken:
                self.fail(Unavailable("The worker was lost in the middle of its response; try again"))
                return False
            self._begin(attempt)
        self._worker = message.reply_to
        if wire.SEQUENCE in message.headers:
            self._add(message)
        return True

    def fail(self, error: DashwrightError) -> None:
        """End the call with an error, unless it has ended."""
        if not self._ended:
            self._error = error
            self._end(error.code)

    def _add(self, message: Message) -> None:
        headers = message.headers
        if headers[wire.SEQUENCE] != self._received:
            self.fail(Unavailable("A piece of the worker's response was lost; try again"))
            return
        if headers.get(wire.FAILED):
            self.fail(wire.decode_error(message.body))
            return
        if self._received == 0:
            self.headers = {name: value for name, value in headers.items() if not name.startswith(wire.PREFIX) and name != SIGNATURE}
            self._window = max(1, count(headers, wire.WINDOW))
        self._received += 1
        self._pieces.append(message.body)
        if headers.get(wire.LAST):
            self._end("ok")
        self._news.set()

    async def _report(self) -> None:
        # Report every half window: often enough that the worker never waits, at a fraction of the messages.
        if self._ended or self._worker is None or self._taken - self._reported < max(1, self._window // 2):
            return
        self._reported = self._taken
        message = Message(body=b"", headers={wire.TAKEN: self._taken}, correlation_id=self.call_id, persistent=False)
        await self._broker.reply(self._worker, wire.signed(self._signer, Purpose.CONTROL, "", message))

    def _end(self, outcome: str) -> None:
        self._ended = True
        self._news.set()
        metrics.rpc_seconds.labels(self._queue, outcome).observe(perf_counter() - self._started)


async def cancel(broker: Broker, signer: Signer, worker: str, call_id: str) -> None:
    """Ask a worker to stop a call. If the message is lost, the worker stops at the end of its patience."""
    message = Message(body=b"", headers={wire.CANCEL: True}, correlation_id=call_id, persistent=False)
    try:
        await broker.reply(worker, wire.signed(signer, Purpose.CONTROL, "", message))
    except Unavailable as error:
        _log.info("rpc_cancel_not_sent", call_id=call_id, error=error.message)
