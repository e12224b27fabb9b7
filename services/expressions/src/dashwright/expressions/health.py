"""Health check of a data source. The request is ``{"uid"}``, the response ``{"status": "OK" | "ERROR", "message"}``."""

import asyncio
from typing import Final

import orjson
import structlog

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, Forbidden
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.fetching import cancel_at
from dashwright.expressions.formats.response import client_message
from dashwright.expressions.sources.privacy import visible_error
from dashwright.expressions.sources.registry import DataSource, SourceResolver

_HEALTHY_STATUS: Final = 200
_UNHEALTHY_STATUS: Final = 400

_log = structlog.get_logger()


async def health(body: bytes, context: QueryContext, limits: Limits, sources: SourceResolver) -> tuple[int, bytes]:
    """Return the HTTP status and the body of the response. Raises BadRequest or Forbidden if the caller has no such data source."""
    uid = _uid(body)
    async with cancel_at(limits.deadline):
        (data_source,) = await sources.find([SourceQuery.model_validate({"refId": "health", "datasource": {"uid": uid}})], context)
    if isinstance(data_source, BadRequest | Forbidden):
        raise data_source
    try:
        # The data source exists, but its type or its secrets cannot be used: it is unhealthy.
        if isinstance(data_source, DashwrightError):
            raise data_source
        async with cancel_at(limits.deadline):
            message = await _health_of(data_source)
    except DashwrightError as error:
        _log.info("data_source_unhealthy", uid=uid, reason=error.message)
        record = None if isinstance(data_source, DashwrightError) else data_source.record
        return _UNHEALTHY_STATUS, orjson.dumps({"status": "ERROR", "message": client_message(visible_error(context, record, error))})
    return _HEALTHY_STATUS, orjson.dumps({"status": "OK", "message": message})


async def _health_of(data_source: DataSource) -> str:
    """Return the message of a healthy data source. Raises its error, or DeadlineExceeded at its timeout."""
    try:
        async with asyncio.timeout(data_source.asyncio_timeout) as scope:
            return await data_source.source.health()
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise DeadlineExceeded(
            f"the data source did not respond within {data_source.timeout_seconds:g} s; check its address, or allow it more time"
        ) from error


def _uid(body: bytes) -> str:
    """Return the uid in the body of a request."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    uid = document.get("uid") if isinstance(document, dict) else None
    if not isinstance(uid, str) or not uid:
        raise BadRequest('name the data source as {"uid": "…"}')
    return uid
