"""S7: responses of a data source through the proxy, compared with aiohttp alone, and the memory that the gateway needs for them."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import orjson
from tests.acceptance.processes import Stack

from benchmarks.http_connection import Wire
from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import peak_memory, resident_memory, start_module

_STREAM_BYTES = 10_000_000
_CONCURRENT = 64
#: 0.7 times the throughput.
_TIME_GOAL = 1 / 0.7
_MEMORY_GOAL_MB = 20
_PATH = "/api/datasources/proxy/uid/source/api/v1/query?query=up"


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of one stream, of many concurrent streams, and of their memory."""
    async with AsyncExitStack() as opened:
        source = await start_module(opened, "benchmarks.bare_proxy", "source", str(_STREAM_BYTES))
        bare = await start_module(opened, "benchmarks.bare_proxy", "proxy", source)
        stack = Stack(database_url, amqp_url, folder, ALLOWED_HOSTS="127.0.0.0/8")
        await stack.gateway.start()
        opened.push_async_callback(stack.gateway.stop)
        address = str((await stack.gateway.event("serving"))["address"])
        wire = await Wire.open(address)
        opened.push_async_callback(wire.close)
        record = orjson.dumps({"name": "source", "uid": "source", "type": "prometheus", "url": source})
        await wire.call(wire.encode("POST", "/api/datasources", record), status=200)
        found = []
        for streams in (1, _CONCURRENT):
            product, reference = await in_turns(_round(address, streams), _round(bare, streams), rounds=3)
            label = f"{streams} concurrent streams of 10 MB through the proxy, to aiohttp alone"
            found.append(Row("S7", label, "ms", median_of(product, 50) * 1000, median_of(reference, 50) * 1000, _TIME_GOAL))
        pid = stack.gateway.pid
        grown = peak_memory(pid) - resident_memory(pid)
        return [*found, Row("S7", f"MB that {_CONCURRENT} streams add to the gateway's memory", "MB", grown, 1, _MEMORY_GOAL_MB)]


def _round(address: str, streams: int) -> Round:
    async def play() -> Sequence[float]:
        wires = [await Wire.open(address) for _ in range(streams)]
        requests = [wire.encode("GET", _PATH) for wire in wires]
        started = time.perf_counter()
        await asyncio.gather(*(wire.drain(request) for wire, request in zip(wires, requests, strict=True)))
        seconds = time.perf_counter() - started
        for wire in wires:
            await wire.close()
        return [seconds]

    return play
