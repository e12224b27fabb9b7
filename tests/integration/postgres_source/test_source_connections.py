"""Connections to data sources: few, shared, never older than the record, and only to allowed hosts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.integration.postgres_source.conftest import (
    PASSWORD,
    RANGE,
    RunQuery,
    Warehouse,
    column_values,
    patient_limits,
    sql_query,
    wait_until,
)

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, DeadlineExceeded, SourceFailed, Unavailable
from dashwright.common.host_resolver import HostResolver
from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.postgres.connections import Connections, PoolLimits
from dashwright.expressions.sources.postgres.source import Postgres

OpenConnections = Callable[..., Connections]


@pytest.fixture
async def open_connections(resolver: HostResolver) -> AsyncIterator[OpenConnections]:
    """Yield a function that opens connections with limits; all are closed after the test."""
    async with AsyncExitStack() as stack:

        def open_(resolver: HostResolver = resolver, **sizes: Any) -> Connections:
            created = Connections(resolver, PoolLimits(**sizes))
            stack.push_async_callback(created.close)
            return created

        yield open_


async def pid_of(record: SourceRecord, connections: Connections) -> int:
    """Query a data source, and return the server's process that identifies the connection."""
    (frame,) = await Postgres(record, connections).query(sql_query("select pg_backend_pid() as pid"), RANGE, patient_limits())
    (pid,) = column_values(frame)["pid"]
    return int(pid)


async def backends(owner: Any, warehouse: Warehouse, condition: str = "true") -> list[int]:
    """Return the server's processes for the reading role's connections that meet a condition."""
    sql = f"select pid from pg_stat_activity where usename = $1 and datname = $2 and {condition}"
    return [row[0] for row in await owner.fetch(sql, warehouse.reader, warehouse.database)]


async def test_a_connection_is_reused(warehouse: Warehouse, open_connections: OpenConnections) -> None:
    """Queries of an unchanged record share a connection."""
    connections = open_connections()
    assert await pid_of(warehouse.record, connections) == await pid_of(warehouse.record, connections)


async def test_a_changed_record_gets_new_connections(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """A changed record gets a new connection. The former ones are closed, even one that was busy during the change."""
    connections = open_connections(connections=2)
    old = await pid_of(warehouse.record, connections)
    running = asyncio.create_task(Postgres(warehouse.record, connections).query(sql_query("select pg_sleep(0.5)"), RANGE, patient_limits()))
    await wait_until(lambda: backends(owner, warehouse, "query like '%pg_sleep%'"))
    new = await pid_of(replace(warehouse.record, version=2), connections)
    assert new != old
    await running
    await wait_until(lambda: has_only_session(owner, warehouse, new))


async def test_a_waiting_query_survives_a_change_of_the_record(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """A query that waits for a connection is served, although the record changes while it waits."""
    connections = open_connections(connections=1)
    source = Postgres(warehouse.record, connections)
    running = asyncio.create_task(source.query(sql_query("select pg_sleep(600)"), RANGE, patient_limits()))
    await wait_until(lambda: has_active_sessions(owner, warehouse, 1))
    task = asyncio.create_task(source.query(sql_query("select 1 as x"), RANGE, patient_limits()))
    await pid_of(replace(warehouse.record, version=2), connections)
    running.cancel()
    assert [column_values(frame) for frame in await task] == [{"x": [1]}]
    await asyncio.gather(running, return_exceptions=True)


async def has_only_session(owner: Any, warehouse: Warehouse, pid: int) -> bool:
    """Return whether a connection is the only one."""
    return await backends(owner, warehouse) == [pid]


async def test_the_number_of_connections_is_limited(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """If all connections are busy, a query waits for a free one. The error after its deadline names the setting."""
    connections = open_connections(connections=2)
    source = Postgres(warehouse.record, connections)
    running = [asyncio.create_task(source.query(sql_query("select pg_sleep(600)"), RANGE, patient_limits())) for _ in range(2)]
    await wait_until(lambda: has_active_sessions(owner, warehouse, 2))
    with pytest.raises(DeadlineExceeded, match=r"none of the 2 connections .* \(setting DASHWRIGHT_SOURCE_CONNECTIONS\) became free"):
        await source.query(sql_query("select 1 as x"), RANGE, Limits(deadline=Deadline(0.2)))
    assert len(await backends(owner, warehouse)) == 2
    task = asyncio.create_task(source.query(sql_query("select 1 as x"), RANGE, patient_limits()))
    running[0].cancel()
    assert [column_values(frame) for frame in await task] == [{"x": [1]}]
    running[1].cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def has_active_sessions(owner: Any, warehouse: Warehouse, count: int) -> bool:
    """Return whether exactly ``count`` statements are sleeping."""
    return len(await backends(owner, warehouse, "state = 'active' and query like '%pg_sleep%'")) == count


async def test_a_cancelled_caller_cancels_the_statement(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """If the caller is cancelled, the statement is cancelled on the server, and the connection is reused."""
    connections = open_connections(connections=1)
    pid = await pid_of(warehouse.record, connections)
    running = asyncio.create_task(Postgres(warehouse.record, connections).query(sql_query("select pg_sleep(600)"), RANGE, patient_limits()))
    await wait_until(lambda: has_active_sessions(owner, warehouse, 1))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await wait_until(lambda: has_active_sessions(owner, warehouse, 0))
    assert await pid_of(warehouse.record, connections) == pid


async def test_unused_connections_are_closed(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """A connection is closed after a time without use, and the next statement opens a new one."""
    connections = open_connections(idle_timeout=0.05)
    await pid_of(warehouse.record, connections)
    await wait_until(lambda: has_no_session(owner, warehouse))
    await pid_of(warehouse.record, connections)


async def has_no_session(owner: Any, warehouse: Warehouse) -> bool:
    """Return whether all connections are closed."""
    return not await backends(owner, warehouse)


async def test_the_least_recently_used_pool_is_closed(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """Any number of data sources share a limited number of pools."""
    connections = open_connections(pools=2)
    first, second, third = (replace(warehouse.record, id=index, uid=str(index)) for index in range(3))
    old_pid = await pid_of(first, connections)
    second_pid = await pid_of(second, connections)
    await pid_of(third, connections)
    assert connections.pool_count == 2
    await wait_until(lambda: lacks_session(owner, warehouse, old_pid))
    assert await pid_of(second, connections) == second_pid


async def lacks_session(owner: Any, warehouse: Warehouse, pid: int) -> bool:
    """Return whether a connection is closed."""
    return pid not in await backends(owner, warehouse)


async def test_busy_pools_are_not_closed(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """If all pools are busy, the next query gets an error with a time to retry."""
    connections = open_connections(pools=1)
    running = asyncio.create_task(Postgres(warehouse.record, connections).query(sql_query("select pg_sleep(600)"), RANGE, patient_limits()))
    await wait_until(lambda: has_active_sessions(owner, warehouse, 1))
    with pytest.raises(Unavailable, match="1 data sources are queried at the same time"):
        await pid_of(replace(warehouse.record, id=2), connections)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await pid_of(replace(warehouse.record, id=2), connections)


async def test_a_terminated_session_is_an_error_of_the_source(warehouse: Warehouse, open_connections: OpenConnections, owner: Any) -> None:
    """A terminated session is a 502, and the next statement succeeds."""
    connections = open_connections()
    running = asyncio.create_task(Postgres(warehouse.record, connections).query(sql_query("select pg_sleep(600)"), RANGE, patient_limits()))
    await wait_until(lambda: has_active_sessions(owner, warehouse, 1))
    await owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", warehouse.reader)
    with pytest.raises(SourceFailed, match="terminating connection"):
        await running
    await pid_of(warehouse.record, connections)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"url": "127.0.0.1:1"}, "cannot be reached .* check host, port and sslmode"),
        ({"secrets": {"password": "wrong"}}, "refuses the user .* .*28P01.* check user, password and sslmode"),
        ({"user": "nobody_here"}, "refuses the user 'nobody_here'"),
        ({"json_data": {"sslmode": "disable", "database": "no such"}}, "has no such database .*3D000"),
        ({"json_data": {"sslmode": "verify-full", "tlsConfigurationMethod": "file-content"}}, "SSL upgrade|TLS|certificate"),
    ],
)
async def test_a_refused_login_is_an_error_of_the_source(
    warehouse: Warehouse, open_connections: OpenConnections, change: Any, message: str
) -> None:
    """A rejected login is a 502 that says what to check, without secrets."""
    source = Postgres(replace(warehouse.record, **change), open_connections())
    for operation in (source.health(), source.query(sql_query("select 1 as x"), RANGE, patient_limits())):
        with pytest.raises(SourceFailed, match=message) as caught:
            await operation
        assert PASSWORD not in caught.value.message
        assert "wrong" not in caught.value.message


async def test_the_environments_password_is_not_used(
    warehouse: Warehouse, open_connections: OpenConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment variables of PostgreSQL clients have no effect on data sources."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("PGUSER", warehouse.reader)
    with pytest.raises(SourceFailed, match="refuses the user"):
        await Postgres(replace(warehouse.record, secrets={}), open_connections()).health()


async def test_only_allowed_hosts_are_contacted(warehouse: Warehouse, open_connections: OpenConnections) -> None:
    """A data source cannot name a server of this machine or network unless it is allowed."""
    with pytest.raises(BadRequest, match="DASHWRIGHT_ALLOWED_HOSTS"):
        await Postgres(warehouse.record, open_connections(HostResolver(AllowedHosts.parse(())))).health()


async def test_a_silent_server_times_out(warehouse: Warehouse, open_connections: OpenConnections) -> None:
    """A server that accepts the connection and sends nothing is an error after the time limit."""
    async with silent_port() as port:
        source = Postgres(replace(warehouse.record, url=f"127.0.0.1:{port}"), open_connections(connect_timeout=0.2))
        with pytest.raises(SourceFailed, match=r"did not respond within 0\.2 s; check host, port and the network between"):
            await source.health()


@asynccontextmanager
async def silent_port() -> AsyncIterator[int]:
    """Accept connections on a port, and send nothing until the end of the block."""
    has_ended = asyncio.Event()

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await has_ended.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        has_ended.set()


async def test_another_kind_of_server_is_reported(warehouse: Warehouse, open_connections: OpenConnections) -> None:
    """The error of a server of another kind, for example a web server, says what to check."""

    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        for mode in ("disable", "require"):
            record = replace(warehouse.record, url=f"127.0.0.1:{port}", json_data={"sslmode": mode})
            with pytest.raises(SourceFailed, match="check host"):
                await Postgres(record, open_connections()).health()


async def test_a_healthy_source_is_reported(run_query: RunQuery, warehouse: Warehouse, open_connections: OpenConnections) -> None:
    """A healthy data source is reported with the message that clients know."""
    assert await Postgres(warehouse.record, open_connections()).health() == "Database Connection OK"
