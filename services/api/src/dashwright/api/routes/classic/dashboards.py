"""``/api/dashboards``: save a dashboard whole, read and remove one by its uid."""

import asyncio
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.domain.classic import dashboard_url, folder_url, slug_of
from dashwright.api.domain.events import event_of
from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.denial import denied
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.resources.classic import SAVE, ClassicObjects, Save, VersionMismatch, annotations_of
from dashwright.api.routes.classic.shown import abilities, provenance
from dashwright.api.routes.resources import OBJECT_LIMIT
from dashwright.common.database.pool import Database
from dashwright.common.document import check_depth, read_json, write_json
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.kinds.annotations import SOURCE_PATH, repository_of
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.models.classic_objects import DashboardDeleted, DashboardMeta, DashboardSaved, DashboardShape, SaveRefused
from dashwright.common.stores.resources import Stored

_TAG: Final = "dashboards"
_ROOT: Final = "general"


class DashboardBody(ClassicBody):
    """``dashboard`` is the dashboard's JSON, with ``uid``, ``id`` and ``version`` where it is to be replaced."""

    dashboard: dict[str, Any]
    folder_uid: Text = ""
    overwrite: bool = False
    message: Text = ""


class _Handlers:
    def __init__(self, database: Database, objects: ClassicObjects) -> None:
        self._database = database
        self._objects = objects

    async def save(self, call: Call) -> Answer:
        wanted = await asyncio.to_thread(_read, await call.body())
        refused = None if call.identity.may(DASHBOARD.actions["create"]) else denied(DASHBOARD.actions["create"])
        try:
            stored = await self._objects.save(call.actor, wanted, may_create=refused)
        except VersionMismatch as error:
            return json_answer(SaveRefused(status="version-mismatch", message=error.message), error.status)
        saved = DashboardSaved(
            id=stored.number,
            uid=stored.name,
            url=dashboard_url(stored.name, stored.title),
            status="success",
            version=stored.generation,
            slug=slug_of(stored.title),
            folder_uid=stored.folder or "",
        )
        return json_answer(saved)

    async def get(self, call: Call) -> Answer:
        stored = await self._objects.get(DASHBOARD, call.identity.org_id, call.parameters["uid"])
        folder = await self._objects.folder_of(call.identity.org_id, stored)
        told, can = await provenance(self._database, stored), abilities(call.identity, "dashboards")
        spec = await asyncio.to_thread(_spec, stored)
        annotations, title = annotations_of(stored), stored.title
        folder_title = "General" if folder is None else folder.title
        meta = DashboardMeta(
            can_save=can.can_save,
            can_edit=can.can_save,
            can_admin=can.can_save and can.can_delete,
            can_star=True,
            can_delete=can.can_delete,
            slug=slug_of(title),
            url=dashboard_url(stored.name, title),
            created=told.created,
            updated=told.updated,
            updated_by=told.updated_by,
            created_by=told.created_by,
            version=stored.generation,
            folder_id=0 if folder is None else folder.number,
            folder_uid="" if folder is None else folder.name,
            folder_title=folder_title,
            folder_url="" if folder is None else folder_url(folder.name, folder_title),
            provisioned=repository_of(annotations) is not None,
            provisioned_external_id=annotations.get(SOURCE_PATH, ""),
        )
        spec |= {"id": stored.number, "uid": stored.name, "version": stored.generation}
        head = b'{"meta":' + meta.to_json() + b',"dashboard":'
        return Answer(200, head + await asyncio.to_thread(write_json, spec) + b"}", may_compress=True)

    async def delete(self, call: Call) -> Answer:
        stored = await self._objects.delete(call.actor, DASHBOARD, call.parameters["uid"])
        title = stored.title
        return json_answer(DashboardDeleted(title=title, message=f"Dashboard {title} deleted", uid=stored.name, id=stored.number))


def routes(database: Database, objects: ClassicObjects) -> list[Route]:
    handlers = _Handlers(database, objects)
    one = "/api/dashboards/uid/{uid}"
    save = Operation(
        "postDashboard",
        "save a dashboard: make it, or replace it",
        _TAG,
        DashboardBody,
        {200: DashboardSaved, 412: SaveRefused},
        errors=(404, 422),
        description="A new dashboard needs dashboards:create as well.",
    )
    get = Operation("getDashboardByUid", "one dashboard", _TAG, answers={200: DashboardShape}, errors=(404,))
    delete = Operation("deleteDashboardByUid", "remove a dashboard", _TAG, answers={200: DashboardDeleted}, errors=(404,))
    return [
        Route("POST", "/api/dashboards/db", handlers.save, Permission("dashboards:write"), save, body_limit=OBJECT_LIMIT, audit=SAVE),
        Route("GET", one, handlers.get, Permission(DASHBOARD.actions["get"]), get),
        Route("DELETE", one, handlers.delete, Permission(DASHBOARD.actions["delete"]), delete, audit=event_of(DASHBOARD, "delete")),
    ]


def _read(body: bytes) -> Save:
    """The body with its numbers as they were sent, which a spec keeps. Raises BadRequest."""
    try:
        tree = read_json(body.decode())
        check_depth(tree)
        given = DashboardBody.model_validate(tree)
    except (UnicodeDecodeError, Invalid, ValidationError) as error:
        raise BadRequest("bad request data") from error
    folder = "" if given.folder_uid == _ROOT else given.folder_uid
    return Save(given.dashboard, folder, given.message, given.overwrite)


def _spec(stored: Stored) -> dict[str, Any]:
    spec: dict[str, Any] = read_json(stored.spec)
    return spec
