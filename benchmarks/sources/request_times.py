"""R1 to R6 and R8: the time of whole requests over data sources, compared with plain programs on the same data."""

import asyncio
import gc
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import aiohttp
import asyncpg

from benchmarks.measurement import Round, Row, in_turns, median_of
from benchmarks.processes import start_service
from benchmarks.sources import postgres_tables
from benchmarks.sources.plain import PlainPostgres, PlainPrometheus
from benchmarks.sources.services import WORKER, Product, stack_of, start_stub, values_of
from benchmarks.sources.workload import SPACED, Work, postgres_request

Call = Callable[[Work], Awaitable[bytes]]

#: Calls per round for fewer than ``_MANY`` series, for more, and for more from PostgreSQL.
_CALLS: Final = 5
_CALLS_OF_MANY: Final = 3
_CALLS_OF_MANY_ROWS: Final = 1
_MANY: Final = 10_000

_RULE: Final = Work(10, 60)
_RULES: Final = 640
_CONCURRENT: Final = 16
#: Rules per second of an earlier version on two cores, times two.
_RATE: Final = 2 * 222


async def instant(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R1."""
    goals = {Work(1_000): 3.0, Work(10_000): 3.0}
    return await _to_plain("R1", goals, database_url, amqp_url, folder)


async def ranges(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R2."""
    goals = {Work(1_000, 60): 1.5, Work(10_000, 60): 1.2}
    return await _to_plain("R2", goals, database_url, amqp_url, folder)


async def long_ranges(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R3."""
    return await _to_plain("R3", {Work(100, 1_000): 1.2}, database_url, amqp_url, folder)


async def shown(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R4."""
    return await _to_plain("R4", {Work(1_000, 60, shown=True): 1.6}, database_url, amqp_url, folder)


async def rules(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R5: the time per request, with several concurrent ones."""
    async with AsyncExitStack() as opened:
        product, plain = await _opened(opened, database_url, amqp_url, folder, connections=_CONCURRENT)
        await _check(_RULE, product.call, plain.call)
        measured, reference = await in_turns(_together(product.call), _together(plain.call))
    each, path = median_of(measured, 50) * 1000, f"rules of {_RULE.series} series, {_CONCURRENT} concurrently"
    return [
        Row("R5", f"{path}, to {_RATE} a second", "ms", each, 1000 / _RATE, 1),
        Row("R5", f"{path}, to plain", "ms", each, median_of(reference, 50) * 1000, 4),
    ]


async def spaces(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R6: bodies with spaces and another order of members, compared with the usual ones."""
    works = [Work(1_000), Work(1_000, 60), Work(10_000, 60)]
    async with AsyncExitStack() as opened:
        product, plain = await _opened(opened, database_url, amqp_url, folder)
        return [await _spaces(work, product, plain) for work in works]


async def postgres(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure R8."""
    works = [
        *(Work(count, postgres_tables.POINTS) for count in postgres_tables.SERIES),
        Work(postgres_tables.SERIES[0], postgres_tables.POINTS, shown=True),
    ]
    async with AsyncExitStack() as opened:
        product, _ = await _opened(opened, database_url, amqp_url, folder)
        connection = await asyncpg.connect(database_url)
        opened.push_async_callback(connection.close)
        await product.add_source(await postgres_tables.create(connection, database_url))
        over, plain = product.over(postgres_request), PlainPostgres(connection)
        return [
            await _compared("R8", f"PostgreSQL, {_name(work)}", 1.5, work, over.call, plain.call, many=_CALLS_OF_MANY_ROWS)
            for work in works
        ]


async def _to_plain(name: str, goals: dict[Work, float], database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    async with AsyncExitStack() as opened:
        product, plain = await _opened(opened, database_url, amqp_url, folder)
        return [await _compared(name, f"{_name(work)}, to plain", goal, work, product.call, plain.call) for work, goal in goals.items()]


async def _opened(
    opened: AsyncExitStack, database_url: str, amqp_url: str, folder: Path, *, connections: int = 1
) -> tuple[Product, PlainPrometheus]:
    """Start the stub and the services; return the product and the plain program over the stub."""
    stub, stack = await start_stub(opened, folder), stack_of(database_url, amqp_url, folder)
    await start_service(opened, stack, WORKER, folder)
    product = await Product.open(opened, stack, folder, stub, connections=connections)
    plain = PlainPrometheus(await opened.enter_async_context(aiohttp.ClientSession()), stub)
    gc.collect()
    opened.callback(gc.unfreeze)
    gc.freeze()  # as the services do before they serve, so that collections of the plain program skip the imported modules
    return product, plain


async def _spaces(work: Work, product: Product, plain: PlainPrometheus) -> Row:
    spaced = Work(work.series, work.points, metric=SPACED)
    await _check(spaced, product.call, plain.call)
    measured, compact = await in_turns(_calls(product.call, spaced), _calls(product.call, work))
    path = f"{_name(work)}, with spaces, to compact"
    return Row("R6", path, "ms", median_of(measured, 50) * 1000, median_of(compact, 50) * 1000, 1.5)


async def _compared(name: str, path: str, goal: float, work: Work, product: Call, plain: Call, *, many: int = _CALLS_OF_MANY) -> Row:
    await _check(work, product, plain)
    measured, reference = await in_turns(_calls(product, work, many), _calls(plain, work, many))
    return Row(name, path, "ms", median_of(measured, 50) * 1000, median_of(reference, 50) * 1000, goal)


async def _check(work: Work, product: Call, plain: Call) -> None:
    """Raise AssertionError unless both return the same values with the same labels."""
    returned, expected = values_of(work, await product(work)), values_of(work, await plain(work))
    if returned != expected or len(returned) != work.series:
        raise AssertionError(f"{work}: {len(returned)} results of the product differ from {len(expected)} of the plain program")


def _calls(call: Call, work: Work, many: int = _CALLS_OF_MANY) -> Round:
    async def play() -> Sequence[float]:
        seconds = []
        for _ in range(many if work.series >= _MANY else _CALLS):
            started = time.perf_counter()
            await call(work)
            seconds.append(time.perf_counter() - started)
        return seconds

    return play


def _together(call: Call) -> Round:
    """Return a round of rules; its figure is the time per rule."""

    async def some(remaining: "itertools.repeat[None]") -> None:
        for _ in remaining:
            await call(_RULE)

    async def play() -> Sequence[float]:
        remaining = itertools.repeat(None, _RULES)
        started = time.perf_counter()
        await asyncio.gather(*(some(remaining) for _ in range(_CONCURRENT)))
        return [(time.perf_counter() - started) / _RULES]

    return play


def _name(work: Work) -> str:
    what = f"range of {work.points:,}" if work.points else "instant"
    if work.shown:
        return f"{what} as it is, {work.series:,} series"
    return f"{what}, {'reduce, ' if work.points else ''}threshold, {work.series:,} series"
