"""Users over HTTP. A server admin reads and changes all users, and other callers only users on which they have a grant."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api, basic

from dashwright.common.identity import Role

#: Members of the profile of a new user that do not depend on the test.
PROFILE = {
    "theme": "",
    "orgId": 1,
    "isGrafanaAdmin": False,
    "isDisabled": False,
    "isExternal": False,
    "isExternallySynced": False,
    "isGrafanaAdminExternallySynced": False,
    "isProvisioned": False,
    "authLabels": [],
}


async def create_user(api: Api, login: str = "testdrive", **form: Any) -> int:
    """Create a user as clients do, and return the id."""
    status, response = await api("POST", "/api/admin/users", {"login": login, "password": "secret", **form})
    assert status == 200, response
    user_id: int = response["id"]
    return user_id


async def test_a_user_is_read_by_id_or_login(api: Api) -> None:
    """A user without an e-mail is looked up by login, and a missing name is an empty string."""
    user_id = await create_user(api)
    status, profile = await api("GET", f"/api/users/{user_id}")
    assert status == 200
    assert {name: profile[name] for name in PROFILE} == PROFILE
    assert profile["id"] == user_id
    assert profile["login"] == "testdrive"
    assert profile["email"] == "testdrive"
    assert profile["name"] == ""
    assert set(profile) == {*PROFILE, "id", "uid", "login", "email", "name", "createdAt", "updatedAt", "avatarUrl"}
    for login in ("testdrive", "TESTDRIVE"):
        assert await api("GET", f"/api/users/lookup?loginOrEmail={login}") == (200, profile)


@pytest.mark.parametrize("login", ["ADMIN", "aDmin", "Admin@LocalHost"])
async def test_a_user_logs_in_with_any_case(api: Api, login: str) -> None:
    """A login or e-mail is accepted in upper and lower case."""
    status, user = await api("GET", "/api/user", auth=basic(login, "admin"))
    assert status == 200, user
    assert user["login"] == "admin"


async def test_special_characters_in_an_email_are_found(api: Api) -> None:
    """Special characters of an e-mail address are percent-encoded by clients, and the user is found."""
    user_id = await create_user(api, "a+b@x.org")
    assert (await api("GET", "/api/users/lookup?loginOrEmail=a%2Bb%40x.org"))[1]["id"] == user_id


@pytest.mark.parametrize("user_id", ["unknown", "9999", "-1", "0", "9223372036854775808", "1.0"])
async def test_unknown_users_are_not_found(api: Api, user_id: str) -> None:
    """An unknown id and a text that is not an id are both 404."""
    assert await api("GET", f"/api/users/{user_id}") == (404, {"message": "user not found"})
    assert await api("GET", f"/api/users/{user_id}/orgs") == (404, {"message": "user not found"})
    bodies: list[Any] = [{}, {"login": "x"}, []]
    for body in bodies:
        assert await api("PUT", f"/api/users/{user_id}", body) == (404, {"message": "User not found"})


async def test_a_look_up_without_result_is_404(api: Api) -> None:
    """A look-up of an unknown login, or without a login, is 404."""
    assert await api("GET", "/api/users/lookup?loginOrEmail=unknown") == (404, {"message": "user not found"})
    assert await api("GET", "/api/users/lookup") == (404, {"message": "user not found"})


async def test_a_service_account_is_not_a_user(api: Api) -> None:
    """The id of a service account is unknown to every route about users."""
    user_id = await api.sql("""insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true) returning id""")
    assert (await api("GET", f"/api/users/{user_id}"))[0] == 404
    assert (await api("GET", "/api/users/lookup?loginOrEmail=sa"))[0] == 404
    assert {user["login"] for user in (await api("GET", "/api/users"))[1]} == {"admin"}
    for method, path, body in (
        ("PUT", f"/api/users/{user_id}", {"login": "x"}),
        ("DELETE", f"/api/admin/users/{user_id}", None),
        ("POST", f"/api/admin/users/{user_id}/disable", None),
        ("POST", f"/api/admin/users/{user_id}/enable", None),
        ("POST", f"/api/admin/users/{user_id}/logout", None),
        ("PUT", f"/api/admin/users/{user_id}/permissions", {"isGrafanaAdmin": True}),
        ("PUT", f"/api/access-control/users/{user_id}/permissions", {"permissions": []}),
    ):
        assert (await api(method, path, body))[0] == 404, (method, path)
    assert (await api("PUT", f"/api/admin/users/{user_id}/password", {"password": "secret"}))[0] == 500


async def test_users_are_listed_by_login_in_pages(api: Api) -> None:
    """``/users`` returns the users of a page as an array, and ``/users/search`` an object with the page and the total count."""
    for login in ("beta", "Alpha", "gamma"):
        await create_user(api, login)
    names = ["admin", "Alpha", "beta", "gamma"]
    status, users = await api("GET", "/api/users")
    assert (status, [user["login"] for user in users]) == (200, names)
    assert set(users[0]) == {
        "id",
        "uid",
        "name",
        "login",
        "email",
        "avatarUrl",
        "isAdmin",
        "isDisabled",
        "isProvisioned",
        "lastSeenAt",
        "lastSeenAtAge",
        "authLabels",
        "created",
    }
    assert users[0]["isAdmin"] is True
    assert [user["login"] for user in (await api("GET", "/api/users?query=ALPHA"))[1]] == ["Alpha"]
    assert [user["login"] for user in (await api("GET", "/api/users?perpage=3&page=2"))[1]] == ["gamma"]
    assert (await api("GET", "/api/users?page=9"))[1] == []
    for query in ("page=0&perpage=0", "page=-9&perpage=x", ""):
        status, page = await api("GET", f"/api/users/search?{query}")
        assert page["totalCount"] == 4
        assert page["page"] == 1
        assert page["perPage"] == 1000
        assert page["users"] == users
    assert (await api("GET", "/api/users/search?perpage=10&page=1"))[1]["perPage"] == 10
    # An underscore is not a wildcard.
    assert (await api("GET", "/api/users?query=_"))[1] == []


async def test_an_update_keeps_missing_fields(api: Api) -> None:
    """An update keeps the login or e-mail address that it omits. An empty name is stored."""
    user_id = await create_user(api, "anna", email="anna@x.org", name="Anna")
    assert await api("PUT", f"/api/users/{user_id}", {"login": "ann"}) == (200, {"message": "User updated"})
    assert (await api("PUT", f"/api/users/{user_id}", {"email": "a@x.org", "theme": "dark", "name": ""}))[0] == 200
    profile = (await api("GET", f"/api/users/{user_id}"))[1]
    assert [profile[name] for name in ("login", "email", "name", "theme")] == ["ann", "a@x.org", "", "dark"]
    assert (await api("GET", "/api/user", auth=basic("ann", "secret")))[0] == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Need to specify either username or email"),
        ({"name": "X"}, "Need to specify either username or email"),
        ({"login": " "}, "Need to specify either username or email"),
        ({"login": 5}, "bad request data"),
        ([], "bad request data"),
        ({"login": "a", "theme": "pink"}, "Invalid theme; give one of light, dark, system"),
        ({"login": "a" * 191}, "login has 191 characters; at most 190 are allowed"),
        ({"login": "a\0"}, "bad request data"),
    ],
)
async def test_an_invalid_update_is_rejected(api: Api, body: Any, message: str) -> None:
    """An update without login and e-mail, or with an invalid value, is 400 with the reason and changes nothing."""
    user_id = await create_user(api)
    before = await api("GET", f"/api/users/{user_id}")
    assert await api.message("PUT", f"/api/users/{user_id}", body) == (400, message)
    assert await api("GET", f"/api/users/{user_id}") == before


@pytest.mark.parametrize(
    "body", [{"login": "ADMIN"}, {"email": "Admin@LocalHost"}, {"login": "admin@localhost"}, {"email": "admin"}], ids=str
)
async def test_a_login_is_not_another_users_login_or_e_mail(api: Api, body: dict[str, str]) -> None:
    """Logins and e-mails are compared with each other without case, as a login could otherwise match two users."""
    user_id = await create_user(api)
    assert await api("PUT", f"/api/users/{user_id}", body) == (409, {"message": "Update would result in user login conflict"})


async def test_the_organizations_of_a_user_are_sorted_by_name(api: Api) -> None:
    """The organizations of a user are sorted by name and have exactly three fields."""
    second_org_id = await api.organization("A first one")
    user_id = await create_user(api)
    await api("POST", f"/api/orgs/{second_org_id}/users", {"loginOrEmail": "testdrive", "role": "Editor"})
    assert await api("GET", f"/api/users/{user_id}/orgs") == (
        200,
        [{"orgId": second_org_id, "name": "A first one", "role": "Editor"}, {"orgId": 1, "name": "Main Org.", "role": "Viewer"}],
    )


async def test_the_current_organization_of_a_user_can_be_changed(api: Api) -> None:
    """A server admin can make an organization of a user the current one. Unknown users and other organizations are 401."""
    second_org_id, user_id = await api.organization("Two"), await create_user(api)
    unauthorized = (401, {"message": "Not a valid organization: it does not exist, or the user is not a member of it"})
    assert await api("POST", f"/api/users/{user_id}/using/{second_org_id}") == unauthorized
    assert await api("POST", "/api/users/9999/using/1") == unauthorized
    assert await api("POST", f"/api/users/{user_id}/using/9999") == unauthorized
    assert await api("POST", f"/api/users/{user_id}/using/acme") == (400, {"message": "orgId is invalid"})
    await api("POST", f"/api/orgs/{second_org_id}/users", {"loginOrEmail": "testdrive", "role": "Viewer"})
    assert await api("POST", f"/api/users/{user_id}/using/{second_org_id}") == (200, {"message": "Active organization changed"})
    assert (await api("GET", "/api/org", auth=basic("testdrive", "secret")))[1]["id"] == second_org_id


async def test_permissions_on_users_are_listed_on_request(api: Api) -> None:
    """With ``accesscontrol=true``, the profile of a user lists the permissions of the caller, which a server admin has completely."""
    profile = (await api("GET", "/api/users/1?accesscontrol=true"))[1]
    assert set(profile["accessControl"]) >= {"users:read", "users:delete", "users.password:write", "users.quotas:list"}
    assert all(profile["accessControl"].values())


async def test_users_are_not_revealed_without_permission(api: Api) -> None:
    """An organization's Admin receives the same 403 for existing and unknown users."""
    org_admin = await api.person("boss", Role.ADMIN)
    for method, path in (
        ("GET", "/api/users/{}"),
        ("PUT", "/api/users/{}"),
        ("GET", "/api/users/{}/orgs"),
        ("POST", "/api/users/{}/using/1"),
        ("DELETE", "/api/admin/users/{}"),
        ("PUT", "/api/admin/users/{}/password"),
        ("GET", "/api/access-control/users/{}/permissions"),
    ):
        existing, missing = await api(method, path.format(1), auth=org_admin), await api(method, path.format(9999), auth=org_admin)
        assert (existing[0], missing[0]) == (403, 403), (method, path)
        assert existing[1]["message"] == missing[1]["message"]
    for path in ("/api/users", "/api/users/search", "/api/users/lookup?loginOrEmail=admin", "/api/users/lookup?loginOrEmail=x"):
        assert (await api("GET", path, auth=org_admin))[0] == 403


async def test_a_grant_on_one_user_shows_only_that_user(api: Api) -> None:
    """A caller with a grant on one user lists and reads only this user. Another user is 403 by id, and unknown to a look-up."""
    user_id = await create_user(api)
    limited_caller = await api.person("limited", Role.NONE, ("users:read", f"global.users:{user_id}"), grants_in=0)
    assert [user["id"] for user in (await api("GET", "/api/users", auth=limited_caller))[1]] == [user_id]
    assert (await api("GET", "/api/users/search", auth=limited_caller))[1]["totalCount"] == 1
    assert (await api("GET", f"/api/users/{user_id}", auth=limited_caller))[0] == 200
    assert (await api("GET", "/api/users/1", auth=limited_caller))[0] == 403
    assert (await api("GET", "/api/users/lookup?loginOrEmail=admin", auth=limited_caller))[0] == 404
