"""Consumer of queries: takes requests from the queue and sends replies, large ones in chunks."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import fields, replace
from time import perf_counter
from typing import Final

import structlog

from dashwright.common.errors import BadRequest, DeadlineExceeded
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import SQL_FEATURE, Settings
from dashwright.expressions import queries
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import MemoryBudget
from dashwright.expressions.heap_trimmer import HeapTrimmer
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sources.registry import SourceRegistry, SourceResolver
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.variables.option_cache import OptionCache

log = structlog.get_logger()

_MAX_WAITING_QUERIES: Final = 512
#: Health checks only wait for data sources. Validations need processor time, so few run concurrently.
_HEALTH_SLOTS: Final = 8
_VALIDATION_SLOTS: Final = 2
#: The maximum number of waiting health checks, and of waiting validations. Both are brief and small.
_MAX_WAITING_CHECKS: Final = 64

#: The maximum number of threads: more than all queries, jobs and panels of pictures use. Threads are created on demand.
_MAX_THREADS: Final = 64


class QueryConsumer:
    """Consumer of query requests, which shares its slots fairly between organizations.

    It evaluates ``slots`` queries concurrently and takes ``waiting`` more from the queue, so that it can choose the next
    query fairly instead of by age. Health checks and validations have slots of their own.
    """

    def __init__(
        self,
        broker: Broker,
        signer: Signer,
        *,
        slots: int,
        waiting: int = _MAX_WAITING_QUERIES,
        settings: queries.QuerySettings | None = None,
    ) -> None:
        self._settings = settings or queries.QuerySettings()
        advice = "try again in a moment (settings DASHWRIGHT_QUERY_SLOTS and DASHWRIGHT_QUERY_WAITING)"
        seconds = self._settings.seconds
        evaluations = FairLimiter(slots, waiting=waiting, seconds=seconds, subject="queries", advice=advice)
        health = FairLimiter(_HEALTH_SLOTS, waiting=_MAX_WAITING_CHECKS, seconds=seconds, subject="health checks of data sources")
        validations = FairLimiter(_VALIDATION_SLOTS, waiting=_MAX_WAITING_CHECKS, seconds=seconds, subject="validations")
        self._limiters = {
            QueryEndpoint.QUERY: evaluations,
            QueryEndpoint.PANEL: evaluations,
            QueryEndpoint.HEALTH: health,
            QueryEndpoint.VALIDATION: validations,
            QueryEndpoint.VALIDATIONS: validations,
        }
        prefetch = sum(limiter.capacity for limiter in (evaluations, health, validations))
        self._server = RpcServer(broker, broker.topology.query, self._respond, signer, prefetch=prefetch)

    async def start(self) -> None:
        """Start to consume requests."""
        await self._server.start()

    async def stop(self, *, drain: float) -> None:
        """Stop consuming requests, and wait up to ``drain`` seconds for those that are being evaluated."""
        await self._server.stop(drain=drain)

    async def _respond(self, request: Request) -> Reply:
        """Return the reply to a request, after it got a slot. Raises DeadlineExceeded if that took too long."""
        start = perf_counter()
        try:
            context = QueryContext.from_headers(request.headers)
        except ValueError as error:
            raise BadRequest(f"the message names an endpoint that this worker does not know: {error}; update the worker") from error
        async with AsyncExitStack() as stack:
            memory = stack.enter_context(self._settings.memory.reservation(context.org_id))
            # Reserved before the wait for a slot, because the bodies of waiting requests use memory too.
            memory.reserve(len(request.body))
            await stack.enter_async_context(self._limiters[context.endpoint].slot(context.org_id))
            wait_seconds = perf_counter() - start
            remaining_seconds = request.deadline - self._settings.clock.seconds()
            if remaining_seconds <= 0:
                raise DeadlineExceeded("the caller's deadline passed before the query was begun; try again, or with a longer deadline")
            reply = await queries.respond(request.body, context, self._settings, remaining_seconds, memory)
            # A body in chunks is encoded while it is sent, and uses the slot and the memory until then.
            if not isinstance(reply.body, bytes):
                reply = replace(reply, body=_close_after(reply.body, stack.pop_all()))
        milliseconds = _milliseconds(perf_counter() - start)
        log.info("query_completed", status=reply.headers["status"], ms=milliseconds, waited=_milliseconds(wait_seconds))
        return reply


async def _close_after(chunks: AsyncIterator[bytes], stack: AsyncExitStack) -> AsyncIterator[bytes]:
    """Yield the chunks, and close the stack when the last chunk is sent or the reader is gone."""
    async with stack:
        async for chunk in chunks:
            yield chunk


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def query_settings(settings: Settings, sources: SourceResolver | None = None) -> queries.QuerySettings:
    """Return the settings of queries. Each limit is the setting of the same name; SQL statements need a feature.

    The default of ``sources`` has the built-in sources only. The caller closes the result.
    """
    # Deadline and memory are not settings, but belong to each request.
    limit_settings = {limit.name: getattr(settings, limit.name) for limit in fields(Limits) if limit.name not in ("deadline", "memory")}
    limits = Limits(**limit_settings)
    cache = QueryCache(max_bytes=settings.query_cache_bytes, seconds=settings.query_cache_seconds)
    # Without a cache of results, options are not cached either.
    option_seconds = settings.query_cache_seconds if settings.query_cache_bytes else 0
    sql = SqlEngine(limits, slots=settings.sql_slots) if SQL_FEATURE in settings.features else None
    return queries.QuerySettings(
        limits,
        settings.evaluation_seconds,
        sources=sources or SourceRegistry(),
        cache=cache,
        options=OptionCache(seconds=option_seconds),
        sql=sql,
        memory=MemoryBudget(settings.query_bytes, HeapTrimmer().trim_after),
        threads=ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="evaluation"),
    )
