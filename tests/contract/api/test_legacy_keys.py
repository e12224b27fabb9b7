"""Legacy API keys over HTTP, for clients that still list and delete them."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from dashwright.common.identity import Role

from .conftest import ADMIN, Api, StartApi, basic, legacy_text

LIST = "/api/auth/keys"
REMOVED_MESSAGE = "this endpoint has been removed, please use POST /api/serviceaccounts and POST /api/serviceaccounts/{id}/tokens instead"
TOMORROW = int(time.time()) + 86_400
YESTERDAY = int(time.time()) - 86_400


def refusal_of(action: str) -> str:
    """Return the message of a refusal for lack of an action."""
    return f"You'll need additional permissions to perform this action. Permissions needed: {action}"


async def test_no_keys_are_an_empty_list(api: Api) -> None:
    """Without keys the list is empty and never null."""
    assert await api("GET", LIST) == (200, [])


async def test_a_key_has_the_fields_of_grafana(api: Api) -> None:
    """A key has its fields in Grafana's order. A field without a value is absent, and times are RFC 3339 in UTC with whole seconds."""
    expiring_key = await api.legacy_key("TestAdmin", role=Role.ADMIN, expires=TOMORROW)
    unlimited_key = await api.legacy_key("API", role=Role.ADMIN)
    last_used_at = datetime(2026, 1, 31, 12, 30, 15, 999_000, UTC)
    await api.sql("update api_key set last_used_at = $2 where id = $1", expiring_key, last_used_at)
    status, body = await api("GET", LIST)
    expiration = datetime.fromtimestamp(TOMORROW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert status == 200
    assert body == [
        {"id": unlimited_key, "name": "API", "role": "Admin"},
        {"id": expiring_key, "name": "TestAdmin", "role": "Admin", "expiration": expiration, "lastUsedAt": "2026-01-31T12:30:15Z"},
    ]
    assert list(body[1]) == ["id", "name", "role", "expiration", "lastUsedAt"]


@pytest.mark.parametrize(("expires", "expiration"), [(2**62, "9999-12-31T23:59:59Z"), (-(2**62), "0001-01-01T00:00:00Z")])
async def test_a_key_that_ends_beyond_the_calendar_can_still_be_listed(api: Api, expires: int, expiration: str) -> None:
    """Imported rows may hold any number of seconds. An expiry beyond the calendar is returned as the nearest possible one."""
    await api.legacy_key("k", expires=expires)
    status, body = await api("GET", f"{LIST}?includeExpired=true")
    assert (status, body[0]["expiration"]) == (200, expiration)


async def test_all_keys_are_listed_by_name(api: Api) -> None:
    """The list has all keys, case-sensitively sorted by name, because it has no pages."""
    # The names are not in the order of the list: "Key 10" is before "Key 2", and both are before "key 0".
    names = [f"{prefix} {number}" for number in range(125) for prefix in ("key", "Key")]
    for name in names:
        await api.sql("insert into api_key (org_id, name, key, role) values (1, $1, $1, 'Viewer')", name)
    status, body = await api("GET", LIST)
    assert (status, [key["name"] for key in body]) == (200, sorted(names))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["never", "valid"]),
        ("?includeExpired=true", ["ended", "never", "valid"]),
        ("?includeExpired=1", ["ended", "never", "valid"]),
        ("?includeExpired=false", ["never", "valid"]),
        # Neither ``yes`` nor the empty string is a boolean.
        ("?includeExpired=yes", ["never", "valid"]),
        ("?includeExpired=", ["never", "valid"]),
    ],
)
async def test_expired_keys_are_listed_on_request(api: Api, query: str, names: list[str]) -> None:
    """Expired keys are listed only if ``includeExpired`` is true. A value that is not a boolean counts as false."""
    await api.legacy_key("never")
    await api.legacy_key("valid", expires=TOMORROW)
    await api.legacy_key("ended", expires=YESTERDAY)
    status, body = await api("GET", LIST + query)
    assert (status, [key["name"] for key in body]) == (200, names)


async def test_only_the_organizations_own_legacy_keys_are_listed(api: Api) -> None:
    """Tokens of service accounts are in the same table but are not listed, nor are keys of other organizations."""
    await api.token(await api.account("robot"), "its token")
    await api.legacy_key("foreign", org_id=await api.organization("Other"))
    assert await api("GET", f"{LIST}?includeExpired=true") == (200, [])


async def test_permissions_on_a_key_are_listed_on_request(api: Api) -> None:
    """With ``accesscontrol=true`` a key has the caller's permissions, and otherwise no such field."""
    key = await api.legacy_key("k")
    all_actions = {"apikeys:read": True, "apikeys:delete": True}
    assert (await api("GET", f"{LIST}?accesscontrol=true"))[1] == [{"id": key, "name": "k", "role": "Viewer", "accessControl": all_actions}]
    assert "accessControl" not in (await api("GET", LIST))[1][0]
    reader = await api.person("reader", Role.NONE, ("apikeys:read", "apikeys:*"))
    assert (await api("GET", f"{LIST}?accesscontrol=true", auth=reader))[1][0]["accessControl"] == {"apikeys:read": True}


async def test_a_grant_on_some_keys_restricts_the_list(api: Api) -> None:
    """The list has only the keys that the caller may read."""
    keys = [await api.legacy_key(f"k{index}") for index in range(3)]
    reader = await api.person("reader", Role.NONE, *(("apikeys:read", f"apikeys:id:{key}") for key in keys[1:]))
    assert [key["id"] for key in (await api("GET", LIST, auth=reader))[1]] == keys[1:]


async def test_unauthenticated_clients_and_viewers_get_no_keys(api: Api) -> None:
    """A request without credentials is 401. One without the permission is 403 and names the missing action."""
    assert await api("GET", LIST, auth=None) == (401, {"message": "Unauthorized"})
    assert (await api("DELETE", f"{LIST}/1", auth=None))[0] == 401
    viewer = await api.person("vic", Role.VIEWER)
    for method, path, action in (("GET", LIST, "apikeys:read"), ("DELETE", f"{LIST}/1", "apikeys:delete")):
        status, body = await api(method, path, auth=viewer)
        assert (status, body["title"], body["message"]) == (403, "Access denied", refusal_of(action))
        assert body["accessErrorId"].startswith("ACE")


async def test_a_deleted_key_is_not_listed(api: Api) -> None:
    """A deleted key is not listed, deleting it again is 404, and the delete is audited."""
    key = await api.legacy_key("k")
    assert await api("DELETE", f"{LIST}/{key}") == (200, {"message": "API key deleted"})
    assert await api("GET", LIST) == (200, [])
    assert await api("DELETE", f"{LIST}/{key}") == (404, {"message": "Failed to delete API key"})
    status, audit = await api("GET", "/api/audit?action=api-key.delete")
    assert (status, [(event["object"], event["actor"]) for event in audit["events"]]) == (200, [(f"api-key:{key}", "user:1")])


@pytest.mark.parametrize(
    "text",
    ["abc", "1.0", "1_0", "٣", "9223372036854775808", "0x1"],
    ids=["letters", "decimal point", "underscore", "Arabic digit", "65 bits", "hexadecimal"],
)
async def test_an_id_that_is_not_an_integer_is_refused(api: Api, text: str) -> None:
    """An id that is not a 64-bit integer in decimal ASCII digits is refused."""
    assert await api("DELETE", f"{LIST}/{text}") == (400, {"message": "id is invalid"})


async def test_only_legacy_keys_of_the_organization_are_deleted(api: Api) -> None:
    """Unknown ids, service account tokens and keys of other organizations are not deleted."""
    token, _ = await api.token(await api.account("robot"), "its token")
    foreign = await api.legacy_key("foreign", org_id=await api.organization("Other"))
    for key_id in (9999, 0, -1, token, foreign):
        assert await api("DELETE", f"{LIST}/{key_id}") == (404, {"message": "Failed to delete API key"})
    assert await api.sql("select count(*) from api_key") == 2


async def test_a_deleted_key_does_not_log_in_any_more(api: Api) -> None:
    """The next request with a deleted key is rejected, although its identity was cached."""
    key = await api.legacy_key("k", role=Role.ADMIN)
    bearer = f"Bearer {legacy_text('k')}"
    assert (await api("GET", LIST, auth=bearer))[0] == 200
    assert (await api("DELETE", f"{LIST}/{key}"))[0] == 200
    status, body = await api("GET", LIST, auth=bearer)
    assert (status, body["messageId"]) == (401, "api-key.invalid")


@pytest.mark.parametrize(
    "auth",
    [None, ADMIN, basic("admin", "wrong"), basic("unknown", "x"), "Bearer ***", "Bearer glsa_x_y", "Nonsense", "Basic %%%"],
    ids=["no credentials", "password", "wrong password", "unknown user", "no token", "wrong token", "no scheme", "not base64"],
)
async def test_keys_cannot_be_created(api: Api, auth: str | None) -> None:
    """Creating a key is 410 with the replacement for every caller, and one warning in the log."""
    with capture_logs() as logs:
        assert await api("POST", LIST, {"name": "x", "role": "Viewer"}, auth=auth) == (410, {"message": REMOVED_MESSAGE})
        assert await api("POST", LIST, auth=auth) == (410, {"message": REMOVED_MESSAGE})
    warnings = [line for line in logs if line["log_level"] == "warning"]
    assert [line["event"] for line in warnings] == ["removed_endpoint_called"] * 2


async def test_a_throttled_caller_receives_410(start_api: StartApi) -> None:
    """A caller above the limit of login attempts also receives 410 for the creation of a key."""
    api = await start_api(login_attempts=1)
    # Two attempts more than the limit.
    for _ in range(3):
        assert (await api("GET", LIST, auth=basic("admin", "wrong")))[0] == 401
    assert await api("POST", LIST, auth=basic("admin", "wrong")) == (410, {"message": REMOVED_MESSAGE})


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Length": str(20 * 1024 * 1024)},
        {"Content-Length": str(20 * 1024 * 1024), "Expect": "100-continue"},
        *({"Content-Length": "10", "Content-Encoding": coding} for coding in ("snappy", "zstd", "br", "gzip, zstd", "gzip")),
        {"Transfer-Encoding": "chunked"},
    ],
    ids=["20 MiB", "20 MiB after 100 Continue", "snappy", "zstd", "br", "two codings", "gzip", "chunked"],
)
async def test_the_body_of_a_key_is_never_read(api: Api, headers: dict[str, Any]) -> None:
    """The response to the creation of a key is sent before the client has sent any byte of the body."""
    reader, writer = await asyncio.open_connection(api.address.host, api.address.port)
    request_head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items())
    writer.write(f"POST {LIST} HTTP/1.1\r\n{request_head}\r\n".encode())
    try:
        async with asyncio.timeout(10):
            assert (await reader.readline()).startswith(b"HTTP/1.1 410 ")
    finally:
        writer.close()


@pytest.mark.parametrize("coding", ["identity", "zstd", "gzip"])
async def test_a_large_body_of_a_key_is_skipped(api: Api, coding: str) -> None:
    """A client that sends 20 MiB before it reads receives the response, and can use the connection for another request."""
    reader, writer = await asyncio.open_connection(api.address.host, api.address.port)
    try:
        async with asyncio.timeout(30):
            for size in (20 * 1024 * 1024, 0):
                request_head = f"POST {LIST} HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: {coding}\r\nContent-Length: {size}\r\n\r\n"
                writer.write(request_head.encode() + b"x" * size)
                await writer.drain()
                response = await reader.readuntil(b"\r\n\r\n")
                assert response.startswith(b"HTTP/1.1 410 ")
                length = int(response.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                assert await reader.readexactly(length) == orjson.dumps({"message": REMOVED_MESSAGE})
    finally:
        writer.close()
