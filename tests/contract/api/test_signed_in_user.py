"""Routes by which signed-in users read and change their own data."""

from typing import Any

import pytest
from tests.contract.api.conftest import PASSWORD, Api, StartApi, basic, legacy_text

from dashwright.common.identity import Role

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"


async def test_the_caller_is_returned(api: Api) -> None:
    """The signed-in user is returned, with whether the user is a server admin."""
    status, profile = await api("GET", "/api/user")
    assert status == 200
    expected_profile = {"id": 1, "login": "admin", "email": "admin@localhost", "orgId": 1, "isGrafanaAdmin": True, "isDisabled": False}
    assert {name: profile[name] for name in expected_profile} == expected_profile
    assert "password" not in str(profile).lower()


async def test_callers_change_their_name_and_no_rights(api: Api) -> None:
    """A caller can change their own name. Other fields, such as the organization or the server admin flag, have no effect."""
    anna = await api.person("anna", Role.VIEWER)
    body = {"name": "Anna", "login": "anna", "isGrafanaAdmin": True, "orgId": 9, "id": 1, "password": "other"}
    assert await api("PUT", "/api/user", body, auth=anna) == (200, {"message": "User updated"})
    profile = (await api("GET", "/api/user", auth=anna))[1]
    assert (profile["name"], profile["isGrafanaAdmin"], profile["orgId"]) == ("Anna", False, 1)
    assert (await api("PUT", "/api/user", {"login": "admin"}, auth=anna))[0] == 409
    assert (await api("PUT", "/api/user", {"name": "A"}, auth=anna))[0] == 400


async def test_the_current_organization_can_be_changed(api: Api) -> None:
    """A user can make any organization of which they are a member the current one. A header can select another for one request."""
    second_org_id = (await api("POST", "/api/orgs", {"name": "Two"}))[1]["orgId"]
    third_org_id = await api.organization("Three")
    assert await api("POST", f"/api/user/using/{second_org_id}") == (200, {"message": "Active organization changed"})
    assert (await api("GET", "/api/org"))[1]["name"] == "Two"
    assert (await api("GET", "/api/user"))[1]["orgId"] == second_org_id
    assert (await api("GET", "/api/org", headers={"X-Grafana-Org-Id": "1"}))[1]["id"] == 1
    for org_id in (third_org_id, 9999, -1):
        message = "Not a valid organization: it does not exist, or the user is not a member of it"
        assert await api("POST", f"/api/user/using/{org_id}") == (401, {"message": message})
    assert await api("POST", "/api/user/using/unknown") == (400, {"message": "id is invalid"})
    assert (await api("POST", "/api/user/using/1"))[0] == 200
    assert (await api("GET", "/api/org"))[1]["id"] == 1


async def test_a_user_without_organizations_is_signed_in(api: Api) -> None:
    """A user removed from the only organization is still signed in and has an empty list of organizations."""
    anna = await api.person("anna", Role.VIEWER)
    await api.sql("""delete from org_user where user_id = (select id from "user" where login = 'anna')""")
    assert await api("GET", "/api/user/orgs", auth=anna) == (200, [])
    assert (await api("GET", "/api/user", auth=anna))[1]["login"] == "anna"


async def test_a_password_change_needs_the_old_one(api: Api) -> None:
    """A password change requires the old password, and afterwards only the new one logs in."""
    anna = await api.person("anna", Role.VIEWER)
    body = {"oldPassword": PASSWORD, "newPassword": "another", "confirmNew": "x"}
    assert await api("PUT", "/api/user/password", body, auth=anna) == (200, {"message": "User password changed"})
    assert (await api("GET", "/api/user", auth=anna))[0] == 401
    assert (await api("GET", "/api/user", auth=basic("anna", "another")))[0] == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"oldPassword": "invalid", "newPassword": "new"}, "Invalid old password"),
        ({"newPassword": "long enough"}, "Invalid old password"),
        ({"oldPassword": "x" * 5000, "newPassword": "long enough"}, "Invalid old password"),
        ({"oldPassword": "admin", "newPassword": "new"}, "New password is too short; it needs at least 4 characters"),
        ({"oldPassword": "admin"}, "New password is too short; it needs at least 4 characters"),
        ({"oldPassword": "admin", "newPassword": "ü" * 513}, "New password is longer than 1024 bytes"),
        ({"oldPassword": 5}, "bad request data"),
        ([], "bad request data"),
    ],
)
async def test_a_rejected_password_change_keeps_the_password(api: Api, body: Any, message: str) -> None:
    """The old password is checked first, and it still works after a rejected change."""
    assert await api.message("PUT", "/api/user/password", body) == (400, message)
    assert (await api("GET", "/api/user"))[0] == 200


async def test_guessing_the_old_password_is_throttled(start_api: StartApi) -> None:
    """After too many attempts, the correct old password is refused with the message of a wrong one, which does not reveal the password."""
    attempts = 3
    api = await start_api(login_attempts=attempts)
    refusal = (400, {"message": "Invalid old password"})
    for _ in range(attempts):
        assert await api("PUT", "/api/user/password", {"oldPassword": "guess", "newPassword": "mine now"}) == refusal
    assert await api("PUT", "/api/user/password", {"oldPassword": "admin", "newPassword": "mine now"}) == refusal


async def test_a_dashboard_is_starred_and_unstarred(api: Api) -> None:
    """A dashboard can be starred and unstarred repeatedly. Starring an unknown dashboard is 404."""
    await api("POST", DASHBOARDS, {"metadata": {"name": "d"}, "spec": {"title": "T"}})
    path = "/api/user/stars/dashboard/uid/d"
    for _ in range(2):
        assert await api("POST", path) == (200, {"message": "Dashboard starred!"})
    assert await api.sql("select count(*) from star where user_id = 1 and org_id = 1 and dashboard_uid = 'd'") == 1
    for _ in range(2):
        assert await api("DELETE", path) == (200, {"message": "Dashboard unstarred"})
    assert await api.sql("select count(*) from star") == 0
    assert await api("POST", "/api/user/stars/dashboard/uid/unknown") == (404, {"message": "Dashboard not found"})


async def test_a_dashboard_is_starred_by_id(api: Api) -> None:
    """Starring by id equals starring by uid; an id of a dashboard that is unknown or not readable is rejected."""
    await api("POST", DASHBOARDS, {"metadata": {"name": "d"}, "spec": {"title": "T"}})
    stars = "/api/user/stars/dashboard"
    dashboard_id = await api.sql("select number from resource where name = 'd'")
    assert await api("POST", f"{stars}/{dashboard_id}") == (200, {"message": "Dashboard starred!"})
    assert await api.sql("select dashboard_uid from star") == "d"
    assert await api("DELETE", f"{stars}/{dashboard_id}") == (200, {"message": "Dashboard unstarred"})
    assert await api.sql("select count(*) from star") == 0
    unprivileged = await api.person("unprivileged", Role.NONE)
    for method in ("POST", "DELETE"):
        assert await api(method, f"{stars}/{dashboard_id}", auth=unprivileged) == (404, {"message": "Dashboard not found"})
        assert await api(method, f"{stars}/77") == (404, {"message": "Dashboard not found"})
        assert await api(method, f"{stars}/d") == (400, {"message": "id is invalid"})


async def test_a_service_account_has_stars_and_preferences(api: Api) -> None:
    """A service account stars dashboards and sets its preferences with its token, as a user does."""
    await api("POST", DASHBOARDS, {"metadata": {"name": "d"}, "spec": {"title": "T"}})
    token = f"Bearer {(await api.token(await api.account('robot'), 'token'))[1]}"
    star, preferences = "/api/user/stars/dashboard/uid/d", "/api/user/preferences"
    assert await api("POST", star, auth=token) == (200, {"message": "Dashboard starred!"})
    assert [hit["uid"] for hit in (await api("GET", "/api/search?starred=true", auth=token))[1]] == ["d"]
    assert (await api("GET", "/api/dashboards/uid/d", auth=token))[1]["meta"]["isStarred"] is True
    assert (await api("GET", "/api/search?starred=true"))[1] == []
    assert await api("DELETE", star, auth=token) == (200, {"message": "Dashboard unstarred"})
    assert (await api("GET", "/api/search?starred=true", auth=token))[1] == []
    assert (await api("PATCH", preferences, {"theme": "dark", "homeDashboardUID": "d"}, auth=token))[0] == 200
    assert await api("GET", preferences, auth=token) == (200, {"theme": "dark", "homeDashboardUID": "d"})
    assert await api("GET", "/api/dashboards/home", auth=token) == (200, {"redirectUri": "/d/d/t"})
    assert await api("GET", preferences) == (200, {})


async def test_starring_does_not_reveal_unreadable_dashboards(api: Api) -> None:
    """An existing dashboard that the caller may not read gets the same 404 as a missing one."""
    await api("POST", DASHBOARDS, {"metadata": {"name": "d"}, "spec": {"title": "T"}})
    unprivileged = await api.person("unprivileged", Role.NONE)
    assert await api("POST", "/api/user/stars/dashboard/uid/d", auth=unprivileged) == (404, {"message": "Dashboard not found"})


async def test_a_legacy_key_is_not_a_user_but_has_an_organization(api: Api) -> None:
    """A legacy key can read itself and its organization. Routes for a user's data refuse it and say what a key does not have."""
    await api.legacy_key("robot", role=Role.EDITOR)
    key = f"Bearer {legacy_text('robot')}"
    status, profile = await api("GET", "/api/user", auth=key)
    assert (status, profile["orgId"], profile["isGrafanaAdmin"]) == (200, 1, False)
    assert await api("GET", "/api/user/orgs", auth=key) == (200, [{"orgId": 1, "name": "Main Org.", "role": "Editor"}])
    assert (await api("GET", "/api/org", auth=key))[1]["name"] == "Main Org."
    for method, path, body in (
        ("PUT", "/api/user", {"login": "x"}),
        ("POST", "/api/user/using/1", None),
        ("PUT", "/api/user/password", {"oldPassword": "a", "newPassword": "b"}),
        ("POST", "/api/user/stars/dashboard/uid/d", None),
        ("DELETE", "/api/user/stars/dashboard/uid/d", None),
        ("GET", "/api/user/preferences", None),
    ):
        status, error = await api(method, path, body, auth=key)
        assert status == 403, path
        assert "key has no" in error["message"], path


async def test_the_permissions_of_the_caller_are_listed(api: Api) -> None:
    """The list of permissions has all actions with their scopes, including explicit grants."""
    viewer = await api.person("vera", Role.VIEWER, ("org.users:read", "users:id:7"))
    actions = (await api("GET", "/api/access-control/user/actions", auth=viewer))[1]
    assert actions["dashboards:read"] is True
    assert "dashboards:write" not in actions
    scopes = (await api("GET", "/api/access-control/user/permissions", auth=viewer))[1]
    assert set(scopes) == set(actions)
    assert (scopes["dashboards:read"], scopes["org.users:read"]) == (["*"], ["users:id:7"])


async def test_clients_find_version_and_namespace(start_api: StartApi) -> None:
    """The frontend settings have the configured version and the namespace. Without valid credentials the request is 401."""
    api = await start_api(reported_version="12.1.0", quotas_enabled=False)
    status, body = await api("GET", "/api/frontend/settings")
    assert (status, body["buildInfo"]["version"], body["namespace"]) == (200, "12.1.0", "default")
    assert (body["quota"], body["anonymousEnabled"], body["datasources"]) == ({"enabled": False}, False, {})
    assert (await api("GET", "/api/frontend/settings", auth=None))[0] == 401
    assert (await api("GET", "/api/frontend/settings", auth=basic("admin", "wrong")))[0] == 401


async def test_a_user_without_organizations_has_no_namespace(api: Api) -> None:
    """A user without organizations has valid credentials, but no namespace."""
    anna = await api.person("anna", Role.VIEWER)
    await api.sql("""delete from org_user where user_id = (select id from "user" where login = 'anna')""")
    status, body = await api("GET", "/api/frontend/settings", auth=anna)
    assert (status, body["namespace"]) == (200, "")
