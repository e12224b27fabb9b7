"""The response of a handler: a status, headers, and a body of bytes or a stream of chunks."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from pydantic import BaseModel

JSON: Final = "application/json"

StreamedBody: TypeAlias = AsyncIterator[bytes]
"""A body in chunks, each sent immediately. It is closed when the response ends, also after a failure."""


_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
SAFE_HEADERS: Final[Mapping[str, str]] = MappingProxyType({"X-Content-Type-Options": "nosniff"})
"""Headers of every response."""

NO_STORE: Final[Mapping[str, str]] = MappingProxyType({"Cache-Control": "no-store"})
"""Headers of a response that contains a secret."""

STREAM_BUFFER_BYTES: Final = 512 * 1024
"""Bytes that a streamed body keeps in memory by default: a few chunks of a worker's response."""


class Response(NamedTuple):
    """The response of a handler."""

    status: int = 200
    body: bytes | StreamedBody = b""
    content_type: str = JSON
    headers: Mapping[str, str] = _NO_HEADERS
    #: Whether the body may never end. When the server stops, it ends such a body as if its source had ended, and completes all others.
    is_endless: bool = False
    #: Whether the body may be compressed. False for a body with a secret and text that a caller chooses, since the compressed size would
    #: reveal the secret. False also for a body whose first chunks the client needs immediately.
    may_compress: bool = False
    #: Bytes that a streamed body keeps in memory. An endless body is counted chunk by chunk instead.
    buffered_bytes: int = STREAM_BUFFER_BYTES


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a value as JSON. Models, at any depth, are written with their aliases and without null members."""
    if isinstance(value, BaseModel):
        body = value.model_dump_json(by_alias=True, exclude_none=True).encode()
    else:
        body = orjson.dumps(value, default=_json_default)
    return Response(status, body, JSON, headers or _NO_HEADERS)


def message_response(message: str, status: int = 200) -> Response:
    """Return ``{"message": …}``, the classic API's response without other data."""
    return json_response({"message": message}, status)


def _json_default(value: Any) -> Any:
    """Return a model within a value as a mapping, for orjson, which does not know models."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def legacy_500_response(message: str) -> Response:
    """Return ``{"message": …}`` with status 500, which Grafana returns for some unknown objects.

    An exception with this status would be logged, and clients would not get its message.
    """
    return message_response(message, 500)
