"""The description of the API: ``/openapi.json`` for programs, ``/docs`` for users. It reveals no stored data."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import orjson

from dashwright.api.http import docs_page
from dashwright.api.http.call import Call
from dashwright.api.http.etags import entity_tag, tagged_response
from dashwright.api.http.openapi import openapi_document
from dashwright.api.http.openapi_conversion import openapi_30
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.api.http.schemas import Schema
from dashwright.api.routes import openapi_v2, openapi_v3
from dashwright.api.routes.examples import EXAMPLES
from dashwright.api.routes.tags import TAGS
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import KINDS

_HTML = "text/html; charset=utf-8"
_TAG: Final = "description"
"""The OpenAPI tag, that is the group, of these operations."""


def described_api(routes: Sequence[Route], *, version: str) -> Schema:
    """Return the OpenAPI 3.1 document of ``routes`` and of the options that clients may send to subresources."""
    # No operation names these models as its request, so the document would lack their schemas.
    options = [subresource.options for kind in KINDS for subresource in kind.subresources if subresource.options is not None]
    return openapi_document(routes, version=version, extra_models=options, tags=TAGS, examples=EXAMPLES)


def routes(described_routes: Sequence[Route], *, version: str) -> list[Route]:
    """Return the routes of the description in all formats. The description covers ``described_routes`` and the returned routes.

    ``version`` is the product's version.
    """

    # The documents are generated on the first request, in a thread: generation is slow, and few clients request them. They are
    # cached, because the routes do not change while the process runs.
    @lru_cache
    def openapi_31_document() -> Schema:
        # ``own_routes`` are assigned below, before the first request.
        return described_api([*described_routes, *own_routes], version=version)

    @lru_cache
    def openapi_30_document() -> Schema:
        return openapi_30(openapi_31_document())

    @lru_cache
    def document_bytes() -> tuple[bytes, str]:
        body = orjson.dumps(openapi_31_document())
        return body, entity_tag(body)

    @lru_cache
    def pages() -> dict[str, bytes]:
        document = openapi_31_document()
        group_pages = {slug: docs_page.group_page(document, group) for slug, group in docs_page.groups_of(document).items()}
        return {"": docs_page.index_page(document), **group_pages}

    async def get_document(call: Call) -> Response:
        body, tag = await asyncio.to_thread(document_bytes)
        return tagged_response(call, body, tag, {"Cache-Control": "no-cache"})

    async def index_page(_: Call) -> Response:
        return Response(200, (await asyncio.to_thread(pages))[""], _HTML, docs_page.INDEX_HEADERS, may_compress=True)

    async def group_page(call: Call) -> Response:
        page = (await asyncio.to_thread(pages)).get(call.parameters["group"])
        if page is None:
            raise NotFound(f"group of operations not found: {call.parameters['group'][:40]!r}; {_DOCS_PATH} lists them")
        return Response(200, page, _HTML, docs_page.HEADERS, may_compress=True)

    own_routes = [
        Route("GET", "/openapi.json", get_document, PUBLIC, _DOCUMENT_OPERATION),
        Route("GET", _DOCS_PATH, index_page, PUBLIC, _INDEX_OPERATION),
        Route("GET", f"{_DOCS_PATH}/{{group}}", group_page, PUBLIC, _GROUP_OPERATION),
        *(_redirect(path, location, operation_id) for path, location, operation_id in _REDIRECTS),
        *openapi_v3.routes(KINDS, openapi_30_document),
        *openapi_v2.routes(KINDS, openapi_30_document),
    ]
    return own_routes


def _redirect(path: str, location: str, operation_id: str) -> Route:
    """Return a route that redirects to ``location``."""

    async def redirect(_: Call) -> Response:
        return Response(302, headers={"Location": location})

    summary = f"redirect to {location}, for clients that request {path}"
    return Route("GET", path, redirect, PUBLIC, Operation(operation_id, summary, _TAG, responses={302: None}))


_DOCS_PATH: Final = "/docs"
_REDIRECTS: Final = (
    ("/swagger", _DOCS_PATH, "getSwaggerPage"),
    ("/api/swagger-ui", _DOCS_PATH, "getSwaggerUi"),
    ("/swagger.json", openapi_v2.PATH, "getSwaggerDocument"),
)
_DOCUMENT_SCHEMA: Final = {"type": "object", "additionalProperties": True, "description": "An OpenAPI 3.1 document"}
_DOCUMENT_OPERATION: Final = Operation("getOpenApi", "this description", _TAG, responses={200: Content(_DOCUMENT_SCHEMA), 304: None})
_HTML_RESPONSE: Final = {200: Content(str, ("text/html",))}
_INDEX_OPERATION: Final = Operation("getDocs", "this description as a page", _TAG, responses=_HTML_RESPONSE)
_GROUP_OPERATION: Final = Operation("getDocsOfGroup", "a group of operations as a page", _TAG, responses=_HTML_RESPONSE, errors=(404,))
