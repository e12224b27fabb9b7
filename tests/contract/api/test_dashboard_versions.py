"""Versions of a dashboard, which are read as a list, singly, and as a history of complete objects."""

from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.identity import Role

DASHBOARDS = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/dashboards"


async def save_versions(api: Api, name: str, *titles: str, **spec: Any) -> None:
    """Save a dashboard with each title in turn."""
    for title in titles:
        form = {"dashboard": {"uid": name, "title": title, **spec}, "overwrite": True, "message": f"to {title}"}
        status, body = await api("POST", "/api/dashboards/db", form)
        assert status == 200, body


def history(name: str, **query: Any) -> str:
    """Return the path that lists the versions of a dashboard as Kubernetes objects."""
    selector = {"labelSelector": "grafana.app/get-history=true", "fieldSelector": f"metadata.name={name}", **query}
    return f"{DASHBOARDS}?{'&'.join(f'{key}={quote(str(value))}' for key, value in selector.items())}"


async def test_versions_are_listed_newest_first(api: Api) -> None:
    """Versions are listed with number, time, author and message, the newest first."""
    await save_versions(api, "d", "one", "two")
    status, body = await api("GET", f"{DASHBOARDS}/d/versions")
    assert (status, body["kind"], body["apiVersion"]) == (200, "DashboardVersionList", "dashboard.grafana.app/v0alpha1")
    assert [(item["version"], item["createdBy"], item["message"]) for item in body["items"]] == [
        (2, "user:1", "to two"),
        (1, "user:1", "to one"),
    ]
    assert all(item["created"] > 1_700_000_000_000 for item in body["items"])  # milliseconds until 2023


async def test_versions_are_served_in_yaml(api: Api) -> None:
    """The list of versions and a single version are returned in YAML on request."""
    await save_versions(api, "d", "one")
    headers = {"Authorization": ADMIN, "Accept": "application/yaml"}
    for path, text in (("versions", "kind: DashboardVersionList"), ("versions/1", "kind: Dashboard\n")):
        async with api.session.get(f"{DASHBOARDS}/d/{path}", headers=headers) as response:
            assert (response.status, response.content_type) == (200, "application/yaml")
            assert text in await response.text()


async def test_versions_are_listed_in_pages(api: Api) -> None:
    """The token of a page leads to the next page, and the last page has no token."""
    await save_versions(api, "d", "a", "b", "c", "d", "e")
    pages = []
    query = "limit=2"
    while query:
        _, body = await api("GET", f"{DASHBOARDS}/d/versions?{query}")
        pages.append([item["version"] for item in body["items"]])
        token = body["metadata"].get("continue")
        query = f"limit=2&continue={token}" if token else ""
    assert pages == [[5, 4], [3, 2], [1]]


@pytest.mark.parametrize("path", ["d/versions/1", "d/versions?version=1", "d/versions?path=/1"])
async def test_a_version_contains_the_old_dashboard(api: Api, path: str) -> None:
    """A version has the dashboard as it was, with its number as generation and its message as annotation."""
    await save_versions(api, "d", "one", "two")
    status, body = await api("GET", f"{DASHBOARDS}/{path}")
    assert status == 200
    assert body["kind"] == "Dashboard"
    assert body["spec"] == {"title": "one"}
    assert body["metadata"]["generation"] == 1
    assert body["metadata"]["annotations"]["grafana.app/message"] == "to one"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("d/versions/2", 404),
        ("d/versions/9223372036854775807", 404),
        ("d/versions/x", 400),
        ("d/versions/0", 400),
        ("d/versions/-1", 400),
        ("d/versions/1.5", 400),
        ("d/versions?version=x", 400),
        ("d/versions?limit=x", 400),
        ("d/versions?continue=zzz", 400),
        ("d/versions?continue=W10=", 400),  # []
        ("d/versions?continue=eyJiZWZvcmUiOiJhIn0=", 400),  # {"before":"a"}
        ("nothing/versions", 404),
        ("nothing/versions/1", 404),
    ],
)
async def test_invalid_versions_are_refused(api: Api, path: str, status: int) -> None:
    """An unknown number or dashboard gets 404, and an invalid number 400. Both responses are a Status."""
    await save_versions(api, "d", "one")
    actual_status, body = await api("GET", f"{DASHBOARDS}/{path}")
    assert (actual_status, body["kind"], body["code"]) == (status, "Status", status)


async def test_a_history_has_complete_objects(api: Api) -> None:
    """A history has complete objects, newest first and in pages, for any name."""
    await save_versions(api, "test-dashboard-", "one", "two")
    status, body = await api("GET", history("test-dashboard-", limit=10))
    assert status == 200
    assert body["kind"] == "DashboardList"
    assert body["metadata"]["resourceVersion"].isdigit()
    assert [(item["metadata"]["generation"], item["spec"]) for item in body["items"]] == [(2, {"title": "two"}), (1, {"title": "one"})]
    assert [item["metadata"]["annotations"]["grafana.app/message"] for item in body["items"]] == ["to two", "to one"]
    _, first = await api("GET", history("test-dashboard-", limit=1))
    token = {"continue": first["metadata"]["continue"]}
    _, second = await api("GET", history("test-dashboard-", limit=1, **token))
    assert first["items"] + second["items"] == body["items"]
    assert "continue" not in second["metadata"]


async def test_a_history_is_printed_as_a_table(api: Api) -> None:
    """kubectl receives a history as a table with the titles of each version."""
    await save_versions(api, "d", "one", "two")
    _, body = await api("GET", history("d"), headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    assert [(row["cells"][1], row["object"]["metadata"]["generation"]) for row in body["rows"]] == [("two", 2), ("one", 1)]


async def test_a_history_needs_the_name_of_one_object(api: Api) -> None:
    """A history without a name gets 400, and the history of an unknown name is empty. Folders have no history."""
    selector = "labelSelector=grafana.app/get-history=true"
    assert (await api("GET", f"{DASHBOARDS}?{selector}"))[0] == 400
    assert (await api("GET", history("nothing")))[1]["items"] == []
    folders = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
    assert (await api("GET", f"{folders}?{selector}&fieldSelector=metadata.name%3Df"))[0] == 400


async def test_old_versions_are_converted(api: Api) -> None:
    """An old version of a dashboard is returned in the requested API version, singly and in the history."""
    await save_versions(api, "d", "one", layout={})
    await save_versions(api, "d", "two")
    for version, member in (("v1beta1", "schemaVersion"), ("v2alpha1", "layout")):
        _, body = await api("GET", f"{DASHBOARDS.replace('v0alpha1', version)}/d/versions/1")
        assert member in body["spec"]
        _, listing = await api("GET", history("d").replace("v0alpha1", version))
        assert [item["spec"]["title"] for item in listing["items"]] == ["two", "one"]
        assert listing["items"][1]["spec"] == body["spec"]


async def test_versions_need_read_access(api: Api) -> None:
    """A caller without read access to the dashboard receives 403."""
    await save_versions(api, "d", "one")
    unprivileged = await api.person("unprivileged", Role.NONE)
    viewer = await api.person("viewer", Role.VIEWER)
    for path in (f"{DASHBOARDS}/d/versions", f"{DASHBOARDS}/d/versions/1", history("d")):
        assert (await api("GET", path, auth=unprivileged))[0] == 403
        assert (await api("GET", path, auth=viewer))[0] == 200
