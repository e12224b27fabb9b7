"""The search over dashboards and folders, tags, and the home dashboard."""

from typing import Any

from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.test_classic_api import folder, save_dashboard
from tests.contract.api.test_folder_permissions import EDIT, VIEW

from dashwright.common.identity import Role


async def test_a_search_finds_by_title_type_tag_folder_and_star(api: Api) -> None:
    """Folders come first, and then objects are sorted by title.

    Each item has the same id and URL as in a single read, and ids are filters, too.
    """
    created = await folder(api, "f1", "Beta folder")
    first = await save_dashboard(api, "d1", "alpha", folder="f1", tags=["x", "y"])
    await save_dashboard(api, "d2", "Gamma", tags=["x"], note="\0 is escaped in a body")
    await api.sql("insert into star (user_id, org_id, dashboard_uid) values (1, 1, 'd2')")

    async def search(query: str) -> list[str]:
        """Return the uids of the hits."""
        status, body = await api("GET", f"/api/search?{query}")
        assert status == 200, body
        return [item["uid"] for item in body]

    assert await search("") == ["f1", "d1", "d2"]
    assert await search("sort=alpha-desc") == ["f1", "d2", "d1"]
    assert await search("query=AM") == ["d2"]
    assert await search("type=dash-db") == ["d1", "d2"]
    assert await search("type=dash-folder") == ["f1"]
    assert await search("tag=x") == ["d1", "d2"]
    assert await search("tag=x&tag=y") == ["d1"]
    assert await search("folderUIDs=f1") == ["d1"]
    assert await search("folderUIDs=general") == ["f1", "d2"]
    assert await search(f"folderIds={created['id']}") == ["d1"]
    assert await search("folderIds=0") == ["f1", "d2"]
    assert await search(f"folderIds={created['id']}&type=dash-folder") == ["f1"]
    assert await search(f"folderIds={created['id']}&type=dash-db") == ["d1"]
    assert await search(f"dashboardIds={first['id']}") == ["d1"]
    assert await search("dashboardIds=none") == []
    assert await search("dashboardUIDs=d1&dashboardUIDs=d2") == ["d1", "d2"]
    assert await search("starred=true") == ["d2"]
    assert await search("limit=1&page=2") == ["d1"]
    assert await search("limit=0&page=0") == ["f1", "d1", "d2"]
    assert await search("limit=1&page=9") == []
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
            "folderId": created["id"],
            "folderUid": "f1",
            "folderTitle": "Beta folder",
            "folderUrl": created["url"],
        }
    ]


async def test_a_search_may_be_sent_as_a_body(api: Api) -> None:
    """A POST has the parameters of a search as members of its body. Invalid values are rejected, and a limit out of range is adjusted."""
    created = await folder(api, "f1", "F")
    first = await save_dashboard(api, "d1", "A", folder="f1", tags=["x"])
    await save_dashboard(api, "d2", "B", tags=["x", "y"])

    async def search(**body: Any) -> list[str]:
        """Return the uids of the hits."""
        status, response = await api("POST", "/api/search", body)
        assert status == 200, response
        return [item["uid"] for item in response]

    assert await search() == ["f1", "d1", "d2"]
    assert await search(tag=["x"], folderUIDs=["general"]) == ["d2"]
    assert await search(dashboardIds=[first["id"]], limit=0, page=0) == ["d1"]
    assert await search(folderIds=[created["id"]]) == ["d1"]
    assert await search(dashboardUIDs=["d2"], query="b", type=["dash-db"], starred=False) == ["d2"]
    assert await search(sort="alpha-desc", limit=10**12, page=1) == ["f1", "d2", "d1"]
    invalid_bodies: list[Any] = [{"tag": "x"}, {"limit": "5"}, {"query": "a\0"}, {"dashboardIds": [2**64]}, [], {"sort": "size"}]
    for body in invalid_bodies:
        assert await api.message("POST", "/api/search", body) == (400, "bad request data")


async def test_deleted_dashboards_are_found_until_restored(api: Api) -> None:
    """Admins find all deleted dashboards, and other callers only dashboards that they deleted themselves.

    Each result has the date of its final deletion. Of several dashboards with one uid, the last deleted dashboard is found.
    """
    created_folder = await folder(api, "f1", "F")
    for uid, title, folder_uid in (("d1", "beta", ""), ("d2", "Alpha", "f1"), ("d3", "Here", "")):
        await save_dashboard(api, uid, title, folder=folder_uid)
    await api("DELETE", "/api/dashboards/uid/d1")
    await save_dashboard(api, "d1", "Gamma")
    for uid in ("d1", "d2"):
        await api("DELETE", f"/api/dashboards/uid/{uid}")
    editor, viewer = await api.person("editor", Role.EDITOR), await api.person("viewer", Role.VIEWER)

    async def search(query: str = "", **options: Any) -> list[tuple[str, str]]:
        """Return uid and title of each deleted dashboard that is found."""
        status, body = await api("GET", f"/api/search?deleted=true&{query}", **options)
        assert status == 200, body
        assert all(item["isDeleted"] and item["permanentlyDeleteDate"].startswith("20") for item in body)
        return [(item["uid"], item["title"]) for item in body]

    assert await search() == [("d2", "Alpha"), ("d1", "Gamma")]
    assert await search("query=GAM") == [("d1", "Gamma")]
    assert await search("folderUIDs=f1") == [("d2", "Alpha")]
    assert await search("dashboardUIDs=d1&limit=1") == [("d1", "Gamma")]
    assert await search("limit=1&page=2") == [("d1", "Gamma")]
    assert await search("type=dash-folder") == []
    assert (await api("POST", "/api/search", {"deleted": True, "dashboardUIDs": ["d2"]}))[1][0]["folderId"] == created_folder["id"]
    assert (await api("POST", "/api/folders/f1/permissions", {"items": []}))[0] == 200
    assert await search(auth=viewer) == await search(auth=editor) == []
    assert (await api("DELETE", "/api/dashboards/uid/d3", auth=editor))[0] == 200
    assert await search(auth=editor) == [("d3", "Here")]
    assert await search(auth=viewer) == []
    assert await search(auth=await api.person("unprivileged", Role.NONE)) == []
    assert (await api("PATCH", "/api/dashboards/uid/d1/trash", {}))[0] == 200
    assert await search() == [("d2", "Alpha"), ("d3", "Here")]


async def test_a_search_for_another_type_fails(api: Api) -> None:
    """A search for an unknown type returns 500, as in Grafana."""
    for status, response in (await api("GET", "/api/search?type=unknown"), await api("POST", "/api/search", {"type": ["dash-db", "x"]})):
        assert status == 500
        assert response["message"].startswith("Search failed")


async def test_tags_are_counted_by_dashboard(api: Api) -> None:
    """Tags are sorted and counted once per dashboard, only for dashboards of the organization that the caller may read."""
    await save_dashboard(api, "d1", "A", tags=["foobar", "bazqux", "foobar"])
    await save_dashboard(api, "d2", "B", tags=["foobar", 5, "a\0b"])
    expected = [{"term": "bazqux", "count": 1}, {"term": "foobar", "count": 2}]
    assert await api("GET", "/api/dashboards/tags") == (200, expected)
    assert await api("GET", "/api/dashboards/tags", auth=await api.person("unprivileged", Role.NONE)) == (200, [])
    admin_of_other_org = await api.person("elsewhere", Role.ADMIN, org_id=await api.organization("Second"))
    assert await api("GET", "/api/dashboards/tags", auth=admin_of_other_org) == (200, [])


async def test_the_home_dashboard_is_chosen_by_user_team_and_organization(api: Api) -> None:
    """The home dashboard is the user's, else a team's, else the organization's, else the built-in one."""
    path = "/api/dashboards/home"
    status, home = await api("GET", path)
    assert status == 200
    assert home["dashboard"]["title"] == "Home"
    assert home["meta"]["isHome"] is True
    assert home["meta"]["canSave"] is False
    numbers = {uid: (await save_dashboard(api, uid, f"Of {uid}"))["id"] for uid in ("user", "team", "org")}
    kim = await api.person("kim", Role.VIEWER)
    team = (await api("POST", "/api/teams", {"name": "Crew"}))[1]["teamId"]
    kim_id = await api.sql("""select id from "user" where login = 'kim'""")
    assert (await api("POST", f"/api/teams/{team}/members", {"userId": kim_id}))[0] == 200
    account = f"Bearer {(await api.token(await api.account('robot'), 't'))[1]}"
    for level, owner, auth in (("org", "org", ADMIN), ("team", f"teams/{team}", ADMIN), ("user", "user", kim)):
        assert (await api("PUT", f"/api/{owner}/preferences", {"homeDashboardId": numbers[level]}, auth=auth))[0] == 200
        assert await api("GET", path, auth=kim) == (200, {"redirectUri": f"/d/{level}/of-{level}"})
        assert await api("GET", path, auth=account) == (200, {"redirectUri": "/d/org/of-org"})
    await api("DELETE", "/api/dashboards/uid/user")
    assert (await api("GET", path, auth=kim))[1] == {"redirectUri": "/d/team/of-team"}
    unprivileged = await api.person("unprivileged", Role.NONE)
    assert (await api("GET", path, auth=unprivileged))[1]["dashboard"]["title"] == "Home"


async def test_access_rules_limit_the_search(api: Api) -> None:
    """A Viewer finds neither a folder without access, nor its tags and dashboards, except for a dashboard with a rule of its own."""
    hidden = await folder(api, "f1", "Hidden")
    await folder(api, "f2", "Open")
    for uid, folder_uid in (("d1", "f1"), ("d2", "f2"), ("d3", "f1"), ("d4", "")):
        await save_dashboard(api, uid, uid, folder=folder_uid, tags=[f"of {uid}"])
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    only_editors = {"items": [{"role": "Editor", "permission": EDIT}]}
    assert (await api("POST", "/api/folders/f1/permissions", only_editors))[0] == 200
    assert (await api("POST", "/api/dashboards/uid/d3/permissions", {"items": [{"role": "Viewer", "permission": VIEW}]}))[0] == 200

    async def search_folders(query: str, auth: str) -> dict[str, str | None]:
        """Return the folders of the hits, by uid. The root, and a folder that the caller may not read, is None."""
        status, body = await api("GET", f"/api/search?{query}", auth=auth)
        assert status == 200, body
        return {item["uid"]: item.get("folderUid") for item in body}

    assert await search_folders("", viewer) == {"f2": None, "d2": "f2", "d3": None, "d4": None}
    assert await search_folders("", editor) == {"f1": None, "f2": None, "d1": "f1", "d2": "f2", "d3": "f1", "d4": None}
    assert await search_folders("folderUIDs=f1", viewer) == {"d3": None}
    assert await search_folders(f"folderIds={hidden['id']}", viewer) == {}
    assert await search_folders("dashboardUIDs=d1", viewer) == {}
    assert [item["term"] for item in (await api("GET", "/api/dashboards/tags", auth=viewer))[1]] == ["of d2", "of d3", "of d4"]
    assert (await api("PUT", "/api/org/preferences", {"homeDashboardUID": "d1"}))[0] == 200
    assert (await api("GET", "/api/dashboards/home", auth=editor))[1] == {"redirectUri": "/d/d1/d1"}
    assert (await api("GET", "/api/dashboards/home", auth=viewer))[1]["meta"]["isHome"] is True
