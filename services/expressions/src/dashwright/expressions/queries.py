"""The single entry of the service: evaluates the body of a request and encodes the reply."""

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
from dashwright.common.messaging.rpc import Reply
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.observability import metrics
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import UNBOUNDED, MemoryBudget, Reservation
from dashwright.expressions.evaluation import Evaluation, evaluate_fetched
from dashwright.expressions.fetching import FetchedResults, fetch, within
from dashwright.expressions.formats import arrow, response
from dashwright.expressions.formats.codec import FRAME, PIECE, pieces
from dashwright.expressions.health import health
from dashwright.expressions.requests.request import Request, parse_request
from dashwright.expressions.requests.validation import find_faults, validation_body
from dashwright.expressions.sources.directory import Directory, Sources
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sql.engine import SqlEngine

_log = structlog.get_logger()

Outcome = TypeVar("Outcome")

#: Bytes up to which a body is parsed on the event loop; one long expression of that size takes a few milliseconds.
_SMALL = 2_000

#: Points of a query up to which expressions are evaluated on the event loop.
_FEW = 1_000

#: Kinds of expressions that may return more points than they read, or that wait for another process.
_NEVER_BRIEF = frozenset({"resample", "sql"})

#: Approximate bytes of memory that one byte of a body takes while the body is parsed.
_BODY_BYTES = 8

#: Most bytes of a response that are encoded ahead of the reader.
_AHEAD = 16 * 1024 * 1024

#: The type ``sql``, or an escape that may spell it: parsing a statement is never brief.
_MAY_NAME_SQL = (b'"sql"', b"\\u")


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The limits and the collaborators of all queries of a worker."""

    limits: Limits = field(default_factory=Limits)
    seconds: float = 25  #: Longest time of one evaluation.
    clock: Clock = field(default_factory=Clock)
    sources: Sources = field(default_factory=Directory)  #: Finds data sources.
    cache: QueryCache = field(default_factory=QueryCache)  #: Recent results of data sources.
    sql: SqlEngine | None = None  #: Runs statements; None if the feature is off.
    threads: ThreadPoolExecutor | None = None  #: For large evaluations only, so that other work always finds a thread.
    memory: MemoryBudget = UNBOUNDED  #: Shared by all requests.

    def close(self) -> None:
        """Cancel running statements and wait for large evaluations; end all processes and threads."""
        if self.sql:
            self.sql.stop()
        if self.threads:
            self.threads.shutdown()


_DEFAULTS = QuerySettings()


async def respond(
    body: bytes,
    context: QueryContext | None = None,
    settings: QuerySettings | None = None,
    left: float = math.inf,
    memory: Reservation | None = None,
) -> Reply:
    """Return the reply to a request, with ``status`` and ``content_type`` as headers.

    The status is 200, or 400 if the request is refused or a shown refId has an error. A refusal and a validation are JSON;
    frames are Arrow streams if the client accepts them. ``left`` is the number of seconds until the caller's deadline.
    ``memory`` counts what the reply holds until it was sent. Raises TooManyRequests if the memory of all requests is used up.
    """
    context, settings = context or QueryContext(), settings or _DEFAULTS
    limits = _limits(settings, Deadline.of(settings.seconds, left), memory)
    try:
        if context.endpoint is QueryEndpoint.VALIDATION:
            work = partial(find_faults, body, context, settings.clock.now(), limits, settings.sql)
            faults = await _run(_is_large(body), limits, work)
            return _counted(_reply(200, media.JSON, validation_body(faults)))
        if context.endpoint is QueryEndpoint.HEALTH:
            status, state = await health(body, context, limits, settings.sources)
            return _reply(status, media.JSON, state)
        evaluation = await _evaluate(body, context, settings, limits)
    except TooManyRequests:
        raise
    except DashwrightError as error:
        _log.info("query_refused", reason=error.message)
        return _counted(_reply(error.status, media.JSON, response.classic_error(error)))
    return _counted(encode_reply(evaluation, context.accept))


async def evaluate(body: bytes, context: QueryContext, settings: QuerySettings, memory: Reservation | None = None) -> Evaluation:
    """Return the result of every shown refId of a request; ``memory`` counts what the results hold.

    Raises BadRequest if the request is refused, TooLarge or TooManyRequests if it needs too much memory.
    """
    return await _evaluate(body, context, settings, _limits(settings, Deadline(settings.seconds), memory))


def _limits(settings: QuerySettings, deadline: Deadline, memory: Reservation | None) -> Limits:
    return replace(settings.limits, deadline=deadline, memory=memory or settings.limits.memory)


async def _evaluate(body: bytes, context: QueryContext, settings: QuerySettings, limits: Limits) -> Evaluation:
    large = _is_large(body)
    limits.memory.take(_BODY_BYTES * len(body))
    request = await _run(large, limits, partial(parse_request, body, context, settings.clock.now(), limits, settings.sql))
    fetched = await fetch(request, context, limits, settings.sources, settings.cache)
    large = large or not _is_brief(request, fetched)
    async with AsyncExitStack() as held:
        # The slot is taken before the thread, so that statements that wait for a child process block no thread.
        if settings.sql and "sql" in request.kinds.values():
            async with within(limits.deadline):
                await held.enter_async_context(settings.sql.limiter.slot(context.org_id))
        work = partial(evaluate_fetched, request, fetched, limits, explain=context.explain)
        evaluation = await _run(large, limits, work, settings.threads)
    _check_response(evaluation, limits)
    for ref_id, result in evaluation.shown.items():
        if result.error and result.error.status == response.INTERNAL:
            _log.error("ref_id_failed", ref_id=ref_id, exc_info=result.error)
    return evaluation


def _check_response(evaluation: Evaluation, limits: Limits) -> None:
    """Raise TooLarge if the response is too large, and TooManyRequests if a refId lacked memory that other requests hold."""
    for result in evaluation.shown.values():
        if isinstance(result.error, TooManyRequests):
            raise TooManyRequests(result.error.message, retry_after=1)
    size = response.size_of(evaluation.shown)
    if size > limits.query_response_bytes:
        found = f"the response would have about {size} bytes"
        raise limits.refusal("query_response_bytes", found, "hide queries that only others read, reduce or resample, or ask for less")
    limits.memory.take(min(size, _AHEAD))


async def _run(large: bool, limits: Limits, work: Callable[[], Outcome], threads: ThreadPoolExecutor | None = None) -> Outcome:
    """Return the outcome of the work, which runs in a thread if it is large.

    A thread cannot be cancelled. If the caller is cancelled, the deadline ends and with it the thread.
    """
    if not large:
        return work()
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, work)
    except asyncio.CancelledError:
        limits.deadline.end()
        raise


def _is_large(body: bytes) -> bool:
    return len(body) > _SMALL or any(sign in body for sign in _MAY_NAME_SQL)


def _is_brief(request: Request, fetched: FetchedResults) -> bool:
    """Return whether evaluating is brief for any expressions: one item a query at most, because unions multiply items."""
    if not _NEVER_BRIEF.isdisjoint(request.kinds.values()):
        return False
    return all(len(result.frames) <= 1 and all(map(_is_single, result.frames)) for result in fetched.results.values())


def _is_single(frame: Frame) -> bool:
    if frame.rows > _FEW or len(frame.fields) > 2:
        return False
    return frame.rows <= 1 or [item.type for item in frame.fields[:1]] == [FieldType.TIME]


def encode_reply(evaluation: Evaluation, accept: str) -> Reply:
    """Return the results in the format that ``accept`` asks for; small ones as bytes, others in pieces encoded while they are sent."""
    shown = evaluation.shown
    if media.wants_arrow(accept):
        content_type, fragments = media.ARROW, arrow.fragments(shown)
    else:
        content_type, fragments = media.JSON, response.fragments(shown, evaluation.explanation)
    cut = pieces(fragments)
    return _reply(response.status_of(shown), content_type, b"".join(cut) if _is_small(shown) else _yielding(cut))


def _is_small(shown: Mapping[str, response.Result]) -> bool:
    # The product comes first: counting the values of very many frames one by one takes time itself.
    frames = sum(len(result.frames) for result in shown.values())
    return frames * FRAME <= PIECE and sum(result.values for result in shown.values()) <= PIECE


def _reply(status: int, content_type: str, body: bytes | AsyncIterator[bytes]) -> Reply:
    return Reply(body, {"status": status, "content_type": content_type})


def _counted(reply: Reply) -> Reply:
    metrics.queries_evaluated.labels(str(reply.headers["status"])).inc()
    return reply


async def _yielding(encoded: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in encoded:
        yield piece
        # Other requests get the event loop between two pieces.
        await asyncio.sleep(0)
