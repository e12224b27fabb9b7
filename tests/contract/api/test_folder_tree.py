"""Nested folders in both APIs: which parents a folder may have, what it contains, and what its delete removes."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi
from tests.contract.api.test_folder_permissions import ADMINISTER, DASHBOARDS, EDIT, FOLDERS, VIEW, allow, dashboard, folder, number_of

from dashwright.common.identity import Role

PANELS = DASHBOARDS.replace("dashboards", "librarypanels")
IN_FOLDER = "grafana.app/folder"
MANAGED = {"grafana.app/managedBy": "repo", "grafana.app/managerId": "git"}


def stored(name: str, parent: str = "", **members: Any) -> dict[str, Any]:
    """Return the body of a folder in a parent folder."""
    annotations = {IN_FOLDER: parent} if parent else {}
    return {"metadata": {"name": name, "annotations": annotations, **members}, "spec": {"title": f"Folder {name}"}}


async def move_folder(api: Api, name: str, parent: str, auth: str = ADMIN) -> tuple[int, str]:
    """Move a folder into another one. Return the status, and the message of an error."""
    status, response = await api("PUT", f"{FOLDERS}/{name}", stored(name, parent), auth=auth)
    return status, response.get("message", "")


async def create_chain(api: Api, *names: str) -> None:
    """Create folders, each of them inside the previous one."""
    for parent, name in pairwise(("", *names)):
        await folder(api, name, parent)


async def mark_managed(api: Api, plural: str, name: str) -> None:
    """Mark an object as managed by a repository."""
    statement = "update resource set annotations = annotations || $1::text::jsonb where resource = $2 and name = $3"
    await api.sql(statement, json.dumps(MANAGED), plural, name)


async def names(api: Api, plural: str) -> str:
    """Return the names of all objects of a kind, in alphabetical order, separated by blanks."""
    return str(await api.sql("select coalesce(string_agg(name, ' ' order by name), '') from resource where resource = $1", plural))


async def test_a_folder_is_never_inside_itself(api: Api) -> None:
    """A folder cannot be created in itself, or moved into itself or a folder below it."""
    for path, body in (
        ("/api/folders", {"uid": "a", "title": "a", "parentUid": "a"}),
        (FOLDERS, {"metadata": {"name": "a", "annotations": {"grafana.app/folder": "a"}}, "spec": {"title": "a"}}),
    ):
        assert (await api("POST", path, body))[0] == 400
    await create_chain(api, "a", "b", "c")
    for parent in ("a", "b", "c"):
        status, message = await move_folder(api, "a", parent)
        assert (status, message) == (400, f'folder "a" cannot be in "{parent}", which is the same folder or inside it')
        status, response = await api("POST", "/api/folders/a/move", {"parentUid": parent})
        assert (status, response["messageId"]) == (400, "folder.circular")
    assert await move_folder(api, "c", "a") == (200, "")
    assert await move_folder(api, "b", "c") == (200, "")
    assert (await api("GET", "/api/folders/a"))[1].get("parentUid") is None


async def test_folders_are_nested_up_to_the_setting(start_api: StartApi) -> None:
    """Folders may be nested up to the setting. A moved folder counts with all folders below it."""
    api = await start_api(folder_depth=3)
    await create_chain(api, "a", "b", "c")
    await create_chain(api, "x", "y")
    status, response = await api("POST", FOLDERS, stored("d", "c"))
    assert status == 400
    assert "at most 3 levels" in response["message"]
    assert (await api("POST", "/api/folders", {"title": "D", "parentUid": "c"}))[0] == 400
    assert (await move_folder(api, "x", "b"))[0] == 400
    assert (await move_folder(api, "x", "a"))[0] == 200
    await dashboard(api, "d", "c")


async def test_the_parent_of_a_folder_exists(api: Api) -> None:
    """A missing parent is 404, a parent that a repository manages is 403, and an empty name is the root."""
    await create_chain(api, "a", "b")
    await mark_managed(api, "folders", "a")
    assert await move_folder(api, "b", "none") == (404, 'folders.folder.grafana.app "none" not found')
    assert (await api("POST", "/api/folders/b/move", {"parentUid": "none"})) == (404, {"message": "folder not found"})
    assert (await api("POST", FOLDERS, stored("c", "a")))[0] == 403
    status, response = await api("PUT", f"{FOLDERS}/b", stored("b", annotations={IN_FOLDER: ""}))
    assert status == 200
    assert IN_FOLDER not in response["metadata"]["annotations"]


async def test_concurrent_moves_never_make_a_cycle(start_api: StartApi) -> None:
    """Two gateways concurrently move the same folders into each other: each folder keeps a path to the root."""
    first, second = await start_api(), await start_api()
    await asyncio.gather(*(folder(first, name) for name in "abcd"))

    async def shuffle(api: Api, order: str) -> list[int]:
        """Move each folder into the next one of the order, four times round. Return the statuses."""
        statuses = []
        for name, parent in pairwise(order * 4):
            status, response = await api("POST", f"/api/folders/{name}/move", {"parentUid": parent})
            statuses.append(status)
            assert status in (200, 400, 409), response
        return statuses

    results = await asyncio.gather(shuffle(first, "abcd"), shuffle(second, "dcba"), shuffle(first, "bdac"), shuffle(second, "cadb"))
    assert 200 in {status for statuses in results for status in statuses}
    # Counts the folders from which the root is reached. A folder on a cycle would not count.
    paths_to_root = """with recursive up as (
        select name, folder, 1 as step from resource where resource = 'folders'
        union all
        select up.name, r.folder, step + 1 from up join resource r on r.resource = 'folders' and r.name = up.folder where step < 9)
        select count(*) from up where folder is null"""
    assert await first.sql(paths_to_root) == 4


async def test_parents_and_counts_of_a_folder(api: Api) -> None:
    """The parents of a folder are listed from the root down to the folder itself. Counts include all levels."""
    await create_chain(api, "a", "b", "c")
    await dashboard(api, "d1", "a")
    await dashboard(api, "d2", "c")
    panel = {
        "metadata": {"name": "p", "annotations": {IN_FOLDER: "b"}},
        "spec": {"title": "P", "type": "text", "options": {}, "fieldConfig": {}},
    }
    assert (await api("POST", PANELS, panel))[0] == 201
    status, response = await api("GET", f"{FOLDERS}/c/parents")
    assert (status, response["kind"]) == (200, "FolderInfoList")
    assert response["items"] == [
        {"name": "a", "title": "Folder a"},
        {"name": "b", "title": "Folder b", "parent": "a"},
        {"name": "c", "title": "Folder c", "parent": "b"},
    ]
    status, response = await api("GET", f"{FOLDERS}/a/counts")
    assert (status, response["kind"]) == (200, "DescendantCounts")
    assert response["counts"] == [
        {"group": "dashboard.grafana.app", "resource": "dashboards", "count": 2},
        {"group": "dashboard.grafana.app", "resource": "librarypanels", "count": 1},
        {"group": "folder.grafana.app", "resource": "folders", "count": 2},
    ]
    assert await api("GET", "/api/folders/b/counts") == (200, {"folder": 1, "dashboard": 1, "librarypanel": 1, "alertrule": 0})
    for path in ("parents", "counts", "access"):
        assert (await api("GET", f"{FOLDERS}/none/{path}"))[0] == 404
    assert (await api("GET", "/api/folders/none/counts"))[0] == 404


@pytest.mark.parametrize(
    # The level is that of the caller's rule on the parent folder, or None without a rule.
    ("role", "level", "can_save", "can_admin", "can_delete"),
    [
        (Role.VIEWER, VIEW, False, False, False),
        (Role.VIEWER, EDIT, True, False, True),
        (Role.VIEWER, ADMINISTER, True, True, True),
        (Role.EDITOR, None, True, False, True),
        (Role.ADMIN, None, True, True, True),
    ],
)
async def test_access_names_the_rights_of_the_caller(
    api: Api, role: Role, level: int | None, can_save: bool, can_admin: bool, can_delete: bool
) -> None:
    """Role and access rules decide on the reported rights to save, to set rules and to delete.

    A folder that a repository manages can neither be saved nor deleted.
    """
    member = await api.person("member", role)
    await create_chain(api, "a", "b")
    if level is not None:
        await allow(api, "folders/a", {"userId": await number_of(api, "member"), "permission": level})
    status, info = await api("GET", f"{FOLDERS}/b/access", auth=member)
    assert (status, info["kind"]) == (200, "FolderAccessInfo")
    assert info["canSave"] is info["canEdit"] is can_save
    assert info["canAdmin"] is can_admin
    assert info["canDelete"] is can_delete
    await mark_managed(api, "folders", "b")
    _, info = await api("GET", f"{FOLDERS}/b/access", auth=member)
    assert not info["canSave"]
    assert not info["canEdit"]
    assert not info["canDelete"]
    assert info["canAdmin"] is can_admin


async def test_access_to_an_unreadable_folder_is_forbidden(api: Api) -> None:
    """Access to a folder that the caller may not read is 403, and the response reports no rights on it."""
    viewer = await api.person("vic", Role.VIEWER)
    await create_chain(api, "secret")
    await allow(api, "folders/secret", {"userId": 1, "permission": ADMINISTER})
    assert (await api("GET", f"{FOLDERS}/secret/access", auth=viewer))[0] == 403


async def test_names_of_unreadable_folders_are_hidden(api: Api) -> None:
    """Unreadable folders appear neither as parents nor as sources of permissions."""
    viewer = await api.person("vic", Role.VIEWER)
    await create_chain(api, "secret", "b", "c")
    await allow(api, "folders/secret", {"userId": 1, "permission": ADMINISTER})
    await allow(api, "folders/b", {"userId": await number_of(api, "vic"), "permission": ADMINISTER})
    assert (await api("GET", f"{FOLDERS}/c/parents", auth=viewer))[1]["items"] == [
        {"name": "b", "title": "Folder b"},
        {"name": "c", "title": "Folder c", "parent": "b"},
    ]
    for path in ("/api/folders/c", "/api/folders/b", "/api/folders/b/permissions", "/api/access-control/folders/b"):
        async with api.session.get(path, headers={"Authorization": viewer}) as response:
            assert response.status == 200, path
            assert "secret" not in await response.text(), path
    assert (await api("GET", "/api/folders/c", auth=viewer))[1]["parents"] == [(await api("GET", "/api/folders/b", auth=viewer))[1]]
    assert (await api("GET", "/api/folders", auth=viewer))[1] == []
    assert [item["uid"] for item in (await api("GET", "/api/folders?parentUid=b", auth=viewer))[1]] == ["c"]
    assert (await api("GET", "/api/folders?parentUid=secret", auth=viewer))[0] == 403


async def test_a_folder_is_deleted_with_its_content_on_request(api: Api) -> None:
    """The resource API requires Foreground to delete a folder with content, and its error names it.

    The classic API always deletes the content.
    """
    await create_chain(api, "a", "b")
    await folder(api, "z")
    for name, parent in (("d1", "a"), ("d2", "b"), ("d3", "z"), ("d4", "")):
        await dashboard(api, name, parent)
    for options in (None, {"propagationPolicy": "Background"}, {"propagationPolicy": "Orphan"}):
        status, response = await api("DELETE", f"{FOLDERS}/a", options)
        assert status == 400
        assert "propagationPolicy Foreground" in response["message"]
    assert (await api("DELETE", f"{FOLDERS}/a?dryRun=All", {"propagationPolicy": "Foreground"}))[0] == 200
    assert await names(api, "dashboards") == "d1 d2 d3 d4"
    assert (await api("DELETE", f"{FOLDERS}/a", {"propagationPolicy": "Foreground"}))[0] == 200
    assert (await names(api, "folders"), await names(api, "dashboards")) == ("z", "d3 d4")
    assert await api.sql("select string_agg(name, ' ' order by name) from trash where resource = 'dashboards'") == "d1 d2"
    status, response = await api("DELETE", "/api/folders/z?forceDeleteRules=true")
    assert (status, response["message"]) == (200, "Folder deleted")
    assert (await names(api, "folders"), await names(api, "dashboards")) == ("", "d4")


@pytest.mark.parametrize(("managed_kind", "managed_name"), [("folders", "b"), ("dashboards", "d")])
async def test_a_folder_with_managed_objects_cannot_be_deleted(api: Api, managed_kind: str, managed_name: str) -> None:
    """Deleting a folder with managed objects is a 403 that names them, and nothing is deleted."""
    await create_chain(api, "a", "b")
    await dashboard(api, "d", "b")
    await mark_managed(api, managed_kind, managed_name)
    for path, options in ((f"{FOLDERS}/a", {"propagationPolicy": "Foreground"}), ("/api/folders/a", None)):
        status, response = await api("DELETE", path, options)
        assert status == 403, response
        assert f'"{managed_name}", which the repository "git" manages' in response["message"], response
    assert (await names(api, "folders"), await names(api, "dashboards")) == ("a b", "d")


async def test_writing_needs_level_edit(api: Api) -> None:
    """Level Edit on a folder is needed to create objects in it, to change it, to move it, and to delete it with its content."""
    viewer = await api.person("vic", Role.VIEWER)
    await create_chain(api, "mine", "inner")
    await folder(api, "other")
    await dashboard(api, "d", "inner")
    await dashboard(api, "e", "other")
    assert (await api("POST", FOLDERS, stored("new", "mine"), auth=viewer))[0] == 403
    await allow(api, "folders/mine", {"userId": await number_of(api, "vic"), "permission": EDIT}, {"role": "Viewer", "permission": VIEW})
    for path, body, status in (
        (FOLDERS, stored("new", "mine"), 201),
        (FOLDERS, stored("new2", "other"), 403),
        (FOLDERS, stored("new2"), 403),
        ("/api/folders", {"title": "New", "parentUid": "mine"}, 200),
        ("/api/folders", {"title": "New", "parentUid": "other"}, 403),
        ("/api/folders", {"title": "New"}, 403),
        ("/api/folders/inner/move", {"parentUid": "other"}, 403),
        ("/api/folders/inner/move", {"parentUid": ""}, 403),
        ("/api/folders/other/move", {"parentUid": "mine"}, 403),
        ("/api/folders/inner/move", {"parentUid": "new"}, 200),
    ):
        actual_status, response = await api("POST", path, body, auth=viewer)
        assert actual_status == status, (path, body, response)
    for name, folder_of_update, status in (("d", "other", 403), ("d", "mine", 200), ("e", "other", 403)):
        body = {"metadata": {"name": name, "annotations": {IN_FOLDER: folder_of_update}}, "spec": {"title": "D"}}
        assert (await api("PUT", f"{DASHBOARDS}/{name}", body, auth=viewer))[0] == status
    assert (await api("DELETE", f"{DASHBOARDS}/e", auth=viewer))[0] == 403
    assert (await api("PUT", "/api/folders/other", {"title": "X", "overwrite": True}, auth=viewer))[0] == 403
    assert (await api("PUT", "/api/folders/mine", {"title": "X", "overwrite": True}, auth=viewer))[0] == 200
    assert (await api("DELETE", "/api/folders/other", auth=viewer))[0] == 403
    assert (await api("DELETE", "/api/folders/mine", auth=viewer))[0] == 200
    assert (await names(api, "folders"), await names(api, "dashboards")) == ("other", "e")


async def test_a_grant_to_remove_folders_removes_no_dashboards(api: Api) -> None:
    """Deleting a folder needs the delete permission of each kind in it. Without the permission of one kind, nothing is deleted."""
    robot = await api.person("robot", Role.NONE, ("folders:delete", "folders:uid:a"))
    other = await api.person("other", Role.NONE, ("folders:delete", "folders:uid:a"), ("dashboards:delete", "folders:uid:a"))
    await create_chain(api, "a", "b")
    await dashboard(api, "d", "b")
    status, response = await api("DELETE", "/api/folders/a", auth=robot)
    assert status == 403
    assert "dashboards:delete" in response["message"]
    assert await names(api, "dashboards") == "d"
    assert (await api("DELETE", "/api/folders/a", auth=other))[0] == 200
    assert (await names(api, "folders"), await names(api, "dashboards")) == ("", "")


async def test_a_library_panel_in_use_elsewhere_keeps_its_folder(api: Api) -> None:
    """A folder whose library panel is used elsewhere is not deleted. Without such a use, the folder is deleted with its content."""
    await folder(api, "a")
    model = {"title": "P", "type": "text", "options": {}, "fieldConfig": {}}
    assert (await api("POST", PANELS, {"metadata": {"name": "p", "annotations": {IN_FOLDER: "a"}}, "spec": model}))[0] == 201
    for name, parent in (("inside", "a"), ("outside", "")):
        body = {"dashboard": {"uid": name, "title": name, "panels": [{"libraryPanel": {"uid": "p", "name": "P"}}]}, "folderUid": parent}
        assert (await api("POST", "/api/dashboards/db", body))[0] == 200
    status, response = await api("DELETE", "/api/folders/a")
    assert (status, response["messageId"]) == (403, "folder.library-panels-in-use")
    assert await names(api, "dashboards") == "inside outside"
    assert (await api("DELETE", f"{DASHBOARDS}/outside"))[0] == 200
    assert (await api("DELETE", "/api/folders/a"))[0] == 200
    assert [await names(api, plural) for plural in ("folders", "dashboards", "librarypanels")] == ["", "", ""]
