"""Health of a data source: ``{"uid": …}`` in, ``{"status": "OK" | "ERROR", "message"}`` out."""

import asyncio
from typing import Final

import orjson
import structlog

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, Forbidden
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.fetching import within
from dashwright.expressions.formats.response import text_of
from dashwright.expressions.sources.directory import DataSource, Sources
from dashwright.expressions.sources.privacy import seen_by

_WORKS: Final = 200
_FAILS: Final = 400

_log = structlog.get_logger()


async def health(body: bytes, context: QueryContext, limits: Limits, sources: Sources) -> tuple[int, bytes]:
    """Return HTTP status and body. Raises BadRequest or Forbidden if the caller has no such data source."""
    uid = _uid(body)
    async with within(limits.deadline):
        (found,) = await sources.find([SourceQuery.model_validate({"refId": "health", "datasource": {"uid": uid}})], context)
    if isinstance(found, BadRequest | Forbidden):
        raise found
    try:
        if isinstance(found, DashwrightError):
            raise found
        async with within(limits.deadline):
            message = await _health_of(found)
    except DashwrightError as error:
        _log.info("data_source_unhealthy", uid=uid, reason=error.message)
        record = None if isinstance(found, DashwrightError) else found.record
        return _FAILS, orjson.dumps({"status": "ERROR", "message": text_of(seen_by(context, record, error))})
    return _WORKS, orjson.dumps({"status": "OK", "message": message})


async def _health_of(found: DataSource) -> str:
    try:
        async with asyncio.timeout(found.wait) as scope:
            return await found.source.health()
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise DeadlineExceeded(
            f"the data source did not respond within {found.seconds:g} s; check its address, or allow it more time"
        ) from error


def _uid(body: bytes) -> str:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    uid = document.get("uid") if isinstance(document, dict) else None
    if not isinstance(uid, str) or not uid:
        raise BadRequest('name the data source as {"uid": "…"}')
    return uid
