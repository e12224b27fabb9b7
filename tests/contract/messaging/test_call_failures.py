"""Calls that fail with the worker's error, or because the worker, the queue or the caller is gone; none fails silently."""

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.contract.messaging.calls import CallFactory, ChunkedBody, HangingHandler, echo
from tests.signer import SIGNER

from dashwright.common.errors import (
    Cause,
    DashwrightError,
    Invalid,
    SourceFailed,
    TooManyRequests,
    Unavailable,
    Unroutable,
)
from dashwright.common.messaging import rpc_wire as wire
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.messaging.signing import Purpose, Signer
from dashwright.common.observability import tracing


@pytest.mark.parametrize(
    "error",
    [Invalid("Bad", message_id="x.bad", causes=[Cause("a", "b", "c")]), TooManyRequests("Later", retry_after=2.5)],
    ids=["Invalid", "TooManyRequests"],
)
async def test_an_error_keeps_its_class(calls: CallFactory, error: DashwrightError) -> None:
    """The caller receives an error of the handler with its class, message, message id, causes and time until a retry."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        raise error

    await calls.server(handler)
    with pytest.raises(type(error)) as caught:
        await client.call(calls.broker.topology.query, b"", timeout=5)
    assert caught.value.message == error.message
    assert caught.value.message_id == error.message_id
    assert caught.value.causes == error.causes
    assert caught.value.retry_after == error.retry_after


async def test_an_unexpected_exception_has_only_a_trace_id(calls: CallFactory) -> None:
    """The caller receives an internal error with the trace id instead of the exception's message, which may contain secrets."""
    client = await calls.client()
    trace = tracing.enter(None)

    async def handler(_: Request) -> Reply:
        raise RuntimeError("password=hunter2")

    await calls.server(handler)
    with pytest.raises(DashwrightError) as caught:
        await client.call(calls.broker.topology.query, b"", timeout=5)
    assert type(caught.value) is DashwrightError
    assert trace.trace_id in caught.value.message
    assert "hunter2" not in caught.value.message


async def test_an_error_in_the_middle_of_a_response_reaches_the_reader(calls: CallFactory) -> None:
    """The reader receives the chunks that were sent before the error, and then the error."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return ChunkedBody(3, error=SourceFailed("The source broke off")).reply()

    await calls.server(handler)
    chunks = (await client.call(calls.broker.topology.query, b"", timeout=5)).chunks()
    # The worker sends a chunk only after it has produced the next one, so the error replaces the third chunk.
    assert await anext(chunks) == bytes([1]) * 10
    assert await anext(chunks) == bytes([2]) * 10
    with pytest.raises(SourceFailed, match="broke off"):
        await anext(chunks)


async def test_a_missing_queue_fails_immediately(calls: CallFactory) -> None:
    """A call to a missing queue fails before its deadline."""
    client = await calls.client()
    loop = asyncio.get_running_loop()
    start_time = loop.time()
    with pytest.raises(Unroutable):
        await client.call("no-such-queue", b"", timeout=60)
    assert loop.time() - start_time < 30


async def test_another_worker_takes_over(calls: CallFactory) -> None:
    """If a worker stops during a request, the next worker handles the request, and the caller receives no error."""
    client, handler = await calls.client(), HangingHandler()
    server = await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"again", timeout=20))
    await asyncio.wait_for(handler.started.get(), 5)
    await server.stop(drain=0)
    await calls.server(echo)
    assert (await call).complete_body == b"again"


async def test_a_request_that_cannot_be_repeated_is_dropped(calls: CallFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of a stopped worker is dropped if it cannot be published for a second attempt. It does not become a dead letter."""
    client, handler = await calls.client(), HangingHandler()
    server = await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    await asyncio.wait_for(handler.started.get(), 5)
    published: asyncio.Queue[str] = asyncio.Queue()

    async def publish(exchange: str, *_: object, **__: object) -> None:
        """Record the exchange of a message, and fail."""
        published.put_nowait(exchange)
        raise Unavailable("lost")

    monkeypatch.setattr(calls.broker, "publish", publish)
    await server.stop(drain=0)
    second = await calls.server(echo)
    # The second attempt is published to the default exchange, whose name is empty.
    assert await asyncio.wait_for(published.get(), 5) == ""
    await second.stop(drain=5)
    assert published.empty(), "a dead letter was published"
    call.cancel()


async def test_a_request_that_stops_workers_stops_two_at_most(calls: CallFactory) -> None:
    """A request that has stopped two workers is not given to a third one. Its caller receives an error immediately."""
    client = await calls.client()
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    for _ in range(2):
        handler = HangingHandler()
        server = await calls.server(handler)
        await asyncio.wait_for(handler.started.get(), 5)
        await server.stop(drain=0)
    third = HangingHandler()
    await calls.server(third)
    with pytest.raises(Unavailable, match="stopped the worker twice"):
        await call
    assert third.started.empty()


async def test_a_second_attempt_may_overlap_the_first(calls: CallFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that lost its connection for a moment may run two attempts of a request concurrently. Neither attempt logs an error."""
    client = await calls.client()
    received: list[Message] = []
    is_genuine = Signer.is_genuine

    def record_and_check(signer: Signer, message: Message, purpose: Purpose, queue: str = "") -> bool:
        """Record a request, so that the test can send it again, and check its signature."""
        if purpose is Purpose.REQUEST:
            received.append(message)
        return is_genuine(signer, message, purpose, queue)

    monkeypatch.setattr(Signer, "is_genuine", record_and_check)
    started_requests, released = asyncio.Queue[Request](), asyncio.Event()

    async def handler(request: Request) -> Reply:
        started_requests.put_nowait(request)
        await released.wait()
        return Reply(b"")

    server = await calls.server(handler)
    queue = calls.broker.topology.query
    with capture_logs() as logs:
        call = asyncio.ensure_future(client.call(queue, b"", timeout=60))
        async with asyncio.timeout(10):
            await started_requests.get()
            second_attempt = replace(received[0], headers={**received[0].headers, wire.ATTEMPT: 2})
            await calls.broker.publish("", queue, SIGNER.signed(second_attempt, Purpose.REQUEST, queue))
            await started_requests.get()
        released.set()
        await call
        await server.stop(drain=5)
    assert not [line for line in logs if line["log_level"] == "error"]


async def test_a_worker_lost_in_the_middle_is_an_error(calls: CallFactory) -> None:
    """If a worker stops in the middle of its response, the reader receives an error, although another worker is available."""
    client, body = await calls.client(), ChunkedBody()

    async def handler(_: Request) -> Reply:
        return body.reply()

    server = await calls.server(handler, window=2)
    response = await client.call(calls.broker.topology.query, b"", timeout=30)
    chunks = response.chunks()
    await anext(chunks)
    await server.stop(drain=0)
    await calls.server(handler, window=2)
    with pytest.raises(Unavailable, match="in the middle"):
        async for _ in chunks:
            pass


async def test_stopping_completes_responses(calls: CallFactory) -> None:
    """A response that is being read when the worker stops is completed within the drain time."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return ChunkedBody(20).reply()

    server = await calls.server(handler, window=2)
    response = await client.call(calls.broker.topology.query, b"", timeout=30)
    stopping = asyncio.ensure_future(server.stop(drain=20))
    # The response has 20 chunks of 10 bytes.
    assert len(await response.read()) == 20 * 10
    await stopping


async def test_a_closed_client_fails_its_calls(calls: CallFactory) -> None:
    """If a client is closed, its running calls and all later calls raise Unavailable, which is retryable."""
    client = await calls.client()
    handler = HangingHandler()
    await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    await asyncio.wait_for(handler.started.get(), 5)
    await client.close()
    with pytest.raises(Unavailable):
        await call
    with pytest.raises(Unavailable):
        await client.call(calls.broker.topology.query, b"", timeout=1)
