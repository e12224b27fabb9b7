"""V1 to V3: the time of pictures of dashboards, compared with the conversion of the same charts from Vega-Lite."""

import asyncio
import itertools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from tests.acceptance.client import Client

from benchmarks.http_connection import Wire
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.pictures import charts
from benchmarks.processes import start_service
from benchmarks.sources.services import GATEWAY, WORKER, stack_of, start_stub
from benchmarks.sources.workload import PROMETHEUS
from dashwright.expressions.pictures.plotter import Plotter

_FEW: Final = 9
_MANY: Final = 50
_ROUNDS: Final = 3
_GOAL: Final = 1.5
#: The time of the large picture that is the goal, in milliseconds.
_MANY_MS: Final = 1_500
#: Requests of a page that browsers send concurrently.
_CONNECTIONS: Final = 6
_DEADLINE_SECONDS: Final = 60.0

_runs = itertools.count(1)


async def few(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V1."""
    return await _rows("V1", _FEW, database_url, amqp_url, folder)


async def many(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V2: the same with more panels."""
    rows = await _rows("V2", _MANY, database_url, amqp_url, folder)
    whole = next(row for row in rows if "whole" in row.path)
    return [*rows, Row("V2", f"{_name(_MANY)}, a whole request, to 1.5 s", "ms", whole.product, _MANY_MS, 1)]


async def page(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure V3: a request for each panel, as a page sends them, compared with one request for all."""
    async with AsyncExitStack() as opened:
        wires = await _gateway(opened, database_url, amqp_url, folder, _MANY)
        await start_service(opened, stack_of(database_url, amqp_url, folder), WORKER, folder)

        async def each() -> None:
            run, panels = next(_runs), iter(range(1, _MANY + 1))

            async def some(wire: Wire) -> None:
                for panel in panels:
                    path = f"/render/d-solo/charts-{_MANY}?panelId={panel}&var-run={run}&width=320&height=296"
                    await wire.call(wire.encode("GET", path), status=200)

            await asyncio.gather(*map(some, wires))

        measured, whole = await in_turns(_once(each), _once(lambda: _request(wires[0], _MANY)), rounds=_ROUNDS)
    path = f"{_name(_MANY)}, a request each, {_CONNECTIONS} connections, to one"
    return [Row("V3", path, "ms", median_of(measured, 50) * 1000, median_of(whole, 50) * 1000, _GOAL)]


async def _rows(name: str, count: int, database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    placed = charts.layout(count)
    specs, plotter = charts.specs(placed), Plotter()

    async def draw() -> None:
        await plotter.png(charts.drawn(placed), 1, time.monotonic() + _DEADLINE_SECONDS)

    async def convert() -> None:
        charts.convert(specs)

    async with AsyncExitStack() as opened:
        opened.push_async_callback(plotter.stop)
        wires = await _gateway(opened, database_url, amqp_url, folder, count)
        stack = stack_of(database_url, amqp_url, folder)

        async def first() -> Sequence[float]:
            async with AsyncExitStack() as worker:
                await start_service(worker, stack, WORKER, folder)
                return await _once(lambda: _request(wires[0], count))()

        cold, bare_cold = await in_turns(first, lambda: _first_conversion(count), rounds=_ROUNDS)
        await start_service(opened, stack, WORKER, folder)
        whole, again, alone, bare = await in_turns(
            _once(lambda: _request(wires[0], count)),
            _once(lambda: _request(wires[0], count, next(_runs) - 1)),
            _once(draw),
            _once(convert),
            rounds=_ROUNDS,
        )
    reference = median_of(bare, 50) * 1000
    return [
        Row(name, f"{_name(count)}, drawing alone, to Vega-Lite", "ms", median_of(alone, 50) * 1000, reference, _GOAL),
        Row(name, f"{_name(count)}, a whole request, to Vega-Lite", "ms", median_of(whole, 50) * 1000, reference, _GOAL),
        Row(name, f"{_name(count)}, the same again, to Vega-Lite", "ms", median_of(again, 50) * 1000, reference, _GOAL),
        Row(
            name,
            f"{_name(count)}, the first of a worker, to the first of Vega-Lite",
            "ms",
            median_of(cold, 50) * 1000,
            median_of(bare_cold, 50) * 1000,
            _GOAL,
        ),
    ]


async def _gateway(opened: AsyncExitStack, database_url: str, amqp_url: str, folder: Path, count: int) -> list[Wire]:
    """Start the stub and a gateway with the dashboard. Return connections to it."""
    stub = await start_stub(opened, folder)
    address = await start_service(opened, stack_of(database_url, amqp_url, folder), GATEWAY, folder)
    async with Client(address) as client:
        await client.call("POST", "/api/datasources", json={"name": PROMETHEUS, "uid": PROMETHEUS, "type": "prometheus", "url": stub})
        await client.call("POST", "/api/dashboards/db", json={"dashboard": charts.dashboard(count)})
    wires = [await Wire.open(address) for _ in range(_CONNECTIONS)]
    for wire in wires:
        opened.push_async_callback(wire.close)
    return wires


async def _request(wire: Wire, count: int, run: int | None = None) -> None:
    """Request the picture, by default with another title and queries in another text than all before, so that no cache has it."""
    run = run or next(_runs)
    path = f"/render/d/charts-{count}?width={charts.WIDTH}&title={run}&var-run={run}"
    await wire.call(wire.encode("GET", path), status=200)


async def _first_conversion(count: int) -> Sequence[float]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.pictures.charts", str(count), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return [float(output)]


def _once(call: Callable[[], Awaitable[None]]) -> Round:
    """Return a round of a single call."""

    async def play() -> Sequence[float]:
        started = time.perf_counter()
        await call()
        return [time.perf_counter() - started]

    return play


def _name(count: int) -> str:
    return f"{count} panels x {charts.POINTS:,} points"
