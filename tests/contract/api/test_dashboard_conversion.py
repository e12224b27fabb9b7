"""Dashboards are read and written in every version, which converts them, and each version checks the specs that it accepts."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.contract.api.conftest import ADMIN, Api, StartApi

VERSIONS = ("v0alpha1", "v1alpha1", "v1beta1", "v1", "v2alpha1", "v2beta1", "v2")
#: Versions whose dashboards have panels. The dashboards of the others have elements and a layout.
CLASSIC = VERSIONS[:4]


def path_in(version: str, name: str = "") -> str:
    """Return the path of all dashboards in a version, or of the dashboard with a name."""
    collection = f"/apis/dashboard.grafana.app/{version}/namespaces/default/dashboards"
    return f"{collection}/{name}" if name else collection


DASHBOARDS, BETA, ALPHA = path_in("v2alpha1"), path_in("v1beta1"), path_in("v0alpha1")
#: Spec that responses have in place of a spec that cannot be converted. No real dashboard has its schema version.
PLACEHOLDER = {"title": "T", "schemaVersion": 9999}


def grid_layout(*names: str) -> dict[str, Any]:
    """Return a grid layout of elements, one below the other."""
    items = [
        {
            "kind": "GridLayoutItem",
            "spec": {"x": 0, "y": 8 * index, "width": 12, "height": 8, "element": {"kind": "ElementReference", "name": name}},
        }
        for index, name in enumerate(names)
    ]
    return {"kind": "GridLayout", "spec": {"items": items}}


def panel(panel_id: int, title: str) -> dict[str, Any]:
    """Return a text panel as ``v2beta1`` has it."""
    return {
        "kind": "Panel",
        "spec": {
            "id": panel_id,
            "title": title,
            "description": "",
            "links": [],
            "data": {"kind": "QueryGroup", "spec": {"queries": [], "transformations": [], "queryOptions": {}}},
            "vizConfig": {
                "kind": "VizConfig",
                "group": "text",
                "version": "12.4.3",
                "spec": {"options": {"content": title}, "fieldConfig": {"defaults": {}, "overrides": []}},
            },
        },
    }


def tab(title: str, layout: dict[str, Any]) -> dict[str, Any]:
    """Return a tab with a layout."""
    return {"kind": "TabsLayoutTab", "spec": {"title": title, "layout": layout}}


#: A dashboard with what classic versions cannot express: tabs, and a name of an element.
TABS: dict[str, Any] = {
    "title": "T",
    "cursorSync": "Off",
    "editable": True,
    "preload": False,
    "tags": ["a"],
    "links": [],
    "annotations": [],
    "variables": [],
    "timeSettings": {
        "timezone": "browser",
        "from": "now-6h",
        "to": "now",
        "autoRefresh": "",
        "autoRefreshIntervals": ["10s", "1m"],
        "hideTimepicker": False,
        "fiscalYearStartMonth": 0,
    },
    "elements": {"first": panel(1, "One"), "second": panel(2, "Two")},
    "layout": {"kind": "TabsLayout", "spec": {"tabs": [tab("A", grid_layout("first")), tab("B", grid_layout("second"))]}},
}
#: A dashboard whose layout refers to an element that does not exist.
BROKEN = {"title": "T", "elements": {}, "layout": grid_layout("missing")}


async def create_dashboard(api: Api, spec: dict[str, Any], path: str = DASHBOARDS, name: str = "d") -> tuple[int, Any]:
    """Create a dashboard. Return the status and the body of the response."""
    return await api("POST", path, {"metadata": {"name": name}, "spec": spec})


async def read_dashboard(api: Api, version: str, name: str = "d") -> Any:
    """Return a dashboard in a version."""
    status, body = await api("GET", path_in(version, name))
    assert (status, body["apiVersion"]) == (200, f"dashboard.grafana.app/{version}")
    return body


async def write_dashboard(api: Api, current: Any, **members: Any) -> Any:
    """Write a dashboard with changed members of its spec, in the version in which the dashboard was read."""
    version = current["apiVersion"].rpartition("/")[2]
    status, written = await api("PUT", path_in(version, current["metadata"]["name"]), {**current, "spec": {**current["spec"], **members}})
    assert status == 200, written
    return written


async def test_a_dashboard_is_readable_in_every_version(api: Api) -> None:
    """A dashboard is returned as sent in its version, and converted in all other versions. The status names the stored version."""
    classic = {"title": "T", "panels": [{"id": 1, "type": "text", "title": "One"}], "schemaVersion": 41}
    assert (await create_dashboard(api, classic, ALPHA, "classic"))[0] == 201
    assert (await create_dashboard(api, TABS, path_in("v2beta1"), "tabs"))[0] == 201
    for name, stored, spec in (("classic", "v0alpha1", classic), ("tabs", "v2beta1", TABS)):
        for version in VERSIONS:
            dashboard = await read_dashboard(api, version, name)
            if version == stored:
                assert (dashboard["spec"], dashboard["status"]) == (spec, {})
                continue
            conversion = dashboard["status"]["conversion"]
            assert conversion["failed"] is False, conversion
            assert conversion["storedVersion"] == stored, conversion
            titles = [
                *(panel["title"] for panel in dashboard["spec"].get("panels", ()) if panel["type"] != "row"),
                *(element["spec"]["title"] for element in dashboard["spec"].get("elements", {}).values()),
            ]
            assert titles == (["One"] if name == "classic" else ["One", "Two"])
            if version in CLASSIC:
                assert "panels" in dashboard["spec"]
            else:
                assert "panels" not in dashboard["spec"]


async def test_lists_and_watches_show_the_requested_version(api: Api) -> None:
    """Initial events, changes and lists show the spec and the status that a single read shows."""
    await create_dashboard(api, TABS, path_in("v2"))
    async with api.session.get(f"{BETA}?watch=true", headers={"Authorization": ADMIN}) as response:
        events = [await asyncio.wait_for(response.content.readline(), 30)]
        await create_dashboard(api, TABS, path_in("v2"), name="e")
        events.append(await asyncio.wait_for(response.content.readline(), 30))
    dashboard = await read_dashboard(api, "v1beta1")
    _, listing = await api("GET", BETA)
    for item in (*(orjson.loads(event)["object"] for event in events), *listing["items"]):
        assert (item["spec"], item["status"]) == (dashboard["spec"], dashboard["status"])


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "v2beta1"])
async def test_writing_back_what_was_read_changes_nothing(api: Api, version: str) -> None:
    """A write of an unchanged read keeps the generation, the stored version and the stored spec."""
    await create_dashboard(api, TABS, path_in("v2beta1"))
    written = await write_dashboard(api, await read_dashboard(api, version))
    assert written["metadata"]["generation"] == 1
    assert (await read_dashboard(api, "v2beta1"))["spec"] == TABS


@pytest.mark.parametrize("version", CLASSIC)
async def test_an_edit_in_a_classic_version_keeps_the_tabs(api: Api, version: str) -> None:
    """Members that the classic version cannot express are named in the status, and are returned in the version of the dashboard."""
    await create_dashboard(api, TABS, path_in("v2beta1"))
    dashboard = await read_dashboard(api, version)
    assert "layout" in dashboard["status"]["conversion"]["preserved"]
    written = await write_dashboard(api, dashboard, title="New", tags=["b"])
    assert (written["spec"]["title"], written["status"], written["metadata"]["generation"]) == ("New", {}, 2)
    restored = await read_dashboard(api, "v2beta1")
    assert restored["spec"] == TABS | {"title": "New", "tags": ["b"]}
    assert restored["status"]["conversion"]["storedVersion"] == version
    # An edit in the version with tabs is visible in the classic version.
    await write_dashboard(api, restored, title="Newest")
    assert (await read_dashboard(api, "v2beta1"))["spec"] == TABS | {"title": "Newest", "tags": ["b"]}
    assert (await read_dashboard(api, version))["spec"]["title"] == "Newest"


@pytest.mark.parametrize("version", ["v2alpha1", "v2beta1", "v2"])
async def test_an_edit_with_elements_keeps_unknown_members(api: Api, version: str) -> None:
    """Members that only the classic form has are kept while clients edit the dashboard in the other form."""
    classic = {
        "title": "T",
        "panels": [{"id": 1, "type": "text", "title": "One", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "ours": {"a": 1}}],
        "schemaVersion": 42,
        "ours": [1, 2],
    }
    await create_dashboard(api, classic, path_in("v1"))
    await write_dashboard(api, await read_dashboard(api, version), title="New")
    assert (await read_dashboard(api, "v1"))["spec"] == classic | {"title": "New"}


async def test_an_edit_in_another_version_with_elements_keeps_its_members(api: Api) -> None:
    """An edit in a version with elements keeps details that only another such version has, such as the shift of a time range."""
    element = panel(1, "One")
    element["spec"]["data"]["spec"]["queryOptions"] = {"timeCompare": "1d"}
    spec = {**TABS, "elements": {"first": element}, "layout": grid_layout("first")}
    await create_dashboard(api, spec, path_in("v2"))
    await write_dashboard(api, await read_dashboard(api, "v2alpha1"), title="New")
    assert (await read_dashboard(api, "v2"))["spec"] == {**spec, "title": "New"}


async def test_each_form_of_a_dashboard_is_kept(api: Api) -> None:
    """After edits in versions of both forms, each form still has the members that only it can express."""
    await create_dashboard(api, TABS, path_in("v2"))
    await write_dashboard(api, await read_dashboard(api, "v0alpha1"), ours={"a": 1})
    await write_dashboard(api, await read_dashboard(api, "v2alpha1"), title="New")
    assert (await read_dashboard(api, "v2"))["spec"] == TABS | {"title": "New"}
    classic = (await read_dashboard(api, "v0alpha1"))["spec"]
    assert (classic["title"], classic["ours"]) == ("New", {"a": 1})


async def test_the_classic_api_reads_and_saves_dashboards_with_elements(api: Api) -> None:
    """The classic API returns panels, and a save of these panels keeps the tabs."""
    await create_dashboard(api, TABS, path_in("v2beta1"))
    _, body = await api("GET", "/api/dashboards/uid/d")
    assert [panel["title"] for panel in body["dashboard"]["panels"] if panel["type"] != "row"] == ["One", "Two"]
    saved = {"dashboard": {**body["dashboard"], "title": "New"}, "overwrite": True}
    assert (await api("POST", "/api/dashboards/db", saved))[0] == 200
    assert (await read_dashboard(api, "v2beta1"))["spec"] == TABS | {"title": "New"}


async def test_a_dashboard_that_cannot_be_converted_has_a_placeholder(api: Api) -> None:
    """A placeholder replaces a spec that cannot be converted, and the status has the reason and the stored spec.

    Labels can be changed through the placeholder, but not the spec.
    """
    await create_dashboard(api, BROKEN)
    for version in CLASSIC:
        placeholder = await read_dashboard(api, version)
        conversion = placeholder["status"]["conversion"]
        assert placeholder["spec"] == PLACEHOLDER
        assert conversion["failed"] is True
        assert conversion["storedVersion"] == "v2alpha1"
        assert conversion["source"] == BROKEN
        assert "missing" in conversion["error"]
    placeholder = await read_dashboard(api, "v1")
    placeholder["metadata"]["labels"]["team"] = "a"
    written = await write_dashboard(api, placeholder)
    assert (written["spec"], written["metadata"]["labels"]["team"], written["metadata"]["generation"]) == (PLACEHOLDER, "a", 1)
    assert (await read_dashboard(api, "v2alpha1"))["spec"] == BROKEN
    for spec in ({**PLACEHOLDER, "title": "New"}, {**PLACEHOLDER, "panels": []}):
        status, error = await api("PUT", f"{BETA}/d", {"metadata": {"name": "d"}, "spec": spec})
        assert (status, error["details"]["causes"][0]["field"]) == (422, "spec.schemaVersion")
    assert (await create_dashboard(api, PLACEHOLDER, BETA, "other"))[0] == 422


@pytest.mark.parametrize("kind", ["merge-patch", "strategic-merge-patch"])
async def test_a_patch_applies_to_the_requested_version(api: Api, kind: str) -> None:
    """A patch changes members of the requested version. A patch of a placeholder can change only the metadata."""
    headers = {"Content-Type": f"application/{kind}+json"}
    await create_dashboard(api, TABS, path_in("v2beta1"), "tabs")
    status, body = await api("PATCH", f"{BETA}/tabs", {"spec": {"title": "New"}}, headers=headers)
    assert (status, body["spec"]["title"]) == (200, "New")
    assert (await read_dashboard(api, "v2beta1", "tabs"))["spec"] == TABS | {"title": "New"}
    await create_dashboard(api, BROKEN)
    status, body = await api("PATCH", f"{BETA}/d", {"metadata": {"labels": {"team": "a"}}}, headers=headers)
    assert status == 200
    assert body["spec"] == PLACEHOLDER
    assert body["metadata"]["labels"]["team"] == "a"
    assert body["metadata"]["generation"] == 1
    assert (await api("PATCH", f"{BETA}/d", {"spec": {"title": "New"}}, headers=headers))[0] == 422
    status, body = await api("PATCH", f"{DASHBOARDS}/d", {"spec": {"title": "New"}}, headers=headers)
    assert (status, body["spec"]) == (200, BROKEN | {"title": "New"})


async def test_labels_are_applied_through_a_placeholder(api: Api) -> None:
    """An apply may have the spec of the placeholder or no spec, but no changed spec with the placeholder's schema version."""
    await create_dashboard(api, BROKEN)
    headers = {"Content-Type": "application/apply-patch+yaml"}
    for spec in ({}, {"spec": PLACEHOLDER}):
        body = {"metadata": {"labels": {"team": "a"}}, **spec}
        status, response = await api("PATCH", f"{BETA}/d?fieldManager=m", body, headers=headers)
        assert status == 200
        assert response["spec"] == PLACEHOLDER
        assert response["metadata"]["labels"]["team"] == "a"
        assert response["metadata"]["generation"] == 1
    assert (await api("PATCH", f"{BETA}/d?fieldManager=m&force=true", {"spec": PLACEHOLDER | {"panels": []}}, headers=headers))[0] == 422
    assert (await read_dashboard(api, "v2alpha1"))["spec"] == BROKEN


async def test_fields_are_applied_in_another_version(api: Api) -> None:
    """A server-side apply in a classic version changes the dashboard and keeps its tabs."""
    await create_dashboard(api, TABS, path_in("v2beta1"))
    headers = {"Content-Type": "application/apply-patch+yaml"}
    status, body = await api("PATCH", f"{path_in('v1', 'd')}?fieldManager=m&force=true", {"spec": {"title": "New"}}, headers=headers)
    assert (status, body["spec"]["title"]) == (200, "New"), body
    assert (await read_dashboard(api, "v2beta1"))["spec"] == TABS | {"title": "New"}


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1"])
async def test_typed_classic_versions_check_the_schema(api: Api, version: str) -> None:
    """Typed classic versions refuse invalid members with 422 and a cause for each member. Versions without a schema accept the body."""
    spec = {"title": "T", "schemaVersion": 41, "editable": "elephant", "time": 9000}
    status, refusal = await create_dashboard(api, spec, path_in(version))
    assert (status, refusal["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in refusal["details"]["causes"]] == ["spec.editable", "spec.time"]
    assert (await create_dashboard(api, spec, ALPHA))[0] == 201
    assert (await create_dashboard(api, spec, DASHBOARDS, "e"))[0] == 201


async def test_data_sources_and_library_panels_of_the_organization_are_known(api: Api) -> None:
    """A conversion adds the type of a data source that is given by uid, and the repetition of a library panel."""
    source = {"name": "Metrics", "type": "prometheus", "uid": "metrics", "url": "http://127.0.0.1:9", "access": "proxy"}
    assert (await api("POST", "/api/datasources", source))[0] == 200
    element = {"uid": "lib", "name": "Shared", "kind": 1, "model": {"type": "text", "title": "Shared", "repeat": "host", "maxPerRow": 3}}
    assert (await api("POST", "/api/library-elements", element))[0] == 200
    panels = [
        {"id": 1, "type": "timeseries", "datasource": {"uid": "metrics"}, "targets": [{"refId": "A", "datasource": {"uid": "metrics"}}]},
        {"id": 2, "libraryPanel": {"uid": "lib", "name": "Shared"}},
    ]
    await create_dashboard(api, {"title": "T", "panels": panels, "schemaVersion": 42}, path_in("v1"))
    spec = (await read_dashboard(api, "v2beta1"))["spec"]
    [query] = spec["elements"]["panel-1"]["spec"]["data"]["spec"]["queries"]
    assert query["spec"]["query"]["group"] == "prometheus"
    repeats = [item["spec"].get("repeat") for item in spec["layout"]["spec"]["items"]]
    assert repeats == [None, {"mode": "variable", "value": "host", "maxPerRow": 3}]


@pytest.mark.parametrize(
    ("version", "members", "field"),
    [
        ("v2alpha1", {"elements": 5}, "spec.elements"),
        ("v2beta1", {"elements": 5}, "spec.elements"),
        ("v2", {"layout": grid_layout("missing")}, "spec.layout.spec.items[0].spec.element"),
        ("v2", {"tags": "a"}, "spec.tags"),
    ],
)
async def test_elements_and_layouts_are_checked(api: Api, version: str, members: dict[str, Any], field: str) -> None:
    """Invalid elements and layouts are refused with 422 and a cause for each fault, and nothing is stored."""
    status, refusal = await create_dashboard(api, TABS | members, path_in(version))
    assert (status, refusal["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in refusal["details"]["causes"] if cause["field"].startswith(field)]
    assert (await api("GET", path_in(version, "d")))[0] == 404


async def test_unknown_versions_are_refused(api: Api) -> None:
    """An unknown version is 404 in the path and 400 in the body."""
    assert (await api("GET", f"{DASHBOARDS.replace('v2alpha1', 'v3')}/d"))[0] == 404
    body = {"apiVersion": "dashboard.grafana.app/v3", "metadata": {"name": "d"}, "spec": {"title": "T"}}
    assert (await api("POST", DASHBOARDS, body))[0] == 400


@pytest.mark.parametrize(("refresh", "status"), [("5s", 400), ("10s", 201), ("30s", 201), ("auto", 201), ("soon", 400)], ids=str)
async def test_a_refresh_below_the_minimum_is_rejected(start_api: StartApi, refresh: str, status: int) -> None:
    """A refresh below the setting's minimum is rejected in the classic form, and in the form with a layout."""
    api = await start_api(min_refresh=10)
    assert (await create_dashboard(api, {"title": "T", "refresh": refresh}))[0] == status
    assert (await create_dashboard(api, {"title": "T", "timeSettings": {"autoRefresh": refresh}, "layout": {}}, name="e"))[0] == status
