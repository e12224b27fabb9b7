"""E8 and E9 over the wire: a million points through broker and gateway, compared with the same bytes alone, and as Arrow."""

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tests.acceptance.processes import Stack

from benchmarks import points_source
from benchmarks.http_connection import Wire
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import start_module
from dashwright.common import media

_QUERIES = 5
_QUERY = points_source.request("$A + 1", 1, 1_000_000)


async def passed_on(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure E8: prepared pieces, so that only passing them on is measured."""
    file = folder / "answer.json"
    async with AsyncExitStack() as opened:
        wire = await _gateway(opened, Stack(database_url, amqp_url, folder))
        async with AsyncExitStack() as worker:
            await start_module(worker, "benchmarks.points_source", amqp_url)
            file.write_bytes(await wire.call(wire.encode("POST", "/api/ds/query", _QUERY), status=200))
        await start_module(opened, "benchmarks.points_source", amqp_url, str(file))
        await start_module(opened, "benchmarks.bare_query", "worker", amqp_url, str(file))
        bare = await Wire.open(await start_module(opened, "benchmarks.bare_query", "gateway", amqp_url))
        opened.push_async_callback(bare.close)
        product = _calls(wire, wire.encode("POST", "/api/ds/query", _QUERY))
        measured, reference = await in_turns(product, _calls(bare, bare.encode("POST", "/", _QUERY)))
    path = f"{file.stat().st_size / 1e6:.0f} MB of JSON through broker and gateway, to bare"
    return [_row("E8", path, 1.5, measured, reference)]


async def whole(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure E9: the request as Arrow, compared with JSON."""
    async with AsyncExitStack() as opened:
        wire = await _gateway(opened, Stack(database_url, amqp_url, folder))
        await start_module(opened, "benchmarks.points_source", amqp_url)
        as_arrow = wire.encode("POST", "/api/ds/query", _QUERY, accept=media.ARROW)
        measured, reference = await in_turns(_calls(wire, as_arrow), _calls(wire, wire.encode("POST", "/api/ds/query", _QUERY)))
    return [_row("E9", "whole request of 1,000,000 points as Arrow, to JSON", 0.4, measured, reference)]


async def _gateway(opened: AsyncExitStack, stack: Stack) -> Wire:
    """Return a connection to the product's gateway; it has no worker of its own."""
    await stack.gateway.start()
    opened.push_async_callback(stack.gateway.stop)
    wire = await Wire.open(str((await stack.gateway.event("serving"))["address"]))
    opened.push_async_callback(wire.close)
    return wire


def _calls(wire: Wire, request: bytes) -> Round:
    async def play() -> Sequence[float]:
        seconds = []
        for _ in range(_QUERIES):
            started = time.perf_counter()
            await wire.call(request, status=200)
            seconds.append(time.perf_counter() - started)
        return seconds

    return play


def _row(name: str, path: str, goal: float, measured: Sequence[Sequence[float]], reference: Sequence[Sequence[float]]) -> Row:
    return Row(name, path, "ms", median_of(measured, 50) * 1000, median_of(reference, 50) * 1000, goal)
