"""Asks data sources for what the ordinary queries of a request want. A source that fails is an error of its refId."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from dashwright.common.errors import DashwrightError, DeadlineExceeded, TooManyRequests
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.common.observability import metrics
from dashwright.expressions.engine.bounds import bytes_of_frame
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.response import Result
from dashwright.expressions.requests.request import Request
from dashwright.expressions.sources.directory import DataSource, Sources
from dashwright.expressions.sources.privacy import seen_by
from dashwright.expressions.sources.query_cache import QueryCache

POINTS, POINTS_OF_EXPRESSIONS = 100, 5000
"""``maxDataPoints`` of a query that names none: alone, and in a request with expressions, as clients know them."""


@dataclass(slots=True)
class FetchedResults:
    """By refId: what each query answered, the seconds it took, its data source's type, and whether the answer was there already."""

    results: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    cached: dict[str, bool] = field(default_factory=dict)


async def fetch(request: Request, context: QueryContext, limits: Limits, sources: Sources, cache: QueryCache) -> FetchedResults:
    """All at once. Equal queries of one source are asked once, also beside other requests unless this one wants to be ``fresh``."""
    fetching = _QueryBatch(request, context, limits, cache, object() if context.fresh else None)
    queries = list(request.sources.values())
    if not queries:
        return fetching.fetched
    try:
        async with within(limits.deadline):
            await fetching.all(queries, await sources.find(queries, context))
    except DeadlineExceeded as error:
        fetching.end(queries, error)
    return fetching.fetched


@asynccontextmanager
async def within(deadline: Deadline) -> AsyncIterator[None]:
    """Cancels what waits beyond the deadline, and raises its error."""
    try:
        async with asyncio.timeout(None if math.isinf(deadline.left) else deadline.left) as scope:
            yield
    except TimeoutError:
        if not scope.expired():
            raise
        deadline.end()
        deadline.check()


class _QueryBatch:
    """The queries of one request on their way."""

    def __init__(self, request: Request, context: QueryContext, limits: Limits, cache: QueryCache, fresh: object) -> None:
        self._context = context
        self.fetched = FetchedResults()
        self._request = request
        self._limits = limits
        self._cache = cache
        self._fresh = fresh
        self._points = POINTS if len(request.sources) == len(request.nodes) else POINTS_OF_EXPRESSIONS

    async def all(self, queries: Sequence[SourceQuery], found: Sequence[DataSource | DashwrightError]) -> None:
        first, *others = zip(queries, found, strict=True)
        if not others:
            await self._one(*first)
            return
        async with asyncio.TaskGroup() as group:
            for each in (first, *others):
                group.create_task(self._one(*each))

    def end(self, queries: Sequence[SourceQuery], error: DeadlineExceeded) -> None:
        """What has not answered yet does not."""
        for query in queries:
            self.fetched.results.setdefault(query.ref_id, Result(error=_failed(query, error)))

    async def _one(self, query: SourceQuery, found: DataSource | DashwrightError) -> None:
        started = time.perf_counter()
        self.fetched.results[query.ref_id] = await self._result(query, found)
        self.fetched.seconds[query.ref_id] = time.perf_counter() - started

    async def _result(self, query: SourceQuery, found: DataSource | DashwrightError) -> Result:
        if isinstance(found, DashwrightError):
            return Result(error=found)
        self.fetched.types[query.ref_id] = found.type
        try:
            self._limits.deadline.check()
            frames = await self._frames(query, found)
            for frame in frames:
                _check_size(frame, self._limits)
            self._limits.memory.take(sum(map(bytes_of_frame, frames)))
        except TooManyRequests as error:
            return Result(error=error)
        except DashwrightError as error:
            return Result(error=_failed(query, seen_by(self._context, found.record, error)))
        return Result(frames)

    async def _frames(self, query: SourceQuery, found: DataSource) -> Sequence[Frame]:
        span = self._request.ranges[query.ref_id]
        record = found.record
        if record is None:
            with self._limits.memory.beside() as memory:
                return await found.source.query(query, span, replace(self._limits, memory=memory))
        if query.max_data_points is None:
            query = query.model_copy(update={"max_data_points": self._points})
        key = record.org_id, record.id, record.uid, record.version, found.source.cache_key(query, span)
        frames, cached = await self._cache.get(key, lambda: _asked(query, span, found, self._limits), fresh=self._fresh)
        self.fetched.cached[query.ref_id] = cached
        metrics.source_answers.labels("hit" if cached else "miss").inc()
        return frames


async def _asked(query: SourceQuery, span: TimeRange, found: DataSource, limits: Limits) -> Sequence[Frame]:
    """The answer may be for several requests, so its deadline is the source's own; who waits for it has another one."""
    assert found.record is not None
    deadline = Deadline(found.seconds)
    started, outcome = time.perf_counter(), "failed"
    try:
        async with asyncio.timeout(found.wait) as scope:
            with limits.memory.beside() as memory:
                frames = await found.source.query(query, span, replace(limits, deadline=deadline, memory=memory))
            outcome = "answered"
            return frames
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise DeadlineExceeded(
            f"the data source {found.record.name!r:.80} did not answer within {found.seconds:g} s (jsonData.timeout of the data source, "
            "or setting DASHWRIGHT_SOURCE_SECONDS); ask for less, or allow it more time"
        ) from error
    finally:
        # What it left behind in a thread ends, too.
        deadline.end()
        metrics.source_seconds.labels(found.type, outcome).observe(time.perf_counter() - started)


def _failed(query: SourceQuery, error: DashwrightError) -> DashwrightError:
    failed = type(error)(f"failed to execute query [{query.ref_id}]: {error.message}", message_id="sse.dataQueryError")
    failed.__cause__ = error
    return failed


def _check_size(frame: Frame, limits: Limits) -> None:
    """The other limits are those of the values that expressions read."""
    cells = frame.rows * sum(item.type is not FieldType.TIME for item in frame.fields)
    if cells > limits.query_points:
        raise limits.refusal("query_points", f"a frame has {cells} values", "ask for a shorter time range or a larger interval")
