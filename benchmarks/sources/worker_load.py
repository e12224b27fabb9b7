"""R7, R9 and R10: the memory of the worker, and the time of small requests next to large ones."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from benchmarks.measurement import Row, median_of
from benchmarks.processes import peak_memory, resident_memory, start_service
from benchmarks.sources.services import WORKER, Product, stack_of, start_stub, values_of
from benchmarks.sources.workload import Work, small_request

_LARGE: Final = Work(10_000, 60)
_LONG: Final = Work(1_000, 1_000)
_WORKERS: Final = 3

_REQUESTS: Final = 100
_CONCURRENT: Final = 8
_REST_SECONDS: Final = 30
#: The default of QUERY_CACHE_BYTES, in MB.
_CACHE: Final = 64 * 2**20 / 1e6

_BACKGROUND: Final = (Work(10_000), _LARGE)
_PROBES: Final = 200
_PROBE_SECONDS: Final = 0.05
_ROUNDS: Final = 5


async def one_request(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R7: new workers, each with one request."""
    above = []
    async with AsyncExitStack() as opened:
        stub, stack = await start_stub(opened, folder), stack_of(database_url, amqp_url, folder)
        product = await Product.open(opened, stack, folder, stub)
        opened.push_async_callback(stack.stop)
        for _ in range(_WORKERS):
            worker = await stack.add(WORKER)
            rest = resident_memory(worker.pid)
            assert len(values_of(_LARGE, await product.call(_LARGE))) == _LARGE.series
            above.append(peak_memory(worker.pid) - rest)
            await worker.stop()
    return [Row("R7", f"{_LARGE.series:,} series x {_LARGE.points}: peak above rest, to 60 MB", "MB", statistics.median(above), 60, 1)]


async def many_requests(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R9: many large requests, and what remains of their memory."""
    async with AsyncExitStack() as opened:
        stub, stack = await start_stub(opened, folder), stack_of(database_url, amqp_url, folder)
        product = await Product.open(opened, stack, folder, stub, connections=_CONCURRENT)
        opened.push_async_callback(stack.stop)
        worker = await stack.add(WORKER)
        rest = resident_memory(worker.pid)
        await _requests(product)
        peak = peak_memory(worker.pid) - rest
        await asyncio.sleep(_REST_SECONDS)
        remaining = resident_memory(worker.pid) - rest
    path, limit = f"{_REQUESTS} large requests", _CACHE + 40
    return [
        Row("R9", f"{_REST_SECONDS} s after {path}, above rest, to {limit:.0f} MB", "MB", remaining, limit, 1),
        Row("R9", f"{path}: peak above rest, to 300 MB", "MB", peak, 300, 1),
    ]


async def small_requests(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R10: ``1 + 2`` twenty times per second, while large requests run one after the other."""
    async with AsyncExitStack() as opened:
        stub, stack = await start_stub(opened, folder), stack_of(database_url, amqp_url, folder)
        await start_service(opened, stack, WORKER, folder)
        product = await Product.open(opened, stack, folder, stub, connections=len(_BACKGROUND) + _CONCURRENT)
        for work in _BACKGROUND:
            await product.call(work)
        rounds = [await _probed(product) for _ in range(_ROUNDS)]
    path = f"1 + 2 next to {len(_BACKGROUND)} x 10,000 series, p95, to 50 ms"
    return [Row("R10", path, "ms", median_of(rounds, 95) * 1000, 50, 1)]


async def _requests(product: Product) -> None:
    """Send large requests of both shapes, several concurrently."""
    remaining = itertools.islice(itertools.cycle((_LARGE, _LONG)), _REQUESTS)

    async def some() -> None:
        for work in remaining:
            await product.call(work)

    await asyncio.gather(*(some() for _ in range(_CONCURRENT)))


async def _probed(product: Product) -> Sequence[float]:
    """Return the seconds of each small request from its planned start, so that a stall counts for all requests in it."""
    ended = asyncio.Event()

    async def repeat(work: Work) -> None:
        while not ended.is_set():
            await product.call(work)

    async def probe(planned: float) -> float:
        await asyncio.sleep(planned - time.perf_counter())
        await product.send(small_request())
        return time.perf_counter() - planned

    background = [asyncio.create_task(repeat(work)) for work in _BACKGROUND]
    begin = time.perf_counter() + _PROBE_SECONDS
    seconds = await asyncio.gather(*(probe(begin + index * _PROBE_SECONDS) for index in range(_PROBES)))
    ended.set()
    await asyncio.gather(*background)
    return seconds
