"""The request as handlers see it: who asks, what for, and a body that is read only within its limit."""

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
    """One request after dispatch and authentication.

    ``parameters`` are the decoded parameters of the path, ``template`` is the route's path, ``body_limit`` its limit in bytes.
    ``identity`` is the caller in the current organization; ``evaluated`` is the caller as the route's permission looked at them, in
    the organization of the path or globally. ``address`` is where the request came from.
    """

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
        self.template = template
        self.parameters = parameters
        self.identity = identity
        self.evaluated = evaluated
        self.address = address
        self.request_id = request_id
        self.trace_id = trace_id
        self.body_limit = body_limit
        self.shape = shape

    @property
    def method(self) -> str:
        return self._request.method

    @property
    def path(self) -> str:
        """The path as the client sent it, without query, still percent-encoded."""
        return self._request.raw_path.partition("?")[0]

    @property
    def headers(self) -> MultiMapping[str]:
        return self._request.headers

    @property
    def accept(self) -> str:
        """The media types that the client takes, of all the headers that name some."""
        return ",".join(self.headers.getall("Accept", ()))

    @property
    def query(self) -> MultiMapping[str]:
        """The decoded parameters of the query. Raises BadRequest for a NUL character, which no stored text can hold."""
        query = self._request.query
        if "%00" in self._request.query_string or "\0" in self._request.query_string:
            raise BadRequest("The query holds a NUL character, which no value may hold")
        return query

    @property
    def actor(self) -> Actor:
        """Who asks, for the audit and ``created_by``."""
        return actor_of(self.identity, self.address, self.request_id, self.trace_id)

    def demand(self, action: str, scope: str = "*") -> None:
        """Raises Forbidden unless the caller may do ``action`` on ``scope``, as the route's permission looks at them.

        For what a route cannot know before its body is read, or an object is found.
        """
        if not self.evaluated.may(action, scope):
            raise permission_denied(action)

    def integer(self, parameter: str, fault: str, *, message_id: str | None = None) -> int:
        """A parameter of the path as a whole number of 64 bits. Raises BadRequest with ``fault``."""
        number = parse_integer(self.parameters[parameter])
        if number is None:
            raise BadRequest(fault, message_id=message_id)
        return number

    def switch(self, name: str) -> bool:
        """A parameter of the query as existing clients write a true one: ``1 t T TRUE true True``. All else is false."""
        return self.query.get(name, "") in _TRUE

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A parameter of the query as a whole number; ``default`` where it is none or below ``least``, never more than ``most``."""
        number = parse_integer(self.query.get(name, ""))
        return default if number is None or number < least else min(number, most)

    async def body(self, limit: int | None = None) -> bytes:
        """The whole body, decompressed; ``limit`` in bytes, by default the route's.

        Raises TooLarge as soon as the limit is passed, UnsupportedMediaType for a coding that is not understood and BadRequest
        where the body breaks off or does not decompress. A client that waits for ``100 Continue`` gets it here, after the first checks.
        """
        if self._body is None:
            self._body = await self._read(self.body_limit if limit is None else limit)
        return self._body

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes, for who judges it before it is whole; to be asked for once, and in place of ``body``.

        Raises what ``body`` does, and UnsupportedMediaType for one that is packed.
        """
        if self._coding() not in _PLAIN:
            raise UnsupportedMediaType("A packed body is not taken here; send it without a Content-Encoding")
        await self._let_come(self.body_limit)
        async for piece in self._pieces(self.body_limit):
            yield piece

    async def json(self) -> Any:
        """The body as JSON. Raises BadRequest where it is none."""
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"The body is not JSON: {error}") from error

    async def model(self, model: type[Model]) -> Model:
        """The body as an object of ``model``.

        Raises BadRequest where it is no JSON. A body against the model is Invalid (422) in the resource API and BadRequest (400) in
        the classic one, as their clients know it; both carry a cause for each fault.
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
        """The body as an object of ``model``, where every fault of it is told in one text. Raises BadRequest; the log has the causes."""
        try:
            return model.model_validate_json(await self.body())
        except ValidationError as error:
            causes = causes_of(error)
            log.info("body_refused", causes=["not JSON"] if causes is None else [f"{cause.field}: {cause.reason}" for cause in causes])
            raise BadRequest(fault, message_id=message_id) from error

    async def _read(self, limit: int) -> bytes:
        coding = self._coding()
        if coding not in CODINGS | _PLAIN:
            raise UnsupportedMediaType(f"A body in Content-Encoding {coding!r} is not understood; send gzip, deflate, zstd or none")
        await self._let_come(limit)
        unpacker = Unpacker(coding) if coding in CODINGS else None
        try:
            body = await self._sent(limit) if unpacker is None else await self._unpacked(unpacker, limit)
        except FAULTS as error:
            raise BadRequest(f"The body is not in {coding}, as its Content-Encoding says; send it again whole") from error
        if unpacker is not None and not unpacker.is_complete:
            raise BadRequest(f"The body ends before its {coding} does; send it again whole")
        return body

    def _coding(self) -> str:
        return self.headers.get(hdrs.CONTENT_ENCODING, "").lower()

    async def _let_come(self, limit: int) -> None:
        """Raises TooLarge for a body whose length is told; who waits for a word to send it gets that."""
        request = self._request
        if (request.content_length or 0) > limit:
            raise _too_large(limit)
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and request.version >= HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # aiohttp takes a count above zero for an answer that has begun

    async def _sent(self, limit: int) -> bytes:
        """The body as it came. Raises TooLarge as soon as the limit is passed."""
        body = bytearray()
        async for piece in self._pieces(limit):
            body += piece
        return bytes(body)

    async def _unpacked(self, unpacker: Unpacker, limit: int) -> bytes:
        """What comes out of the body. Raises TooLarge as soon as that, or the body itself, passes the limit."""
        body = bytearray()
        async for piece in self._pieces(limit):
            for unpacked in unpacker.unpack(piece):
                body += unpacked
                if len(body) > limit:
                    raise _too_large(limit)
                await asyncio.sleep(0)  # others have their turn, however much there is to unpack
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
    return Actor(identity.uid, identity.login, identity.org_id, address, request_id, trace_id)


def user_only(call: Call, *, lacks: str = "such data") -> int:
    """The caller's number as a user. Raises Forbidden, naming the route and what others lack, where a token or key asks."""
    if call.identity.kind is not Caller.USER:
        raise Forbidden(f"{call.template} is about a signed-in user; a token or key has no {lacks}")
    return call.identity.user_id


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the {limit} bytes this path takes; send less at a time")


def parse_integer(text: str) -> int | None:
    """The number that ``text`` is: ASCII digits, perhaps after a sign, within 64 bits. None for anything else.

    ``int()`` alone would take blanks, underscores and digits of other scripts.
    """
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if _LEAST <= number <= _MOST else None
