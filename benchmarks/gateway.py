"""G1 and G2: authenticated, authorized and logged reads of quotas and of a dashboard over HTTP.

References run the same statement on the same database: aiohttp alone (G1), and Starlette on uvicorn, alone and with
the same work around the read (G2). Each is one process, requested concurrently over the same number of connections.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARD, DASHBOARDS, POOL, QUOTAS
from benchmarks.row import Round, Row, in_turns, median_of
from benchmarks.wire import Wire

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
            await started_product(opened, Stack(database_url, amqp_url, folder, DATABASE_POOL_SIZE=str(POOL)), folder / "gateway.log"),
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
            product, bare, read, whole = [median_of(rounds, 50) * 1e6 for rounds in measured]
            found += [
                Row("G1", f"{what}, a request, to bare aiohttp", "us", product, bare, goal),
                Row("G2", f"{what}, to the read alone in Starlette", "us", product, read, 1),
                Row("G2", f"{what}, to the same work in Starlette", "us", product, whole, 1),
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


async def started_product(opened: AsyncExitStack, stack: Stack, log: Path) -> str:
    """Start the product and return its address.

    Its log is a file: reading each line in this process, as tests do, would be measured as the gateway's time.
    """
    program = Path(sys.executable).with_name("dashwright-api")
    settings = {f"DASHWRIGHT_{name}": value for name, value in stack.settings.items()} | {"DASHWRIGHT_LOG_FORMAT": "json"}
    await _started(opened, log, str(program), environment=os.environ | settings)
    return await _line(log, lambda line: str(json.loads(line)["address"]) if '"serving"' in line else "")


async def _reference(opened: AsyncExitStack, folder: Path, module: str, *arguments: str) -> str:
    name = f"{module}-{arguments[0]}" if len(arguments) > 1 else module
    log = folder / f"{name}.log"
    await _started(opened, log, sys.executable, "-m", module, *arguments)
    return await _line(log, lambda line: line.strip() if line.startswith("http://") else "")


async def _started(opened: AsyncExitStack, log: Path, *command: str, environment: dict[str, str] | None = None) -> None:
    """Start a process that writes its output into a file; it ends with ``opened``."""
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=said, stderr=said)
    opened.push_async_callback(process.wait)
    opened.callback(process.terminate)


async def _line(log: Path, read: Callable[[str], str]) -> str:
    """Return the value that ``read`` finds in the first line with an address, waiting for it."""
    async with asyncio.timeout(60):
        while True:
            if address := _first(log, read):
                return address
            await asyncio.sleep(0.05)


def _first(log: Path, read: Callable[[str], str]) -> str:
    whole_lines = log.read_text().splitlines(keepends=True)
    return next((address for line in whole_lines if line.endswith("\n") and (address := read(line))), "")
