"""The request as a handler gets it: the caller, parameters, headers, and a body that is read within its limit."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar

import orjson
import structlog
from aiohttp import ClientError, HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import MultiMapping
from pydantic import BaseModel, ValidationError

from dashwright.api.domain.actor import Actor
from dashwright.api.http.decoding import CODINGS, FAULTS, Unpacker
from dashwright.api.http.errors import ErrorShape, permission_denied
from dashwright.common.errors import BadRequest, Forbidden, Invalid, TooLarge, UnsupportedMediaType
from dashwright.common.identity import Caller, Identity
from dashwright.common.models.causes import causes_of, format_causes

log = structlog.get_logger()

Model = TypeVar("Model", bound=BaseModel)

_PLAIN: Final = frozenset({"", "identity"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_BROKEN_OFF: Final = (web.RequestPayloadError, HttpProcessingError, ClientError, ConnectionError)


class Call:
    """One request after dispatch and authentication."""

    __slots__ = (
        "_body",
        "_request",
        "address",
        "body_limit",
        "evaluated",
        "identity",
        "parameters",
        "request_id",
        "shape",
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
        evaluated: Identity,
        address: str,
        request_id: str,
        trace_id: str,
        body_limit: int,
        shape: ErrorShape,
    ) -> None:
        self._request = request
        self._body: bytes | None = None
        self.template = template  #: Path template of the route.
        self.parameters = parameters  #: Decoded parameters of the path.
        self.identity = identity  #: The caller in the current organization.
        self.evaluated = evaluated  #: The caller in the view of the route's permission: of the path's organization, or global.
        self.address = address  #: Address of the client.
        self.request_id = request_id
        self.trace_id = trace_id
        self.body_limit = body_limit  #: Bytes of the body, compressed and decompressed.
        self.shape = shape

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
        """The decoded parameters of the query. Raises BadRequest for a NUL character, which no stored text can contain."""
        query = self._request.query
        if "%00" in self._request.query_string or "\0" in self._request.query_string:
            raise BadRequest("The query contains a NUL character, which no value may contain")
        return query

    @property
    def actor(self) -> Actor:
        """The caller as recorded in the audit and in ``created_by``."""
        return actor_of(self.identity, self.address, self.request_id, self.trace_id)

    def demand(self, action: str, scope: str = "*") -> None:
        """Raise Forbidden unless the caller may do ``action`` on ``scope``, in the view of the route's permission.

        For permissions that depend on the body or on a stored object.
        """
        if not self.evaluated.may(action, scope):
            raise permission_denied(action)

    def integer(self, parameter: str, fault: str, *, message_id: str | None = None) -> int:
        """Return a path parameter as a 64-bit integer. Raises BadRequest with the text ``fault``."""
        number = parse_integer(self.parameters[parameter])
        if number is None:
            raise BadRequest(fault, message_id=message_id)
        return number

    def switch(self, name: str) -> bool:
        """Return a query parameter as a boolean. Existing clients write true as ``1 t T TRUE true True``; all else is false."""
        return self.query.get(name, "") in _TRUE

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return a query parameter as an integer of at most ``most``, or ``default`` if it is invalid or below ``least``."""
        number = parse_integer(self.query.get(name, ""))
        return default if number is None or number < least else min(number, most)

    async def body(self, limit: int | None = None) -> bytes:
        """Return the whole body, decompressed. ``limit`` is in bytes, by default the route's.

        Raises TooLarge as soon as the limit is passed, UnsupportedMediaType for an unknown coding, and BadRequest for a body that
        breaks off or does not decompress. A client that waits for ``100 Continue`` gets it here, after the first checks.
        """
        if self._body is None:
            self._body = await self._read(self.body_limit if limit is None else limit)
        return self._body

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, for handlers that check it before it is complete. Call it once, and instead of ``body``.

        Raises what ``body`` raises, and UnsupportedMediaType for a compressed body.
        """
        if self._coding() not in _PLAIN:
            raise UnsupportedMediaType("A compressed body is not accepted here; send it without a Content-Encoding")
        await self._check_length(self.body_limit)
        async for piece in self._pieces(self.body_limit):
            yield piece

    async def json(self) -> Any:
        """Return the body as a JSON tree. Raises BadRequest for invalid JSON."""
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"The body is not JSON: {error}") from error

    async def model(self, model: type[Model]) -> Model:
        """Return the body as an object of ``model``.

        Raises BadRequest for invalid JSON. A body that does not match the model is Invalid (422) in the resource API and BadRequest
        (400) in the classic API, as their clients expect; both have a cause for each fault.
        """
        try:
            return model.model_validate_json(await self.body())
        except ValidationError as error:
            causes = causes_of(error)
            if causes is None:
                raise BadRequest(f"The body is not JSON: {error.errors(include_url=False)[0]['msg']}") from error
            text = "; ".join(f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in format_causes(causes))
            kind = Invalid if self.shape is ErrorShape.STATUS else BadRequest
            raise kind(f"The body does not fit: {text}", causes=causes) from error

    async def fields(self, model: type[Model], *, fault: str, message_id: str | None = None) -> Model:
        """Return the body as an object of ``model``. Raises BadRequest with the text ``fault`` for any fault; the log has the causes."""
        try:
            return model.model_validate_json(await self.body())
        except ValidationError as error:
            causes = causes_of(error)
            log.info("body_refused", causes=["not JSON"] if causes is None else [f"{cause.field}: {cause.reason}" for cause in causes])
            raise BadRequest(fault, message_id=message_id) from error

    async def _read(self, limit: int) -> bytes:
        coding = self._coding()
        if coding not in CODINGS | _PLAIN:
            raise UnsupportedMediaType(f"A body in Content-Encoding {coding!r} is not supported; send gzip, deflate, zstd or none")
        await self._check_length(limit)
        unpacker = Unpacker(coding) if coding in CODINGS else None
        try:
            body = await self._as_sent(limit) if unpacker is None else await self._decompressed(unpacker, limit)
        except FAULTS as error:
            raise BadRequest(f"The body is not in {coding}, as its Content-Encoding says; send it again whole") from error
        if unpacker is not None and not unpacker.is_complete:
            raise BadRequest(f"The body ends before its {coding} does; send it again whole")
        return body

    def _coding(self) -> str:
        return self.headers.get(hdrs.CONTENT_ENCODING, "").lower()

    async def _check_length(self, limit: int) -> None:
        """Raise TooLarge for a too large ``Content-Length``; else send ``100 Continue`` to a client that waits for it."""
        request = self._request
        if (request.content_length or 0) > limit:
            raise _too_large(limit)
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and request.version >= HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # For aiohttp a count above zero means that the response has begun.

    async def _as_sent(self, limit: int) -> bytes:
        """Return the body as it was sent. Raises TooLarge as soon as the limit is passed."""
        body = bytearray()
        async for piece in self._pieces(limit):
            body += piece
        return bytes(body)

    async def _decompressed(self, unpacker: Unpacker, limit: int) -> bytes:
        """Return the decompressed body. Raises TooLarge as soon as it, or the compressed body, passes the limit."""
        body = bytearray()
        async for piece in self._pieces(limit):
            for unpacked in unpacker.unpack(piece):
                body += unpacked
                if len(body) > limit:
                    raise _too_large(limit)
                await asyncio.sleep(0)  # Other requests get their turn even while a large body is decompressed.
        return bytes(body)

    async def _pieces(self, limit: int) -> AsyncIterator[bytes]:
        sent = 0
        while piece := await self._next():
            sent += len(piece)
            if sent > limit:
                raise _too_large(limit)
            yield piece

    async def _next(self) -> bytes:
        try:
            return await self._request.content.readany()
        except _BROKEN_OFF as error:
            raise BadRequest("The body broke off or does not match its headers; send it again whole") from error


def actor_of(identity: Identity, address: str, request_id: str, trace_id: str) -> Actor:
    """Return the caller of one request, as recorded in the audit."""
    return Actor(identity.uid, identity.login, identity.org_id, address, request_id, trace_id)


def user_only(call: Call, *, lacks: str = "such data") -> int:
    """Return the caller's user id. Raises Forbidden for tokens and keys; ``lacks`` names the data that they do not have."""
    if call.identity.kind is not Caller.USER:
        raise Forbidden(f"{call.template} is about a signed-in user; a token or key has no {lacks}")
    return call.identity.user_id


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the {limit} bytes this path takes; send less at a time")


def parse_integer(text: str) -> int | None:
    """Return the 64-bit integer that ``text`` holds in ASCII digits, with an optional sign, or None.

    ``int()`` alone would accept blanks, underscores and digits of other scripts.
    """
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if _LEAST <= number <= _MOST else None
