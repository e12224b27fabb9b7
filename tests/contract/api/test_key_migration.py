"""Migration of legacy keys to service account tokens, without a change for their owners."""

import time

import pytest

from dashwright.common.identity import Role

from .conftest import Api, legacy_text

MIGRATE = "/api/serviceaccounts/migrate"
NO_FAILURES = {"failed": 0, "failedApikeyIDs": [], "failedDetails": []}


async def test_every_key_becomes_a_service_account(api: Api) -> None:
    """Each account has the role of its key, and a name that contains the key's name. After the migration, no legacy key is listed."""
    await api.legacy_key("CI Key", role=Role.EDITOR)
    await api.legacy_key("old", role=Role.ADMIN, expires=int(time.time()) - 5)
    foreign = await api.legacy_key("foreign", org_id=await api.organization("Two"))
    assert await api("POST", MIGRATE) == (200, {"total": 2, "migrated": 2, **NO_FAILURES})
    assert await api("GET", "/api/auth/keys?includeExpired=true") == (200, [])
    accounts = (await api("GET", "/api/serviceaccounts"))[1]["serviceAccounts"]
    assert [(account["login"], account["name"], account["role"], account["tokens"]) for account in accounts] == [
        ("sa-autogen-1-CI Key", "sa-autogen-CI Key", "Editor", 1),
        ("sa-autogen-1-old", "sa-autogen-old", "Admin", 1),
    ]
    assert await api.sql("select service_account_id from api_key where id = $1", foreign) is None
    assert await api("POST", MIGRATE) == (200, {"total": 0, "migrated": 0, **NO_FAILURES})


async def test_duplicate_logins_get_a_number(api: Api) -> None:
    """If the login of a new account is in use, regardless of case, the login gets the next free number."""
    # The login without a number and the login with the number 2 are in use.
    for login in ("sa-autogen-1-ci", "SA-AUTOGEN-1-ci-2"):
        await api.person(login, Role.VIEWER)
    for name in ("ci", "CI", "Ci"):
        await api.legacy_key(name)
    assert await api("POST", MIGRATE) == (200, {"total": 3, "migrated": 3, **NO_FAILURES})
    accounts = (await api("GET", "/api/serviceaccounts"))[1]["serviceAccounts"]
    assert sorted(account["name"] for account in accounts) == ["sa-autogen-CI", "sa-autogen-Ci", "sa-autogen-ci"]
    assert sorted(account["login"].lower() for account in accounts) == [f"sa-autogen-1-ci-{number}" for number in (3, 4, 5)]
    assert all(account["tokens"] == 1 for account in accounts)


async def test_a_migrated_key_still_logs_in(api: Api) -> None:
    """A migrated key has the same secret and role. An expired key is still expired."""
    await api.legacy_key("boss", role=Role.ADMIN)
    await api.legacy_key("old", role=Role.ADMIN, expires=int(time.time()) - 5)
    admin_key, expired_key = f"Bearer {legacy_text('boss')}", f"Bearer {legacy_text('old')}"
    assert (await api("GET", "/api/serviceaccounts", auth=admin_key))[0] == 200
    assert (await api("POST", MIGRATE))[0] == 200
    status, response = await api("GET", "/api/serviceaccounts", auth=admin_key)
    assert (status, response["totalCount"]) == (200, 2)
    status, body = await api("GET", "/api/serviceaccounts", auth=expired_key)
    assert (status, body["messageId"]) == (401, "api-key.expired")
    account = next(item["id"] for item in response["serviceAccounts"] if item["name"] == "sa-autogen-boss")
    assert (await api("PATCH", f"/api/serviceaccounts/{account}", {"role": "Viewer"}))[0] == 200
    assert (await api("GET", "/api/serviceaccounts", auth=admin_key))[0] == 403


async def test_one_key_is_migrated_alone(api: Api) -> None:
    """A key is migrated by its id, which must be an integer.

    An unknown key, a key of another organization and a migrated key get 404.
    """
    migrated_key, other_key = await api.legacy_key("one"), await api.legacy_key("other")
    foreign = await api.legacy_key("foreign", org_id=await api.organization("Two"))
    assert await api("POST", f"{MIGRATE}/{migrated_key}") == (200, {"message": "Service accounts migrated"})
    assert [key["id"] for key in (await api("GET", "/api/auth/keys"))[1]] == [other_key]
    for key_id in (migrated_key, foreign, 9999):
        assert await api("POST", f"{MIGRATE}/{key_id}") == (404, {"message": "API key not found"})
    assert await api("POST", f"{MIGRATE}/abc") == (400, {"message": "Key ID is invalid"})


@pytest.mark.parametrize("path", [MIGRATE, f"{MIGRATE}/1"])
async def test_migrating_needs_all_accounts(api: Api, path: str) -> None:
    """A migration needs the permissions for all service accounts. A grant on one account does not suffice."""
    limited_caller = await api.person("limited", Role.NONE, ("serviceaccounts:write", "serviceaccounts:id:7"))
    assert (await api("POST", path, auth=limited_caller))[0] == 403
    permitted_caller = await api.person("permitted", Role.NONE, ("serviceaccounts:write", "serviceaccounts:*"))
    # The permitted request for one key gets 404, because no key has the id 1.
    assert (await api("POST", path, auth=permitted_caller))[0] in (200, 404)


async def test_a_migration_is_audited_once(api: Api) -> None:
    """A migration is one audit event that names the keys."""
    keys = [await api.legacy_key(f"k{index}") for index in range(3)]
    await api("POST", MIGRATE)
    events = (await api("GET", "/api/audit?action=service-account.migrate"))[1]["events"]
    assert [event["details"]["keys"] for event in events] == [keys]


@pytest.mark.parametrize("is_single", [True, False], ids=["one key", "all keys"])
async def test_a_key_above_the_caller_cannot_be_migrated(api: Api, is_single: bool) -> None:
    """A key with a higher role than the caller's is not migrated, because the caller could then change its account.

    A migration of all keys then migrates no key.
    """
    await api.legacy_key("low")
    key = await api.legacy_key("boss", role=Role.ADMIN)
    editor = await api.person("ed", Role.EDITOR, ("serviceaccounts:write", "serviceaccounts:*"))
    status, error = await api("POST", f"{MIGRATE}/{key}" if is_single else MIGRATE, auth=editor)
    assert (status, error["messageId"]) == (403, "serviceaccounts.ErrRoleForbidden")
    assert len((await api("GET", "/api/auth/keys"))[1]) == 2
