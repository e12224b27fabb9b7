"""Handling of query requests: the evaluation of a request's body, and the encoding of the reply."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
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
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.limit_checks import size_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import UNBOUNDED, MemoryBudget, Reservation
from dashwright.expressions.evaluation import Evaluation, evaluate_fetched
from dashwright.expressions.fetching import FetchedResults, cancel_at, fetch
from dashwright.expressions.formats import arrow, response
from dashwright.expressions.formats.codec import CHUNK_VALUES, chunks
from dashwright.expressions.health import health
from dashwright.expressions.requests.binding import Fault
from dashwright.expressions.requests.request import Request, parse_request
from dashwright.expressions.requests.validation import find_faults, validation_body
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sources.registry import SourceRegistry, SourceResolver
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.pipeline import read_steps
from dashwright.expressions.transformations.result import transform
from dashwright.expressions.variables.option_cache import OptionCache

_log = structlog.get_logger()

ReturnValue = TypeVar("ReturnValue")

#: The largest body in bytes that is parsed on the event loop, which takes a few milliseconds at most.
_MAX_BODY_BYTES_ON_LOOP = 2_000

#: The maximum number of points of a query whose expressions are evaluated on the event loop instead of in a thread.
_MAX_POINTS_ON_LOOP = 1_000

#: Types of expressions that may return more points than they read, or that wait for another process.
_TYPES_IN_THREADS = frozenset({"resample", "sql"})

#: Types of expressions that join the items of two inputs.
_TYPES_WITH_UNIONS = frozenset({"math"})

#: Approximate bytes of memory that parsing takes for each byte of a body.
_MEMORY_PER_BODY_BYTE = 8

#: The maximum number of encoded bytes of a response that wait for the gateway to read them.
_MAX_UNREAD_BYTES = 16 * 1024 * 1024

#: A body with a SQL statement contains the type ``sql``, or an escape that may spell it. Parsing a statement takes too long
#: for the event loop.
_SQL_MARKS = (b'"sql"', b"\\u")


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """The limits and the shared objects of all queries of a worker."""

    limits: Limits = field(default_factory=Limits)
    seconds: float = 25  #: The timeout of one evaluation.
    clock: Clock = field(default_factory=Clock)  #: The clock of time ranges and of callers' deadlines.
    sources: SourceResolver = field(default_factory=SourceRegistry)  #: Finds data sources.
    cache: QueryCache = field(default_factory=QueryCache)  #: Recent results of data sources.
    options: OptionCache = field(default_factory=OptionCache)  #: Recent options of variables.
    sql: SqlEngine | None = None  #: Runs statements; None if the feature is off.
    threads: ThreadPoolExecutor | None = None  #: For large evaluations only, so that other work always has a thread.
    memory: MemoryBudget = UNBOUNDED  #: Shared by all requests.

    def close(self) -> None:
        """Cancel running SQL statements, wait for large evaluations, and end all processes and threads."""
        if self.sql:
            self.sql.stop()
        if self.threads:
            self.threads.shutdown()


_DEFAULTS = QuerySettings()


async def respond(
    body: bytes,
    context: QueryContext | None = None,
    settings: QuerySettings | None = None,
    remaining_seconds: float = math.inf,
    memory: Reservation | None = None,
) -> Reply:
    """Return the reply to a request, with ``status`` and ``content_type`` as headers.

    The status is 200, or 400 if the request is refused or a visible refId has an error. Refusals and validations are
    JSON; frames are Arrow streams if the client accepts them. ``remaining_seconds`` is the time until the caller's
    deadline. ``memory`` counts the bytes of the reply until it is sent. Raises TooManyRequests if memory is used up.
    """
    context, settings = context or QueryContext(), settings or _DEFAULTS
    limits = _limits(settings, Deadline.earlier(settings.seconds, remaining_seconds), memory)
    try:
        if context.endpoint is QueryEndpoint.VALIDATION:
            faults = await _find_faults(body, context, settings, limits)
            return _count_reply(_create_reply(200, media.JSON, validation_body(faults)))
        if context.endpoint is QueryEndpoint.VALIDATIONS:
            return _count_reply(_create_reply(200, media.NDJSON, await _validate_lines(body, context, settings, limits)))
        if context.endpoint is QueryEndpoint.HEALTH:
            # Not counted, because a health check is not a query.
            status, health_body = await health(body, context, limits, settings.sources)
            return _create_reply(status, media.JSON, health_body)
        evaluation = await _evaluate(body, context, settings, limits)
    except TooManyRequests:
        # The RPC server replies with the error, which says when to try again.
        raise
    except DashwrightError as error:
        _log.info("query_refused", reason=error.message)
        return _count_reply(_create_reply(error.status, media.JSON, response.error_body(error)))
    return _count_reply(encode_reply(evaluation, context.accept))


async def _find_faults(body: bytes, context: QueryContext, settings: QuerySettings, limits: Limits) -> list[Fault]:
    """Return the faults of a request."""
    find = partial(find_faults, body, context, settings.clock.now(), limits, settings.sql)
    return await _run(find, limits, in_thread=_is_slow_to_parse(body))


async def _validate_lines(body: bytes, context: QueryContext, settings: QuerySettings, limits: Limits) -> bytes:
    """Return a line for each line of the body: the result of its validation, or an empty line if it could not be validated."""
    lines = []
    for line in body.split(b"\n"):
        try:
            lines.append(validation_body(await _find_faults(line, context, settings, limits)))
        except DashwrightError as error:
            _log.info("query_refused", reason=error.message)
            lines.append(b"")
        # Other requests get the event loop between two panels.
        await asyncio.sleep(0)
    return b"\n".join(lines)


async def evaluate(body: bytes, context: QueryContext, settings: QuerySettings, memory: Reservation | None = None) -> Evaluation:
    """Return the result of every visible refId of a request. ``memory`` counts the bytes of the results.

    Raises BadRequest if the request is refused, TooLarge or TooManyRequests if it needs too much memory.
    """
    return await _evaluate(body, context, settings, _limits(settings, Deadline(settings.seconds), memory))


def _limits(settings: QuerySettings, deadline: Deadline, memory: Reservation | None) -> Limits:
    """Return the limits of one request."""
    return replace(settings.limits, deadline=deadline, memory=memory or settings.limits.memory)


async def _evaluate(body: bytes, context: QueryContext, settings: QuerySettings, limits: Limits) -> Evaluation:
    """Return the results of a request: parse it, fetch its queries, evaluate its expressions, and transform if it requests that."""
    in_thread = _is_slow_to_parse(body)
    limits.memory.reserve(_MEMORY_PER_BODY_BYTE * len(body))
    parse = partial(parse_request, body, context, settings.clock.now(), limits, settings.sql)
    request = await _run(parse, limits, in_thread=in_thread)
    fetched = await fetch(request, context, limits, settings.sources, settings.cache)
    in_thread = in_thread or not _is_brief(request, fetched)
    async with AsyncExitStack() as stack:
        # The slot is taken before the thread, so that statements that wait for a child process block no thread.
        if settings.sql and "sql" in request.types.values():
            async with cancel_at(limits.deadline):
                await stack.enter_async_context(settings.sql.limiter.slot(context.org_id))
        evaluate_request = partial(evaluate_fetched, request, fetched, limits, explain=context.explain)
        evaluation = await _run(evaluate_request, limits, in_thread=in_thread, threads=settings.threads)
    if context.transform:
        transform_results = partial(_transform, evaluation, request, limits)
        evaluation = await _run(transform_results, limits, in_thread=True, threads=settings.threads)
    _reserve_response(evaluation, limits)
    for ref_id, result in evaluation.results.items():
        if result.error and result.error.status == response.INTERNAL:
            _log.error("ref_id_failed", ref_id=ref_id, exc_info=result.error)
    return evaluation


def _transform(evaluation: Evaluation, request: Request, limits: Limits) -> Evaluation:
    """Return the evaluation with the frames after the transformations of the panel."""
    results = [result.frames for result in evaluation.results.values()]
    return replace(evaluation, transformed=transform(results, read_steps(request.transformations), Context(limits)))


def _reserve_response(evaluation: Evaluation, limits: Limits) -> None:
    """Reserve memory for the encoded response.

    Raises TooLarge if the response is too large, TooManyRequests if a refId failed because other requests use the memory.
    """
    for result in evaluation.results.values():
        if isinstance(result.error, TooManyRequests):
            raise TooManyRequests(result.error.message, retry_after=1)
    size = response.size_of(evaluation.results, evaluation.transformed)
    if size > limits.query_response_bytes:
        problem = f"the response would have about {size} bytes"
        raise limits.refusal(
            "query_response_bytes", problem, "hide queries that only expressions read, reduce or resample, or ask for less"
        )
    limits.memory.reserve(min(size, _MAX_UNREAD_BYTES))


async def _run(
    function: Callable[[], ReturnValue], limits: Limits, *, in_thread: bool, threads: ThreadPoolExecutor | None = None
) -> ReturnValue:
    """Call the function, in a thread if ``in_thread``, and return its result. Without ``threads``, asyncio's own are used.

    A thread cannot be cancelled. If the caller is cancelled, the deadline expires, which stops the thread.
    """
    if not in_thread:
        return function()
    try:
        # With the context, log events of the thread have the trace id of the request.
        return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, function)
    except asyncio.CancelledError:
        limits.deadline.expire()
        raise


def _is_slow_to_parse(body: bytes) -> bool:
    """Return whether the body is parsed in a thread."""
    return len(body) > _MAX_BODY_BYTES_ON_LOOP or any(mark in body for mark in _SQL_MARKS)


def _is_brief(request: Request, fetched: FetchedResults) -> bool:
    """Return whether the evaluation is brief enough for the event loop.

    If an expression may form unions, which multiply items, each query must have returned at most one item.
    """
    types = set(request.types.values())
    if not types.isdisjoint(_TYPES_IN_THREADS):
        return False
    if types.isdisjoint(_TYPES_WITH_UNIONS):
        return all(_is_brief_set(result.frames) for result in fetched.results.values())
    return all(len(result.frames) <= 1 and all(map(_is_one_brief_item, result.frames)) for result in fetched.results.values())


def _is_brief_set(frames: Sequence[Frame]) -> bool:
    """Return whether there are few items with few points."""
    # Only a FrameSet has the number of its items without reading the frames.
    if not isinstance(frames, FrameSet):
        return len(frames) <= 1 and all(map(_is_one_brief_item, frames))
    items, points = size_of(frames.values)
    return items <= _MAX_POINTS_ON_LOOP and points <= _MAX_POINTS_ON_LOOP


def _is_one_brief_item(frame: Frame) -> bool:
    """Return whether the frame is at most one item, which is a short series or one row."""
    # Each value field is an item, and without a time field also each row.
    if frame.row_count > _MAX_POINTS_ON_LOOP or len(frame.fields) > 2:
        return False
    starts_with_time = [field.type for field in frame.fields[:1]] == [FieldType.TIME]
    return frame.row_count <= 1 or starts_with_time


def encode_reply(evaluation: Evaluation, accept: str) -> Reply:
    """Return the reply in the format that ``accept`` names: small results as bytes, others as chunks that are encoded on demand."""
    results = evaluation.results
    transformed = evaluation.transformed
    if media.wants_arrow(accept):
        content_type, fragments = media.ARROW, arrow.fragments(results)
    else:
        content_type, fragments = media.JSON, response.fragments(results, evaluation.explanation, transformed)
    encoded = chunks(fragments)
    body = b"".join(encoded) if _is_small(results) and not transformed else _yield_chunks(encoded)
    return _create_reply(response.status_of(results, transformed), content_type, body)


def _is_small(results: Mapping[str, response.Result]) -> bool:
    return sum(result.cost for result in results.values()) <= CHUNK_VALUES


def _create_reply(status: int, content_type: str, body: bytes | AsyncIterator[bytes]) -> Reply:
    return Reply(body, {"status": status, "content_type": content_type})


def _count_reply(reply: Reply) -> Reply:
    """Count the reply in the metrics and return it."""
    metrics.queries_evaluated.labels(str(reply.headers["status"])).inc()
    return reply


async def _yield_chunks(encoded: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in encoded:
        yield chunk
        # Other requests get the event loop between two chunks.
        await asyncio.sleep(0)
