"""``/api/folders``: list, make, read and remove folders by their uid. One that is not empty is not removed."""

from typing import Final

from dashwright.api.domain.classic import folder_url
from dashwright.api.domain.events import event_of
from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.resources.classic import ClassicObjects, not_found
from dashwright.api.resources.rules import annotations_of
from dashwright.api.routes.classic.shown import abilities, provenance
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.kinds.scope import NOTHING
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.models.classic_objects import FolderDeleted, FolderItem, FolderShape
from dashwright.common.stores.resources import Stored

_TAG: Final = "folders"
_PAGE: Final = 1000
_MOST_PAGES: Final = 1_000_000_000


class NewFolder(ClassicBody):
    uid: Text = ""
    title: Text = ""
    parent_uid: Text = ""


class _Handlers:
    def __init__(self, database: Database, objects: ClassicObjects) -> None:
        self._database = database
        self._objects = objects

    async def list(self, call: Call) -> Answer:
        limit = call.number("limit", _PAGE, least=1, most=_PAGE)
        page = call.number("page", 1, least=1, most=_MOST_PAGES)
        parent = call.query.get("parentUid", "")
        wanted = titles.Search(call.identity.org_id, 0, dashboards=NOTHING, folders=[parent])
        async with self._database.connection() as connection:
            if parent and not await titles.folder_exists(connection, call.identity.org_id, parent):
                raise not_found(FOLDER)
            found = await titles.search(connection, wanted, limit=limit, offset=(page - 1) * limit)
        return json_answer([FolderItem(id=item.number, uid=item.name, title=item.title, parent_uid=item.folder) for item in found])

    async def create(self, call: Call) -> Answer:
        body = await call.fields(NewFolder, fault="bad request data")
        return await self._answer(call, await self._objects.create_folder(call.actor, body.uid, body.title, body.parent_uid))

    async def get(self, call: Call) -> Answer:
        return await self._answer(call, await self._objects.get(FOLDER, call.identity.org_id, call.parameters["uid"]))

    async def delete(self, call: Call) -> Answer:
        stored = await self._objects.delete(call.actor, FOLDER, call.parameters["uid"])
        title = stored.title
        return json_answer(FolderDeleted(id=stored.number, title=title, message=f"Folder {title} deleted"))

    async def _answer(self, call: Call, stored: Stored) -> Answer:
        title, told, can = stored.title, await provenance(self._database, stored), abilities(call.identity, "folders")
        annotations = annotations_of(stored)
        folder = FolderShape(
            id=stored.number,
            uid=stored.name,
            org_id=call.identity.org_id,
            title=title,
            url=folder_url(stored.name, title),
            can_save=can.can_save,
            can_edit=can.can_save,
            can_admin=can.can_save and can.can_delete,
            can_delete=can.can_delete,
            created_by=told.created_by,
            created=told.created,
            updated_by=told.updated_by,
            updated=told.updated,
            version=stored.generation,
            parent_uid=stored.folder or None,
            managed_by=None if repository_of(annotations) is None else "repo",
        )
        return json_answer(folder)


def routes(database: Database, objects: ClassicObjects) -> list[Route]:
    handlers = _Handlers(database, objects)
    one = "/api/folders/{uid}"
    listing = Operation(
        "getFolders",
        "the folders in a folder, by title",
        _TAG,
        answers={200: list[FolderItem]},
        query={"parentUid": "the folder; the root", "limit": "at most 1000; 1000", "page": "from 1"},
        parameters={"limit": int, "page": int},
        errors=(404,),
    )
    create = Operation("createFolderByUid", "make a folder", _TAG, NewFolder, {200: FolderShape}, errors=(404, 412))
    get = Operation("getFolderByUid", "one folder", _TAG, answers={200: FolderShape}, errors=(404,))
    delete = Operation(
        "deleteFolderByUid",
        "remove an empty folder",
        _TAG,
        answers={200: FolderDeleted},
        query={"forceDeleteRules": "has no effect: there are no alert rules"},
        errors=(404,),
    )
    return [
        Route("GET", "/api/folders", handlers.list, Permission(FOLDER.actions["list"]), listing),
        Route("POST", "/api/folders", handlers.create, Permission(FOLDER.actions["create"]), create, audit=event_of(FOLDER, "create")),
        Route("GET", one, handlers.get, Permission(FOLDER.actions["get"]), get),
        Route("DELETE", one, handlers.delete, Permission(FOLDER.actions["delete"]), delete, audit=event_of(FOLDER, "delete")),
    ]
