"""The older description that Kubernetes' clients ask for: one without a word on any kind, which all have theirs in ``/openapi/v3``.

kubectl judges a ``List``, the file it keeps several objects in, by this document and no other; what is not in it, it leaves to the server.
"""

from typing import Final

import orjson

from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import BINARY, PUBLIC, Content, Operation, Route

PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_ASKED: Final = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
"""The second is how clients write it, though it is no media type."""

_VERSION: Final = "2.0"
_DOCUMENT: Final = {"type": "object", "additionalProperties": True, "description": "A Swagger 2.0 document"}
_AS_PROTOBUF: Final = b"\n\x03" + _VERSION.encode()
"""A message with its first field, the version, and nothing else."""


def routes(*, product: str) -> list[Route]:
    """``product`` is the version of the product."""
    as_json = orjson.dumps({"swagger": _VERSION, "info": {"title": "Dashwright", "version": product}, "paths": {}})

    async def document(call: Call) -> Answer:
        if any(name in call.accept for name in _ASKED):
            return Answer(200, _AS_PROTOBUF, PROTOBUF)
        return Answer(200, as_json)

    told = Operation(
        "getOpenApiV2",
        "an empty description in the older format, for kubectl, which asks for one",
        "discovery",
        answers={200: (Content(_DOCUMENT), Content(BINARY, (PROTOBUF,)))},
    )
    return [Route("GET", "/openapi/v2", document, PUBLIC, told)]
