"""Versions of dashboards in the classic API, which clients read and restore."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_classic_api import folder, save_dashboard

from dashwright.common.identity import Role

DASHBOARD = "/api/dashboards/uid/d1"
RESOURCE = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/dashboards/d1"
NO_VERSION = (404, {"message": "Dashboard version not found"})


@pytest.fixture
async def dashboard_id(api: Api) -> int:
    """Create the dashboard ``d1`` with three versions in two folders and return its id."""
    await folder(api, "f1", "F")
    await save_dashboard(api, "d1", "First", exact=1.5)
    body = {"dashboard": {"uid": "d1", "title": "Second"}, "folderUid": "f1", "overwrite": True, "message": "moved"}
    assert (await api("POST", "/api/dashboards/db", body))[1]["version"] == 2
    body = {"dashboard": {"uid": "d1", "title": "Third"}, "folderUid": "f1", "overwrite": True}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert (status, response["version"]) == (200, 3)
    dashboard_id: int = response["id"]
    return dashboard_id


async def list_versions(api: Api, path: str) -> tuple[list[int], str]:
    """Return the numbers of the listed versions and the token of the next page."""
    status, body = await api("GET", path)
    assert status == 200, body
    return [item["version"] for item in body["versions"]], body["continueToken"]


async def test_versions_are_listed_newest_first(api: Api, dashboard_id: int) -> None:
    """Versions are listed by uid or id, in pages by token or offset."""
    status, body = await api("GET", f"{DASHBOARD}/versions")
    second = body["versions"][1]
    assert (status, body["continueToken"]) == (200, "")
    assert (second["data"]["title"], second["data"]["uid"], second["data"]["version"]) == ("Second", "d1", 2)
    assert {key: second[key] for key in second if key not in ("created", "data")} == {
        "id": 2,
        "dashboardId": dashboard_id,
        "uid": "d1",
        "parentVersion": 1,
        "restoredFrom": 0,
        "version": 2,
        "createdBy": "admin",
        "message": "moved",
    }
    assert await api("GET", f"/api/dashboards/id/{dashboard_id}/versions") == (status, body)
    assert await list_versions(api, f"{DASHBOARD}/versions?limit=2") == ([3, 2], "2")
    assert await list_versions(api, f"{DASHBOARD}/versions?limit=2&continueToken=2") == ([1], "")
    assert await list_versions(api, f"{DASHBOARD}/versions?start=1&limit=1") == ([2], "2")
    assert await list_versions(api, f"{DASHBOARD}/versions?start=3") == ([], "")
    assert (await api("GET", f"{DASHBOARD}/versions?continueToken=x"))[0] == 400


async def test_a_version_contains_the_old_dashboard(api: Api, dashboard_id: int) -> None:
    """A version, read by the id or uid of its dashboard, has the old content. An unknown version gets 404, and an invalid version 400."""
    for path in (DASHBOARD, f"/api/dashboards/id/{dashboard_id}"):
        status, body = await api("GET", f"{path}/versions/1")
        assert status == 200
        assert body["version"] == 1
        assert body["uid"] == "d1"
        assert body["message"] == ""
        assert body["data"] == {"title": "First", "exact": 1.5, "id": dashboard_id, "uid": "d1", "version": 1}
        for unknown in ("0", "4", "-1", str(2**63 - 1)):
            assert await api("GET", f"{path}/versions/{unknown}") == NO_VERSION
        assert (await api("GET", f"{path}/versions/x"))[0] == 400
    for path in ("/api/dashboards/uid/none", "/api/dashboards/id/7"):
        assert await api("GET", f"{path}/versions") == (404, {"message": "Dashboard not found"})
    assert (await api("GET", "/api/dashboards/id/x/versions"))[0] == 400


async def test_a_version_is_restored_as_a_new_one(api: Api, dashboard_id: int) -> None:
    """A restored version has the old body in the present folder, and the history names the restored version.

    Restoring an equal body changes nothing.
    """
    status, body = await api("POST", f"{DASHBOARD}/restore", {"version": 1})
    expected = {
        "id": dashboard_id,
        "uid": "d1",
        "url": "/d/d1/first",
        "status": "success",
        "version": 4,
        "slug": "first",
        "folderUid": "f1",
    }
    assert (status, body) == (200, expected)
    response = (await api("GET", RESOURCE))[1]
    assert response["spec"] == {"title": "First", "exact": 1.5}
    newest = (await api("GET", f"{DASHBOARD}/versions?limit=1"))[1]["versions"][0]
    assert (newest["version"], newest["parentVersion"], newest["restoredFrom"]) == (4, 3, 1)
    assert newest["message"] == "Restored from version 1"
    assert (await api("POST", f"/api/dashboards/id/{dashboard_id}/restore", {"version": 4}))[1] == body
    assert (await api("GET", RESOURCE))[1] == response
    for version in (0, 9):
        assert await api("POST", f"{DASHBOARD}/restore", {"version": version}) == NO_VERSION
    assert await api.message("POST", f"{DASHBOARD}/restore", {"version": "1"}) == (400, "bad request data")
    assert (await api("POST", "/api/dashboards/uid/none/restore", {"version": 1}))[0] == 404


async def test_a_layout_is_restored_as_a_layout(api: Api) -> None:
    """A version with elements is restored with elements, even if the current version is classic."""
    await save_dashboard(api, "d1", "A", elements={}, layout={"kind": "GridLayout"})
    await save_dashboard(api, "d1", "B")
    assert (await api("POST", f"{DASHBOARD}/restore", {"version": 1}))[1]["version"] == 3
    _, body = await api("GET", RESOURCE.replace("v0alpha1", "v2alpha1"))
    assert body["spec"]["layout"] == {"kind": "GridLayout"}
    assert (await api("GET", RESOURCE))[1]["status"]["conversion"]["storedVersion"] == "v2alpha1"


async def test_permissions_apply_to_versions(api: Api, dashboard_id: int) -> None:
    """A Viewer can read versions and cannot restore them. A caller without read access to the dashboard gets 403."""
    viewer, unprivileged = await api.person("viewer", Role.VIEWER), await api.person("unprivileged", Role.NONE)
    assert (await api("GET", f"{DASHBOARD}/versions", auth=viewer))[0] == 200
    assert (await api("POST", f"{DASHBOARD}/restore", {"version": 1}, auth=viewer))[0] == 403
    paths: list[Any] = [f"{DASHBOARD}/versions", f"{DASHBOARD}/versions/1", f"/api/dashboards/id/{dashboard_id}/versions"]
    assert [(await api("GET", path, auth=unprivileged))[0] for path in paths] == [403, 403, 403]
    assert (await api("POST", "/api/folders/f1/permissions", {"items": []}))[0] == 200
    assert [(await api("GET", path, auth=viewer))[0] for path in (*paths, DASHBOARD)] == [403, 403, 403, 403]


async def test_a_deleted_dashboard_is_restored(api: Api, dashboard_id: int) -> None:
    """A restored dashboard keeps its id and versions, in its old folder or a given folder.

    Of several deleted dashboards with one uid, the last is restored.
    """
    path = f"{DASHBOARD}/trash"
    # The dashboard is not deleted yet.
    assert (await api("PATCH", path, {}))[0] == 404
    await api("DELETE", DASHBOARD)
    assert await api("PATCH", path, {}) == (200, {"title": "Third", "message": "Dashboard Third restored", "uid": "d1", "id": dashboard_id})
    assert (await api("GET", DASHBOARD))[1]["meta"]["folderUid"] == "f1"
    assert (await list_versions(api, f"{DASHBOARD}/versions"))[0] == [4, 3, 2, 1]
    assert (await api("PATCH", path, {}))[0] == 404
    await api("DELETE", DASHBOARD)
    await save_dashboard(api, "d1", "Another")
    assert (await api("PATCH", path, {}))[0] == 409
    await api("DELETE", DASHBOARD)
    assert (await api("PATCH", path, {"folderUid": ""}))[1]["title"] == "Another"
    assert (await api("GET", DASHBOARD))[1]["meta"]["folderUid"] == ""
    await api("DELETE", DASHBOARD)
    assert await api("PATCH", path, {"folderUid": "none"}) == (404, {"message": "folder not found"})
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await api("PATCH", path, {}, auth=viewer))[0] == 403


async def test_the_error_of_a_failed_restore_names_the_remedy(api: Api, dashboard_id: int) -> None:
    """An error message says where to find a dashboard that a repository managed, or how to replace a deleted folder."""
    status, body = await api("PATCH", f"{DASHBOARD}/trash", {})
    assert status == 404
    assert 'dashboard "d1" is not in the trash' in body["message"]
    assert "restore its file in the repository" in body["message"]
    await api("DELETE", DASHBOARD)
    assert (await api("DELETE", "/api/folders/f1"))[0] == 200
    status, body = await api("PATCH", f"{DASHBOARD}/trash", {})
    assert status == 404
    assert 'the former folder "f1"' in body["message"]
    assert "folderUid" in body["message"]
