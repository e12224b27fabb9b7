"""Dashboards in their versions, and the specs that each version accepts."""

import asyncio
from typing import Any

import pytest
from tests.contract.api.conftest import Api, StartApi

DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
BETA = DASHBOARDS.replace("v2alpha1", "v1beta1")
ALPHA = DASHBOARDS.replace("v2alpha1", "v0alpha1")
STUB = {"title": "T", "schemaVersion": 9999}
LAYOUT = {"title": "T", "elements": {"a": {}}, "layout": {"kind": "GridLayout"}}


async def make(api: Api, spec: dict[str, Any], path: str = DASHBOARDS, name: str = "d") -> tuple[int, Any]:
    return await api("POST", path, {"metadata": {"name": name}, "spec": spec})


async def test_a_classic_spec_is_readable_in_every_version(api: Api) -> None:
    """A classic spec is returned as sent, with defaults in v1beta1 only. The status names another stored version."""
    spec = {"title": "T", "panels": [{"id": 1}], "schemaVersion": 41}
    assert (await make(api, spec, ALPHA))[0] == 201
    for path in (DASHBOARDS, BETA, ALPHA):
        _, found = await api("GET", f"{path}/d")
        conversion = {} if path is ALPHA else {"conversion": {"failed": False, "storedVersion": "v0alpha1"}}
        assert found["status"] == conversion
        assert {name: found["spec"][name] for name in spec} == spec
        assert (found["spec"] == spec) is (path is not BETA)


async def test_defaults_fill_missing_fields(api: Api) -> None:
    """Reads in v1beta1 add defaults and keep other fields; sending the result back changes nothing."""
    await make(api, {"title": "T", "refresh": "5m", "time": {"from": "now-1h"}, "editable": None}, ALPHA)
    _, found = await api("GET", f"{BETA}/d")
    assert {name: found["spec"][name] for name in ("refresh", "time", "editable")} == {
        "refresh": "5m",
        "time": {"from": "now-1h"},
        "editable": None,
    }
    assert found["spec"]["annotations"]["list"][0]["builtIn"] == 1
    assert {name: found["spec"][name] for name in ("fiscalYearStartMonth", "graphTooltip", "links", "templating", "timepicker")} == {
        "fiscalYearStartMonth": 0,
        "graphTooltip": 0,
        "links": [],
        "templating": {"list": []},
        "timepicker": {},
    }
    assert (found["spec"]["timezone"], found["spec"]["weekStart"]) == ("", "")
    assert await api("PUT", f"{BETA}/d", found) == (200, found)


@pytest.mark.parametrize("door", [DASHBOARDS, BETA, ALPHA], ids=["v2alpha1", "v1beta1", "v0alpha1"])
async def test_a_layout_is_a_stub_in_older_versions(api: Api, door: str) -> None:
    """Whatever version it came in, read alone or in a list; the status names the version that has it whole."""
    status, created = await make(api, LAYOUT, door)
    assert (status, created["spec"]) == (201, LAYOUT if door == DASHBOARDS else STUB)
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["spec"] == LAYOUT
    for path in (BETA, ALPHA):
        _, one = await api("GET", f"{path}/d")
        _, listing = await api("GET", path)
        for found in (one, *listing["items"]):
            assert found["spec"] == STUB
            conversion = found["status"]["conversion"]
            assert (conversion["failed"], conversion["storedVersion"], bool(conversion["error"])) == (True, "v2alpha1", True)


async def test_a_watch_shows_the_stub_too(api: Api) -> None:
    """Initial events and changes show the stub."""
    await make(api, LAYOUT)
    async with api.session.get(f"{BETA}?watch=true", headers={"Authorization": "Basic YWRtaW46YWRtaW4="}) as response:
        lines = [await asyncio.wait_for(response.content.readline(), 30)]
        await make(api, LAYOUT, name="e")
        lines.append(await asyncio.wait_for(response.content.readline(), 30))
    assert all(b'"schemaVersion":9999' in line and b'"storedVersion":"v2alpha1"' in line for line in lines)


async def test_labels_are_changed_through_a_stub(api: Api) -> None:
    """The body and its generation are kept; any other spec of that schema version is refused."""
    await make(api, LAYOUT)
    _, found = await api("GET", f"{BETA}/d")
    found["metadata"]["labels"]["team"] = "a"
    status, body = await api("PUT", f"{BETA}/d", found)
    assert (status, body["spec"], body["metadata"]["labels"]["team"], body["metadata"]["generation"]) == (200, STUB, "a", 1)
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["spec"] == LAYOUT
    for spec in ({**STUB, "title": "New"}, {**STUB, "panels": []}):
        status, error = await api("PUT", f"{BETA}/d", {"metadata": {"name": "d"}, "spec": spec})
        assert (status, error["details"]["causes"][0]["field"]) == (422, "spec.schemaVersion")
    assert (await make(api, STUB, BETA, "other"))[0] == 422


@pytest.mark.parametrize("kind", ["merge-patch", "strategic-merge-patch"])
async def test_a_patch_applies_to_the_requested_version(api: Api, kind: str) -> None:
    """A patch of a stub changes the metadata and not the spec."""
    await make(api, LAYOUT)
    headers = {"Content-Type": f"application/{kind}+json"}
    status, found = await api("PATCH", f"{BETA}/d", {"metadata": {"labels": {"team": "a"}}}, headers=headers)
    assert (status, found["spec"], found["metadata"]["labels"]["team"], found["metadata"]["generation"]) == (200, STUB, "a", 1)
    assert (await api("PATCH", f"{BETA}/d", {"spec": {"title": "New"}}, headers=headers))[0] == 422
    status, found = await api("PATCH", f"{DASHBOARDS}/d", {"spec": {"title": "New"}}, headers=headers)
    assert (status, found["spec"]) == (200, LAYOUT | {"title": "New"})


async def test_labels_are_applied_through_a_stub(api: Api) -> None:
    """An apply may have the stub's spec or none, but not another spec of that schema version."""
    await make(api, LAYOUT)
    headers = {"Content-Type": "application/apply-patch+yaml"}
    for spec in ({}, {"spec": STUB}):
        body = {"metadata": {"labels": {"team": "a"}}, **spec}
        status, found = await api("PATCH", f"{BETA}/d?fieldManager=m", body, headers=headers)
        assert (status, found["spec"], found["metadata"]["labels"]["team"], found["metadata"]["generation"]) == (200, STUB, "a", 1)
    assert (await api("PATCH", f"{BETA}/d?fieldManager=m&force=true", {"spec": STUB | {"panels": []}}, headers=headers))[0] == 422
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["spec"] == LAYOUT


async def test_a_layout_may_be_replaced_by_a_classic_spec(api: Api) -> None:
    """A layout is replaced by a complete classic spec in an older version, and the other way round."""
    await make(api, LAYOUT)
    assert (await api("PUT", f"{BETA}/d", {"metadata": {"name": "d"}, "spec": {"title": "T", "panels": []}}))[0] == 200
    assert (await api("GET", f"{DASHBOARDS}/d"))[1]["spec"] == {"title": "T", "panels": []}
    assert (await api("PUT", f"{BETA}/d", {"metadata": {"name": "d"}, "spec": LAYOUT}))[1]["spec"] == STUB


async def test_only_v1beta1_checks_the_classic_schema(api: Api) -> None:
    """422 with a cause for each member; the same body is fine elsewhere."""
    spec = {"title": "T", "schemaVersion": 41, "editable": "elephant", "time": 9000}
    status, refused = await make(api, spec, BETA)
    assert (status, refused["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.editable", "spec.time"]
    assert (await make(api, spec, ALPHA))[0] == 201
    assert (await make(api, spec, DASHBOARDS, "e"))[0] == 201


async def test_unknown_versions(api: Api) -> None:
    """An unknown version is 404 in the path and 400 in the body."""
    assert (await api("GET", f"{DASHBOARDS.replace('v2alpha1', 'v3')}/d"))[0] == 404
    body = {"apiVersion": "dashboard.grafana.app/v3", "metadata": {"name": "d"}, "spec": {"title": "T"}}
    assert (await api("POST", DASHBOARDS, body))[0] == 400


@pytest.mark.parametrize(
    ("refresh", "status"), [("5s", 400), ("10s", 201), ("30s", 201), ("auto", 201), ("soon", 400)], ids=lambda value: str(value)
)
async def test_a_refresh_below_the_minimum_is_rejected(start_api: StartApi, refresh: str, status: int) -> None:
    """A refresh below the setting's minimum is rejected in either layout."""
    api = await start_api(min_refresh=10)
    assert (await make(api, {"title": "T", "refresh": refresh}))[0] == status
    assert (await make(api, {"title": "T", "timeSettings": {"autoRefresh": refresh}, "layout": {}}, name="e"))[0] == status
