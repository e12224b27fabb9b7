"""The documents that Kubernetes clients read before they send or explain an object. They reveal no stored data."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson
from pydantic import Field

from dashwright.api.http.call import Call
from dashwright.api.http.etags import entity_tag, tagged
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.api.resources import discovery, openapi_documents
from dashwright.common.errors import NotAcceptable, NotFound
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, ranges
from dashwright.common.models.shape import Shape

_TAG: Final = "discovery"


class DocumentAddress(Shape):
    """The address of a document."""

    server_relative_url: str = Field(alias="serverRelativeURL", description="The address, with the tag of the document")


class Index(Shape):
    """The available documents."""

    paths: dict[str, DocumentAddress] = Field(description="The addresses, by group and version")


_INDEX: Final = {200: Index, 304: None}
_DOCUMENT: Final = {200: Content({"type": "object", "additionalProperties": True, "description": "An OpenAPI 3.0 document"}), 304: None}
_TAKEN: Final = frozenset({JSON, "application/*", "*/*"})
_UNTIL_IT_CHANGES: Final = {"Cache-Control": "no-cache"}
_IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


def routes(kinds: Sequence[Kind], described: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """Return the index, and a document for each version of a group.

    ``described`` returns the whole description as OpenAPI 3.0.
    """

    # Generated on the first request, in a thread: that takes a while, and few clients request them.
    @lru_cache
    def texts() -> dict[str, tuple[bytes, str]]:
        found = {}
        for group in discovery.groups_of(kinds):
            for version in discovery.versions_of(kinds, group):
                body = orjson.dumps(openapi_documents.document(described(), kinds, group, version))
                found[f"apis/{group}/{version}"] = body, entity_tag(body)
        return found

    @lru_cache
    def index_text() -> bytes:
        return orjson.dumps(openapi_documents.index({path: tag for path, (_, tag) in texts().items()}))

    async def index(call: Call) -> Response:
        _check_accept(call)
        body = await asyncio.to_thread(index_text)
        return tagged(call, body, entity_tag(body), _UNTIL_IT_CHANGES)

    async def one(call: Call) -> Response:
        _check_accept(call)
        path = f"apis/{call.parameters['group']}/{call.parameters['version']}"
        found = (await asyncio.to_thread(texts)).get(path)
        if found is None:
            raise NotFound(f"there is no document {path!r}; /openapi/v3 lists the documents")
        body, tag = found
        return tagged(call, body, tag, _IMMUTABLE if call.query.get("hash") == tag else _UNTIL_IT_CHANGES)

    return [
        Route(
            "GET",
            "/openapi/v3",
            index,
            PUBLIC,
            Operation("listOpenApiV3", "the index of documents", _TAG, responses=_INDEX, errors=(406,)),
        ),
        Route(
            "GET",
            "/openapi/v3/apis/{group}/{version}",
            one,
            PUBLIC,
            Operation(
                "getOpenApiV3",
                "the description of a version of a group, as Kubernetes clients read it",
                _TAG,
                responses=_DOCUMENT,
                query={"hash": "the tag of the document; the response may then be cached permanently"},
                errors=(404, 406),
            ),
        ),
    ]


def _check_accept(call: Call) -> None:
    if call.accept and not any(asked.name in _TAKEN and asked.weight > 0 for asked in ranges(call.accept)):
        raise NotAcceptable(f"the description is only available as {JSON}, which the Accept header does not allow")
