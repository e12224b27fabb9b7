"""Library panels over the classic API, which calls them library elements. The resource API serves the same objects."""

from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.test_classic_api import folder, save_dashboard

from dashwright.common.identity import Role

PATH = "/api/library-elements"
RESOURCE_PATH = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/librarypanels"
NOT_FOUND = (404, {"message": "library element could not be found"})
NAME_IN_USE = (400, {"message": "library element with that name or UID already exists"})
MODEL: dict[str, Any] = {"type": "timeseries", "title": "CPU", "description": "of all hosts", "gridPos": {"x": 0}, "targets": []}


async def create_element(api: Api, uid: str, name: str, **members: Any) -> dict[str, Any]:
    """Create an element and return it."""
    status, body = await api("POST", PATH, {"uid": uid, "name": name, "kind": 1, "model": MODEL, **members})
    assert status == 200, body
    element: dict[str, Any] = body["result"]
    return element


async def search_elements(api: Api, query: str = "", **options: Any) -> list[str]:
    """Return the uids of the elements on a page of a search."""
    status, body = await api("GET", f"{PATH}?{query}", **options)
    assert status == 200, body
    assert body["result"]["totalCount"] >= len(body["result"]["elements"])
    return [element["uid"] for element in body["result"]["elements"]]


async def test_an_element_is_created_read_and_deleted(api: Api) -> None:
    """A new element has its folder, and its model with unchanged digits. The resource API has it, and after its delete it is 404."""
    shared_folder = await folder(api, "f1", "Shared")
    data = (
        '{"uid":"p1","name":"CPU load","folderUid":"f1","model":{"type":"gauge","description":"d","exact":1.10,"big":12345678901234567890}}'
    )
    status, body = await api("POST", PATH, data=data)
    element = body["result"]
    meta = element.pop("meta")
    assert status == 200
    assert element == {
        "id": element["id"],
        "orgId": 1,
        "folderId": shared_folder["id"],
        "folderUid": "f1",
        "uid": "p1",
        "name": "CPU load",
        "kind": 1,
        "type": "gauge",
        "description": "d",
        "version": 1,
        "model": {"type": "gauge", "description": "d", "exact": 1.1, "big": 12345678901234567890},
    }
    admin = {"id": 1, "name": "admin", "avatarUrl": meta["createdBy"]["avatarUrl"]}
    assert meta["createdBy"] == admin
    assert meta["updatedBy"] == admin
    assert meta["folderName"] == "Shared"
    assert meta["connectedDashboards"] == 0
    async with api.session.get(f"{PATH}/p1", headers={"Authorization": ADMIN}) as response:
        assert '"exact":1.10,"big":12345678901234567890' in await response.text()
    _, current = await api("GET", f"{RESOURCE_PATH}/p1")
    assert (current["metadata"]["annotations"]["grafana.app/folder"], current["spec"]["type"]) == ("f1", "gauge")
    # The status has the fields of the model that the spec of the resource API does not have.
    assert current["status"]["missing"]["exact"] == 1.1
    assert await api("GET", f"{PATH}/name/CPU%20load") == (200, {"result": [{**element, "meta": meta}]})
    assert await api("DELETE", f"{PATH}/p1") == (200, {"id": element["id"], "message": "Library element deleted"})
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/connections")):
        assert await api(method, f"{PATH}/p1{path}") == NOT_FOUND
    assert await api("PATCH", f"{PATH}/p1", {"kind": 1, "version": 1}) == NOT_FOUND
    assert await api("GET", f"{PATH}/name/CPU%20load") == NOT_FOUND


async def test_names_are_unique_in_a_folder(api: Api) -> None:
    """A name is unique in a folder and a uid everywhere. Duplicates from the resource API can still be changed."""
    await folder(api, "f1", "F")
    await create_element(api, "p1", "CPU")
    assert (await create_element(api, "p2", "CPU", folderUid="f1"))["folderUid"] == "f1"
    assert len((await create_element(api, "", "Memory"))["uid"]) == 14  # the length of every generated uid
    for body in ({"uid": "p1", "name": "New"}, {"uid": "p3", "name": "CPU"}, {"uid": "p3", "name": "CPU", "folderUid": "f1"}):
        assert await api("POST", PATH, {**body, "kind": 1, "model": MODEL}) == NAME_IN_USE
    assert await api("PATCH", f"{PATH}/p1", {"folderUid": "f1", "version": 1}) == NAME_IN_USE
    duplicate = {"metadata": {"name": "p4"}, "spec": {"type": "text", "title": "CPU", "options": {}, "fieldConfig": {}}}
    assert (await api("POST", RESOURCE_PATH, duplicate))[0] == 201
    assert (await api("PATCH", f"{PATH}/p1", {"model": {"type": "gauge"}, "version": 1}))[0] == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"name": "A"}, 400, "bad request data"),
        ({"name": "A", "model": []}, 400, "bad request data"),
        ({"name": " ", "model": {}}, 400, "a library element needs a name and a model"),
        ({"name": "A", "model": {}, "kind": 2}, 400, "kind 2 is not supported"),
        ({"name": "A", "model": {}, "uid": "a b"}, 400, "uid contains illegal characters"),
        ({"name": "A", "model": {}, "folderUid": "none"}, 404, "folder not found"),
        ({"name": "A", "model": {}, "folderId": 7}, 404, "folder not found"),
        ({"name": "A", "model": {"type": 5}}, 400, "the type of a library panel must be a string"),
    ],
)
async def test_invalid_panels_are_refused(api: Api, body: Any, status: int, message: str) -> None:
    """An invalid panel is refused with the reason, and so is an unknown folder."""
    response_status, response = await api("POST", PATH, body)
    assert response_status == status
    assert response["message"].startswith(message)


async def test_an_update_needs_the_current_version(api: Api) -> None:
    """An update with another version is 412. An update keeps absent fields, replaces the model completely, and creates a version.

    The folder id -1 is that of no folder, so it does not move the element.
    """
    await folder(api, "f1", "F")
    await create_element(api, "p1", "CPU")
    # The gateway adds an empty description.
    model = {"type": "gauge", "title": "CPU", "description": ""}
    for version in ({}, {"version": 0}, {"version": 99}):
        assert (await api("PATCH", f"{PATH}/p1", {"name": "r", "kind": 1, **version}))[0] == 412
    status, body = await api("PATCH", f"{PATH}/p1", {"kind": 1, "model": {"type": "gauge", "title": "CPU"}, "version": 1})
    element = body["result"]
    assert status == 200
    assert element["version"] == 2
    assert element["name"] == "CPU"
    assert element["model"] == model
    _, body = await api("PATCH", f"{PATH}/p1", {"name": "Load", "version": 2})
    element = body["result"]
    assert (element["version"], element["name"], element["model"]) == (3, "Load", model)
    _, body = await api("PATCH", f"{PATH}/p1", {"folderUid": "f1", "version": 3})
    assert (body["result"]["version"], body["result"]["name"], body["result"]["folderUid"]) == (4, "Load", "f1")
    _, body = await api("PATCH", f"{PATH}/p1", {"folderId": -1, "version": 4})
    assert (body["result"]["version"], body["result"]["folderUid"]) == (4, "f1")
    # The uid of an element cannot be changed.
    assert (await api("PATCH", f"{PATH}/p1", {"uid": "p2", "version": 4}))[0] == 400


async def test_the_resource_api_keeps_the_name(api: Api) -> None:
    """A change through the resource API keeps the name unless it changes the panel's title."""
    await create_element(api, "p1", "Load of all")
    _, current = await api("GET", f"{RESOURCE_PATH}/p1")
    current["spec"]["pluginVersion"] = "12"
    assert (await api("PUT", f"{RESOURCE_PATH}/p1", current))[0] == 200
    element = (await api("GET", f"{PATH}/p1"))[1]["result"]
    assert (element["name"], element["version"], element["model"]["gridPos"]) == ("Load of all", 2, {"x": 0})
    _, current = await api("GET", f"{RESOURCE_PATH}/p1")
    current["spec"]["title"] = "Memory"
    assert (await api("PUT", f"{RESOURCE_PATH}/p1", current))[0] == 200
    assert (await api("GET", f"{PATH}/p1"))[1]["result"]["name"] == "Memory"


async def test_elements_are_listed_by_name(api: Api) -> None:
    """Elements are sorted by name, filtered, and listed in pages. A page past the end still has the total count.

    A search ignores descriptions with NUL, because PostgreSQL cannot parse their JSON.
    """
    shared_folder = await folder(api, "f1", "F")
    await create_element(api, "p1", "beta", model={**MODEL, "type": "gauge"})
    await create_element(api, "p2", "Alpha", folderUid="f1", model={**MODEL, "description": "NUL \0 hides this"})
    await create_element(api, "p3", "gamma", model={**MODEL, "description": "All Hosts of 100%"})
    assert await search_elements(api) == ["p2", "p1", "p3"]
    assert await search_elements(api, "sortDirection=alpha-desc") == ["p3", "p1", "p2"]
    assert await search_elements(api, "searchString=ALPH") == ["p2"]
    assert await search_elements(api, "searchString=hosts%20of%20100%25") == ["p3"]
    assert await search_elements(api, "searchString=hides") == []
    assert await search_elements(api, "typeFilter=gauge,table") == ["p1"]
    assert await search_elements(api, "excludeUid=p1") == ["p2", "p3"]
    assert await search_elements(api, "folderFilterUIDs=f1") == ["p2"]
    assert await search_elements(api, "folderFilterUIDs=general,f1&perPage=2") == ["p2", "p1"]
    assert await search_elements(api, f"folderFilter={shared_folder['id']}") == ["p2"]
    assert await search_elements(api, "folderFilter=0") == ["p1", "p3"]
    assert await search_elements(api, "folderFilter=x") == []
    assert await search_elements(api, "kind=2") == []
    _, body = await api("GET", f"{PATH}?perPage=2&page=9&kind=1")
    assert body == {"result": {"totalCount": 3, "page": 9, "perPage": 2, "elements": []}}
    assert (await api("GET", f"{PATH}?perPage=10"))[1]["result"]["perPage"] == 10


async def test_an_element_in_use_cannot_be_deleted(api: Api) -> None:
    """Neither API deletes an element that a dashboard uses. Its connections include dashboards whose row contains the element."""
    element = await create_element(api, "p1", "CPU")
    panel_in_use = {"id": 1, "libraryPanel": {"uid": "p1", "name": "CPU"}}
    first = await save_dashboard(api, "d1", "A", panels=[{"type": "row", "panels": [panel_in_use]}])
    await save_dashboard(api, "d2", "B", panels=[{"id": 2}])
    status, body = await api("GET", f"{PATH}/p1/connections")
    connection = body["result"][0]
    assert (status, len(body["result"]), connection["createdBy"]["name"]) == (200, 1, "admin")
    assert {key: connection[key] for key in ("kind", "elementId", "connectionId", "connectionUid")} == {
        "kind": 1,
        "elementId": element["id"],
        "connectionId": first["id"],
        "connectionUid": "d1",
    }
    assert (await api("GET", f"{PATH}/p1"))[1]["result"]["meta"]["connectedDashboards"] == 1
    status, body = await api("DELETE", f"{PATH}/p1")
    assert (status, body["message"]) == (403, "the library element has connections")
    assert (await api("DELETE", f"{RESOURCE_PATH}/p1"))[0] == 403
    await save_dashboard(api, "d1", "A")
    assert (await api("GET", f"{PATH}/p1/connections"))[1] == {"result": []}
    assert (await api("DELETE", f"{RESOURCE_PATH}/p1"))[0] == 200


async def test_used_names_are_revealed_to_writers_only(api: Api) -> None:
    """Only callers who may write in a folder can find out by creating or moving an element whether a name is used there."""
    await folder(api, "closed", "Closed")
    await folder(api, "open", "Open")
    await create_element(api, "p1", "Secret", folderUid="closed")
    await create_element(api, "p2", "Shown", folderUid="open")
    assert (await api("POST", "/api/folders/closed/permissions", {"items": []}))[0] == 200
    editor = await api.person("editor", Role.EDITOR)
    for name in ("Secret", "Free"):
        body = {"name": name, "kind": 1, "model": MODEL, "folderUid": "closed"}
        assert (await api("POST", PATH, body, auth=editor))[0] == 403
        body = {"name": name, "kind": 1, "folderUid": "closed", "version": 1}
        assert (await api("PATCH", f"{PATH}/p2", body, auth=editor))[0] == 403
        assert (await api("PATCH", f"{PATH}/p1", {"name": name, "kind": 1, "version": 1}, auth=editor))[0] == 403


async def test_roles_decide_on_elements(api: Api) -> None:
    """A Viewer may read elements but not change them, a user without a role sees none, and each organization has its own."""
    await create_element(api, "p1", "CPU")
    viewer, unprivileged = await api.person("viewer", Role.VIEWER), await api.person("unprivileged", Role.NONE)
    assert await search_elements(api, auth=viewer) == ["p1"]
    assert (await api("GET", f"{PATH}/p1", auth=viewer))[0] == 200
    for method, path, body in (("POST", PATH, {}), ("PATCH", f"{PATH}/p1", {}), ("DELETE", f"{PATH}/p1", None)):
        assert (await api(method, path, body, auth=viewer))[0] == 403
    for path in ("", "/p1", "/name/CPU", "/p1/connections"):
        assert (await api("GET", PATH + path, auth=unprivileged))[0] == 403
    admin_of_other_org = await api.person("elsewhere", Role.ADMIN, org_id=await api.organization("Second"))
    assert await search_elements(api, auth=admin_of_other_org) == []
    assert await api("GET", f"{PATH}/p1", auth=admin_of_other_org) == NOT_FOUND


async def test_each_change_of_an_element_is_audited(api: Api) -> None:
    """Each change is one audit event. A write without effect makes neither an event nor a version."""
    await create_element(api, "p1", "CPU")
    assert (await api("PATCH", f"{PATH}/p1", {"name": "Load", "version": 1}))[0] == 200
    assert (await api("PATCH", f"{PATH}/p1", {"name": "Load", "version": 1}))[0] == 412
    _, body = await api("PATCH", f"{PATH}/p1", {"name": "Load", "model": MODEL, "version": 2})
    assert body["result"]["version"] == 2
    await api("DELETE", f"{PATH}/p1")
    async with api.database.connection() as connection:
        rows = await connection.fetch("select action, object from audit_event order by id")
    assert [tuple(row) for row in rows] == [(f"librarypanel.{verb}", "librarypanel:p1") for verb in ("create", "update", "delete")]


async def test_elements_follow_the_rules_of_their_folder(api: Api) -> None:
    """The access rules of its folder decide who may read and write an element. Connections have only readable dashboards."""
    await folder(api, "f1", "Hidden")
    await create_element(api, "p1", "CPU", folderUid="f1")
    await create_element(api, "p2", "Memory")
    await save_dashboard(api, "d1", "A", folder="f1", panels=[{"libraryPanel": {"uid": "p2"}}])
    await save_dashboard(api, "d2", "B", panels=[{"libraryPanel": {"uid": "p2"}}])
    assert (await api("POST", "/api/folders/f1/permissions", {"items": [{"role": "Editor", "permission": 1}]}))[0] == 200
    viewer, editor = await api.person("viewer", Role.VIEWER), await api.person("editor", Role.EDITOR)
    assert await search_elements(api, auth=viewer) == ["p2"]
    assert await search_elements(api, auth=editor) == ["p1", "p2"]
    for path in ("/p1", "/p1/connections"):
        assert (await api("GET", PATH + path, auth=viewer))[0] == 403
    assert await api("GET", f"{PATH}/name/CPU", auth=viewer) == NOT_FOUND
    for auth, readable_dashboards in ((viewer, ["d2"]), (editor, ["d1", "d2"])):
        _, body = await api("GET", f"{PATH}/p2/connections", auth=auth)
        assert [connection["connectionUid"] for connection in body["result"]] == readable_dashboards
    assert (await api("PATCH", f"{PATH}/p1", {"name": "New", "version": 1}, auth=editor))[0] == 403
    assert (await api("PATCH", f"{PATH}/p2", {"folderUid": "f1", "version": 1}, auth=editor))[0] == 403
    assert (await api("POST", PATH, {"name": "N", "model": {}, "folderUid": "f1"}, auth=editor))[0] == 403
    assert (await api("DELETE", f"{PATH}/p1", auth=editor))[0] == 403
