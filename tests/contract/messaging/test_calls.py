"""Calls to workers: one response within the deadline, at the reader's speed, or an error with its reason."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.messaging.calls import CallFactory, ChunkedBody, HangingHandler, echo, pause

from dashwright.common.clock import Clock
from dashwright.common.errors import DeadlineExceeded
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.rpc import Reply, Request, RpcResponse


async def test_a_call_returns_body_and_headers(calls: CallFactory) -> None:
    """The handler receives the body and headers of a call, and the caller those of the reply, without headers of the protocol."""
    client = await calls.client()
    await calls.server(echo)
    response = await client.call(calls.broker.topology.query, b"hello", timeout=5, headers={"custom": "kept"})
    assert response.complete_body == b"hello"
    assert response.headers == {"content-type": "text/plain", "custom": "kept"}
    assert await response.read() == b"hello"


async def test_a_response_may_be_empty(calls: CallFactory) -> None:
    """The body of a request and of its response may be empty."""
    client = await calls.client()
    await calls.server(echo)
    assert (await client.call(calls.broker.topology.query, b"", timeout=5)).complete_body == b""


async def test_a_small_response_is_one_message(calls: CallFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of one chunk, from bytes or from an iterator, is sent as a single message."""
    client = await calls.client()

    async def handler(request: Request) -> Reply:
        return ChunkedBody(1).reply() if request.body == b"chunks" else Reply(b"bytes")

    await calls.server(handler)
    accepted: list[Message] = []
    accept = RpcResponse.accept

    def record_and_accept(reply: RpcResponse, message: Message) -> bool:
        """Record a message of a response, and accept it."""
        accepted.append(message)
        return accept(reply, message)

    monkeypatch.setattr(RpcResponse, "accept", record_and_accept)
    for body in (b"bytes", b"chunks"):
        accepted.clear()
        reply = await client.call(calls.broker.topology.query, body, timeout=5)
        assert reply.complete_body is not None
        assert len(accepted) == 1


async def test_a_response_is_not_announced_after_its_beginning(calls: CallFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker announces a response that takes long. It sends no announcement that becomes due while it sends the response."""
    client, server = await calls.client(), await calls.server(echo)
    # The announcement becomes due as soon as the event loop runs other callbacks.
    server.announce_after = 0
    inbox = server._inbox
    assert inbox is not None
    send, sent = inbox.send, list[Message]()

    async def record_and_send(routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Record a message, and send it."""
        sent.append(message)
        await send(routing_key, message, mandatory=mandatory, timeout=timeout)

    monkeypatch.setattr(inbox, "send", record_and_send)
    assert (await client.call(calls.broker.topology.query, b"hello", timeout=5)).complete_body == b"hello"
    await server.stop(drain=5)
    assert [message.body for message in sent] == [b"hello"]


@pytest.mark.parametrize(("size", "chunk"), [(1, 1), (10, 3), (9, 3), (8, 9), (100_000, 777), (5 * 2**20 + 1, 2**20)])
async def test_a_large_response_is_unchanged(calls: CallFactory, size: int, chunk: int) -> None:
    """A body is received unchanged, in one message if it fits into a chunk and otherwise in several chunks."""
    # The period of the bytes is a prime number, so that chunks in another order would make a different body.
    body = bytes(index % 251 for index in range(size))
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return Reply(body)

    await calls.server(handler, chunk=chunk)
    response = await client.call(calls.broker.topology.query, b"", timeout=10)
    if size <= chunk:
        assert response.complete_body == body
    else:
        assert response.complete_body is None
    assert await response.read() == body


async def test_chunks_are_sent_as_they_are_produced(calls: CallFactory) -> None:
    """Each chunk of an iterator is sent when it is produced; a large chunk is split, and an empty one is omitted."""
    client = await calls.client()

    async def produce() -> AsyncIterator[bytes]:
        for chunk in (b"a", b"", b"bcd", b"e"):
            yield chunk

    async def handler(_: Request) -> Reply:
        return Reply(produce())

    await calls.server(handler, chunk=2)
    response = await client.call(calls.broker.topology.query, b"", timeout=5)
    assert [chunk async for chunk in response.chunks()] == [b"a", b"bc", b"d", b"e"]


async def test_a_worker_is_at_most_a_window_ahead_of_its_reader(calls: CallFactory) -> None:
    """The worker produces at most a window of chunks, and two more, beyond those that its reader has read."""
    client, body = await calls.client(), ChunkedBody()
    window = 4

    async def handler(_: Request) -> Reply:
        return body.reply()

    await calls.server(handler, window=window)
    response = await client.call(calls.broker.topology.query, b"", timeout=5)
    chunks = response.chunks()
    for number in range(1, 21):
        assert await anext(chunks) == body.chunk(number)
        # The first additional chunk waits to be sent. The worker needs the second one to know that the first is not the last of the body.
        assert body.produced <= number + window + 2
    await response.aclose()
    await asyncio.wait_for(body.closed.wait(), 20)


async def test_closing_a_response_stops_the_worker(calls: CallFactory) -> None:
    """If a reader closes a response, the worker's iterator is closed, too, and produces no more chunks."""
    client, body = await calls.client(), ChunkedBody()

    async def handler(_: Request) -> Reply:
        return body.reply()

    await calls.server(handler)
    response = await client.call(calls.broker.topology.query, b"", timeout=60)
    await response.aclose()
    await asyncio.wait_for(body.closed.wait(), 20)
    # In addition to the window of 8 chunks, the worker has one chunk that waits to be sent, and the next one.
    assert body.produced <= 8 + 2


async def test_an_abandoned_response_stops_the_worker(calls: CallFactory) -> None:
    """A reader that drops its response without closing it stops the worker at its next chunk."""
    client, dropped, closed = await calls.client(), asyncio.Event(), asyncio.Event()

    async def produce() -> AsyncIterator[bytes]:
        """Yield two chunks, and endless chunks after the reader is gone. Set ``closed`` at the end of the iteration."""
        try:
            yield b"first"
            yield b"second"
            await dropped.wait()
            while True:
                yield b"more"
        finally:
            closed.set()

    async def handler(_: Request) -> Reply:
        return Reply(produce())

    await calls.server(handler)
    response = await client.call(calls.broker.topology.query, b"", timeout=60)
    assert response.complete_body is None
    del response
    dropped.set()
    await asyncio.wait_for(closed.wait(), 20)


@pytest.mark.parametrize("seconds", [0, 0.1], ids=["before the announcement", "after the announcement"])
async def test_a_cancelled_caller_cancels_the_handler(calls: CallFactory, seconds: float) -> None:
    """If the caller is cancelled, its request is cancelled too, before and after the worker has announced a longer response."""
    client, handler = await calls.client(), HangingHandler()
    await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    await asyncio.wait_for(handler.started.get(), 20)
    await pause(seconds)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(handler.cancelled.wait(), 20)


async def test_the_deadline_ends_both_sides(calls: CallFactory) -> None:
    """At the deadline, the caller receives an error, the handler is cancelled, and the next call succeeds."""
    client, handler = await calls.client(), HangingHandler()
    server = await calls.server(handler)
    with pytest.raises(DeadlineExceeded, match=r"0\.2 s"):
        await client.call(calls.broker.topology.query, b"", timeout=0.2)
    await asyncio.wait_for(handler.cancelled.wait(), 20)
    await server.stop(drain=0)
    await calls.server(echo)
    assert (await client.call(calls.broker.topology.query, b"next", timeout=5)).complete_body == b"next"


async def test_a_request_expires_in_its_queue(calls: CallFactory) -> None:
    """A worker does not run a request whose deadline passed in the queue."""
    client, handler = await calls.client(), HangingHandler()
    with pytest.raises(DeadlineExceeded):
        await client.call(calls.broker.topology.query, b"expired", timeout=0.05)
    await calls.server(handler)
    # The handler never replies, so this call ends at its deadline, too.
    with pytest.raises(DeadlineExceeded):
        await client.call(calls.broker.topology.query, b"second", timeout=0.2)
    assert handler.started.get_nowait().body == b"second"
    assert handler.started.empty()


async def test_a_worker_checks_the_deadline_itself(calls: CallFactory, clock: Clock) -> None:
    """A worker does not run an expired request that it receives, because brokers only drop expired messages at the head of a queue."""
    client, body = await calls.client(), ChunkedBody(1)
    started_requests: list[bytes] = []

    async def handler(request: Request) -> Reply:
        started_requests.append(request.body)
        return body.reply()

    await calls.server(handler)
    headers = {wire.DEADLINE: clock.milliseconds() - 1, wire.IDLE_TIMEOUT: 1000}
    expired = Message(body=b"late", headers=headers, reply_to="nowhere", correlation_id="late", persistent=False)
    await calls.broker.publish("", calls.broker.topology.query, expired)
    await client.call(calls.broker.topology.query, b"in time", timeout=5)
    assert started_requests == [b"in time"]


async def test_a_silent_reader_times_out(calls: CallFactory) -> None:
    """The worker stops a response that its caller neither reads nor closes within the timeout. Reading it later raises an error."""
    client, body = await calls.client(), ChunkedBody()

    async def handler(_: Request) -> Reply:
        return body.reply()

    await calls.server(handler, window=2)
    response = await client.call(calls.broker.topology.query, b"", timeout=0.3)
    await asyncio.wait_for(body.closed.wait(), 20)
    with pytest.raises(DeadlineExceeded, match="read nothing for"):
        await response.read()


async def test_a_silent_worker_times_out(calls: CallFactory) -> None:
    """A reader in the middle of a response waits for the next chunk no longer than its time-out."""
    client = await calls.client()

    async def two_chunks_then_silence() -> AsyncIterator[bytes]:
        """Yield two chunks, and then wait without end."""
        yield b"one"
        yield b"two"
        await asyncio.Event().wait()

    async def handler(_: Request) -> Reply:
        return Reply(two_chunks_then_silence())

    await calls.server(handler)
    response = await client.call(calls.broker.topology.query, b"", timeout=0.2)
    with pytest.raises(DeadlineExceeded):
        await response.read()


async def test_a_slow_reader_gets_everything(calls: CallFactory) -> None:
    """A reader gets a complete response, even if reading it takes longer than the time-out between two chunks."""
    client, body = await calls.client(), ChunkedBody(12)

    async def handler(_: Request) -> Reply:
        return body.reply()

    await calls.server(handler, window=2)
    loop = asyncio.get_running_loop()
    start_time, chunk_count = loop.time(), 0
    async for _ in (await client.call(calls.broker.topology.query, b"", timeout=0.4)).chunks():
        chunk_count += 1
        await pause(0.05)
    assert chunk_count == 12
    assert loop.time() - start_time > 0.4


async def test_a_slow_reader_is_limited(calls: CallFactory) -> None:
    """A response to a slow reader ends after a limited number of time-outs, because it occupies a slot of the worker."""
    client, body = await calls.client(), ChunkedBody()

    async def handler(_: Request) -> Reply:
        return body.reply()

    await calls.server(handler, window=2, max_idle_timeouts=3)
    response = await client.call(calls.broker.topology.query, b"", timeout=0.2)

    async def read_slowly() -> None:
        """Read the response, with a pause after each chunk."""
        async for _ in response.chunks():
            await pause(0.05)

    loop = asyncio.get_running_loop()
    start_time = loop.time()
    with pytest.raises(DeadlineExceeded, match=r"did not finish within 0\.6 s"):
        await asyncio.wait_for(read_slowly(), 20)
    # The limit is three time-outs of 0.2 s, which begin before the client receives the first chunk.
    assert loop.time() - start_time > 0.5
    await asyncio.wait_for(body.closed.wait(), 20)


async def test_a_worker_may_stop_while_it_sends(calls: CallFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a worker reaches its deadline while it sends a chunk, it cannot know whether the chunk was sent. The reader receives the error."""
    client, body = await calls.client(), ChunkedBody()

    async def handler(_: Request) -> Reply:
        return body.reply()

    server = await calls.server(handler, window=8, max_idle_timeouts=0.5)
    inbox = server._inbox
    assert inbox is not None
    send = inbox.send

    async def send_and_wait(routing_key: str, message: Message, **options: Any) -> None:
        """Send a message. After the third chunk, wait without end as if its confirmation were missing."""
        await send(routing_key, message, **options)
        if message.headers.get(wire.SEQUENCE) == 2 and wire.ERROR_CODE not in message.headers:
            await asyncio.Event().wait()

    monkeypatch.setattr(inbox, "send", send_and_wait)
    response = await client.call(calls.broker.topology.query, b"", timeout=1)
    with pytest.raises(DeadlineExceeded, match="did not finish within"):
        await asyncio.wait_for(response.read(), 20)


async def test_calls_do_not_mix(calls: CallFactory) -> None:
    """Two callers send many concurrent calls to two workers, with responses of one or several chunks. Each call gets its own response."""
    clients = [await calls.client(), await calls.client()]
    await calls.server(echo, chunk=100, window=2, prefetch=10)
    await calls.server(echo, chunk=100, window=2, prefetch=10)

    async def call_worker(number: int) -> bool:
        """Call a worker with a body that no other call has, and return whether the response has this body."""
        # 1 to 100 repetitions: some responses fit into a chunk of 100 bytes, others need several chunks.
        repetitions = 1 + number * 7 % 100
        body = f"{number}:".encode() * repetitions
        client = clients[number % 2]
        response = await client.call(calls.broker.topology.query, body, timeout=20)
        return await response.read() == body

    assert all(await asyncio.gather(*(call_worker(number) for number in range(100))))
