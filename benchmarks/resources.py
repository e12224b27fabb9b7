"""G3 and D1: lists of dashboards compared with the bare read of the same rows, and the storage of bodies.

G3 calls a gateway process over one connection; the reference runs the same statement over a connection of its own
and keeps the rows. D1 writes and reads bodies in one column, as JSONB with the server's defaults and as text in
lz4, as the store has them.
"""

import functools
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import orjson
from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARDS, POOL
from benchmarks.http_connection import Wire
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import start_service
from dashwright.common.database import queries
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores import resources

_OBJECTS = 1_000
_BODIES = 200
_REPEATS = 5
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_WORDS = (
    *("requests", "errors", "latency", "memory", "cpu", "disk", "network", "queue", "cache", "pods", "nodes", "zone", "tenant"),
    *("saturation", "p99", "budget", "backlog", "retries"),
)


async def lists(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure G3."""
    async with AsyncExitStack() as opened:
        await fill(database_url, "default", _OBJECTS, panels=8)
        address = await start_service(opened, Stack(database_url, amqp_url, folder, DATABASE_POOL_SIZE=str(POOL)), "dashwright-api", folder)
        wire = await Wire.open(address)
        opened.push_async_callback(wire.close)
        connection = await asyncpg.connect(database_url)
        opened.push_async_callback(connection.close)
        path = f"{DASHBOARDS.format(namespace='default')}?limit={_OBJECTS}"
        complete, table = wire.encode("GET", path), wire.encode("GET", path, accept=_TABLE)
        sql = queries.load("dashwright.common.stores", "lists.sql")
        expected = ("default", DASHBOARD.group, DASHBOARD.plural, 2**62, "", _OBJECTS + 1, 2**62)
        measured, rows, bare, cells = await in_turns(
            timed(lambda: wire.call(complete, status=200)),
            timed(lambda: wire.call(table, status=200)),
            timed(lambda: connection.fetch(sql.page + sql.with_bodies, *expected)),
            timed(lambda: connection.fetch(sql.page + sql.without_bodies, *expected)),
        )
    medians = [median_of(rounds, 50) * 1000 for rounds in (measured, rows, bare, cells)]
    return [
        Row("G3", "list of 1,000 dashboards, to the bare read", "ms", medians[0], medians[2], 1.3),
        Row("G3", "that list as a table, to the read without bodies", "ms", medians[1], medians[3], 3),
    ]


async def bodies(database_url: str, _amqp_url: str, _folder: Path) -> list[Row]:
    """Measure D1."""
    texts = [orjson.dumps(spec_of(index, panels=40)).decode() for index in range(_BODIES)]
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "create table as_jsonb (id integer, body jsonb); create table as_text (id integer, body text compression lz4)"
        )
        tables = ("as_text", "as_jsonb")
        written, parsed = await in_turns(*(timed(functools.partial(_write, connection, table, texts)) for table in tables))
        read, rendered = await in_turns(*(timed(functools.partial(connection.fetch, f"select body from {table}")) for table in tables))
    finally:
        await connection.close()
    write, write_jsonb, fetch, fetch_jsonb = [median_of(rounds, 50) * 1e3 for rounds in (written, parsed, read, rendered)]
    return [
        Row("D1", "write 200 bodies as text in lz4, to JSONB", "ms", write, write_jsonb, 1 / 8),
        Row("D1", "read 200 bodies as text in lz4, to JSONB", "ms", fetch, fetch_jsonb, 1 / 6),
    ]


async def _write(connection: "asyncpg.Connection[Any]", table: str, texts: Sequence[str]) -> None:
    await connection.execute(f"truncate {table}")
    await connection.executemany(f"insert into {table} values ($1, $2)", list(enumerate(texts)))


def timed(work: Callable[[], Awaitable[Any]]) -> Round:
    """Return a round of several calls, one after the other."""

    async def play() -> Sequence[float]:
        seconds = []
        for _ in range(_REPEATS):
            started = time.perf_counter()
            await work()
            seconds.append(time.perf_counter() - started)
        return seconds

    return play


async def fill(database_url: str, namespace: str, count: int, *, panels: int) -> None:
    """Store dashboards as a sync does."""
    database = await Database.open(database_url, application_name="fill", max_size=1)
    try:
        for first in range(0, count, 5_000):
            writes = [_write_of(index, panels) for index in range(first, min(first + 5_000, count))]
            async with database.transaction() as connection:
                staging = resources.StagedWrites(connection)
                await staging.create_table()
                await staging.add(writes)
                await resources.lock(connection, "default")
                await staging.write(namespace, actor="user:1", now=datetime.now(UTC))
    finally:
        await database.close()


def _write_of(number: int, panels: int) -> resources.Write:
    spec = spec_of(number, panels=panels)
    labels = {"team": f"t{number % 50}"}
    return resources.Write(
        DASHBOARD, f"d{number:06}", orjson.dumps(spec).decode(), "v1beta1", extract=Extract(spec["title"], tags=spec["tags"]), labels=labels
    )


def spec_of(number: int, *, panels: int) -> dict[str, Any]:
    """Return a realistic dashboard: about a kilobyte per panel, much of it alike, with titles and queries of its own."""
    chance = random.Random(number)
    return {
        "title": f"{' '.join(chance.choices(_WORDS, k=3))} {number}",
        "tags": chance.sample(_WORDS, 2),
        "panels": [_panel(chance, index) for index in range(panels)],
        "templating": {"list": [{"name": word, "type": "query", "query": f"label_values({word})"} for word in chance.sample(_WORDS, 4)]},
        "time": {"from": "now-6h", "to": "now"},
        "schemaVersion": 39,
    }


def _panel(chance: random.Random, index: int) -> dict[str, Any]:
    metric = "_".join(chance.choices(_WORDS, k=3))
    return {
        "id": index,
        "type": chance.choice(("timeseries", "stat", "table", "gauge")),
        "title": " ".join(chance.choices(_WORDS, k=4)),
        "description": " ".join(chance.choices(_WORDS, k=12)),
        "gridPos": {"x": 12 * (index % 2), "y": 8 * (index // 2), "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": f"{chance.getrandbits(64):016x}"},
        "fieldConfig": {
            "defaults": {
                "unit": chance.choice(("short", "s", "bytes", "percent")),
                "color": {"mode": "palette-classic"},
                "custom": {"lineWidth": 1, "fillOpacity": chance.randrange(100), "showPoints": "never", "axisPlacement": "auto"},
                "thresholds": {
                    "mode": "absolute",
                    "steps": [{"color": "green", "value": None}, {"color": "red", "value": chance.random()}],
                },
            },
            "overrides": [],
        },
        "targets": [
            {
                "refId": letter,
                "expr": f'sum by ({chance.choice(_WORDS)}) (rate({metric}{{job="{chance.choice(_WORDS)}"}}[{chance.randrange(1, 60)}m]))',
                "legendFormat": f"{{{{{chance.choice(_WORDS)}}}}}",
            }
            for letter in "AB"
        ],
    }
