"""Quotas over HTTP. Users read the limits of organizations and users, and server admins set them."""

from typing import Any

import pytest

from dashwright.common.identity import Role

from .conftest import Api, StartApi
from .test_service_accounts import typed_error

CURRENT_ORG_QUOTAS = "/api/org/quotas"
ORG_1_QUOTAS = "/api/orgs/1/quotas"
USER_1_QUOTAS = "/api/admin/users/1/quotas"
OWN_QUOTAS = "/api/user/quotas"
#: Default limits, as the setting has them.
DEFAULTS = "org_user=10,org_dashboard=100,org_data_source=10,org_api_key=10,org_alert_rule=100,user_org=10"
#: The same limits of an organization, as the API has them, by target.
LIMITS = {"org_user": 10, "dashboard": 100, "data_source": 10, "api_key": 10, "alert_rule": 100}
UPDATED = (200, {"message": "Organization quota updated"})
#: Message, message id and status of an error, as ``typed_error`` returns them.
BAD_DATA = ("bad request data", "quota.bad-request", 400)


async def limits(api: Api, path: str = ORG_1_QUOTAS) -> dict[str, int]:
    """Return the limits by target."""
    status, body = await api("GET", path)
    assert status == 200, body
    return {record["target"]: record["limit"] for record in body}


async def test_an_organization_has_five_quotas(start_api: StartApi) -> None:
    """The five quotas of an organization have a fixed order, names in snake_case and the id of the organization."""
    api = await start_api(quota_defaults=DEFAULTS)
    account = await api.account("robot")
    await api.token(account, "t")
    await api.legacy_key("k")
    # The token and the legacy key both count as keys.
    use_by_target = {"org_user": 1, "dashboard": 0, "data_source": 0, "api_key": 2, "alert_rule": 0}
    expected = [{"org_id": 1, "target": target, "limit": limit, "used": use_by_target[target]} for target, limit in LIMITS.items()]
    assert await api("GET", CURRENT_ORG_QUOTAS) == (200, expected)
    status, body = await api("GET", ORG_1_QUOTAS)
    assert (status, body) == (200, expected)
    assert list(body[0]) == ["org_id", "target", "limit", "used"]


async def test_a_user_has_one_quota(start_api: StartApi) -> None:
    """The only quota of a user limits the number of organizations of the user."""
    api = await start_api(quota_defaults=DEFAULTS)
    expected = (200, [{"user_id": 1, "target": "org_user", "limit": 10, "used": 1}])
    assert await api("GET", OWN_QUOTAS) == expected
    assert await api("GET", USER_1_QUOTAS) == expected


async def test_without_defaults_nothing_is_limited(api: Api) -> None:
    """Without defaults, each limit is -1, which means unlimited."""
    assert await limits(api) == dict.fromkeys(LIMITS, -1)
    assert await limits(api, OWN_QUOTAS) == {"org_user": -1}


@pytest.mark.parametrize(("path", "read_path"), [(ORG_1_QUOTAS, CURRENT_ORG_QUOTAS), (USER_1_QUOTAS, OWN_QUOTAS)])
async def test_a_limit_can_be_changed(api: Api, path: str, read_path: str) -> None:
    """A limit can be replaced by any 64-bit integer. A negative limit means unlimited and is returned as -1."""
    for limit, effective_limit in ((123, 123), (456, 456), (0, 0), (-1, -1), (-(2**63), -1), (2**63 - 1, 2**63 - 1)):
        assert await api("PUT", f"{path}/org_user", {"limit": limit}) == UPDATED
        assert (await limits(api, read_path))["org_user"] == effective_limit


async def test_target_and_owner_are_those_of_the_path(api: Api) -> None:
    """Target and owner in the body have no effect. Names of fields match in any case."""
    body = {"LIMIT": 5, "target": "dashboard", "org_id": 77, "user_id": 1, "used": 3}
    assert await api("PUT", f"{ORG_1_QUOTAS}/org_user", body) == UPDATED
    assert await limits(api) == {**dict.fromkeys(LIMITS, -1), "org_user": 5}
    assert await limits(api, OWN_QUOTAS) == {"org_user": -1}
    second_org_id = await api.organization("Two")
    assert await api("PUT", f"/api/orgs/{second_org_id}/quotas/api_key", {"limit": 20}) == UPDATED
    assert await api.sql("select count(*) from quota") == 2


@pytest.mark.parametrize("path", [ORG_1_QUOTAS, USER_1_QUOTAS])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{not json",
        b"[]",
        b"null",
        b"5",
        b"{}",
        b'{"limit":null}',
        b'{"limit":"5"}',
        b'{"limit":true}',
        b'{"limit":5.0}',
        b'{"limit":5.5}',
        b'{"limit":1e2}',
        b'{"limit":9223372036854775808}',
        b'{"limit":-9223372036854775809}',
    ],
)
async def test_a_limit_is_an_integer_of_64_bits(api: Api, path: str, body: bytes) -> None:
    """A missing limit, or one that is not a 64-bit integer, is rejected with one message and changes nothing."""
    assert typed_error(await api("PUT", f"{path}/org_user", data=body)) == BAD_DATA
    assert await api.sql("select count(*) from quota") == 0


@pytest.mark.parametrize(
    ("path", "known_targets"),
    [(ORG_1_QUOTAS, "org_user, dashboard, data_source, api_key, alert_rule"), (USER_1_QUOTAS, "org_user")],
)
@pytest.mark.parametrize("target", ["bogus", "session", "user", "org", "Org_User", "user_org"])
async def test_an_unknown_target_is_rejected_with_the_existing_ones(api: Api, path: str, known_targets: str, target: str) -> None:
    """An unknown target is refused with the targets that can be set. Global targets, and those of other owners, count as unknown."""
    response = await api("PUT", f"{path}/{target}", {"limit": 5})
    assert typed_error(response) == (f'unknown quota target "{target}"; known: {known_targets}', "quota.invalid-target", 404)


@pytest.mark.parametrize("identifier", ["abc", "1.0", "1_0", "9223372036854775808"])
async def test_an_id_is_an_integer_of_64_bits(api: Api, identifier: str) -> None:
    """Ids of organizations and users must be integers, for reading and for setting quotas."""
    invalid_org_id, invalid_user_id = ("orgId is invalid", "quota.bad-request", 400), ("id is invalid", "quota.bad-request", 400)
    for path, expected in ((f"/api/orgs/{identifier}/quotas", invalid_org_id), (f"/api/admin/users/{identifier}/quotas", invalid_user_id)):
        assert typed_error(await api("GET", path)) == expected
        assert typed_error(await api("PUT", f"{path}/org_user", {"limit": 5})) == expected


@pytest.mark.parametrize("unknown_id", [9999, 0, -1])
async def test_unknown_owners_have_no_quotas(api: Api, unknown_id: int) -> None:
    """Requests about an unknown organization or user are 404 and store no limit. A service account is an unknown user."""
    account = await api.account("robot")
    for path, message in (
        (f"/api/orgs/{unknown_id}/quotas", "Organization not found"),
        (f"/api/admin/users/{unknown_id}/quotas", "user not found"),
        (f"/api/admin/users/{account}/quotas", "user not found"),
    ):
        assert await api("GET", path) == (404, {"message": message})
        assert await api("PUT", f"{path}/org_user", {"limit": 5}) == (404, {"message": message})
    assert await api.sql("select count(*) from quota") == 0


async def test_disabled_quotas_are_reported(start_api: StartApi) -> None:
    """If quotas are disabled, each request about them is 403 with the reason, after the checks of credentials and permission.

    Nothing is limited.
    """
    api = await start_api(quotas_enabled=False, quota_defaults="org_api_key=0")
    disabled = ("Quotas not enabled", "quota.disabled", 403)
    for path in (CURRENT_ORG_QUOTAS, ORG_1_QUOTAS, USER_1_QUOTAS, OWN_QUOTAS, "/api/orgs/9999/quotas"):
        assert typed_error(await api("GET", path)) == disabled
    for path in (ORG_1_QUOTAS, USER_1_QUOTAS):
        assert typed_error(await api("PUT", f"{path}/org_user", {"limit": 5})) == disabled
    viewer = await api.person("vic", Role.VIEWER)
    assert (await api("GET", CURRENT_ORG_QUOTAS, auth=viewer))[1]["title"] == "Access denied"
    assert (await api("GET", CURRENT_ORG_QUOTAS, auth=None))[0] == 401
    # With enabled quotas, the limit of 0 keys would forbid the token.
    await api.token(await api.account("robot"), "t")


#: Method and path of each route about quotas, and the action that it needs.
CALLS = [
    ("GET", CURRENT_ORG_QUOTAS, "orgs.quotas:read"),
    ("GET", ORG_1_QUOTAS, "orgs.quotas:read"),
    ("PUT", f"{ORG_1_QUOTAS}/org_user", "orgs.quotas:write"),
    ("GET", USER_1_QUOTAS, "users.quotas:list"),
    ("PUT", f"{USER_1_QUOTAS}/org_user", "users.quotas:update"),
]


@pytest.mark.parametrize(("method", "path", "action"), CALLS)
async def test_quotas_need_their_permission(api: Api, method: str, path: str, action: str) -> None:
    """A Viewer gets 403 with the missing permission, and an unauthenticated client 401."""
    viewer = await api.person("vic", Role.VIEWER)
    status, body = await api(method, path, {"limit": 5}, auth=viewer)
    assert (status, body["title"], body["message"].rpartition(" ")[2]) == (403, "Access denied", action)
    assert await api(method, path, {"limit": 5}, auth=None) == (401, {"message": "Unauthorized"})


async def test_an_admin_reads_the_quotas_of_their_organization_and_changes_none(api: Api) -> None:
    """An Admin can read the limits of their organization, but not change them.

    Requests about another organization are denied, whether it exists or not.
    """
    second_org_id = await api.organization("Two")
    admin = await api.person("ann", Role.ADMIN)
    assert (await api("GET", CURRENT_ORG_QUOTAS, auth=admin))[0] == 200
    assert (await api("GET", ORG_1_QUOTAS, auth=admin))[0] == 200
    for method, path in (
        ("GET", f"/api/orgs/{second_org_id}/quotas"),
        ("GET", "/api/orgs/9999/quotas"),
        ("PUT", f"{ORG_1_QUOTAS}/org_user"),
        ("GET", USER_1_QUOTAS),
        ("PUT", f"{USER_1_QUOTAS}/org_user"),
    ):
        assert (await api(method, path, {"limit": 5}, auth=admin))[0] == 403


async def test_a_grant_counts_in_its_organization(api: Api) -> None:
    """A grant in organization 1 does not count in a second organization; a global grant does. An unknown action permits nothing."""
    second_org_id = await api.organization("Two")
    caller = await api.person("local", Role.NONE, ("orgs.quotas:write", "org:id:1"))
    global_caller = await api.person("global", Role.NONE, ("orgs.quotas:write", "org:*"), grants_in=0)
    caller_with_unknown_action = await api.person("unknown", Role.NONE, ("orgs:invalid", "*"))
    path = f"/api/orgs/{second_org_id}/quotas/org_user"
    assert (await api("PUT", f"{ORG_1_QUOTAS}/org_user", {"limit": 20}, auth=caller)) == UPDATED
    assert (await api("PUT", path, {"limit": 20}, auth=caller))[1]["title"] == "Access denied"
    assert (await api("PUT", path, {"limit": 20}, auth=global_caller)) == UPDATED
    assert (await api("GET", CURRENT_ORG_QUOTAS, auth=caller_with_unknown_action))[1]["title"] == "Access denied"


async def test_a_grant_on_one_user_covers_no_other_user(api: Api) -> None:
    """A grant on one user allows reading the quotas of this user only."""
    limited_caller = await api.person("someone", Role.NONE, ("users.quotas:list", "global.users:1"), grants_in=0)
    caller_id = await api.sql("""select id from "user" where login = 'someone'""")
    assert (await api("GET", USER_1_QUOTAS, auth=limited_caller))[0] == 200
    assert (await api("GET", f"/api/admin/users/{caller_id}/quotas", auth=limited_caller))[0] == 403


async def test_a_token_has_no_user_quotas(api: Api) -> None:
    """A request with a token for the quotas of the signed-in user is 403 with the reason. It may read those of its organization."""
    _, text = await api.token(await api.account("robot", Role.ADMIN), "t")
    status, body = await api("GET", OWN_QUOTAS, auth=f"Bearer {text}")
    expected = "/api/user/quotas is about a signed-in user; a token or key has no user quotas"
    assert (status, body) == (403, {"message": expected})
    assert (await api("GET", CURRENT_ORG_QUOTAS, auth=f"Bearer {text}"))[0] == 200


async def test_a_limit_that_was_set_is_audited(api: Api) -> None:
    """The audit event of a limit has the owner, the target and the stored limit. A request with an invalid body has no event."""
    await api("PUT", f"{ORG_1_QUOTAS}/api_key", {"limit": -5})
    await api("PUT", f"{ORG_1_QUOTAS}/api_key", {"limit": "x"})
    await api("PUT", f"{USER_1_QUOTAS}/org_user", {"limit": 3})
    # The newest event is the first.
    events = (await api("GET", "/api/audit?action=quota.update"))[1]["events"]
    assert [(event["object"], event["details"]) for event in events] == [
        ("user:1", {"target": "org_user", "limit": 3}),
        ("org:1", {"target": "api_key", "limit": -1}),
    ]


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/api/auth/keys", "Failed to list api keys"),
        ("DELETE", "/api/auth/keys/1", "Failed to delete API key"),
        ("GET", CURRENT_ORG_QUOTAS, "failed to get quota"),
        ("GET", ORG_1_QUOTAS, "failed to get quota"),
        ("GET", OWN_QUOTAS, "Failed to get org quotas"),
        ("GET", USER_1_QUOTAS, "Failed to get org quotas"),
        ("PUT", f"{ORG_1_QUOTAS}/org_user", "Failed to update org quotas"),
        ("PUT", f"{USER_1_QUOTAS}/org_user", "Failed to update org quotas"),
    ],
)
async def test_a_failure_has_the_message_of_its_route(api: Api, method: str, path: str, message: str) -> None:
    """An internal failure is 500 with the message that clients expect of the route, and a trace id."""
    assert (await api("GET", "/api/org/quotas"))[0] == 200
    # Without these tables, each route fails.
    for table in ("api_key", "quota"):
        await api.sql(f"alter table {table} rename to {table}_away")
    status, body = await api(method, path, {"limit": 5})
    assert (status, body["message"]) == (500, message)
    assert list(body) == ["message", "traceID"]


async def test_an_internal_error_has_only_a_trace_id(api: Api) -> None:
    """The response to an internal error contains a trace id and no details."""
    assert (await api("GET", "/api/serviceaccounts"))[0] == 200
    # Without this table, the route fails.
    await api.sql("alter table api_key rename to api_key_away")
    status, body = await api("GET", "/api/serviceaccounts")
    assert (status, body["message"], list(body)) == (500, "Internal Server Error", ["message", "traceID"])


async def test_the_description_declares_authentication_and_replacements(api: Api) -> None:
    """Quota routes of server admins declare basic authentication. The routes of legacy keys are deprecated, and name their replacements."""
    status, document = await api("GET", "/openapi.json", auth=None)
    assert status == 200
    paths: dict[str, Any] = document["paths"]
    server_admin_routes = [
        paths["/api/orgs/{org_id}/quotas/{quota_target}"]["put"],
        paths["/api/admin/users/{user_id}/quotas"]["get"],
        paths["/api/admin/users/{user_id}/quotas/{quota_target}"]["put"],
    ]
    assert [operation["security"] for operation in server_admin_routes] == [[{"basicAuth": []}]] * 3
    list_keys, create_key, delete_key = (
        paths["/api/auth/keys"]["get"],
        paths["/api/auth/keys"]["post"],
        paths["/api/auth/keys/{id}"]["delete"],
    )
    assert all(operation["deprecated"] for operation in (list_keys, create_key, delete_key))
    assert "GET /api/serviceaccounts and GET /api/serviceaccounts/{id}/tokens" in list_keys["description"]
    assert "POST /api/serviceaccounts and POST /api/serviceaccounts/{id}/tokens" in create_key["description"]
    assert "410" in create_key["responses"]
