"""``/api/dashboards``: save a whole dashboard, read and delete one by its uid."""

from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.common import MANAGER, VersionMismatch
from dashwright.api.classic.dashboards import RESTORE, SAVE, Dashboards, SaveRequest
from dashwright.api.classic.routes.exact_json import Number, parse_exact
from dashwright.api.classic.routes.provenance import provenance
from dashwright.api.domain.events import event_of
from dashwright.api.domain.urls import dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.classic_objects import DashboardDeleted, DashboardMeta, DashboardSaved, DashboardShape, SaveRefused
from dashwright.api.resources.subresources.dto import access
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.resources.writing.edits import is_editable
from dashwright.api.routes.resources import OBJECT_LIMIT
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Caller
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY, REPOSITORY_MANAGER, SOURCE_PATH
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "dashboards"
_PROVISIONERS: Final = frozenset({REPOSITORY_MANAGER, FROM_FILE})


class MetaBody(ClassicBody):
    """The folder in the ``meta`` member that a GET returned."""

    #: Empty if not given.
    folder_uid: Text = ""
    folder_id: Number | None = None


class DashboardBody(ClassicBody):
    """A dashboard to save.

    ``dashboard`` is its JSON, with ``uid`` or ``id`` and ``version`` to replace a stored one. The folder is the first that is
    given of ``folder_uid``, ``folder_id`` and those of ``meta``.
    """

    #: The dashboard's JSON, stored as it is sent.
    dashboard: dict[str, Any]
    #: Takes precedence over ``folder_id``.
    folder_uid: Text = ""
    folder_id: Number | None = None
    meta: MetaBody = MetaBody()
    #: Refused: folders have routes of their own.
    is_folder: bool = False
    #: Replace any version.
    overwrite: bool = False
    #: Stored with the version.
    message: Text = ""


class TakeBackBody(ClassicBody):
    """The folder to restore into; without one, the previous folder."""

    #: None: the previous folder; empty: the root.
    folder_uid: Text | None = None


class _Identity(ClassicBody):
    """The identity in a dashboard's JSON."""

    uid: Text = ""
    #: 0 if not given.
    id: Number = 0
    #: None if not given; then only ``overwrite`` replaces a stored dashboard.
    version: Number | None = None


class _Handlers:
    def __init__(self, database: Database, policy: AccessPolicy, dashboards: Dashboards) -> None:
        self._database = database
        self._policy = policy
        self._dashboards = dashboards

    async def save(self, call: Call) -> Response:
        body = await call.body()
        request = await run_sized(len(body), partial(_read, body))
        try:
            stored = await self._dashboards.save(write_context(call), request)
        except VersionMismatch as error:
            return json_response(SaveRefused(status="version-mismatch", message=error.message), error.status)
        return saved_response(stored)

    async def get(self, call: Call) -> Response:
        caller = call.identity
        stored = await self._dashboards.get(caller, call.parameters["uid"])
        meta = await self._meta(call, stored)
        return Response(200, await run_sized(len(stored.spec), partial(_encode, meta, stored)), may_compress=True)

    async def delete(self, call: Call) -> Response:
        stored = await self._dashboards.delete(write_context(call), call.parameters["uid"])
        title = stored.title
        return json_response(DashboardDeleted(title=title, message=f"Dashboard {title} deleted", uid=stored.name, id=stored.number))

    async def restore_deleted(self, call: Call) -> Response:
        body = await call.fields(TakeBackBody, fault="bad request data")
        stored = await self._dashboards.restore_deleted(write_context(call), call.parameters["uid"], body.folder_uid)
        title = stored.title
        return json_response(DashboardDeleted(title=title, message=f"Dashboard {title} restored", uid=stored.name, id=stored.number))

    async def _meta(self, call: Call, stored: StoredObject) -> DashboardMeta:
        caller, title = call.identity, stored.title
        folder = await self._dashboards.folder_of(caller, stored)
        origin = await provenance(self._database, stored)
        async with self._database.connection() as connection:
            can_change = await is_editable(connection, stored)
            marks = await titles.marks(connection, caller.user_id if caller.kind is Caller.USER else 0, caller.org_id, stored)
        can = access(await self._policy.view(caller, caller.namespace), caller, stored, is_editable=can_change)
        folder_title = folder.title if folder is not None else "" if stored.folder else "General"
        annotations = origin.annotations
        return DashboardMeta(
            can_save=can.can_save,
            can_edit=can.can_edit,
            can_admin=can.can_admin,
            can_star=can.can_star,
            can_delete=can.can_delete,
            is_starred=marks.is_starred,
            annotations_permissions=can.annotations_permissions,
            slug=slug_of(title),
            url=dashboard_url(stored.name, title),
            created=origin.created,
            updated=origin.updated,
            updated_by=origin.updated_by,
            created_by=origin.created_by,
            version=stored.generation,
            has_acl=marks.has_rules,
            api_version=stored.stored_version,
            folder_id=0 if folder is None else folder.number,
            folder_uid=stored.folder or "",
            folder_title=folder_title,
            folder_url="" if folder is None else folder_url(folder.name, folder_title),
            provisioned=annotations.get(MANAGED_BY) in _PROVISIONERS,
            provisioned_external_id=annotations.get(SOURCE_PATH, ""),
        )


def routes(database: Database, policy: AccessPolicy, dashboards: Dashboards) -> list[Route]:
    """Return the routes that save, read, delete and restore dashboards."""
    handlers = _Handlers(database, policy, dashboards)
    one = "/api/dashboards/uid/{uid}"
    save = Operation(
        "postDashboard",
        "save a dashboard: make it, or replace it",
        _TAG,
        DashboardBody,
        {200: DashboardSaved, 412: SaveRefused},
        errors=(404, 409, 422),
        description="A new dashboard needs dashboards:create as well.",
    )
    get = Operation("getDashboardByUID", "one dashboard", _TAG, responses={200: DashboardShape}, errors=(404,))
    delete = Operation("deleteDashboardByUID", "remove a dashboard", _TAG, responses={200: DashboardDeleted}, errors=(404,))
    restore_deleted = Operation(
        "restoreDeletedDashboardByUID",
        "make a deleted dashboard again, as it was",
        _TAG,
        TakeBackBody,
        {200: DashboardDeleted},
        errors=(404, 409, 422),
    )
    return [
        Route("POST", "/api/dashboards/db", handlers.save, _needs("update"), save, body_limit=OBJECT_LIMIT, audit=SAVE),
        Route("GET", one, handlers.get, _needs("get"), get),
        Route("DELETE", one, handlers.delete, _needs("delete"), delete, audit=event_of(DASHBOARD, "delete")),
        Route("PATCH", f"{one}/trash", handlers.restore_deleted, _needs("create"), restore_deleted, audit=RESTORE),
    ]


def write_context(call: Call) -> WriteContext:
    """Return the context of a write by this API."""
    return WriteContext(call.identity, call.actor, manager=MANAGER, created=200)


def saved_response(stored: StoredObject) -> Response:
    """Return the response to a save."""
    return json_response(
        DashboardSaved(
            id=stored.number,
            uid=stored.name,
            url=dashboard_url(stored.name, stored.title),
            status="success",
            version=stored.generation,
            slug=slug_of(stored.title),
            folder_uid=stored.folder or "",
        )
    )


def body_of(stored: StoredObject, spec: str, generation: int) -> bytes:
    """Return the dashboard's JSON with ``id``, ``uid`` and ``version``, as this API shows it."""
    known = {"id": stored.number, "uid": stored.name, "version": generation}
    return write_json(read_json(spec) | known)


def _needs(verb: str) -> Permission:
    return Permission(DASHBOARD.actions[verb], by_object=True)


def _encode(meta: DashboardMeta, stored: StoredObject) -> bytes:
    return b'{"meta":' + meta.to_json() + b',"dashboard":' + body_of(stored, stored.spec, stored.generation) + b"}"


def _read(body: bytes) -> SaveRequest:
    """Return the dashboard to save. Raises BadRequest."""
    given = parse_exact(body, DashboardBody)
    if given.is_folder:
        raise BadRequest("a folder cannot be saved as a dashboard; use /api/folders")
    try:
        itself = _Identity.model_validate({name: given.dashboard.get(name) for name in _Identity.model_fields})
    except ValidationError as error:
        raise BadRequest("uid must be a text, id and version whole numbers") from error
    # Grafana sends back the meta member of a GET; explicit members take precedence over it.
    uids = [uid for uid in (given.folder_uid, None if given.folder_id is not None else given.meta.folder_uid) if uid]
    numbers = [number for number in (given.folder_id, given.meta.folder_id) if number is not None]
    return SaveRequest(
        spec=given.dashboard,
        uid=itself.uid,
        number=itself.id,
        version=itself.version,
        folder_uid=uids[0] if uids else None,
        folder_number=numbers[0] if numbers else None,
        message=given.message,
        overwrite=given.overwrite,
        size=len(body),
    )
