"""Asks data sources for what the ordinary queries of a request want. A source that fails is an error of its refId."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.request import Request
from dashwright.expressions.response import Result
from dashwright.expressions.sources import testdata
from dashwright.expressions.sources.source import Source

SOURCES: dict[str, Source] = {testdata.TYPE: testdata.TestData()}
"""By data source type."""

SourceOf = Callable[[SourceQuery], Source]
"""Which source answers a query. Raises BadRequest where none does."""

_BUILT_IN = frozenset({testdata.TYPE})
"""Sources that only compute: waiting for several of them at once gains nothing."""


@dataclass(slots=True)
class Fetched:
    """By refId: what each query answered, and the seconds it took."""

    results: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def served(query: SourceQuery) -> Source:
    source = SOURCES.get(query.datasource.type)
    if source is None:
        kind = query.datasource.type
        raise BadRequest(f"data source type {kind!r:.80} of query {query.ref_id} is not served; use {', '.join(SOURCES)}")
    return source


async def fetch(request: Request, limits: Limits, source_of: SourceOf = served) -> Fetched:
    fetched = Fetched()
    elsewhere = []
    for number, query in enumerate(request.sources.values()):
        if query.datasource.type in _BUILT_IN:
            if number:
                # A turn for others: what computes only never waits.
                await asyncio.sleep(0)
            await _fetch_one(query, source_of, request, limits, fetched)
        else:
            elsewhere.append(_fetch_one(query, source_of, request, limits, fetched))
    if elsewhere:
        await asyncio.gather(*elsewhere)
    return fetched


async def _fetch_one(query: SourceQuery, source_of: SourceOf, request: Request, limits: Limits, fetched: Fetched) -> None:
    started = time.perf_counter()
    fetched.results[query.ref_id] = await _result(query, source_of, request, limits)
    fetched.seconds[query.ref_id] = time.perf_counter() - started


async def _result(query: SourceQuery, source_of: SourceOf, request: Request, limits: Limits) -> Result:
    try:
        source = source_of(query)
    except BadRequest as error:
        return Result(error=error)
    try:
        limits.deadline.check()
        frames = await source.query(query, request.ranges[query.ref_id])
        for frame in frames:
            _check_size(frame, limits)
    except DashwrightError as error:
        failed = type(error)(f"failed to execute query [{query.ref_id}]: {error.message}", message_id="sse.dataQueryError")
        failed.__cause__ = error
        return Result(error=failed)
    return Result(frames)


def _check_size(frame: Frame, limits: Limits) -> None:
    """The other limits are those of the values that expressions read."""
    cells = frame.rows * sum(item.type is not FieldType.TIME for item in frame.fields)
    if cells > limits.query_points:
        raise limits.refusal("query_points", f"a frame has {cells} values", "ask for a shorter time range or a larger interval")
