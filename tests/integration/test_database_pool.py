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
#: Longer than a test may take.
LONG_SECONDS = 300.0


@pytest.fixture
async def small_pool(database_url: str) -> AsyncIterator[Database]:
    """Open a pool of one connection with short limits."""
    limited_pool = await Database.open(database_url, application_name="small", max_size=1, timeouts=SHORT_TIMEOUTS)
    yield limited_pool
    await limited_pool.close()


@asynccontextmanager
async def open_limited(url: str, **limits: float) -> AsyncIterator[Database]:
    """Open a pool of one connection with only these limits, so that no other one takes effect on a busy machine."""
    patient = Timeouts(acquire=LONG_SECONDS, statement=LONG_SECONDS, lock=LONG_SECONDS, idle=LONG_SECONDS)
    limited_pool = await Database.open(url, application_name="limited", max_size=1, timeouts=replace(patient, **limits))
    yield limited_pool
    await limited_pool.close()


@asynccontextmanager
async def silencing_proxy(url: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Yield a URL of the server through a proxy that forwards nothing and closes nothing once the event is set."""
    parts = urlsplit(url)
    silence = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction of a connection until the event is set."""
        while (data := await reader.read(65536)) and not silence.is_set():
            writer.write(data)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client to the server, in both directions."""
        to_reader, to_writer = await asyncio.open_connection(parts.hostname, parts.port)
        tasks.update(asyncio.create_task(forward(*streams)) for streams in ((reader, to_writer), (to_reader, writer)))
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


async def end_backends(database: Database, *, application: str) -> None:
    """End the server's processes for all connections of an application."""
    async with database.connection() as connection:
        await connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", application)


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


async def test_sql_errors_are_not_changed(small_pool: Database) -> None:
    """A unique violation is asyncpg's own error, and the connection serves the next caller."""
    async with small_pool.connection() as connection:
        await connection.execute("create table one (x int primary key); insert into one values (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        async with small_pool.transaction() as connection:
            await connection.execute("insert into one values (1)")
    await small_pool.check()


@pytest.mark.parametrize("error", [ValueError("x"), FileNotFoundError("x"), asyncpg.InterfaceError("x")])
async def test_errors_of_the_caller_are_not_changed(small_pool: Database, error: Exception) -> None:
    """An error of the caller leaves the block unchanged, even if its type often means the loss of the server."""
    with pytest.raises(type(error)) as caught:
        async with small_pool.connection():
            raise error
    assert caught.value is error


def raise_statement(code: str) -> str:
    """Return a statement that raises an error with an SQLSTATE."""
    return f"do $$ begin raise exception 'injected' using errcode = '{code}'; end $$"


@pytest.mark.parametrize("code", ["53100", "53200"], ids=["disk_full", "out_of_memory"])
async def test_a_full_server_is_unavailable(small_pool: Database, code: str) -> None:
    """A full disk and a lack of memory raise Unavailable, which callers retry, and the connection remains open."""
    async with small_pool.connection() as connection:
        process_id = await connection.fetchval("select pg_backend_pid()")
    with pytest.raises(Unavailable, match="no free disk space or memory"):
        async with small_pool.transaction() as connection:
            await connection.execute(raise_statement(code))
    async with small_pool.connection() as connection:
        assert await connection.fetchval("select pg_backend_pid()") == process_id


async def test_a_connection_to_a_replica_is_closed(small_pool: Database) -> None:
    """A server that accepts no writes since a failover is unavailable, and the next caller gets a new connection."""
    async with small_pool.connection() as connection:
        process_id = await connection.fetchval("select pg_backend_pid()")
    with pytest.raises(Unavailable, match="not available"):
        async with small_pool.connection() as connection:
            await connection.execute(raise_statement("25006"))  # read_only_sql_transaction
    async with small_pool.connection() as connection:
        assert await connection.fetchval("select pg_backend_pid()") != process_id


async def test_a_transaction_commits_or_rolls_back(small_pool: Database) -> None:
    """Rows written in a block are committed after it, and rolled back by an error in it."""
    async with small_pool.transaction() as connection:
        await connection.execute("create table committed ()")

    async def fail() -> None:
        async with small_pool.transaction() as connection:
            await connection.execute("create table rolled_back ()")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        await fail()
    async with small_pool.connection() as connection:
        assert await connection.fetchval("select to_regclass('committed') is not null and to_regclass('rolled_back') is null")


async def test_a_connection_closed_by_the_server_is_unavailable(small_pool: Database, database: Database) -> None:
    """A backend terminated during a query raises Unavailable with the cause; the next query works."""

    async def lose(block: AbstractAsyncContextManager[Connection]) -> None:
        """Execute a statement on a connection that the server has closed."""
        async with block as connection:
            await end_backends(database, application="small")
            await connection.execute("select 1")

    for block in (small_pool.connection(), small_pool.transaction()):
        with pytest.raises(Unavailable) as caught:
            await lose(block)
        assert caught.value.__cause__ is not None
        await small_pool.check()


async def test_a_database_that_accepts_no_connections_is_unavailable(postgres_dsn: str, database_url: str) -> None:
    """A database that its operator has closed to connections raises Unavailable; when it is open again, the pool recovers."""
    name = urlsplit(database_url).path[1:]
    operator = await asyncpg.connect(postgres_dsn)
    try:
        async with open_limited(database_url) as limited_pool:
            await operator.execute(f'alter database "{name}" allow_connections false')
            await operator.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
            # First with the ended connection, and then with an attempt to open another one.
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await limited_pool.check()
            await operator.execute(f'alter database "{name}" allow_connections true')
            await limited_pool.check()
    finally:
        await operator.execute(f'alter database "{name}" allow_connections true')
        await operator.close()


async def test_no_free_connection_in_time_is_unavailable(small_pool: Database) -> None:
    """A caller that waits longer than the limit for a connection gets Unavailable; the connection in use is not disturbed."""
    async with small_pool.connection() as connection:
        with pytest.raises(Unavailable):
            await small_pool.check()
        assert await connection.fetchval("select 1") == 1
    await small_pool.check()


async def test_a_long_statement_is_cancelled_by_the_server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends a statement at the limit, so that it does not continue after its caller has received the error."""
    monkeypatch.setattr(pool, "_CANCEL_ALLOWANCE_SECONDS", LONG_SECONDS)
    async with open_limited(database_url, statement=0.5) as limited_pool:
        with pytest.raises(Unavailable, match="busy"):
            async with limited_pool.connection() as connection:
                await connection.execute("select pg_sleep($1)", LONG_SECONDS)


async def test_a_wait_for_a_lock_is_limited(database_url: str) -> None:
    """A wait for a lock ends at the limit for locks, which is shorter than that for statements."""
    async with (
        open_limited(database_url) as lock_pool,
        lock_pool.transaction() as lock_connection,
        open_limited(database_url, lock=0.5) as limited_pool,
    ):
        await lock_connection.execute("select pg_advisory_xact_lock(1)")
        with pytest.raises(Unavailable, match="busy"):
            async with limited_pool.transaction() as connection:
                await connection.execute("select pg_advisory_xact_lock(1)")


async def test_a_client_frozen_in_a_transaction_loses_its_locks(database_url: str, database: Database) -> None:
    """A transaction that is idle beyond the limit loses its locks. Its next statement raises Unavailable, and the pool recovers."""
    is_lock_free = False
    idle = await Database.open(database_url, application_name="idle", max_size=1, timeouts=Timeouts(idle=0.2))

    async def freeze() -> None:
        """Keep a transaction idle until another one gets its lock."""
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


async def test_a_loss_of_the_server_does_not_hide_an_error(small_pool: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server is lost while a connection is reset after an error, the caller receives the error, and the pool recovers."""

    async def lose(*_: object) -> None:
        raise asyncpg.ConnectionDoesNotExistError("the server ended")

    async def fail() -> None:
        with monkeypatch.context() as patch:
            async with small_pool.connection():
                patch.setattr(asyncpg.Connection, "execute", lose)
                raise ValueError("of the caller")

    with pytest.raises(ValueError, match="of the caller"):
        await fail()
    await small_pool.check()


async def test_a_cancelled_caller_returns_its_connection(small_pool: Database) -> None:
    """A task cancelled during a query does not cost the pool a connection."""
    started = asyncio.Event()

    async def sleep_in_database() -> None:
        async with small_pool.connection() as connection:
            started.set()
            await connection.execute("select pg_sleep(10)")

    task = asyncio.create_task(sleep_in_database())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await small_pool.check()


async def test_a_caller_cancelled_after_preparing_leaves_no_transaction(small_pool: Database) -> None:
    """The next user of the connection begins a transaction of its own.

    asyncpg prepares without a Sync message, so that the server begins a transaction that asyncpg does not know of.
    """

    async def cancelled_after_preparing() -> None:
        async with small_pool.connection() as connection:
            await connection.prepare("select count(*) from pg_class")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cancelled_after_preparing()
    async with small_pool.connection() as connection, connection.transaction(isolation="repeatable_read"):
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
    for _ in range(5):  # more than the connections that were open
        with pytest.raises(Unavailable):
            await database.check()
    await private_postgres.start()
    await asyncio.gather(*(database.check() for _ in range(10)))
    await database.close()


async def test_close_does_not_wait_forever(small_pool: Database) -> None:
    """Closing breaks a connection that is not returned within the time limit of a statement."""

    async def hold_connection() -> None:
        async with small_pool.connection() as connection:
            await small_pool.close()
            await connection.execute("select 1")

    with pytest.raises(Unavailable):
        await hold_connection()
