"""Calls that fail: with the worker's own error, or because worker, queue or caller went away; never silently."""

import asyncio

import pytest
from tests.contract.messaging.calls import Calls, Pieces, Stuck, echo

from dashwright.common.errors import (
    Cause,
    DashwrightError,
    Invalid,
    SourceFailed,
    TooManyRequests,
    Unavailable,
    Unroutable,
)
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.observability import tracing


@pytest.mark.parametrize(
    "error", [Invalid("Bad", message_id="x.bad", causes=[Cause("a", "b", "c")]), TooManyRequests("Later", retry_after=2.5)]
)
async def test_an_error_keeps_its_class(calls: Calls, error: DashwrightError) -> None:
    """An error of the handler is raised at the caller, with everything it carries."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        raise error

    await calls.server(handler)
    with pytest.raises(type(error)) as caught:
        await client.call(calls.broker.topology.query, b"", timeout=5)
    assert (caught.value.message, caught.value.message_id) == (error.message, error.message_id)
    assert (caught.value.causes, caught.value.retry_after) == (error.causes, error.retry_after)


async def test_an_unexpected_exception_shows_a_trace_and_no_more(calls: Calls) -> None:
    """Its text may hold anything: the caller gets an internal error with the trace to look for."""
    client, trace = await calls.client(), tracing.enter(None)

    async def handler(_: Request) -> Reply:
        raise RuntimeError("password=hunter2")

    await calls.server(handler)
    with pytest.raises(DashwrightError) as caught:
        await client.call(calls.broker.topology.query, b"", timeout=5)
    assert type(caught.value) is DashwrightError
    assert trace.trace_id in caught.value.message
    assert "hunter2" not in caught.value.message


async def test_an_error_in_the_middle_comes_after_what_was_sent(calls: Calls) -> None:
    """The pieces before it are the reader's; the end is the error, never a silent one."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return Pieces(3, error=SourceFailed("The source broke off")).reply()

    await calls.server(handler)
    chunks = (await client.call(calls.broker.topology.query, b"", timeout=5)).chunks()
    assert [await anext(chunks), await anext(chunks)] == [bytes([1]) * 10, bytes([2]) * 10]
    with pytest.raises(SourceFailed, match="broke off"):
        await anext(chunks)


async def test_a_missing_queue_is_told_at_once(calls: Calls) -> None:
    """Not at the deadline."""
    client = await calls.client()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    with pytest.raises(Unroutable):
        await client.call("no-such-queue", b"", timeout=60)
    assert loop.time() - begun < 30


async def test_another_worker_answers_when_the_first_stops(calls: Calls) -> None:
    """A request whose worker went away is handled by the next one; the caller does not notice."""
    client, handler = await calls.client(), Stuck()
    server = await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"again", timeout=20))
    await asyncio.wait_for(handler.begun.get(), 5)
    await server.stop(drain=0)
    await calls.server(echo)
    assert (await call).complete == b"again"


async def test_a_request_that_stops_workers_stops_two_at_most(calls: Calls) -> None:
    """The request does not circulate: the third worker never gets it, and the caller gets an error immediately."""
    client = await calls.client()
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    for _ in range(2):
        handler = Stuck()
        server = await calls.server(handler)
        await asyncio.wait_for(handler.begun.get(), 5)
        await server.stop(drain=0)
    third = Stuck()
    await calls.server(third)
    with pytest.raises(Unavailable, match="stopped the worker twice"):
        await call
    assert third.begun.empty()


async def test_a_worker_lost_in_the_middle_is_told(calls: Calls) -> None:
    """Half of a response is never completed with half of another one."""
    client, pieces = await calls.client(), Pieces()

    async def handler(_: Request) -> Reply:
        return pieces.reply()

    server = await calls.server(handler, window=2)
    answer = await client.call(calls.broker.topology.query, b"", timeout=30)
    chunks = answer.chunks()
    await anext(chunks)
    await server.stop(drain=0)
    await calls.server(handler, window=2)
    with pytest.raises(Unavailable, match="in the middle"):
        async for _ in chunks:
            pass


async def test_stopping_lets_answers_finish(calls: Calls) -> None:
    """Within the drain, a response that is being read is sent to its end."""
    client = await calls.client()

    async def handler(_: Request) -> Reply:
        return Pieces(20).reply()

    server = await calls.server(handler, window=2)
    answer = await client.call(calls.broker.topology.query, b"", timeout=30)
    stopping = asyncio.ensure_future(server.stop(drain=20))
    assert len(await answer.read()) == 200
    await stopping


async def test_a_closed_client_fails_its_calls(calls: Calls) -> None:
    """Closing does not wait: calls in flight fail as retryable, later ones immediately."""
    client = await calls.client()
    handler = Stuck()
    await calls.server(handler)
    call = asyncio.ensure_future(client.call(calls.broker.topology.query, b"", timeout=60))
    await asyncio.wait_for(handler.begun.get(), 5)
    await client.close()
    with pytest.raises(Unavailable):
        await call
    with pytest.raises(Unavailable):
        await client.call(calls.broker.topology.query, b"", timeout=1)
