"""``/api/library-elements``: panels that dashboards share, and the dashboards that show them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.library_elements import PANEL, ElementRequest, LibraryElements, not_found
from dashwright.api.classic.routes.dashboards import write_context
from dashwright.api.classic.routes.exact_json import Number, parse_exact
from dashwright.api.classic.routes.provenance import Author, authors
from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING
from dashwright.api.domain.access.view import View
from dashwright.api.domain.events import event_of
from dashwright.api.domain.times import format_time
from dashwright.api.domain.urls import avatar_url
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.errors import permission_denied
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.library_elements import (
    Connection,
    ConnectionsAnswer,
    ElementAnswer,
    ElementDeleted,
    ElementHead,
    ElementMaker,
    ElementMeta,
    ElementPageAnswer,
    ElementsAnswer,
)
from dashwright.api.resources.threads import run_sized
from dashwright.api.routes.resources import OBJECT_LIMIT
from dashwright.api.stores import library_elements
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.models.classic import ClassicBody, Name, Text

_TAG: Final = "library elements"
_PAGE: Final = 100
_LARGEST_PAGE: Final = 1000
_MOST_PAGES: Final = 1_000_000_000
_ROOT: Final = frozenset({"general", ""})
_QUERY: Final = {
    "searchString": "part of the name or of the description",
    "kind": "1 for panels; there is no other",
    "sortDirection": "alpha-asc, or alpha-desc: by name from the end",
    "typeFilter": "types of panels, with commas between",
    "excludeUid": "not this one",
    "folderFilterUIDs": "uids of folders, with commas between; general is the root",
    "folderFilter": "the same by number, 0 is the root",
    "perPage": "at most 1000; 100",
    "page": "from 1",
}


class CreateLibraryElementCommand(ClassicBody):
    """A library panel to create. ``model`` is the panel's JSON."""

    #: Empty: generated.
    uid: Text = ""
    name: Name = ""
    kind: int = PANEL
    folder_uid: Text | None = None
    folder_id: Number | None = None
    #: The panel's JSON.
    model: dict[str, Any]


class ElementChange(ClassicBody):
    """A change of a library panel. Members that are not given are kept; ``version`` is the one to change."""

    #: Must be that of the path if given.
    uid: Text = ""
    name: Name = ""
    kind: int = PANEL
    folder_uid: Text | None = None
    folder_id: Number | None = None
    #: None keeps the stored body.
    model: dict[str, Any] | None = None
    #: The version to change.
    version: Number = 0


class _Handlers:
    def __init__(self, database: Database, policy: AccessPolicy, elements: LibraryElements) -> None:
        self._database = database
        self._policy = policy
        self._elements = elements

    async def list(self, call: Call) -> Response:
        caller, query = call.identity, call.query
        limit, page = call.number("perPage", _PAGE, least=1, most=_LARGEST_PAGE), call.number("page", 1, least=1, most=_MOST_PAGES)
        view = await self._policy.view(caller, caller.namespace)
        async with self._database.connection() as connection:
            element_query = library_elements.ElementQuery(
                caller.org_id,
                view.scope(LIBRARY_PANEL) if query.get("kind", str(PANEL)) == str(PANEL) else NOTHING,
                containing=query.get("searchString", ""),
                types=_split(query.get("typeFilter", "")),
                folders=["" if uid in _ROOT else uid for uid in _split(query.get("folderFilterUIDs", ""))],
                folder_numbers=_numbers(query.get("folderFilter", "")),
                but=_split(query.get("excludeUid", "")),
                descending=query.get("sortDirection") == "alpha-desc",
            )
            found = await library_elements.search(connection, element_query, limit=limit, offset=(page - 1) * limit)
        encoded = await self._encoded(call, view, found.elements)
        head = f'{{"result":{{"totalCount":{found.total},"page":{page},"perPage":{limit},"elements":['
        return Response(200, head.encode() + b",".join(encoded) + b"]}}", may_compress=True)

    async def create(self, call: Call) -> Response:
        body = await call.body()
        given = await run_sized(len(body), partial(parse_exact, body, CreateLibraryElementCommand))
        request = ElementRequest(given.name.strip() or None, given.kind, given.model, given.folder_uid, given.folder_id, len(body))
        return await self._element_response(call, await self._elements.create(write_context(call), given.uid, request))

    async def get(self, call: Call) -> Response:
        return await self._element_response(call, call.parameters["uid"])

    async def by_name(self, call: Call) -> Response:
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        element_query = library_elements.ElementQuery(caller.org_id, view.scope(LIBRARY_PANEL), name=call.parameters["name"])
        async with self._database.connection() as connection:
            found = await library_elements.search(connection, element_query, limit=_LARGEST_PAGE, offset=0)
        if not found.elements:
            raise not_found()
        return Response(200, b'{"result":[' + b",".join(await self._encoded(call, view, found.elements)) + b"]}", may_compress=True)

    async def change(self, call: Call) -> Response:
        body, uid = await call.body(), call.parameters["uid"]
        given = await run_sized(len(body), partial(parse_exact, body, ElementChange))
        if given.uid not in ("", uid):
            raise BadRequest("the uid of a library element cannot be changed")
        # Clients send a negative folderId to keep the folder.
        kept = given.folder_uid is None and given.folder_id is not None and given.folder_id < 0
        number = None if kept else given.folder_id
        request = ElementRequest(given.name.strip() or None, given.kind, given.model, given.folder_uid, number, len(body))
        await self._elements.change(write_context(call), uid, request, given.version)
        return await self._element_response(call, uid)

    async def delete(self, call: Call) -> Response:
        stored = await self._elements.delete(write_context(call), call.parameters["uid"])
        return json_response(ElementDeleted(id=stored.number, message="Library element deleted"))

    async def connections(self, call: Call) -> Response:
        caller = call.identity
        element = await self._one(call, await self._policy.view(caller, caller.namespace), call.parameters["uid"])
        scope = (await self._policy.view(caller, caller.namespace)).scope(DASHBOARD)
        async with self._database.connection() as connection:
            found = await library_elements.connections(connection, caller.org_id, element.uid, scope)
        makers = await authors(self._database, {dashboard.created_by for dashboard in found})
        connected = [
            Connection(
                id=dashboard.number,
                element_id=element.number,
                connection_id=dashboard.number,
                connection_uid=dashboard.uid,
                created=format_time(dashboard.created_at),
                created_by=_maker(makers[dashboard.created_by]),
            )
            for dashboard in found
        ]
        return json_response(ConnectionsAnswer(result=connected))

    async def _element_response(self, call: Call, uid: str) -> Response:
        view = await self._policy.view(call.identity, call.identity.namespace)
        element = await self._one(call, view, uid)
        return Response(200, b'{"result":' + (await self._encoded(call, view, [element]))[0] + b"}", may_compress=True)

    async def _one(self, call: Call, view: View, uid: str) -> library_elements.ElementRow:
        element_query = library_elements.ElementQuery(call.identity.org_id, EVERYTHING, uids=[uid])
        async with self._database.connection() as connection:
            found = await library_elements.search(connection, element_query, limit=1, offset=0)
        if not found.elements:
            raise not_found()
        action = LIBRARY_PANEL.actions["get"]
        if not view.may(action, LIBRARY_PANEL, uid, found.elements[0].folder):
            raise permission_denied(action)
        return found.elements[0]

    async def _encoded(self, call: Call, view: View, elements: Sequence[library_elements.ElementRow]) -> Sequence[bytes]:
        """Return each element as JSON, with its body as stored."""
        makers = await authors(self._database, {maker for element in elements for maker in (element.created_by, element.updated_by)})
        return [_encode(element, call.identity.org_id, view, makers) for element in elements]


def _encode(element: library_elements.ElementRow, org_id: int, view: View, makers: dict[str, Author]) -> bytes:
    folder, title = element.folder, "General"
    if folder is not None:
        is_shown = view.may(FOLDER.actions["get"], FOLDER, folder, element.folder_parent)
        title = (element.folder_title or "") if is_shown else ""
    meta = ElementMeta(
        folder_name=title,
        folder_uid=folder or "",
        connected_dashboards=element.connections,
        created=format_time(element.created_at),
        updated=format_time(element.updated_at),
        created_by=_maker(makers[element.created_by]),
        updated_by=_maker(makers[element.updated_by]),
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
    return head.to_json()[:-1] + b',"model":' + _model(element.spec).encode() + b"}"


def _model(spec: str) -> str:
    """Return a panel's body with a description, which is empty if the body has none."""
    given = orjson.loads(spec)
    if "description" in given:
        return spec
    return f'{{"description":""{"," if given else ""}{spec[1:]}'


def _maker(known: Author) -> ElementMaker:
    return ElementMaker(id=known.number, name=known.login, avatar_url=avatar_url(known.email, known.login))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _numbers(text: str) -> list[int]:
    """Return the numbers in the text. If none is valid, the result matches no folder."""
    return [number for part in _split(text) if (number := parse_integer(part)) is not None] or ([-1] if text else [])


def routes(database: Database, policy: AccessPolicy, elements: LibraryElements) -> list[Route]:
    """Return the routes of library elements."""
    handlers = _Handlers(database, policy, elements)
    path, actions = "/api/library-elements", LIBRARY_PANEL.actions
    one = f"{path}/{{uid}}"

    def needs(verb: str) -> Permission:
        return Permission(actions[verb], by_object=True)

    listing = Operation(
        "getLibraryElements",
        "library panels, by name",
        _TAG,
        responses={200: ElementPageAnswer},
        query=_QUERY,
        parameters={"kind": int, "perPage": int, "page": int},
    )
    create = Operation(
        "createLibraryElement", "make a library panel", _TAG, CreateLibraryElementCommand, {200: ElementAnswer}, errors=(404, 422)
    )
    by_name = Operation("getLibraryElementByName", "the library panels of that name", _TAG, responses={200: ElementsAnswer}, errors=(404,))
    get = Operation("getLibraryElementByUID", "one library panel", _TAG, responses={200: ElementAnswer}, errors=(404,))
    change = Operation(
        "updateLibraryElement", "change a library panel", _TAG, ElementChange, {200: ElementAnswer}, errors=(404, 409, 412, 422)
    )
    delete = Operation("deleteLibraryElementByUID", "remove a library panel", _TAG, responses={200: ElementDeleted}, errors=(404,))
    connections = Operation(
        "getLibraryElementConnections", "the dashboards that show a library panel", _TAG, responses={200: ConnectionsAnswer}, errors=(404,)
    )
    return [
        Route("GET", path, handlers.list, needs("list"), listing),
        Route("POST", path, handlers.create, needs("create"), create, body_limit=OBJECT_LIMIT, audit=event_of(LIBRARY_PANEL, "create")),
        Route("GET", f"{path}/name/{{name}}", handlers.by_name, needs("list"), by_name),
        Route("GET", one, handlers.get, needs("get"), get),
        Route("PATCH", one, handlers.change, needs("patch"), change, body_limit=OBJECT_LIMIT, audit=event_of(LIBRARY_PANEL, "update")),
        Route("DELETE", one, handlers.delete, needs("delete"), delete, audit=event_of(LIBRARY_PANEL, "delete")),
        Route("GET", f"{one}/connections", handlers.connections, needs("get"), connections),
    ]
