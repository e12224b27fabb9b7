"""Changes of repositories that take longer than their caller waits."""

import asyncio

import pytest
from tests.signer import SIGNER

from dashwright.api.workers.repository_client import TIMEOUT_SECONDS, RepositoryClient, background_deadline, deadline_after
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.clock import Clock
from dashwright.common.errors import Conflict, DeadlineExceeded
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient


@pytest.fixture
def worker() -> RepositoryClient:
    """Return a client of the repositories' workers without a database. The broker is never started."""
    broker = MemoryBroker()
    rpc = RpcClient(broker, SIGNER)
    return RepositoryClient(None, broker, rpc, RepositoryHealthClient(broker, rpc, Clock()))  # type: ignore[arg-type]


async def test_a_change_continues_after_its_deadline(worker: RepositoryClient) -> None:
    """After its deadline, a caller receives an error, but the change continues until it is recorded."""
    may_end, recorded = asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await may_end.wait()
        recorded.set()

    with pytest.raises(DeadlineExceeded, match="check if it was made"):
        # The deadline is now.
        await worker.run_to_completion(change, deadline=asyncio.get_running_loop().time())
    may_end.set()
    async with asyncio.timeout(5):
        await recorded.wait()


async def test_a_cancelled_caller_ends_no_change(worker: RepositoryClient) -> None:
    """A cancelled caller does not cancel its change: after a client disconnects, the commit and its audit record are completed."""
    has_begun, may_end, recorded = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def change() -> None:
        has_begun.set()
        await may_end.wait()
        recorded.set()

    task = asyncio.create_task(worker.run_to_completion(change, deadline=deadline_after()))
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_end.set()
    async with asyncio.timeout(5):
        await recorded.wait()


async def test_a_change_in_time_returns_its_result(worker: RepositoryClient) -> None:
    """The caller receives the result of the change, or its exception."""

    async def change() -> int:
        return 7

    async def refuse() -> int:
        raise Conflict("no")

    assert await worker.run_to_completion(change, deadline=deadline_after()) == 7
    with pytest.raises(Conflict, match="no"):
        await worker.run_to_completion(refuse, deadline=deadline_after())


async def test_the_result_of_a_change_is_awaited_beyond_its_deadline() -> None:
    """After the deadline of the caller, the result of a change is awaited for the time limit of a call."""
    until = deadline_after()
    assert background_deadline(until) - until == pytest.approx(TIMEOUT_SECONDS)
