"""Users, teams and preferences in the resource API, which can read but not change them."""

from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role

IAM: Final = "/apis/iam.grafana.app/v0alpha1/namespaces/default"
PREFERENCES: Final = "/apis/preferences.grafana.app/v1alpha1/namespaces/default/preferences"
TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def list_objects(api: Api, path: str, auth: str = ADMIN) -> list[dict[str, Any]]:
    """Return the objects of a collection."""
    status, response = await api("GET", path, auth=auth)
    assert status == 200, response
    items: list[dict[str, Any]] = response["items"]
    return items


async def test_users_are_the_members_of_the_organization(api: Api) -> None:
    """The list has each member of the organization once, with its role in the organization and the uid of the classic API."""
    await api.person("vic", Role.VIEWER)
    await api.person("foreigner", Role.ADMIN, org_id=await api.organization("Other"))
    users = {user["spec"]["login"]: user for user in await list_objects(api, f"{IAM}/users")}
    assert {login: user["spec"]["role"] for login, user in users.items()} == {"admin": "Admin", "vic": "Viewer"}
    profile = (await api("GET", "/api/users/lookup?loginOrEmail=vic"))[1]
    viewer_record = users["vic"]
    assert (viewer_record["metadata"]["name"], viewer_record["spec"]["email"]) == (profile["uid"], profile["email"])
    assert viewer_record["metadata"]["labels"] == {"grafana.app/deprecatedInternalID": str(profile["id"])}
    assert viewer_record["status"] == {"lastSeenAt": 0}
    assert (users["admin"]["spec"]["grafanaAdmin"], viewer_record["spec"]["grafanaAdmin"]) == (True, False)
    assert await api("GET", f"{IAM}/users/{profile['uid']}") == (200, viewer_record)


async def test_records_belong_to_the_organization_of_their_namespace(api: Api) -> None:
    """A namespace has only the records of its organization, and shows them only to Admins of this organization."""
    org_id = await api.organization("Other")
    second_admin = await api.person("boss", Role.ADMIN, org_id=org_id)
    path = f"{IAM.replace('/default', f'/org-{org_id}')}/users"
    (user,) = await list_objects(api, path, second_admin)
    assert (user["spec"]["login"], user["spec"]["role"], user["metadata"]["namespace"]) == ("boss", "Admin", f"org-{org_id}")
    assert (await api("GET", path, auth=await api.person("ann", Role.ADMIN)))[0] == 403


async def test_teams_are_those_of_the_organization(api: Api) -> None:
    """The list has the teams of the organization, with the uid of the classic API."""
    created = (await api("POST", "/api/teams", {"name": "Ops", "email": "ops@example.org"}))[1]
    other_org_id = await api.organization("Other")
    await api.sql("insert into team (org_id, name) values ($1, 'Foreign') returning id", other_org_id)
    (team,) = await list_objects(api, f"{IAM}/teams")
    assert team["metadata"]["name"] == created["uid"]
    assert team["spec"] == {"title": "Ops", "email": "ops@example.org", "externalUID": "", "provisioned": False}
    assert await api("GET", f"{IAM}/teams/{created['uid']}") == (200, team)


async def test_preferences_of_other_users_are_hidden(api: Api) -> None:
    """An Admin lists the preferences of the organization, of teams and of their own, and cannot read those of another user."""
    ann = await api.person("ann", Role.ADMIN)
    team = (await api("POST", "/api/teams", {"name": "Ops"}))[1]
    for path, theme, auth in (
        ("/api/org/preferences", "light", ADMIN),
        (f"/api/teams/{team['teamId']}/preferences", "system", ADMIN),
        ("/api/user/preferences", "dark", ADMIN),
        ("/api/user/preferences", "light", ann),
    ):
        assert (await api("PUT", path, {"theme": theme, "timezone": "utc"}, auth=auth))[0] == 200
    admin_uid = (await api("GET", "/api/user"))[1]["uid"]
    ann_uid = (await api("GET", "/api/user", auth=ann))[1]["uid"]
    specs = {item["metadata"]["name"]: item["spec"] for item in await list_objects(api, PREFERENCES)}
    expected = {"namespace": "light", f"team-{team['uid']}": "system", f"user-{admin_uid}": "dark"}
    assert specs == {name: {"theme": theme, "timezone": "utc"} for name, theme in expected.items()}
    assert (await api("GET", f"{PREFERENCES}/user-{ann_uid}"))[0] == 404
    assert (await api("GET", f"{PREFERENCES}/user-{ann_uid}", auth=ann))[0] == 200


@pytest.mark.parametrize("path", [f"{IAM}/users", f"{IAM}/teams", PREFERENCES])
async def test_records_are_read_by_admins_only(api: Api, path: str) -> None:
    """An Editor may neither list nor read records. An unknown name is 404 for an Admin, and no record can be written."""
    editor = await api.person("ed", Role.EDITOR)
    for requested_path in (path, f"{path}/none"):
        assert (await api("GET", requested_path, auth=editor))[0] == 403
    status, missing = await api("GET", f"{path}/none")
    assert (status, missing["reason"]) == (404, "NotFound")
    assert (await api("POST", path, {"metadata": {"name": "n"}, "spec": {}}))[0] == 405
    assert (await api("DELETE", f"{path}/none"))[0] == 405


async def test_pages_have_every_record_once(api: Api) -> None:
    """Pages continue after the last name, and selectors apply to all pages."""
    for number in range(5):
        await api("POST", "/api/teams", {"name": f"T{number}"})
    names = [team["metadata"]["name"] for team in await list_objects(api, f"{IAM}/teams")]
    assert names == sorted(names)
    listed_names, token = [], ""
    while True:
        status, page = await api("GET", f"{IAM}/teams?limit=2&continue={token}")
        assert status == 200
        listed_names += [team["metadata"]["name"] for team in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        assert len(page["items"]) == 2
    assert listed_names == names
    assert len(listed_names) == 5
    selected = await list_objects(api, f"{IAM}/teams?fieldSelector=metadata.name%3D{names[3]}&limit=1")
    assert [team["metadata"]["name"] for team in selected] == [names[3]]


async def test_records_are_served_as_a_table(api: Api) -> None:
    """A table has the columns that ``kubectl get`` prints."""
    status, table = await api("GET", f"{IAM}/users", headers=TABLE)
    assert (status, [column["name"] for column in table["columnDefinitions"]]) == (200, ["Name", "Login", "Role", "Created At"])
    assert table["rows"][0]["cells"][1:3] == ["admin", "Admin"]


async def test_an_older_list_is_gone(api: Api) -> None:
    """Records have no history, so a list at exactly an older version is 410."""
    # This write makes version 1 an older version.
    await api("POST", "/api/folders", {"title": "F"})
    assert (await api("GET", f"{IAM}/users?resourceVersion=1&resourceVersionMatch=Exact&limit=1"))[0] == 410
