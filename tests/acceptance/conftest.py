"""Fixtures that run the product's processes over a real database and a real broker."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from tests.acceptance.client import Client
from tests.acceptance.log_checks import check_logs
from tests.acceptance.processes import PROGRAMS, Stack
from tests.acceptance.records import Records, open_records
from tests.proxies.tcp_proxy import TcpProxy
from tests.servers import databases
from tests.servers.virtual_hosts import VirtualHosts

MakeStack = Callable[..., Stack]


@pytest.fixture
async def make_stack(database_url: str, amqp_url: str, tmp_path: Path) -> AsyncIterator[MakeStack]:
    """Yield a function that creates stacks with settings. After the test, the stacks are stopped and their logs checked."""
    stacks: list[Stack] = []

    def make(*, database: str = database_url, broker: str = amqp_url, programs: Path = PROGRAMS, **settings: str) -> Stack:
        """Create a stack whose processes are not started."""
        stacks.append(Stack(database, broker, tmp_path, programs, **settings))
        return stacks[-1]

    yield make
    for stack in stacks:
        await stack.stop()
    for stack in stacks:
        check_logs(stack)


@pytest.fixture
async def stack(make_stack: MakeStack) -> Stack:
    """Return a running gateway and jobs worker, each in a process."""
    return await make_stack().start_without_queries()


@pytest.fixture
async def client(stack: Stack) -> AsyncIterator[Client]:
    """Yield a client of the running gateway, authenticated as the first user."""
    async with Client(stack.address) as opened:
        yield opened


@pytest.fixture
async def records(database_url: str) -> AsyncIterator[Records]:
    """Yield the rows of the stack's database."""
    async with open_records(database_url) as opened:
        yield opened


@pytest.fixture
async def database_proxy(database_url: str) -> AsyncIterator[TcpProxy]:
    """Yield a proxy of the database, by which a test can interrupt the connections of services."""
    async with TcpProxy(database_url) as proxy:
        yield proxy


@pytest.fixture
async def broker_proxy(amqp_url: str) -> AsyncIterator[TcpProxy]:
    """Yield a proxy of the broker, by which a test can interrupt the connections of services."""
    async with TcpProxy(amqp_url) as proxy:
        yield proxy


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_stack(
    postgres_dsn: str, _template: str, _virtual_hosts: VirtualHosts, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """Yield one stack for all tests of a module, which use separate repositories and names and run on one event loop."""
    async with AsyncExitStack() as exit_stack:
        database_url = await exit_stack.enter_async_context(databases.temporary_database(postgres_dsn, _template))
        amqp_url = await _virtual_hosts.make()
        exit_stack.push_async_callback(_virtual_hosts.remove, amqp_url)
        stack = Stack(database_url, amqp_url, tmp_path_factory.mktemp("stack"))
        exit_stack.push_async_callback(stack.stop)
        yield await stack.start()
    check_logs(stack)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def user(shared_stack: Stack) -> AsyncIterator[Client]:
    """Yield a client of the shared stack, authenticated as its first user."""
    async with Client(shared_stack.address) as opened:
        yield opened
