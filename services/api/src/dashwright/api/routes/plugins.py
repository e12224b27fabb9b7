"""``/api/plugins``: the built-in types of data sources and panels. Nothing can be installed."""

from functools import cache
from typing import Any, Final

from dashwright.api.domain.data_source_types import DEFAULT_LOGO
from dashwright.api.domain.panel_types import DRAWN_TYPES, PanelType
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.plugins import PluginInfo, PluginItem, PluginLink, PluginLogos, PluginShape
from dashwright.common.errors import NotFound
from dashwright.common.models.data_source_types import POSTGRESQL, PROMETHEUS, SUPPORTED_TYPES, DataSourceType

_TAG: Final = "plugins"
_CATEGORIES: Final = {PROMETHEUS.id: "tsdb", POSTGRESQL.id: "sql"}
_QUERY: Final = {
    "type": "datasource or panel",
    "core": "0: only types that are not built in. The list is empty, because all types are built in",
    "enabled": "0: only disabled types. The list is empty, because no type can be disabled",
    "embedded": "has no effect: no type is part of another",
}


def routes(*, reported_version: str) -> list[Route]:
    """Return the routes. ``reported_version`` is the version of Grafana that the API reports to clients."""
    items, shapes_by_name = _plugins(reported_version)

    async def list_all(call: Call) -> Response:
        has_match = "0" not in (call.query.get("core"), call.query.get("enabled"))
        requested_type = call.query.get("type") or None
        return json_response([item for item in items if has_match and requested_type in (None, item.type)])

    async def get_settings(call: Call) -> Response:
        shape = shapes_by_name.get(call.parameters["id"])
        if shape is None:
            raise NotFound("Plugin not found, no installed plugin with that id")
        return json_response(shape)

    listing = Operation(
        "getPlugins",
        "the built-in types of data sources and panels, by name",
        _TAG,
        responses={200: list[PluginItem]},
        query=_QUERY,
    )
    settings = Operation("getPluginSettings", "one built-in type", _TAG, responses={200: PluginShape}, errors=(404,))
    return [
        Route("GET", "/api/plugins", list_all, SIGNED_IN, listing),
        Route("GET", "/api/plugins/{id}/settings", get_settings, SIGNED_IN, settings),
    ]


@cache
def _plugins(version: str) -> tuple[list[PluginItem], dict[str, PluginShape]]:
    """Return the list of all types by name, and each type by its id and its aliases."""
    common_members = [
        *(_data_source_members(source_type, version) for source_type in SUPPORTED_TYPES),
        *(_panel_members(panel_type, version) for panel_type in DRAWN_TYPES),
    ]
    common_members.sort(key=lambda members: str(members["name"]).lower())
    items = [PluginItem(**members, category=_CATEGORIES.get(members["id"], "")) for members in common_members]
    shapes_by_id = {members["id"]: _shape(members) for members in common_members}
    shapes_by_alias = {alias: shapes_by_id[source.id] for source in SUPPORTED_TYPES for alias in source.aliases}
    return items, shapes_by_alias | shapes_by_id


def _data_source_members(source_type: DataSourceType, version: str) -> dict[str, Any]:
    return _common_members(
        source_type.id, source_type.name, "datasource", f"Data sources of the type {source_type.name}", source_type.logo, version
    )


def _panel_members(panel_type: PanelType, version: str) -> dict[str, Any]:
    return _common_members(panel_type.id, panel_type.name, "panel", panel_type.description, DEFAULT_LOGO, version)


def _common_members(id_: str, name: str, type_: str, description: str, logo: str, version: str) -> dict[str, Any]:
    """Return the members of a type that the list and its settings have in common."""
    info = PluginInfo(
        description=description,
        links=[PluginLink(name="Operations of the API", url="/docs")],
        logos=PluginLogos(small=logo, large=logo),
        version=version,
        keywords=[name.lower(), type_],
    )
    return {"name": name, "type": type_, "id": id_, "info": info, "default_nav_url": f"/plugins/{id_}/"}


def _shape(common_members: dict[str, Any]) -> PluginShape:
    return PluginShape(**common_members, module=f"core:plugin/{common_members['id']}", base_url=f"public/plugins/{common_members['id']}")
