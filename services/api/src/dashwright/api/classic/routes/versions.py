"""``/api/dashboards/uid/{uid}/versions``: list, read and restore versions of a dashboard. Older clients use its id instead."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import orjson

from dashwright.api.classic.common import Int64
from dashwright.api.classic.dashboards import RESTORE, Dashboards
from dashwright.api.classic.routes.dashboards import dashboard_json, saved_response, write_context
from dashwright.api.classic.routes.provenance import Author, find_authors
from dashwright.api.domain.times import format_time
from dashwright.api.http.call import Call, parse_integer, run_in_thread_if_large
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Handler, Operation, Permission, Route
from dashwright.api.models.classic_objects import DashboardSaved, VersionItem, VersionPage, VersionShape
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody
from dashwright.common.stores.histories import StoredVersion
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "dashboards"
"""Group of the operations in the description of the API."""
_PAGE_SIZE: Final = 1000
_MAX_START: Final = 10_000
"""Limit on the versions that a page skips. The query reads also the skipped versions."""
_QUERY_DESCRIPTIONS: Final = {
    "limit": "versions on a page, by default 1000, at most 1000",
    "start": "the number of newest versions to skip",
    "continueToken": "the token of the previous response, to continue with older versions",
}

UidFinder = Callable[[Call], Awaitable[str]]
"""A function that returns the uid of the dashboard in the path."""


class RestoreBody(ClassicBody):
    """A request to restore a version."""

    #: The version to restore.
    version: Int64 = 0


class _Handlers:
    """Handlers of versions. ``find_uid`` decides whether the path has the uid or the id of the dashboard."""

    def __init__(self, database: Database, dashboards: Dashboards, find_uid: UidFinder) -> None:
        self._database = database
        self._dashboards = dashboards
        self._find_uid = find_uid

    async def list(self, call: Call) -> Response:
        dashboard = await self._dashboard(call)
        limit = call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_PAGE_SIZE)
        start = call.query_integer("start", 0, minimum=0, maximum=_MAX_START)
        # One version more than needed shows whether there is another page.
        newest_versions = await self._dashboards.versions(dashboard, before=_parse_continue_token(call), limit=start + limit + 1)
        versions = newest_versions[start : start + limit]
        authors_by_name = await find_authors(self._database, {version.created_by for version in versions})
        continue_token = str(versions[-1].generation) if len(newest_versions) > start + limit else ""
        return Response(200, self._page(dashboard, versions, authors_by_name, continue_token))

    async def get(self, call: Call) -> Response:
        dashboard = await self._dashboard(call)
        version = await self._dashboards.version(dashboard, call.path_integer("version", "version must be a whole number"))
        authors_by_name = await find_authors(self._database, [version.created_by])
        return Response(200, await _version_json(dashboard, version, authors_by_name), may_compress=True)

    async def _page(
        self, dashboard: StoredObject, versions: Sequence[StoredVersion], authors_by_name: Mapping[str, Author], continue_token: str
    ) -> AsyncIterator[bytes]:
        """Yield a VersionPage as JSON. Bodies are read one after the other, so that memory does not grow with the page."""
        yield b'{"continueToken":' + orjson.dumps(continue_token) + b',"versions":['
        separator = b""
        for version in versions:
            with suppress(NotFound):  # The version may have been trimmed from the history since the list was read.
                full_version = await self._dashboards.version(dashboard, version.generation)
                yield separator + await _version_json(dashboard, full_version, authors_by_name)
                separator = b","
        yield b"]}"

    async def restore(self, call: Call) -> Response:
        dashboard = await self._dashboard(call)
        body = await call.model_or_400(RestoreBody, message="bad request data")
        return saved_response(await self._dashboards.restore(write_context(call), dashboard, body.version))

    async def _dashboard(self, call: Call) -> StoredObject:
        """Return the dashboard in the path. Raises NotFound and Forbidden."""
        return await self._dashboards.get(call.identity, await self._find_uid(call))


def routes(database: Database, dashboards: Dashboards) -> list[Route]:
    """Return the routes of versions, by the uid and by the id of the dashboard."""

    async def by_uid(call: Call) -> str:
        return call.parameters["uid"]

    async def by_id(call: Call) -> str:
        return await dashboards.uid_of(call.identity, call.path_integer("id", "id is invalid"))

    return [
        *_routes("/api/dashboards/uid/{uid}", "UID", _Handlers(database, dashboards, by_uid)),
        *_routes("/api/dashboards/id/{id}", "ID", _Handlers(database, dashboards, by_id)),
    ]


def _routes(path: str, identifier: str, handlers: _Handlers) -> Sequence[Route]:
    """Return the routes below the path of a dashboard, which names it by ``identifier``: ``UID``, or the deprecated ``ID``."""
    is_by_id = identifier == "ID"
    id_parameters: dict[str, type] = {"id": int} if is_by_id else {}
    query_parameters: dict[str, type] = {"limit": int, "start": int}

    def route(method: str, path_suffix: str, handler: Handler, verb: str, operation: Operation, audit: str | None = None) -> Route:
        return Route(
            method, path + path_suffix, handler, Permission(DASHBOARD.actions[verb], object_rules_suffice=True), operation, audit=audit
        )

    listing = Operation(
        f"getDashboardVersionsBy{identifier}",
        "the versions of a dashboard, the newest first",
        _TAG,
        responses={200: VersionPage},
        query=_QUERY_DESCRIPTIONS,
        parameters=id_parameters | query_parameters,
        errors=(404,),
        deprecated=is_by_id,
    )
    get = Operation(
        f"getDashboardVersionBy{identifier}",
        "one version of a dashboard",
        _TAG,
        responses={200: VersionShape},
        parameters=id_parameters | {"version": int},
        errors=(404,),
        deprecated=is_by_id,
    )
    restore = Operation(
        f"restoreDashboardVersionBy{identifier}",
        "restore an older version of a dashboard as its newest one",
        _TAG,
        RestoreBody,
        {200: DashboardSaved},
        parameters=id_parameters,
        errors=(404, 409, 422),
        deprecated=is_by_id,
    )
    return [
        route("GET", "/versions", handlers.list, "get", listing),
        route("GET", "/versions/{version}", handlers.get, "get", get),
        route("POST", "/restore", handlers.restore, "update", restore, RESTORE),
    ]


def _parse_continue_token(call: Call) -> int | None:
    """Return the generation of the last version of the previous page, or None for the first page. Raises BadRequest."""
    token = call.query.get("continueToken", "")
    generation = parse_integer(token)
    if token and generation is None:
        raise BadRequest("continueToken was not issued by this server; list again without it")
    return generation


async def _version_json(dashboard: StoredObject, version: StoredVersion, authors_by_name: Mapping[str, Author]) -> bytes:
    """Return a VersionShape as JSON, which contains the body of the version."""
    body = await run_in_thread_if_large(len(version.spec), partial(dashboard_json, dashboard, version.spec, version.generation))
    return _version_item(dashboard, version, authors_by_name).to_json()[:-1] + b',"data":' + body + b"}"


def _version_item(dashboard: StoredObject, version: StoredVersion, authors_by_name: Mapping[str, Author]) -> VersionItem:
    """Return a version without its body. Its id is its generation, since versions have no ids of their own."""
    return VersionItem(
        id=version.generation,
        dashboard_id=dashboard.number,
        uid=dashboard.name,
        parent_version=version.parent_version or 0,
        restored_from=version.restored_from or 0,
        version=version.generation,
        created=format_time(version.created_at),
        created_by=authors_by_name[version.created_by].login,
        message=version.message or "",
    )
