"""Snapshots of dashboards. Members create and delete them, and clients without credentials read them by their keys."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.test_classic_api import folder, save_dashboard

from dashwright.api.housekeeping import Cleaner
from dashwright.common.clock import Clock
from dashwright.common.identity import Role

PATH: Final = "/api/snapshots"
LIST: Final = "/api/dashboard/snapshots"
NOT_FOUND: Final = (404, {"message": "Snapshot not found"})
#: A key that a client chooses.
KEY: Final = "0123456789abcdef"
FIFTY_YEARS: Final = 50 * 365 * 86_400  # in seconds


async def create_snapshot(api: Api, *, uid: str = "", **members: Any) -> dict[str, Any]:
    """Create a snapshot and return its keys and URLs."""
    auth = {"auth": members.pop("auth")} if "auth" in members else {}
    dashboard = {"title": "S", "uid": uid} if uid else {"title": "S"}
    status, body = await api("POST", PATH, {"dashboard": dashboard, **members}, **auth)
    assert status == 200, body
    created: dict[str, Any] = body
    return created


async def snapshot_keys(api: Api, query: str = "", **options: Any) -> list[str]:
    """Return the keys of the listed snapshots."""
    status, body = await api("GET", f"{LIST}{query}", **options)
    assert status == 200, body
    return [item["key"] for item in body]


async def test_a_snapshot_is_read_by_its_key_alone(api: Api) -> None:
    """A client without credentials reads the body with its exact numbers, and caches it for at most an hour."""
    status, created = await api("POST", f"{PATH}/", data='{"name":"N","dashboard":{"title":"T","exact":1.10,"big":12345678901234567890}}')
    assert (status, created.keys()) == (200, {"key", "deleteKey", "url", "deleteUrl"})
    assert created["url"].endswith(f"/dashboard/snapshot/{created['key']}")
    assert created["deleteUrl"].endswith(f"/api/snapshots-delete/{created['deleteKey']}")
    for path in (f"{PATH}/{created['key']}", f"/dashboard/snapshot/{created['key']}"):
        async with api.session.get(path) as response:
            assert (response.status, response.headers["Cache-Control"]) == (200, "public, max-age=3600")
            text = await response.text()
    assert text.endswith('"dashboard":{"title":"T","exact":1.10,"big":12345678901234567890}}')
    _, body = await api("GET", f"{PATH}/{created['key']}", auth=None)
    meta = body["meta"]
    assert meta["type"] == "snapshot"
    assert meta["isSnapshot"] is True
    assert meta["canSave"] is False
    assert meta["createdBy"] == ""
    _, (item,) = await api("GET", LIST)
    assert item.items() >= {"name": "N", "key": created["key"], "external": False, "externalUrl": "", "created": item["updated"]}.items()
    assert "deleteKey" not in item


async def test_delete_keys_are_stored_as_hashes(api: Api) -> None:
    """No column of the database contains a delete key, whether it is random or sent."""
    for created in (await create_snapshot(api), await create_snapshot(api, deleteKey="a-delete-key-of-mine")):
        row = await api.sql("select dashboard_snapshot::text from dashboard_snapshot where key = $1", created["key"])
        assert created["deleteKey"] not in row
        assert created["deleteKey"].encode().hex() not in row


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "bad request data"),
        ({"dashboard": []}, 400, "bad request data"),
        ({"dashboard": {}, "expires": -1}, 400, "bad request data"),
        ({"dashboard": {}, "name": "n" * 191}, 400, "bad request data"),
        ({"dashboard": {"a": "\0"}}, 400, ""),
        ({"dashboard": {}, "key": "with a blank"}, 400, "key must have at most 100"),
        ({"dashboard": {}, "key": "k" * 101}, 400, "key must have at most 100"),
        ({"dashboard": {}, "deleteKey": "../x"}, 400, "deleteKey must have at most 100"),
        ({"dashboard": {}, "external": True}, 403, "External dashboard creation is disabled"),
    ],
)
async def test_invalid_snapshots_are_refused(api: Api, body: Any, status: int, message: str) -> None:
    """An invalid snapshot is refused with the reason, and nothing is stored."""
    actual_status, response = await api("POST", PATH, body)
    assert actual_status == status, response
    assert response["message"].startswith(message)
    assert await api.sql("select count(*) from dashboard_snapshot") == 0


async def test_keys_are_unique_in_all_organizations(api: Api) -> None:
    """A key or delete key that is in use, even in another organization, is refused, and no snapshot changes."""
    await create_snapshot(api, key=KEY, deleteKey=f"{KEY}-d", name="first")
    other_admin = await api.person("other", Role.ADMIN, org_id=await api.organization("Other"))
    for body in ({"key": KEY}, {"deleteKey": f"{KEY}-d"}):
        assert (await api("POST", PATH, {"dashboard": {}, **body}, auth=other_admin))[0] == 409
    assert await snapshot_keys(api) == [KEY]
    assert await snapshot_keys(api, auth=other_admin) == []


async def test_an_expired_snapshot_is_unknown_and_then_deleted(api: Api) -> None:
    """Each route responds with 404 about an expired snapshot. Housekeeping deletes the snapshot and keeps a valid one."""
    expired, valid = await create_snapshot(api, expires=3600), await create_snapshot(api, expires=7200)
    async with api.session.get(f"{PATH}/{expired['key']}") as response:
        assert 3500 < int(response.headers["Cache-Control"].removeprefix("public, max-age=")) < 3600
    await api.sql("update dashboard_snapshot set expires_at = now() - interval '1 second' where key = $1", expired["key"])
    assert await api("GET", f"{PATH}/{expired['key']}", auth=None) == NOT_FOUND
    assert await api("DELETE", f"{PATH}/{expired['key']}") == NOT_FOUND
    assert (await api("GET", f"/api/snapshots-delete/{expired['deleteKey']}"))[0] == 404
    assert await snapshot_keys(api) == [valid["key"]]
    await Cleaner(api.database, Clock(), expired_token_days=0, audit_days=0).clean()
    assert await api.sql("select array_agg(key) from dashboard_snapshot") == [valid["key"]]


@pytest.mark.parametrize(("seconds", "lifetime"), [(0, FIFTY_YEARS), (60, 60), (2**63 - 1, FIFTY_YEARS)])
async def test_a_snapshot_expires_after_its_seconds(api: Api, seconds: int, lifetime: int) -> None:
    """A snapshot expires after the requested seconds; 0 and larger values mean fifty years."""
    await create_snapshot(api, expires=seconds)
    expires = await api.sql("select expires_at from dashboard_snapshot")
    assert abs(expires - datetime.now(UTC) - timedelta(seconds=lifetime)) < timedelta(seconds=30)


async def test_a_snapshot_needs_permission_to_read_its_dashboard(api: Api) -> None:
    """An Editor who may not read the dashboard that the body names cannot create a snapshot of it.

    A caller who may create snapshots, but read no dashboards, cannot create any snapshot.
    """
    await folder(api, "f1", "Hidden")
    await save_dashboard(api, "d1", "D1", folder="f1")
    assert (await api("POST", "/api/folders/f1/permissions", {"items": []}))[0] == 200
    editor = await api.person("editor", Role.EDITOR)
    body = {"dashboard": {"uid": "d1"}}
    status, error = await api("POST", PATH, body, auth=editor)
    assert status == 403
    assert "dashboards:read" in error["message"]
    assert (await api("POST", PATH, {"dashboard": {"uid": "unknown"}}, auth=editor))[0] == 200
    grantee = await api.person("grantee", Role.NONE, ("snapshots:create", "*"))
    for granted_body in (body, {"dashboard": dict[str, Any]()}):
        assert (await api("POST", PATH, granted_body, auth=grantee))[0] == 403


async def test_creators_admins_and_editors_may_delete_a_snapshot(api: Api) -> None:
    """The creator, an Admin, and users who may edit the dashboard can delete a snapshot; other Editors and Viewers cannot."""
    await folder(api, "f1", "Restricted")
    await save_dashboard(api, "d1", "D1", folder="f1")
    await save_dashboard(api, "d2", "D2")
    author = await api.person("author", Role.EDITOR)
    editor = await api.person("editor", Role.EDITOR)
    viewer = await api.person("viewer", Role.VIEWER)
    restricted = (await create_snapshot(api, uid="d1", auth=author))["key"]
    unrestricted = (await create_snapshot(api, uid="d2", auth=author))["key"]
    without_dashboard = (await create_snapshot(api, auth=author))["key"]
    assert (await api("POST", "/api/folders/f1/permissions", {"items": [{"role": "Viewer", "permission": 1}]}))[0] == 200
    for key in (restricted, without_dashboard):
        assert await api("DELETE", f"{PATH}/{key}", auth=editor) == (403, {"message": "Access denied to this snapshot"})
    assert (await api("DELETE", f"{PATH}/{unrestricted}", auth=viewer))[0] == 403
    for key, auth in ((unrestricted, editor), (restricted, author)):
        status, deleted = await api("DELETE", f"{PATH}/{key}", auth=auth)
        assert (status, deleted["message"]) == (200, "Snapshot deleted. It might take an hour before it's cleared from any CDN caches.")
        assert await api("DELETE", f"{PATH}/{key}", auth=auth) == NOT_FOUND
    assert (await api("DELETE", f"{PATH}/{without_dashboard}"))[0] == 200


async def test_a_delete_key_deletes_with_permission(api: Api) -> None:
    """The delete key requires the permission ``snapshots:delete`` and deletes once. The deletion is audited."""
    created = await create_snapshot(api)
    path = f"/api/snapshots-delete/{created['deleteKey']}"
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    assert (await api("GET", path, auth=None))[0] == 401
    assert (await api("GET", path, auth=viewer))[0] == 403
    status, deleted = await api("GET", path, auth=editor, headers={"X-Request-Id": "deletion"})
    assert status == 200
    assert await api("GET", path, auth=editor) == NOT_FOUND
    assert await api("GET", f"{PATH}/{created['key']}", auth=None) == NOT_FOUND
    event = await api.sql("select action || ' ' || object from audit_event where request_id = 'deletion'")
    assert event == f"snapshot.delete snapshot:{deleted['id']}"


async def test_a_list_has_the_snapshots_of_the_caller(api: Api) -> None:
    """Members see their own snapshots, and Admins all snapshots of their organization, sorted by name."""
    author, other_editor = await api.person("own", Role.EDITOR), await api.person("other", Role.EDITOR)
    other_admin = await api.person("stranger", Role.ADMIN, org_id=await api.organization("Other"))
    await create_snapshot(api, name="b CPU", key="key-of-second-snapshot", auth=author)
    await create_snapshot(api, name="a cpu", key="key-of-first-snapshot", auth=author)
    await create_snapshot(api, name="c memory", key="key-of-third-snapshot", auth=other_editor)
    assert await snapshot_keys(api, auth=author) == ["key-of-first-snapshot", "key-of-second-snapshot"]
    assert await snapshot_keys(api) == ["key-of-first-snapshot", "key-of-second-snapshot", "key-of-third-snapshot"]
    assert await snapshot_keys(api, "?query=Cpu&limit=1") == ["key-of-first-snapshot"]
    assert await snapshot_keys(api, "/", auth=other_admin) == []


async def test_other_organizations_cannot_delete(api: Api) -> None:
    """The two keys of a snapshot are unknown to an Admin of another organization, and the snapshot is kept."""
    created = await create_snapshot(api)
    other_admin = await api.person("stranger", Role.ADMIN, org_id=await api.organization("Other"))
    assert await api("DELETE", f"{PATH}/{created['key']}", auth=other_admin) == NOT_FOUND
    assert (await api("GET", f"/api/snapshots-delete/{created['deleteKey']}", auth=other_admin))[0] == 404
    assert await snapshot_keys(api) == [created["key"]]


@pytest.mark.parametrize("key", ["a" * 32, "short", "%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00", "a" * 200, "ä" * 20])
async def test_an_unknown_key_is_not_found(api: Api, key: str) -> None:
    """An unknown or invalid key is 400 or 404, never an internal error."""
    for method, path in (("GET", PATH), ("DELETE", PATH), ("GET", "/api/snapshots-delete")):
        assert (await api(method, f"{path}/{key}"))[0] in (400, 404)


async def test_snapshots_are_limited(start_api: StartApi) -> None:
    """Concurrent creations stop at the limit. An expired snapshot does not count, and a second organization has its own limit."""
    api = await start_api(snapshots=3)
    results = await asyncio.gather(*(api("POST", PATH, {"dashboard": {}}) for _ in range(8)))
    assert sorted(status for status, _ in results) == [200] * 3 + [403] * 5
    assert {body["message"] for status, body in results if status == 403} == {
        "The organization has 3 snapshots, which is the limit (DASHWRIGHT_SNAPSHOTS); delete some first"
    }
    await api.sql("update dashboard_snapshot set expires_at = now() where id = (select min(id) from dashboard_snapshot)")
    assert (await api("POST", PATH, {"dashboard": {}}))[0] == 200
    other_admin = await api.person("other", Role.ADMIN, org_id=await api.organization("Other"))
    assert (await api("POST", PATH, {"dashboard": {}}, auth=other_admin))[0] == 200


async def call_all_routes(api: Api) -> list[tuple[int, Any]]:
    """Store a snapshot, and return the response of each route that reads or changes snapshots."""
    await api.sql(
        """insert into dashboard_snapshot (org_id, key, delete_key_hash, name, dashboard_uid, dashboard, created_at, expires_at)
        values (1, $1, '', 'N', '', '{}', now(), now() + interval '1 day') returning 1""",
        KEY,
    )
    return [
        await api("GET", f"{PATH}/{KEY}"),
        await api("GET", f"/api/snapshots-delete/{KEY}"),
        await api("DELETE", f"{PATH}/{KEY}"),
        await api("POST", PATH, {"dashboard": {}}),
    ]


SHARING_OPTIONS: Final = {"externalSnapshotURL": "", "externalSnapshotName": "", "externalEnabled": False}
DISABLED: Final = (403, {"message": "Dashboard Snapshots are disabled"})


async def test_the_limit_0_disables_snapshots(start_api: StartApi) -> None:
    """With the limit 0, no route reads or changes snapshots, and the options for clients say that snapshots are disabled."""
    api = await start_api(snapshots=0)
    assert await api("GET", "/api/snapshot/shared-options/") == (200, {**SHARING_OPTIONS, "snapshotEnabled": False})
    for response in await call_all_routes(api):
        assert response == DISABLED


async def test_a_limit_above_0_enables_snapshots(start_api: StartApi) -> None:
    """With a limit above 0, no route refuses requests because snapshots are disabled."""
    api = await start_api(snapshots=1)
    assert await api("GET", "/api/snapshot/shared-options/") == (200, {**SHARING_OPTIONS, "snapshotEnabled": True})
    for response in await call_all_routes(api):
        assert response != DISABLED


async def test_snapshots_are_deleted_with_their_organization(api: Api) -> None:
    """Deleting an organization deletes its snapshots, but deleting a user keeps the snapshots that the user created."""
    org_id = await api.organization("Other")
    other_admin = await api.person("stranger", Role.ADMIN, org_id=org_id)
    member = await api.person("member", Role.EDITOR)
    deleted, remaining = await create_snapshot(api, auth=other_admin), await create_snapshot(api, auth=member)
    user_id = await api.sql("""select id from "user" where login = 'member'""")
    assert (await api("DELETE", f"/api/admin/users/{user_id}"))[0] == 200
    assert (await api("DELETE", f"/api/orgs/{org_id}"))[0] == 200
    assert await api("GET", f"{PATH}/{deleted['key']}", auth=None) == NOT_FOUND
    assert (await api("GET", f"{PATH}/{remaining['key']}", auth=None))[0] == 200
