"""``/api/folders``: list, create, read, change, move and delete folders by their uid, and count their content."""

from typing import Any, Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.classic.folders import FolderDetails, Folders
from dashwright.api.classic.routes.provenance import Provenance, abilities_on, find_provenances
from dashwright.api.domain.access.object_scope import NOTHING
from dashwright.api.domain.access.view import AccessView, actions_of
from dashwright.api.domain.times import ZERO_TIME
from dashwright.api.domain.urls import folder_url
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.classic_objects import FolderAncestor, FolderCounts, FolderDeleted, FolderItem, FolderShape, SaveRefused
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.stores import titles
from dashwright.api.stores.audit import event_of
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "folders"
"""Group of the operations in the description of the API."""
_PAGE_SIZE: Final = 1000
_MAX_PAGE: Final = 1_000_000_000
"""Limit on the number of a page, which keeps the offset within a bigint."""
_NO_AUTHOR: Final = "Anonymous"
"""Name of the creator and the editor of the root, as in Grafana."""
_BAD_BODY: Final = "bad request data"
"""Message of Grafana for an invalid body."""
_VERBS_BY_PERMISSION: Final = {"": "get", "View": "get", "Edit": "update"}
"""Verb by the query parameter ``permission``: a list has only folders on which the caller may do the verb."""
MOVE: Final = event_of(FOLDER, "move")


class CreateFolderCommand(ClassicBody):
    """A folder to create."""

    uid: Text = ""
    title: Text = ""
    description: Text = ""
    parent_uid: Text = ""


class UpdateFolderCommand(ClassicBody):
    """A change of a folder. ``version`` must be the stored version, unless ``overwrite`` is set."""

    #: None keeps the stored title.
    title: Text | None = None
    description: Text | None = None
    #: The version to replace.
    version: int | None = None
    #: Replace any version.
    overwrite: bool = False


class MoveFolderCommand(ClassicBody):
    """The new parent of a folder."""

    #: An empty string or ``general`` for the root.
    parent_uid: Text = ""


class _Handlers:
    """Handlers of folders."""

    def __init__(self, database: Database, policy: AccessPolicy, folders: Folders) -> None:
        self._database = database
        self._policy = policy
        self._folders = folders

    async def list(self, call: Call) -> Response:
        limit = call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_PAGE_SIZE)
        page = call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE)
        verb = _VERBS_BY_PERMISSION.get(call.query.get("permission", ""))
        if verb is None:
            raise BadRequest("permission must be View or Edit")
        caller, parent = call.identity, call.query.get("parentUid", "")
        if parent in common.ROOT_NAMES:
            parent = ""
        else:
            await self._folders.check_container(caller, parent)
        view = await self._policy.view(caller, caller.namespace)
        query = titles.TitleQuery(
            caller.org_id, 0, readable_dashboards=NOTHING, readable_folders=view.scope(FOLDER, verb), folders=[parent]
        )
        async with self._database.connection() as connection:
            matches = await titles.search(connection, query, limit=limit, offset=(page - 1) * limit)
        items = [FolderItem(id=match.number, uid=match.name, title=match.title, parent_uid=parent or None) for match in matches]
        return json_response(items)

    async def create(self, call: Call) -> Response:
        body = await call.model_or_400(CreateFolderCommand, message=_BAD_BODY)
        try:
            folder = await self._folders.create(_write_context(call), body.uid, body.title, body.description, body.parent_uid)
        except VersionMismatch as error:
            return _mismatch_response(error)
        return await self._written_response(call, folder.name)

    async def get(self, call: Call) -> Response:
        uid = call.parameters["uid"]
        if uid in common.ROOT_NAMES:
            return await self._root_response(call, uid, "Dashboards")
        return await self._folder_response(call, await self._folders.get(call.identity, uid))

    async def get_by_id(self, call: Call) -> Response:
        folder_id = call.path_integer("id", "id is invalid")
        # 0 is the id of the root, whose title is General here but Dashboards by its uid, as in Grafana.
        if folder_id == 0:
            return await self._root_response(call, "", "General")
        uid = await self._folders.uid_of(call.identity, folder_id)
        return await self._folder_response(call, await self._folders.get(call.identity, uid))

    async def change(self, call: Call) -> Response:
        body, uid = await call.model_or_400(UpdateFolderCommand, message=_BAD_BODY), call.parameters["uid"]
        try:
            await self._folders.change(
                _write_context(call), uid, body.title, body.description, version=body.version, overwrite=body.overwrite
            )
        except VersionMismatch as error:
            return _mismatch_response(error)
        return await self._written_response(call, uid)

    async def move(self, call: Call) -> Response:
        body, uid = await call.model_or_400(MoveFolderCommand, message=_BAD_BODY), call.parameters["uid"]
        await self._folders.move(_write_context(call, MOVE), uid, body.parent_uid)
        return await self._written_response(call, uid)

    async def counts(self, call: Call) -> Response:
        counts = {count.plural: count.object_count for count in await self._folders.counts(call.identity, call.parameters["uid"])}
        folders, dashboards, panels = (counts.get(kind.plural, 0) for kind in (FOLDER, DASHBOARD, LIBRARY_PANEL))
        return json_response(FolderCounts(folder=folders, dashboard=dashboards, librarypanel=panels))

    async def delete(self, call: Call) -> Response:
        folder = await self._folders.delete(_write_context(call), call.parameters["uid"])
        return json_response(FolderDeleted(id=folder.number, title=folder.title, message="Folder deleted"))

    async def _written_response(self, call: Call, uid: str) -> Response:
        """Return the written folder as the response, also to a caller who may write the folder but not read it."""
        return await self._folder_response(call, await self._folders.get_unchecked(call.identity, uid))

    async def _root_response(self, call: Call, uid: str, title: str) -> Response:
        """Return the root as the folder without an author that Grafana's clients expect. The root itself is not stored."""
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        can_save = view.may(FOLDER.actions["update"], FOLDER, "", None)
        response = FolderShape(
            id=0,
            uid=uid,
            org_id=caller.org_id,
            title=title,
            url="",
            can_save=can_save,
            can_edit=can_save,
            can_admin=False,
            can_delete=False,
            created_by=_NO_AUTHOR,
            created=ZERO_TIME,
            updated_by=_NO_AUTHOR,
            updated=ZERO_TIME,
            version=0,
            access_control=_access_control(view, "", None) if call.query_flag("accesscontrol") else None,
        )
        return json_response(response)

    async def _folder_response(self, call: Call, details: FolderDetails) -> Response:
        """Return a folder with the folders above it as the response."""
        folder, org_id = details.folder, call.identity.org_id
        *ancestor_provenances, provenance = await find_provenances(self._database, [*details.ancestors, folder])
        parents = [
            FolderAncestor(**_common_members(details, ancestor, ancestor_provenance, org_id))
            for ancestor, ancestor_provenance in zip(details.ancestors, ancestor_provenances, strict=True)
        ]
        response = FolderShape(
            **_common_members(details, folder, provenance, org_id),
            parents=parents or None,
            description=orjson.loads(folder.spec).get("description") or None,
            managed_by=None if repository_of(provenance.annotations) is None else "repo",
            access_control=_access_control(details.view, folder.name, folder.folder) if call.query_flag("accesscontrol") else None,
        )
        return json_response(response)


def routes(database: Database, policy: AccessPolicy, folders: Folders) -> list[Route]:
    """Return the routes of folders."""
    handlers = _Handlers(database, policy, folders)
    list_path, folder_path = "/api/folders", "/api/folders/{uid}"
    folder_response = {200: FolderShape}
    access_query = {"accesscontrol": "true: add accessControl, the caller's permissions on the folder"}
    access_parameter: dict[str, type] = {"accesscontrol": bool}
    listing = Operation(
        "getFolders",
        "the folders in a folder, by title",
        _TAG,
        responses={200: list[FolderItem]},
        query={
            "parentUid": "the uid of the parent folder; by default, or general: the root",
            "limit": "folders on a page, by default 1000, at most 1000",
            "page": "from 1",
            "permission": "Edit: only folders that the caller may change",
        },
        parameters={"limit": int, "page": int},
        errors=(404,),
    )
    write_responses = {200: FolderShape, 412: SaveRefused}
    create = Operation(
        "createFolder",
        "create a folder",
        _TAG,
        CreateFolderCommand,
        write_responses,
        query=access_query,
        parameters=access_parameter,
        errors=(404,),
    )
    get = Operation(
        "getFolderByUID", "one folder", _TAG, responses=folder_response, query=access_query, parameters=access_parameter, errors=(404,)
    )
    by_id = Operation(
        "getFolderByID",
        "one folder, by its id",
        _TAG,
        responses=folder_response,
        query=access_query,
        parameters={"id": int, **access_parameter},
        errors=(404,),
    )
    change = Operation(
        "updateFolder",
        "rename a folder",
        _TAG,
        UpdateFolderCommand,
        write_responses,
        query=access_query,
        parameters=access_parameter,
        errors=(404, 409),
    )
    move = Operation(
        "moveFolder",
        "move a folder into another folder or to the root",
        _TAG,
        MoveFolderCommand,
        folder_response,
        query=access_query,
        parameters=access_parameter,
        errors=(404, 409),
    )
    counts = Operation("getFolderDescendantCounts", "the number of objects in a folder", _TAG, responses={200: FolderCounts}, errors=(404,))
    delete = Operation(
        "deleteFolder",
        "delete a folder with everything in it",
        _TAG,
        responses={200: FolderDeleted},
        query={"forceDeleteRules": "has no effect: there are no alert rules"},
        errors=(404,),
    )
    read, write = _permission("get"), _permission("update")
    return [
        Route("GET", list_path, handlers.list, read, listing),
        Route("POST", list_path, handlers.create, _permission("create"), create, audit=event_of(FOLDER, "create")),
        Route("GET", folder_path, handlers.get, read, get),
        Route("GET", "/api/folders/id/{id}", handlers.get_by_id, read, by_id),
        Route("PUT", folder_path, handlers.change, write, change, audit=event_of(FOLDER, "update")),
        Route("POST", f"{folder_path}/move", handlers.move, write, move, audit=MOVE),
        Route("GET", f"{folder_path}/counts", handlers.counts, read, counts),
        Route("DELETE", folder_path, handlers.delete, _permission("delete"), delete, audit=event_of(FOLDER, "delete")),
    ]


def _permission(verb: str) -> Permission:
    """Return the permission for a verb of the resource API on a folder, which an access rule may give, too."""
    return Permission(FOLDER.actions[verb], object_rules_suffice=True)


def _write_context(call: Call, event: str | None = None) -> WriteContext:
    """Return the context of a write by this API. ``event`` is the audit event, by default that of the verb."""
    return WriteContext(call.identity, call.actor, common.FIELD_MANAGER, event=event, created_status=200)


def _mismatch_response(error: VersionMismatch) -> Response:
    """Return the response 412 for a version mismatch. As in Grafana, its body has a member ``status``."""
    return json_response(SaveRefused(status="version-mismatch", message=error.message), error.status)


def _common_members(details: FolderDetails, folder: StoredObject, provenance: Provenance, org_id: int) -> dict[str, Any]:
    """Return the members that FolderShape and FolderAncestor have in common. ``folder`` is that of ``details`` or one of its ancestors."""
    abilities = abilities_on(details.view, folder, is_editable=repository_of(provenance.annotations) is None)
    readable_names = {ancestor.name for ancestor in details.ancestors}
    return {
        "id": folder.number,
        "uid": folder.name,
        "org_id": org_id,
        "title": folder.title,
        "url": folder_url(folder.name, folder.title),
        # Access rules refer to the immutable id of the object, not to its name, which is Grafana's uid.
        "has_acl": folder.uid in details.uids_with_rules,
        "can_save": abilities.can_save,
        "can_edit": abilities.can_save,
        "can_admin": abilities.can_admin,
        "can_delete": abilities.can_delete,
        "created_by": provenance.created_by,
        "created": provenance.created,
        "updated_by": provenance.updated_by,
        "updated": provenance.updated,
        "version": folder.generation,
        # A parent that the caller may not read is not named.
        "parent_uid": folder.folder if folder.folder in readable_names else None,
    }


def _access_control(view: AccessView, name: str, parent: str | None) -> dict[str, bool]:
    """Return the actions that the caller may do on a folder or on its content. Each action is a key with the value True.

    The root has an empty name.
    """
    folder_actions = {action for action in actions_of(FOLDER) if view.may(action, FOLDER, name, parent)}
    content_actions = {
        action for kind in (DASHBOARD, LIBRARY_PANEL) for action in actions_of(kind) if view.may(action, kind, "", name or None)
    }
    return dict.fromkeys(sorted(folder_actions | content_actions), True)
