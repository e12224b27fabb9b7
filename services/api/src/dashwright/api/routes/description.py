"""The description of the API: ``/openapi.json`` for programs, ``/docs`` for users. It reveals no stored data."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import orjson

from dashwright.api.http import docs_page
from dashwright.api.http.call import Call
from dashwright.api.http.earlier import openapi_30
from dashwright.api.http.etags import entity_tag, tagged
from dashwright.api.http.openapi import document
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.api.http.schemas import Schema
from dashwright.api.routes import openapi_v2, openapi_v3
from dashwright.api.routes.examples import EXAMPLES
from dashwright.api.routes.tags import TAGS
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import KINDS

_HTML = "text/html; charset=utf-8"


def described_api(routes: Sequence[Route], *, version: str) -> Schema:
    """Return the OpenAPI document, with the options that Kubernetes clients send as an object."""
    options = [sub.options for kind in KINDS for sub in kind.subresources if sub.options is not None]
    return document(routes, version=version, also=options, tags=TAGS, examples=EXAMPLES)


def routes(others: Sequence[Route], *, version: str) -> list[Route]:
    """Return the routes of all formats of the description, which covers ``others`` and these routes.

    ``version`` is the product's version.
    """

    # The routes do not change while the process runs. The documents are generated on the first request, in a thread: that
    # takes a while, and few clients request them.
    @lru_cache
    def described() -> Schema:
        return described_api([*others, *ours], version=version)

    @lru_cache
    def earlier() -> Schema:
        return openapi_30(described())

    @lru_cache
    def text() -> tuple[bytes, str]:
        body = orjson.dumps(described())
        return body, entity_tag(body)

    @lru_cache
    def pages() -> dict[str, bytes]:
        groups = docs_page.groups_of(described())
        return {"": docs_page.index(described()), **{name: docs_page.group(described(), group) for name, group in groups.items()}}

    async def openapi(call: Call) -> Response:
        body, tag = await asyncio.to_thread(text)
        return tagged(call, body, tag, {"Cache-Control": "no-cache"})

    async def docs(_: Call) -> Response:
        return Response(200, (await asyncio.to_thread(pages))[""], _HTML, docs_page.INDEX_HEADERS, may_compress=True)

    async def docs_of_group(call: Call) -> Response:
        page = (await asyncio.to_thread(pages)).get(call.parameters["group"])
        if page is None:
            raise NotFound(f"group of operations not found: {call.parameters['group'][:40]!r}; {_DOCS} lists them")
        return Response(200, page, _HTML, docs_page.HEADERS, may_compress=True)

    ours = [
        Route("GET", "/openapi.json", openapi, PUBLIC, _OPENAPI),
        Route("GET", _DOCS, docs, PUBLIC, _PAGE),
        Route("GET", f"{_DOCS}/{{group}}", docs_of_group, PUBLIC, _PAGE_OF_GROUP),
        *(_moved(path, place, operation) for path, place, operation in _OLD_PLACES),
        *openapi_v3.routes(KINDS, earlier),
        *openapi_v2.routes(KINDS, earlier),
    ]
    return ours


def _moved(path: str, place: str, operation: str) -> Route:
    """Return a route that redirects to ``place``."""

    async def moved(_: Call) -> Response:
        return Response(302, headers={"Location": place})

    summary = f"redirect to {place}, for clients that use this address"
    return Route("GET", path, moved, PUBLIC, Operation(operation, summary, "description", responses={302: None}))


_DOCS: Final = "/docs"
_OLD_PLACES: Final = (
    ("/swagger", _DOCS, "getSwaggerPage"),
    ("/api/swagger-ui", _DOCS, "getSwaggerUi"),
    ("/swagger.json", openapi_v2.PATH, "getSwaggerDocument"),
)
_TEXT: Final = {"type": "object", "additionalProperties": True, "description": "An OpenAPI 3.1 document"}
_OPENAPI: Final = Operation("getOpenApi", "this description", "description", responses={200: Content(_TEXT), 304: None})
_SHOWN: Final = {200: Content(str, ("text/html",))}
_PAGE: Final = Operation("getDocs", "this description as a page", "description", responses=_SHOWN)
_PAGE_OF_GROUP: Final = Operation("getDocsOfGroup", "a group of operations as a page", "description", responses=_SHOWN, errors=(404,))
