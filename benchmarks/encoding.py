"""E8 and E9 inside this process: the engine compared with encoding, and encoding compared with its library alone.

The last rows of E8 measure how long a query blocks the event loop.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial

import orjson

from benchmarks import points_source, series
from benchmarks.measurement import ROUNDS, Row, compare_functions, median_ms
from dashwright.common import media
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.evaluate import evaluate
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.values_to_frames import frames_of
from dashwright.expressions.formats import arrow, codec
from dashwright.expressions.queries import QuerySettings, respond

#: Numbers of series and of points of each.
_SHAPES = ((1, 1_000_000), (1000, 1000))
#: Numbers of series and of points of each, ten million in total, for the measurement of stalls.
_STALL_SHAPES = ((10, 1_000_000), (1, 10_000_000), (10_000, 1000))
_LONGEST_STALL_MS = 50.0
#: The interval of the task whose delay is the stall.
_TICK_SECONDS = 0.001
#: Ten million points are more than the default limit on a response allows.
_SETTINGS = QuerySettings(limits=Limits(query_response_bytes=1024**3))


async def json_encoding() -> list[Row]:
    """Measure E8: evaluating the ratio of every series to a single one, compared with encoding the result."""
    rows = []
    for count, length in _SHAPES:
        dividends, divisor = series.frames(count, length, 1), series.frames(1, length, 2)
        ratios = _evaluate(dividends, divisor)
        shape = f"{count:,} x {length:,}"
        rows += [
            await compare_functions(
                "E8",
                f"convert, evaluate, present {shape}, to encode",
                0.15,
                partial(_evaluate, dividends, divisor),
                partial(_encode_json, ratios),
            ),
            await compare_functions(
                "E8", f"encode {shape}, to bare orjson", 1.2, partial(_encode_json, ratios), partial(_encode_columns, ratios)
            ),
        ]
    return rows


async def arrow_encoding() -> list[Row]:
    """Measure E9: encoding frames as Arrow, compared with encoding them as JSON."""
    rows = []
    for count, length in _SHAPES:
        frames = series.frames(count, length, 1)
        path = f"encode {count:,} x {length:,} as Arrow, to JSON"
        rows.append(await compare_functions("E9", path, 1 / 8, partial(_encode_arrow, frames), partial(_encode_json, frames)))
    return rows


def _evaluate(dividends: Sequence[Frame], divisor: Sequence[Frame]) -> Sequence[Frame]:
    """Return the frames of the ratios: conversion from frames, evaluation, and conversion to frames."""
    nodes = [Node("A"), Node("B"), Node("C", Math.parse("$A / $B"))]
    outcome = evaluate(nodes, {"A": values_of(dividends), "B": values_of(divisor)}, Limits())["C"]
    assert isinstance(outcome, Outcome)
    return frames_of(outcome, "C")


def _encode_json(frames: Sequence[Frame]) -> int:
    """Encode frames as JSON by the product's encoder, and return the number of bytes."""
    writer = codec.JsonFrameWriter()
    return sum(len(chunk) for chunk in codec.chunks(part for frame in frames for part in writer.write(frame)))


def _encode_arrow(frames: Sequence[Frame]) -> int:
    """Encode frames as Arrow by the product's encoder, and return the number of bytes."""
    writer = arrow.ArrowFrameWriter()
    return sum(len(chunk) for chunk in codec.chunks(part for frame in frames for part in writer.write(frame)))


def _encode_columns(frames: Sequence[Frame]) -> int:
    """Encode only the columns, with times in milliseconds, by orjson alone. Return the number of bytes, as the product's encoders do."""
    return sum(
        len(orjson.dumps([frame.fields[0].values // 1_000_000, frame.fields[1].values], option=orjson.OPT_SERIALIZE_NUMPY))
        for frame in frames
    )


async def responsiveness() -> list[Row]:
    """Measure E8: the longest time for which the event loop is blocked while ten million points are evaluated and encoded."""
    points_source.register()
    rows = []
    for count, length in _STALL_SHAPES:
        for format_name, accept in (("JSON", ""), ("Arrow", media.ARROW)):
            body = points_source.request("$A / $B", count, length)
            # The first request, which is not measured, lets the source generate its frames.
            await _longest_stall_seconds(body, accept)
            # The source caches its frames. A service would have released them, so the garbage collector must not scan them here.
            gc.freeze()
            stalls = [[await _longest_stall_seconds(body, accept)] for _ in range(ROUNDS)]
            path = f"longest stall, {count:,} x {length:,} as {format_name}, to 50 ms"
            rows.append(Row("E8", path, "ms", median_ms(stalls), _LONGEST_STALL_MS, 1.0))
    return rows


async def _longest_stall_seconds(body: bytes, accept: str) -> float:
    """Return by how many seconds a periodic task was delayed at most while a query ran and its response was read."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            started = time.perf_counter()
            await asyncio.sleep(_TICK_SECONDS)
            longest = max(longest, time.perf_counter() - started - _TICK_SECONDS)

    ticker = asyncio.create_task(tick())
    reply = await respond(body, QueryContext(accept=accept), _SETTINGS)
    assert reply.headers["status"] == 200
    assert isinstance(reply.body, AsyncIterator)
    async for _ in reply.body:
        pass
    ticker.cancel()
    return longest
