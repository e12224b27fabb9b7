"""G1 and G2: authenticated, authorized and logged requests for quotas and a dashboard.

The references run the same SQL statement on the same database: aiohttp alone (G1), and Starlette on uvicorn, first alone and then with
authentication, authorization and logging (G2). Each server is one process, which clients call over the same number of connections.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARDS_ROUTE, POOL_SIZE, QUOTAS_PATH
from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Round, Row, alternate, median_percentile
from benchmarks.processes import start, start_service, wait_for_line

_CONNECTIONS = 16
#: Requests of a round over all connections.
_REQUESTS = 4_000
_DASHBOARD_NAME = "bench"
_DASHBOARDS_PATH = DASHBOARDS_ROUTE.format(namespace="default")

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
_DASHBOARD = {"metadata": {"name": _DASHBOARD_NAME}, "spec": {"title": "Services", "panels": _PANELS}}


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of G1 and G2."""
    # The goals for bare aiohttp are 0.6 and 0.5 times its throughput. As ratios of times, they are reciprocal.
    cases = [(QUOTAS_PATH, "quotas", 1 / 0.6), (f"{_DASHBOARDS_PATH}/{_DASHBOARD_NAME}", "a dashboard", 1 / 0.5)]
    stack = Stack(database_url, amqp_url, folder, DATABASE_POOL_SIZE=str(POOL_SIZE))
    async with AsyncExitStack() as exit_stack:
        addresses = [
            await start_service(exit_stack, stack, "dashwright-api", folder),
            await _start_reference(exit_stack, folder, "benchmarks.bare_gateway", database_url),
            await _start_reference(exit_stack, folder, "benchmarks.starlette_gateway", "read", database_url),
            await _start_reference(exit_stack, folder, "benchmarks.starlette_gateway", "complete", database_url),
        ]
        connections_by_server = [[await _connect(exit_stack, address) for _ in range(_CONNECTIONS)] for address in addresses]
        http = connections_by_server[0][0]
        await http.call(http.encode("POST", _DASHBOARDS_PATH, json.dumps(_DASHBOARD).encode()), status=201)
        rows: list[Row] = []
        for path, label, goal in cases:
            seconds = await alternate(*[_concurrent_requests(connections, path) for connections in connections_by_server])
            product, bare, read_only, complete = [median_percentile(rounds, 50) * 1e6 for rounds in seconds]
            rows += [
                Row("G1", f"{label}, a request, to bare aiohttp", "us", product, bare, goal),
                Row("G2", f"{label}, to the read alone in Starlette", "us", product, read_only, 1),
                Row("G2", f"{label}, to the same work in Starlette", "us", product, complete, 1),
            ]
    return rows


def _concurrent_requests(connections: Sequence[HttpConnection], path: str) -> Round:
    """Return a round of requests over several connections concurrently; its figure is the seconds per request."""
    request = connections[0].encode("GET", path)

    async def call_sequentially(http: HttpConnection) -> None:
        for _ in range(_REQUESTS // _CONNECTIONS):
            await http.call(request, status=200)

    async def run_round() -> Sequence[float]:
        started = time.perf_counter()
        await asyncio.gather(*(call_sequentially(http) for http in connections))
        return [(time.perf_counter() - started) / _REQUESTS]

    return run_round


async def _connect(exit_stack: AsyncExitStack, address: str) -> HttpConnection:
    """Return a connection that is closed with the stack."""
    http = await HttpConnection.open(address)
    exit_stack.push_async_callback(http.close)
    return http


async def _start_reference(exit_stack: AsyncExitStack, folder: Path, module: str, *arguments: str) -> str:
    """Start the server of a module, and return the address that it prints."""
    name = f"{module}-{arguments[0]}" if len(arguments) > 1 else module
    log = folder / f"{name}.log"
    await start(exit_stack, log, sys.executable, "-m", module, *arguments)
    return await wait_for_line(log, lambda line: line.strip() if line.startswith("http://") else "")
