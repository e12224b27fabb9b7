"""V1 to V3: the time of pictures of dashboards, compared with the conversion of the same charts from Vega-Lite."""

import asyncio
import itertools
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from tests.acceptance.client import Client

from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row, alternate, median_ms, sequential_calls
from benchmarks.pictures import charts
from benchmarks.processes import start_service
from benchmarks.sources.services import GATEWAY, WORKER, source_stack, start_stub
from benchmarks.sources.workload import PROMETHEUS
from dashwright.expressions.pictures.plotter import Plotter

#: Numbers of panels of the dashboards.
_SMALL_PANELS: Final = 9
_LARGE_PANELS: Final = 50
#: Rounds of each measurement, fewer than in other benchmarks because pictures are slow.
_ROUNDS: Final = 3
#: The goal for ratios.
_GOAL: Final = 1.5
#: The goal for the time of the large picture.
_LARGE_MS: Final = 1_500
#: Concurrent requests, as many as browsers send to one host.
_CONNECTIONS: Final = 6
#: The time limit of a drawing.
_DEADLINE_SECONDS: Final = 60.0

#: Values of the variable ``run``, which make the queries of each request new.
_run_numbers = itertools.count(1)


async def small_dashboard(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V1: a dashboard of nine panels."""
    return await _rows("V1", _SMALL_PANELS, database_url, amqp_url, folder)


async def large_dashboard(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V2: a dashboard of 50 panels."""
    rows = await _rows("V2", _LARGE_PANELS, database_url, amqp_url, folder)
    request_row = next(row for row in rows if "whole" in row.path)
    return [*rows, Row("V2", f"{_label(_LARGE_PANELS)}, a whole request, to 1.5 s", "ms", request_row.product, _LARGE_MS, 1)]


async def panel_by_panel(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V3: a request for each panel, like the images of a web page, compared with one request for the dashboard."""
    async with AsyncExitStack() as exit_stack:
        connections = await _start_gateway(exit_stack, database_url, amqp_url, folder, _LARGE_PANELS)
        await start_service(exit_stack, source_stack(database_url, amqp_url, folder), WORKER, folder)

        async def request_panels() -> None:
            """Request each panel once, over all connections."""
            run, remaining = next(_run_numbers), iter(range(1, _LARGE_PANELS + 1))

            async def request_remaining(http: HttpConnection) -> None:
                for panel in remaining:
                    path = f"/render/d-solo/charts-{_LARGE_PANELS}?panelId={panel}&var-run={run}&width=320&height=296"
                    await http.call(http.encode("GET", path), status=200)

            await asyncio.gather(*map(request_remaining, connections))

        panel_seconds, dashboard_seconds = await alternate(
            sequential_calls(request_panels, 1),
            sequential_calls(lambda: _request(connections[0], _LARGE_PANELS), 1),
            count=_ROUNDS,
        )
    path = f"{_label(_LARGE_PANELS)}, a request each, {_CONNECTIONS} connections, to one"
    return [Row("V3", path, "ms", median_ms(panel_seconds), median_ms(dashboard_seconds), _GOAL)]


async def _rows(name: str, count: int, database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of a dashboard of ``count`` panels: drawing, a request, a cached request, and the first request of a worker."""
    layout = charts.layout(count)
    specs, plotter = charts.vega_lite_specs(layout), Plotter()

    async def draw() -> None:
        await plotter.png(charts.draw_svg(layout), 1, time.monotonic() + _DEADLINE_SECONDS)

    async def convert() -> None:
        charts.convert(specs)

    async with AsyncExitStack() as exit_stack:
        exit_stack.push_async_callback(plotter.stop)
        connections = await _start_gateway(exit_stack, database_url, amqp_url, folder, count)
        stack = source_stack(database_url, amqp_url, folder)

        async def request_new_worker() -> Sequence[float]:
            """Return the seconds of the first request to a new worker, without those of its start."""
            async with AsyncExitStack() as worker:
                await start_service(worker, stack, WORKER, folder)
                return await sequential_calls(lambda: _request(connections[0], count), 1)()

        first_request, first_conversion = await alternate(request_new_worker, lambda: _first_conversion(count), count=_ROUNDS)
        await start_service(exit_stack, stack, WORKER, folder)
        # The second call of each round repeats the first one, with the last number that was used.
        request, cached_request, drawing, conversion = await alternate(
            sequential_calls(lambda: _request(connections[0], count), 1),
            sequential_calls(lambda: _request(connections[0], count, next(_run_numbers) - 1), 1),
            sequential_calls(draw, 1),
            sequential_calls(convert, 1),
            count=_ROUNDS,
        )
    conversion_ms = median_ms(conversion)
    return [
        Row(name, f"{_label(count)}, drawing alone, to Vega-Lite", "ms", median_ms(drawing), conversion_ms, _GOAL),
        Row(name, f"{_label(count)}, a whole request, to Vega-Lite", "ms", median_ms(request), conversion_ms, _GOAL),
        Row(name, f"{_label(count)}, the same again, to Vega-Lite", "ms", median_ms(cached_request), conversion_ms, _GOAL),
        Row(
            name,
            f"{_label(count)}, the first of a worker, to the first of Vega-Lite",
            "ms",
            median_ms(first_request),
            median_ms(first_conversion),
            _GOAL,
        ),
    ]


async def _start_gateway(exit_stack: AsyncExitStack, database_url: str, amqp_url: str, folder: Path, count: int) -> list[HttpConnection]:
    """Start the stub of Prometheus, and a gateway with the dashboard. Return connections to the gateway."""
    stub = await start_stub(exit_stack, folder)
    address = await start_service(exit_stack, source_stack(database_url, amqp_url, folder), GATEWAY, folder)
    async with Client(address) as client:
        await client.call("POST", "/api/datasources", json={"name": PROMETHEUS, "uid": PROMETHEUS, "type": "prometheus", "url": stub})
        await client.call("POST", "/api/dashboards/db", json={"dashboard": charts.dashboard(count)})
    connections = [await HttpConnection.open(address) for _ in range(_CONNECTIONS)]
    for http in connections:
        exit_stack.push_async_callback(http.close)
    return connections


async def _request(http: HttpConnection, count: int, run: int | None = None) -> None:
    """Request the picture. By default, its title and queries differ from those of all earlier requests, so that no cache has it."""
    run = run or next(_run_numbers)
    path = f"/render/d/charts-{count}?width={charts.WIDTH}&title={run}&var-run={run}"
    await http.call(http.encode("GET", path), status=200)


async def _first_conversion(count: int) -> Sequence[float]:
    """Return the seconds of the conversion of all specs in a new process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.pictures.charts", str(count), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return [float(output)]


def _label(count: int) -> str:
    return f"{count} panels x {charts.POINTS:,} points"
