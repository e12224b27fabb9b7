"""``/api/folders``: list, create, read, change, move and delete folders by their uid, and count their content."""

from typing import Any, Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.classic.folders import FolderDetails, Folders
from dashwright.api.classic.routes.provenance import Provenance, abilities_on, provenances
from dashwright.api.domain.access.object_scope import NOTHING
from dashwright.api.domain.access.view import View, actions_of
from dashwright.api.domain.events import event_of
from dashwright.api.domain.urls import folder_url
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.classic_objects import FolderAbove, FolderCounts, FolderDeleted, FolderItem, FolderShape, SaveRefused
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "folders"
_PAGE: Final = 1000
_MOST_PAGES: Final = 1_000_000_000
_BAD_BODY: Final = "bad request data"
_VERBS: Final = {"": "get", "View": "get", "Edit": "update"}
MOVE: Final = event_of(FOLDER, "move")


class CreateFolderCommand(ClassicBody):
    """A folder to create."""

    uid: Text = ""
    title: Text = ""
    description: Text = ""
    parent_uid: Text = ""


class ChangedFolder(ClassicBody):
    """A change of a folder. ``version`` is the one to replace; with ``overwrite`` any version is replaced."""

    #: None keeps the stored title.
    title: Text | None = None
    description: Text | None = None
    #: The version to replace.
    version: int | None = None
    #: Replace any version.
    overwrite: bool = False


class MovedFolder(ClassicBody):
    """The new parent of a folder; an empty text or ``general`` is the root."""

    #: Empty or ``general`` is the root.
    parent_uid: Text = ""


class _Handlers:
    def __init__(self, database: Database, policy: AccessPolicy, folders: Folders) -> None:
        self._database = database
        self._policy = policy
        self._folders = folders

    async def list(self, call: Call) -> Response:
        limit = call.number("limit", _PAGE, least=1, most=_PAGE)
        page = call.number("page", 1, least=1, most=_MOST_PAGES)
        verb = _VERBS.get(call.query.get("permission", ""))
        if verb is None:
            raise BadRequest("permission must be View or Edit")
        caller, parent = call.identity, call.query.get("parentUid", "")
        if parent:
            await self._folders.get(caller, parent)
        view = await self._policy.view(caller, caller.namespace)
        search = titles.TitleQuery(caller.org_id, 0, dashboards=NOTHING, containers=view.scope(FOLDER, verb), folders=[parent])
        async with self._database.connection() as connection:
            found = await titles.search(connection, search, limit=limit, offset=(page - 1) * limit)
        return json_response([FolderItem(id=item.number, uid=item.name, title=item.title, parent_uid=parent or None) for item in found])

    async def create(self, call: Call) -> Response:
        body = await call.fields(CreateFolderCommand, fault=_BAD_BODY)
        try:
            stored = await self._folders.create(_write_context(call), body.uid, body.title, body.description, body.parent_uid)
        except VersionMismatch as error:
            return _mismatch_response(error)
        return await self._written_response(call, stored.name)

    async def get(self, call: Call) -> Response:
        return await self._folder_response(call, await self._folders.get(call.identity, call.parameters["uid"]))

    async def get_by_id(self, call: Call) -> Response:
        uid = await self._folders.name_of(call.identity, call.integer("id", "id is invalid"))
        return await self._folder_response(call, await self._folders.get(call.identity, uid))

    async def change(self, call: Call) -> Response:
        body, uid = await call.fields(ChangedFolder, fault=_BAD_BODY), call.parameters["uid"]
        try:
            await self._folders.change(
                _write_context(call), uid, body.title, body.description, version=body.version, overwrite=body.overwrite
            )
        except VersionMismatch as error:
            return _mismatch_response(error)
        return await self._written_response(call, uid)

    async def move(self, call: Call) -> Response:
        body, uid = await call.fields(MovedFolder, fault=_BAD_BODY), call.parameters["uid"]
        await self._folders.move(_write_context(call, MOVE), uid, body.parent_uid)
        return await self._written_response(call, uid)

    async def counts(self, call: Call) -> Response:
        found = {each.plural: each.objects for each in await self._folders.counts(call.identity, call.parameters["uid"])}
        folders, dashboards, panels = (found.get(kind.plural, 0) for kind in (FOLDER, DASHBOARD, LIBRARY_PANEL))
        return json_response(FolderCounts(folder=folders, dashboard=dashboards, librarypanel=panels))

    async def delete(self, call: Call) -> Response:
        stored = await self._folders.delete(_write_context(call), call.parameters["uid"])
        title = stored.title
        return json_response(FolderDeleted(id=stored.number, title=title, message=f"Folder {title} deleted"))

    async def _written_response(self, call: Call, uid: str) -> Response:
        return await self._folder_response(call, await self._folders.details(call.identity, uid))

    async def _folder_response(self, call: Call, details: FolderDetails) -> Response:
        stored, org_id = details.stored, call.identity.org_id
        *above, own = await provenances(self._database, [*details.above, stored])
        folder = FolderShape(
            **_members(details, stored, own, org_id),
            parents=[FolderAbove(**_members(details, *parent, org_id)) for parent in zip(details.above, above, strict=True)] or None,
            description=orjson.loads(stored.spec).get("description"),
            managed_by=None if repository_of(own.annotations) is None else "repo",
            access_control=_access_control(details.view, stored) if call.switch("accesscontrol") else None,
        )
        return json_response(folder)


def routes(database: Database, policy: AccessPolicy, folders: Folders) -> list[Route]:
    """Return the routes of folders."""
    handlers = _Handlers(database, policy, folders)
    every, one = "/api/folders", "/api/folders/{uid}"
    shown, access = {200: FolderShape}, {"accesscontrol": "true: accessControl, what the caller may do with it"}
    switch: dict[str, type] = {"accesscontrol": bool}
    listing = Operation(
        "getFolders",
        "the folders in a folder, by title",
        _TAG,
        responses={200: list[FolderItem]},
        query={
            "parentUid": "the folder; the root",
            "limit": "at most 1000; 1000",
            "page": "from 1",
            "permission": "Edit: those that the caller may change",
        },
        parameters={"limit": int, "page": int},
        errors=(404,),
    )
    refusable = {200: FolderShape, 412: SaveRefused}
    create = Operation(
        "createFolder", "make a folder", _TAG, CreateFolderCommand, refusable, query=access, parameters=switch, errors=(404,)
    )
    get = Operation("getFolderByUID", "one folder", _TAG, responses=shown, query=access, parameters=switch, errors=(404,))
    by_id = Operation(
        "getFolderByID", "the same by number", _TAG, responses=shown, query=access, parameters={"id": int, **switch}, errors=(404,)
    )
    change = Operation(
        "updateFolder", "rename a folder", _TAG, ChangedFolder, refusable, query=access, parameters=switch, errors=(404, 409)
    )
    move = Operation(
        "moveFolder", "put a folder into another", _TAG, MovedFolder, shown, query=access, parameters=switch, errors=(404, 409)
    )
    counts = Operation("getFolderDescendantCounts", "the number of objects in a folder", _TAG, responses={200: FolderCounts}, errors=(404,))
    delete = Operation(
        "deleteFolder",
        "remove a folder with everything inside",
        _TAG,
        responses={200: FolderDeleted},
        query={"forceDeleteRules": "has no effect: there are no alert rules"},
        errors=(404,),
    )
    reading, writing = _needs("get"), _needs("update")
    return [
        Route("GET", every, handlers.list, reading, listing),
        Route("POST", every, handlers.create, _needs("create"), create, audit=event_of(FOLDER, "create")),
        Route("GET", one, handlers.get, reading, get),
        Route("GET", "/api/folders/id/{id}", handlers.get_by_id, reading, by_id),
        Route("PUT", one, handlers.change, writing, change, audit=event_of(FOLDER, "update")),
        Route("POST", f"{one}/move", handlers.move, writing, move, audit=MOVE),
        Route("GET", f"{one}/counts", handlers.counts, reading, counts),
        Route("DELETE", one, handlers.delete, _needs("delete"), delete, audit=event_of(FOLDER, "delete")),
    ]


def _needs(verb: str) -> Permission:
    return Permission(FOLDER.actions[verb], by_object=True)


def _write_context(call: Call, event: str | None = None) -> WriteContext:
    return WriteContext(call.identity, call.actor, common.MANAGER, event=event, created=200)


def _mismatch_response(error: VersionMismatch) -> Response:
    return json_response(SaveRefused(status="version-mismatch", message=error.message), error.status)


def _members(details: FolderDetails, stored: StoredObject, origin: Provenance, org_id: int) -> dict[str, Any]:
    """Return the members that a folder and each folder above it have."""
    can = abilities_on(details.view, stored, is_editable=repository_of(origin.annotations) is None)
    return {
        "id": stored.number,
        "uid": stored.name,
        "org_id": org_id,
        "title": stored.title,
        "url": folder_url(stored.name, stored.title),
        "has_acl": stored.uid in details.guarded,
        "can_save": can.can_save,
        "can_edit": can.can_save,
        "can_admin": can.can_admin,
        "can_delete": can.can_delete,
        "created_by": origin.created_by,
        "created": origin.created,
        "updated_by": origin.updated_by,
        "updated": origin.updated,
        "version": stored.generation,
        "parent_uid": next((parent.name for parent in details.above if parent.name == stored.folder), None),
    }


def _access_control(view: View, stored: StoredObject) -> dict[str, bool]:
    """Return the actions that the caller may do on a folder and in it."""
    on_it = {action for action in actions_of(FOLDER) if view.may(action, FOLDER, stored.name, stored.folder)}
    inside = {action for kind in (DASHBOARD, LIBRARY_PANEL) for action in actions_of(kind) if view.may(action, kind, "", stored.name)}
    return dict.fromkeys(sorted(on_it | inside), True)
