"""Fixtures of all tests: a real PostgreSQL and RabbitMQ, found or provided (see ``tests/servers``), fresh for each test.

No test is skipped. A server that cannot be provided fails the tests that need it, with a list of what was tried.
"""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from contextlib import suppress
from typing import Final

import hypothesis
import pytest
import structlog
from tests import compilation, examples, shared_loop, virtual_time
from tests.servers import databases, keeper, postgres, rabbitmq, virtual_hosts
from tests.servers.process import CannotProvide

from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker

# Before Python 3.14 pytest-asyncio requests the current loop, which creates one that is never closed. Setting None avoids that.
asyncio.set_event_loop(None)

# By default rich draws tracebacks with all local variables, which takes ten times as long as a test.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

# No deadline: a test must not fail because the machine is busy. The examples are the same in each run, so that a failure is due to the
# change; DASHWRIGHT_TEST_PROFILE=searching draws others, and =quick draws fewer.
_QUICK_EXAMPLES = 15
_PATIENT = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("patient", _PATIENT, derandomize=True)
hypothesis.settings.register_profile("quick", _PATIENT, derandomize=True, max_examples=_QUICK_EXAMPLES)
hypothesis.settings.register_profile("searching", _PATIENT)
_profile = os.environ.get("DASHWRIGHT_TEST_PROFILE", "patient")
hypothesis.settings.load_profile(_profile)
if _profile != "searching":
    examples.fix_examples()

#: Names of shared servers, by the fixture that requests them.
_SERVERS: Final = {"postgres_dsn": "postgres", "_virtual_hosts": "rabbitmq", "mariadb": "mariadb"}
#: Servers that start during the collection. MariaDB does not: the tests that need it are often deselected.
_EARLY_SERVERS: Final = {"postgres", "rabbitmq"}
#: Servers whose early start has begun.
_requested: set[str] = set()

#: The process that keeps servers for all workers. Only the controlling process of a run has it.
_keeper = pytest.StashKey[keeper.Keeper]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins of the project, and start the keeper of servers, except in a worker."""
    config.pluginmanager.register(compilation)
    config.pluginmanager.register(shared_loop)
    config.pluginmanager.register(virtual_time)
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    config.stash[_keeper] = keeper.Keeper()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers that this run has started."""
    if _keeper in config.stash:
        config.stash[_keeper].close()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return three workers for two cores with ``-n auto``: tests of services wait for PostgreSQL and processes a third of their time.

    ``-n logical`` is one worker per core, for tests that only compute.
    """
    return (os.cpu_count() or 1) * 3 // 2 if config.option.numprocesses == "auto" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection during collection: it would scan millions of objects that exist as long as the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Tests create thousands of objects, few of them in cycles. By default, a third of a gateway's start would be collection.
        gc.set_threshold(20_000, 50, 50)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limit the examples of tests that set their number themselves, in the profile ``quick``."""
    if _profile == "quick":
        for item in items:
            if isinstance(item, pytest.Function):
                examples.limit_examples(item.obj, _QUICK_EXAMPLES)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Start a server in the background once the first worker has collected a test that needs it: a start takes seconds."""
    if os.environ.get("PYTEST_XDIST_WORKER") != "gw0" or not isinstance(item, pytest.Function):
        return
    for server in _servers_needed(item.fixturenames) & _EARLY_SERVERS - _requested:
        _requested.add(server)
        threading.Thread(target=_request_quietly, args=(server,), daemon=True).start()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the servers that the collected tests need, since no test's time limit covers the download of an image."""
    if session.config.option.collectonly:
        return
    needed = {name for item in session.items if isinstance(item, pytest.Function) for name in item.fixturenames}
    for server in _servers_needed(needed):
        _request_quietly(server)


def _servers_needed(fixtures: Iterable[str]) -> set[str]:
    """Return the shared servers that fixtures request."""
    return {_SERVERS[name] for name in _SERVERS.keys() & set(fixtures)}


def _request_quietly(server: str) -> None:
    """Request a server, and ignore that it cannot be provided."""
    with suppress(CannotProvide):  # each test that needs the server reports the failure
        keeper.request_server(server)


@pytest.fixture(scope="session")
def postgres_dsn() -> str:
    """Return the URL of a shared PostgreSQL server, as a user who may create databases."""
    return keeper.request_server("postgres")["url"]


@pytest.fixture(scope="session")
def _template(postgres_dsn: str) -> str:
    """Return the name of a database with the whole schema, of which the databases of tests are copies."""
    return asyncio.run(databases.make_template(postgres_dsn))


@pytest.fixture(scope="session")
def _databases(postgres_dsn: str, _template: str) -> Iterator[databases.Databases]:
    """Yield the databases of this worker, which are lent to one test at a time."""
    lender = databases.Databases(postgres_dsn, _template)
    yield lender
    lender.close()


@pytest.fixture
def database_url(_databases: databases.Databases) -> Iterator[str]:
    """Return the URL of a database for this test, with the whole schema and no rows."""
    with _databases.lend() as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Return an open pool on ``database_url``."""
    opened = await Database.open(database_url, application_name="test", min_size=1, max_size=5)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def _virtual_hosts() -> virtual_hosts.VirtualHosts:
    """Return the virtual hosts of the shared RabbitMQ."""
    addresses = keeper.request_server("rabbitmq")
    return virtual_hosts.VirtualHosts(addresses["url"], addresses["management_url"])


@pytest.fixture
async def amqp_url(_virtual_hosts: virtual_hosts.VirtualHosts) -> AsyncIterator[str]:
    """Return the URL of an empty virtual host for this test."""
    url = await _virtual_hosts.make()
    yield url
    await _virtual_hosts.remove(url)


@pytest.fixture
async def broker() -> AsyncIterator[MemoryBroker]:
    """Start an in-memory broker."""
    broker = MemoryBroker()
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture
async def private_rabbitmq() -> AsyncIterator[rabbitmq.PrivateRabbitmq]:
    """Return a broker for this test, with ``url``, ``stop()`` and ``start()``. It takes some seconds to start."""
    server = await rabbitmq.provide_private()
    yield server
    await server.remove()


@pytest.fixture
async def private_postgres() -> AsyncIterator[postgres.PrivatePostgres]:
    """Return a PostgreSQL for this test, with ``dsn``, ``stop()`` and ``start()``. It keeps its port and its data."""
    server = await postgres.provide_private()
    yield server
    await server.remove()
