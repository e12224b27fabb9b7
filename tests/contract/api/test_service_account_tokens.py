"""Tokens of service accounts: created, listed, deleted, and shown once."""

import asyncio
import time
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from dashwright.api.auth import key_material
from dashwright.common.identity import Role

from .conftest import Api, StartApi
from .test_service_accounts import ACCOUNTS, NOT_FOUND, typed

TAKEN = ("service account token with given name already exists in the organization", "serviceaccounts.ErrTokenAlreadyExists", 400)
BAD_LIFE = ("invalid SecondsToLive value", "serviceaccounts.ErrInvalidInput", 400)
DAY = 86_400


@pytest.fixture
async def account(api: Api) -> int:
    return await api.account("robot", Role.EDITOR)


async def test_a_token_is_answered_with_its_text(api: Api, account: int) -> None:
    """200 and three members; the text is a token that proves itself, and its hash is what is kept."""
    status, made = await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "random-token"})
    assert (status, list(made), made["name"]) == (200, ["id", "name", "key"], "random-token")
    material = key_material.read(made["key"])
    assert isinstance(material, key_material.TokenMaterial)
    kept = await api.sql("select key from api_key where id = $1", made["id"])
    assert kept == key_material.stored(material.secret, material.checksum)
    assert await api.sql("select created_by from api_key where id = $1", made["id"]) == "user:1"


async def test_a_token_logs_in_as_its_account_until_it_is_deleted(api: Api, account: int) -> None:
    """With the account's role; the deletion holds for the very next request."""
    token, text = await api.token(account, "t")
    dashboards = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
    assert (await api("GET", dashboards, auth=f"Bearer {text}"))[0] == 200
    assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 403
    assert await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}") == (200, {"message": "Service account token deleted"})
    status, body = await api("GET", ACCOUNTS, auth=f"Bearer {text}")
    assert (status, body["messageId"]) == (401, "api-key.invalid")


async def test_a_token_follows_what_becomes_of_its_account(api: Api, account: int) -> None:
    """Role, disabling and deletion count from the next request on."""
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


async def test_who_deletes_their_own_token_is_answered(api: Api) -> None:
    """That request ends well, and is their last."""
    account = await api.account("boss", Role.ADMIN)
    token, text = await api.token(account, "t")
    assert (await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}", auth=f"Bearer {text}"))[0] == 200
    assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 401


async def test_what_else_a_body_says_has_no_effect(api: Api, account: int) -> None:
    """Owner, organization and role of a token do not come from the body."""
    body = {"name": "Test2", "role": "Admin", "secondsToLive": 1, "orgId": 4, "serviceAccountId": 4, "key": "mine", "id": 77}
    status, made = await api("POST", f"{ACCOUNTS}/{account}/tokens", body)
    assert (status, made["name"]) == (200, "Test2")
    row = await api.sql("select row_to_json(k)::text from api_key k where id = $1", made["id"])
    kept = orjson.loads(row)
    assert (kept["org_id"], kept["service_account_id"], kept["role"]) == (1, account, "Editor")
    assert abs(kept["expires"] - time.time()) < 60


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"name": ""}, {"name": " "}, {"name": 1}, {"name": "a\0"}, [], "x"),
        *({"name": "a", "secondsToLive": seconds} for seconds in ("1", 1.0, True, 2**63)),
    ],
    ids=str,
)
async def test_a_token_that_cannot_be_read_is_refused(api: Api, account: int, body: Any) -> None:
    """In one text, whatever is wrong."""
    assert await api("POST", f"{ACCOUNTS}/{account}/tokens", body) == (400, {"message": "Bad request data"})


@pytest.mark.parametrize("seconds", [-1, -(2**63), 2**63 - 1, 10**12])
async def test_a_life_that_no_calendar_knows_is_refused(api: Api, account: int, seconds: int) -> None:
    """Less than nothing, and past the year 9999."""
    assert typed(await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": seconds})) == BAD_LIFE


@pytest.mark.parametrize(
    ("setting", "seconds", "message"),
    [
        ("api_key_max_seconds_to_live", 0, "Number of seconds before expiration should be set"),
        ("api_key_max_seconds_to_live", 7200, "Number of seconds before expiration is greater than the global limit"),
        ("token_expiration_day_limit", 0, "A token ends within 3600 days here; give secondsToLive from 1 to 311040000"),
        ("token_expiration_day_limit", 3600 * DAY + 1, "A token ends within 3600 days here; give secondsToLive from 1 to 311040000"),
    ],
)
async def test_a_limit_of_life_is_kept(start_api: StartApi, setting: str, seconds: int, message: str) -> None:
    """With a limit a token has to end, and within it."""
    api = await start_api(**{setting: 3600})
    account = await api.account("robot")
    assert await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": seconds}) == (400, {"message": message})
    assert (await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t", "secondsToLive": 3600}))[0] == 200


async def test_a_name_is_given_once_among_all_keys_of_an_organization(api: Api, account: int) -> None:
    """Whichever account has it, and legacy keys count; another organization may have it too."""
    await api.token(account, "Hotzenplotz")
    await api.legacy_key("legacy")
    other = await api.account("other")
    for owner, name in ((account, "Hotzenplotz"), (other, "Hotzenplotz"), (other, "legacy")):
        assert typed(await api("POST", f"{ACCOUNTS}/{owner}/tokens", {"name": name})) == TAKEN
    await api.token(other, "hotzenplotz")
    admin = await api.person("two", Role.ADMIN, org_id=await api.organization("Two"))
    foreign = await api.account("robot", auth=admin)
    assert (await api("POST", f"{ACCOUNTS}/{foreign}/tokens", {"name": "Hotzenplotz"}, auth=admin))[0] == 200


async def test_of_many_who_make_one_token_at_once_one_succeeds(api: Api, account: int) -> None:
    """200 once, and 400 for all others."""
    answers = await asyncio.gather(*(api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "same"}) for _ in range(12)))
    assert sorted(status for status, _ in answers) == [200] + [400] * 11
    assert {typed(answer) for answer in answers if answer[0] == 400} == {TAKEN}


async def test_no_more_tokens_are_created_than_the_quota_allows(start_api: StartApi) -> None:
    """Also by concurrent requests; the refusal names the limit and the number of tokens."""
    api = await start_api(quota_defaults="org_api_key=10")
    account = await api.account("robot")
    await api.legacy_key("one of them")
    made = await asyncio.gather(*(api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": f"t{number}"}) for number in range(30)))
    assert sorted(status for status, _ in made) == [200] * 9 + [403] * 21
    assert await api.sql("select count(*) from api_key") == 10
    body = next(body for status, body in made if status == 403)
    assert body["extra"] == {"scope": "org", "target": "api_key", "limit": 10, "used": 10}
    assert (body["message"], body["messageId"]) == ("api_key Quota reached", "quota.reached")


async def test_a_token_shows_null_for_what_it_lacks(api: Api, account: int) -> None:
    """Unlike a legacy key, where that is absent."""
    token, _ = await api.token(account, "grafana")
    status, found = await api("GET", f"{ACCOUNTS}/{account}/tokens")
    created = found[0].pop("created")
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
    assert (status, found) == (200, [expected])


async def test_the_seconds_of_a_token_are_told_in_its_last_week(api: Api, account: int) -> None:
    """Before and after they are 0; what has ended says so."""
    lives = {"soon": 6 * DAY, "late": 8 * DAY, "ended": 1}
    numbers = {name: (await api.token(account, name, secondsToLive=seconds))[0] for name, seconds in lives.items()}
    await api.sql("update api_key set expires = 1, is_revoked = true where id = $1", numbers["ended"])
    found = {token["name"]: token for token in (await api("GET", f"{ACCOUNTS}/{account}/tokens"))[1]}
    assert list(found) == ["ended", "late", "soon"]
    assert 6 * DAY - 60 < found["soon"]["secondsUntilExpiration"] <= 6 * DAY
    assert found["late"]["secondsUntilExpiration"] == found["ended"]["secondsUntilExpiration"] == 0
    assert [(token["hasExpired"], token["isRevoked"]) for token in found.values()] == [(True, True), (False, False), (False, False)]
    assert found["ended"]["expiration"] == "1970-01-01T00:00:01Z"


async def test_an_unknown_account_has_no_tokens_to_list_and_gets_none(api: Api) -> None:
    """Listing is an empty list, as clients know it; making and deleting are 404."""
    admin = await api.person("two", Role.ADMIN, org_id=await api.organization("Two"))
    foreign = await api.account("foreign", auth=admin)
    assert (await api("POST", f"{ACCOUNTS}/{foreign}/tokens", {"name": "t"}, auth=admin))[0] == 200
    for number in (9999, 1, foreign):
        path = f"{ACCOUNTS}/{number}/tokens"
        assert await api("GET", path) == (200, [])
        assert typed(await api("POST", path, {"name": "t"})) == NOT_FOUND
        assert typed(await api("DELETE", f"{path}/1")) == NOT_FOUND
    for method, path in (("GET", "tokens"), ("POST", "tokens"), ("DELETE", "tokens/1")):
        assert await api(method, f"{ACCOUNTS}/nobody/{path}", {"name": "t"}) == (400, {"message": "Service Account ID is invalid"})


async def test_only_an_accounts_own_token_is_deleted(api: Api, account: int) -> None:
    """Not another account's, not a legacy key; and an id is an integer."""
    theirs, _ = await api.token(await api.account("other"), "theirs")
    legacy = await api.legacy_key("legacy")
    for number in (9999, theirs, legacy):
        answer = await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{number}")
        assert typed(answer) == ("service account token not found", "serviceaccounts.ErrTokenNotFound", 404)
    assert await api("DELETE", f"{ACCOUNTS}/{account}/tokens/abc") == (400, {"message": "Token ID is invalid"})
    assert await api.sql("select count(*) from api_key") == 2


async def test_tokens_go_by_the_uid_of_their_account_too(api: Api, account: int) -> None:
    """As everything else of it."""
    uid = (await api("GET", f"{ACCOUNTS}/{account}"))[1]["uid"]
    status, made = await api("POST", f"{ACCOUNTS}/{uid}/tokens", {"name": "t"})
    assert status == 200
    assert (await api("GET", f"{ACCOUNTS}/{uid}/tokens"))[1][0]["id"] == made["id"]
    assert (await api("DELETE", f"{ACCOUNTS}/{uid}/tokens/{made['id']}"))[0] == 200


async def test_a_grant_on_another_account_is_none_on_this(api: Api, account: int) -> None:
    """403 by the title shape, for an account that is not there as well."""
    other = await api.account("other", Role.NONE)
    someone = await api.person("someone", Role.NONE, ("serviceaccounts:write", f"serviceaccounts:id:{other}"))
    for number in (account, 9999):
        status, body = await api("POST", f"{ACCOUNTS}/{number}/tokens", {"name": "Test4", "role": "Viewer"}, auth=someone)
        assert (status, body["title"]) == (403, "Access denied")
    assert (await api("POST", f"{ACCOUNTS}/{other}/tokens", {"name": "Test4"}, auth=someone))[0] == 200
    assert (await api("GET", f"{ACCOUNTS}/{other}/tokens", auth=someone))[0] == 403


async def test_the_text_of_a_token_is_told_once(api: Api, account: int) -> None:
    """No other answer, no line of the log, no row and no event of the audit holds it or its secret."""
    with capture_logs() as logs:
        token, text = await api.token(account, "t")
        assert (await api("GET", ACCOUNTS, auth=f"Bearer {text}"))[0] == 403
        answers = [
            await api("GET", path)
            for path in (
                f"{ACCOUNTS}/{account}/tokens",
                f"{ACCOUNTS}/{account}",
                ACCOUNTS,
                "/api/auth/keys?includeExpired=true",
                "/api/audit?limit=1000",
            )
        ]
        again = await api("POST", f"{ACCOUNTS}/{account}/tokens", {"name": "t"})
        gone = await api("DELETE", f"{ACCOUNTS}/{account}/tokens/{token}")
    rows = await api.sql("select coalesce(jsonb_agg(e), '[]')::text from audit_event e")
    keys = await api.sql("select coalesce(jsonb_agg(k), '[]')::text from api_key k")
    secret = text.split("_")[1]
    everything = repr([logs, answers, again, gone, rows, keys])
    assert "token.create" in everything
    assert secret not in everything
    assert key_material.stored(secret, text.split("_")[2]) not in repr([logs, answers, again, gone, rows])
