"""Consumer of queries: takes requests from the queue and sends replies, large ones in pieces."""

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
from dashwright.expressions.sources.directory import Directory, Sources
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sql.engine import SqlEngine

log = structlog.get_logger()

_WAITING: Final = 512
_HEALTH_SLOTS: Final = 8
_VALIDATION_SLOTS: Final = 2
#: Health checks and validations that may wait. Both are brief and small.
_BESIDE_WAITING: Final = 64

#: More threads than queries, jobs and panels of pictures can use; each thread is created when it is first needed.
_THREADS: Final = 64


class QueryConsumer:
    """Takes requests from the queue and shares its slots between organizations.

    ``slots`` queries are evaluated concurrently, and ``waiting`` more are taken from the queue, so that a fair choice
    among organizations and not the order of the queue decides which is next. Health checks and validations have slots
    of their own.
    """

    def __init__(
        self, broker: Broker, signer: Signer, *, slots: int, waiting: int = _WAITING, settings: queries.QuerySettings | None = None
    ) -> None:
        self._settings = settings or queries.QuerySettings()
        advice = "try again in a moment (settings DASHWRIGHT_QUERY_SLOTS and DASHWRIGHT_QUERY_WAITING)"
        seconds = self._settings.seconds
        evaluations = FairLimiter(slots, waiting=waiting, seconds=seconds, subject="queries", advice=advice)
        health = FairLimiter(_HEALTH_SLOTS, waiting=_BESIDE_WAITING, seconds=seconds, subject="health checks of data sources")
        validations = FairLimiter(_VALIDATION_SLOTS, waiting=_BESIDE_WAITING, seconds=seconds, subject="validations")
        self._limiters = {
            QueryEndpoint.QUERY: evaluations,
            QueryEndpoint.PANEL: evaluations,
            QueryEndpoint.HEALTH: health,
            QueryEndpoint.VALIDATION: validations,
        }
        prefetch = sum(limiter.capacity for limiter in (evaluations, health, validations))
        self._server = RpcServer(broker, broker.topology.query, self._respond, signer, prefetch=prefetch)

    async def start(self) -> None:
        """Start to take requests."""
        await self._server.start()

    async def stop(self, *, drain: float) -> None:
        """Stop taking requests, and wait up to ``drain`` seconds for those being evaluated."""
        await self._server.stop(drain=drain)

    async def _respond(self, request: Request) -> Reply:
        started = perf_counter()
        try:
            context = QueryContext.of(request.headers)
        except ValueError as error:
            raise BadRequest(f"the message names an endpoint that this worker does not know: {error}; update the worker") from error
        async with AsyncExitStack() as held:
            memory = held.enter_context(self._settings.memory.reservation(context.org_id))
            memory.take(len(request.body))
            await held.enter_async_context(self._limiters[context.endpoint].slot(context.org_id))
            waited = perf_counter() - started
            left = request.deadline - self._settings.clock.seconds()
            if left <= 0:
                raise DeadlineExceeded("the caller's deadline passed before the query was begun; try again, or with a longer deadline")
            reply = await queries.respond(request.body, context, self._settings, left, memory)
            if not isinstance(reply.body, bytes):
                reply = replace(reply, body=_sent(reply.body, held.pop_all()))
        milliseconds = _milliseconds(perf_counter() - started)
        log.info("query_completed", status=reply.headers["status"], ms=milliseconds, waited=_milliseconds(waited))
        return reply


async def _sent(pieces: AsyncIterator[bytes], held: AsyncExitStack) -> AsyncIterator[bytes]:
    """Yield the pieces, and release ``held`` when the last one is sent or the reader is gone."""
    async with held:
        async for piece in pieces:
            yield piece


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def query_settings(settings: Settings, sources: Sources | None = None) -> queries.QuerySettings:
    """Return the settings of queries: every limit is the setting of its name, sql depends on its feature.

    Without ``sources`` only built-in sources are served. The caller closes the result.
    """
    named = {limit.name: getattr(settings, limit.name) for limit in fields(Limits) if limit.name not in ("deadline", "memory")}
    limits = Limits(**named)
    cache = QueryCache(max_bytes=settings.query_cache_bytes, seconds=settings.query_cache_seconds)
    sql = SqlEngine(limits, slots=settings.sql_slots) if SQL_FEATURE in settings.features else None
    return queries.QuerySettings(
        limits,
        settings.evaluation_seconds,
        sources=sources or Directory(),
        cache=cache,
        sql=sql,
        memory=MemoryBudget(settings.query_bytes, HeapTrimmer().after),
        threads=ThreadPoolExecutor(_THREADS, thread_name_prefix="evaluation"),
    )
