"""Limits of members who are not Admins: they cannot block Admins from objects, or join teams with more rights."""

from typing import Any

import pytest

from dashwright.common.identity import Role

from .conftest import Api

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
MANAGED_BY = "grafana.app/managedBy"


def dashboard(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a dashboard with metadata."""
    return {"metadata": {"name": name, **metadata}, "spec": {"title": name}}


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"annotations": {MANAGED_BY: "terraform", "grafana.app/managerId": "main"}}, 201),
        ({"annotations": {MANAGED_BY: "classic-file-provisioning"}}, 403),
        ({"annotations": {MANAGED_BY: "anything else"}}, 403),
        ({"finalizers": ["example.org/theirs"]}, 403),
    ],
    ids=["terraform", "file provisioning", "unknown manager", "finalizer"],
)
async def test_an_editor_cannot_exclude_admins(api: Api, metadata: dict[str, Any], status: int) -> None:
    """An Editor cannot make an object managed by Admins, at creation or later. An Admin can, and Editors may change its other fields."""
    editor = await api.person("editor", Role.EDITOR)
    assert (await api("POST", DASHBOARDS, dashboard("first", **metadata), auth=editor))[0] == status
    assert (await api("POST", DASHBOARDS, dashboard("second"), auth=editor))[0] == 201
    changed = await api("PUT", f"{DASHBOARDS}/second", dashboard("second", **metadata), auth=editor)
    assert changed[0] == (200 if status == 201 else 403)
    assert (await api("PUT", f"{DASHBOARDS}/second", dashboard("second", **metadata)))[0] == 200
    second = {**dashboard("second", **metadata), "spec": {"title": "Another"}}
    assert (await api("PUT", f"{DASHBOARDS}/second", second, auth=editor))[0] == 200


async def test_joining_a_team_with_rules_needs_more_rights(api: Api) -> None:
    """Managers of teams may join teams without access rules; others need the right to set all rules."""
    grants = [("teams:read", "teams:*"), ("teams:write", "teams:*"), ("teams.permissions:write", "teams:*")]
    manager = await api.person("manager", Role.VIEWER, *grants)
    await api.person("other", Role.VIEWER)
    user_id, other_id = [await api.sql("""select id from "user" where login = $1""", login) for login in ("manager", "other")]
    _, team_with_rule = await api("POST", "/api/teams", {"name": "With a rule"})
    _, team_without_rules = await api("POST", "/api/teams", {"name": "Without rules"})
    assert (await api("POST", "/api/folders", {"uid": "hidden", "title": "Hidden"}))[0] == 200
    rules = {"items": [{"teamId": team_with_rule["teamId"], "permission": 1}]}
    assert (await api("POST", "/api/folders/hidden/permissions", rules))[0] == 200

    status, error = await api("POST", f"/api/teams/{team_with_rule['teamId']}/members", {"userId": user_id}, auth=manager)
    assert (status, error["title"]) == (403, "Access denied")
    assert "folders.permissions:write" in error["message"]
    assert (await api("GET", "/api/folders/hidden", auth=manager))[0] == 403
    assert (await api("POST", f"/api/teams/{team_with_rule['teamId']}/members", {"userId": other_id}, auth=manager))[0] == 200
    assert (await api("POST", f"/api/teams/{team_without_rules['teamId']}/members", {"userId": user_id}, auth=manager))[0] == 200
