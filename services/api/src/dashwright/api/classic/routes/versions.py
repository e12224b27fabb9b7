"""``/api/dashboards/uid/{uid}/versions``: versions of a dashboard and their restore; also by number, for older clients."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import orjson

from dashwright.api.classic.dashboards import RESTORE, Dashboards
from dashwright.api.classic.routes.dashboards import body_of, saved_response, write_context
from dashwright.api.classic.routes.exact_json import Number
from dashwright.api.classic.routes.provenance import Author, authors
from dashwright.api.domain.times import format_time
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Handler, Operation, Permission, Route
from dashwright.api.models.classic_objects import DashboardSaved, VersionItem, VersionPage, VersionShape
from dashwright.api.resources.threads import run_sized
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody
from dashwright.common.stores.histories import StoredVersion
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "dashboards"
_PAGE: Final = 1000
_FURTHEST: Final = 10_000
_QUERY: Final = {
    "limit": "at most 1000; 1000",
    "start": "how many of the newest to leave out",
    "continueToken": "the token of the previous response, to continue with older versions",
}

Named = Callable[[Call], Awaitable[str]]
"""A function that returns the uid of the dashboard in the path."""


class RestoreBody(ClassicBody):
    """The version to restore."""

    #: The version to restore.
    version: Number = 0


class _Handlers:
    def __init__(self, database: Database, dashboards: Dashboards, named: Named) -> None:
        self._database = database
        self._dashboards = dashboards
        self._named = named

    async def list(self, call: Call) -> Response:
        stored = await self._stored(call)
        limit, start = call.number("limit", _PAGE, least=1, most=_PAGE), call.number("start", 0, least=0, most=_FURTHEST)
        found = await self._dashboards.versions(stored, before=_before(call), limit=start + limit + 1)
        listed = found[start : start + limit]
        makers = await authors(self._database, {version.created_by for version in listed})
        token = str(listed[-1].generation) if len(found) > start + limit else ""
        return Response(200, self._page(stored, listed, makers, token))

    async def get(self, call: Call) -> Response:
        stored = await self._stored(call)
        version = await self._dashboards.version(stored, call.integer("version", "version must be a whole number"))
        return Response(200, await _whole(stored, version, await authors(self._database, [version.created_by])), may_compress=True)

    async def _page(
        self, stored: StoredObject, listed: Sequence[StoredVersion], makers: Mapping[str, Author], token: str
    ) -> AsyncIterator[bytes]:
        """Yield a VersionPage. Bodies are read one after the other, so that memory does not grow with the page."""
        yield b'{"continueToken":' + orjson.dumps(token) + b',"versions":['
        before = b""
        for version in listed:
            with suppress(NotFound):  # dropped from the history since the page was read
                whole = await self._dashboards.version(stored, version.generation)
                yield before + await _whole(stored, whole, makers)
                before = b","
        yield b"]}"

    async def restore(self, call: Call) -> Response:
        stored = await self._stored(call)
        body = await call.fields(RestoreBody, fault="bad request data")
        return saved_response(await self._dashboards.restore(write_context(call), stored, body.version))

    async def _stored(self, call: Call) -> StoredObject:
        return await self._dashboards.get(call.identity, await self._named(call))


def routes(database: Database, dashboards: Dashboards) -> list[Route]:
    """Return the routes of versions, by uid and by number."""

    async def by_uid(call: Call) -> str:
        return call.parameters["uid"]

    async def by_number(call: Call) -> str:
        return await dashboards.name_of(call.identity, call.integer("id", "id is invalid"))

    return [
        *_routes("/api/dashboards/uid/{uid}", "UID", _Handlers(database, dashboards, by_uid)),
        *_routes("/api/dashboards/id/{id}", "ID", _Handlers(database, dashboards, by_number)),
    ]


def _routes(path: str, by: str, handlers: _Handlers) -> Sequence[Route]:
    numbers: dict[str, type] = {"id": int} if by == "ID" else {}
    query: dict[str, type] = {"limit": int, "start": int}

    def route(method: str, below: str, handler: Handler, verb: str, operation: Operation, audit: str | None = None) -> Route:
        return Route(method, path + below, handler, Permission(DASHBOARD.actions[verb], by_object=True), operation, audit=audit)

    listing = Operation(
        f"getDashboardVersionsBy{by}",
        "the versions of a dashboard, the newest first",
        _TAG,
        responses={200: VersionPage},
        query=_QUERY,
        parameters=numbers | query,
        errors=(404,),
        deprecated=by == "ID",
    )
    get = Operation(
        f"getDashboardVersionBy{by}",
        "one version of a dashboard",
        _TAG,
        responses={200: VersionShape},
        parameters=numbers | {"version": int},
        errors=(404,),
        deprecated=by == "ID",
    )
    restore = Operation(
        f"restoreDashboardVersionBy{by}",
        "make an older version of a dashboard the newest again",
        _TAG,
        RestoreBody,
        {200: DashboardSaved},
        parameters=numbers,
        errors=(404, 409, 422),
        deprecated=by == "ID",
    )
    return [
        route("GET", "/versions", handlers.list, "get", listing),
        route("GET", "/versions/{version}", handlers.get, "get", get),
        route("POST", "/restore", handlers.restore, "update", restore, RESTORE),
    ]


def _before(call: Call) -> int | None:
    token = call.query.get("continueToken", "")
    number = parse_integer(token)
    if token and number is None:
        raise BadRequest("continueToken was not issued by this server; list again without it")
    return number


async def _whole(stored: StoredObject, version: StoredVersion, makers: Mapping[str, Author]) -> bytes:
    """Return a VersionShape as JSON."""
    body = await run_sized(len(version.spec), partial(body_of, stored, version.spec, version.generation))
    return _item(stored, version, makers).to_json()[:-1] + b',"data":' + body + b"}"


def _item(stored: StoredObject, version: StoredVersion, makers: Mapping[str, Author]) -> VersionItem:
    return VersionItem(
        id=version.generation,
        dashboard_id=stored.number,
        uid=stored.name,
        parent_version=version.parent_version or 0,
        restored_from=version.restored_from or 0,
        version=version.generation,
        created=format_time(version.created_at),
        created_by=makers[version.created_by].login,
        message=version.message or "",
    )
