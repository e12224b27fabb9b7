"""A change that takes longer than anybody waits for it is recorded as what it became."""

import asyncio

import pytest
from tests.signer import SIGNER

from dashwright.api.workers.repository_client import RepositoryClient, deadline_after, recording_deadline
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.clock import Clock
from dashwright.common.errors import Conflict, DeadlineExceeded
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient


@pytest.fixture
def worker() -> RepositoryClient:
    broker = MemoryBroker()
    rpc = RpcClient(broker, SIGNER)
    return RepositoryClient(None, broker, rpc, RepositoryHealthClient(broker, rpc, Clock()))  # type: ignore[arg-type]


async def test_what_nobody_waits_for_any_more_goes_on(worker: RepositoryClient) -> None:
    """Whoever asked is told to look; the record comes when it is done."""
    may_end, recorded = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await may_end.wait()
        recorded.set()

    with pytest.raises(DeadlineExceeded, match="check if it was made"):
        await worker.complete(change, deadline=asyncio.get_running_loop().time())
    may_end.set()
    async with asyncio.timeout(5):
        await recorded.wait()


async def test_who_goes_ends_no_change(worker: RepositoryClient) -> None:
    """A client that breaks off leaves a commit that is on its way, and its record."""
    begun, may_end, recorded = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def change() -> None:
        begun.set()
        await may_end.wait()
        recorded.set()

    waiting = asyncio.create_task(worker.complete(change, deadline=deadline_after()))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may_end.set()
    async with asyncio.timeout(5):
        await recorded.wait()


async def test_in_time_it_is_as_if_it_were_waited_for(worker: RepositoryClient) -> None:
    """What it answers, and what it raises."""

    async def change() -> int:
        return 7

    async def refuse() -> int:
        raise Conflict("no")

    assert await worker.complete(change, deadline=deadline_after()) == 7
    with pytest.raises(Conflict, match="no"):
        await worker.complete(refuse, deadline=deadline_after())


async def test_an_answer_is_worth_having_longer_than_it_is_waited_for() -> None:
    """As long again as the worker may take."""
    until = deadline_after()
    assert recording_deadline(until) - until == pytest.approx(33)
