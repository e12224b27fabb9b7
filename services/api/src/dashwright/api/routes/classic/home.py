"""``/api/dashboards/home``: what the caller begins with."""

from typing import Final

from dashwright.api.access.guard import Guard
from dashwright.api.domain.classic import dashboard_url
from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.stores import preferences
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.classic_objects import DashboardMeta, DashboardShape, HomeShape

_NEVER: Final = "0001-01-01T00:00:00Z"

BUILT_IN: Final = DashboardShape(
    meta=DashboardMeta(
        can_save=False,
        can_edit=False,
        can_admin=False,
        can_star=False,
        can_delete=False,
        slug="",
        url="",
        created=_NEVER,
        updated=_NEVER,
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
    ),
    dashboard={"title": "Home", "editable": False, "tags": [], "panels": [], "time": {"from": "now-6h", "to": "now"}, "schemaVersion": 39},
)
"""An empty dashboard, for whoever chose none."""


def routes(database: Database, guard: Guard) -> list[Route]:
    async def home(call: Call) -> Answer:
        caller = call.identity
        user_id = caller.user_id if caller.kind is Caller.USER else 0
        view = await guard.view(caller, caller.namespace)
        async with database.connection() as connection:
            chosen = await preferences.homes(connection, caller.org_id, user_id)
        for found in chosen:
            if view.may(DASHBOARD.actions["get"], DASHBOARD, found.name, found.folder):
                return json_answer(HomeShape(redirect_uri=dashboard_url(found.name, found.title)))
        return json_answer(BUILT_IN)

    operation = Operation(
        "getHomeDashboard",
        "where the dashboard lies that the caller, a team of theirs or the organization chose, or an empty one",
        "dashboards",
        answers={200: HomeShape | DashboardShape},
    )
    return [Route("GET", "/api/dashboards/home", home, SIGNED_IN, operation)]
