"""Preferences of users, teams and organizations. A response has only the preferences that are set."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api

from dashwright.common.identity import Role

UPDATED = (200, {"message": "Preferences updated"})
NO_DASHBOARD = (404, {"message": "Dashboard not found"})
PATHS = ["/api/user/preferences", "/api/org/preferences", "/api/teams/{team}/preferences"]


@pytest.fixture
async def paths(api: Api) -> list[str]:
    """Create a dashboard ``home`` and a team, and return the paths of the three kinds of preferences."""
    status, body = await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "home", "title": "Home"}})
    assert status == 200, body
    team = (await api("POST", "/api/teams", {"name": "Crew"}))[1]["teamId"]
    return [path.format(team=team) for path in PATHS]


async def test_nothing_is_set_at_first(api: Api, paths: list[str]) -> None:
    """A user, an organization and a team without preferences have an empty object."""
    for path in paths:
        assert await api("GET", path) == (200, {})


async def test_null_resets_a_preference_in_put_and_keeps_it_in_patch(api: Api, paths: list[str]) -> None:
    """In a PUT, null and the empty string reset a preference; in a PATCH, null keeps it and the empty string resets it."""
    all_preferences = {
        "theme": "dark",
        "homeDashboardUID": "home",
        "timezone": "Europe/Berlin",
        "weekStart": "monday",
        "language": "de-DE",
        "queryHistory": {"homeTab": "starred"},
        "navbar": {"bookmarkUrls": ["/a"]},
    }
    for path in paths:
        assert await api("PUT", path, {**all_preferences, "homeDashboardId": 0, "locale": "ignored", "orgId": 9}) == UPDATED
        assert await api("GET", path) == (200, all_preferences)
        assert await api("PATCH", path, {"TimeZone": "utc", "theme": "", "language": None}) == UPDATED
        changed = {key: value for key, value in all_preferences.items() if key != "theme"} | {"timezone": "utc"}
        assert await api("GET", path) == (200, changed)
        assert await api("PUT", path, {"theme": "light"}) == UPDATED
        assert await api("GET", path) == (200, {"theme": "light"})
        nulls = {"theme": None, "homeDashboardId": None, "homeDashboardUID": None, "navbar": None, "queryHistory": None}
        assert await api("PUT", path, nulls) == UPDATED
        assert await api("GET", path) == (200, {})


async def test_the_home_dashboard_may_be_given_by_id(api: Api, paths: list[str]) -> None:
    """A home dashboard that was set by its id is returned by its uid. If both are sent, the uid takes precedence."""
    dashboard_id = (await api("GET", "/api/dashboards/uid/home"))[1]["dashboard"]["id"]
    for path in paths:
        assert await api("PATCH", path, {"homeDashboardId": dashboard_id}) == UPDATED
        assert await api("GET", path) == (200, {"homeDashboardUID": "home"})
        assert await api("PUT", path, {"homeDashboardId": dashboard_id, "homeDashboardUID": ""}) == UPDATED
        assert await api("GET", path) == (200, {})


async def test_the_home_dashboard_must_exist(api: Api, paths: list[str]) -> None:
    """An unknown uid or id of a home dashboard is 404 and changes nothing.

    The empty uid and the id 0 reset the preference, and a deleted dashboard is no longer returned.
    """
    for path in paths:
        assert await api("PUT", path, {"homeDashboardUID": "home"}) == UPDATED
        assert await api("PATCH", path, {"homeDashboardUID": "unknown", "theme": "dark"}) == NO_DASHBOARD
        assert await api("PUT", path, {"homeDashboardId": 9999}) == NO_DASHBOARD
        assert await api("GET", path) == (200, {"homeDashboardUID": "home"})
    user_path, org_path, team_path = paths
    assert await api("PATCH", user_path, {"homeDashboardId": 0}) == UPDATED
    assert await api("GET", user_path) == (200, {})
    assert await api("PATCH", org_path, {"homeDashboardUID": ""}) == UPDATED
    assert await api("GET", org_path) == (200, {})
    assert (await api("DELETE", "/api/dashboards/uid/home"))[0] == 200
    assert await api("GET", team_path) == (200, {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"theme": "pink"}, "Invalid theme; give one of light, dark, system"),
        ({"timezone": "Mars/Olympus"}, "Invalid timezone; give a name of the tz database such as Europe/Berlin, utc or browser"),
        ({"theme": 5}, "bad request data"),
        ({"navbar": "text"}, "bad request data"),
        ({"navbar": {"deep": ["a\0b"]}}, "bad request data"),
        ({"queryHistory": {"deep": [2**63, 2**64]}}, "bad request data"),
        ({"homeDashboardId": "7"}, "bad request data"),
        ({"homeDashboardId": 2**64}, "bad request data"),
        ({"language": "x" * 191}, "bad request data"),
        ([], "bad request data"),
    ],
)
async def test_invalid_preferences_are_rejected(api: Api, paths: list[str], body: Any, message: str) -> None:
    """An unknown theme or time zone, a value of the wrong type, NUL, and integers or texts beyond their limits are rejected."""
    for path in paths:
        for method in ("PUT", "PATCH"):
            assert await api.message(method, path, body) == (400, message)


async def test_each_user_has_preferences_in_each_organization(api: Api, paths: list[str]) -> None:
    """A user's preferences apply neither to another user, nor to the organization, nor to the user in a second organization."""
    user_path, org_path, _ = paths
    assert await api("PUT", user_path, {"theme": "dark"}) == UPDATED
    kim = await api.person("kim", Role.VIEWER)
    assert await api("GET", user_path, auth=kim) == (200, {})
    org_id = await api.organization("Second")
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, 1, 'Admin')", org_id)
    assert await api("GET", user_path, headers={"X-Grafana-Org-Id": str(org_id)}) == (200, {})
    assert await api("GET", org_path) == (200, {})


async def test_preferences_of_the_organization_and_of_teams_are_for_admins(api: Api, paths: list[str]) -> None:
    """Only Admins can change the preferences of the organization and of teams. All users can change their own."""
    kim = await api.person("kim", Role.EDITOR)
    for method, body in (("GET", None), ("PUT", {}), ("PATCH", {})):
        assert [(await api(method, path, body, auth=kim))[0] for path in paths] == [200, 403, 403]


async def test_a_change_is_audited(api: Api, paths: list[str]) -> None:
    """The audit event of a change has the names of the changed preferences and not their values."""
    for path in paths:
        await api("PATCH", path, {"theme": "dark", "timezone": "utc"})
    async with api.database.connection() as connection:
        rows = await connection.fetch(
            "select object, details ->> 'given' as given from audit_event where action = 'preferences.update' order by id"
        )
    assert [row["object"].partition(":")[0] for row in rows] == ["user", "org", "team"]
    assert {row["given"] for row in rows} == {'["theme", "timezone"]'}
