"""G3 and D1: lists of dashboards, and the storage of bodies.

G3 requests a list from a gateway process over one connection. Its reference runs the same SQL statement over a connection of its own
and only keeps the rows. D1 writes and reads dashboards in one column: as text that lz4 compresses, as in the product's store, compared
with JSONB with the server's defaults.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import orjson
from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARDS_ROUTE, POOL_SIZE
from benchmarks.generated_dashboards import dashboard_spec, store_dashboards
from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row, alternate, median_ms, sequential_calls
from benchmarks.processes import start_service
from dashwright.common.database import queries
from dashwright.common.kinds.registry import DASHBOARD

#: Dashboards of the lists of G3, and bodies of D1.
_DASHBOARDS = 1_000
_BODIES = 200
_CALLS_PER_ROUND = 5
#: Larger than all resource versions and sizes.
_NO_LIMIT = 2**62
#: The media type with which kubectl requests tables.
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def lists(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure G3, lists of dashboards."""
    async with AsyncExitStack() as exit_stack:
        await store_dashboards(database_url, "default", _DASHBOARDS, panels=8)
        stack = Stack(database_url, amqp_url, folder, DATABASE_POOL_SIZE=str(POOL_SIZE))
        http = await HttpConnection.open(await start_service(exit_stack, stack, "dashwright-api", folder))
        exit_stack.push_async_callback(http.close)
        connection = await asyncpg.connect(database_url)
        exit_stack.push_async_callback(connection.close)
        path = f"{DASHBOARDS_ROUTE.format(namespace='default')}?limit={_DASHBOARDS}"
        list_request, table_request = http.encode("GET", path), http.encode("GET", path, accept=_TABLE)
        sql = queries.load("dashwright.api.stores", "lists.sql")
        parameters: dict[str, Any] = {
            "namespace": "default",
            "api_group": DASHBOARD.group,
            "resource": DASHBOARD.plural,
            "version": _NO_LIMIT,
            "after": "",
            # The store requests one row more than the limit, to know whether the page is the last one.
            "limit": _DASHBOARDS + 1,
        }
        calls = (
            partial(http.call, list_request, status=200),
            partial(http.call, table_request, status=200),
            partial(connection.fetch, *sql.bind("page_with_bodies", max_bytes=_NO_LIMIT, **parameters)),
            partial(connection.fetch, *sql.bind("page_without_bodies", **parameters)),
        )
        seconds = await alternate(*(sequential_calls(call, _CALLS_PER_ROUND) for call in calls))
    list_ms, table_ms, rows_ms, rows_without_bodies_ms = [median_ms(rounds) for rounds in seconds]
    return [
        Row("G3", "list of 1,000 dashboards, to the bare read", "ms", list_ms, rows_ms, 1.3),
        Row("G3", "that list as a table, to the read without bodies", "ms", table_ms, rows_without_bodies_ms, 3),
    ]


async def bodies(database_url: str, _amqp_url: str, _folder: Path) -> list[Row]:
    """Measure D1, writes and reads of bodies."""
    texts = [orjson.dumps(dashboard_spec(index, panels=40)).decode() for index in range(_BODIES)]
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "create table as_jsonb (id integer, body jsonb); create table as_text (id integer, body text compression lz4)"
        )
        tables = ("as_text", "as_jsonb")
        writes = [partial(_write, connection, table, texts) for table in tables]
        reads = [partial(connection.fetch, f"select body from {table}") for table in tables]
        write_seconds = await alternate(*(sequential_calls(write, _CALLS_PER_ROUND) for write in writes))
        read_seconds = await alternate(*(sequential_calls(read, _CALLS_PER_ROUND) for read in reads))
    finally:
        await connection.close()
    write_text_ms, write_jsonb_ms = [median_ms(rounds) for rounds in write_seconds]
    read_text_ms, read_jsonb_ms = [median_ms(rounds) for rounds in read_seconds]
    return [
        Row("D1", "write 200 bodies as text in lz4, to JSONB", "ms", write_text_ms, write_jsonb_ms, 1 / 8),
        Row("D1", "read 200 bodies as text in lz4, to JSONB", "ms", read_text_ms, read_jsonb_ms, 1 / 6),
    ]


async def _write(connection: "asyncpg.Connection[Any]", table: str, texts: Sequence[str]) -> None:
    """Replace the rows of a table by the texts."""
    await connection.execute(f"truncate {table}")
    await connection.executemany(f"insert into {table} values ($1, $2)", list(enumerate(texts)))
