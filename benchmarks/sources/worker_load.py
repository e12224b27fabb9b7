"""R7, R9 and R10: the memory of the worker, and the time of small requests next to large ones."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from benchmarks.measurement import Row, median_ms
from benchmarks.processes import peak_memory, resident_memory, start_service
from benchmarks.sources.services import WORKER, GatewayClient, source_stack, start_stub, values_of
from benchmarks.sources.workload import Workload, small_request

_MANY_SERIES: Final = Workload(10_000, 60)
_LONG_SERIES: Final = Workload(1_000, 1_000)
#: R7: workers, one after the other.
_WORKERS: Final = 3

#: R9: requests, how many are concurrent, and the time without requests after them.
_REQUESTS: Final = 100
_CONCURRENT: Final = 8
_IDLE_SECONDS: Final = 30
#: The default of QUERY_CACHE_BYTES, in MB.
_CACHE_MB: Final = 64 * 2**20 / 1e6

#: R10: large requests, each repeated; small requests of a round and their distance.
_BACKGROUND: Final = (Workload(10_000), _MANY_SERIES)
_SMALL_REQUESTS: Final = 200
_INTERVAL_SECONDS: Final = 0.05
_ROUNDS: Final = 5

# The memory of an idle worker is subtracted in R7 and R9, and is called *rest* in their rows.


async def one_request(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R7: the memory that one request adds to a new worker."""
    added_mb = []
    async with AsyncExitStack() as exit_stack:
        stub, stack = await start_stub(exit_stack, folder), source_stack(database_url, amqp_url, folder)
        gateway = await GatewayClient.start(exit_stack, stack, folder, stub)
        exit_stack.push_async_callback(stack.stop)
        for _ in range(_WORKERS):
            worker = await stack.add(WORKER)
            idle_mb = resident_memory(worker.pid)
            assert len(values_of(_MANY_SERIES, await gateway.call(_MANY_SERIES))) == _MANY_SERIES.series
            added_mb.append(peak_memory(worker.pid) - idle_mb)
            await worker.stop()
    return [
        Row(
            "R7",
            f"{_MANY_SERIES.series:,} series x {_MANY_SERIES.points}: peak above rest, to 60 MB",
            "MB",
            statistics.median(added_mb),
            60,
            1,
        )
    ]


async def many_requests(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R9: the memory that many large requests add to a worker, at its peak and some time later."""
    async with AsyncExitStack() as exit_stack:
        stub, stack = await start_stub(exit_stack, folder), source_stack(database_url, amqp_url, folder)
        gateway = await GatewayClient.start(exit_stack, stack, folder, stub, connections=_CONCURRENT)
        exit_stack.push_async_callback(stack.stop)
        worker = await stack.add(WORKER)
        idle_mb = resident_memory(worker.pid)
        await _send_large_requests(gateway)
        peak_mb = peak_memory(worker.pid) - idle_mb
        await asyncio.sleep(_IDLE_SECONDS)
        remaining_mb = resident_memory(worker.pid) - idle_mb
    # A full cache, and an allowance for memory that the worker has not returned to the kernel.
    path, limit_mb = f"{_REQUESTS} large requests", _CACHE_MB + 40
    return [
        Row("R9", f"{_IDLE_SECONDS} s after {path}, above rest, to {limit_mb:.0f} MB", "MB", remaining_mb, limit_mb, 1),
        Row("R9", f"{path}: peak above rest, to 300 MB", "MB", peak_mb, 300, 1),
    ]


async def small_requests(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R10: ``1 + 2`` twenty times per second, while large requests run one after the other."""
    async with AsyncExitStack() as exit_stack:
        stub, stack = await start_stub(exit_stack, folder), source_stack(database_url, amqp_url, folder)
        await start_service(exit_stack, stack, WORKER, folder)
        gateway = await GatewayClient.start(exit_stack, stack, folder, stub, connections=len(_BACKGROUND) + _CONCURRENT)
        for workload in _BACKGROUND:
            await gateway.call(workload)
        rounds = [await _small_request_seconds(gateway) for _ in range(_ROUNDS)]
    path = f"1 + 2 next to {len(_BACKGROUND)} x 10,000 series, p95, to 50 ms"
    return [Row("R10", path, "ms", median_ms(rounds, 95), 50, 1)]


async def _send_large_requests(gateway: GatewayClient) -> None:
    """Send large requests of both shapes, several concurrently."""
    remaining = itertools.islice(itertools.cycle((_MANY_SERIES, _LONG_SERIES)), _REQUESTS)

    async def send_remaining() -> None:
        for workload in remaining:
            await gateway.call(workload)

    await asyncio.gather(*(send_remaining() for _ in range(_CONCURRENT)))


async def _small_request_seconds(gateway: GatewayClient) -> Sequence[float]:
    """Return the seconds of each small request from its planned start, so that a stall delays all requests planned in it."""
    is_finished = asyncio.Event()

    async def repeat(workload: Workload) -> None:
        while not is_finished.is_set():
            await gateway.call(workload)

    async def send_small_request(planned: float) -> float:
        await asyncio.sleep(planned - time.perf_counter())
        await gateway.send(small_request())
        return time.perf_counter() - planned

    background = [asyncio.create_task(repeat(workload)) for workload in _BACKGROUND]
    first_start = time.perf_counter() + _INTERVAL_SECONDS
    seconds = await asyncio.gather(*(send_small_request(first_start + index * _INTERVAL_SECONDS) for index in range(_SMALL_REQUESTS)))
    is_finished.set()
    await asyncio.gather(*background)
    return seconds
