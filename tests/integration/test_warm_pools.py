"""Connections that are kept after a test: they serve later tests, unless the session still holds something."""

import asyncio
from contextlib import AsyncExitStack

import asyncpg
import pytest
from tests.servers.databases import WARM_SESSIONS, Databases, make_template
from tests.servers.warm_pools import WarmPools

from dashwright.common.database.pool import Database

_NEWEST_LISTENER = """select pid from pg_stat_activity
    where datname = current_database() and query ilike 'listen%' order by backend_start desc limit 1"""


async def session_of(database: Database) -> int:
    """Return the id of the server process behind a connection."""
    async with database.connection() as connection:
        pid: int = await connection.fetchval("select pg_backend_pid()")
        return pid


async def listening_session(database: Database, payload: str, received: list[str]) -> int:
    """Return the id of the server process behind a listener that has received ``payload``."""
    listening, arrived = asyncio.Event(), asyncio.Event()

    def receive(text: str) -> None:
        """Record a payload."""
        received.append(text)
        arrived.set()

    async with database.listen("jobs", receive, listening.set), asyncio.timeout(20):
        await listening.wait()
        async with database.connection() as connection:
            pid: int = await connection.fetchval(_NEWEST_LISTENER)
            await connection.execute("select pg_notify('jobs', $1)", payload)
        await arrived.wait()
        return pid


async def test_a_connection_serves_the_next_test(database_url: str) -> None:
    """Two tests over one database have the same connection, but not the same Database."""
    pools = WarmPools()
    async with pools.lend(database_url) as first:
        session = await session_of(first)
    async with pools.lend(database_url) as second:
        assert await session_of(second) == session
    assert first is not second
    await pools.close()


@pytest.mark.parametrize("leftover", ["a connection in use", "a closed pool"])
async def test_a_pool_that_cannot_be_used_again_is_replaced(database_url: str, leftover: str) -> None:
    """If a test leaves a closed pool or a connection in use, the next test gets another pool."""
    pools = WarmPools()
    async with pools.lend(database_url) as first:
        session = await session_of(first)
        await (first.close() if leftover == "a closed pool" else first._acquire())
    async with pools.lend(database_url) as second:
        assert await session_of(second) != session
    await pools.close()


@pytest.mark.parametrize(("statement", "is_ended"), [("select 1", False), ("begin; lock table org", True)])
def test_a_session_ends_with_its_test_if_it_holds_a_lock(postgres_dsn: str, statement: str, is_ended: bool) -> None:
    """A transaction or a lock of one test does not reach the next one; a session that holds nothing remains."""
    with asyncio.Runner() as runner:
        databases = Databases(postgres_dsn, runner.run(make_template(postgres_dsn)))
        with databases.lend() as url:
            connection = runner.run(asyncpg.connect(url, server_settings={"application_name": WARM_SESSIONS}))
            runner.run(connection.execute(statement))
        if is_ended:
            with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.AdminShutdownError)):
                runner.run(connection.fetchval("select 1"))
        else:
            assert runner.run(connection.fetchval("select 1")) == 1
        runner.run(connection.close())
        databases.close()


async def test_a_connection_for_notifications_serves_the_next_test(database_url: str) -> None:
    """Two tests have the same connection for notifications; the second one receives only what it listens for."""
    pools, received = WarmPools(), list[str]()
    async with pools.lend_with_listeners(database_url) as first:
        session = await listening_session(first, "of the first", received)
    async with pools.lend_with_listeners(database_url) as second:
        assert await listening_session(second, "of the second", received) == session
    assert received == ["of the first", "of the second"]
    await pools.close()


async def test_a_listener_that_outlives_its_test_keeps_its_connection(database_url: str) -> None:
    """A connection is not lent again while a listener of an earlier test may use it."""
    pools, received, leaked_texts = WarmPools(), list[str](), asyncio.Queue[str]()
    async with AsyncExitStack() as leaked:
        leaked.push_async_callback(pools.close)
        async with pools.lend_with_listeners(database_url) as first:
            session = await listening_session(first, "of the first", received)
            await leaked.enter_async_context(first.listen("jobs", leaked_texts.put_nowait, (listening := asyncio.Event()).set))
            await listening.wait()
        async with pools.lend_with_listeners(database_url) as second, asyncio.timeout(20):
            assert await listening_session(second, "of the second", received) != session
            assert await leaked_texts.get() == "of the second"
    assert received == ["of the first", "of the second"]
