"""R1 to R6 and R8: the time of whole requests over data sources, compared with plain programs on the same data."""

import asyncio
import gc
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
import asyncpg

from benchmarks.measurement import Round, Row, alternate, median_ms, sequential_calls
from benchmarks.processes import start_service
from benchmarks.sources import postgres_tables
from benchmarks.sources.plain import PlainPostgres, PlainPrometheus
from benchmarks.sources.services import WORKER, GatewayClient, source_stack, start_stub, values_of
from benchmarks.sources.workload import SPACED, Workload, postgres_request

Call = Callable[[Workload], Awaitable[bytes]]
"""Sends the request of a workload and returns the body of the response."""

#: Calls of a round. Workloads of 10,000 series have fewer, from PostgreSQL still fewer, because they are slow.
_CALLS: Final = 5
_CALLS_OF_MANY_SERIES: Final = 3
_CALLS_OF_MANY_ROWS: Final = 1
_MANY_SERIES: Final = 10_000

#: R5: the query of an alert rule, the rules of a round, and how many are evaluated concurrently.
_RULE: Final = Workload(10, 60)
_RULES: Final = 640
_CONCURRENT_RULES: Final = 16
#: The goal in rules per second: twice the rate of an earlier version on two cores.
_RATE: Final = 2 * 222


async def instant(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R1: instant queries with a threshold."""
    goals = {Workload(1_000): 3.0, Workload(10_000): 3.0}
    return await _compare_with_plain("R1", goals, database_url, amqp_url, folder)


async def ranges(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R2: ranges of many short series with a mean and a threshold."""
    goals = {Workload(1_000, 60): 1.5, Workload(10_000, 60): 1.2}
    return await _compare_with_plain("R2", goals, database_url, amqp_url, folder)


async def long_ranges(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R3: ranges of few long series with a mean and a threshold."""
    return await _compare_with_plain("R3", {Workload(100, 1_000): 1.2}, database_url, amqp_url, folder)


async def returned_series(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R4: a range whose series are returned."""
    return await _compare_with_plain("R4", {Workload(1_000, 60, returns_series=True): 1.6}, database_url, amqp_url, folder)


async def rules(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R5: the time per alert rule, with several concurrent ones."""
    async with AsyncExitStack() as exit_stack:
        product, plain = await _start(exit_stack, database_url, amqp_url, folder, connections=_CONCURRENT_RULES)
        await _check(_RULE, product.call, plain.call)
        product_seconds, plain_seconds = await alternate(_concurrent_rules(product.call), _concurrent_rules(plain.call))
    rule_ms, path = median_ms(product_seconds), f"rules of {_RULE.series} series, {_CONCURRENT_RULES} concurrently"
    return [
        Row("R5", f"{path}, to {_RATE} a second", "ms", rule_ms, 1000 / _RATE, 1),
        Row("R5", f"{path}, to plain", "ms", rule_ms, median_ms(plain_seconds), 4),
    ]


async def spaces(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R6: bodies with spaces and another order of members, compared with the compact bodies that Prometheus writes."""
    workloads = [Workload(1_000), Workload(1_000, 60), Workload(10_000, 60)]
    async with AsyncExitStack() as exit_stack:
        product, plain = await _start(exit_stack, database_url, amqp_url, folder)
        return [await _spaces_row(workload, product, plain) for workload in workloads]


async def postgres(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R8: series in tables of PostgreSQL."""
    workloads = [
        *(Workload(count, postgres_tables.POINTS) for count in postgres_tables.SERIES),
        Workload(postgres_tables.SERIES[0], postgres_tables.POINTS, returns_series=True),
    ]
    async with AsyncExitStack() as exit_stack:
        product, _ = await _start(exit_stack, database_url, amqp_url, folder)
        connection = await asyncpg.connect(database_url)
        exit_stack.push_async_callback(connection.close)
        await product.add_source(await postgres_tables.create(connection, database_url))
        over_postgres, plain = product.with_requests(postgres_request), PlainPostgres(connection)
        return [
            await _compared_row(
                "R8",
                f"PostgreSQL, {_label(workload)}",
                1.5,
                workload,
                over_postgres.call,
                plain.call,
                calls_of_many_series=_CALLS_OF_MANY_ROWS,
            )
            for workload in workloads
        ]


async def _compare_with_plain(name: str, goals: dict[Workload, float], database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return a row for each workload over the stub of Prometheus, with its goal."""
    async with AsyncExitStack() as exit_stack:
        product, plain = await _start(exit_stack, database_url, amqp_url, folder)
        return [
            await _compared_row(name, f"{_label(workload)}, to plain", goal, workload, product.call, plain.call)
            for workload, goal in goals.items()
        ]


async def _start(
    exit_stack: AsyncExitStack, database_url: str, amqp_url: str, folder: Path, *, connections: int = 1
) -> tuple[GatewayClient, PlainPrometheus]:
    """Start the stub and the services. Return a client of the gateway, and the plain program over the stub."""
    stub, stack = await start_stub(exit_stack, folder), source_stack(database_url, amqp_url, folder)
    await start_service(exit_stack, stack, WORKER, folder)
    product = await GatewayClient.start(exit_stack, stack, folder, stub, connections=connections)
    plain = PlainPrometheus(await exit_stack.enter_async_context(aiohttp.ClientSession()), stub)
    gc.collect()
    exit_stack.callback(gc.unfreeze)
    # As the services do before they serve, so that garbage collections of the plain program skip the imported modules.
    gc.freeze()
    return product, plain


async def _spaces_row(workload: Workload, product: GatewayClient, plain: PlainPrometheus) -> Row:
    """Return the row of a workload with spaces, whose reference is the same workload without them."""
    workload_with_spaces = Workload(workload.series, workload.points, metric=SPACED)
    await _check(workload_with_spaces, product.call, plain.call)
    with_spaces, compact = await alternate(_calls(product.call, workload_with_spaces), _calls(product.call, workload))
    path = f"{_label(workload)}, with spaces, to compact"
    return Row("R6", path, "ms", median_ms(with_spaces), median_ms(compact), 1.5)


async def _compared_row(
    name: str, path: str, goal: float, workload: Workload, product: Call, plain: Call, *, calls_of_many_series: int = _CALLS_OF_MANY_SERIES
) -> Row:
    """Check that both sides return the same values, and return the row of their times."""
    await _check(workload, product, plain)
    product_seconds, plain_seconds = await alternate(
        _calls(product, workload, calls_of_many_series), _calls(plain, workload, calls_of_many_series)
    )
    return Row(name, path, "ms", median_ms(product_seconds), median_ms(plain_seconds), goal)


async def _check(workload: Workload, product: Call, plain: Call) -> None:
    """Raise AssertionError unless both return the same values with the same labels."""
    returned, expected = values_of(workload, await product(workload)), values_of(workload, await plain(workload))
    if returned != expected or len(returned) != workload.series:
        raise AssertionError(f"{workload}: {len(returned)} results of the product differ from {len(expected)} of the plain program")


def _calls(call: Call, workload: Workload, calls_of_many_series: int = _CALLS_OF_MANY_SERIES) -> Round:
    """Return a round of calls of a workload. If the workload has many series, their number is ``calls_of_many_series``."""
    return sequential_calls(partial(call, workload), calls_of_many_series if workload.series >= _MANY_SERIES else _CALLS)


def _concurrent_rules(call: Call) -> Round:
    """Return a round of alert rules, several of them concurrently; its figure is the seconds per rule."""

    async def evaluate_remaining(remaining: "itertools.repeat[None]") -> None:
        """Evaluate rules until the concurrent callers together have evaluated all."""
        for _ in remaining:
            await call(_RULE)

    async def run_round() -> Sequence[float]:
        remaining = itertools.repeat(None, _RULES)
        started = time.perf_counter()
        await asyncio.gather(*(evaluate_remaining(remaining) for _ in range(_CONCURRENT_RULES)))
        return [(time.perf_counter() - started) / _RULES]

    return run_round


def _label(workload: Workload) -> str:
    kind = f"range of {workload.points:,}" if workload.points else "instant"
    if workload.returns_series:
        return f"{kind} as it is, {workload.series:,} series"
    return f"{kind}, {'reduce, ' if workload.points else ''}threshold, {workload.series:,} series"
