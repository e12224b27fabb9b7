"""Playlists in the classic API and in the resource API, which serve the same objects."""

import asyncio
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api, StartApi

from dashwright.common.identity import Role

PATH: Final = "/api/playlists"
RESOURCE_PATH: Final = "/apis/playlist.grafana.app/{}/namespaces/default/playlists"
NOT_FOUND: Final = (404, {"message": "playlist not found"})
ITEMS: Final = [{"type": "dashboard_by_uid", "value": "d1"}, {"type": "dashboard_by_tag", "value": "team a"}]
BODY: Final = {"name": "Wall", "interval": "5m", "items": ITEMS}


async def create_playlist(api: Api, **members: Any) -> str:
    """Create a playlist and return its uid."""
    status, body = await api("POST", PATH, {**BODY, **members})
    assert status == 200, body
    return str(body["uid"])


async def test_a_playlist_is_created_replaced_and_deleted(api: Api) -> None:
    """Each response has the stored playlist; a replacement leaves nothing of the previous items."""
    status, created = await api("POST", PATH, {**BODY, "items": [{**ITEMS[0], "title": "ignored"}, ITEMS[1]]})
    uid = created["uid"]
    assert (status, created) == (200, {"uid": uid, "name": "Wall", "interval": "5m", "items": ITEMS})
    assert await api("GET", f"{PATH}/{uid}") == (200, created)
    assert await api("GET", f"{PATH}/{uid}/items") == (200, ITEMS)
    changed = {"uid": uid, "name": "Hall", "interval": "1h30m", "items": [{"type": "dashboard_by_id", "value": "7"}]}
    assert await api("PUT", f"{PATH}/{uid}", {**changed, "uid": "other"}) == (200, changed)
    assert await api("GET", f"{PATH}/{uid}") == (200, changed)
    assert await api("GET", PATH) == (200, [{"uid": uid, "name": "Hall", "interval": "1h30m"}])
    assert await api("DELETE", f"{PATH}/{uid}") == (200, {})
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/items")):
        assert await api(method, f"{PATH}/{uid}{path}") == NOT_FOUND
    assert await api("PUT", f"{PATH}/{uid}", BODY) == NOT_FOUND


@pytest.mark.parametrize("version", ["v1", "v0alpha1"])
async def test_both_apis_have_the_same_playlists(api: Api, version: str) -> None:
    """Each API lists the playlists that the other API created. An update through the classic API keeps the labels."""
    path = RESOURCE_PATH.format(version)
    uid = await create_playlist(api)
    _, listed = await api("GET", path)
    (item,) = listed["items"]
    assert (item["kind"], item["apiVersion"], item["status"]) == ("Playlist", f"playlist.grafana.app/{version}", {})
    assert (item["metadata"]["name"], item["spec"]) == (uid, {"title": "Wall", "interval": "5m", "items": ITEMS})
    labelled = {"metadata": {"name": "p2", "labels": {"a": "b"}}, "spec": {"title": "A", "interval": "30s", "items": []}}
    assert (await api("POST", path, labelled))[0] == 201
    assert await api("GET", f"{PATH}?query=a") == (
        200,
        [{"uid": "p2", "name": "A", "interval": "30s"}, {"uid": uid, "name": "Wall", "interval": "5m"}],
    )
    assert await api("GET", f"{PATH}?query=WA&limit=1") == (200, [{"uid": uid, "name": "Wall", "interval": "5m"}])
    assert (await api("PUT", f"{PATH}/p2", BODY))[0] == 200
    _, changed = await api("GET", f"{path}/p2")
    assert (changed["metadata"]["labels"], changed["metadata"]["generation"], changed["spec"]["title"]) == ({"a": "b"}, 2, "Wall")


@pytest.mark.parametrize(
    ("members", "status", "message"),
    [
        ({"name": None}, 400, "bad request data"),
        ({"interval": None}, 400, "bad request data"),
        ({"items": [{"type": "dashboard_by_name", "value": "x"}]}, 400, "bad request data"),
        ({"items": [{"type": "dashboard_by_uid"}]}, 400, "bad request data"),
        ({"uid": "a b"}, 400, "uid contains illegal characters"),
        ({"name": " "}, 422, "spec.title: Required value"),
        ({"name": "n" * 256}, 422, "spec.title: Invalid value"),
        ({"interval": "soon"}, 422, 'spec.interval: Invalid value: "soon"'),
        ({"interval": ""}, 422, "spec.interval: Invalid value"),
        ({"items": [{"type": "dashboard_by_uid", "value": ""}]}, 422, "spec.items[0].value: Invalid value"),
        ({"items": [{"type": "dashboard_by_uid", "value": "x"}] * 501}, 422, "spec.items: Invalid value: 501"),
    ],
)
async def test_invalid_playlists_are_refused(api: Api, members: Any, status: int, message: str) -> None:
    """An invalid playlist is refused with the reason, and nothing is stored."""
    actual_status, response = await api("POST", PATH, {**BODY, **members})
    assert actual_status == status, response
    assert message in response["message"], response
    assert await api("GET", PATH) == (200, [])


async def test_a_used_uid_is_refused(api: Api) -> None:
    """A uid is unique in its organization, and free in another one."""
    assert await create_playlist(api, uid="p1") == "p1"
    assert (await api("POST", PATH, {**BODY, "uid": "p1", "name": "Second"}))[0] == 409
    assert await api("GET", PATH) == (200, [{"uid": "p1", "name": "Wall", "interval": "5m"}])
    other_admin = await api.person("other", Role.ADMIN, org_id=await api.organization("Other"))
    assert await api("GET", PATH, auth=other_admin) == (200, [])
    assert (await api("POST", PATH, {**BODY, "uid": "p1"}, auth=other_admin))[0] == 200


async def test_viewers_read_and_editors_change_playlists(api: Api) -> None:
    """A Viewer reads playlists and cannot change them. An Editor can. A grant on deletes permits deletes, but no reads."""
    uid = await create_playlist(api)
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    assert (await api("GET", f"{PATH}/{uid}", auth=viewer))[0] == 200
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/{uid}"), ("DELETE", f"{PATH}/{uid}")):
        assert (await api(method, path, BODY, auth=viewer))[0] == 403
    assert (await api("PUT", f"{PATH}/{uid}", BODY, auth=editor))[0] == 200
    grantee = await api.person("grantee", Role.NONE, ("playlists:delete", "*"))
    assert (await api("GET", f"{PATH}/{uid}", auth=grantee))[0] == 403
    assert (await api("DELETE", f"{PATH}/{uid}", auth=grantee))[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "created_status"),
    [
        (PATH, BODY, 200),
        (
            RESOURCE_PATH.format("v1"),
            {"metadata": {"generateName": "p"}, "spec": {"title": "P", "interval": "5m", "items": []}},
            201,
        ),
    ],
    ids=["classic API", "resource API"],
)
async def test_playlists_are_limited(start_api: StartApi, path: str, body: dict[str, Any], created_status: int) -> None:
    """In each API, concurrent creations stop at the limit of the organization. Another organization has its own limit."""
    api = await start_api(playlists=2)
    results = await asyncio.gather(*(api("POST", path, body) for _ in range(5)))
    assert sorted(status for status, _ in results) == [created_status, created_status, 403, 403, 403]
    assert len((await api("GET", PATH))[1]) == 2
    other_admin = await api.person("other", Role.ADMIN, org_id=await api.organization("Other"))
    assert (await api("POST", PATH, BODY, auth=other_admin))[0] == 200
