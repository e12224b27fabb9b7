"""A database with measurements, a role with which a data source reads it, and functions that query it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.servers.databases import with_database

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.host_resolver import HostResolver
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.postgres.connections import Connections, PoolLimits
from dashwright.expressions.sources.postgres.source import TYPES, Postgres

START = datetime(2020, 1, 1, tzinfo=UTC)
RANGE = TimeRange(START, START + timedelta(hours=1))
PASSWORD = "of the reading role"

#: A measurement in each minute of an hour, alternately of two hosts, and functions with effects that a data source must not have.
_CONTENT = """
create table measurement (id int primary key, measured_at timestamptz, host text, watts float8);
insert into measurement select n, timestamptz '2020-01-01Z' + n * interval '1 minute', 'h' || n % 2, n from generate_series(0, 59) n;
create sequence counter;
create function insert_row() returns int language plpgsql as $$ begin insert into measurement values (-1); return 1; end $$;
create function change_session() returns int language plpgsql as $$ begin
    perform pg_advisory_lock(4711); perform set_config('work_mem', '1MB', false);
    execute 'prepare prepared as select 1'; execute 'create temp table temporary (x int)'; return 1;
end $$;
create procedure set_to_two(inout x int) language plpgsql as $$ begin x := 2; end $$;
"""


_RIGHTS = """
grant all on all tables in schema public to {0};
grant all on all sequences in schema public to {0};
grant all on schema public to {0};
"""
"""More permissions than a careful administrator grants, so that the protection does not depend on the grants."""


@dataclass(frozen=True)
class Warehouse:
    """A database with data to read."""

    #: The URL of the database for its owner, who has all rights.
    owner_url: str
    #: The name of the database.
    database: str
    #: The role that the data source uses.
    reader: str

    @property
    def address(self) -> str:
        """The host and port of the server."""
        parts = urlsplit(self.owner_url)
        return f"{parts.hostname}:{parts.port or 5432}"

    @property
    def record(self) -> SourceRecord:
        """The data source that reads the database, without encryption."""
        options = {"sslmode": "disable", "database": self.database}
        secrets = {"password": PASSWORD}
        return SourceRecord(1, 1, "w", "Warehouse", TYPES[0], url=self.address, user=self.reader, json_data=options, secrets=secrets)


@pytest.fixture(scope="session")
def warehouse(postgres_dsn: str) -> Iterator[Warehouse]:
    """Create a database and a role with names of their own, for all tests."""
    suffix = token_hex(6)
    created = Warehouse(with_database(postgres_dsn, f"warehouse_{suffix}"), f"warehouse_{suffix}", f"reader_{suffix}")
    asyncio.run(_run(postgres_dsn, f"create database {created.database}", f"create role {created.reader} login password '{PASSWORD}'"))
    asyncio.run(_run(created.owner_url, _CONTENT, _RIGHTS.format(created.reader)))
    yield created
    asyncio.run(_run(postgres_dsn, f"drop database {created.database} with (force)", f"drop role {created.reader}"))


async def _run(url: str, *statements: str) -> None:
    """Execute statements outside a transaction."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
async def owner(warehouse: Warehouse) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Open a connection of the database's owner."""
    connection = await asyncpg.connect(warehouse.owner_url)
    yield connection
    await connection.close()


@pytest.fixture
def resolver(warehouse: Warehouse) -> HostResolver:
    """Return a resolver that permits the server and this machine."""
    return HostResolver(AllowedHosts.parse((str(urlsplit(warehouse.owner_url).hostname), "127.0.0.0/8")))


@pytest.fixture
async def connections(resolver: HostResolver) -> AsyncIterator[Connections]:
    """Provide at most one connection to each data source."""
    created = Connections(resolver, PoolLimits(connections=1))
    yield created
    await created.close()


RunQuery = Callable[..., Awaitable[Frame]]


@pytest.fixture
def run_query(warehouse: Warehouse, connections: Connections) -> RunQuery:
    """Return a function that returns the frame of a statement, as a table by default. All queries of a test share a connection."""

    async def query_frame(sql: str, limits: Limits | None = None, record: SourceRecord | None = None, **query: Any) -> Frame:
        source = Postgres(record or warehouse.record, connections)
        (frame,) = await source.query(sql_query(sql, **query), RANGE, limits or patient_limits())
        return frame

    return query_frame


def patient_limits(**limits: Any) -> Limits:
    """Return limits with a deadline that a slow machine keeps."""
    return Limits(deadline=Deadline(60), **limits)


def sql_query(sql: str, **query: Any) -> SourceQuery:
    """Return the query of a statement, whose result is a table by default."""
    datasource = {"type": "grafana-postgresql-datasource", "uid": "w"}
    return SourceQuery.model_validate({"refId": "A", "datasource": datasource, "rawSql": sql, "format": "table", **query})


def column_values(frame: Frame) -> dict[str, list[Any]]:
    """Return the values of each column, with None for null."""
    columns = {}
    for item in frame.fields:
        nulls = [False] * len(item) if item.nulls is None else item.nulls.tolist()
        columns[item.name] = [None if null else value for value, null in zip(item.values.tolist(), nulls, strict=True)]
    return columns


async def wait_until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until ``condition`` returns a true value."""
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 (no event announces what another process does)
            await asyncio.sleep(0.02)
