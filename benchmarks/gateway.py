"""G1 and G2: authenticated, authorized and logged reads of quotas and of a dashboard over HTTP.

References run the same statement on the same database: aiohttp alone (G1), and Starlette on uvicorn, alone and with
the same work around the read (G2). Each is one process, requested concurrently over the same number of connections.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARD, DASHBOARDS, POOL, QUOTAS
from benchmarks.http_connection import Wire
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import read_line, start, start_service

_CONNECTIONS = 16
_REQUESTS = 4_000
_COLLECTION = DASHBOARDS.format(namespace="default")

_PANELS = [
    {
        "id": number,
        "type": "timeseries",
        "title": f"Requests of service {number}",
        "gridPos": {"x": 12 * (number % 2), "y": 8 * (number // 2), "w": 12, "h": 8},
        "targets": [{"refId": "A", "expr": f'sum by (code) (rate(http_requests_total{{service="s{number}"}}[5m]))'}],
    }
    for number in range(20)
]
_OBJECT = {"metadata": {"name": DASHBOARD}, "spec": {"title": "Services", "panels": _PANELS}}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of G1 and G2."""
    reads = [(QUOTAS, "quotas", 1 / 0.6), (f"{_COLLECTION}/{DASHBOARD}", "a dashboard", 1 / 0.5)]
    async with AsyncExitStack() as opened:
        addresses = [
            await start_service(opened, Stack(database_url, amqp_url, folder, DATABASE_POOL_SIZE=str(POOL)), "dashwright-api", folder),
            await _reference(opened, folder, "benchmarks.bare_gateway", database_url),
            await _reference(opened, folder, "benchmarks.starlette_gateway", "read", database_url),
            await _reference(opened, folder, "benchmarks.starlette_gateway", "whole", database_url),
        ]
        crowds = [[await _connected(opened, address) for _ in range(_CONNECTIONS)] for address in addresses]
        wire = crowds[0][0]
        await wire.call(wire.encode("POST", _COLLECTION, json.dumps(_OBJECT).encode()), status=201)
        found: list[Row] = []
        for path, what, goal in reads:
            measured = await in_turns(*[_together(crowd, path) for crowd in crowds])
            product, bare, read, complete = [median_of(rounds, 50) * 1e6 for rounds in measured]
            found += [
                Row("G1", f"{what}, a request, to bare aiohttp", "us", product, bare, goal),
                Row("G2", f"{what}, to the read alone in Starlette", "us", product, read, 1),
                Row("G2", f"{what}, to the same work in Starlette", "us", product, complete, 1),
            ]
    return found


def _together(crowd: Sequence[Wire], path: str) -> Round:
    """Return a round of many requests over several concurrent connections; its figure is the time per request."""
    request = crowd[0].encode("GET", path)

    async def ask(wire: Wire) -> None:
        for _ in range(_REQUESTS // _CONNECTIONS):
            await wire.call(request, status=200)

    async def play() -> Sequence[float]:
        started = time.perf_counter()
        await asyncio.gather(*(ask(wire) for wire in crowd))
        return [(time.perf_counter() - started) / _REQUESTS]

    return play


async def _connected(opened: AsyncExitStack, address: str) -> Wire:
    wire = await Wire.open(address)
    opened.push_async_callback(wire.close)
    return wire


async def _reference(opened: AsyncExitStack, folder: Path, module: str, *arguments: str) -> str:
    name = f"{module}-{arguments[0]}" if len(arguments) > 1 else module
    log = folder / f"{name}.log"
    await start(opened, log, sys.executable, "-m", module, *arguments)
    return await read_line(log, lambda line: line.strip() if line.startswith("http://") else "")
