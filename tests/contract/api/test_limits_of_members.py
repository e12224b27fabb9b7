"""Limits of Editors and Viewers. They can neither lock objects against Admins nor join a team to gain its rights."""

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
    ("metadata", "create_status", "update_status"),
    [
        ({"annotations": {MANAGED_BY: "terraform", "grafana.app/managerId": "main"}}, 201, 200),
        ({"annotations": {MANAGED_BY: "classic-file-provisioning"}}, 403, 403),
        ({"annotations": {MANAGED_BY: "anything else"}}, 403, 403),
        ({"finalizers": ["example.org/theirs"]}, 403, 403),
    ],
    ids=["terraform", "file provisioning", "unknown manager", "finalizer"],
)
async def test_an_editor_cannot_exclude_admins(api: Api, metadata: dict[str, Any], create_status: int, update_status: int) -> None:
    """An Editor may make a tool such as Terraform the manager of an object. Only an Admin may set another manager or a finalizer.

    Then the Editor may change the other fields of the object.
    """
    editor = await api.person("editor", Role.EDITOR)
    assert (await api("POST", DASHBOARDS, dashboard("first", **metadata), auth=editor))[0] == create_status
    assert (await api("POST", DASHBOARDS, dashboard("second"), auth=editor))[0] == 201
    assert (await api("PUT", f"{DASHBOARDS}/second", dashboard("second", **metadata), auth=editor))[0] == update_status
    assert (await api("PUT", f"{DASHBOARDS}/second", dashboard("second", **metadata)))[0] == 200
    second = {**dashboard("second", **metadata), "spec": {"title": "Another"}}
    assert (await api("PUT", f"{DASHBOARDS}/second", second, auth=editor))[0] == 200


async def test_joining_a_team_with_rules_needs_more_rights(api: Api) -> None:
    """A manager of teams may join a team without access rules. To join a team that has one, the manager needs the right to set rules.

    The manager may add another user to either team.
    """
    grants = [("teams:read", "teams:*"), ("teams:write", "teams:*"), ("teams.permissions:write", "teams:*")]
    manager = await api.person("manager", Role.VIEWER, *grants)
    await api.person("colleague", Role.VIEWER)
    manager_id, colleague_id = [await api.sql("""select id from "user" where login = $1""", login) for login in ("manager", "colleague")]
    _, team_with_rule = await api("POST", "/api/teams", {"name": "With a rule"})
    _, team_without_rules = await api("POST", "/api/teams", {"name": "Without rules"})
    assert (await api("POST", "/api/folders", {"uid": "hidden", "title": "Hidden"}))[0] == 200
    rules = {"items": [{"teamId": team_with_rule["teamId"], "permission": 1}]}
    assert (await api("POST", "/api/folders/hidden/permissions", rules))[0] == 200

    status, error = await api("POST", f"/api/teams/{team_with_rule['teamId']}/members", {"userId": manager_id}, auth=manager)
    assert (status, error["title"]) == (403, "Access denied")
    assert "folders.permissions:write" in error["message"]
    assert (await api("GET", "/api/folders/hidden", auth=manager))[0] == 403
    assert (await api("POST", f"/api/teams/{team_with_rule['teamId']}/members", {"userId": colleague_id}, auth=manager))[0] == 200
    assert (await api("POST", f"/api/teams/{team_without_rules['teamId']}/members", {"userId": manager_id}, auth=manager))[0] == 200
