"""Execution of a request's queries by their data sources. If a query fails, the error is the result of its refId."""

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
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.limit_checks import bytes_of_frames
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.formats.response import Result
from dashwright.expressions.requests.request import Request
from dashwright.expressions.sources.privacy import visible_error
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sources.registry import DataSource, SourceResolver
from dashwright.expressions.sources.source import PreparedQuery

#: Grafana's defaults of ``maxDataPoints``: for requests without expressions, and for requests with expressions.
DEFAULT_POINTS, DEFAULT_POINTS_WITH_EXPRESSIONS = 100, 5000


@dataclass(slots=True)
class FetchedResults:
    """The results of data source queries, by refId."""

    results: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  #: Duration of each query.
    types: dict[str, str] = field(default_factory=dict)  #: Type of each data source.
    cache_hits: dict[str, bool] = field(default_factory=dict)  #: Whether each result came from the cache or a running equal query.


async def fetch(request: Request, context: QueryContext, limits: Limits, sources: SourceResolver, cache: QueryCache) -> FetchedResults:
    """Return the results of all queries of a request, which run concurrently.

    Equal queries to one data source are sent once, also across requests, unless the context requires fresh results.
    """
    # A new object equals no other token, so that a fresh result is shared between the queries of this request only.
    fresh_token = object() if context.fresh else None
    batch = _QueryBatch(request, context, limits, cache, fresh_token)
    queries = list(request.source_queries.values())
    if not queries:
        return batch.fetched
    try:
        async with cancel_at(limits.deadline):
            await batch.run(queries, await sources.find(queries, context))
    except DeadlineExceeded as error:
        batch.add_missing_errors(queries, error)
    return batch.fetched


@asynccontextmanager
async def cancel_at(deadline: Deadline) -> AsyncIterator[None]:
    """Cancel the block at the deadline, and raise DeadlineExceeded."""
    try:
        async with asyncio.timeout(None if math.isinf(deadline.remaining_seconds) else deadline.remaining_seconds) as scope:
            yield
    except TimeoutError:
        if not scope.expired():
            raise
        # asyncio may cancel the block slightly before the deadline, when ``check`` would not raise yet.
        deadline.expire()
        deadline.check()


class _QueryBatch:
    """The queries of one request while they run."""

    def __init__(self, request: Request, context: QueryContext, limits: Limits, cache: QueryCache, fresh_token: object) -> None:
        self._context = context
        self.fetched = FetchedResults()
        self._request = request
        self._limits = limits
        self._cache = cache
        self._fresh_token = fresh_token
        has_expressions = len(request.source_queries) < len(request.nodes)
        self._default_points = DEFAULT_POINTS_WITH_EXPRESSIONS if has_expressions else DEFAULT_POINTS

    async def run(self, queries: Sequence[SourceQuery], data_sources: Sequence[DataSource | DashwrightError]) -> None:
        """Run the queries concurrently and record their results. A missing data source is the error of its query."""
        if len(queries) == 1:
            await self._fetch(queries[0], data_sources[0])
            return
        async with asyncio.TaskGroup() as group:
            for query, data_source in zip(queries, data_sources, strict=True):
                group.create_task(self._fetch(query, data_source))

    def add_missing_errors(self, queries: Sequence[SourceQuery], error: DeadlineExceeded) -> None:
        """Record the error for all queries that have no result yet."""
        for query in queries:
            self.fetched.results.setdefault(query.ref_id, Result(error=_query_error(query, error)))

    async def _fetch(self, query: SourceQuery, data_source: DataSource | DashwrightError) -> None:
        """Record the result and the duration of a query."""
        start = time.perf_counter()
        self.fetched.results[query.ref_id] = await self._result(query, data_source)
        self.fetched.seconds[query.ref_id] = time.perf_counter() - start

    async def _result(self, query: SourceQuery, data_source: DataSource | DashwrightError) -> Result:
        """Return the result of a query: its frames, or the error as the caller may see it."""
        if isinstance(data_source, DashwrightError):
            return Result(error=data_source)
        self.fetched.types[query.ref_id] = data_source.type
        try:
            self._limits.deadline.check()
            frames = await self._frames(query, data_source)
            _check_size(frames, self._limits)
            self._limits.memory.reserve(bytes_of_frames(frames))
        except TooManyRequests as error:
            # The whole request fails with this error, so it does not name the query.
            return Result(error=error)
        except DashwrightError as error:
            return Result(error=_query_error(query, visible_error(self._context, data_source.record, error)))
        return Result(frames)

    async def _frames(self, query: SourceQuery, data_source: DataSource) -> Sequence[Frame]:
        """Return the frames of a query, from the cache if its data source is a stored one."""
        time_range = self._request.time_ranges[query.ref_id]
        record = data_source.record
        # Results of built-in sources are never cached.
        if record is None:
            with self._limits.memory.nested() as memory:
                return await data_source.source.query(query, time_range, replace(self._limits, memory=memory))
        if query.max_data_points is None:
            query = query.model_copy(update={"max_data_points": self._default_points})
        prepared = data_source.source.prepare(query, time_range)
        key = record.org_id, record.id, record.uid, record.version, prepared.key
        frames, is_hit = await self._cache.get(key, lambda: _run_query(prepared, data_source, self._limits), fresh_token=self._fresh_token)
        self.fetched.cache_hits[query.ref_id] = is_hit
        metrics.source_answers.labels("hit" if is_hit else "miss").inc()
        return frames


async def _run_query(query: PreparedQuery, data_source: DataSource, limits: Limits) -> Sequence[Frame]:
    """Return the frames of a query that the cache does not have."""
    # Several requests may share the result, so the query has the deadline of its data source, not that of a request.
    assert data_source.record is not None
    origin = f"jsonData.timeout of the data source {data_source.record.name!r:.80}, or setting DASHWRIGHT_SOURCE_SECONDS"
    deadline = Deadline(data_source.timeout_seconds, origin=origin)
    start, outcome = time.perf_counter(), "failed"
    try:
        async with asyncio.timeout(data_source.asyncio_timeout) as scope:
            with limits.memory.nested() as memory:
                frames = await query.run(replace(limits, deadline=deadline, memory=memory))
            outcome = "answered"
            return frames
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise DeadlineExceeded(
            f"the data source {data_source.record.name!r:.80} did not respond within {data_source.timeout_seconds:g} s "
            "(jsonData.timeout of the data source, or setting DASHWRIGHT_SOURCE_SECONDS); ask for less, or allow it more time"
        ) from error
    finally:
        # After a timeout or cancellation, the query may still run in a thread, which this stops.
        deadline.expire()
        metrics.source_seconds.labels(data_source.type, outcome).observe(time.perf_counter() - start)


def _query_error(query: SourceQuery, error: DashwrightError) -> DashwrightError:
    """Return the error of a query with its refId in the message."""
    query_error = type(error)(f"failed to execute query [{query.ref_id}]: {error.message}", message_id="sse.dataQueryError")
    query_error.__cause__ = error
    return query_error


def _check_size(frames: Sequence[Frame], limits: Limits) -> None:
    """Raise TooLarge if a frame has too many values. Other limits are checked when expressions read the frames."""
    value_count = frames.max_value_count if isinstance(frames, FrameSet) else max(map(_value_count, frames), default=0)
    if value_count > limits.query_points:
        raise limits.refusal("query_points", f"a frame has {value_count} values", "ask for a shorter time range or a larger interval")


def _value_count(frame: Frame) -> int:
    """Return the number of values of a frame, without its times."""
    return frame.row_count * sum(field.type is not FieldType.TIME for field in frame.fields)
