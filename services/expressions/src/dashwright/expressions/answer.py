"""The single entry of the service: the bytes of a request to the bytes of its answer. Knows no messaging."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import structlog

from dashwright.common import media
from dashwright.common.clock import Clock
from dashwright.common.errors import DashwrightError, TooManyRequests
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.observability import metrics
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import UNBOUNDED, MemoryBudget, Reservation
from dashwright.expressions.evaluation import Evaluation, evaluated
from dashwright.expressions.fetching import Fetched, fetch, within
from dashwright.expressions.formats import arrow, response
from dashwright.expressions.formats.codec import FRAME, PIECE, pieces
from dashwright.expressions.health import health
from dashwright.expressions.requests.request import Request, read
from dashwright.expressions.requests.validation import faults_of, validation_body
from dashwright.expressions.sources.answers import Answers
from dashwright.expressions.sources.directory import Directory, Sources
from dashwright.expressions.sql.engine import SqlEngine

_log = structlog.get_logger()

Outcome = TypeVar("Outcome")

_SMALL = 2_000
"""Bytes up to which a body is read on the event loop: of one long expression, that is work for a few milliseconds."""

_FEW = 1_000
"""Points of a query up to which expressions are evaluated on the event loop."""

_NEVER_BRIEF = frozenset({"resample", "sql"})
"""Kinds whose outcome may have more points than their inputs, or that wait for another process."""

_BODY_BYTES = 8
"""Bytes that one of a body takes while it is read, about."""

_AHEAD = 16 * 1024 * 1024
"""Bytes of a response that are encoded before they are read, at most."""

_MAY_NAME_SQL = (b'"sql"', b"\\u")
"""The word, or an escape that may spell it: where the body holds one, a statement may have to be read, which is no brief work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. ``pieces`` is a list where the body is small, else made while it is read."""

    status: int
    content_type: str
    pieces: AsyncIterator[bytes] | list[bytes]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an answer may cost, how many ``seconds`` its evaluation may take, and what time it is.

    ``sources`` finds the data sources, ``answers`` holds what they answered a moment ago; ``sql`` runs statements where that is served.
    ``memory`` is what all requests may hold together.
    ``threads`` are those of large evaluations, so that these keep no thread from the work that all share.
    """

    limits: Limits = field(default_factory=Limits)
    seconds: float = 25
    clock: Clock = field(default_factory=Clock)
    sources: Sources = field(default_factory=Directory)
    answers: Answers = field(default_factory=Answers)
    sql: SqlEngine | None = None
    threads: ThreadPoolExecutor | None = None
    memory: MemoryBudget = UNBOUNDED

    def close(self) -> None:
        """End statements at work with an error, and wait for large evaluations. No process and no thread is left."""
        if self.sql:
            self.sql.stop()
        if self.threads:
            self.threads.shutdown()


_DEFAULTS = Settings()


async def answer(
    body: bytes,
    context: QueryContext | None = None,
    settings: Settings | None = None,
    left: float = math.inf,
    memory: Reservation | None = None,
) -> Answer:
    """The answer to a request: 200, or 400 where the request is refused or a shown refId has an error.

    ``left``: the seconds that the caller still waits. ``memory`` counts what the answer holds until it was read.
    A refused request and a validation are always JSON, frames are Arrow streams for a client that accepts them.
    """
    context, settings = context or QueryContext(), settings or _DEFAULTS
    limits = _limits(settings, Deadline.of(settings.seconds, left), memory)
    try:
        if context.endpoint is QueryEndpoint.VALIDATION:
            work = partial(faults_of, body, context, settings.clock.now(), limits, settings.sql)
            faults = await _run(_is_large(body), limits, work)
            return _counted(Answer(200, media.JSON, [validation_body(faults)]))
        if context.endpoint is QueryEndpoint.HEALTH:
            status, told = await health(body, context, limits, settings.sources)
            return Answer(status, media.JSON, [told])
        evaluation = await _evaluate(body, context, settings, limits)
    except TooManyRequests:
        raise
    except DashwrightError as error:
        _log.info("query_refused", reason=error.message)
        return _counted(Answer(error.status, media.JSON, [response.classic_error(error)]))
    return _counted(encoded(evaluation, context.accept))


async def evaluate(body: bytes, context: QueryContext, settings: Settings, memory: Reservation | None = None) -> Evaluation:
    """Return what every shown refId of a request came to; ``memory`` counts what that holds.

    Raises BadRequest where the request is refused, TooLarge and TooManyRequests where it needs too much memory.
    """
    return await _evaluate(body, context, settings, _limits(settings, Deadline(settings.seconds), memory))


def _limits(settings: Settings, deadline: Deadline, memory: Reservation | None) -> Limits:
    return replace(settings.limits, deadline=deadline, memory=memory or settings.limits.memory)


async def _evaluate(body: bytes, context: QueryContext, settings: Settings, limits: Limits) -> Evaluation:
    large = _is_large(body)
    limits.memory.take(_BODY_BYTES * len(body))
    request = await _run(large, limits, partial(read, body, context, settings.clock.now(), limits, settings.sql))
    fetched = await fetch(request, context, limits, settings.sources, settings.answers)
    large = large or not _is_brief(request, fetched)
    async with AsyncExitStack() as held:
        if settings.sql and "sql" in request.kinds.values():
            async with within(limits.deadline):
                await held.enter_async_context(settings.sql.limiter.slot(context.org_id))
        work = partial(evaluated, request, fetched, limits, explain=context.explain)
        evaluation = await _run(large, limits, work, settings.threads)
    _check_response(evaluation, limits)
    for ref_id, result in evaluation.shown.items():
        if result.error and result.error.status == response.OURS:
            _log.error("ref_id_failed", ref_id=ref_id, exc_info=result.error)
    return evaluation


def _check_response(evaluation: Evaluation, limits: Limits) -> None:
    """Raises TooLarge where the response is, and TooManyRequests where a result lacked memory that others hold."""
    for result in evaluation.shown.values():
        if isinstance(result.error, TooManyRequests):
            raise TooManyRequests(result.error.message, retry_after=1)
    size = response.size_of(evaluation.shown)
    if size > limits.query_response_bytes:
        found = f"the response would have about {size} bytes"
        raise limits.refusal("query_response_bytes", found, "hide queries that only others read, reduce or resample, or ask for less")
    limits.memory.take(min(size, _AHEAD))


async def _run(large: bool, limits: Limits, work: Callable[[], Outcome], threads: ThreadPoolExecutor | None = None) -> Outcome:
    """Return the outcome of the work. Large work is done in a thread, which ends by its deadline when its caller is gone."""
    if not large:
        return work()
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, work)
    except asyncio.CancelledError:
        limits.deadline.end()
        raise


def _is_large(body: bytes) -> bool:
    return len(body) > _SMALL or any(sign in body for sign in _MAY_NAME_SQL)


def _is_brief(request: Request, fetched: Fetched) -> bool:
    """Whether evaluating is brief whatever the expressions say: no more than one item a query, because unions multiply them."""
    if not _NEVER_BRIEF.isdisjoint(request.kinds.values()):
        return False
    return all(len(result.frames) <= 1 and all(map(_is_single, result.frames)) for result in fetched.results.values())


def _is_single(frame: Frame) -> bool:
    if frame.rows > _FEW or len(frame.fields) > 2:
        return False
    return frame.rows <= 1 or [item.type for item in frame.fields[:1]] == [FieldType.TIME]


def encoded(evaluation: Evaluation, accept: str) -> Answer:
    """The answer in the format the client accepts."""
    shown = evaluation.shown
    if media.wants_arrow(accept):
        content_type, fragments = media.ARROW, arrow.fragments(shown)
    else:
        content_type, fragments = media.JSON, response.fragments(shown, evaluation.explanation)
    cut = pieces(fragments)
    return Answer(response.status_of(shown), content_type, list(cut) if _is_small(shown) else _yielding(cut))


def _is_small(shown: Mapping[str, response.Result]) -> bool:
    # Very many frames are not even counted one by one.
    frames = sum(len(result.frames) for result in shown.values())
    return frames * FRAME <= PIECE and sum(result.values for result in shown.values()) <= PIECE


def _counted(answered: Answer) -> Answer:
    metrics.queries_evaluated.labels(str(answered.status)).inc()
    return answered


async def _yielding(encoded: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, with a turn for others on the event loop after each."""
    for piece in encoded:
        yield piece
        await asyncio.sleep(0)
