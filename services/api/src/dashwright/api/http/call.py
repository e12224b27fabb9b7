"""A request as its handler receives it: the caller, parameters, headers, and a body of limited size.

Handlers process large bodies with ``run_in_thread_if_large``.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, TypeVar

import orjson
from aiohttp import ClientError, HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import MultiMapping
from pydantic import BaseModel, ValidationError

from dashwright.api.domain.actor import Actor
from dashwright.api.http.decoding import DECOMPRESSION_ERRORS, SUPPORTED_CODINGS, Decompressor
from dashwright.api.http.errors import ErrorShape, permission_denied
from dashwright.common.errors import BadRequest, Forbidden, Invalid, TooLarge, UnsupportedMediaType
from dashwright.common.identity import CallerType, Identity
from dashwright.common.models.causes import causes_of, format_causes, sentence

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")

THREAD_MIN_BYTES: Final = 64 * 1024
"""Minimum bytes of a body that is processed in a thread: on the event loop, it would delay other requests."""

_UNCOMPRESSED: Final = frozenset({"", "identity"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
"""Integers that ``int`` converts: by default, Python refuses integers of more than 4300 digits."""
_MIN_INT64: Final = -(2**63)
_MAX_INT64: Final = 2**63 - 1
_TRUE_VALUES: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
"""The values that Go's ``strconv.ParseBool``, and with it Grafana, reads as true."""
_READ_ERRORS: Final = (web.RequestPayloadError, HttpProcessingError, ClientError, ConnectionError)
"""The exceptions for a body that ends early, or is not encoded as its headers say."""


class Call:
    """One request after dispatch and authentication."""

    __slots__ = (
        "_body",
        "_request",
        "_restart_deadline",
        "address",
        "authorized_identity",
        "body_limit",
        "error_shape",
        "identity",
        "parameters",
        "request_id",
        "template",
        "trace_id",
    )

    def __init__(
        self,
        request: web.BaseRequest,
        *,
        template: str,
        parameters: Mapping[str, str],
        identity: Identity,
        authorized_identity: Identity,
        address: str,
        request_id: str,
        trace_id: str,
        body_limit: int,
        error_shape: ErrorShape,
        restart_deadline: Callable[[], None] = lambda: None,
    ) -> None:
        self._request = request
        self._restart_deadline = restart_deadline  #: Starts the time limit of this request again.
        self._body: bytes | None = None  #: The complete body, after its first read.
        self.template = template  #: Path template of the route.
        self.parameters = parameters  #: Decoded parameters of the path.
        self.identity = identity  #: The caller in the current organization.
        self.authorized_identity = authorized_identity  #: The caller in the organization in which the route's permission was checked.
        self.address = address  #: Address of the client.
        self.request_id = request_id
        self.trace_id = trace_id
        self.body_limit = body_limit  #: Limit in bytes on the body, both compressed and decompressed.
        self.error_shape = error_shape

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self._request.method

    @property
    def path(self) -> str:
        """The path as the client sent it, without query, still percent-encoded."""
        return self._request.raw_path.partition("?")[0]

    @property
    def headers(self) -> MultiMapping[str]:
        """The headers; names are case-insensitive."""
        return self._request.headers

    @property
    def accept(self) -> str:
        """The media types that the client accepts, from all of its ``Accept`` headers."""
        return ",".join(self.headers.getall("Accept", ()))

    @property
    def query(self) -> MultiMapping[str]:
        """The decoded parameters of the query. Raises BadRequest for a NUL character, which PostgreSQL cannot store."""
        query = self._request.query
        # The undecoded text shows a NUL character without a search of all names and values.
        if "%00" in self._request.query_string or "\0" in self._request.query_string:
            raise BadRequest("The query contains a NUL character, which no value may contain")
        return query

    @property
    def actor(self) -> Actor:
        """The caller as recorded in the audit and in ``created_by``."""
        return actor_of(self.identity, self.address, self.request_id, self.trace_id)

    def require(self, action: str, scope: str = "*") -> None:
        """Raise Forbidden unless the caller may do ``action`` on ``scope`` in the organization that the route is about.

        Handlers call it for permissions that depend on the body or on a stored object.
        """
        if not self.authorized_identity.may(action, scope):
            raise permission_denied(action)

    def path_integer(self, parameter: str, message: str, *, message_id: str | None = None) -> int:
        """Return a path parameter as a 64-bit integer. Raises BadRequest with ``message`` for another value."""
        integer = parse_integer(self.parameters[parameter])
        if integer is None:
            raise BadRequest(message, message_id=message_id)
        return integer

    def query_flag(self, name: str) -> bool:
        """Return a query parameter as a boolean. ``1 t T TRUE true True`` are true, every other value is false."""
        return self.query.get(name, "") in _TRUE_VALUES

    def query_integer(self, name: str, default: int, *, minimum: int, maximum: int) -> int:
        """Return a query parameter as an integer of at most ``maximum``, or ``default`` if it is invalid or below ``minimum``."""
        integer = parse_integer(self.query.get(name, ""))
        return default if integer is None or integer < minimum else min(integer, maximum)

    async def body(self, limit: int | None = None) -> bytes:
        """Return the complete body, decompressed. ``limit`` is in bytes, by default the route's.

        Raises TooLarge as soon as the body exceeds the limit, UnsupportedMediaType for an unknown coding, and BadRequest for an
        incomplete or invalid body. A client that waits for ``100 Continue`` receives it after the checks of the headers.
        """
        if self._body is None:
            self._body = await self._read_body(self.body_limit if limit is None else limit)
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks as they arrive. Call it once, and not together with ``body``.

        Raises the errors of ``body``, and UnsupportedMediaType for a compressed body.
        """
        if self._content_coding() not in _UNCOMPRESSED:
            raise UnsupportedMediaType("A compressed body is not accepted here; send it without a Content-Encoding")
        await self._begin_body(self.body_limit)
        async for chunk in self._chunks(self.body_limit):
            yield chunk

    async def upload(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks, as ``chunks`` does, for a body that takes longer than other requests may.

        The time limit of the request then applies to the wait for each chunk and to its handling.
        """
        async for chunk in self.chunks():
            self._restart_deadline()
            yield chunk
        self._restart_deadline()

    async def json(self) -> Any:
        """Return the JSON value of the body. Raises the errors of ``body``, and BadRequest for invalid JSON."""
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"The body is not JSON: {error}") from error

    async def model(self, model: type[Model]) -> Model:
        """Return the body as an object of ``model``.

        Raises BadRequest for invalid JSON. A body that does not match the model is Invalid (422) in the resource API and BadRequest
        (400) in the classic API, as their clients expect. Both errors have a cause for each invalid field.
        """
        try:
            return model.model_validate_json(await self.body())
        except ValidationError as error:
            causes = causes_of(error)
            if causes is None:  # The fault is in the JSON itself, not in a field.
                raise BadRequest(f"The body is not JSON: {error.errors(include_url=False)[0]['msg']}") from error
            faults = "; ".join(f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in format_causes(causes))
            error_class = Invalid if self.error_shape is ErrorShape.STATUS else BadRequest
            raise error_class(f"The body is invalid: {faults}", causes=causes) from error

    async def model_or_400(self, model: type[Model], *, message: str, message_id: str | None = None) -> Model:
        """Return the body as an object of ``model``.

        Raises BadRequest with ``message`` for any invalid body; the reason is in the member ``error``.
        """
        try:
            return model.model_validate_json(await self.body())
        except ValidationError as error:
            causes = causes_of(error)
            reason = "the body is not JSON" if causes is None else sentence(causes)
            raise BadRequest(message, message_id=message_id, extra={"error": reason}) from error

    async def _read_body(self, limit: int) -> bytes:
        """Return the complete body, decompressed. Raises the errors of ``body``."""
        coding = self._content_coding()
        if coding not in SUPPORTED_CODINGS | _UNCOMPRESSED:
            raise UnsupportedMediaType(f"A body in Content-Encoding {coding!r} is not supported; send gzip, deflate, zstd or none")
        await self._begin_body(limit)
        decompressor = Decompressor(coding) if coding in SUPPORTED_CODINGS else None
        try:
            body = await self._read_uncompressed(limit) if decompressor is None else await self._read_compressed(decompressor, limit)
        except DECOMPRESSION_ERRORS as error:
            raise BadRequest(f"The body is not in {coding}, as its Content-Encoding says; send the complete body again") from error
        if decompressor is not None and not decompressor.is_complete:
            raise BadRequest(f"The body ends before its {coding} does; send the complete body again")
        return body

    def _content_coding(self) -> str:
        return self.headers.get(hdrs.CONTENT_ENCODING, "").lower()

    async def _begin_body(self, limit: int) -> None:
        """Raise TooLarge for a too large ``Content-Length``. Send ``100 Continue`` to a client that waits for it before the body."""
        request = self._request
        if (request.content_length or 0) > limit:
            raise _too_large_error(limit)
        # Clients of HTTP/1.0 do not know responses 1xx, so their ``Expect`` is ignored (RFC 9110, section 10.1.1).
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and request.version >= HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # For aiohttp, a size above zero means that the response has begun.

    async def _read_uncompressed(self, limit: int) -> bytes:
        """Return an uncompressed body. Raises TooLarge as soon as it exceeds the limit."""
        body = bytearray()
        async for chunk in self._chunks(limit):
            body += chunk
        return bytes(body)

    async def _read_compressed(self, decompressor: Decompressor, limit: int) -> bytes:
        """Return the decompressed body. Raises TooLarge as soon as it, or its compressed form, exceeds the limit."""
        body = bytearray()
        async for chunk in self._chunks(limit):
            for data in decompressor.decompress(chunk):
                body += data
                if len(body) > limit:
                    raise _too_large_error(limit)
                await asyncio.sleep(0)  # Let other requests run while a large body is decompressed.
        return bytes(body)

    async def _chunks(self, limit: int) -> AsyncIterator[bytes]:
        """Yield the body in chunks as they arrive, still compressed. Raises TooLarge before the chunk that exceeds the limit."""
        total_bytes = 0
        while chunk := await self._next_chunk():
            total_bytes += len(chunk)
            if total_bytes > limit:
                raise _too_large_error(limit)
            yield chunk

    async def _next_chunk(self) -> bytes:
        """Return the next bytes of the body, or empty bytes at its end."""
        try:
            return await self._request.content.readany()
        except _READ_ERRORS as error:
            raise BadRequest("The body broke off or does not match its headers; send the complete body again") from error


async def run_in_thread_if_large(size: int, function: Callable[[], Result]) -> Result:
    """Return the result of ``function``, which processes ``size`` bytes. It runs in a thread for large bodies."""
    return function() if size < THREAD_MIN_BYTES else await asyncio.to_thread(function)


def actor_of(identity: Identity, address: str, request_id: str, trace_id: str) -> Actor:
    """Return the caller of one request, as recorded in the audit."""
    return Actor(identity.uid, identity.login, identity.org_id, address, request_id, trace_id)


def require_user_id(call: Call, *, user_data: str = "such data") -> int:
    """Return the caller's user id. Raises Forbidden for tokens and keys; ``user_data`` names the data that only users have."""
    if call.identity.kind is not CallerType.USER:
        raise Forbidden(f"{call.template} is about a signed-in user; a token or key has no {user_data}")
    return call.identity.user_id


def require_account_id(call: Call, *, account_data: str) -> int:
    """Return the id of the calling user or service account. Raises Forbidden for legacy keys, which have no ``account_data``."""
    if not call.identity.user_id:
        raise Forbidden(f"{call.template} is about a user or service account; a legacy API key has no {account_data}")
    return call.identity.user_id


def _too_large_error(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the {limit} bytes this path takes; send less at a time")


def parse_integer(value: str) -> int | None:
    """Return the 64-bit integer that ``value`` contains as ASCII digits with an optional sign, or None.

    ``int()`` alone would also accept blanks, underscores and digits of other scripts.
    """
    if _INTEGER.fullmatch(value) is None:
        return None
    integer = int(value)
    return integer if _MIN_INT64 <= integer <= _MAX_INT64 else None
