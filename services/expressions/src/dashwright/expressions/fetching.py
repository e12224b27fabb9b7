"""Fetching of a request's data from its sources. A source that fails is an error of its refId."""

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

#: ``maxDataPoints`` of a query that names none: alone, and in a request with expressions. Both are Grafana's defaults.
POINTS, POINTS_OF_EXPRESSIONS = 100, 5000


@dataclass(slots=True)
class FetchedResults:
    """The results of ordinary queries, by refId."""

    results: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  #: Duration of the query.
    types: dict[str, str] = field(default_factory=dict)  #: Type of the data source.
    cached: dict[str, bool] = field(default_factory=dict)  #: Whether the result came from the cache.


async def fetch(request: Request, context: QueryContext, limits: Limits, sources: Sources, cache: QueryCache) -> FetchedResults:
    """Return the results of all queries of a request, which run concurrently.

    Equal queries of one source are sent once, also across requests, unless this request wants ``fresh`` results.
    """
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
    """Cancel the block at the deadline, and raise the deadline's error."""
    try:
        async with asyncio.timeout(None if math.isinf(deadline.left) else deadline.left) as scope:
            yield
    except TimeoutError:
        if not scope.expired():
            raise
        deadline.end()
        deadline.check()


class _QueryBatch:
    """The queries of one request while they run."""

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
        """Record the error for all queries that have no result yet."""
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
            with self._limits.memory.extra() as memory:
                return await found.source.query(query, span, replace(self._limits, memory=memory))
        if query.max_data_points is None:
            query = query.model_copy(update={"max_data_points": self._points})
        key = record.org_id, record.id, record.uid, record.version, found.source.cache_key(query, span)
        frames, cached = await self._cache.get(key, lambda: _queried(query, span, found, self._limits), fresh=self._fresh)
        self.fetched.cached[query.ref_id] = cached
        metrics.source_answers.labels("hit" if cached else "miss").inc()
        return frames


async def _queried(query: SourceQuery, span: TimeRange, found: DataSource, limits: Limits) -> Sequence[Frame]:
    # Several requests may share the result, so the query has the deadline of its source; each waiter has its own.
    assert found.record is not None
    deadline = Deadline(found.seconds)
    started, outcome = time.perf_counter(), "failed"
    try:
        async with asyncio.timeout(found.wait) as scope:
            with limits.memory.extra() as memory:
                frames = await found.source.query(query, span, replace(limits, deadline=deadline, memory=memory))
            outcome = "answered"
            return frames
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise DeadlineExceeded(
            f"the data source {found.record.name!r:.80} did not respond within {found.seconds:g} s (jsonData.timeout of the data source, "
            "or setting DASHWRIGHT_SOURCE_SECONDS); ask for less, or allow it more time"
        ) from error
    finally:
        # Ends work that the source left running in a thread.
        deadline.end()
        metrics.source_seconds.labels(found.type, outcome).observe(time.perf_counter() - started)


def _failed(query: SourceQuery, error: DashwrightError) -> DashwrightError:
    failed = type(error)(f"failed to execute query [{query.ref_id}]: {error.message}", message_id="sse.dataQueryError")
    failed.__cause__ = error
    return failed


def _check_size(frame: Frame, limits: Limits) -> None:
    """Raise TooLarge if a frame has too many values. The other limits apply to the values that expressions read."""
    cells = frame.rows * sum(item.type is not FieldType.TIME for item in frame.fields)
    if cells > limits.query_points:
        raise limits.refusal("query_points", f"a frame has {cells} values", "ask for a shorter time range or a larger interval")
