"""Takes queries from the queue and sends their answers back, in pieces where they are large."""

from collections.abc import AsyncIterator
from dataclasses import fields
from time import perf_counter

import structlog

from dashwright.common.errors import BadRequest, DeadlineExceeded
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.asking import Asking
from dashwright.common.settings import SQL_FEATURE, Settings
from dashwright.expressions import answer
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.answers import Answers
from dashwright.expressions.sources.directory import Directory, Sources
from dashwright.expressions.sql.engine import SqlEngine

log = structlog.get_logger()


class QueryConsumer:
    """``slots``: queries evaluated at once. ``settings``: what each may cost, and where its data sources are found."""

    def __init__(self, broker: Broker, *, slots: int, settings: answer.Settings | None = None) -> None:
        self._settings = settings or answer.Settings()
        self._server = RpcServer(broker, broker.topology.query, self._answer, prefetch=slots)

    async def start(self) -> None:
        await self._server.start()

    async def stop(self, *, drain: float) -> None:
        await self._server.stop(drain=drain)

    async def _answer(self, request: Request) -> Reply:
        started = perf_counter()
        try:
            asking = Asking.of(request.headers)
        except ValueError as error:
            raise BadRequest(f"the message names a door that this worker does not know: {error}; update the worker") from error
        left = request.deadline - self._settings.clock.seconds()
        if left <= 0:
            raise DeadlineExceeded("the caller's deadline passed before the query was begun; ask again, or with a longer deadline")
        answered = await answer.answer(request.body, asking, self._settings, left)
        body: bytes | AsyncIterator[bytes] = b"".join(answered.pieces) if isinstance(answered.pieces, list) else answered.pieces
        log.info("query_answered", status=answered.status, ms=round((perf_counter() - started) * 1000, 3))
        return Reply(body, {"status": answered.status, "content_type": answered.content_type})


def answer_settings(settings: Settings, sources: Sources | None = None) -> answer.Settings:
    """Every limit is the setting of its name; sql where its feature is on. Without ``sources`` only the built-in ones answer.

    Who asks for them stops what they hold.
    """
    named = {limit.name: getattr(settings, limit.name) for limit in fields(Limits) if limit.name != "deadline"}
    limits = Limits(**named)
    answers = Answers(max_bytes=settings.query_cache_bytes, seconds=settings.query_cache_seconds)
    sql = SqlEngine(limits, slots=settings.sql_slots) if SQL_FEATURE in settings.features else None
    return answer.Settings(limits, settings.evaluation_seconds, sources=sources or Directory(), answers=answers, sql=sql)
