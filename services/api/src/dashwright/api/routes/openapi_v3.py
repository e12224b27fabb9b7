"""The documents that Kubernetes clients read before they send or explain an object. They reveal no stored data."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson
from pydantic import Field

from dashwright.api.http.call import Call
from dashwright.api.http.etags import entity_tag, tagged_response
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.api.resources import discovery, openapi_documents
from dashwright.common.errors import NotAcceptable, NotFound
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, ranges
from dashwright.common.models.api_model import ApiModel

_TAG: Final = "discovery"


class DocumentAddress(ApiModel):
    """The address of a document."""

    server_relative_url: str = Field(alias="serverRelativeURL", description="The address, with the tag of the document")


class Index(ApiModel):
    """The available documents."""

    paths: dict[str, DocumentAddress] = Field(description="The addresses, by group and version")


_INDEX_RESPONSES: Final = {200: Index, 304: None}
_DOCUMENT_RESPONSES: Final = {
    200: Content({"type": "object", "additionalProperties": True, "description": "An OpenAPI 3.0 document"}),
    304: None,
}
_ACCEPTED_TYPES: Final = frozenset({JSON, "application/*", "*/*"})
_REVALIDATE: Final = {"Cache-Control": "no-cache"}
_IMMUTABLE: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


def routes(kinds: Sequence[Kind], openapi_30_document: Callable[[], Mapping[str, Any]]) -> list[Route]:
    """Return the routes of the index and of the documents, one for each version of a group.

    ``openapi_30_document`` returns the description of all routes as OpenAPI 3.0.
    """

    # The documents are generated on the first request, in a thread: generation is slow, and few clients request them.
    @lru_cache
    def documents() -> dict[str, tuple[bytes, str]]:
        """Return the encoded documents and their entity tags, by path."""
        documents_by_path = {}
        for group in discovery.groups_of(kinds):
            for version in discovery.versions_of(kinds, group):
                body = orjson.dumps(openapi_documents.document(openapi_30_document(), kinds, group, version))
                documents_by_path[f"apis/{group}/{version}"] = body, entity_tag(body)
        return documents_by_path

    @lru_cache
    def index_bytes() -> bytes:
        return orjson.dumps(openapi_documents.index({path: tag for path, (_, tag) in documents().items()}))

    async def get_index(call: Call) -> Response:
        _check_accept(call)
        body = await asyncio.to_thread(index_bytes)
        return tagged_response(call, body, entity_tag(body), _REVALIDATE)

    async def get_document(call: Call) -> Response:
        _check_accept(call)
        path = f"apis/{call.parameters['group']}/{call.parameters['version']}"
        document = (await asyncio.to_thread(documents)).get(path)
        if document is None:
            raise NotFound(f"there is no document {path!r}; /openapi/v3 lists the documents")
        body, tag = document
        return tagged_response(call, body, tag, _IMMUTABLE if call.query.get("hash") == tag else _REVALIDATE)

    return [
        Route(
            "GET",
            "/openapi/v3",
            get_index,
            PUBLIC,
            Operation("listOpenApiV3", "the index of documents", _TAG, responses=_INDEX_RESPONSES, errors=(406,)),
        ),
        Route(
            "GET",
            "/openapi/v3/apis/{group}/{version}",
            get_document,
            PUBLIC,
            Operation(
                "getOpenApiV3",
                "the description of a version of a group, as Kubernetes clients read it",
                _TAG,
                responses=_DOCUMENT_RESPONSES,
                query={"hash": "the tag of the document; the response may then be cached permanently"},
                errors=(404, 406),
            ),
        ),
    ]


def _check_accept(call: Call) -> None:
    """Raise NotAcceptable if the client does not accept JSON."""
    if call.accept and not any(media_range.name in _ACCEPTED_TYPES and media_range.weight > 0 for media_range in ranges(call.accept)):
        raise NotAcceptable(f"the description is only available as {JSON}, which the Accept header does not allow")
