"""Access rules of folders and dashboards: set through the classic API and effective everywhere at the next request."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi
from tests.contract.api.watching import current_version, watching

from dashwright.common.identity import Role

DASHBOARDS = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/dashboards"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
#: The permissions View, Edit and Admin of access rules, as Grafana numbers them.
VIEW, EDIT, ADMINISTER = 1, 2, 4


async def folder(api: Api, uid: str, parent: str = "") -> None:
    """Create a folder in a parent folder."""
    status, response = await api("POST", "/api/folders", {"uid": uid, "title": f"Folder {uid}", "parentUid": parent})
    assert status == 200, response


async def dashboard(api: Api, uid: str, folder: str = "") -> int:
    """Create a dashboard in a folder and return its id."""
    body = {"dashboard": {"uid": uid, "title": f"Dashboard {uid}"}, "folderUid": folder}
    status, response = await api("POST", "/api/dashboards/db", body)
    assert status == 200, response
    dashboard_id: int = response["id"]
    return dashboard_id


async def allow(api: Api, object_path: str, *items: dict[str, Any], auth: str = ADMIN) -> None:
    """Replace the access rules of an object. Their ``permission`` is VIEW, EDIT or ADMINISTER."""
    status, response = await api("POST", f"/api/{object_path}/permissions", {"items": list(items)}, auth=auth)
    assert status == 200, response


async def number_of(api: Api, login: str) -> int:
    """Return the id of the user with a login."""
    user_id: int = await api.sql("""select id from "user" where login = $1""", login)
    return user_id


async def team_of(api: Api, name: str, *logins: str) -> int:
    """Create a team with these members and return its id."""
    team_id: int = (await api("POST", "/api/teams", {"name": name}))[1]["teamId"]
    for login in logins:
        assert (await api("POST", f"/api/teams/{team_id}/members", {"userId": await number_of(api, login)}))[0] == 200
    return team_id


async def can_read(api: Api, auth: str, name: str, *, kind: str = "dashboards") -> bool:
    """Return whether a caller may read a dashboard or folder."""
    status, response = await api("GET", f"{DASHBOARDS if kind == 'dashboards' else FOLDERS}/{name}", auth=auth)
    assert status in (200, 403), response
    return status == 200


async def test_default_permissions_are_listed(api: Api) -> None:
    """The list has Admins first, then the default permissions of the roles. Below a folder at the root, the permissions are inherited."""
    await folder(api, "f")
    await folder(api, "g", "f")
    dashboard_id = await dashboard(api, "d", "f")
    expected = [("Admin", "Admin", 4), ("Editor", "Edit", 2), ("Viewer", "View", 1)]
    for object_path, uid, inherited in (
        ("folders/f", "f", False),
        ("folders/g", "g", True),
        ("dashboards/uid/d", "d", True),
        (f"dashboards/id/{dashboard_id}", "d", True),
    ):
        status, items = await api("GET", f"/api/{object_path}/permissions")
        assert status == 200
        assert [(item["role"], item["permissionName"], item["permission"]) for item in items] == expected, object_path
        assert {item["inherited"] for item in items} == {inherited}
        assert {item["uid"] for item in items} == {uid}


async def test_a_posted_list_is_returned(api: Api) -> None:
    """Rules of a role, a team and a user are set by uid and by id, and are returned. Inherited rules name their folder."""
    viewer = await api.person("vic", Role.VIEWER)
    team = await team_of(api, "Team", "vic")
    await folder(api, "f")
    dashboard_id = await dashboard(api, "d", "f")
    items = [
        {"role": "Viewer", "permission": VIEW},
        {"role": "Editor", "permission": EDIT},
        {"teamId": team, "permission": VIEW},
        {"userId": 1, "permission": ADMINISTER},
    ]
    for object_path, message in (
        ("folders/f", "Folder permissions updated"),
        ("dashboards/uid/d", "Dashboard permissions updated"),
        (f"dashboards/id/{dashboard_id}", "Dashboard permissions updated"),
    ):
        assert await api("POST", f"/api/{object_path}/permissions", {"items": items}) == (200, {"message": message})
    _, permissions = await api("GET", "/api/folders/f/permissions")
    assert len(permissions) == 4
    assert (permissions[0]["userId"], permissions[0]["userLogin"], permissions[0]["permissionName"]) == (1, "admin", "Admin")
    assert {(item["teamId"], item["team"]) for item in permissions} == {(0, ""), (team, "Team")}
    _, permissions = await api("GET", "/api/dashboards/uid/d/permissions")
    inherited = [item for item in permissions if item["inherited"]]
    # The four rules of the dashboard, and four that are inherited from the folder.
    assert len(permissions) == 8
    assert {(item["uid"], item["title"], item["isFolder"], item["url"]) for item in inherited} == {
        ("f", "Folder f", True, "/dashboards/f/f/folder-f")
    }
    assert await can_read(api, viewer, "d")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"permission": VIEW}, "give one of userId"),
        ({"role": "Viewer", "userId": 1, "permission": VIEW}, "give one of userId"),
        ({"role": "Viewer", "permission": 3}, "permission 3 is unknown"),
        ({"role": "None", "permission": VIEW}, "role 'None'"),
        ({"userId": 4711, "permission": VIEW}, "user not found"),
        ({"teamId": 4711, "permission": VIEW}, "team not found"),
        ({"role": 5}, "bad request data"),
    ],
)
async def test_invalid_rules_are_rejected(api: Api, item: dict[str, Any], message: str) -> None:
    """Invalid rules, users of other organizations and duplicates are rejected, and nothing changes."""
    await folder(api, "f")
    status, response = await api("POST", "/api/folders/f/permissions", {"items": [item]})
    assert status == 400, response
    assert message in response["message"], response
    twice = {"items": [{"role": "Viewer", "permission": VIEW}, {"role": "Viewer", "permission": EDIT}]}
    assert (await api("POST", "/api/folders/f/permissions", twice))[0] == 400
    await api.person("other", Role.VIEWER, org_id=await api.organization("Other"))
    body = {"items": [{"userId": await number_of(api, "other"), "permission": VIEW}]}
    assert await api("POST", "/api/folders/f/permissions", body) == (400, {"message": "user not found"})
    assert await api.sql("select count(*) from access_list") == 0


async def test_unknown_objects_have_no_rules(api: Api) -> None:
    """Reading and setting the rules of an unknown object is 404 with the message of its kind."""
    for object_path, message in (
        ("folders/x", "folder not found"),
        ("dashboards/uid/x", "Dashboard not found"),
        ("dashboards/id/7", "Dashboard not found"),
    ):
        assert await api("GET", f"/api/{object_path}/permissions") == (404, {"message": message})
        assert await api("POST", f"/api/{object_path}/permissions", {"items": []}) == (404, {"message": message})


async def test_rules_at_the_root_replace_and_rules_below_add(api: Api) -> None:
    """An empty list at the root leaves Admins only. A rule further down adds permissions there."""
    viewer, editor = await api.person("vic", Role.VIEWER), await api.person("eve", Role.EDITOR)
    await folder(api, "f")
    await folder(api, "g", "f")
    await dashboard(api, "d", "f")
    await dashboard(api, "e", "g")
    await dashboard(api, "top")
    assert all([await can_read(api, viewer, name) for name in ("d", "e", "top")])
    await allow(api, "folders/f")
    for auth in (viewer, editor):
        assert [await can_read(api, auth, name) for name in ("d", "e", "top")] == [False, False, True]
        assert [await can_read(api, auth, name, kind="folders") for name in ("f", "g")] == [False, False]
    await allow(api, "folders/g", {"role": "Viewer", "permission": VIEW})
    for auth in (viewer, editor):
        assert [await can_read(api, auth, name) for name in ("d", "e", "top")] == [False, True, True]
        assert [await can_read(api, auth, name, kind="folders") for name in ("f", "g")] == [False, True]
    await allow(api, "dashboards/uid/d", {"userId": await number_of(api, "vic"), "permission": VIEW})
    assert [await can_read(api, viewer, "d"), await can_read(api, editor, "d")] == [True, False]
    await allow(api, "dashboards/uid/top")
    assert [await can_read(api, viewer, "top"), await can_read(api, ADMIN, "top")] == [False, True]


async def test_setting_rules_needs_level_admin(api: Api) -> None:
    """Level Admin on an object permits setting rules on it and below it. Callers without level Admin cannot read the rules either."""
    viewer = await api.person("vic", Role.VIEWER)
    await folder(api, "f")
    await folder(api, "g", "f")
    await folder(api, "h")
    item = {"userId": await number_of(api, "vic"), "permission": ADMINISTER}
    refused = (await api("GET", "/api/folders/f/permissions", auth=viewer))[1]
    assert refused["message"].endswith("folders.permissions:read")
    await allow(api, "folders/f", item)
    for uid, status in (("f", 200), ("g", 200), ("h", 403)):
        assert (await api("GET", f"/api/folders/{uid}/permissions", auth=viewer))[0] == status
        assert (await api("POST", f"/api/folders/{uid}/permissions", {"items": [item]}, auth=viewer))[0] == status
    for level in (VIEW, EDIT):
        await allow(api, "folders/f", {**item, "permission": level})
        assert (await api("GET", "/api/folders/f/permissions", auth=viewer))[0] == 403
    eve = await api.person("eve", Role.VIEWER, ("folders.permissions:read", "folders:uid:h"))
    assert (await api("GET", "/api/folders/h/permissions", auth=eve))[0] == 200
    assert (await api("POST", "/api/folders/h/permissions", {"items": []}, auth=eve))[0] == 403


@pytest.mark.parametrize("kind", ["folders", "dashboards"])
async def test_rules_are_set_one_by_one(api: Api, kind: str) -> None:
    """The first rule on an object at the root is added to the default rules of the roles. An empty level removes a rule.

    An unknown user, team, role or level is refused with a message that names it.
    """
    viewer = await api.person("vic", Role.VIEWER)
    if kind == "folders":
        await folder(api, "x")
    else:
        await dashboard(api, "x")
    team, user_id = await team_of(api, "Team", "vic"), await number_of(api, "vic")
    object_path = f"/api/access-control/{kind}/x"
    # A body without the member ``permission`` removes the rule.
    assert await api("POST", f"{object_path}/users/{user_id}", {"items": [{"permission": VIEW}]}) == (
        200,
        {"message": "Permission removed"},
    )
    assert await api.sql("select count(*) from access_list") == 0
    assert await api("POST", f"{object_path}/users/{user_id}", {"permission": "Edit"}) == (200, {"message": "Permission updated"})
    expected_rules = {(None, None, "Editor", "Edit"), (None, None, "Viewer", "View"), (user_id, None, None, "Edit")}

    async def list_rules() -> set[tuple[Any, ...]]:
        """Return user, team, role and permission of each rule."""
        permissions = (await api("GET", object_path))[1]
        return {(item.get("userId"), item.get("teamId"), item.get("builtInRole"), item["permission"]) for item in permissions}

    assert await list_rules() == expected_rules
    assert await api("POST", f"{object_path}/builtInRoles/Viewer", {"permission": ""}) == (200, {"message": "Permission removed"})
    assert await api("POST", f"{object_path}/teams/{team}", {"permission": "Admin"}) == (200, {"message": "Permission updated"})
    assert await list_rules() == expected_rules - {(None, None, "Viewer", "View")} | {(None, team, None, "Admin")}
    assert (await api("GET", object_path, auth=viewer))[0] == 200
    for path, body, message in (
        ("users/12345", {"permission": ""}, "user not found"),
        ("users/x", {"permission": "View"}, "user not found"),
        ("teams/12345", {"permission": "View"}, "team not found"),
        ("builtInRoles/Boss", {"permission": "View"}, "role 'Boss' has no permissions of its own; give one of Viewer, Editor, Admin"),
        (f"users/{user_id}", {"permission": "All"}, "permission 'All' is unknown: give View, Edit, Admin or nothing"),
    ):
        assert await api("POST", f"{object_path}/{path}", body) == (400, {"message": message})
    complete_list = {"permissions": [{"builtInRole": "Viewer", "permission": "Edit"}, {"userId": user_id, "permission": ""}]}
    assert await api("POST", object_path, complete_list) == (200, {"message": "Permissions updated"})
    assert await list_rules() == {(None, None, "Viewer", "Edit")}
    described = (await api("GET", f"/api/access-control/{kind}/description"))[1]
    assert described["permissions"] == ["View", "Edit", "Admin"]


async def test_only_real_changes_of_rules_are_recorded(api: Api) -> None:
    """A change of rules writes one change and one audit event. An equal list writes neither."""
    await folder(api, "f")
    count_changes = (
        "select count(*) from change where api_group = 'access' and resource = 'permissions' and namespace = 'default' and name = 'f'"
    )
    count_events = "select count(*) from audit_event where action = 'folder.permissions.update' and object = 'folder:f'"
    for body, count in (
        ({"role": "Viewer", "permission": VIEW}, 1),
        ({"role": "Viewer", "permission": VIEW}, 1),
        ({"role": "Viewer", "permission": EDIT}, 2),
    ):
        await allow(api, "folders/f", body)
        assert await api.sql(count_changes) == count
        assert await api.sql(count_events) == count
    # The equal list has taken no resource version.
    assert await api.sql("select max(resource_version) = (select last_value from resource_version) from change")


async def test_lists_contain_readable_objects(api: Api) -> None:
    """A list has the readable objects. A caller who may read no object gets 403 for the list, and an empty result of the classic search."""
    unprivileged = await api.person("none", Role.NONE)
    viewer = await api.person("vic", Role.VIEWER)
    await folder(api, "f")
    await dashboard(api, "d", "f")
    await dashboard(api, "top")
    assert (await api("GET", DASHBOARDS, auth=unprivileged))[0] == 403
    assert await api("GET", "/api/search", auth=unprivileged) == (200, [])
    await allow(api, "folders/f", {"userId": await number_of(api, "none"), "permission": VIEW})

    async def list_names(auth: str, path: str = DASHBOARDS) -> list[str]:
        """Return the names of the objects in a list."""
        status, response = await api("GET", path, auth=auth)
        assert status == 200, response
        return [item["metadata"]["name"] for item in response["items"]]

    async def search(auth: str) -> list[str]:
        """Return the uids of the hits."""
        return [item["uid"] for item in (await api("GET", "/api/search", auth=auth))[1]]

    assert await list_names(unprivileged) == ["d"]
    assert await list_names(unprivileged, FOLDERS) == ["f"]
    assert await search(unprivileged) == ["f", "d"]
    assert await list_names(viewer) == ["top"]
    assert await list_names(viewer, FOLDERS) == []
    assert await search(viewer) == ["top"]
    assert await list_names(ADMIN) == ["d", "top"]


async def test_revocations_apply_immediately_on_every_gateway(start_api: StartApi) -> None:
    """A deleted rule, membership, team or moved folder applies to the next request on every gateway."""
    first, second = await start_api(), await start_api()
    member_without_role = await first.person("vic", Role.NONE)
    user_id = await number_of(first, "vic")
    await folder(first, "f")
    await folder(first, "closed")
    await folder(first, "g")
    await dashboard(first, "d", "g")

    async def can_read_at_both() -> bool:
        """Wait until both gateways have equal rules, and return whether the member may read the dashboard."""
        # A notification of the gateway that wrote reaches the other gateway within milliseconds.
        async with asyncio.timeout(10):
            while True:
                at_first = await can_read(first, member_without_role, "d")
                at_second = await can_read(second, member_without_role, "d")
                if at_first == at_second:
                    return at_first

    assert not await can_read_at_both()
    await allow(first, "folders/g", {"userId": user_id, "permission": VIEW})
    assert await can_read_at_both()
    await allow(second, "folders/g")
    assert not await can_read_at_both()
    team = await team_of(first, "Team", "vic")
    await allow(first, "folders/g", {"teamId": team, "permission": VIEW})
    assert await can_read_at_both()
    assert (await second("DELETE", f"/api/teams/{team}/members/{user_id}"))[0] == 200
    assert not await can_read_at_both()
    assert (await first("POST", f"/api/teams/{team}/members", {"userId": user_id}))[0] == 200
    assert await can_read_at_both()
    assert (await second("DELETE", f"/api/teams/{team}"))[0] == 200
    assert not await can_read_at_both()
    await allow(first, "folders/f", {"userId": user_id, "permission": VIEW})
    assert (await second("POST", "/api/folders/g/move", {"parentUid": "f"}))[0] == 200
    assert await can_read_at_both()
    assert (await first("POST", "/api/folders/g/move", {"parentUid": "closed"}))[0] == 200
    assert not await can_read_at_both()


async def test_rules_end_with_the_membership_and_with_the_object(api: Api) -> None:
    """A user who leaves the organization and returns has no rules. A new folder with the name of a deleted folder has no rules either."""
    member_without_role = await api.person("vic", Role.NONE)
    user_id = await number_of(api, "vic")
    await folder(api, "f")
    await dashboard(api, "d", "f")
    await allow(api, "folders/f", {"userId": user_id, "permission": VIEW})
    assert await can_read(api, member_without_role, "d")
    assert (await api("DELETE", f"/api/org/users/{user_id}"))[0] == 200
    assert (await api("POST", "/api/org/users", {"loginOrEmail": "vic", "role": "None"}))[0] == 200
    assert not await can_read(api, member_without_role, "d")
    await allow(api, "folders/f", {"userId": user_id, "permission": VIEW})
    await allow(api, "dashboards/uid/d", {"userId": user_id, "permission": VIEW})
    assert (await api("DELETE", "/api/folders/f"))[0] == 200
    await folder(api, "f")
    await dashboard(api, "d", "f")
    assert not await can_read(api, member_without_role, "d")
    assert await api.sql("select count(*) from access_list") == 0


async def test_only_readable_dashboards_can_be_starred(api: Api) -> None:
    """Any permission to read a dashboard suffices to star it."""
    viewer, member_without_role = await api.person("vic", Role.VIEWER), await api.person("none", Role.NONE)
    await dashboard(api, "d")
    await allow(api, "dashboards/uid/d", {"userId": await number_of(api, "none"), "permission": VIEW})
    path = "/api/user/stars/dashboard/uid/d"
    assert await api("POST", path, auth=viewer) == (404, {"message": "Dashboard not found"})
    assert await api("POST", path, auth=member_without_role) == (200, {"message": "Dashboard starred!"})


async def test_a_watch_ends_when_visibility_changes(api: Api) -> None:
    """After a change of rules or a move, watches of callers who are limited by rules end with 410, also when they resume.

    Watches of Admins continue.
    """
    viewer = await api.person("vic", Role.VIEWER)
    await folder(api, "f")
    await folder(api, "closed")
    await allow(api, "folders/closed")
    await dashboard(api, "d", "f")
    start_version = await current_version(api)
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch, watching(api, resourceVersion=start_version) as admins:
        await dashboard(api, "e", "f")
        await dashboard(api, "hidden", "closed")
        assert await watch.next_type_and_name() == ("ADDED", "e")
        assert await admins.next_type_and_name() == ("ADDED", "e")
        assert await admins.next_type_and_name() == ("ADDED", "hidden")
        await allow(api, "folders/f")
        last_event = await watch.event()
        assert (last_event["type"], last_event["object"]["code"], last_event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert await watch.event() is None
        await dashboard(api, "g")
        assert await admins.next_type_and_name() == ("ADDED", "g")
    async with watching(api, auth=viewer, resourceVersion=start_version) as watch:
        assert (await watch.event())["object"]["code"] == 410
    async with watching(api, auth=viewer, resourceVersion=await current_version(api)) as watch:
        await dashboard(api, "top")
        assert await watch.next_type_and_name() == ("ADDED", "top")
        assert (await api("POST", "/api/folders/closed/move", {"parentUid": "f"}))[0] == 200
        await allow(api, "folders/f", {"role": "Viewer", "permission": VIEW})
        assert (await watch.event())["object"]["code"] == 410


async def test_objects_in_a_new_folder_reach_its_watchers(start_api: StartApi) -> None:
    """Watchers at one gateway receive dashboards in new folders that another gateway has created, although access rules limit them."""
    first, second = await start_api(), await start_api()
    viewer = await first.person("vic", Role.VIEWER)
    await folder(first, "closed")
    await allow(first, "folders/closed")
    async with watching(second, auth=viewer, resourceVersion=await current_version(first)) as watch:
        for index in range(10):
            await folder(first, f"f{index}")
            await dashboard(first, f"d{index}", f"f{index}")
            assert await can_read(second, viewer, f"d{index}")
        assert [await watch.next_type_and_name() for _ in range(10)] == [("ADDED", f"d{index}") for index in range(10)]


async def test_tokens_of_accounts_with_rules_need_an_admin(api: Api) -> None:
    """A token has all rights of its account, so a grant to create tokens does not suffice."""
    robot = await api.account("robot")
    keeper = await api.person("keeper", Role.EDITOR, ("serviceaccounts:write", "*"))
    await folder(api, "f")
    path = f"/api/serviceaccounts/{robot}/tokens"
    assert (await api("POST", path, {"name": "before"}, auth=keeper))[0] == 200
    await allow(api, "folders/f", {"userId": robot, "permission": VIEW})
    status, response = await api("POST", path, {"name": "after"}, auth=keeper)
    assert status == 403
    assert response["message"].endswith("folders.permissions:write")
    admin = await api.person("boss", Role.ADMIN)
    assert (await api("POST", path, {"name": "after"}, auth=admin))[0] == 200
