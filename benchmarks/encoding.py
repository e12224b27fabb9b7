"""E8 and E9 inside one process: the engine compared with encoding, encoding compared with its library alone.

The last row measures how long the event loop is blocked.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial

import orjson

from benchmarks import points_source, series
from benchmarks.measurement import ROUNDS, Row, compared, median_of
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

_SHAPES = ((1, 1_000_000), (1000, 1000))
_STALL = 50.0
_TICK = 0.001
#: Ten million points are more than the default limit on a response allows.
_LARGE = QuerySettings(limits=Limits(query_response_bytes=1024**3))


async def as_json() -> list[Row]:
    """Measure E8: evaluating a ratio of every series to one total, compared with encoding the outcome."""
    rows = []
    for count, length in _SHAPES:
        created, one = series.frames(count, length, 1), series.frames(1, length, 2)
        shown = _evaluated(created, one)
        shape = f"{count:,} x {length:,}"
        rows += [
            await compared(
                "E8", f"convert, evaluate, present {shape}, to encode", 0.15, partial(_evaluated, created, one), partial(_json, shown)
            ),
            await compared("E8", f"encode {shape}, to bare orjson", 1.2, partial(_json, shown), partial(_bare, shown)),
        ]
    return rows


async def as_arrow() -> list[Row]:
    """Measure E9: the time of this process for the same frames as Arrow."""
    rows = []
    for count, length in _SHAPES:
        shown = series.frames(count, length, 1)
        rows.append(
            await compared("E9", f"encode {count:,} x {length:,} as Arrow, to JSON", 1 / 8, partial(_arrow, shown), partial(_json, shown))
        )
    return rows


def _evaluated(made: Sequence[Frame], one: Sequence[Frame]) -> Sequence[Frame]:
    nodes = [Node("A"), Node("B"), Node("C", Math.parse("$A / $B"))]
    outcome = evaluate(nodes, {"A": values_of(made), "B": values_of(one)}, Limits())["C"]
    assert isinstance(outcome, Outcome)
    return frames_of(outcome, "C")


def _json(frames: Sequence[Frame]) -> int:
    writer = codec.JsonFrameWriter()
    return sum(len(piece) for piece in codec.chunks(part for frame in frames for part in writer.write(frame)))


def _arrow(frames: Sequence[Frame]) -> int:
    writer = arrow.ArrowFrameWriter()
    return sum(len(piece) for piece in codec.chunks(part for frame in frames for part in writer.write(frame)))


def _bare(frames: Sequence[Frame]) -> int:
    """Return the columns as they are, with times in milliseconds and without metadata."""
    return sum(
        len(orjson.dumps([frame.fields[0].values // 1_000_000, frame.fields[1].values], option=orjson.OPT_SERIALIZE_NUMPY))
        for frame in frames
    )


async def responsiveness() -> list[Row]:
    """Measure E8: the longest time the event loop is blocked while ten million points are evaluated and encoded."""
    points_source.register()
    rows = []
    for shape in ((10, 1_000_000), (1, 10_000_000), (10_000, 1000)):
        for name, accept in (("JSON", ""), ("Arrow", media.ARROW)):
            body = points_source.request("$A / $B", *shape)
            await _longest_stall(body, accept)
            # What the source keeps for the next round would be gone in service; the collector need not look at it.
            gc.freeze()
            stalls = [[await _longest_stall(body, accept)] for _ in range(ROUNDS)]
            path = f"longest stall, {shape[0]:,} x {shape[1]:,} as {name}, to 50 ms"
            rows.append(Row("E8", path, "ms", median_of(stalls, 50) * 1000, _STALL, 1.0))
    return rows


async def _longest_stall(body: bytes, accept: str) -> float:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            started = time.perf_counter()
            await asyncio.sleep(_TICK)
            longest = max(longest, time.perf_counter() - started - _TICK)

    ticking = asyncio.create_task(tick())
    answered = await respond(body, QueryContext(accept=accept), _LARGE)
    assert answered.headers["status"] == 200
    assert isinstance(answered.body, AsyncIterator)
    async for _ in answered.body:
        pass
    ticking.cancel()
    return longest
