"""Administration of users by server admins, who never lose the last server admin, and the settings and statistics of the server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.api.conftest import PASSWORD, Api, StartApi, basic, case_id

from dashwright.api.domain.access.scopes import ACTIONS
from dashwright.common.identity import Role

#: End of the message that protects the last server admin.
LAST_ADMIN = "last grafana admin"
#: A grant of every action, everywhere.
ALL_GRANTS = [(action, "*") for action in sorted(ACTIONS)]


async def create_user(api: Api, login: str = "testdrive", **form: Any) -> int:
    """Create a user as clients do, and return the id."""
    status, response = await api("POST", "/api/admin/users", {"login": login, "password": "secret", **form})
    assert status == 200, response
    user_id: int = response["id"]
    return user_id


async def test_a_created_user_logs_in(api: Api) -> None:
    """A new user can log in, and is a Viewer of the first organization or a member of the given organization."""
    body = {"name": "User", "email": "user@graf.com", "login": "user", "password": "secret"}
    status, response = await api("POST", "/api/admin/users", body)
    assert (status, response) == (200, {"id": response["id"], "uid": response["uid"], "message": "User created"})
    assert (await api("GET", "/api/user", auth=basic("user", "secret")))[1]["email"] == "user@graf.com"
    assert (await api("GET", f"/api/users/{response['id']}/orgs"))[1] == [{"orgId": 1, "name": "Main Org.", "role": "Viewer"}]
    second_org_id = await api.organization("Two")
    user_id = await create_user(api, "other", OrgId=second_org_id)
    assert [org["orgId"] for org in (await api("GET", f"/api/users/{user_id}/orgs"))[1]] == [second_org_id]
    assert (await api("GET", "/api/org", auth=basic("other", "secret")))[1]["id"] == second_org_id


async def test_login_and_email_default_to_each_other(api: Api) -> None:
    """An e-mail address without a login is also the login. Surrounding blanks are removed."""
    _, created = await api("POST", "/api/admin/users", {"email": " a@x.org ", "password": "secret"})
    profile = (await api("GET", f"/api/users/{created['id']}"))[1]
    assert (profile["login"], profile["email"]) == ("a@x.org", "a@x.org")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Validation error, need specify either username or email"),
        ({"login": " ", "password": "secret"}, "Validation error, need specify either username or email"),
        ({"login": "a"}, "Password is missing or too short; it needs at least 4 characters"),
        ({"login": "a", "password": "abc"}, "Password is missing or too short; it needs at least 4 characters"),
        ({"login": "a", "password": "a" * 1025}, "New password is longer than 1024 bytes"),
        ({"login": "a" * 191, "password": "secret"}, "login has 191 characters; at most 190 are allowed"),
        ({"login": "a", "password": "secret", "OrgId": 9999}, "organization not found"),
        ({"login": "a", "password": "secret", "OrgId": -1}, "organization not found"),
        ({"login": "a", "password": "secret", "OrgId": 2**63}, "bad request data"),
        ({"login": "a", "password": "secret", "OrgId": "1"}, "bad request data"),
        ({"login": "a\0b", "password": "secret"}, "bad request data"),
        ([], "bad request data"),
    ],
    ids=case_id,
)
async def test_an_invalid_user_is_refused(api: Api, body: Any, text: str) -> None:
    """An invalid user is refused with the reason, and is not created."""
    assert await api.message("POST", "/api/admin/users", body) == (400, text)
    assert len((await api("GET", "/api/users"))[1]) == 1


@pytest.mark.parametrize(
    "body", [{"login": "ADMIN"}, {"login": "x", "email": "Admin@LocalHost"}, {"login": "admin@localhost"}, {"email": "admin"}], ids=case_id
)
async def test_a_user_is_created_once(api: Api, body: dict[str, str]) -> None:
    """A login or e-mail is unique among all logins and e-mails, ignoring case."""
    status, error = await api("POST", "/api/admin/users", {**body, "password": "secret"})
    login, email = body.get("login") or body["email"], body.get("email") or body["login"]
    assert (status, error) == (412, {"message": f"User with email '{email}' or username '{login}' already exists"})


async def test_one_of_concurrent_users_with_equal_login_and_email_is_created(api: Api) -> None:
    """If several users with one text as login or e-mail, ignoring case, are created concurrently, only one of them is created."""
    bodies = [{"login": "same", "email": "a@x"}, {"login": "other", "email": "same"}, {"login": "SAME", "email": "b@x"}]
    responses = await asyncio.gather(*(api("POST", "/api/admin/users", {**body, "password": "secret"}) for body in bodies))
    assert sorted(status for status, _ in responses) == [200, 412, 412]


async def test_a_user_above_the_quota_is_not_created(start_api: StartApi) -> None:
    """A user above the server's limit or the organization's limit is not created."""
    # The server admin is the first user of the server and of the organization.
    api = await start_api(quota_defaults="global_user=3,org_user=2")
    assert (await api("POST", "/api/admin/users", {"login": "a", "password": "secret"}))[0] == 200
    status, error = await api("POST", "/api/admin/users", {"login": "b", "password": "secret"})
    assert (status, error["message"], error["extra"]["target"]) == (403, "org Quota reached", "org_user")
    second_org_id = await api.organization("Two")
    assert (await api("POST", "/api/admin/users", {"login": "b", "password": "secret", "OrgId": second_org_id}))[0] == 200
    status, error = await api("POST", "/api/admin/users", {"login": "c", "password": "secret", "OrgId": second_org_id})
    assert (status, error["message"], error["extra"]["scope"]) == (403, "user Quota reached", "global")


async def test_a_password_is_set(api: Api) -> None:
    """After a password is set, the old one is refused immediately."""
    user_id = await create_user(api)
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 200
    assert await api("PUT", f"/api/admin/users/{user_id}/password", {"password": "another-one"}) == (
        200,
        {"message": "User password updated"},
    )
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 401
    assert (await api("GET", "/api/user", auth=basic("testdrive", "another-one")))[0] == 200


@pytest.mark.parametrize(
    ("user_id", "body", "status", "text"),
    [
        ("1", {"password": "abc"}, 400, "New password too short; it needs at least 4 characters"),
        ("1", {}, 400, "bad request data"),
        ("1", {"password": 5}, 400, "bad request data"),
        ("x", {"password": "secret"}, 400, "id is invalid"),
        ("0", {"password": "secret"}, 500, "Could not read user from database"),
        ("9999", {"password": "secret"}, 500, "Could not read user from database"),
    ],
    ids=case_id,
)
async def test_an_invalid_password_or_user_id_is_refused(api: Api, user_id: str, body: Any, status: int, text: str) -> None:
    """An invalid password or id is refused. For an unknown user, the response is the 500 that clients expect."""
    assert await api.message("PUT", f"/api/admin/users/{user_id}/password", body) == (status, text)
    assert (await api("GET", "/api/user"))[0] == 200


async def test_the_server_admin_flag_is_set_and_reset(api: Api) -> None:
    """A change of the server admin flag applies to the next request."""
    user_id = await create_user(api)
    user = basic("testdrive", "secret")
    assert (await api("GET", "/api/users", auth=user))[0] == 403
    path = f"/api/admin/users/{user_id}/permissions"
    assert await api("PUT", path, {"isGrafanaAdmin": True}) == (200, {"message": "User permissions updated"})
    assert (await api("GET", "/api/users", auth=user))[0] == 200
    assert (await api("PUT", path, {"isGrafanaAdmin": False}))[0] == 200
    assert (await api("GET", "/api/users", auth=user))[0] == 403
    for body in ({}, {"isGrafanaAdmin": "yes"}, {"isGrafanaAdmin": None}):
        assert await api.message("PUT", path, body) == (400, "bad request data")


async def test_a_user_is_disabled_and_enabled(api: Api) -> None:
    """A disabled user cannot log in, and gets the message for a wrong password. An enabled user can log in again."""
    user_id = await create_user(api)
    user = basic("testdrive", "secret")
    assert (await api("GET", "/api/user", auth=user))[0] == 200
    assert await api("POST", f"/api/admin/users/{user_id}/disable") == (200, {"message": "User disabled"})
    status, error = await api("GET", "/api/user", auth=user)
    assert (status, error["message"]) == (401, "Invalid username or password")
    assert (await api("GET", f"/api/users/{user_id}"))[1]["isDisabled"] is True
    assert await api("POST", f"/api/admin/users/{user_id}/enable") == (200, {"message": "User enabled"})
    assert (await api("GET", "/api/user", auth=user))[0] == 200


async def test_a_user_is_deleted(api: Api) -> None:
    """A deleted user cannot log in and is not found, and the id is not used again."""
    user_id = await create_user(api)
    assert await api("DELETE", f"/api/admin/users/{user_id}") == (200, {"message": "User deleted"})
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 401
    assert await api("DELETE", f"/api/admin/users/{user_id}") == (404, {"message": "user not found"})
    assert await create_user(api) > user_id


async def test_logging_out_clears_the_cached_identity(api: Api) -> None:
    """As there are no sessions, a logout only clears cached credentials. Callers cannot log out themselves."""
    user_id = await create_user(api)
    assert await api("POST", f"/api/admin/users/{user_id}/logout") == (200, {"message": "User logged out"})
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 200
    assert await api("POST", "/api/admin/users/1/logout") == (400, {"message": "You cannot logout yourself"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "/api/admin/users/{}", None),
        ("POST", "/api/admin/users/{}/disable", None),
        ("POST", "/api/admin/users/{}/enable", None),
        ("POST", "/api/admin/users/{}/logout", None),
        ("PUT", "/api/admin/users/{}/permissions", {"isGrafanaAdmin": True}),
    ],
)
async def test_unknown_users_are_not_found(api: Api, method: str, path: str, body: Any) -> None:
    """A change of an unknown user gets 404, and a change with an invalid id gets 400."""
    assert await api(method, path.format(9999), body) == (404, {"message": "user not found"})
    assert await api(method, path.format("x"), body) == (400, {"message": "id is invalid"})


async def test_the_last_server_admin_is_protected(api: Api) -> None:
    """The last enabled server admin cannot be demoted, disabled or deleted, even if a disabled server admin exists."""
    user_id = await create_user(api)
    await api("PUT", f"/api/admin/users/{user_id}/permissions", {"isGrafanaAdmin": True})
    await api("POST", f"/api/admin/users/{user_id}/disable")
    for method, path, body, verb in (
        ("PUT", "/api/admin/users/1/permissions", {"isGrafanaAdmin": False}, "remove"),
        ("POST", "/api/admin/users/1/disable", None, "disable"),
        ("DELETE", "/api/admin/users/1", None, "delete"),
    ):
        assert await api(method, path, body) == (400, {"message": f"cannot {verb} {LAST_ADMIN}"})
    assert (await api("PUT", "/api/admin/users/1/permissions", {"isGrafanaAdmin": True}))[0] == 200
    assert (await api("PUT", f"/api/admin/users/{user_id}/permissions", {"isGrafanaAdmin": False}))[0] == 200


@pytest.mark.parametrize("change", ["demote", "disable", "delete", "mixed"])
async def test_concurrent_demotions_leave_one_server_admin(api: Api, change: str) -> None:
    """If all server admins are demoted, disabled or deleted concurrently, one of them remains."""
    anna = await api.person("anna", Role.VIEWER, *ALL_GRANTS, grants_in=0)
    # The organization keeps an Admin, so that the first user may be deleted.
    await api.person("boss", Role.ADMIN)
    user_ids = [await create_user(api, f"a{index}") for index in range(5)]
    await api.sql("""update "user" set is_admin = true where id = any($1::bigint[])""", user_ids)
    user_ids.append(1)  # the first user
    changes: dict[str, Callable[[int], Awaitable[tuple[int, Any]]]] = {
        "demote": lambda user_id: api("PUT", f"/api/admin/users/{user_id}/permissions", {"isGrafanaAdmin": False}, auth=anna),
        "disable": lambda user_id: api("POST", f"/api/admin/users/{user_id}/disable", auth=anna),
        "delete": lambda user_id: api("DELETE", f"/api/admin/users/{user_id}", auth=anna),
    }
    names_of_changes = [*changes, *changes] if change == "mixed" else [change] * 6
    responses = await asyncio.gather(*(changes[name](user_id) for name, user_id in zip(names_of_changes, user_ids, strict=True)))
    assert sorted(status for status, _ in responses) == [200] * 5 + [400]
    assert await api.sql("select count(*) from person where is_admin and not is_disabled") == 1


async def test_the_only_admin_of_an_organization_is_not_deleted(api: Api) -> None:
    """Deleting the only Admin of an organization is refused, and the response names the organization."""
    second_org_id = await api.organization("Two")
    await api.person("anna", Role.ADMIN, org_id=second_org_id)
    user_id = await api.sql("""select id from "user" where login = 'anna'""")
    status, error = await api("DELETE", f"/api/admin/users/{user_id}")
    assert status == 400
    assert '"Two"' in error["message"]
    assert (await api("DELETE", f"/api/orgs/{second_org_id}"))[0] == 200
    assert (await api("DELETE", f"/api/admin/users/{user_id}"))[0] == 200


async def test_settings_are_shown_without_secrets(start_api: StartApi) -> None:
    """The settings have the sections that clients read, and secrets are masked."""
    api = await start_api(secret_key="a very-secret", quota_defaults="org_user=7")
    status, sections = await api("GET", "/api/admin/settings")
    assert status == 200
    assert set(sections) >= {
        "DEFAULT",
        "server",
        "database",
        "security",
        "plugins",
        "users",
        "auth.basic",
        "auth.anonymous",
        "quota",
        "log",
    }
    assert all(isinstance(text, str) for section in sections.values() for text in section.values())
    assert sections["security"]["admin_password"] == "*********"
    assert sections["quota"] == {"enabled": "true", "org_user": "7"}
    assert "a very-secret" not in str(sections)


async def test_statistics_count_objects(api: Api) -> None:
    """The statistics have at least ten numbers, and service accounts do not count as users."""
    await api.person("vera", Role.VIEWER)
    await api.sql("""insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true)""")
    status, stats = await api("GET", "/api/admin/stats")
    assert status == 200
    assert len(stats) >= 10
    assert all(isinstance(count, int) for count in stats.values())
    expected_counts = {"orgs": 1, "users": 2, "admins": 1, "editors": 0, "viewers": 1, "dashboards": 0, "serviceaccounts": 1}
    assert {name: stats[name] for name in expected_counts} == expected_counts


@pytest.mark.parametrize("path", ["/api/admin/settings", "/api/admin/stats"])
async def test_organization_admins_may_not_administer_the_server(api: Api, path: str) -> None:
    """An organization's Admin may not use the server's routes without a global grant."""
    assert (await api("GET", path, auth=await api.person("boss", Role.ADMIN)))[0] == 403
    granted = [("settings:read", "*"), ("server.stats:read", "*")]
    assert (await api("GET", path, auth=await api.person("helper", Role.NONE, *granted, grants_in=0)))[0] == 200


async def test_no_secret_is_in_the_audit(api: Api) -> None:
    """The audit events of a user contain neither passwords nor hashes."""
    user_id = await create_user(api)
    await api("PUT", f"/api/admin/users/{user_id}/password", {"password": "another-secret"})
    await api(
        "PUT", "/api/user/password", {"oldPassword": "another-secret", "newPassword": PASSWORD}, auth=basic("testdrive", "another-secret")
    )
    await api("DELETE", f"/api/admin/users/{user_id}")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, actor, details::text from audit_event where outcome = 'ok' order by id")
    assert [(row["action"], row["actor"]) for row in rows] == [
        ("user.create", "user:1"),
        ("user.password.update", "user:1"),
        ("user.password.update", f"user:{user_id}"),
        ("user.delete", "user:1"),
    ]
    assert not [row for row in rows if "secret" in row["details"] or PASSWORD in row["details"] or "argon2" in row["details"]]


@pytest.mark.parametrize(
    ("action", "method", "path", "body"),
    [
        ("users.password:write", "PUT", "/api/admin/users/{}/password", {"password": "stolen"}),
        ("users:write", "PUT", "/api/users/{}", {"login": "testdrive", "email": "thief@x"}),
        ("users:disable", "POST", "/api/admin/users/{}/disable", None),
        ("users:enable", "POST", "/api/admin/users/{}/enable", None),
        ("users:delete", "DELETE", "/api/admin/users/{}", None),
    ],
)
async def test_changing_a_server_admin_needs_all_permissions(api: Api, action: str, method: str, path: str, body: Any) -> None:
    """Only callers with every permission may change a server admin.

    Neither a single action nor the right to create server admins suffices.
    """
    user_id = await create_user(api)
    other_id = await create_user(api, "other")
    await api.sql("""update "user" set is_admin = true where id = $1""", user_id)
    helper = await api.person("helper", Role.ADMIN, (action, "*"), ("users.permissions:write", "*"), grants_in=0)
    status, error = await api(method, path.format(user_id), body, auth=helper)
    assert (status, error["title"]) == (403, "Access denied")
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 200
    has_login = body is not None and "login" in body
    # A body with a login keeps the login of the user that it changes.
    other_body = {**body, "login": "other"} if has_login else body
    assert (await api(method, path.format(other_id), other_body, auth=helper))[0] == 200
    holder_of_all = await api.person("holder", Role.NONE, *ALL_GRANTS, grants_in=0)
    # The other user has the e-mail address of the body now.
    body_with_free_email = {**body, "email": "mine@x"} if has_login else body
    assert (await api(method, path.format(user_id), body_with_free_email, auth=holder_of_all))[0] == 200


CHANGES_OF_A_USER = [
    # The granted action, and the request that it permits.
    ("users.password:write", "PUT", "/api/admin/users/{}/password", {"password": "stolen"}),
    ("users:logout", "POST", "/api/admin/users/{}/logout", None),
    ("users.permissions:write", "PUT", "/api/admin/users/{}/permissions", {"isGrafanaAdmin": False}),
]


@pytest.mark.parametrize(("action", "method", "path", "body"), CHANGES_OF_A_USER)
async def test_users_above_the_caller_cannot_be_changed(api: Api, action: str, method: str, path: str, body: Any) -> None:
    """A caller may change a user with equal rights, but no user with a right that the caller lacks. The refusal names the action."""
    second_org_id = await api.organization("Two")
    helper = await api.person("helper", Role.EDITOR, (action, "*"), grants_in=0)
    without_grants, with_global_grant, with_local_grant, admin, in_other_org = [
        await create_user(api, login) for login in ("plain", "global", "local", "admin2", "abroad")
    ]
    await api.grant(with_global_grant, "orgs:delete", "org:id:7", 0)
    await api.grant(with_local_grant, "teams:read", "teams:id:7", 1)
    await api.sql("update org_user set role = 'Admin' where user_id = $1", admin)
    await api.sql("insert into org_user (org_id, user_id, role) values ($1, $2, 'Viewer')", second_org_id, in_other_org)
    assert (await api(method, path.format(without_grants), body, auth=helper))[0] == 200
    # The refusal names the first action that the caller lacks.
    missing_actions = {
        with_global_grant: "orgs:delete",
        with_local_grant: "teams:read",
        admin: "apikeys:create",
        in_other_org: "annotations:read",
    }
    for user_id, needed in missing_actions.items():
        status, error = await api(method, path.format(user_id), body, auth=helper)
        assert (status, error["message"].rpartition(" ")[2]) == (403, needed)
    equal = await api.person("equal", Role.ADMIN, (action, "*"), ("orgs:delete", "org:*"), grants_in=0)
    await api.sql(
        """insert into org_user (org_id, user_id, role) select $1, id, 'Viewer' from "user" where login = 'equal'""", second_org_id
    )
    for user_id in missing_actions:
        assert (await api(method, path.format(user_id), body, auth=equal))[0] == 200


async def test_a_rejected_password_changes_nothing(api: Api) -> None:
    """After a rejected change the old password still works, and the audit has no change."""
    user_id = await create_user(api)
    # The user has a right that the helper lacks.
    await api.grant(user_id, "users.permissions:write", "*", 0)
    helper = await api.person("helper", Role.ADMIN, ("users.password:write", "*"), grants_in=0)
    before = await api.sql("select count(*) from audit_event where outcome = 'ok'")
    assert (await api("PUT", f"/api/admin/users/{user_id}/password", {"password": "stolen"}, auth=helper))[0] == 403
    assert (await api("GET", "/api/user", auth=basic("testdrive", "secret")))[0] == 200
    assert await api.sql("select count(*) from audit_event where outcome = 'ok'") == before


async def test_a_promotion_to_server_admin_needs_all_permissions(api: Api) -> None:
    """Only callers with every permission may promote a user, or themselves, to server admin. Such a caller may be a token."""
    user_id = await create_user(api)
    helper = await api.person("helper", Role.ADMIN, ("users.permissions:write", "*"), grants_in=0)
    own_id = await api.sql("""select id from "user" where login = 'helper'""")
    for promoted_id in (user_id, own_id):
        assert (await api("PUT", f"/api/admin/users/{promoted_id}/permissions", {"isGrafanaAdmin": True}, auth=helper))[0] == 403
    account = await api.account("robot", Role.NONE)
    for action, scope in ALL_GRANTS:
        await api.grant(account, action, scope, 0)
    _, bearer = await api.token(account, "t")
    assert (await api("PUT", f"/api/admin/users/{user_id}/permissions", {"isGrafanaAdmin": True}, auth=f"Bearer {bearer}"))[0] == 200


async def test_a_user_is_created_within_the_quota_of_organizations(start_api: StartApi) -> None:
    """If users may not be members of any organization, no user is created in one."""
    api = await start_api(quota_defaults="user_org=0")
    status, error = await api("POST", "/api/admin/users", {"login": "a", "password": "secret"})
    assert (status, error["extra"]) == (403, {"scope": "user", "target": "org_user", "limit": 0, "used": 0})
    assert await api.sql("select count(*) from person") == 1
