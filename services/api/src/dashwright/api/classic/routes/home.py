"""``/api/dashboards/home``: the start page of a caller."""

from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.times import ZERO_TIME
from dashwright.api.domain.urls import dashboard_url
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.classic_objects import DashboardMeta, DashboardShape, HomeShape
from dashwright.api.stores import preferences
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import DASHBOARD


def _grid_position(x: int, y: int, width: int, height: int) -> dict[str, int]:
    """Return the position of a panel in the grid of 24 columns."""
    return {"x": x, "y": y, "w": width, "h": height}


_META: Final = DashboardMeta(
    can_save=False,
    can_edit=False,
    can_admin=False,
    can_star=False,
    can_delete=False,
    slug="",
    url="",
    created=ZERO_TIME,
    updated=ZERO_TIME,
    updated_by="",
    created_by="",
    version=0,
    is_home=True,
    folder_id=0,
    folder_uid="",
    folder_title="General",
    folder_url="",
    provisioned=False,
    provisioned_external_id="",
)
"""The member ``meta`` of the built-in home dashboard, which is not stored."""
_WELCOME: Final = {
    "id": 1,
    "type": "welcome",
    "title": "",
    "transparent": False,
    "datasource": None,
    "gridPos": _grid_position(0, 0, 24, 3),
}
_GETTING_STARTED: Final = {"id": 123123, "type": "gettingstarted", "gridPos": _grid_position(0, 3, 24, 9)}
_DASHBOARD_LIST: Final = {
    "id": 3,
    "type": "dashlist",
    "title": "Dashboards",
    "datasource": None,
    "folderId": 0,
    "gridPos": _grid_position(0, 12, 12, 15),
    "links": [],
    "options": {
        "folderId": 0,
        "maxItems": 30,
        "query": "",
        "showHeadings": True,
        "showRecentlyViewed": True,
        "showSearch": False,
        "showStarred": True,
        "tags": [],
    },
}
_NEWS: Final = {
    "id": 4,
    "type": "news",
    "title": "News",
    "datasource": None,
    "gridPos": _grid_position(12, 12, 12, 15),
    "links": [],
    # Without a feed URL, browsers do not connect to another site.
    "options": {"feedUrl": ""},
}
_DASHBOARD: Final = {
    "title": "Home",
    "editable": False,
    "links": [],
    "panels": [_WELCOME, _DASHBOARD_LIST, _NEWS, _GETTING_STARTED],
    "schemaVersion": 22,
    "tags": [],
    "templating": {"list": []},
    "time": {"from": "now-6h", "to": "now"},
    "timepicker": {
        "hidden": True,
        "refresh_intervals": ["5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d"],
        "type": "timepicker",
    },
    "timezone": "browser",
}
"""The built-in home dashboard, which has the same panels as Grafana's, with the same ids."""
BUILT_IN: Final = {"meta": {**_META.model_dump(by_alias=True, exclude_none=True), "annotationsPermissions": None}, "dashboard": _DASHBOARD}
"""The home dashboard of a caller who has not chosen one. Clients draw its panels without a data source."""


def routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the route of the home dashboard: the first one in the preferences that the caller may read, or the built-in one."""

    async def home(call: Call) -> Response:
        caller = call.identity
        view = await policy.view(caller, caller.namespace)
        async with database.connection() as connection:
            candidates = await preferences.home_dashboards(connection, caller.org_id, caller.user_id)
        for dashboard in candidates:
            if view.may(DASHBOARD.actions["get"], DASHBOARD, dashboard.name, dashboard.folder):
                return json_response(HomeShape(redirect_uri=dashboard_url(dashboard.name, dashboard.title)))
        return json_response(BUILT_IN)

    operation = Operation(
        "getHomeDashboard",
        "the address of the home dashboard in the preferences of the caller, a team or the organization, or else a built-in dashboard",
        "dashboards",
        responses={200: HomeShape | DashboardShape},
    )
    return [Route("GET", "/api/dashboards/home", home, SIGNED_IN, operation)]
