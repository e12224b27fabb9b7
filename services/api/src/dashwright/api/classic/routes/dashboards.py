"""``/api/dashboards``: save a dashboard; read, delete and restore one by its uid."""

from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.common import CLASSIC_VERSION, FIELD_MANAGER, Int64, VersionMismatch, parse_exact
from dashwright.api.classic.dashboards import RESTORE, SAVE, Dashboards, SaveRequest
from dashwright.api.classic.routes.provenance import find_provenance
from dashwright.api.domain.urls import dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.classic_objects import (
    DashboardDeleted,
    DashboardMeta,
    DashboardRestored,
    DashboardSaved,
    DashboardShape,
    SaveRefused,
)
from dashwright.api.resources.subresources import dto
from dashwright.api.resources.subresources.dto import access_of
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.resources.writing.edits import is_editable
from dashwright.api.routes.resources import MAX_OBJECT_BYTES
from dashwright.api.stores import titles
from dashwright.api.stores.audit import event_of
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY, REPOSITORY_MANAGER, SOURCE_PATH
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "dashboards"
"""Group of the operations in the description of the API."""
_PROVISIONERS: Final = frozenset({REPOSITORY_MANAGER, FROM_FILE})
"""Kinds of managers whose dashboards are provisioned, in Grafana's terms."""


class MetaBody(ClassicBody):
    """The folder in the ``meta`` member that a GET returned."""

    #: Empty if it is missing.
    folder_uid: Text = ""
    folder_id: Int64 | None = None


class DashboardBody(ClassicBody):
    """A dashboard to save.

    ``dashboard`` is its JSON. To replace a stored dashboard, this JSON has ``uid`` or ``id``, and ``version``. The folder is
    ``folder_uid``, else ``folder_id``, else the folder in ``meta``.
    """

    #: The dashboard's JSON, stored as it is sent.
    dashboard: dict[str, Any]
    #: Takes precedence over ``folder_id``.
    folder_uid: Text = ""
    folder_id: Int64 | None = None
    meta: MetaBody = MetaBody()
    #: Refused: folders have routes of their own.
    is_folder: bool = False
    #: Replace any version.
    overwrite: bool = False
    #: Stored with the version.
    message: Text = ""


class RestoreDeletedBody(ClassicBody):
    """The folder to restore a deleted dashboard into, by default its previous folder."""

    #: None: the previous folder; empty: the root.
    folder_uid: Text | None = None


class _DashboardReference(ClassicBody):
    """The members of a dashboard's JSON that name the stored dashboard to replace."""

    uid: Text = ""
    #: 0 if it is missing.
    id: Int64 = 0
    #: None if it is missing; then only ``overwrite`` replaces a stored dashboard.
    version: Int64 | None = None


class _Handlers:
    """Handlers of dashboards."""

    def __init__(self, database: Database, policy: AccessPolicy, dashboards: Dashboards) -> None:
        self._database = database
        self._policy = policy
        self._dashboards = dashboards

    async def save(self, call: Call) -> Response:
        body = await call.body()
        request = await run_in_thread_if_large(len(body), partial(_parse_save_request, body))
        try:
            dashboard = await self._dashboards.save(write_context(call), request)
        except VersionMismatch as error:
            return json_response(SaveRefused(status="version-mismatch", message=error.message), error.status)
        return saved_response(dashboard)

    async def get(self, call: Call) -> Response:
        dashboard = await self._dashboards.get(call.identity, call.parameters["uid"])
        meta = await self._meta(call, dashboard)
        return Response(200, await run_in_thread_if_large(len(dashboard.spec), partial(_encode, meta, dashboard)), may_compress=True)

    async def get_with_access(self, call: Call) -> Response:
        dashboard = await self._dashboards.get(call.identity, call.parameters["uid"])
        view = await self._policy.view(call.identity, call.identity.namespace)
        return await dto.respond_with_access(CLASSIC_VERSION, self._database, call, dashboard, view)

    async def delete(self, call: Call) -> Response:
        dashboard = await self._dashboards.delete(write_context(call), call.parameters["uid"])
        title = dashboard.title
        return json_response(DashboardDeleted(title=title, message=f"Dashboard {title} deleted", uid=dashboard.name, id=dashboard.number))

    async def restore_deleted(self, call: Call) -> Response:
        body = await call.model_or_400(RestoreDeletedBody, message="bad request data")
        dashboard = await self._dashboards.restore_deleted(write_context(call), call.parameters["uid"], body.folder_uid)
        title = dashboard.title
        return json_response(DashboardRestored(title=title, message=f"Dashboard {title} restored", uid=dashboard.name, id=dashboard.number))

    async def _meta(self, call: Call, dashboard: StoredObject) -> DashboardMeta:
        """Return the member ``meta`` of a dashboard: its origin, its folder, and what the caller may do with it."""
        caller, title = call.identity, dashboard.title
        folder = await self._dashboards.visible_folder(caller, dashboard)
        provenance = await find_provenance(self._database, dashboard)
        async with self._database.connection() as connection:
            is_dashboard_editable = await is_editable(connection, dashboard)
            flags = await titles.dashboard_flags(connection, caller.user_id, caller.org_id, dashboard)
        abilities = access_of(await self._policy.view(caller, caller.namespace), caller, dashboard, allows_edits=is_dashboard_editable)
        # Grafana calls the root General. The title of a folder that the caller may not read is empty.
        title_without_folder = "" if dashboard.folder else "General"
        folder_title = title_without_folder if folder is None else folder.title
        annotations = provenance.annotations
        return DashboardMeta(
            can_save=abilities.can_save,
            can_edit=abilities.can_edit,
            can_admin=abilities.can_admin,
            can_star=abilities.can_star,
            can_delete=abilities.can_delete,
            is_starred=flags.is_starred,
            annotations_permissions=abilities.annotations_permissions,
            slug=slug_of(title),
            url=dashboard_url(dashboard.name, title),
            created=provenance.created,
            updated=provenance.updated,
            updated_by=provenance.updated_by,
            created_by=provenance.created_by,
            version=dashboard.generation,
            has_acl=flags.has_rules,
            api_version=dashboard.stored_version,
            folder_id=0 if folder is None else folder.number,
            folder_uid=dashboard.folder or "",
            folder_title=folder_title,
            folder_url="" if folder is None else folder_url(folder.name, folder_title),
            provisioned=annotations.get(MANAGED_BY) in _PROVISIONERS,
            provisioned_external_id=annotations.get(SOURCE_PATH, ""),
        )


def routes(database: Database, policy: AccessPolicy, dashboards: Dashboards) -> list[Route]:
    """Return the routes that save, read, delete and restore dashboards."""
    handlers = _Handlers(database, policy, dashboards)
    path = "/api/dashboards/uid/{uid}"
    save = Operation(
        "postDashboard",
        "save a dashboard: create it, or replace it",
        _TAG,
        DashboardBody,
        {200: DashboardSaved, 412: SaveRefused},
        errors=(404, 409, 422),
        description="A new dashboard needs dashboards:create as well.",
    )
    get = Operation("getDashboardByUID", "one dashboard", _TAG, responses={200: DashboardShape}, errors=(404,))
    get_with_access = Operation(
        "getDashboardWithAccessByUID",
        "one dashboard as a resource, with the permissions of the caller on it",
        _TAG,
        responses={200: dto.response_content(DASHBOARD)},
        query=dto.QUERY,
        errors=(404, 406),
    )
    delete = Operation("deleteDashboardByUID", "delete a dashboard", _TAG, responses={200: DashboardDeleted}, errors=(404,))
    restore_deleted = Operation(
        "restoreDeletedDashboardByUID",
        "restore a deleted dashboard",
        _TAG,
        RestoreDeletedBody,
        {200: DashboardRestored},
        errors=(404, 409, 422),
    )
    return [
        Route("POST", "/api/dashboards/db", handlers.save, _permission("update"), save, body_limit=MAX_OBJECT_BYTES, audit=SAVE),
        Route("GET", path, handlers.get, _permission("get"), get),
        Route("GET", f"{path}/dto", handlers.get_with_access, _permission("get"), get_with_access),
        Route("DELETE", path, handlers.delete, _permission("delete"), delete, audit=event_of(DASHBOARD, "delete")),
        Route("PATCH", f"{path}/trash", handlers.restore_deleted, _permission("create"), restore_deleted, audit=RESTORE),
    ]


def write_context(call: Call) -> WriteContext:
    """Return the context of a write by this API."""
    return WriteContext(call.identity, call.actor, field_manager=FIELD_MANAGER, created_status=200)


def saved_response(dashboard: StoredObject) -> Response:
    """Return the response to a save."""
    return json_response(
        DashboardSaved(
            id=dashboard.number,
            uid=dashboard.name,
            url=dashboard_url(dashboard.name, dashboard.title),
            status="success",
            version=dashboard.generation,
            slug=slug_of(dashboard.title),
            folder_uid=dashboard.folder or "",
        )
    )


def dashboard_json(dashboard: StoredObject, spec: str, generation: int) -> bytes:
    """Return a spec of the dashboard as JSON, with the members ``id``, ``uid`` and ``version``."""
    return write_json(read_json(spec) | {"id": dashboard.number, "uid": dashboard.name, "version": generation})


def _permission(verb: str) -> Permission:
    """Return the permission for a verb of the resource API on a dashboard, which an access rule may give, too."""
    return Permission(DASHBOARD.actions[verb], object_rules_suffice=True)


def _encode(meta: DashboardMeta, dashboard: StoredObject) -> bytes:
    """Return the response to a GET as JSON. A dashboard with a layout is converted to the classic format."""
    spec = DASHBOARD.rendered(dashboard.body, CLASSIC_VERSION).spec if dashboard.layout else dashboard.spec
    return b'{"meta":' + meta.to_json() + b',"dashboard":' + dashboard_json(dashboard, spec, dashboard.generation) + b"}"


def _parse_save_request(body: bytes) -> SaveRequest:
    """Return the request to save a dashboard from its body. Raises BadRequest."""
    form = parse_exact(body, DashboardBody)
    if form.is_folder:
        raise BadRequest("a folder cannot be saved as a dashboard; use /api/folders")
    try:
        reference = _DashboardReference.model_validate({name: form.dashboard.get(name) for name in _DashboardReference.model_fields})
    except ValidationError as error:
        raise BadRequest("uid must be a string, id and version whole numbers") from error
    # Grafana's frontend sends back the ``meta`` of a GET; explicit members take precedence over it.
    meta_uid = form.meta.folder_uid if form.folder_id is None else ""
    folder_ids = [folder_id for folder_id in (form.folder_id, form.meta.folder_id) if folder_id is not None]
    return SaveRequest(
        spec=form.dashboard,
        uid=reference.uid,
        dashboard_id=reference.id,
        version=reference.version,
        folder_uid=form.folder_uid or meta_uid or None,
        folder_id=folder_ids[0] if folder_ids else None,
        message=form.message,
        overwrite=form.overwrite,
        size=len(body),
    )
