"""What a handler returns: a status, a body that is encoded already or comes in pieces, and headers."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from pydantic import BaseModel

JSON: Final = "application/json"

StreamedBody: TypeAlias = AsyncIterator[bytes]
"""A body in pieces, each sent as it comes. It is closed when the answer ends, however it ends."""


_NONE: Final[Mapping[str, str]] = MappingProxyType({})
SAFE_HEADERS: Final[Mapping[str, str]] = MappingProxyType({"X-Content-Type-Options": "nosniff"})
"""Headers of every response."""

NO_STORE: Final[Mapping[str, str]] = MappingProxyType({"Cache-Control": "no-store"})
"""Headers of a response that holds a secret."""

STREAM_BYTES: Final = 512 * 1024
"""Bytes that a streamed body keeps in memory unless it says more: a few pieces of a worker's response."""


class Response(NamedTuple):
    """A body that is ``endless`` is ended by a stop of the server, as if its source had ended; others are sent to their end.

    ``may_compress``: the body is text, holds no secret beside what its reader may choose, and nobody waits for its first pieces.
    ``holds``: the bytes that a body in pieces keeps in memory while it is sent; those of an ``endless`` one are counted by piece.
    """

    status: int = 200
    body: bytes | StreamedBody = b""
    content_type: str = JSON
    headers: Mapping[str, str] = _NONE
    endless: bool = False
    may_compress: bool = False
    holds: int = STREAM_BYTES

    @property
    def size(self) -> int:
        """The bytes that are in memory until the response is sent."""
        if isinstance(self.body, bytes):
            return len(self.body)
        return 0 if self.endless else self.holds


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON of a value, which may hold models at any depth. A model's members are written by their aliases, and never as null."""
    if isinstance(value, BaseModel):
        body = value.model_dump_json(by_alias=True, exclude_none=True).encode()
    else:
        body = orjson.dumps(value, default=_plain)
    return Response(status, body, JSON, headers or _NONE)


def message_response(message: str, status: int = 200) -> Response:
    """The classic API's answer where there is nothing to return: ``{"message": …}``."""
    return json_response({"message": message}, status)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def legacy_500_response(message: str) -> Response:
    """Return ``{"message"}`` with status 500, by which existing clients recognise some unknown objects.

    Raised as an error it would be logged, and its text hidden.
    """
    return message_response(message, 500)
