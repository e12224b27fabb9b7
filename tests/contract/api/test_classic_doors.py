"""The classic API's thin doors to dashboards, folders and the search over both."""

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
    status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"id": None, "uid": "", "title": "A"}})
    assert (status, len(answer["uid"]), answer["folderUid"]) == (200, 14, "")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"dashboard": {"title": " "}}, 400, "Dashboard title cannot be empty"),
        ({"dashboard": {"title": "A", "uid": "a b"}}, 400, "uid contains illegal characters"),
        ({"dashboard": {"title": "A", "uid": 5}}, 400, "uid must be a text"),
        ({"dashboard": {"title": "A", "uid": "x", "id": 77}}, 404, "Dashboard not found"),
        ({"dashboard": {"title": "A"}, "folderUid": "none"}, 404, "folder not found"),
        ({"dashboard": []}, 400, "bad request data"),
        ({}, 400, "bad request data"),
        ([], 400, "bad request data"),
    ],
)
async def test_what_cannot_be_saved_is_refused(api: Api, body: Any, status: int, message: str) -> None:
    found, answer = await api("POST", "/api/dashboards/db", body)
    assert found == status
    assert answer["message"].startswith(message)


async def test_a_folder_is_made_read_and_removed(api: Api) -> None:
    """A taken uid is 412; a folder lies in another one, and goes with it."""
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


async def test_a_search_finds_by_title_type_tag_folder_and_star(api: Api) -> None:
    """Folders first, then by title; each item with the same number and address as its own answer; numbers serve as filters, too."""
    made = await folder(api, "f1", "Beta folder")
    first = await saved(api, "d1", "alpha", folder="f1", tags=["x", "y"])
    await saved(api, "d2", "Gamma", tags=["x"], note="\0 is escaped in a body")
    await api.sql("insert into star (user_id, org_id, dashboard_uid) values (1, 1, 'd2')")

    async def found(query: str) -> list[str]:
        status, body = await api("GET", f"/api/search?{query}")
        assert status == 200, body
        return [item["uid"] for item in body]

    assert await found("") == ["f1", "d1", "d2"]
    assert await found("sort=alpha-desc") == ["f1", "d2", "d1"]
    assert await found("query=AM") == ["d2"]
    assert await found("type=dash-db") == ["d1", "d2"]
    assert await found("type=dash-folder") == ["f1"]
    assert await found("tag=x") == ["d1", "d2"]
    assert await found("tag=x&tag=y") == ["d1"]
    assert await found("folderUIDs=f1") == ["d1"]
    assert await found("folderUIDs=general") == ["f1", "d2"]
    assert await found(f"folderIds={made['id']}") == ["d1"]
    assert await found("folderIds=0") == ["f1", "d2"]
    assert await found(f"folderIds={made['id']}&type=dash-folder") == ["f1"]
    assert await found(f"folderIds={made['id']}&type=dash-db") == ["d1"]
    assert await found(f"dashboardIds={first['id']}") == ["d1"]
    assert await found("dashboardIds=none") == []
    assert await found("dashboardUIDs=d1&dashboardUIDs=d2") == ["d1", "d2"]
    assert await found("starred=true") == ["d2"]
    assert await found("limit=1&page=2") == ["d1"]
    assert await found("limit=0&page=0") == ["f1", "d1", "d2"]
    assert await found("limit=1&page=9") == []
    _, body = await api("GET", "/api/search?dashboardUIDs=d1")
    assert body == [
        {
            "id": first["id"],
            "uid": "d1",
            "orgId": 1,
            "title": "alpha",
            "uri": "db/alpha",
            "url": "/d/d1/alpha",
            "slug": "",
            "type": "dash-db",
            "tags": ["x", "y"],
            "isStarred": False,
            "sortMeta": 0,
            "isDeleted": False,
            "folderId": made["id"],
            "folderUid": "f1",
            "folderTitle": "Beta folder",
            "folderUrl": made["url"],
        }
    ]


async def test_a_search_may_come_as_a_body(api: Api) -> None:
    """With the same members as the query; what does not fit is refused, and a limit out of range is the default or the largest."""
    made = await folder(api, "f1", "F")
    one = await saved(api, "d1", "A", folder="f1", tags=["x"])
    await saved(api, "d2", "B", tags=["x", "y"])

    async def found(**body: Any) -> list[str]:
        status, answer = await api("POST", "/api/search", body)
        assert status == 200, answer
        return [item["uid"] for item in answer]

    assert await found() == ["f1", "d1", "d2"]
    assert await found(tag=["x"], folderUIDs=["general"]) == ["d2"]
    assert await found(dashboardIds=[one["id"]], limit=0, page=0) == ["d1"]
    assert await found(folderIds=[made["id"]]) == ["d1"]
    assert await found(dashboardUIDs=["d2"], query="b", type=["dash-db"], starred=False) == ["d2"]
    assert await found(sort="alpha-desc", limit=10**12, page=1) == ["f1", "d2", "d1"]
    unfit: list[Any] = [{"tag": "x"}, {"limit": "5"}, {"query": "a\0"}, {"dashboardIds": [2**64]}, [], {"sort": "size"}]
    for body in unfit:
        assert await api("POST", "/api/search", body) == (400, {"message": "bad request data"})


async def test_a_search_for_another_type_fails(api: Api) -> None:
    """Existing clients know it as a failure of the server."""
    for status, answer in (await api("GET", "/api/search?type=unknown"), await api("POST", "/api/search", {"type": ["dash-db", "x"]})):
        assert (status, answer["message"].startswith("Search failed")) == (500, True)


async def test_tags_are_counted_by_dashboard(api: Api) -> None:
    """In order; a tag that a dashboard names twice counts once; another organization and who may read nothing see none."""
    await saved(api, "d1", "A", tags=["foobar", "bazqux", "foobar"])
    await saved(api, "d2", "B", tags=["foobar", 5, "a\0b"])
    expected = [{"term": "bazqux", "count": 1}, {"term": "foobar", "count": 2}]
    assert await api("GET", "/api/dashboards/tags") == (200, expected)
    assert await api("GET", "/api/dashboards/tags", auth=await api.person("nobody", Role.NONE)) == (200, [])
    elsewhere = await api.person("elsewhere", Role.ADMIN, org_id=await api.organization("Second"))
    assert await api("GET", "/api/dashboards/tags", auth=elsewhere) == (200, [])


async def test_home_is_what_was_chosen(api: Api) -> None:
    """By the user, else by a team of theirs, else by the organization; otherwise, or if it has gone, a dashboard that is built in."""
    path = "/api/dashboards/home"
    status, home = await api("GET", path)
    assert (status, home["dashboard"]["title"], home["meta"]["isHome"], home["meta"]["canSave"]) == (200, "Home", True, False)
    numbers = {uid: (await saved(api, uid, f"Of {uid}"))["id"] for uid in ("user", "team", "org")}
    kim = await api.person("kim", Role.VIEWER)
    team = (await api("POST", "/api/teams", {"name": "Crew"}))[1]["teamId"]
    kim_id = await api.sql("""select id from "user" where login = 'kim'""")
    assert (await api("POST", f"/api/teams/{team}/members", {"userId": kim_id}))[0] == 200
    account = f"Bearer {(await api.token(await api.account('robot'), 't'))[1]}"
    for owner, auth in (("org", None), (f"teams/{team}", None), ("user", kim)):
        chosen = owner.partition("/")[0].rstrip("s")
        options = {} if auth is None else {"auth": auth}
        assert (await api("PUT", f"/api/{owner}/preferences", {"homeDashboardId": numbers[chosen]}, **options))[0] == 200
        assert await api("GET", path, auth=kim) == (200, {"redirectUri": f"/d/{chosen}/of-{chosen}"})
        assert await api("GET", path, auth=account) == (200, {"redirectUri": "/d/org/of-org"})
    await api("DELETE", "/api/dashboards/uid/user")
    assert (await api("GET", path, auth=kim))[1] == {"redirectUri": "/d/team/of-team"}
    nobody = await api.person("nobody", Role.NONE)
    assert (await api("GET", path, auth=nobody))[1]["dashboard"]["title"] == "Home"


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


async def test_what_a_repository_manages_is_not_changed_here(api: Api) -> None:
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


async def test_the_quota_of_dashboards_holds_here_too(api: Api) -> None:
    """A new one above the limit is refused, and a save of one that is there never."""
    await saved(api, "d1", "A")
    await api.sql("""insert into quota (org_id, target, "limit") values (1, 'dashboard', 1)""")
    status, answer = await api("POST", "/api/dashboards/db", {"dashboard": {"title": "B"}})
    assert (status, answer["message"], answer["extra"]["limit"]) == (403, "Quota reached", 1)
    assert (await saved(api, "d1", "B"))["version"] == 2


async def test_each_change_is_on_record(api: Api) -> None:
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
