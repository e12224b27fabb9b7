"""Fixtures of folders whose tests share one event loop per process, and connections to the database, which belong to a loop.

The conftest of such a folder overrides ``_function_scoped_runner`` of pytest-asyncio and ``database`` with these fixtures.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from tests.servers.databases import Databases
from tests.servers.warm_pools import WarmPools

from dashwright.common.database.pool import Database


@pytest.fixture
def shared_runner(_session_scoped_runner: asyncio.Runner) -> Iterator[asyncio.Runner]:
    """Return the event loop of all tests. Tasks that a test leaves are cancelled when it ends."""
    yield _session_scoped_runner
    _session_scoped_runner.run(_cancel_other_tasks())


async def _cancel_other_tasks() -> None:
    """Cancel all tasks of the loop except the current one, and wait for their end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _warm_pools(_databases: Databases) -> AsyncIterator[WarmPools]:
    """Yield the pools of connections that later tests reuse."""
    pools = WarmPools()
    yield pools
    await pools.close()


@pytest.fixture
async def warm_database(database_url: str, _warm_pools: WarmPools) -> AsyncIterator[Database]:
    """Return an open pool on ``database_url``, over connections that may have served earlier tests."""
    async with _warm_pools.lend(database_url) as pool:
        yield pool


@pytest.fixture
async def listening_database(database_url: str, _warm_pools: WarmPools) -> AsyncIterator[Database]:
    """Return a database like ``warm_database``, whose connections for notifications may have served earlier tests, too."""
    async with _warm_pools.lend_with_listeners(database_url) as pool:
        yield pool
