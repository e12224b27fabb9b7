"""The API description as Swagger 2.0, for older tools such as kubectl before 1.27.

Newer kubectl versions request it as protobuf to validate a ``List``, an object that contains others. They get a document
without any kinds, and leave the validation to the server.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.etags import entity_tag, tagged_response
from dashwright.api.http.openapi_conversion import swagger_20
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, PUBLIC, Content, Operation, Route
from dashwright.api.resources import openapi_documents
from dashwright.common.kinds.kind import Kind

PATH: Final = "/openapi/v2"
#: The media type of Kubernetes' protobuf documents.
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

#: Names of the media type in requests. Clients send the second one, although it is not a valid media type.
_PROTOBUF_NAMES: Final = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

_SWAGGER_VERSION: Final = "2.0"
_DOCUMENT_SCHEMA: Final = {"type": "object", "additionalProperties": True, "description": "A Swagger 2.0 document"}
#: A protobuf message that has only the first field, the version: the tag of the field, the length of its value (3), and the value.
_PROTOBUF_BODY: Final = b"\n\x03" + _SWAGGER_VERSION.encode()

_REVALIDATE: Final = {"Cache-Control": "no-cache", "Vary": "Accept"}


def routes(kinds: Sequence[Kind], openapi_30_document: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """Return the route. ``openapi_30_document`` returns the description of all routes as OpenAPI 3.0."""

    @lru_cache
    def document_bytes() -> tuple[bytes, str]:
        body = orjson.dumps(swagger_20(openapi_documents.complete_document(openapi_30_document(), kinds)))
        return body, entity_tag(body)

    async def get_document(call: Call) -> Response:
        if any(name in call.accept for name in _PROTOBUF_NAMES):
            return Response(200, _PROTOBUF_BODY, PROTOBUF)
        body, tag = await asyncio.to_thread(document_bytes)
        return tagged_response(call, body, tag, _REVALIDATE)

    operation = Operation(
        "getOpenApiV2",
        "this description as Swagger 2.0",
        "discovery",
        responses={200: (Content(_DOCUMENT_SCHEMA), Content(BINARY, (PROTOBUF,))), 304: None},
    )
    return [Route("GET", PATH, get_document, PUBLIC, operation)]
