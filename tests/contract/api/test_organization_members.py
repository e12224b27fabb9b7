"""Members of organizations over HTTP. Admins list, add and remove them, and change their roles."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.api.conftest import Api, StartApi

from dashwright.common.identity import Role

#: Members of the JSON of the first user that have the same value in every test.
MEMBER = {
    "orgId": 1,
    "userId": 1,
    "login": "admin",
    "email": "admin@localhost",
    "name": "",
    "role": "Admin",
    "avatarUrl": "/avatar/46d229b033af06a191ff2267bca9ae56",
    "isDisabled": False,
    "authLabels": [],
    "isExternallySynced": False,
    "isProvisioned": False,
}
LAST_ADMIN = (400, {"message": "Cannot remove last organization admin"})
LAST_ROLE = (400, {"message": "Cannot change role so that there is no organization admin left"})


async def user_id_of(api: Api, login: str) -> int:
    """Return the id of the user with a login."""
    user_id: int = await api.sql("""select id from "user" where login = $1""", login)
    return user_id


@pytest.mark.parametrize("path", ["/api/org/users", "/api/orgs/1/users"])
async def test_members_have_role_and_avatar(api: Api, path: str) -> None:
    """The list of members is sorted by e-mail and has no service accounts.

    As in Grafana, a member who never logged in was last seen ten years ago.
    """
    await api.person("Anna@x.org", Role.EDITOR)
    await api.sql("""insert into "user" (login, email, org_id, is_service_account) values ('sa-1-x', 'sa-1-x', 1, true)""")
    await api.sql("""insert into org_user (org_id, user_id, role) select 1, id, 'Admin' from "user" where login = 'sa-1-x'""")
    status, members = await api("GET", path)
    assert (status, [member["login"] for member in members]) == (200, ["admin", "Anna@x.org"])
    admin = members[0]
    assert {name: admin[name] for name in MEMBER} == MEMBER
    assert set(admin) == {*MEMBER, "uid", "lastSeenAt", "lastSeenAtAge", "created"}
    anna = members[1]
    assert (anna["role"], anna["lastSeenAtAge"]) == ("Editor", "10y")
    assert anna["lastSeenAt"].endswith("Z")
    assert (await api("GET", f"{path}?query=NNA"))[1] == [anna]
    assert (await api("GET", f"{path}?limit=1"))[1] == [admin]


async def test_permissions_on_members_are_listed_on_request(api: Api) -> None:
    """``accesscontrol`` adds the caller's permissions to each member."""
    (member,) = (await api("GET", "/api/org/users?accesscontrol=true"))[1]
    assert member["accessControl"] == {"org.users:read": True, "org.users:write": True, "org.users:remove": True}
    assert "accessControl" not in (await api("GET", "/api/org/users?accesscontrol=no"))[1][0]


async def test_members_are_looked_up_and_searched(api: Api) -> None:
    """A look-up returns only the fields that identify members; a search counts the members on all pages."""
    for login in ("a", "b", "c"):
        await api.person(login, Role.VIEWER)
    body = (await api("GET", "/api/org/users/lookup?query=b"))[1]
    assert [set(member) for member in body] == [{"userId", "uid", "login", "avatarUrl"}]
    assert len((await api("GET", "/api/org/users/lookup?limit=2"))[1]) == 2
    for path in ("/api/org/users/search", "/api/orgs/1/users/search"):
        status, page = await api("GET", f"{path}?perpage=3&page=2")
        assert status == 200
        assert page["totalCount"] == 4
        assert page["page"] == 2
        assert page["perPage"] == 3
        assert len(page["orgUsers"]) == 1
        assert (await api("GET", f"{path}?page=0"))[1]["page"] == 1
        assert (await api("GET", f"{path}?page=9"))[1]["orgUsers"] == []


async def test_a_grant_on_one_member_limits_the_list(api: Api) -> None:
    """A caller with a grant on one user lists only this member. For a caller without a grant the list is 403."""
    await api.person("anna", Role.VIEWER)
    anna = await user_id_of(api, "anna")
    limited_caller = await api.person("limited", Role.NONE, ("org.users:read", f"users:id:{anna}"))
    assert [member["login"] for member in (await api("GET", "/api/org/users", auth=limited_caller))[1]] == ["anna"]
    assert (await api("GET", "/api/org/users/search", auth=limited_caller))[1]["totalCount"] == 1
    viewer = await api.person("vera", Role.VIEWER)
    assert (await api("GET", "/api/org/users", auth=viewer))[0] == 403


@pytest.mark.parametrize("path", ["/api/org/users", "/api/orgs/1/users"])
async def test_a_user_is_added_once(api: Api, path: str) -> None:
    """A user is added by login or e-mail, ignoring case. Adding a member again is a conflict, and an unknown user is 404."""
    second_org_id = await api.organization("Two")
    anna = await api.person("anna", Role.VIEWER, org_id=second_org_id)
    user_id = await user_id_of(api, "anna")
    assert await api("POST", path, {"LoginOrEmail": "ANNA", "Role": "Editor"}) == (
        200,
        {"message": "User added to organization", "userId": user_id},
    )
    conflict = (409, {"message": "User is already member of this organization"})
    assert await api("POST", path, {"loginOrEmail": "anna", "role": "Admin"}) == conflict
    assert await api("POST", path, {"loginOrEmail": "admin", "role": "Admin"}) == conflict
    assert await api("POST", path, {"loginOrEmail": "unknown", "role": "Admin"}) == (404, {"message": "User not found"})
    roles = {membership["orgId"]: membership["role"] for membership in (await api("GET", "/api/user/orgs", auth=anna))[1]}
    assert roles == {1: "Editor", second_org_id: "Viewer"}


async def test_a_service_account_cannot_be_added(api: Api) -> None:
    """A service account belongs to one organization permanently and is in no list of users."""
    second_org_id = await api.organization("Two")
    account_id = await api.sql(
        """insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true) returning id"""
    )
    await api.sql("insert into org_user (org_id, user_id, role) values (1, $1, 'Viewer')", account_id)
    assert (await api("POST", f"/api/orgs/{second_org_id}/users", {"loginOrEmail": "sa", "role": "Viewer"}))[0] == 404
    assert await api("PATCH", f"/api/org/users/{account_id}", {"role": "Admin"}) == (500, {"message": "Failed update org user"})
    assert await api("DELETE", f"/api/org/users/{account_id}") == (404, {"message": "User not found"})


async def test_members_of_an_unknown_organization_cannot_be_changed(api: Api) -> None:
    """Adding a member to an unknown organization is 404, and changing a role in it is the 500 that clients expect."""
    assert await api("POST", "/api/orgs/9999/users", {"loginOrEmail": "admin", "role": "Viewer"}) == (
        404,
        {"message": "Organization not found"},
    )
    for path in ("/api/orgs/9999/users/1", "/api/orgs/-9999/users/1", "/api/orgs/1/users/9999", "/api/org/users/-9999"):
        assert await api("PATCH", path, {"role": "Viewer"}) == (500, {"message": "Failed update org user"}), path
    assert await api("DELETE", "/api/orgs/9999/users/1") == (404, {"message": "User not found"})
    for method, body in (("PATCH", {"role": "Viewer"}), ("DELETE", None)):
        assert await api(method, "/api/org/users/unknown", body) == (400, {"message": "userId is invalid"})


@pytest.mark.parametrize("body", [{"role": "admin"}, {"role": ""}, {}, {"role": "Owner"}, {"role": None}], ids=str)
async def test_a_role_is_one_of_four(api: Api, body: dict[str, Any]) -> None:
    """A body whose role is missing or not exactly None, Viewer, Editor or Admin is refused."""
    await api.person("anna", Role.VIEWER)
    user_id = await user_id_of(api, "anna")
    invalid = (400, {"message": "Invalid role specified; give one of None, Viewer, Editor, Admin"})
    assert await api("PATCH", f"/api/org/users/{user_id}", body) == invalid
    assert await api("POST", "/api/org/users", {"loginOrEmail": "x", **body}) == invalid


@pytest.mark.parametrize("body", [[], {"role": 5}, "Admin"], ids=str)
async def test_a_body_of_another_type_is_refused(api: Api, body: Any) -> None:
    """A body that is not an object, or whose role is not a text, is refused by each route."""
    for method, path in (("PATCH", "/api/org/users/1"), ("POST", "/api/org/users"), ("POST", "/api/orgs/1/users")):
        assert await api.message(method, path, body) == (400, "bad request data")


async def test_a_role_above_the_callers_cannot_be_assigned(api: Api) -> None:
    """An Editor with permission to manage members can assign the role Editor, but not Admin."""
    second_org_id = await api.organization("Two")
    await api.person("anna", Role.VIEWER, org_id=second_org_id)
    grants = [("org.users:add", "users:*"), ("org.users:write", "users:*")]
    editor = await api.person("ed", Role.EDITOR, *grants)
    refusal = (403, {"message": "Cannot assign a role higher than user's role"})
    assert await api("POST", "/api/org/users", {"loginOrEmail": "anna", "role": "Admin"}, auth=editor) == refusal
    assert (await api("POST", "/api/org/users", {"loginOrEmail": "anna", "role": "Editor"}, auth=editor))[0] == 200
    user_id = await user_id_of(api, "anna")
    assert await api("PATCH", f"/api/org/users/{user_id}", {"role": "Admin"}, auth=editor) == refusal
    assert (await api("PATCH", f"/api/org/users/{user_id}", {"role": "None"}, auth=editor))[0] == 200


async def test_a_change_of_role_applies_to_the_next_request(api: Api) -> None:
    """A change of the role, and a removal from the organization, apply to the next request of the user."""
    anna = await api.person("anna", Role.VIEWER)
    user_id = await user_id_of(api, "anna")
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 403
    assert await api("PATCH", f"/api/org/users/{user_id}", {"role": "Admin"}) == (200, {"message": "Organization user updated"})
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 200
    assert (await api("PATCH", f"/api/org/users/{user_id}", {"role": "Viewer"}))[0] == 200
    assert (await api("GET", "/api/org/users", auth=anna))[0] == 403
    assert await api("DELETE", f"/api/org/users/{user_id}") == (200, {"message": "User removed from organization"})
    assert (await api("GET", "/api/org", auth=anna))[0] in (401, 404)
    assert (await api("GET", "/api/user/orgs", auth=anna))[1] == []


async def test_the_last_admin_is_protected(api: Api) -> None:
    """The last Admin of an organization can be neither removed nor demoted, even if a service account has the role Admin."""
    await api.sql("""insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true)""")
    await api.sql("""insert into org_user (org_id, user_id, role) select 1, id, 'Admin' from "user" where login = 'sa'""")
    for path in ("/api/org/users/1", "/api/orgs/1/users/1"):
        assert await api("DELETE", path) == LAST_ADMIN
        assert await api("PATCH", path, {"role": "Viewer"}) == LAST_ROLE
        assert (await api("PATCH", path, {"role": "Admin"}))[0] == 200
    await api.person("anna", Role.ADMIN)
    assert (await api("PATCH", "/api/org/users/1", {"role": "Viewer"}))[0] == 200
    anna = await user_id_of(api, "anna")
    assert await api("DELETE", f"/api/org/users/{anna}", headers={"X-Grafana-Org-Id": "1"}) == LAST_ADMIN


@pytest.mark.parametrize(
    "removals",
    [["remove"] * 6, ["demote"] * 6, ["delete"] * 6, ["remove", "demote", "delete"] * 2],
    ids=["remove", "demote", "delete", "mixed"],
)
async def test_one_of_concurrently_removed_admins_remains(api: Api, removals: list[str]) -> None:
    """If requests concurrently remove, demote or delete all six Admins, one of them remains."""
    second_org_id = await api.organization("Two")
    user_ids = []
    for index in range(6):
        await api.person(f"a{index}", Role.ADMIN, org_id=second_org_id)
        user_ids.append(await user_id_of(api, f"a{index}"))
    requests: dict[str, Callable[[int], Awaitable[tuple[int, Any]]]] = {
        "remove": lambda user_id: api("DELETE", f"/api/orgs/{second_org_id}/users/{user_id}"),
        "demote": lambda user_id: api("PATCH", f"/api/orgs/{second_org_id}/users/{user_id}", {"role": "Viewer"}),
        "delete": lambda user_id: api("DELETE", f"/api/admin/users/{user_id}"),
    }
    responses = await asyncio.gather(*(requests[removal](user_id) for removal, user_id in zip(removals, user_ids, strict=True)))
    assert sorted(status for status, _ in responses) == [200, 200, 200, 200, 200, 400]
    assert await api.sql("select count(*) from org_user where org_id = $1 and role = 'Admin'", second_org_id) == 1


async def test_a_member_above_the_quota_is_not_added(start_api: StartApi) -> None:
    """Both routes that add members apply the limits of the organization and of the user."""
    api = await start_api(quota_defaults="org_user=2,user_org=2")
    second_org_id, third_org_id = await api.organization("Two"), await api.organization("Three")
    for login in ("anna", "bert"):
        await api.person(login, Role.VIEWER, org_id=second_org_id)
    assert (await api("POST", "/api/org/users", {"loginOrEmail": "anna", "role": "Viewer"}))[0] == 200
    for path in ("/api/org/users", "/api/orgs/1/users"):
        status, error = await api("POST", path, {"loginOrEmail": "bert", "role": "Viewer"})
        assert (status, error["message"], error["extra"]["scope"]) == (403, "org Quota reached", "org")
    status, error = await api("POST", f"/api/orgs/{third_org_id}/users", {"loginOrEmail": "anna", "role": "Viewer"})
    assert (status, error["extra"]) == (403, {"scope": "user", "target": "org_user", "limit": 2, "used": 2})


async def test_members_added_concurrently_do_not_pass_the_limit(start_api: StartApi) -> None:
    """Four of ten concurrent additions succeed at a limit of five members, of whom the admin is one."""
    api = await start_api(quota_defaults="org_user=5")
    second_org_id = await api.organization("Two")
    for index in range(10):
        await api.person(f"u{index}", Role.VIEWER, org_id=second_org_id)
    bodies = ({"loginOrEmail": f"u{index}", "role": "Viewer"} for index in range(10))
    responses = await asyncio.gather(*(api("POST", "/api/org/users", body) for body in bodies))
    assert sorted(status for status, _ in responses) == [200] * 4 + [403] * 6


async def test_changes_of_memberships_are_audited(api: Api) -> None:
    """The audit events of changed memberships have the roles before and after."""
    second_org_id = await api.organization("Two")
    await api.person("anna", Role.VIEWER)
    user_id = await user_id_of(api, "anna")
    await api("POST", f"/api/orgs/{second_org_id}/users", {"loginOrEmail": "anna", "role": "Viewer"})
    await api("PATCH", f"/api/orgs/{second_org_id}/users/{user_id}", {"role": "Editor"})
    await api("DELETE", f"/api/orgs/{second_org_id}/users/{user_id}")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, object, org_id, details::text from audit_event where outcome = 'ok' order by id")
    assert [(row["action"], row["object"], row["org_id"]) for row in rows] == [
        (f"org.user.{verb}", f"user:{user_id}", second_org_id) for verb in ("add", "update", "remove")
    ]
    assert '"before": "Viewer"' in rows[1]["details"]
    assert '"role": "Editor"' in rows[1]["details"]


@pytest.mark.parametrize("path", ["/api/org/users", "/api/orgs/1/users"])
async def test_members_above_the_caller_cannot_be_changed(api: Api, path: str) -> None:
    """An Editor who may change members can change Editors, but not Admins."""
    for login, role in (("chief", Role.ADMIN), ("peer", Role.EDITOR)):
        await api.person(login, role)
    admin, other_editor = await user_id_of(api, "chief"), await user_id_of(api, "peer")
    editor = await api.person("ed", Role.EDITOR, ("org.users:write", "users:*"), ("org.users:remove", "users:*"))
    refusal = (403, {"message": "Cannot assign a role higher than user's role"})
    assert await api("PATCH", f"{path}/{admin}", {"role": "Viewer"}, auth=editor) == refusal
    assert await api("DELETE", f"{path}/{admin}", auth=editor) == refusal
    assert (await api("PATCH", f"{path}/{other_editor}", {"role": "Viewer"}, auth=editor))[0] == 200
    assert (await api("DELETE", f"{path}/{other_editor}", auth=editor))[0] == 200
    assert (await api("DELETE", f"{path}/{admin}"))[0] == 200
