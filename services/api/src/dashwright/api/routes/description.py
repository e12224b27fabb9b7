"""The description of the API: ``/openapi.json`` for programs, ``/docs`` for people. Neither tells anything about what is stored."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from dashwright.api.http import docs_page
from dashwright.api.http.answer import JSON, Answer
from dashwright.api.http.call import Call
from dashwright.api.http.openapi import document
from dashwright.api.http.routing import PUBLIC, Content, Operation, Route
from dashwright.common.kinds.registry import KINDS

_HTML = "text/html; charset=utf-8"


def described_api(routes: Sequence[Route], *, version: str) -> dict[str, Any]:
    """Return the whole description, with the options that only Kubernetes' clients send as an object."""
    options = [sub.options for kind in KINDS for sub in kind.subresources if sub.options is not None]
    return document(routes, version=version, also=options)


def routes(others: Sequence[Route], *, version: str) -> list[Route]:
    """The two routes; they describe ``others`` and themselves. ``version`` is the product's."""

    # The table does not change while the process lives. Made when first asked for, in a thread: it takes a moment, and few ask.
    @lru_cache
    def described() -> dict[str, Any]:
        return described_api([*others, *ours], version=version)

    @lru_cache
    def text() -> bytes:
        return orjson.dumps(described())

    @lru_cache
    def page() -> bytes:
        return docs_page.page(described())

    async def openapi(_: Call) -> Answer:
        return Answer(200, await asyncio.to_thread(text), JSON, {"Cache-Control": "no-cache"}, may_compress=True)

    async def docs(_: Call) -> Answer:
        return Answer(200, await asyncio.to_thread(page), _HTML, docs_page.HEADERS, may_compress=True)

    ours = [
        Route(
            "GET",
            "/openapi.json",
            openapi,
            PUBLIC,
            Operation(
                "getOpenApi",
                "This description",
                "description",
                answers={200: Content({"type": "object", "additionalProperties": True, "description": "An OpenAPI 3.1 document"})},
            ),
        ),
        Route(
            "GET",
            "/docs",
            docs,
            PUBLIC,
            Operation("getDocs", "This description as a page", "description", answers={200: Content(str, ("text/html",))}),
        ),
    ]
    return ours
