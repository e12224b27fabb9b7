"""S7: responses of a data source through the gateway's proxy, compared with aiohttp alone, and the gateway's memory for them."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import orjson
from tests.acceptance.processes import Stack

from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Round, Row, alternate, median_ms
from benchmarks.processes import peak_memory, resident_memory, start_module

#: The size of a response.
_STREAM_BYTES = 10_000_000
#: Streams of the second measurement.
_CONCURRENT = 64
#: The goal is 0.7 times the throughput of aiohttp alone.
_TIME_GOAL = 1 / 0.7
_MEMORY_GOAL_MB = 20
_PATH = "/api/datasources/proxy/uid/source/api/v1/query?query=up"


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of the time of one stream and of concurrent streams, and of their memory."""
    async with AsyncExitStack() as exit_stack:
        source = await start_module(exit_stack, "benchmarks.bare_proxy", "source", str(_STREAM_BYTES))
        bare = await start_module(exit_stack, "benchmarks.bare_proxy", "proxy", source)
        stack = Stack(database_url, amqp_url, folder, ALLOWED_HOSTS="127.0.0.0/8")
        await stack.gateway.start()
        exit_stack.push_async_callback(stack.gateway.stop)
        address = str((await stack.gateway.event("serving"))["address"])
        http = await HttpConnection.open(address)
        exit_stack.push_async_callback(http.close)
        source_record = orjson.dumps({"name": "source", "uid": "source", "type": "prometheus", "url": source})
        await http.call(http.encode("POST", "/api/datasources", source_record), status=200)
        rows = []
        for streams in (1, _CONCURRENT):
            product, reference = await alternate(_concurrent_streams(address, streams), _concurrent_streams(bare, streams), count=3)
            label = f"{streams} concurrent streams of 10 MB through the proxy, to aiohttp alone"
            rows.append(Row("S7", label, "ms", median_ms(product), median_ms(reference), _TIME_GOAL))
        pid = stack.gateway.pid
        # The memory after the streams is the base, because it includes modules and caches that the first stream loads.
        added_mb = peak_memory(pid) - resident_memory(pid)
        # The goal is absolute, so the reference is 1 MB.
        return [*rows, Row("S7", f"MB that {_CONCURRENT} streams add to the gateway's memory", "MB", added_mb, 1, _MEMORY_GOAL_MB)]


def _concurrent_streams(address: str, streams: int) -> Round:
    """Return a round of one request over each of new connections; its figure is the seconds until the last response ends."""

    async def run_round() -> Sequence[float]:
        connections = [await HttpConnection.open(address) for _ in range(streams)]
        requests = [http.encode("GET", _PATH) for http in connections]
        started = time.perf_counter()
        await asyncio.gather(*(http.call_and_discard(request) for http, request in zip(connections, requests, strict=True)))
        seconds = time.perf_counter() - started
        for http in connections:
            await http.close()
        return [seconds]

    return run_round
