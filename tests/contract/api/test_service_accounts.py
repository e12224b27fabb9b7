"""Service accounts over HTTP. Admins create, search, read, change and delete them, but not accounts with more rights than the caller."""

import asyncio
from typing import Any

import pytest

from dashwright.common.identity import Role

from .conftest import PASSWORD, Api, basic

ACCOUNTS = "/api/serviceaccounts"
ALL_PERMISSIONS = {
    "serviceaccounts:read": True,
    "serviceaccounts:write": True,
    "serviceaccounts:delete": True,
    "serviceaccounts.permissions:read": True,
    "serviceaccounts.permissions:write": True,
}
# Message, message id and status of errors, as ``typed_error`` returns them.
NOT_FOUND = ("service account not found", "serviceaccounts.ErrNotFound", 404)
NAME_IN_USE = ("service account already exists", "serviceaccounts.ErrAlreadyExists", 400)
BAD_ROLE = ("invalid role specified; give one of None, Viewer, Editor, Admin", "serviceaccounts.ErrInvalidRoleSpecified", 400)


def typed_error(error: tuple[int, Any]) -> tuple[str, str, int]:
    """Return the message, identifier and status of a typed error."""
    status, body = error
    assert body["statusCode"] == status, body
    return body["message"], body["messageId"], status


async def test_an_account_is_created(api: Api) -> None:
    """The response to a new account is 201 with the fields of Grafana in their order, without a creation time and without tokens."""
    status, created = await api("POST", ACCOUNTS, {"name": "Grafana Bot", "role": "Editor", "isDisabled": False})
    assert status == 201
    uid, avatar = created.pop("uid"), created.pop("avatarUrl")
    assert created == {
        "id": created["id"],
        "name": "Grafana Bot",
        "login": "sa-1-grafana-bot",
        "orgId": 1,
        "isDisabled": False,
        "role": "Editor",
        "tokens": 0,
    }
    assert uid
    assert not uid.isdigit()
    assert avatar.startswith("/avatar/")


@pytest.mark.parametrize(
    ("path", "body", "role", "is_disabled"),
    [
        (f"{ACCOUNTS}/", {"name": "foo", "role": "Admin"}, "Admin", False),
        (ACCOUNTS, {"name": "norole"}, "Viewer", False),
        (ACCOUNTS, {"name": "norole", "role": None, "isDisabled": None}, "Viewer", False),
        (ACCOUNTS, {"NAME": "n", "Role": "None", "isdisabled": True}, "None", True),
    ],
    ids=["trailing slash", "without role", "nulls", "other case"],
)
async def test_an_account_is_an_enabled_viewer_by_default(api: Api, path: str, body: dict[str, Any], role: str, is_disabled: bool) -> None:
    """An account is a Viewer and enabled by default; a trailing slash and the case of field names are ignored."""
    status, created = await api("POST", path, body)
    assert (status, created["role"], created["isDisabled"]) == (201, role, is_disabled)


@pytest.mark.parametrize(
    "body",
    [
        {"role": "Viewer"},
        {"name": ""},
        {"name": "  "},
        {"name": None},
        {"name": 5},
        {"name": "a\0b"},
        {"name": "a", "isDisabled": "no"},
        [],
        "x",
    ],
    ids=str,
)
async def test_an_account_needs_a_name(api: Api, body: Any) -> None:
    """An account without a valid name is refused with 400 and the same message."""
    assert await api.message("POST", ACCOUNTS, body) == (400, "Bad request data")


async def test_a_body_that_is_not_json_is_rejected(api: Api) -> None:
    """A body that is not JSON is rejected by create and update."""
    account = await api.account("robot")
    assert await api("POST", ACCOUNTS, data=b"{not json") == (
        400,
        {"message": "Bad request data", "extra": {"error": "the body is not JSON"}},
    )
    assert (await api("PATCH", f"{ACCOUNTS}/{account}", data=b""))[1]["message"] == "Bad request data"


async def test_a_name_that_is_too_long_is_refused(api: Api) -> None:
    """A name with more than 190 characters is refused, and the error names the limit."""
    status, body = await api("POST", ACCOUNTS, {"name": "x" * 191})
    assert (status, body["message"]) == (400, "name has 191 characters; at most 190 are allowed")
    assert (await api("POST", ACCOUNTS, {"name": "x" * 190}))[0] == 201


@pytest.mark.parametrize("role", ["Boss", "viewer", "", "Grafana Admin"])
async def test_an_unknown_role_is_rejected(api: Api, role: str) -> None:
    """An unknown role is rejected for new and existing accounts."""
    account = await api.account("robot")
    assert typed_error(await api("POST", ACCOUNTS, {"name": "x", "role": role})) == BAD_ROLE
    assert typed_error(await api("PATCH", f"{ACCOUNTS}/{account}", {"role": role})) == BAD_ROLE


async def test_an_account_above_the_caller_cannot_be_created(api: Api) -> None:
    """An Editor who may create accounts can neither create an Admin nor change the role of an account to Admin."""
    editor = await api.person("ed", Role.EDITOR, ("serviceaccounts:create", "*"), ("serviceaccounts:write", "*"))
    expected = ("can not assign a role higher than user's role", "serviceaccounts.ErrRoleForbidden", 403)
    assert typed_error(await api("POST", ACCOUNTS, {"name": "x", "role": "Admin"}, auth=editor)) == expected
    account = await api.account("y", Role.EDITOR, auth=editor)
    assert typed_error(await api("PATCH", f"{ACCOUNTS}/{account}", {"role": "Admin"}, auth=editor)) == expected
    assert (await api("PATCH", f"{ACCOUNTS}/{account}", {"role": "Viewer"}, auth=editor))[0] == 200


async def test_names_are_unique_in_an_organization(api: Api) -> None:
    """Names that differ only in case and dashes are equal, for creates and renames. A second organization may use a name again."""
    await api.account("My Robot")
    for name in ("My Robot", "my robot", "My-Robot"):
        assert typed_error(await api("POST", ACCOUNTS, {"name": name})) == NAME_IN_USE
    other_account = await api.account("other")
    assert typed_error(await api("PATCH", f"{ACCOUNTS}/{other_account}", {"name": "MY ROBOT"})) == NAME_IN_USE
    assert (await api("PATCH", f"{ACCOUNTS}/{other_account}", {"name": "Other"}))[0] == 200
    org_id = await api.organization("Two")
    admin = await api.person("two", Role.ADMIN, org_id=org_id)
    assert await api.account("My Robot", auth=admin)


async def test_a_login_in_use_gets_a_number(api: Api) -> None:
    """A user may have any login, so an account whose login is taken gets a login with a number."""
    for login in ("sa-1-robot", "SA-1-ROBOT-2"):
        await api.person(login, Role.VIEWER)
    status, created = await api("POST", ACCOUNTS, {"name": "robot"})
    assert (status, created["login"]) == (201, "sa-1-robot-3")
    assert typed_error(await api("POST", ACCOUNTS, {"name": "Robot"})) == NAME_IN_USE


async def test_one_of_concurrent_creates_succeeds(api: Api) -> None:
    """One of many concurrent creates of a name is 201, and all others are 400."""
    responses = await asyncio.gather(*(api("POST", ACCOUNTS, {"name": "same"}) for _ in range(12)))
    assert sorted(status for status, _ in responses) == [201] + [400] * 11
    assert {typed_error(response) for response in responses if response[0] == 400} == {NAME_IN_USE}


async def test_an_account_is_read_by_number_and_by_uid(api: Api) -> None:
    """The profile has times and no teams. It has a count of tokens only if the account has tokens."""
    account = await api.account("robot", Role.EDITOR)
    status, body = await api("GET", f"{ACCOUNTS}/{account}")
    assert status == 200
    assert list(body) == ["id", "uid", "name", "login", "orgId", "isDisabled", "createdAt", "updatedAt", "avatarUrl", "role", "teams"]
    assert body["id"] == account
    assert body["role"] == "Editor"
    assert body["teams"] is None
    assert body["createdAt"].endswith("Z")
    assert await api("GET", f"{ACCOUNTS}/{body['uid']}") == (200, body)
    await api.token(account, "t")
    assert (await api("GET", f"{ACCOUNTS}/{account}"))[1]["tokens"] == 1


async def test_the_permissions_of_an_admin_are_listed_on_request(api: Api) -> None:
    """With ``accesscontrol=true``, an account has the five permissions of the calling Admin."""
    account = await api.account("robot")
    assert (await api("GET", f"{ACCOUNTS}/{account}?accesscontrol=true"))[1]["accessControl"] == ALL_PERMISSIONS
    assert (await api("GET", f"{ACCOUNTS}?accesscontrol=true"))[1]["serviceAccounts"][0]["accessControl"] == ALL_PERMISSIONS
    assert "accessControl" not in (await api("GET", f"{ACCOUNTS}/{account}"))[1]


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("GET", None, "Service Account ID is invalid"),
        ("PATCH", {}, "Service Account ID is invalid"),
        # Grafana's message of this route differs in its case.
        ("DELETE", None, "Service account ID is invalid"),
    ],
)
async def test_an_unknown_account_is_not_found(api: Api, method: str, body: Any, message: str) -> None:
    """An unknown id, a user and another organization's account are not found; a value that is neither id nor uid is invalid."""
    admin = await api.person("two", Role.ADMIN, org_id=await api.organization("Two"))
    foreign = await api.account("foreign", auth=admin)
    foreign_uid = (await api("GET", f"{ACCOUNTS}/{foreign}", auth=admin))[1]["uid"]
    user_id = 1
    for unknown_id in (9999, 0, -1, user_id, foreign):
        assert typed_error(await api(method, f"{ACCOUNTS}/{unknown_id}", body)) == NOT_FOUND
    for identifier in ("abc", "1.5", "9223372036854775808", foreign_uid):
        assert await api(method, f"{ACCOUNTS}/{identifier}", body) == (400, {"message": message})


async def test_an_update_changes_the_given_fields(api: Api) -> None:
    """An update changes only the fields in its body, and unknown fields have no effect."""
    account = await api.account("robot", Role.EDITOR)
    status, changed = await api("PATCH", f"{ACCOUNTS}/{account}", {"name": "foo", "role": "Admin"})
    assert status == 200
    assert list(changed) == ["message", "id", "name", "serviceaccount"]
    assert (changed["message"], changed["id"], changed["name"]) == ("Service account updated", account, "foo")
    assert (changed["serviceaccount"]["name"], changed["serviceaccount"]["role"]) == ("foo", "Admin")
    unknown_fields = {"serviceAccountId": 1, "id": 1, "orgId": 2, "uid": "x", "login": "x", "isGrafanaAdmin": True, "password": "x"}
    status, changed = await api("PATCH", f"{ACCOUNTS}/{account}", {**unknown_fields, "isDisabled": True})
    updated = changed["serviceaccount"]
    assert updated["id"] == account
    assert updated["orgId"] == 1
    assert updated["login"] == "sa-1-robot"
    assert updated["name"] == "foo"
    assert (updated["role"], updated["isDisabled"]) == ("Admin", True)
    assert not await api.sql('select is_admin from "user" where id = $1', account)


async def test_deleting_an_account_deletes_its_data(api: Api) -> None:
    """The tokens, membership, grants, teams, stars, preferences and quotas of the account are deleted."""
    account = await api.account("robot")
    await api.token(account, "t")
    await api.grant(account, "users:read", "global.users:*", 0)
    team = await api.sql("insert into team (org_id, name) values (1, 'T') returning id")
    await api.sql("insert into team_member (org_id, team_id, user_id) values (1, $1, $2)", team, account)
    await api.sql("insert into star (user_id, org_id, dashboard_uid) values ($1, 1, 'd')", account)
    await api.sql("insert into preferences (org_id, user_id) values (1, $1)", account)
    await api.sql("""insert into quota (user_id, target, "limit") values ($1, 'org_user', 1)""", account)
    assert await api("DELETE", f"{ACCOUNTS}/{account}") == (200, {"message": "Service account deleted"})
    owned = ("org_user", "permission", "team_member", "star", "preferences", "quota")
    for table in owned:
        assert await api.sql(f"select count(*) from {table} where user_id = $1", account) == 0, table
    assert await api.sql("select count(*) from api_key") == 0
    assert typed_error(await api("GET", f"{ACCOUNTS}/{account}")) == NOT_FOUND


async def test_accounts_are_found_by_their_texts(api: Api) -> None:
    """``query`` searches name, login and e-mail, ignoring case and without wildcards. The three paths return the same page."""
    for name in ("service", "Serving", "50%_off", "other"):
        await api.account(name)
    page_with_service = (await api("GET", f"{ACCOUNTS}/search?query=service&page=1"))[1]
    await api.token(page_with_service["serviceAccounts"][0]["id"], "t")
    for path in (ACCOUNTS, f"{ACCOUNTS}/search", f"{ACCOUNTS}/search/"):
        status, page = await api("GET", f"{path}?query=SERV&page=1")
        names = [(account["name"], account["tokens"]) for account in page["serviceAccounts"]]
        assert (status, page["totalCount"], names) == (200, 2, [("service", 1), ("Serving", 0)])
    assert (await api("GET", f"{ACCOUNTS}?query=sa-1-ot"))[1]["totalCount"] == 1
    assert (await api("GET", f"{ACCOUNTS}?query=%25_"))[1]["totalCount"] == 1


@pytest.mark.parametrize(
    ("query", "page", "per_page"),
    [
        ("", 1, 1000),
        ("?page=0&perpage=0", 1, 1000),
        ("?page=-9999&perpage=-1", 1, 1000),
        ("?page=x&perpage=y", 1, 1000),
        ("?perpage=99999999", 1, 5000),
        ("?page=3&perpage=2", 3, 2),
    ],
)
async def test_invalid_pages_have_defaults(api: Api, query: str, page: int, per_page: int) -> None:
    """An invalid page or page size is replaced by the defaults 1 and 1000. A page size has a maximum."""
    status, body = await api("GET", f"{ACCOUNTS}/search{query}")
    assert (status, body) == (200, {"totalCount": 0, "serviceAccounts": [], "page": page, "perPage": per_page})


async def test_pages_are_sorted_by_email_and_end_with_an_empty_one(api: Api) -> None:
    """Pages are sorted by e-mail. A page past the end is empty and has the total count, so that clients stop there."""
    names = [f"robot {index:02}" for index in range(5)]
    for name in reversed(names):
        await api.account(name)
    pages = [(await api("GET", f"{ACCOUNTS}/search?perpage=2&page={page}"))[1] for page in (1, 2, 3, 4, 10**15)]
    assert [account["name"] for page in pages for account in page["serviceAccounts"]] == names
    assert {page["totalCount"] for page in pages} == {5}
    assert pages[3]["serviceAccounts"] == []
    assert pages[4]["serviceAccounts"] == []


async def test_accounts_are_found_by_their_state(api: Api) -> None:
    """Accounts are found by their state: disabled, or with an expired token. No account is ``external``."""
    enabled, disabled, expired = [await api.account(name) for name in ("plain", "disabled", "expired")]
    assert (await api("GET", f"{ACCOUNTS}?disabled=true"))[1]["totalCount"] == 0
    await api("PATCH", f"{ACCOUNTS}/{disabled}", {"isDisabled": True})
    token, _ = await api.token(expired, "ended", secondsToLive=60)
    await api.token(enabled, "lives", secondsToLive=3600)
    await api.sql("update api_key set expires = 1 where id = $1", token)

    async def search(query: str) -> list[int]:
        """Return the ids of the accounts that are found."""
        return [account["id"] for account in (await api("GET", f"{ACCOUNTS}/search?{query}"))[1]["serviceAccounts"]]

    assert await search("disabled=true") == [disabled]
    assert await search("Disabled=1") == [disabled]
    assert await search("expiredTokens=true") == [expired]
    assert await search("external=true") == []
    # Without a true filter, all accounts are returned, sorted by the e-mail that the server derives from the name.
    assert await search("disabled=false&expiredTokens=no&external=maybe") == [disabled, expired, enabled]


async def test_a_grant_on_one_account_covers_no_other_account(api: Api) -> None:
    """A grant on one account restricts lists to it. Other accounts are 403 by number and uid, whether they exist or not."""
    granted_account, other_account = await api.account("mine"), await api.account("other")
    granted_uid = (await api("GET", f"{ACCOUNTS}/{granted_account}"))[1]["uid"]
    other_uid = (await api("GET", f"{ACCOUNTS}/{other_account}"))[1]["uid"]
    grants = [(action, f"serviceaccounts:id:{granted_account}") for action in ("serviceaccounts:read", "serviceaccounts:write")]
    limited_caller = await api.person("someone", Role.NONE, *grants)
    page = (await api("GET", f"{ACCOUNTS}?accesscontrol=true", auth=limited_caller))[1]
    assert (page["totalCount"], page["serviceAccounts"][0]["id"]) == (1, granted_account)
    assert page["serviceAccounts"][0]["accessControl"] == {"serviceaccounts:read": True, "serviceaccounts:write": True}
    for identifier in (granted_account, granted_uid):
        assert (await api("GET", f"{ACCOUNTS}/{identifier}", auth=limited_caller))[0] == 200
    for identifier in (other_account, other_uid, 9999, "unknown"):
        for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
            status, error = await api(method, f"{ACCOUNTS}/{identifier}", body, auth=limited_caller)
            assert (status, error["title"]) == (403, "Access denied")


@pytest.mark.parametrize(
    ("method", "path", "action"),
    [
        ("GET", "", "serviceaccounts:read"),
        ("GET", "/search", "serviceaccounts:read"),
        ("POST", "", "serviceaccounts:create"),
        ("GET", "/1", "serviceaccounts:read"),
        ("PATCH", "/1", "serviceaccounts:write"),
        ("DELETE", "/1", "serviceaccounts:delete"),
        ("POST", "/migrate", "serviceaccounts:write"),
        ("POST", "/migrate/1", "serviceaccounts:write"),
    ],
)
async def test_accounts_are_for_admins(api: Api, method: str, path: str, action: str) -> None:
    """An Editor gets 403 with the missing permission, and an unauthenticated client 401."""
    editor = await api.person("ed", Role.EDITOR)
    status, body = await api(method, ACCOUNTS + path, {}, auth=editor)
    assert (status, body["message"].rpartition(" ")[2]) == (403, action)
    assert await api(method, ACCOUNTS + path, {}, auth=None) == (401, {"message": "Unauthorized"})


async def test_a_service_account_never_logs_in_with_a_password(api: Api) -> None:
    """A service account cannot log in with a password and does not count among the users of its organization."""
    await api.account("robot")
    for password in ("", PASSWORD, "sa-1-robot"):
        assert (await api("GET", ACCOUNTS, auth=basic("sa-1-robot", password)))[0] == 401
    assert await api.sql("select count(*) from person") == 1


ROLE_TOO_HIGH = ("can not assign a role higher than user's role", "serviceaccounts.ErrRoleForbidden", 403)


async def try_takeovers(api: Api, account: int, auth: str) -> list[tuple[int, Any]]:
    """Return the responses to the five ways of getting control of an account."""
    account_path = f"{ACCOUNTS}/{account}"
    return [
        await api("POST", f"{account_path}/tokens", {"name": "stolen"}, auth=auth),
        await api("PATCH", account_path, {"isDisabled": False}, auth=auth),
        await api("PATCH", account_path, {"name": "mine"}, auth=auth),
        await api("PATCH", account_path, {"role": "None"}, auth=auth),
        await api("PATCH", account_path, {}, auth=auth),
    ]


async def test_an_account_with_a_higher_role_cannot_be_controlled(api: Api) -> None:
    """Callers cannot create tokens of an account with a higher role or change it."""
    account = await api.account("boss", Role.ADMIN)
    limited_caller = await api.person("someone", Role.NONE, ("serviceaccounts:write", "*"))
    assert [typed_error(response) for response in await try_takeovers(api, account, limited_caller)] == [ROLE_TOO_HIGH] * 5
    assert await api.sql("select count(*) from api_key") == 0
    account_without_role = await api.account("lowly", Role.NONE)
    assert [status for status, _ in await try_takeovers(api, account_without_role, limited_caller)] == [200] * 5


@pytest.mark.parametrize("action", ["users.permissions:write", "users.permissions:update"], ids=["current name", "older name"])
async def test_an_account_with_more_grants_cannot_be_controlled(api: Api, action: str) -> None:
    """A caller cannot control an account with a global grant, even of an older name, unless the caller has an equal global grant.

    Server admins have all grants.
    """
    account = await api.account("root")
    await api.grant(account, action, "*", 0)
    admin = await api.person("chief", Role.ADMIN, ("users.permissions:write", "*"))
    for status, body in await try_takeovers(api, account, admin):
        assert (status, body["title"]) == (403, "Access denied")
        assert body["message"].endswith("users.permissions:write")
    equal_caller = await api.person("equal", Role.ADMIN, ("users.permissions:write", "*"), grants_in=0)
    assert [status for status, _ in await try_takeovers(api, account, equal_caller)] == [200] * 5
    assert (await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "rightful"}))[0] == 200


async def test_grants_in_the_organization_count_too(api: Api) -> None:
    """An Editor cannot control an account with a grant that the Editor lacks; an Admin, who has it by role, can."""
    account = await api.account("helper")
    await api.grant(account, "teams:write", "teams:id:5")
    editor = await api.person("ed", Role.EDITOR, ("serviceaccounts:write", "*"))
    assert [status for status, _ in await try_takeovers(api, account, editor)] == [403] * 5
    admin = await api.person("chief", Role.ADMIN)
    assert [status for status, _ in await try_takeovers(api, account, admin)] == [200] * 5


async def test_the_default_role_is_not_above_the_caller_either(api: Api) -> None:
    """An account that is created without a role is a Viewer, so a caller whose role is None cannot create it."""
    limited_caller = await api.person("someone", Role.NONE, ("serviceaccounts:create", "*"))
    assert typed_error(await api("POST", ACCOUNTS, {"name": "x"}, auth=limited_caller)) == ROLE_TOO_HIGH
    assert (await api("POST", ACCOUNTS, {"name": "x", "role": "None"}, auth=limited_caller))[0] == 201
