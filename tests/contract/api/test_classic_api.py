"""The classic API of dashboards and folders."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import Api

from dashwright.common.identity import Role

STORED = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/dashboards"


async def saved(api: Api, uid: str, title: str, *, folder: str = "", **spec: Any) -> dict[str, Any]:
    body = {"dashboard": {"uid": uid, "title": title, **spec}, "folderUid": folder, "overwrite": True}
    status, answer = await api("POST", "/api/dashboards/db", body)
    assert status == 200, answer
    found: dict[str, Any] = answer
    return found


async def folder(api: Api, uid: str, title: str, **members: Any) -> dict[str, Any]:
    status, answer = await api("POST", "/api/folders", {"uid": uid, "title": title, **members})
    assert status == 200, answer
    found: dict[str, Any] = answer
    return found


async def test_a_dashboard_is_saved_read_and_removed(api: Api) -> None:
    """In its folder, with its own body to the last digit; the resource API has the same object."""
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
    async with api.session.get("/api/dashboards/uid/abc", headers={"Authorization": "Basic YWRtaW46YWRtaW4="}) as answer:
        text = await answer.text()
    assert '"big":12345678901234567890' in text
    assert '"exact":1.10' in text
    status, found = await api("GET", "/api/dashboards/uid/abc")
    assert found["dashboard"]["tags"] == ["foobar"]
    assert {key: found["dashboard"][key] for key in ("id", "uid", "version")} == {"id": body["id"], "uid": "abc", "version": 1}
    meta = found["meta"]
    assert (meta["folderUid"], meta["folderTitle"], meta["createdBy"], meta["version"]) == ("f1", "Test drive", "admin", 1)
    assert (meta["canSave"], meta["canDelete"], meta["provisioned"], meta["slug"]) == (True, True, False, "production-overview")
    assert (await api("GET", f"{STORED}/abc"))[1]["spec"]["title"] == "Production Overview"
    assert await api("DELETE", "/api/dashboards/uid/abc") == (
        200,
        {"title": "Production Overview", "message": "Dashboard Production Overview deleted", "uid": "abc", "id": body["id"]},
    )
    for method in ("GET", "DELETE"):
        assert await api(method, "/api/dashboards/uid/abc") == (404, {"message": "Dashboard not found"})


async def test_a_save_replaces_only_the_version_it_names(api: Api) -> None:
    """Otherwise 412, unless it may overwrite; each change is a new version, with its message in the history."""
    await saved(api, "abc", "A")
    mismatch = (412, {"status": "version-mismatch", "message": "The dashboard has been changed by someone else"})
    for version in ({}, {"version": 2}, {"version": 0}):
        assert await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "abc", "title": "B", **version}}) == mismatch
    body = {"dashboard": {"uid": "abc", "title": "B", "version": 1}, "message": "second"}
    status, answer = await api("POST", "/api/dashboards/db", body)
    assert (status, answer["version"]) == (200, 2)
    assert await api("POST", "/api/dashboards/db", body) == mismatch
    assert (await saved(api, "abc", "C"))["version"] == 3
    assert await api.sql("select string_agg(message, ',' order by generation) from resource_history") == "second"


async def test_a_dashboard_without_uid_gets_one(api: Api) -> None:
    """The uid has fourteen characters; null and an empty text count as missing."""
    status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"id": None, "uid": "", "title": "A"}})
    assert (status, len(answer["uid"]), answer["folderUid"]) == (200, 14, "")


async def test_a_dashboard_may_be_named_by_number(api: Api) -> None:
    """Then it must be there, in the version that is named; a uid wins."""
    number = (await saved(api, "abc", "A"))["id"]
    mismatch = {"dashboard": {"id": number, "title": "x", "version": 7}, "overwrite": False}
    assert (await api("POST", "/api/dashboards/db", mismatch))[0] == 412
    status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"id": number, "title": "B", "version": 1}})
    assert (status, answer["uid"], answer["id"], answer["version"]) == (200, "abc", number, 2)
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"id": 77, "title": "B"}}))[0] == 404


async def test_the_folder_of_a_save_is_the_first_that_is_named(api: Api) -> None:
    """By uid, by number, or as an answer has it in ``meta``; none is the root. A number may have sixteen digits, as imported ones do."""
    far = 9_007_199_254_740_991
    first, second = await folder(api, "f1", "One"), await folder(api, "f2", "Two")
    async with api.database.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(1, 1)")
        await connection.execute("update resource set number = $1 where name = 'f2'", far)
    meta = {"folderUid": "", "folderId": first["id"], "url": "/d/abc"}

    async def placed(**members: Any) -> str:
        status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"uid": "abc", "title": "A"}, "overwrite": True, **members})
        assert status == 200, answer
        found: str = answer["folderUid"]
        return found

    assert await placed(meta=meta) == "f1"
    assert await placed(meta=meta, folderId=far) == "f2"
    assert (await api("GET", "/api/dashboards/uid/abc"))[1]["meta"]["folderId"] == far
    assert await placed(meta=meta, folderId=far, folderUid="f1") == "f1"
    assert await placed(meta={**meta, "folderUid": "f2"}) == "f2"
    assert await placed(meta={**meta, "folderUid": "f2"}, folderId=0) == ""
    assert await placed(folderUid="general") == ""
    assert await placed() == ""
    assert second["uid"] == "f2"


async def test_an_equal_save_makes_no_version(api: Api) -> None:
    """It makes no audit event either. Numbers are compared by value, keys in any order."""
    for data in ('{"uid":"abc","title":"A","n":1.10,"m":{"a":1,"b":2}}', '{"title":"A","m":{"b":2,"a":1e0},"uid":"abc","n":1.1}'):
        status, answer = await api("POST", "/api/dashboards/db", data=f'{{"overwrite":true,"dashboard":{data}}}')
        assert (status, answer["status"], answer["version"]) == (200, "success", 1)
    assert await api.sql("select count(*) from audit_event") == 1
    assert await api.sql("select count(*) from resource_history") == 1


async def test_one_of_concurrent_saves_wins(api: Api) -> None:
    """This holds for saves of one version and for saves that create the same dashboard."""
    for version, expected in ((None, 1), (1, 2)):
        bodies = [{"dashboard": {"uid": "abc", "title": f"{version} {index}", "version": version}} for index in range(6)]
        answers = await asyncio.gather(*(api("POST", "/api/dashboards/db", body) for body in bodies))
        assert sorted(status for status, _ in answers) == [200, 412, 412, 412, 412, 412]
        assert [answer["version"] for status, answer in answers if status == 200] == [expected]


async def test_rules_of_access_decide_on_dashboards(api: Api) -> None:
    """Rules of the folder and of the dashboard count; the response has the caller's rights."""
    await folder(api, "f1", "F")
    await saved(api, "abc", "A", folder="f1")
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    assert (await api("POST", "/api/folders/f1/permissions", {"items": [{"role": "Editor", "permission": 1}]}))[0] == 200
    assert (await api("GET", "/api/dashboards/uid/abc", auth=viewer))[0] == 403
    meta = (await api("GET", "/api/dashboards/uid/abc", auth=editor))[1]["meta"]
    assert (meta["canSave"], meta["canDelete"], meta["canAdmin"], meta["hasAcl"], meta["folderTitle"]) == (False, False, False, False, "F")
    body = {"dashboard": {"uid": "abc", "title": "B"}, "overwrite": True, "folderUid": "f1"}
    for wanted in (body, {**body, "folderUid": ""}, {"dashboard": {"title": "New"}, "folderUid": "f1"}):
        assert (await api("POST", "/api/dashboards/db", wanted, auth=editor))[0] == 403
    assert (await api("DELETE", "/api/dashboards/uid/abc", auth=editor))[0] == 403
    assert (await api("POST", "/api/dashboards/uid/abc/permissions", {"items": [{"role": "Viewer", "permission": 2}]}))[0] == 200
    meta = (await api("GET", "/api/dashboards/uid/abc", auth=viewer))[1]["meta"]
    assert (meta["canSave"], meta["hasAcl"], meta["folderUid"], meta["folderTitle"], meta["folderId"]) == (True, True, "f1", "", 0)
    assert meta["annotationsPermissions"]["dashboard"]["canAdd"] is True
    assert (await api("POST", "/api/dashboards/db", body, auth=viewer))[1]["version"] == 2


async def test_a_save_keeps_what_it_does_not_know_of(api: Api) -> None:
    """Labels, annotations and finalizers that came by the resource API."""
    made = {"metadata": {"name": "abc", "labels": {"team": "a"}, "annotations": {"note": "n"}}, "spec": {"title": "A"}}
    assert (await api("POST", STORED, made))[0] == 201
    await saved(api, "abc", "B")
    metadata = (await api("GET", f"{STORED}/abc"))[1]["metadata"]
    assert (metadata["labels"]["team"], metadata["annotations"]["note"], metadata["generation"]) == ("a", "n", 2)


async def test_a_layout_is_saved_as_one(api: Api) -> None:
    """As it is, in the version that has layouts."""
    await saved(api, "abc", "A", elements={}, layout={"kind": "GridLayout"}, version=3)
    _, found = await api("GET", f"{STORED.replace('v0alpha1', 'v2alpha1')}/abc")
    assert (found["spec"]["layout"], found["spec"]["version"]) == ({"kind": "GridLayout"}, 3)
    assert (await api("GET", f"{STORED}/abc"))[1]["status"]["conversion"]["storedVersion"] == "v2alpha1"
    assert (await api("GET", "/api/dashboards/uid/abc"))[1]["dashboard"]["layout"] == {"kind": "GridLayout"}


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
        ({"dashboard": {"title": "A", "id": "1"}}, 400, "uid must be a text"),
        ({"dashboard": {"title": "A", "uid": 5}}, 400, "uid must be a text"),
        ({"dashboard": {"title": "A", "uid": "x", "id": 77}}, 404, "Dashboard not found"),
        ({"dashboard": {"title": "A"}, "folderUid": "none"}, 404, "folder not found"),
        ({"dashboard": []}, 400, "bad request data"),
        ({}, 400, "bad request data"),
        ([], 400, "bad request data"),
    ],
)
async def test_what_cannot_be_saved_is_refused(api: Api, body: Any, status: int, message: str) -> None:
    """In the words that existing clients show."""
    found, answer = await api("POST", "/api/dashboards/db", body)
    assert found == status
    assert answer["message"].startswith(message)


async def test_a_folder_is_made_read_and_removed(api: Api) -> None:
    """A used uid is 412; a folder inside another one is deleted with it."""
    made = await folder(api, "f1", "Test drive")
    assert (made["uid"], made["url"], made["version"], made["createdBy"]) == ("f1", "/dashboards/f/f1/test-drive", 1, "admin")
    assert await api("GET", "/api/folders/f1") == (200, made)
    assert (await api("POST", "/api/folders", {"uid": "f1", "title": "Again"}))[0] == 412
    inner = await folder(api, "f2", "Inner", parentUid="f1")
    assert inner["parentUid"] == "f1"
    deleted = {"id": made["id"], "title": "Test drive", "message": "Folder Test drive deleted"}
    assert await api("DELETE", "/api/folders/f1?forceDeleteRules=true") == (200, deleted)
    for uid in ("f1", "f2"):
        for method in ("GET", "DELETE"):
            assert await api(method, f"/api/folders/{uid}") == (404, {"message": "folder not found"})
    assert await api("POST", "/api/folders", {"title": ""}) == (400, {"message": "folder title cannot be empty"})
    assert await api("POST", "/api/folders", {"title": "A", "parentUid": "none"}) == (404, {"message": "folder not found"})
    assert await api("POST", "/api/folders", {"title": 5}) == (400, {"message": "bad request data"})


async def test_folders_are_listed_by_where_they_lie(api: Api) -> None:
    """At the root, or in the folder that is named; one that does not exist is 404."""
    for uid, title, parent in (("b", "Beta", ""), ("a", "alpha", ""), ("c", "Inner", "b")):
        await folder(api, uid, title, parentUid=parent)
    await saved(api, "d1", "A dashboard")

    async def listed(query: str) -> list[tuple[str, str | None]]:
        status, body = await api("GET", f"/api/folders?{query}")
        assert status == 200, body
        return [(item["uid"], item.get("parentUid")) for item in body]

    assert await listed("") == [("a", None), ("b", None)]
    assert await listed("parentUid=b") == [("c", "b")]
    assert await listed("limit=1&page=2") == [("b", None)]
    assert await api("GET", "/api/folders?parentUid=none") == (404, {"message": "folder not found"})


async def test_roles_decide_what_is_found_and_changed(api: Api) -> None:
    """A Viewer reads and changes nothing; who has no role finds nothing; another organization has its own objects."""
    await saved(api, "d1", "A")
    viewer, nobody = await api.person("viewer", Role.VIEWER), await api.person("nobody", Role.NONE)
    assert len((await api("GET", "/api/search", auth=viewer))[1]) == 1
    assert (await api("GET", "/api/dashboards/uid/d1", auth=viewer))[1]["meta"]["canSave"] is False
    assert await api("GET", "/api/search", auth=nobody) == (200, [])
    assert (await api("GET", "/api/dashboards/uid/d1", auth=nobody))[0] == 403
    for method, path in (("POST", "/api/dashboards/db"), ("DELETE", "/api/dashboards/uid/d1"), ("POST", "/api/folders")):
        assert (await api(method, path, {} if method == "POST" else None, auth=viewer))[0] == 403
    writer = await api.person("writer", Role.VIEWER, ("dashboards:write", "*"))
    body = {"dashboard": {"uid": "d1", "title": "B"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", body, auth=writer))[0] == 200
    assert (await api("POST", "/api/dashboards/db", {"dashboard": {"title": "New"}}, auth=writer))[0] == 403
    elsewhere = await api.person("elsewhere", Role.ADMIN, org_id=await api.organization("Second"))
    assert await api("GET", "/api/search", auth=elsewhere) == (200, [])
    assert (await api("GET", "/api/dashboards/uid/d1", auth=elsewhere))[0] == 404


async def test_managed_objects_are_not_changed_here(api: Api) -> None:
    """They are changed in their files. Responses mark what a repository or a file provisions, not what other tools manage."""
    await saved(api, "d1", "A")
    marks = '{"grafana.app/managedBy": "repo", "grafana.app/managerId": "team"}'
    async with api.database.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(1, 1)")
        await connection.execute("update resource set annotations = $1::text::jsonb", marks)
    for method, path in (("POST", "/api/dashboards/db"), ("DELETE", "/api/dashboards/uid/d1")):
        body = {"dashboard": {"uid": "d1", "title": "B"}, "overwrite": True} if method == "POST" else None
        status, answer = await api(method, path, body)
        assert (status, "managed by the repository" in answer["message"]) == (403, True)
    assert (await api("GET", "/api/dashboards/uid/d1"))[1]["meta"]["provisioned"] is True
    for manager, provisioned in (("classic-file-provisioning", True), ("terraform", False)):
        async with api.database.transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock(1, 1)")
            await connection.execute("update resource set annotations = jsonb_build_object('grafana.app/managedBy', $1::text)", manager)
        assert (await api("GET", "/api/dashboards/uid/d1"))[1]["meta"]["provisioned"] is provisioned


async def test_the_quota_of_dashboards_holds_here_too(api: Api) -> None:
    """A new one above the limit is refused, and a save of one that is there never."""
    await saved(api, "d1", "A")
    await api.sql("""insert into quota (org_id, target, "limit") values (1, 'dashboard', 1)""")
    status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"title": "B"}})
    assert (status, answer["message"], answer["extra"]["limit"]) == (403, "Quota reached", 1)
    assert (await saved(api, "d1", "B"))["version"] == 2


async def test_each_change_is_on_record(api: Api) -> None:
    """The audit has an event with the name of the classic operation and the object."""
    await folder(api, "f1", "F")
    await saved(api, "d1", "A")
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
