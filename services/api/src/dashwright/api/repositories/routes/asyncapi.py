"""The route of the AsyncAPI document, which describes the queue. It reveals no stored data."""

import asyncio
from functools import lru_cache
from typing import Final

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.etags import entity_tag, tagged_response
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.api.repositories.queue_contract.document import document

_SCHEMA: Final = {"type": "object", "additionalProperties": True, "description": "An AsyncAPI 3.0 document"}
_OPERATION: Final = Operation(
    "getAsyncApi",
    "the queue: submissions, replies and refused submissions, as AsyncAPI 3.0",
    "description",
    responses={200: Content(_SCHEMA), 304: None},
)


def routes(*, version: str) -> list[Route]:
    """Return the route. ``version`` is the product's version."""

    # Generated on the first request, in a thread, since few clients request it.
    @lru_cache
    def document_bytes() -> tuple[bytes, str]:
        body = orjson.dumps(document(version=version))
        return body, entity_tag(body)

    async def get_document(call: Call) -> Response:
        body, tag = await asyncio.to_thread(document_bytes)
        return tagged_response(call, body, tag, {"Cache-Control": "no-cache"})

    return [Route("GET", "/asyncapi.json", get_document, PUBLIC, _OPERATION)]
