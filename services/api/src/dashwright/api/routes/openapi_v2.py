"""The API description as Swagger 2.0, for older tools such as kubectl before 1.27.

Newer ones request it as protobuf to validate a ``List``, the file that holds several objects. They get a document
without any kinds and leave the validation to the server.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.earlier import swagger_20
from dashwright.api.http.etags import entity_tag, tagged
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, PUBLIC, Content, Operation, Route
from dashwright.api.resources import openapi_documents
from dashwright.common.kinds.kind import Kind

PATH: Final = "/openapi/v2"
#: The media type of Kubernetes' protobuf documents.
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

#: The second spelling is what clients send, though it is not a valid media type.
_ASKED: Final = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

_VERSION: Final = "2.0"
_DOCUMENT: Final = {"type": "object", "additionalProperties": True, "description": "A Swagger 2.0 document"}
#: A message with its first field, the version, and nothing else.
_AS_PROTOBUF: Final = b"\n\x03" + _VERSION.encode()

_UNTIL_IT_CHANGES: Final = {"Cache-Control": "no-cache", "Vary": "Accept"}


def routes(kinds: Sequence[Kind], described: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """Return the route. ``described`` returns the whole description as OpenAPI 3.0."""

    @lru_cache
    def text() -> tuple[bytes, str]:
        body = orjson.dumps(swagger_20(openapi_documents.everything(described(), kinds)))
        return body, entity_tag(body)

    async def document(call: Call) -> Response:
        if any(name in call.accept for name in _ASKED):
            return Response(200, _AS_PROTOBUF, PROTOBUF)
        body, tag = await asyncio.to_thread(text)
        return tagged(call, body, tag, _UNTIL_IT_CHANGES)

    operation = Operation(
        "getOpenApiV2",
        "this description as Swagger 2.0",
        "discovery",
        responses={200: (Content(_DOCUMENT), Content(BINARY, (PROTOBUF,))), 304: None},
    )
    return [Route("GET", PATH, document, PUBLIC, operation)]
