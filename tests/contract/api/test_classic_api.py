"""The classic API of dashboards and folders."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, case_id
from tests.contract.api.test_folder_permissions import EDIT, VIEW

from dashwright.common.identity import Role

DASHBOARDS = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/dashboards"


async def save_dashboard(api: Api, uid: str, title: str, *, folder: str = "", **spec: Any) -> dict[str, Any]:
    """Save a dashboard and return the response."""
    body = {"dashboard": {"uid": uid, "title": title, **spec}, "folderUid": folder, "overwrite": True}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert status == 200, response
    saved: dict[str, Any] = response
    return saved


async def folder(api: Api, uid: str, title: str, **members: Any) -> dict[str, Any]:
    """Create a folder and return it."""
    status, response = await api("POST", "/api/folders", {"uid": uid, "title": title, **members})
    assert status == 200, response
    created: dict[str, Any] = response
    return created


async def test_a_dashboard_is_saved_read_and_deleted(api: Api) -> None:
    """A saved dashboard is read with its folder, and with its numbers in the sent digits. The resource API returns it, too."""
    await folder(api, "f1", "Test drive")
    spec = '{"uid":"abc","id":null,"title":"Production Overview","tags":["foobar"],"big":12345678901234567890,"exact":1.10}'
    status, body = await api(
        "POST", "/api/dashboards/db", data=f'{{"dashboard":{spec},"folderUid":"f1","overwrite":true,"message":"first"}}'
    )
    expected = {
        "uid": "abc",
        "url": "/d/abc/production-overview",
        "status": "success",
        "version": 1,
        "slug": "production-overview",
        "folderUid": "f1",
    }
    assert (status, body) == (200, {**expected, "id": body["id"]})
    async with api.session.get("/api/dashboards/uid/abc", headers={"Authorization": ADMIN}) as response:
        text = await response.text()
    assert '"big":12345678901234567890' in text
    assert '"exact":1.10' in text
    status, dashboard = await api("GET", "/api/dashboards/uid/abc")
    assert dashboard["dashboard"]["tags"] == ["foobar"]
    assert {key: dashboard["dashboard"][key] for key in ("id", "uid", "version")} == {"id": body["id"], "uid": "abc", "version": 1}
    meta = dashboard["meta"]
    assert meta["folderUid"] == "f1"
    assert meta["folderTitle"] == "Test drive"
    assert meta["createdBy"] == "admin"
    assert meta["version"] == 1
    assert meta["canSave"] is True
    assert meta["canDelete"] is True
    assert meta["provisioned"] is False
    assert meta["slug"] == "production-overview"
    assert (await api("GET", f"{DASHBOARDS}/abc"))[1]["spec"]["title"] == "Production Overview"
    assert await api("DELETE", "/api/dashboards/uid/abc") == (
        200,
        {"title": "Production Overview", "message": "Dashboard Production Overview deleted", "uid": "abc", "id": body["id"]},
    )
    for method in ("GET", "DELETE"):
        assert await api(method, "/api/dashboards/uid/abc") == (404, {"message": "Dashboard not found"})


async def test_a_save_replaces_only_its_version(api: Api) -> None:
    """A save gets 412 unless it names the current version or overwrites. Each change is a new version, with the message of the save."""
    await save_dashboard(api, "abc", "A")
    mismatch = (412, {"status": "version-mismatch", "message": "The dashboard has been changed by someone else"})
    for version in ({}, {"version": 2}, {"version": 0}):
        assert await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "abc", "title": "B", **version}}) == mismatch
    body = {"dashboard": {"uid": "abc", "title": "B", "version": 1}, "message": "second"}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert (status, response["version"]) == (200, 2)
    assert await api("POST", "/api/dashboards/db", body) == mismatch
    assert (await save_dashboard(api, "abc", "C"))["version"] == 3
    # Only the second version was saved with a message.
    assert await api.sql("select string_agg(message, ',' order by generation) from resource_history") == "second"


async def test_a_dashboard_without_uid_gets_one(api: Api) -> None:
    """An id of null and an empty uid count as missing. The new uid has fourteen characters."""
    status, response = await api("POST", "/api/dashboards/db", {"dashboard": {"id": None, "uid": "", "title": "A"}})
    assert (status, len(response["uid"]), response["folderUid"]) == (200, 14, "")


async def test_a_dashboard_may_be_given_by_id(api: Api) -> None:
    """A save by id needs an existing dashboard and its current version."""
    dashboard_id = (await save_dashboard(api, "abc", "A"))["id"]
    mismatch = {"dashboard": {"id": dashboard_id, "title": "x", "version": 7}, "overwrite": False}
    assert (await api("POST", "/api/dashboards/db", mismatch))[0] == 412
    status, response = await api("POST", "/api/dashboards/db", {"dashboard": {"id": dashboard_id, "title": "B", "version": 1}})
    assert status == 200
    assert response["uid"] == "abc"
    assert response["id"] == dashboard_id
    assert response["version"] == 2
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"id": 77, "title": "B"}}))[0] == 404


async def test_a_save_chooses_the_folder_by_uid_id_or_meta(api: Api) -> None:
    """The folder is the first one given by uid, by id or in ``meta``, otherwise the root. An id may have sixteen digits."""
    largest_id = 9_007_199_254_740_991
    first, second = await folder(api, "f1", "One"), await folder(api, "f2", "Two")
    async with api.database.transaction() as connection:
        # A write of resources needs the lock of their namespace.
        await connection.execute("select lock_namespaces(1, array['default'])")
        await connection.execute("update resource set number = $1 where name = 'f2'", largest_id)
    meta = {"folderUid": "", "folderId": first["id"], "url": "/d/abc"}

    async def save_and_read_folder(**members: Any) -> str:
        """Save the dashboard with these members, and return the folder that contains it."""
        status, response = await api(
            "POST", "/api/dashboards/db", {"dashboard": {"uid": "abc", "title": "A"}, "overwrite": True, **members}
        )
        assert status == 200, response
        folder_uid: str = response["folderUid"]
        return folder_uid

    assert await save_and_read_folder(meta=meta) == "f1"
    assert await save_and_read_folder(meta=meta, folderId=largest_id) == "f2"
    assert (await api("GET", "/api/dashboards/uid/abc"))[1]["meta"]["folderId"] == largest_id
    assert await save_and_read_folder(meta=meta, folderId=largest_id, folderUid="f1") == "f1"
    assert await save_and_read_folder(meta={**meta, "folderUid": "f2"}) == "f2"
    assert await save_and_read_folder(meta={**meta, "folderUid": "f2"}, folderId=0) == ""
    assert await save_and_read_folder(folderUid="general") == ""
    assert await save_and_read_folder() == ""
    assert second["uid"] == "f2"


async def test_an_equal_save_makes_no_version(api: Api) -> None:
    """An equal save makes neither a version nor an audit event. Numbers compare by value, and the order of keys is ignored."""
    for data in ('{"uid":"abc","title":"A","n":1.10,"m":{"a":1,"b":2}}', '{"title":"A","m":{"b":2,"a":1e0},"uid":"abc","n":1.1}'):
        status, response = await api("POST", "/api/dashboards/db", data=f'{{"overwrite":true,"dashboard":{data}}}')
        assert (status, response["status"], response["version"]) == (200, "success", 1)
    assert await api.sql("select count(*) from audit_event") == 1
    assert await api.sql("select count(*) from resource_history") == 1


async def test_one_of_concurrent_saves_succeeds(api: Api) -> None:
    """One of concurrent saves of a version, or of concurrent creates of a dashboard, succeeds."""
    for version, new_version in ((None, 1), (1, 2)):
        bodies = [{"dashboard": {"uid": "abc", "title": f"{version} {index}", "version": version}} for index in range(6)]
        responses = await asyncio.gather(*(api("POST", "/api/dashboards/db", body) for body in bodies))
        assert sorted(status for status, _ in responses) == [200, 412, 412, 412, 412, 412]
        assert [response["version"] for status, response in responses if status == 200] == [new_version]


async def test_access_rules_apply_to_dashboards(api: Api) -> None:
    """Access rules of the folder and of the dashboard apply. The response has the caller's rights."""
    await folder(api, "f1", "F")
    await save_dashboard(api, "abc", "A", folder="f1")
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    assert (await api("POST", "/api/folders/f1/permissions", {"items": [{"role": "Editor", "permission": VIEW}]}))[0] == 200
    assert (await api("GET", "/api/dashboards/uid/abc", auth=viewer))[0] == 403
    meta = (await api("GET", "/api/dashboards/uid/abc", auth=editor))[1]["meta"]
    assert meta["canSave"] is False
    assert meta["canDelete"] is False
    assert meta["canAdmin"] is False
    assert meta["hasAcl"] is False
    assert meta["folderTitle"] == "F"
    body = {"dashboard": {"uid": "abc", "title": "B"}, "overwrite": True, "folderUid": "f1"}
    move_to_root = {**body, "folderUid": ""}
    new_dashboard = {"dashboard": {"title": "New"}, "folderUid": "f1"}
    for requested in (body, move_to_root, new_dashboard):
        assert (await api("POST", "/api/dashboards/db", requested, auth=editor))[0] == 403
    assert (await api("DELETE", "/api/dashboards/uid/abc", auth=editor))[0] == 403
    assert (await api("POST", "/api/dashboards/uid/abc/permissions", {"items": [{"role": "Viewer", "permission": EDIT}]}))[0] == 200
    meta = (await api("GET", "/api/dashboards/uid/abc", auth=viewer))[1]["meta"]
    assert meta["canSave"] is True
    assert meta["hasAcl"] is True
    # The viewer may not read the folder, so title and id are empty.
    assert (meta["folderUid"], meta["folderTitle"], meta["folderId"]) == ("f1", "", 0)
    assert meta["annotationsPermissions"]["dashboard"]["canAdd"] is True
    assert (await api("POST", "/api/dashboards/db", body, auth=viewer))[1]["version"] == 2


async def test_a_save_keeps_resource_metadata(api: Api) -> None:
    """A save keeps labels, annotations and finalizers that were set through the resource API."""
    created = {"metadata": {"name": "abc", "labels": {"team": "a"}, "annotations": {"note": "n"}}, "spec": {"title": "A"}}
    assert (await api("POST", DASHBOARDS, created))[0] == 201
    await save_dashboard(api, "abc", "B")
    metadata = (await api("GET", f"{DASHBOARDS}/abc"))[1]["metadata"]
    assert (metadata["labels"]["team"], metadata["annotations"]["note"], metadata["generation"]) == ("a", "n", 2)


async def test_a_dashboard_with_a_layout_is_saved(api: Api) -> None:
    """A dashboard with a layout is stored unchanged, in a version with layouts. The classic API converts it."""
    await save_dashboard(api, "abc", "A", elements={}, layout={"kind": "GridLayout"}, version=3)
    _, body = await api("GET", f"{DASHBOARDS.replace('v0alpha1', 'v2alpha1')}/abc")
    assert (body["spec"]["layout"], body["spec"]["version"]) == ({"kind": "GridLayout"}, 3)
    assert (await api("GET", f"{DASHBOARDS}/abc"))[1]["status"]["conversion"]["storedVersion"] == "v2alpha1"
    # Conversions to a classic dashboard have the newest schema version.
    assert (await api("GET", "/api/dashboards/uid/abc"))[1]["dashboard"]["schemaVersion"] == 42


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"dashboard": {"title": " "}}, 400, "Dashboard title cannot be empty"),
        ({"dashboard": {"title": "A", "uid": "a b"}}, 400, "uid contains illegal characters"),
        ({"dashboard": {"title": "A" * 5001}}, 400, "Dashboard title cannot contain more than 5 000 characters"),
        ({"dashboard": {"title": "A"}, "message": "m" * 501}, 400, "message too long, max 500 characters"),
        ({"dashboard": {"title": "A"}, "isFolder": True}, 400, "a folder cannot be saved as a dashboard"),
        ({"dashboard": {"title": "A"}, "folderId": 77}, 404, "folder not found"),
        ({"dashboard": {"title": "A"}, "folderId": "1"}, 400, "bad request data"),
        ({"dashboard": {"title": "A", "id": "1"}}, 400, "uid must be a string"),
        ({"dashboard": {"title": "A", "uid": 5}}, 400, "uid must be a string"),
        ({"dashboard": {"title": "A", "uid": "x", "id": 77}}, 404, "Dashboard not found"),
        ({"dashboard": {"title": "A"}, "folderUid": "none"}, 404, "folder not found"),
        ({"dashboard": []}, 400, "bad request data"),
        ({}, 400, "bad request data"),
        ([], 400, "bad request data"),
    ],
    ids=case_id,
)
async def test_invalid_saves_are_rejected(api: Api, body: Any, status: int, message: str) -> None:
    """Invalid saves are rejected with the messages that existing clients show."""
    actual_status, response = await api("POST", "/api/dashboards/db", body)
    assert actual_status == status
    assert response["message"].startswith(message)


async def test_a_folder_is_created_read_and_deleted(api: Api) -> None:
    """Creating a folder with a used uid gets 412. Deleting a folder deletes the folders in it."""
    created = await folder(api, "f1", "Test drive")
    assert created["uid"] == "f1"
    assert created["url"] == "/dashboards/f/f1/test-drive"
    assert created["version"] == 1
    assert created["createdBy"] == "admin"
    assert await api("GET", "/api/folders/f1") == (200, created)
    assert (await api("POST", "/api/folders", {"uid": "f1", "title": "Again"}))[0] == 412
    inner_folder = await folder(api, "f2", "Inner", parentUid="f1")
    assert inner_folder["parentUid"] == "f1"
    deleted = {"id": created["id"], "title": "Test drive", "message": "Folder deleted"}
    assert await api("DELETE", "/api/folders/f1?forceDeleteRules=true") == (200, deleted)
    for uid in ("f1", "f2"):
        for method in ("GET", "DELETE"):
            assert await api(method, f"/api/folders/{uid}") == (404, {"message": "folder not found"})
    assert await api("POST", "/api/folders", {"title": ""}) == (400, {"message": "folder title cannot be empty"})
    assert await api("POST", "/api/folders", {"title": "A", "parentUid": "none"}) == (404, {"message": "folder not found"})
    assert await api.message("POST", "/api/folders", {"title": 5}) == (400, "bad request data")


async def test_folders_are_listed_by_parent(api: Api) -> None:
    """The list has the folders at the root (also named general) or in the given parent. An unknown parent gets 404."""
    for uid, title, parent in (("b", "Beta", ""), ("a", "alpha", ""), ("c", "Inner", "b")):
        await folder(api, uid, title, parentUid=parent)
    await save_dashboard(api, "d1", "A dashboard")

    async def list_folders(query: str) -> list[tuple[str, str | None]]:
        """Return the uid of each folder with the uid of its parent."""
        status, body = await api("GET", f"/api/folders?{query}")
        assert status == 200, body
        return [(item["uid"], item.get("parentUid")) for item in body]

    assert await list_folders("") == [("a", None), ("b", None)]
    assert await list_folders("parentUid=b") == [("c", "b")]
    assert await list_folders("limit=1&page=2") == [("b", None)]
    assert await list_folders("parentUid=general") == [("a", None), ("b", None)]
    assert await api("GET", "/api/folders?parentUid=none") == (404, {"message": "folder not found"})


async def test_roles_limit_reads_and_writes(api: Api) -> None:
    """A Viewer may read and not change objects, and a member without a role finds no object. Each organization has objects of its own."""
    await save_dashboard(api, "d1", "A")
    viewer, unprivileged = await api.person("viewer", Role.VIEWER), await api.person("unprivileged", Role.NONE)
    assert len((await api("GET", "/api/search", auth=viewer))[1]) == 1
    assert (await api("GET", "/api/dashboards/uid/d1", auth=viewer))[1]["meta"]["canSave"] is False
    assert await api("GET", "/api/search", auth=unprivileged) == (200, [])
    assert (await api("GET", "/api/dashboards/uid/d1", auth=unprivileged))[0] == 403
    for method, path in (("POST", "/api/dashboards/db"), ("DELETE", "/api/dashboards/uid/d1"), ("POST", "/api/folders")):
        assert (await api(method, path, {} if method == "POST" else None, auth=viewer))[0] == 403
    writer = await api.person("writer", Role.VIEWER, ("dashboards:write", "*"))
    body = {"dashboard": {"uid": "d1", "title": "B"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", body, auth=writer))[0] == 200
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"title": "New"}}, auth=writer))[0] == 403
    admin_of_other_org = await api.person("elsewhere", Role.ADMIN, org_id=await api.organization("Second"))
    assert await api("GET", "/api/search", auth=admin_of_other_org) == (200, [])
    assert (await api("GET", "/api/dashboards/uid/d1", auth=admin_of_other_org))[0] == 404


async def test_managed_objects_cannot_be_changed(api: Api) -> None:
    """A dashboard that a repository manages cannot be changed. Dashboards of repositories and files are marked as provisioned."""
    await save_dashboard(api, "d1", "A")
    manager_annotations = '{"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}'
    async with api.database.transaction() as connection:
        await connection.execute("select lock_namespaces(1, array['default'])")
        await connection.execute("update resource set annotations = $1::text::jsonb", manager_annotations)
    for method, path in (("POST", "/api/dashboards/db"), ("DELETE", "/api/dashboards/uid/d1")):
        body = {"dashboard": {"uid": "d1", "title": "B"}, "overwrite": True} if method == "POST" else None
        status, response = await api(method, path, body)
        assert status == 403
        assert "managed by the repository" in response["message"]
    assert (await api("GET", "/api/dashboards/uid/d1"))[1]["meta"]["provisioned"] is True
    for manager, provisioned in (("classic-file-provisioning", True), ("terraform", False)):
        async with api.database.transaction() as connection:
            await connection.execute("select lock_namespaces(1, array['default'])")
            await connection.execute("update resource set annotations = jsonb_build_object('grafana.app/managedBy', $1::text)", manager)
        assert (await api("GET", "/api/dashboards/uid/d1"))[1]["meta"]["provisioned"] is provisioned


async def test_the_quota_of_dashboards_applies(api: Api) -> None:
    """At the limit, a new dashboard is rejected, and a save of an existing dashboard is accepted."""
    await save_dashboard(api, "d1", "A")
    await api.sql("""insert into quota (org_id, target, "limit") values (1, 'dashboard', 1)""")
    status, response = await api("POST", "/api/dashboards/db", {"dashboard": {"title": "B"}})
    assert (status, response["message"], response["extra"]["limit"]) == (403, "Quota reached", 1)
    assert (await save_dashboard(api, "d1", "B"))["version"] == 2


async def test_each_change_is_audited(api: Api) -> None:
    """Each change has an audit event with the name of the classic operation and the object."""
    await folder(api, "f1", "F")
    await save_dashboard(api, "d1", "A")
    # This save changes nothing: without a version it is refused.
    await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "d1", "title": "B"}})
    await api("DELETE", "/api/dashboards/uid/d1")
    await api("DELETE", "/api/folders/f1")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, object from audit_event order by id")
    assert [tuple(row) for row in rows] == [
        ("folder.create", "folder:f1"),
        ("dashboard.save", "dashboard:d1"),
        ("dashboard.delete", "dashboard:d1"),
        ("folder.delete", "folder:f1"),
    ]
