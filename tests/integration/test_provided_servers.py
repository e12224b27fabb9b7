"""Fixtures of servers: each test gets an empty database and virtual host, and a private server keeps its data."""

import aio_pika
import asyncpg
import pytest
from tests.servers import postgres

from dashwright.common.database.pool import Database


@pytest.mark.parametrize("use", ["first", "second"])
async def test_each_database_is_clean(database: Database, use: str) -> None:
    """A test's database contains nothing that another test wrote."""
    async with database.connection() as connection:
        assert await connection.fetchval("select to_regclass('written')") is None
        await connection.execute("create table written (x int)")


async def test_each_virtual_host_is_empty(amqp_url: str) -> None:
    """A test can declare a queue with a name that other tests have used."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        declared = await channel.declare_queue("one", durable=True, exclusive=True)
        assert declared.declaration_result.message_count == 0


async def test_a_private_postgres_keeps_its_rows_over_a_restart(private_postgres: postgres.PrivatePostgres) -> None:
    """A committed row is still in its table, at the same address, after a restart of the server."""
    connection = await asyncpg.connect(private_postgres.dsn)
    await connection.execute("create table kept as select 1 as x")
    await connection.close()
    await private_postgres.stop()
    await private_postgres.start()
    connection = await asyncpg.connect(private_postgres.dsn)
    assert await connection.fetchval("select x from kept") == 1
    await connection.close()
