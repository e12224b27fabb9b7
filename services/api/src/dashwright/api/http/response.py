"""The response of a handler: a status, a body that is encoded or comes in pieces, and headers."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from pydantic import BaseModel

JSON: Final = "application/json"

StreamedBody: TypeAlias = AsyncIterator[bytes]
"""A body in pieces, each sent as it comes. It is closed when the response ends, also after a failure."""


_NONE: Final[Mapping[str, str]] = MappingProxyType({})
SAFE_HEADERS: Final[Mapping[str, str]] = MappingProxyType({"X-Content-Type-Options": "nosniff"})
"""Headers of every response."""

NO_STORE: Final[Mapping[str, str]] = MappingProxyType({"Cache-Control": "no-store"})
"""Headers of a response that holds a secret."""

STREAM_BYTES: Final = 512 * 1024
"""Bytes that a streamed body keeps in memory by default: a few pieces of a worker's response."""


class Response(NamedTuple):
    """The response of a handler."""

    status: int = 200
    body: bytes | StreamedBody = b""
    content_type: str = JSON
    headers: Mapping[str, str] = _NONE
    endless: bool = False  #: A stop of the server ends the body, as if its source had ended. Other bodies are sent to their end.
    #: The body may be compressed. Not for a body with a secret next to text that a caller chooses, whose compressed size would reveal
    #: the secret, nor for one whose first pieces the client waits for.
    may_compress: bool = False
    holds: int = STREAM_BYTES  #: Bytes that a body in pieces keeps in memory. Those of an endless body are counted by piece.

    @property
    def size(self) -> int:
        """The number of bytes in memory until the response is sent."""
        if isinstance(self.body, bytes):
            return len(self.body)
        return 0 if self.endless else self.holds


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON. Models in it, at any depth, are written by their aliases, without null members."""
    if isinstance(value, BaseModel):
        body = value.model_dump_json(by_alias=True, exclude_none=True).encode()
    else:
        body = orjson.dumps(value, default=_plain)
    return Response(status, body, JSON, headers or _NONE)


def message_response(message: str, status: int = 200) -> Response:
    """Return ``{"message": …}``, the classic API's response without other data."""
    return json_response({"message": message}, status)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def legacy_500_response(message: str) -> Response:
    """Return ``{"message"}`` with status 500, by which existing clients recognise some unknown objects.

    An exception with this status would be logged, and its text hidden.
    """
    return message_response(message, 500)
