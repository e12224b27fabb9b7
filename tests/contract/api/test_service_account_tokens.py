"""Tokens of service accounts over HTTP. The secret of a token is returned only when the token is created."""

import asyncio
import time
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from dashwright.api.auth import key_material
from dashwright.common.identity import Role

from .conftest import Api, StartApi
from .test_service_accounts import ACCOUNTS, NOT_FOUND, typed_error

# Message, message id and status of errors, as ``typed_error`` returns them.
NAME_IN_USE = ("service account token with given name already exists in the organization", "serviceaccounts.ErrTokenAlreadyExists", 400)
BAD_LIFETIME = ("invalid SecondsToLive value", "serviceaccounts.ErrInvalidInput", 400)
DAY = 86_400
_DAY_LIMIT_MESSAGE = "A token must expire within 3600 days on this server; give secondsToLive from 1 to 311040000"


@pytest.fixture
async def account(api: Api) -> int:
    """Create a service account and return its id."""
    return await api.account("robot", Role.EDITOR)


async def test_a_new_token_is_returned_with_its_secret(api: Api, account: int) -> None:
    """The response to a new token is 200 with three fields; the secret has a checksum, and only its hash is stored."""
    status, created = await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "random-token"})
    assert (status, list(created), created["name"]) == (200, ["id", "name", "key"], "random-token")
    material = key_material.parse(created["key"])
    assert isinstance(material, key_material.TokenMaterial)
    stored_hash = await api.sql("select key from api_key where id = $1", created["id"])
    assert stored_hash == key_material.hash_secret(material.secret, material.checksum)
    assert await api.sql("select created_by from api_key where id = $1", created["id"]) == "user:1"


async def test_a_token_logs_in_as_its_account_until_it_is_deleted(api: Api, account: int) -> None:
    """A token has its account's role, and after its deletion the next request is rejected."""
    token, text = await api.token(account, "t")
    dashboards = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
    assert (await api("GET", dashboards, auth=f"Bearer {text}"))[0] == 200
    assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 403
    assert await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}") == (200, {"message": "Service account token deleted"})
    status, body = await api("GET", ACCOUNTS, auth=f"Bearer {text}")
    assert (status, body["messageId"]) == (401, "api-key.invalid")


async def test_a_token_follows_its_account(api: Api, account: int) -> None:
    """A changed role, disabling or deletion of the account applies to the next request."""
    _, text = await api.token(account, "t")
    bearer = f"Bearer {text}"
    assert (await api("GET", ACCOUNTS, auth=bearer))[0] == 403
    await api("PATCH", f"{ACCOUNTS}/{account}", {"role": "Admin"})
    assert (await api("GET", ACCOUNTS, auth=bearer))[0] == 200
    await api("PATCH", f"{ACCOUNTS}/{account}", {"isDisabled": True})
    assert (await api("GET", ACCOUNTS, auth=bearer))[0] == 401
    await api("PATCH", f"{ACCOUNTS}/{account}", {"isDisabled": False})
    assert (await api("GET", ACCOUNTS, auth=bearer))[0] == 200
    await api("DELETE", f"{ACCOUNTS}/{account}")
    assert (await api("GET", ACCOUNTS, auth=bearer))[0] == 401


async def test_a_token_can_delete_itself(api: Api) -> None:
    """The request that deletes its own token succeeds, and the next one is rejected."""
    account = await api.account("boss", Role.ADMIN)
    token, text = await api.token(account, "t")
    assert (await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}", auth=f"Bearer {text}"))[0] == 200
    assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 401


async def test_other_fields_of_the_body_are_ignored(api: Api, account: int) -> None:
    """Owner, organization and role of a token are not taken from the body."""
    body = {"name": "Test2", "role": "Admin", "secondsToLive": 1, "orgId": 4, "serviceAccountId": 4, "key": "mine", "id": 77}
    status, created = await api("POST", f"{ACCOUNTS}/{account}/tokens", body)
    assert (status, created["name"]) == (200, "Test2")
    text = await api.sql("select row_to_json(k)::text from api_key k where id = $1", created["id"])
    row = orjson.loads(text)
    assert (row["org_id"], row["service_account_id"], row["role"]) == (1, account, "Editor")
    assert abs(row["expires"] - time.time()) < 60


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": " "},
        {"name": 1},
        {"name": "a\0"},
        [],
        "x",
        {"name": "a", "secondsToLive": "1"},
        {"name": "a", "secondsToLive": 1.0},
        {"name": "a", "secondsToLive": True},
        {"name": "a", "secondsToLive": 2**63},
    ],
    ids=str,
)
async def test_an_invalid_token_body_is_rejected(api: Api, account: int, body: Any) -> None:
    """Every invalid body is rejected with the same message."""
    assert await api.message("POST", f"{ACCOUNTS}/{account}/tokens", body) == (400, "Bad request data")


@pytest.mark.parametrize("seconds", [-1, -(2**63), 2**63 - 1, 10**12])
async def test_an_impossible_lifetime_is_refused(api: Api, account: int, seconds: int) -> None:
    """A negative lifetime, and one that ends after the year 9999, are refused."""
    assert typed_error(await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": seconds})) == BAD_LIFETIME


@pytest.mark.parametrize(
    ("setting", "seconds", "message"),
    [
        ("api_key_max_seconds_to_live", 0, "Number of seconds before expiration should be set"),
        ("api_key_max_seconds_to_live", 7200, "Number of seconds before expiration is greater than the global limit"),
        ("token_expiration_day_limit", 0, _DAY_LIMIT_MESSAGE),
        ("token_expiration_day_limit", 3600 * DAY + 1, _DAY_LIMIT_MESSAGE),
    ],
)
async def test_the_maximum_lifetime_is_enforced(start_api: StartApi, setting: str, seconds: int, message: str) -> None:
    """With a maximum lifetime, of 3600 seconds or 3600 days, a token must expire within this time."""
    api = await start_api(**{setting: 3600})
    account = await api.account("robot")
    assert await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": seconds}) == (400, {"message": message})
    assert (await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": 3600}))[0] == 200


async def test_names_are_unique_in_an_organization(api: Api, account: int) -> None:
    """Names are unique among the tokens and legacy keys of an organization. A second organization may use a name again."""
    await api.token(account, "Hotzenplotz")
    await api.legacy_key("legacy")
    other_account = await api.account("other")
    for owner, name in ((account, "Hotzenplotz"), (other_account, "Hotzenplotz"), (other_account, "legacy")):
        assert typed_error(await api("POST", f"{ACCOUNTS}/{owner}/tokens", {"name": name})) == NAME_IN_USE
    await api.token(other_account, "hotzenplotz")
    admin = await api.person("two", Role.ADMIN, org_id=await api.organization("Two"))
    foreign = await api.account("robot", auth=admin)
    assert (await api("POST", f"{ACCOUNTS}/{foreign}/tokens", {"name": "Hotzenplotz"}, auth=admin))[0] == 200


async def test_one_of_concurrent_creates_succeeds(api: Api, account: int) -> None:
    """One of many concurrent creates of a token is 200, and all others are 400."""
    responses = await asyncio.gather(*(api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "same"}) for _ in range(12)))
    assert sorted(status for status, _ in responses) == [200] + [400] * 11
    assert {typed_error(response) for response in responses if response[0] == 400} == {NAME_IN_USE}


async def test_the_quota_limits_tokens(start_api: StartApi) -> None:
    """Concurrent creates stop at the quota; the error has the limit and the number of tokens and legacy keys."""
    api = await start_api(quota_defaults="org_api_key=10")
    account = await api.account("robot")
    await api.legacy_key("one of them")
    created = await asyncio.gather(*(api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": f"t{index}"}) for index in range(30)))
    assert sorted(status for status, _ in created) == [200] * 9 + [403] * 21
    # Nine tokens and the legacy key reach the limit of ten.
    assert await api.sql("select count(*) from api_key") == 10
    body = next(body for status, body in created if status == 403)
    assert body["extra"] == {"scope": "org", "target": "api_key", "limit": 10, "used": 10}
    assert (body["message"], body["messageId"]) == ("api_key Quota reached", "quota.reached")


async def test_missing_values_of_a_token_are_null(api: Api, account: int) -> None:
    """Missing values of a token are null, whereas those of a legacy key are absent."""
    token, _ = await api.token(account, "grafana")
    status, body = await api("GET", f"{ACCOUNTS}/{account}/tokens")
    created = body[0].pop("created")
    assert created.endswith("Z")
    expected = {
        "id": token,
        "name": "grafana",
        "lastUsedAt": None,
        "expiration": None,
        "secondsUntilExpiration": 0,
        "hasExpired": False,
        "isRevoked": False,
    }
    assert (status, body) == (200, [expected])


async def test_remaining_seconds_are_set_in_the_last_week(api: Api, account: int) -> None:
    """A token has its remaining seconds only in its last week, and 0 before and afterwards. Expired and revoked tokens have flags."""
    lifetimes = {"soon": 6 * DAY, "late": 8 * DAY, "ended": 1}
    token_ids = {name: (await api.token(account, name, secondsToLive=seconds))[0] for name, seconds in lifetimes.items()}
    await api.sql("update api_key set expires = 1, is_revoked = true where id = $1", token_ids["ended"])
    tokens_by_name = {token["name"]: token for token in (await api("GET", f"{ACCOUNTS}/{account}/tokens"))[1]}
    assert list(tokens_by_name) == ["ended", "late", "soon"]
    assert 6 * DAY - 60 < tokens_by_name["soon"]["secondsUntilExpiration"] <= 6 * DAY
    assert tokens_by_name["late"]["secondsUntilExpiration"] == 0
    assert tokens_by_name["ended"]["secondsUntilExpiration"] == 0
    assert [name for name, token in tokens_by_name.items() if token["hasExpired"]] == ["ended"]
    assert [name for name, token in tokens_by_name.items() if token["isRevoked"]] == ["ended"]
    assert tokens_by_name["ended"]["expiration"] == "1970-01-01T00:00:01Z"


async def test_an_unknown_account_has_no_tokens(api: Api) -> None:
    """The list of an unknown account is empty, as clients expect; creating and deleting are 404. An id that is not an integer is 400."""
    admin = await api.person("two", Role.ADMIN, org_id=await api.organization("Two"))
    foreign = await api.account("foreign", auth=admin)
    assert (await api("POST", f"{ACCOUNTS}/{foreign}/tokens", {"name": "t"}, auth=admin))[0] == 200
    # An unknown account, a user, and an account of another organization.
    for account_id in (9999, 1, foreign):
        path = f"{ACCOUNTS}/{account_id}/tokens"
        assert await api("GET", path) == (200, [])
        assert typed_error(await api("POST", path, {"name": "t"})) == NOT_FOUND
        assert typed_error(await api("DELETE", f"{path}/1")) == NOT_FOUND
    for method, path in (("GET", "tokens"), ("POST", "tokens"), ("DELETE", "tokens/1")):
        assert await api(method, f"{ACCOUNTS}/not-a-number/{path}", {"name": "t"}) == (
            400,
            {"message": "Service Account ID is invalid"},
        )


async def test_only_tokens_of_the_account_are_deleted(api: Api, account: int) -> None:
    """Tokens of other accounts and legacy keys are not found, and the id must be an integer."""
    other_token, _ = await api.token(await api.account("other"), "theirs")
    legacy = await api.legacy_key("legacy")
    for token_id in (9999, other_token, legacy):
        response = await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token_id}")
        assert typed_error(response) == ("service account token not found", "serviceaccounts.ErrTokenNotFound", 404)
    assert await api("DELETE", f"{ACCOUNTS}/{account}/tokens/abc") == (400, {"message": "Token ID is invalid"})
    assert await api.sql("select count(*) from api_key") == 2


async def test_tokens_are_found_by_the_uid_of_their_account(api: Api, account: int) -> None:
    """Every route for tokens accepts the account's uid."""
    uid = (await api("GET", f"{ACCOUNTS}/{account}"))[1]["uid"]
    status, created = await api("POST", f"{ACCOUNTS}/{uid}/tokens", {"name": "t"})
    assert status == 200
    assert (await api("GET", f"{ACCOUNTS}/{uid}/tokens"))[1][0]["id"] == created["id"]
    assert (await api("DELETE", f"{ACCOUNTS}/{uid}/tokens/{created['id']}"))[0] == 200


async def test_a_grant_is_limited_to_its_account(api: Api, account: int) -> None:
    """A caller with a grant on one account receives 403 for other accounts, whether they exist or not."""
    granted_account = await api.account("other", Role.NONE)
    limited_caller = await api.person("someone", Role.NONE, ("serviceaccounts:write", f"serviceaccounts:id:{granted_account}"))
    for account_id in (account, 9999):
        status, body = await api("POST", f"{ACCOUNTS}/{account_id}/tokens", {"name": "Test4", "role": "Viewer"}, auth=limited_caller)
        assert (status, body["title"]) == (403, "Access denied")
    assert (await api("POST", f"{ACCOUNTS}/{granted_account}/tokens", {"name": "Test4"}, auth=limited_caller))[0] == 200
    assert (await api("GET", f"{ACCOUNTS}/{granted_account}/tokens", auth=limited_caller))[0] == 403


async def test_the_secret_of_a_token_is_returned_once(api: Api, account: int) -> None:
    """No other response, log line, row or audit event contains the token or its secret."""
    with capture_logs() as logs:
        token, text = await api.token(account, "t")
        assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 403
        responses = [
            await api("GET", path)
            for path in (
                f"{ACCOUNTS}/{account}/tokens",
                f"{ACCOUNTS}/{account}",
                ACCOUNTS,
                "/api/auth/keys?includeExpired=true",
                "/api/audit?limit=1000",
            )
        ]
        repeated = await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t"})
        delete_response = await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}")
    rows = await api.sql("select coalesce(jsonb_agg(e), '[]')::text from audit_event e")
    keys = await api.sql("select coalesce(jsonb_agg(k), '[]')::text from api_key k")
    # A token has a prefix, a secret and a checksum.
    secret = text.split("_")[1]
    all_outputs = repr([logs, responses, repeated, delete_response, rows, keys])
    assert "token.create" in all_outputs
    assert secret not in all_outputs
    # Only the row of the token may have the hash of the secret.
    assert key_material.hash_secret(secret, text.split("_")[2]) not in repr([logs, responses, repeated, delete_response, rows])
