"""``/api/dashboards/import`` and ``/api/dashboards/interpolate``: exported dashboards with values for their inputs."""

from functools import partial
from typing import Any, Final, NamedTuple

from pydantic import Field

from dashwright.api.classic.common import Int64, VersionMismatch, parse_exact
from dashwright.api.classic.dashboards import SAVE, Dashboards
from dashwright.api.classic.imports import ImportRequest, Imports
from dashwright.api.classic.routes.dashboards import write_context
from dashwright.api.domain.dashboard_inputs import InputValue, ResolvedDashboard, resolve
from dashwright.api.domain.urls import dashboard_url, slug_of
from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.models.classic_objects import DashboardImported, SaveRefused
from dashwright.api.routes.resources import MAX_OBJECT_BYTES
from dashwright.common.errors import Invalid
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.stores.resources import StoredObject

_TAG: Final = "dashboards"
"""Group of the operations in the description of the API."""


class ImportInput(ClassicBody):
    """The value of an input of an exported dashboard."""

    #: The name of the input; ``*`` for every input of the type.
    name: Text = ""
    #: The type of the input, such as ``datasource`` or ``constant``.
    type: Text = ""
    plugin_id: Text = ""
    value: Text = ""


class ImportBody(ClassicBody):
    """An exported dashboard to import, with a value for each input in its ``__inputs``."""

    #: The exported JSON.
    dashboard: dict[str, Any] | None = None
    #: Only returned in the response: there are no plugins that contain dashboards.
    plugin_id: Text = ""
    #: The path of a dashboard in a plugin. Only returned in the response.
    path: Text = ""
    inputs: list[ImportInput] = Field(default_factory=list, max_length=1000)
    #: Replace a stored dashboard with the same uid.
    overwrite: bool = False
    #: Takes precedence over ``folder_id``; the root without both.
    folder_uid: Text = ""
    folder_id: Int64 | None = None


class _ParsedBody(NamedTuple):
    """A body, and its dashboard with the values of the inputs."""

    body: ImportBody
    dashboard: ResolvedDashboard


def routes(dashboards: Dashboards, imports: Imports) -> list[Route]:
    """Return the routes."""

    async def import_dashboard(call: Call) -> Response:
        parsed = await _parse(call)
        body = parsed.body
        request = ImportRequest(
            dashboard=parsed.dashboard,
            folder_uid=body.folder_uid or None,
            folder_id=body.folder_id,
            overwrite=body.overwrite,
            size=len(await call.body()),
        )
        try:
            dashboard = await imports.run(write_context(call), request)
        except VersionMismatch as error:
            return json_response(SaveRefused(status="version-mismatch", message=error.message), error.status)
        folder = await dashboards.visible_folder(call.identity, dashboard)
        return json_response(_imported(body, dashboard, 0 if folder is None else folder.number))

    async def interpolate(call: Call) -> Response:
        parsed = await _parse(call)
        return Response(200, await run_in_thread_if_large(len(await call.body()), partial(write_json, parsed.dashboard.spec)))

    permission = Permission(DASHBOARD.actions["create"], object_rules_suffice=True)
    import_operation = Operation(
        "importDashboard",
        "import an exported dashboard with values for its inputs",
        _TAG,
        ImportBody,
        {200: DashboardImported, 412: SaveRefused},
        errors=(404, 409, 422),
        description="Missing library panels in __elements are created in the same folder, which needs library.panels:create.",
    )
    interpolate_operation = Operation(
        "interpolateDashboard",
        "an exported dashboard with values for its inputs; nothing is stored",
        _TAG,
        ImportBody,
        {200: Content({"type": "object", "additionalProperties": True, "description": "The JSON of the dashboard"})},
        errors=(422,),
    )
    return [
        Route(
            "POST",
            "/api/dashboards/import",
            import_dashboard,
            permission,
            import_operation,
            body_limit=MAX_OBJECT_BYTES,
            audit=SAVE,
        ),
        Route("POST", "/api/dashboards/interpolate", interpolate, permission, interpolate_operation, body_limit=MAX_OBJECT_BYTES),
    ]


async def _parse(call: Call) -> _ParsedBody:
    """Return the parsed body of a request. Raises the errors of ``_parse_body``."""
    body = await call.body()
    return await run_in_thread_if_large(len(body), partial(_parse_body, body))


def _parse_body(source: bytes) -> _ParsedBody:
    """Return the body and the dashboard. Raises BadRequest, and Invalid for a body without dashboard."""
    body = parse_exact(source, ImportBody)
    if body.dashboard is None:
        reason = "Dashboard must be set" if not body.plugin_id else "Dashboard must be set: there are no plugins that bring dashboards"
        raise Invalid(reason)
    inputs = [InputValue(form.name, form.type, form.value) for form in body.inputs]
    # A short body may repeat the placeholder of a long value, so the limit of the body does not limit the resolved dashboard.
    return _ParsedBody(body, resolve(body.dashboard, inputs, max_characters=MAX_OBJECT_BYTES))


def _imported(body: ImportBody, dashboard: StoredObject, folder_id: int) -> DashboardImported:
    """Return the response to an import. ``folder_id`` is 0 at the root, and for a folder that the caller may not read."""
    slug = slug_of(dashboard.title)
    return DashboardImported(
        uid=dashboard.name,
        plugin_id=body.plugin_id,
        title=dashboard.title,
        imported_uri=f"db/{slug}",
        imported_url=dashboard_url(dashboard.name, dashboard.title),
        slug=slug,
        dashboard_id=dashboard.number,
        folder_id=folder_id,
        folder_uid=dashboard.folder or "",
        imported_revision=dashboard.generation,
        revision=dashboard.generation,
        path=body.path,
    )
