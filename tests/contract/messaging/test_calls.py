"""Calls to workers: one response, by the deadline, at the reader's pace, or an error that says why."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.contract.messaging.calls import Calls, Pieces, Stuck, echo, pause

from dashwright.common.clock import Clock
from dashwright.common.errors import (
    DeadlineExceeded,
)
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.rpc import Reply, Request, RpcResponse


async def test_an_answer_of_one_piece_is_whole_at_once(calls: Calls) -> None:
    """Body and headers go there and back; the worker's own headers stay out of sight."""
    client = await calls.client()
    await calls.server(echo)
    answer = await client.call(calls.broker.topology.query, b"hello", timeout=5, headers={"asked": "kindly"})
    assert answer.complete == b"hello"
    assert answer.headers == {"content-type": "text/plain", "asked": "kindly"}
    assert await answer.read() == b"hello"


async def test_an_empty_answer_is_an_answer(calls: Calls) -> None:
    """No bytes are a body, too, from bytes and from an iterator."""
    client = await calls.client()
    await calls.server(echo)
    assert (await client.call(calls.broker.topology.query, b"", timeout=5)).complete == b""


async def test_a_small_answer_costs_one_message(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """No announcement, no credits: what the caller gets is the one piece, also from an iterator that makes one."""
    client = await calls.client()

    async def handler(request: Request) -> Reply:
        return Pieces(1).reply() if request.body == b"pieces" else Reply(b"whole")

    await calls.server(handler)
    seen: list[Message] = []
    take = RpcResponse.take

    def counting(answer: RpcResponse, message: Message) -> bool:
        seen.append(message)
        return take(answer, message)

    monkeypatch.setattr(RpcResponse, "take", counting)
    for body in (b"whole", b"pieces"):
        answer = await client.call(calls.broker.topology.query, body, timeout=5)
        assert answer.complete is not None
    assert len(seen) == 2


@pytest.mark.parametrize(("size", "chunk"), [(1, 1), (10, 3), (9, 3), (8, 9), (100_000, 777), (5 * 2**20 + 1, 2**20)])
async def test_a_large_answer_is_the_same_bytes(calls: Calls, size: int, chunk: int) -> None:
    """Whatever the size of the pieces, each arrives once and in order."""
    body = bytes(number % 251 for number in range(size))
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return Reply(body)

    await calls.server(handler, chunk=chunk)
    answer = await client.call(calls.broker.topology.query, b"", timeout=10)
    assert (answer.complete is not None) == (size <= chunk)
    assert await answer.read() == body


async def test_pieces_come_as_they_are_made(calls: Calls) -> None:
    """An iterator's pieces arrive each by itself; one over the chunk size is cut, an empty one left out."""
    client = await calls.client()

    async def made() -> AsyncIterator[bytes]:
        for piece in (b"a", b"", b"bcd", b"e"):
            yield piece

    async def handler(_: Request) -> Reply:
        return Reply(made())

    await calls.server(handler, chunk=2)
    answer = await client.call(calls.broker.topology.query, b"", timeout=5)
    assert [piece async for piece in answer.chunks()] == [b"a", b"bc", b"d", b"e"]


async def test_the_worker_makes_no_more_than_a_window_ahead(calls: Calls) -> None:
    """A reader that stops reading stops the worker: memory of worker, broker and caller is bounded."""
    client, pieces = await calls.client(), Pieces()

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    await calls.server(handler, window=4)
    answer = await client.call(calls.broker.topology.query, b"", timeout=5)
    chunks = answer.chunks()
    for number in range(1, 21):
        assert await anext(chunks) == pieces.piece(number)
        # One is held back for its mark, one waits to be sent.
        assert pieces.made <= number + 4 + 2
    await answer.aclose()
    await asyncio.wait_for(pieces.closed.wait(), 20)


async def test_who_stops_reading_stops_the_worker(calls: Calls) -> None:
    """``aclose`` in the middle closes the worker's iterator; the rest is not made."""
    client, pieces = await calls.client(), Pieces()

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    await calls.server(handler)
    answer = await client.call(calls.broker.topology.query, b"", timeout=60)
    await answer.aclose()
    await asyncio.wait_for(pieces.closed.wait(), 20)
    assert pieces.made <= 8 + 2


async def test_an_answer_nobody_holds_stops_the_worker(calls: Calls) -> None:
    """A reader that forgets to close costs the worker one more piece."""
    client, dropped, closed = await calls.client(), asyncio.Event(), asyncio.Event()

    async def made() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            yield b"second"
            await dropped.wait()
            while True:
                yield b"more"
        finally:
            closed.set()

    async def handler(_: Request) -> Reply:
        return Reply(made())

    await calls.server(handler)
    answer = await client.call(calls.broker.topology.query, b"", timeout=60)
    assert answer.complete is None
    del answer
    dropped.set()
    await asyncio.wait_for(closed.wait(), 20)


@pytest.mark.parametrize("after", [0, 0.1])
async def test_a_cancelled_caller_cancels_the_handler(calls: Calls, after: float) -> None:
    """A client that hangs up while its query is evaluated does not cost the evaluation, before the worker made itself known or after."""
    client, handler = await calls.client(), Stuck()
    await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    await asyncio.wait_for(handler.begun.get(), 20)
    await pause(after)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(handler.cancelled.wait(), 20)


async def test_the_deadline_ends_both_sides(calls: Calls) -> None:
    """The caller gets an error, the handler is cancelled, and the next call succeeds."""
    client, handler = await calls.client(), Stuck()
    server = await calls.server(handler)
    with pytest.raises(DeadlineExceeded, match=r"0\.2 s"):
        await client.call(calls.broker.topology.query, b"", timeout=0.2)
    await asyncio.wait_for(handler.cancelled.wait(), 20)
    await server.stop(drain=0)
    await calls.server(echo)
    assert (await client.call(calls.broker.topology.query, b"next", timeout=5)).complete == b"next"


async def test_a_request_past_its_deadline_is_not_begun(calls: Calls) -> None:
    """A worker that is free only after the deadline does not run the request."""
    client, handler = await calls.client(), Stuck()
    with pytest.raises(DeadlineExceeded):
        await client.call(calls.broker.topology.query, b"", timeout=0.05)
    await calls.server(handler)
    with pytest.raises(DeadlineExceeded):
        await client.call(calls.broker.topology.query, b"second", timeout=0.2)
    assert handler.begun.get_nowait().body == b"second"
    assert handler.begun.empty()


async def test_a_request_the_broker_let_live_too_long_is_not_begun(calls: Calls, clock: Clock) -> None:
    """Brokers drop what expired at the head of a queue only: the worker looks at the deadline itself."""
    client, handler = await calls.client(), Pieces(1)
    begun: list[bytes] = []

    async def answer(request: Request) -> Reply:
        begun.append(request.body)
        return handler.reply()

    await calls.server(answer)
    headers = {wire.DEADLINE: clock.milliseconds() - 1, wire.PATIENCE: 1000}
    late = Message(body=b"late", headers=headers, reply_to="nobody", correlation_id="late", persistent=False)
    await calls.broker.publish("", calls.broker.topology.query, late)
    await client.call(calls.broker.topology.query, b"in time", timeout=5)
    assert begun == [b"in time"]


async def test_a_silent_reader_is_given_up(calls: Calls) -> None:
    """A caller that neither reads nor closes holds a worker for its own time-out and no longer, and learns why when it reads on."""
    client, pieces = await calls.client(), Pieces()

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    await calls.server(handler, window=2)
    answer = await client.call(calls.broker.topology.query, b"", timeout=0.3)
    await asyncio.wait_for(pieces.closed.wait(), 20)
    with pytest.raises(DeadlineExceeded, match="read nothing for"):
        await answer.read()


async def test_a_silent_worker_is_given_up(calls: Calls) -> None:
    """A reader in the middle of a response waits for the next piece no longer than its time-out."""
    client = await calls.client()

    async def two_and_no_more() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"
        await asyncio.Event().wait()

    async def handler(_: Request) -> Reply:
        return Reply(two_and_no_more())

    await calls.server(handler)
    answer = await client.call(calls.broker.topology.query, b"", timeout=0.2)
    with pytest.raises(DeadlineExceeded):
        await answer.read()


async def test_a_slow_reader_gets_everything(calls: Calls) -> None:
    """Reading may take longer than the time-out, as long as pieces arrive."""
    client, pieces = await calls.client(), Pieces(12)

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    await calls.server(handler, window=2)
    loop = asyncio.get_running_loop()
    begun, read = loop.time(), 0
    async for _ in (await client.call(calls.broker.topology.query, b"", timeout=0.4)).chunks():
        read += 1
        await pause(0.05)
    assert read == 12
    assert loop.time() - begun > 0.4


async def test_a_reader_without_an_end_is_given_up(calls: Calls) -> None:
    """A reader that rarely reads keeps a response open for a bounded number of time-outs, since it occupies a slot of the worker."""
    client, pieces = await calls.client(), Pieces()

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    await calls.server(handler, window=2, lingering=3)
    answer = await client.call(calls.broker.topology.query, b"", timeout=0.2)

    async def read_slowly() -> None:
        async for _ in answer.chunks():
            await pause(0.05)

    loop = asyncio.get_running_loop()
    begun = loop.time()
    with pytest.raises(DeadlineExceeded, match=r"did not finish within 0\.6 s"):
        await asyncio.wait_for(read_slowly(), 20)
    assert loop.time() - begun > 0.5
    await asyncio.wait_for(pieces.closed.wait(), 20)


async def test_calls_do_not_mix(calls: Calls) -> None:
    """Many concurrent calls, whole and in pieces, from two callers to two workers: each gets its own response."""
    one, two = await calls.client(), await calls.client()
    for _ in range(2):
        await calls.server(echo, chunk=100, window=2, prefetch=10)

    async def ask(number: int) -> bool:
        body = f"{number}:".encode() * (1 + number * 7 % 100)
        answer = await (one, two)[number % 2].call(calls.broker.topology.query, body, timeout=20)
        return await answer.read() == body

    assert all(await asyncio.gather(*(ask(number) for number in range(100))))
