"""``/api/library-elements``: panels that dashboards share, and the dashboards that show them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.common import ROOT_NAMES, Int64, parse_exact
from dashwright.api.classic.library_elements import PANEL, ElementRequest, LibraryElements, not_found
from dashwright.api.classic.routes.dashboards import write_context
from dashwright.api.classic.routes.provenance import Author, find_authors
from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.times import format_time
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer, run_in_thread_if_large
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.library_elements import (
    Connection,
    ConnectionsResponse,
    ElementAuthor,
    ElementDeleted,
    ElementHead,
    ElementMeta,
    ElementPageResponse,
    ElementResponse,
    ElementsResponse,
)
from dashwright.api.routes.resources import MAX_OBJECT_BYTES
from dashwright.api.stores import library_elements
from dashwright.api.stores.audit import event_of
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.models.classic import ClassicBody, Name, Text

_TAG: Final = "library elements"
"""Group of the operations in the description of the API."""
_PAGE_SIZE: Final = 100
_MAX_PAGE_SIZE: Final = 1000
_MAX_PAGE: Final = 1_000_000_000
"""Limit on the number of a page, which keeps the offset within a bigint."""

_UNUSED_ID: Final = -1
"""A numeric id that no folder has."""

_QUERY_DESCRIPTIONS: Final = {
    "searchString": "part of the name or of the description",
    "kind": "1 for panels; there is no other",
    "sortDirection": "alpha-asc, or alpha-desc: by name in descending order",
    "typeFilter": "types of panels, separated by commas",
    "excludeUid": "uids of panels to leave out, separated by commas",
    "folderFilterUIDs": "uids of folders, separated by commas; general is the root",
    "folderFilter": "ids of folders, separated by commas; 0 is the root",
    "perPage": "panels on a page, by default 100, at most 1000",
    "page": "from 1",
}


class CreateLibraryElementCommand(ClassicBody):
    """A library panel to create. ``model`` is the panel's JSON."""

    #: Empty for a generated uid.
    uid: Text = ""
    name: Name = ""
    kind: int = PANEL
    folder_uid: Text | None = None
    folder_id: Int64 | None = None
    #: The panel's JSON.
    model: dict[str, Any]


class ElementChange(ClassicBody):
    """A change of a library panel. Missing members keep their stored values; ``version`` must be the stored version."""

    #: Empty, or the uid in the path.
    uid: Text = ""
    name: Name = ""
    kind: int = PANEL
    folder_uid: Text | None = None
    folder_id: Int64 | None = None
    #: None keeps the stored body.
    model: dict[str, Any] | None = None
    #: The stored version.
    version: Int64 = 0


class _Handlers:
    """Handlers of library elements."""

    def __init__(self, database: Database, policy: AccessPolicy, elements: LibraryElements) -> None:
        self._database = database
        self._policy = policy
        self._elements = elements

    async def list(self, call: Call) -> Response:
        caller, query = call.identity, call.query
        limit = call.query_integer("perPage", _PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        page = call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE)
        view = await self._policy.view(caller, caller.namespace)
        async with self._database.connection() as connection:
            element_query = library_elements.ElementQuery(
                caller.org_id,
                view.scope(LIBRARY_PANEL) if query.get("kind", str(PANEL)) == str(PANEL) else NOTHING,
                containing=query.get("searchString", ""),
                types=_split_at_commas(query.get("typeFilter", "")),
                folders=["" if uid in ROOT_NAMES else uid for uid in _split_at_commas(query.get("folderFilterUIDs", ""))],
                folder_numbers=_parse_folder_ids(query.get("folderFilter", "")),
                except_uids=_split_at_commas(query.get("excludeUid", "")),
                descending=query.get("sortDirection") == "alpha-desc",
            )
            matches = await library_elements.search(connection, element_query, limit=limit, offset=(page - 1) * limit)
        encoded = await self._encode_all(call, view, matches.elements)
        head = f'{{"result":{{"totalCount":{matches.total},"page":{page},"perPage":{limit},"elements":['
        return Response(200, head.encode() + b",".join(encoded) + b"]}}", may_compress=True)

    async def create(self, call: Call) -> Response:
        body = await call.body()
        command = await run_in_thread_if_large(len(body), partial(parse_exact, body, CreateLibraryElementCommand))
        request = ElementRequest(
            name=command.name.strip() or None,
            kind=command.kind,
            model=command.model,
            folder_uid=command.folder_uid,
            folder_id=command.folder_id,
            size=len(body),
        )
        return await self._element_response(call, await self._elements.create(write_context(call), command.uid, request))

    async def get(self, call: Call) -> Response:
        return await self._element_response(call, call.parameters["uid"])

    async def by_name(self, call: Call) -> Response:
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        element_query = library_elements.ElementQuery(caller.org_id, view.scope(LIBRARY_PANEL), name=call.parameters["name"])
        async with self._database.connection() as connection:
            # A name is unique only within its folder, so several folders may have an element with it.
            matches = await library_elements.search(connection, element_query, limit=_MAX_PAGE_SIZE, offset=0)
        if not matches.elements:
            raise not_found()
        encoded = await self._encode_all(call, view, matches.elements)
        return Response(200, b'{"result":[' + b",".join(encoded) + b"]}", may_compress=True)

    async def change(self, call: Call) -> Response:
        body, uid = await call.body(), call.parameters["uid"]
        change = await run_in_thread_if_large(len(body), partial(parse_exact, body, ElementChange))
        if change.uid not in ("", uid):
            raise BadRequest("the uid of a library element cannot be changed; leave it out, or send the current one")
        # Clients send a negative folderId to keep the folder.
        keeps_folder = change.folder_uid is None and change.folder_id is not None and change.folder_id < 0
        request = ElementRequest(
            name=change.name.strip() or None,
            kind=change.kind,
            model=change.model,
            folder_uid=change.folder_uid,
            folder_id=None if keeps_folder else change.folder_id,
            size=len(body),
        )
        await self._elements.change(write_context(call), uid, request, change.version)
        return await self._element_response(call, uid)

    async def delete(self, call: Call) -> Response:
        element = await self._elements.delete(write_context(call), call.parameters["uid"])
        return json_response(ElementDeleted(id=element.number, message="Library element deleted"))

    async def connections(self, call: Call) -> Response:
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        element = await self._get_readable(call, view, call.parameters["uid"])
        async with self._database.connection() as connection:
            dashboards = await library_elements.dashboards_using(connection, caller.org_id, element.uid, view.scope(DASHBOARD))
        authors_by_name = await find_authors(self._database, {dashboard.created_by for dashboard in dashboards})
        connections = [
            Connection(
                id=dashboard.number,  # A connection is not stored, so it has no id of its own.
                element_id=element.number,
                connection_id=dashboard.number,
                connection_uid=dashboard.uid,
                created=format_time(dashboard.created_at),
                created_by=_author_json(authors_by_name[dashboard.created_by]),
            )
            for dashboard in dashboards
        ]
        return json_response(ConnectionsResponse(result=connections))

    async def _element_response(self, call: Call, uid: str) -> Response:
        """Return one element as the response. Raises NotFound and Forbidden."""
        view = await self._policy.view(call.identity, call.identity.namespace)
        element = await self._get_readable(call, view, uid)
        [encoded] = await self._encode_all(call, view, [element])
        return Response(200, b'{"result":' + encoded + b"}", may_compress=True)

    async def _get_readable(self, call: Call, view: AccessView, uid: str) -> library_elements.ElementRow:
        """Return one element. Raises NotFound, and Forbidden if the caller may not read it."""
        # Elements that the caller may not read are found, too: their response is 403 instead of 404.
        element_query = library_elements.ElementQuery(call.identity.org_id, EVERYTHING, uids=[uid])
        async with self._database.connection() as connection:
            matches = await library_elements.search(connection, element_query, limit=1, offset=0)
        if not matches.elements:
            raise not_found()
        element, action = matches.elements[0], LIBRARY_PANEL.actions["get"]
        if not view.may(action, LIBRARY_PANEL, uid, element.folder):
            raise permission_denied(action)
        return element

    async def _encode_all(self, call: Call, view: AccessView, elements: Sequence[library_elements.ElementRow]) -> Sequence[bytes]:
        """Return each element as JSON. Its body is included as it is stored."""
        author_names = {name for element in elements for name in (element.created_by, element.updated_by)}
        authors_by_name = await find_authors(self._database, author_names)
        return [_encode(element, call.identity.org_id, view, authors_by_name) for element in elements]


def _encode(element: library_elements.ElementRow, org_id: int, view: AccessView, authors_by_name: dict[str, Author]) -> bytes:
    """Return an element as JSON. The title of a folder that the caller may not read is empty."""
    # Grafana calls the root General.
    folder, folder_title = element.folder, "General"
    if folder is not None:
        is_visible = view.may(FOLDER.actions["get"], FOLDER, folder, element.folder_parent)
        folder_title = (element.folder_title or "") if is_visible else ""
    meta = ElementMeta(
        folder_name=folder_title,
        folder_uid=folder or "",
        connected_dashboards=element.dashboard_count,
        created=format_time(element.created_at),
        updated=format_time(element.updated_at),
        created_by=_author_json(authors_by_name[element.created_by]),
        updated_by=_author_json(authors_by_name[element.updated_by]),
    )
    head = ElementHead(
        id=element.number,
        org_id=org_id,
        folder_id=element.folder_number or 0,
        folder_uid=folder or "",
        uid=element.uid,
        name=element.name,
        type=element.type,
        description=element.description,
        version=element.generation,
        meta=meta,
    )
    return head.to_json()[:-1] + b',"model":' + _with_description(element.spec).encode() + b"}"


def _with_description(spec: str) -> str:
    """Return a panel's JSON with a member ``description``, which is empty if it is missing in ``spec``."""
    members = orjson.loads(spec)
    if "description" in members:
        return spec
    # Inserted into the text: if the parsed spec were written again, its numbers would not remain exact.
    return f'{{"description":""{"," if members else ""}{spec[1:]}'


def _author_json(author: Author) -> ElementAuthor:
    """Return an author in the format of this API."""
    return ElementAuthor(id=author.account_id, name=author.login, avatar_url=avatar_url(author.email, author.login))


def _split_at_commas(value: str) -> list[str]:
    return [item.strip() for item in value.split(",")] if value else []


def _parse_folder_ids(value: str) -> list[int]:
    """Return the valid ids in a comma-separated value. If all are invalid, return an id that no folder has."""
    folder_ids = [folder_id for item in _split_at_commas(value) if (folder_id := parse_integer(item)) is not None]
    # An empty list would not filter at all, and so find the elements of all folders.
    are_all_invalid = value != "" and not folder_ids
    return [_UNUSED_ID] if are_all_invalid else folder_ids


def routes(database: Database, policy: AccessPolicy, elements: LibraryElements) -> list[Route]:
    """Return the routes of library elements."""
    handlers = _Handlers(database, policy, elements)
    path, actions = "/api/library-elements", LIBRARY_PANEL.actions
    element_path = f"{path}/{{uid}}"

    def permission(verb: str) -> Permission:
        return Permission(actions[verb], object_rules_suffice=True)

    listing = Operation(
        "getLibraryElements",
        "library panels, by name",
        _TAG,
        responses={200: ElementPageResponse},
        query=_QUERY_DESCRIPTIONS,
        parameters={"kind": int, "perPage": int, "page": int},
    )
    create = Operation(
        "createLibraryElement", "create a library panel", _TAG, CreateLibraryElementCommand, {200: ElementResponse}, errors=(404, 422)
    )
    by_name = Operation("getLibraryElementByName", "the library panels with a name", _TAG, responses={200: ElementsResponse}, errors=(404,))
    get = Operation("getLibraryElementByUID", "one library panel", _TAG, responses={200: ElementResponse}, errors=(404,))
    change = Operation(
        "updateLibraryElement", "change a library panel", _TAG, ElementChange, {200: ElementResponse}, errors=(404, 409, 412, 422)
    )
    delete = Operation("deleteLibraryElementByUID", "delete a library panel", _TAG, responses={200: ElementDeleted}, errors=(404,))
    connections = Operation(
        "getLibraryElementConnections",
        "the dashboards that show a library panel",
        _TAG,
        responses={200: ConnectionsResponse},
        errors=(404,),
    )
    create_event, update_event, delete_event = (event_of(LIBRARY_PANEL, verb) for verb in ("create", "update", "delete"))
    return [
        Route("GET", path, handlers.list, permission("list"), listing),
        Route(
            "POST",
            path,
            handlers.create,
            permission("create"),
            create,
            body_limit=MAX_OBJECT_BYTES,
            audit=create_event,
        ),
        Route("GET", f"{path}/name/{{name}}", handlers.by_name, permission("list"), by_name),
        Route("GET", element_path, handlers.get, permission("get"), get),
        Route(
            "PATCH",
            element_path,
            handlers.change,
            permission("patch"),
            change,
            body_limit=MAX_OBJECT_BYTES,
            audit=update_event,
        ),
        Route("DELETE", element_path, handlers.delete, permission("delete"), delete, audit=delete_event),
        Route("GET", f"{element_path}/connections", handlers.connections, permission("get"), connections),
    ]
