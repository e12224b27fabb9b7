"""The connection pool: a lost server is Unavailable until it returns, and SQL errors are not changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.servers import postgres

from dashwright.common.database import pool
from dashwright.common.database.pool import Connection, Database, Timeouts
from dashwright.common.errors import Unavailable

SHORT_TIMEOUTS = Timeouts(acquire=0.5, statement=1.5, lock=0.5)
PATIENCE = 300.0


@pytest.fixture
async def narrow(database_url: str) -> AsyncIterator[Database]:
    """Open a pool of one connection with short limits."""
    opened = await Database.open(database_url, application_name="narrow", max_size=1, timeouts=SHORT_TIMEOUTS)
    yield opened
    await opened.close()


@asynccontextmanager
async def open_limited(url: str, **limits: float) -> AsyncIterator[Database]:
    """Open a pool of one connection with only the given limits, for a busy machine."""
    patient = Timeouts(acquire=PATIENCE, statement=PATIENCE, lock=PATIENCE, idle=PATIENCE)
    opened = await Database.open(url, application_name="limited", max_size=1, timeouts=replace(patient, **limits))
    yield opened
    await opened.close()


@asynccontextmanager
async def silencing_proxy(url: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Yield a URL of the server through a proxy that forwards nothing and closes nothing once the event is set."""
    parts = urlsplit(url)
    silence = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (data := await reader.read(65536)) and not silence.is_set():
            writer.write(data)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection(parts.hostname, parts.port)
        tasks.update(asyncio.create_task(pass_on(*streams)) for streams in ((reader, to_writer), (to_reader, writer)))
        writers.extend((writer, to_writer))

    writers: list[asyncio.StreamWriter] = []
    proxy = await asyncio.start_server(accept, "127.0.0.1")
    port = proxy.sockets[0].getsockname()[1]
    yield parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}").geturl(), silence
    for task in tasks:
        task.cancel()
    for writer in writers:
        writer.close()
    proxy.close()
    await proxy.wait_closed()


async def end_backends(database: Database, *, of: str) -> None:
    async with database.connection() as connection:
        await connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", of)


async def test_an_unreachable_server_is_named_without_the_password() -> None:
    """Opening an unreachable database raises Unavailable with host and database, a time to wait, and no password."""
    with pytest.raises(Unavailable, match=r"dashboards at 127\.0\.0\.1:1 ") as caught:
        await Database.open("postgresql://me:hidden@127.0.0.1:1/dashboards", application_name="test")
    assert "hidden" not in str(caught.value)
    assert caught.value.retry_after
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_missing_database_is_unavailable(postgres_dsn: str) -> None:
    """Opening a database that does not exist raises Unavailable with the server's message."""
    with pytest.raises(Unavailable, match='"nowhere" does not exist'):
        await Database.open(postgres_dsn.rpartition("/")[0] + "/nowhere", application_name="test")


async def test_sql_errors_are_not_changed(narrow: Database) -> None:
    """A unique violation is asyncpg's own error, and the connection serves the next caller."""
    async with narrow.connection() as connection:
        await connection.execute("create table one (x int primary key); insert into one values (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        async with narrow.transaction() as connection:
            await connection.execute("insert into one values (1)")
    await narrow.check()


@pytest.mark.parametrize("error", [ValueError("x"), FileNotFoundError("x"), asyncpg.InterfaceError("x")])
async def test_errors_of_the_caller_are_not_changed(narrow: Database, error: Exception) -> None:
    """An error that is not a loss of the server leaves the block unchanged, even if its type often means a loss."""
    with pytest.raises(type(error)) as caught:
        async with narrow.connection():
            raise error
    assert caught.value is error


def raising(code: str) -> str:
    """Return a statement that raises an error with an SQLSTATE."""
    return f"do $$ begin raise exception 'injected' using errcode = '{code}'; end $$"


@pytest.mark.parametrize("code", ["53100", "53200"])
async def test_a_full_server_is_unavailable(narrow: Database, code: str) -> None:
    """A full disk and a lack of memory raise Unavailable, which callers retry, and the connection remains open."""
    async with narrow.connection() as connection:
        process_id = await connection.fetchval("select pg_backend_pid()")
    with pytest.raises(Unavailable, match="no free disk space or memory"):
        async with narrow.transaction() as connection:
            await connection.execute(raising(code))
    async with narrow.connection() as connection:
        assert await connection.fetchval("select pg_backend_pid()") == process_id


async def test_a_replica_is_left_for_the_new_primary(narrow: Database) -> None:
    """A server that accepts no writes since a failover is unavailable, and the next caller gets a new connection."""
    async with narrow.connection() as connection:
        process_id = await connection.fetchval("select pg_backend_pid()")
    with pytest.raises(Unavailable, match="not available"):
        async with narrow.connection() as connection:
            await connection.execute(raising("25006"))
    async with narrow.connection() as connection:
        assert await connection.fetchval("select pg_backend_pid()") != process_id


async def test_a_transaction_commits_or_rolls_back(narrow: Database) -> None:
    """Rows written in a block are committed after it, and rolled back by an error in it."""
    async with narrow.transaction() as connection:
        await connection.execute("create table kept ()")

    async def fail() -> None:
        async with narrow.transaction() as connection:
            await connection.execute("create table dropped ()")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        await fail()
    async with narrow.connection() as connection:
        assert await connection.fetchval("select to_regclass('kept') is not null and to_regclass('dropped') is null")


async def test_a_connection_closed_by_the_server_is_unavailable(narrow: Database, database: Database) -> None:
    """A backend terminated during a query raises Unavailable with the cause; the next query works."""

    async def lose(block: AbstractAsyncContextManager[Connection]) -> None:
        async with block as connection:
            await end_backends(database, of="narrow")
            await connection.execute("select 1")

    for block in (narrow.connection(), narrow.transaction()):
        with pytest.raises(Unavailable) as caught:
            await lose(block)
        assert caught.value.__cause__ is not None
        await narrow.check()


async def test_a_database_that_accepts_no_connections_is_unavailable(postgres_dsn: str, database_url: str) -> None:
    """A database that its operator has closed to connections raises Unavailable; when it is open again, the pool recovers."""
    name = urlsplit(database_url).path[1:]
    operator = await asyncpg.connect(postgres_dsn)
    try:
        async with open_limited(database_url) as opened:
            await operator.execute(f'alter database "{name}" allow_connections false')
            await operator.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await opened.check()
            await operator.execute(f'alter database "{name}" allow_connections true')
            await opened.check()
    finally:
        await operator.execute(f'alter database "{name}" allow_connections true')
        await operator.close()


async def test_no_free_connection_in_time_is_unavailable(narrow: Database) -> None:
    """A caller that waits longer than the limit for a connection gets Unavailable; the connection in use is not disturbed."""
    async with narrow.connection() as connection:
        with pytest.raises(Unavailable):
            await narrow.check()
        assert await connection.fetchval("select 1") == 1
    await narrow.check()


async def test_a_long_statement_is_cancelled_by_the_server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server enforces the limit on statements, so nothing runs on after the caller gave up."""
    monkeypatch.setattr(pool, "_CANCEL_ALLOWANCE_SECONDS", PATIENCE)
    async with open_limited(database_url, statement=0.5) as opened:
        with pytest.raises(Unavailable, match="busy"):
            async with opened.connection() as connection:
                await connection.execute("select pg_sleep($1)", PATIENCE)


async def test_a_wait_for_a_lock_is_limited(database_url: str) -> None:
    """A wait for a lock ends at its own limit."""
    async with open_limited(database_url) as holding, holding.transaction() as holder, open_limited(database_url, lock=0.5) as opened:
        await holder.execute("select pg_advisory_xact_lock(1)")
        with pytest.raises(Unavailable, match="busy"):
            async with opened.transaction() as connection:
                await connection.execute("select pg_advisory_xact_lock(1)")


async def test_a_client_frozen_in_a_transaction_loses_its_locks(database_url: str, database: Database) -> None:
    """The locks are released after ``idle``. When the client continues, it receives Unavailable, and its next connection works."""
    is_lock_free = False
    idle = await Database.open(database_url, application_name="idle", max_size=1, timeouts=Timeouts(idle=0.2))

    async def freeze() -> None:
        nonlocal is_lock_free
        async with idle.transaction() as frozen:
            await frozen.execute("select pg_advisory_xact_lock(7)")
            async with database.transaction() as connection:
                await connection.execute("select pg_advisory_xact_lock(7)")
                is_lock_free = True
            await frozen.execute("select 1")

    with pytest.raises(Unavailable):
        await freeze()
    assert is_lock_free
    await idle.check()
    await idle.close()


async def test_a_server_lost_after_an_error_does_not_hide_it(narrow: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server is lost while a connection is reset after an error, the caller receives the error, and the pool recovers."""

    async def lose(*_: object) -> None:
        raise asyncpg.ConnectionDoesNotExistError("the server ended")

    async def fail() -> None:
        with monkeypatch.context() as patch:
            async with narrow.connection():
                patch.setattr(asyncpg.Connection, "execute", lose)
                raise ValueError("of the caller")

    with pytest.raises(ValueError, match="of the caller"):
        await fail()
    await narrow.check()


async def test_a_cancelled_caller_returns_its_connection(narrow: Database) -> None:
    """A task cancelled during a query does not cost the pool a connection."""
    started = asyncio.Event()

    async def long() -> None:
        async with narrow.connection() as connection:
            started.set()
            await connection.execute("select pg_sleep(10)")

    task = asyncio.create_task(long())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await narrow.check()


async def test_a_caller_cancelled_after_preparing_leaves_no_transaction(narrow: Database) -> None:
    """The next user of the connection begins a transaction of its own.

    asyncpg prepares without a Sync message, so that the server begins a transaction that asyncpg does not know of.
    """

    async def cancelled_after_preparing() -> None:
        async with narrow.connection() as connection:
            await connection.prepare("select count(*) from pg_class")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cancelled_after_preparing()
    async with narrow.connection() as connection, connection.transaction(isolation="repeatable_read"):
        assert await connection.fetchval("show transaction_isolation") == "repeatable read"


async def test_a_silent_server_is_unavailable(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that neither responds nor closes is given up at the client's limit, slightly after the server's."""
    monkeypatch.setattr(pool, "_CANCEL_ALLOWANCE_SECONDS", 0.2)
    async with silencing_proxy(database_url) as (url, silence):
        database = await Database.open(url, application_name="silent", timeouts=SHORT_TIMEOUTS)
        silence.set()
        with pytest.raises(Unavailable):
            await database.check()
        await database.close()


async def test_the_pool_recovers_when_the_server_returns(private_postgres: postgres.PrivatePostgres) -> None:
    """Calls are Unavailable while the server is down, and work with the same pool once it is up."""
    database = await Database.open(private_postgres.dsn, application_name="test", min_size=3, timeouts=Timeouts(acquire=2))
    async with database.connection() as open_connection:
        await private_postgres.stop()
        with pytest.raises(asyncpg.InterfaceError):
            await open_connection.execute("select 1")
    for _ in range(5):
        with pytest.raises(Unavailable):
            await database.check()
    await private_postgres.start()
    await asyncio.gather(*(database.check() for _ in range(10)))
    await database.close()


async def test_close_does_not_wait_forever(narrow: Database) -> None:
    """Closing breaks a connection that is not returned within the time limit of a statement."""

    async def keep() -> None:
        async with narrow.connection() as connection:
            await narrow.close()
            await connection.execute("select 1")

    with pytest.raises(Unavailable):
        await keep()
