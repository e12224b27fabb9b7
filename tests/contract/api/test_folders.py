"""The classic API ``/api/folders``, as existing clients use it."""

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_folder_permissions import ADMINISTER, EDIT, VIEW, allow, dashboard, folder, number_of

from dashwright.common.identity import Role


async def test_a_nested_folder_is_created(api: Api) -> None:
    """A new folder has a given or generated uid, a title and its parents. The parent ``general`` is the root, not a folder."""
    await folder(api, "f")
    status, created = await api(
        "POST", "/api/folders", {"title": "Subdepartment ABC", "uid": "nErXDvCkzz", "parentUid": "f", "description": "Of ABC"}
    )
    assert status == 200
    assert {key: created[key] for key in ("uid", "title", "parentUid", "version", "hasAcl", "canAdmin", "description", "createdBy")} == {
        "uid": "nErXDvCkzz",
        "title": "Subdepartment ABC",
        "parentUid": "f",
        "version": 1,
        "hasAcl": False,
        "canAdmin": True,
        "description": "Of ABC",
        "createdBy": "admin",
    }
    assert created["parents"] == [(await api("GET", "/api/folders/f"))[1]]
    assert await api("GET", f"/api/folders/id/{created['id']}") == (200, created)
    assert await api("GET", "/api/folders/nErXDvCkzz") == (200, created)
    status, created = await api("POST", "/api/folders", {"title": "General", "parentUid": "general"})
    assert status == 200
    assert len(created["uid"]) == 14
    assert "parentUid" not in created


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"title": None}, 400, "folder title cannot be empty"),
        ({"title": " "}, 400, "folder title cannot be empty"),
        ({"title": "x" * 5001}, 400, "Folder title cannot contain more than 5 000 characters"),
        ({"title": "A", "uid": "a b"}, 400, "uid contains illegal characters"),
        ({"title": "A", "uid": "general"}, 400, 'the uid "general" is reserved'),
        ({"title": "A", "parentUid": "none"}, 404, "folder not found"),
        ({"title": "A", "uid": "f"}, 412, "the folder has been changed by someone else"),
        ({"title": 5}, 400, "bad request data"),
    ],
)
async def test_invalid_folders_are_refused(api: Api, body: dict[str, object], status: int, message: str) -> None:
    """An invalid folder is refused with the reason, and nothing is stored."""
    await folder(api, "f")
    actual_status, response = await api("POST", "/api/folders", body)
    assert actual_status == status, response
    assert response["message"].startswith(message), response
    assert response.get("status") == ("version-mismatch" if status == 412 else None)


async def test_a_folder_without_description_is_created(api: Api) -> None:
    """A folder that is created without description has an empty one in the resource API. The classic API omits the field."""
    assert (await api("POST", "/api/folders", {"uid": "f", "title": "F"}))[0] == 200
    status, stored = await api("GET", "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders/f")
    assert (status, stored["spec"]) == (200, {"title": "F", "description": ""})
    assert "description" not in (await api("GET", "/api/folders/f"))[1]


async def test_an_update_needs_the_current_version(api: Api) -> None:
    """An update without the current version gets 412 unless it overwrites. Only an update that changes the title creates a version."""
    await folder(api, "f")
    mismatch = (412, {"status": "version-mismatch", "message": "the folder has been changed by someone else"})
    for body in ({"title": "B"}, {"title": "B", "version": 2}, {"title": "B", "overwrite": False}):
        assert await api("PUT", "/api/folders/f", body) == mismatch
    status, response = await api("PUT", "/api/folders/f", {"title": "Département DEF", "version": 1})
    assert status == 200
    assert response["title"] == "Département DEF"
    assert response["version"] == 2
    assert response["url"] == "/dashboards/f/f/departement-def"
    for update in ({"title": "Département DEF", "overwrite": True}, {"version": 2}):
        status, response = await api("PUT", "/api/folders/f", update)
        assert (status, response["version"], response["title"]) == (200, 2, "Département DEF")
    assert (await api("PUT", "/api/folders/f", {"title": " ", "overwrite": True})) == (400, {"message": "folder title cannot be empty"})
    assert (await api("PUT", "/api/folders/none", {"title": "A", "overwrite": True})) == (404, {"message": "folder not found"})


async def test_a_folder_is_moved(api: Api) -> None:
    """A moved folder keeps its uid, title and access rules, and the move is audited as such."""
    await folder(api, "f")
    await folder(api, "container")
    await allow(api, "folders/f", {"role": "Viewer", "permission": VIEW})
    status, response = await api("POST", "/api/folders/f/move", {"parentUid": "container"})
    assert status == 200
    assert response["uid"] == "f"
    assert response["parentUid"] == "container"
    assert response["hasAcl"] is True
    status, response = await api("POST", "/api/folders/f/move", {"parentUid": ""})
    assert status == 200
    assert "parentUid" not in response
    assert await api.sql("select count(*) from audit_event where action = 'folder.move' and object = 'folder:f'") == 2
    assert (await api("POST", "/api/folders/none/move", {"parentUid": "f"})) == (404, {"message": "folder not found"})


async def test_a_folder_shows_the_permissions_of_the_caller(api: Api) -> None:
    """A folder shows what the access rules permit to the caller, as flags, and with ``accesscontrol`` also as actions."""
    viewer = await api.person("vic", Role.VIEWER)
    viewer_id = await number_of(api, "vic")
    await folder(api, "f")
    # The level of the rule, and whether it permits saving, deleting and setting rules.
    expected = [(VIEW, False, False, False), (EDIT, True, True, False), (ADMINISTER, True, True, True)]
    for level, can_save, can_delete, can_admin in expected:
        await allow(api, "folders/f", {"userId": viewer_id, "permission": level})
        status, response = await api("GET", "/api/folders/f?accesscontrol=true", auth=viewer)
        assert status == 200
        assert response["canSave"] is response["canEdit"] is can_save
        assert response["canDelete"] is can_delete
        assert response["canAdmin"] is can_admin
        actions = response["accessControl"]
        assert actions["folders:read"] is True
        assert actions.get("dashboards:create", False) is can_save
        assert actions.get("folders.permissions:write", False) is can_admin
    await allow(api, "folders/f")
    assert (await api("GET", "/api/folders/f", auth=viewer))[0] == 403
    assert (await api("GET", "/api/folders/f/counts", auth=viewer))[0] == 403


async def test_readable_or_writable_folders_are_listed(api: Api) -> None:
    """Folders of one parent are listed by title and in pages. The filter ``permission=Edit`` omits folders that are only readable."""
    eve = await api.person("eve", Role.EDITOR)
    for uid in ("b", "a", "c", "closed"):
        await folder(api, uid)
    await folder(api, "inner", "b")
    await dashboard(api, "d")
    await allow(api, "folders/closed")
    await allow(api, "folders/a", {"role": "Viewer", "permission": VIEW})

    async def list_folders(query: str) -> list[str]:
        """Return the uids of the folders that a query lists for the Editor."""
        status, response = await api("GET", f"/api/folders?{query}", auth=eve)
        assert status == 200, response
        return [item["uid"] for item in response]

    assert await list_folders("") == ["a", "b", "c"]
    assert await list_folders("limit=1&page=2") == ["b"]
    assert await list_folders("permission=Edit") == ["b", "c"]
    assert await list_folders("permission=View&parentUid=b") == ["inner"]
    assert (await api("GET", "/api/folders?parentUid=none"))[0] == 404
    assert (await api("GET", "/api/folders?parentUid=closed", auth=eve))[0] == 403
    assert (await api("GET", "/api/folders?permission=Admin"))[0] == 400


@pytest.mark.parametrize(("path", "uid", "title"), [("general", "general", "Dashboards"), ("id/0", "", "General")])
async def test_the_root_is_read_as_a_folder(api: Api, path: str, uid: str, title: str) -> None:
    """The root is read as a folder with the id 0, in which Editors may save and Viewers may not."""
    status, root = await api("GET", f"/api/folders/{path}?accesscontrol=true")
    actions = root.pop("accessControl")
    assert (status, root) == (
        200,
        {
            "id": 0,
            "uid": uid,
            "orgId": 1,
            "title": title,
            "url": "",
            "hasAcl": False,
            "canSave": True,
            "canEdit": True,
            "canAdmin": False,
            "canDelete": False,
            "createdBy": "Anonymous",
            "created": "0001-01-01T00:00:00Z",
            "updatedBy": "Anonymous",
            "updated": "0001-01-01T00:00:00Z",
            "version": 0,
        },
    )
    assert {"folders:create", "dashboards:create"} <= actions.keys()
    for role, may_save in ((Role.EDITOR, True), (Role.VIEWER, False)):
        caller = await api.person(role.name.lower(), role)
        status, root = await api("GET", f"/api/folders/{path}", auth=caller)
        assert (status, root["canSave"], root["canEdit"]) == (200, may_save, may_save)


async def test_a_dashboard_contains_no_folders(api: Api) -> None:
    """A request for the folders in a dashboard gets an empty list if the dashboard is readable, and 404 if it is not."""
    viewer = await api.person("vic", Role.VIEWER)
    await folder(api, "secret")
    await allow(api, "folders/secret", {"userId": 1, "permission": ADMINISTER})
    await dashboard(api, "d")
    await dashboard(api, "hidden", "secret")
    for parent, expected in (("d", (200, [])), ("hidden", (404, {"message": "folder not found"}))):
        assert await api("GET", f"/api/folders?parentUid={parent}", auth=viewer) == expected
