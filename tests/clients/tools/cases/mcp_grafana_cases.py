"""Cases of mcp-grafana: its tools of the open-source edition, with Prometheus as the data source, over standard input and output."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
#: A function that calls a tool by its name and returns its result, or its error.
Tool = Callable[..., Any]
PANEL = {"id": 1, "type": "timeseries", "title": "Load", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}}
QUERY = {"datasource": {"type": "prometheus", "uid": "absent"}, "targets": [{"refId": "A", "expr": 'load{job="$job"}'}]}
VARIABLE = {"name": "job", "type": "custom", "query": "a,b", "current": {"text": "a", "value": "a"}}
BOARD = {
    "uid": "board",
    "title": "Board",
    "tags": ["agents"],
    "panels": [PANEL | QUERY],
    "templating": {"list": [VARIABLE]},
    "time": {"from": "now-6h", "to": "now"},
}
#: Tools that are not called: roles are not part of the open-source edition, and the catalogue of plugins is on another server.
EXCLUDED = {
    *("list_all_roles", "list_team_roles", "list_user_roles", "get_role_details", "get_role_assignments"),
    *("install_plugin", "search_plugin_information"),
}


@pytest.fixture(scope="module", autouse=True)
def board(tool: Tool) -> None:
    """Create a dashboard in a folder in another folder."""
    tool("create_folder", title="Agents", uid="agents")
    tool("create_folder", title="Inner", uid="inner", parentUid="agents")
    tool("update_dashboard", dashboard=BOARD, folderUid="inner", overwrite=True, message="first")


def test_dashboards_are_read(tool: Tool) -> None:
    """A dashboard is read as a whole, as a summary, by a path, and by its queries with the values of variables."""
    read = tool("get_dashboard_by_uid", uid="board")
    assert (read["dashboard"]["title"], read["meta"]["folderUid"]) == ("Board", "inner")
    summary = tool("get_dashboard_summary", uid="board")
    assert (summary["tags"], summary["panelCount"], summary["variables"]) == (["agents"], 1, [{"name": "job", "type": "custom"}])
    assert tool("get_dashboard_property", uid="board", jsonPath="$.panels[0].title") == "Load"
    (query,) = tool("get_dashboard_panel_queries", uid="board", variables={"job": "b"})
    assert (query["query"], query["processedQuery"]) == ('load{job="$job"}', 'load{job="b"}')


def test_dashboards_are_changed(tool: Tool) -> None:
    """A patch changes one member and makes a version with its message; the earlier version is readable."""
    tool("update_dashboard", dashboard={**BOARD, "uid": "changed", "title": "Changed"}, overwrite=True)
    patch = [{"op": "replace", "path": "$.title", "value": "Changed again"}]
    tool("update_dashboard", uid="changed", operations=patch, message="by an agent")
    assert tool("get_dashboard_property", uid="changed", jsonPath="$.title") == "Changed again"
    versions = tool("list_dashboard_versions", uid="changed")
    assert [version["version"] for version in versions] == [2, 1]
    assert versions[0]["message"] == "by an agent"
    assert tool("get_dashboard_by_uid", uid="changed", version=1)["dashboard"]["title"] == "Changed"


def test_tabs_survive_a_patch(tool: Tool) -> None:
    """A dashboard of version v2 is read and patched in that version, so that its layout is kept."""
    grid = {"kind": "GridLayout", "spec": {"items": []}}
    layout = {"kind": "TabsLayout", "spec": {"tabs": [{"kind": "TabsLayoutTab", "spec": {"title": "One", "layout": grid}}]}}
    dashboards = "/apis/dashboard.grafana.app/v2/namespaces/default/dashboards"
    send("POST", dashboards, {"metadata": {"name": "tabs"}, "spec": {"title": "Tabs", "elements": {}, "layout": layout}})
    assert tool("get_dashboard_by_uid", uid="tabs")["dashboard"]["layout"] == layout
    tool("update_dashboard", uid="tabs", operations=[{"op": "replace", "path": "$.title", "value": "Tabs 2"}], message="by an agent")
    read = send("GET", f"{dashboards}/tabs")
    assert (read["spec"]["title"], read["spec"]["layout"]) == ("Tabs 2", layout)
    assert read["metadata"]["annotations"]["grafana.app/message"] == "by an agent"


def test_dashboards_and_folders_are_found(tool: Tool) -> None:
    """Dashboards are found by title, tag and folder, and folders by title."""
    for criteria in ({"query": "Board"}, {"tag": ["agents"]}, {"folderUid": "inner"}):
        assert "board" in [hit["uid"] for hit in tool("search_dashboards", **criteria)["dashboards"]]
    assert [folder["uid"] for folder in tool("search_folders", query="Inner")["dashboards"]] == ["inner"]


def test_data_sources_are_created_and_checked(tool: Tool) -> None:
    """A data source is created, listed, read and checked."""
    arguments = {"name": "Metrics", "type": "prometheus", "url": "http://127.0.0.1:1", "access": "proxy", "schemaReviewed": True}
    uid = tool("create_datasource", **arguments)["uid"]
    assert [source["uid"] for source in tool("list_datasources", type="prometheus")["datasources"]] == [uid]
    assert tool("get_datasource", name="Metrics")["uid"] == uid
    tool("update_datasource", uid=uid, name="Metrics 2", schemaReviewed=True)
    assert tool("get_datasource", uid=uid)["name"] == "Metrics 2"
    assert "did not respond" in tool("check_datasources_health")["results"][0]["error"]


def test_prometheus_is_queried(tool: Tool) -> None:
    """Metrics, labels, values, metadata and series are read from Prometheus through the gateway."""
    record = {"name": "Real", "uid": "real", "type": "prometheus", "url": os.environ["DASHWRIGHT_TEST_PROMETHEUS"]}
    send("POST", "/api/datasources", record)
    assert "up" in tool("list_prometheus_metric_names", datasourceUid="real", regex="^up$")
    assert "job" in tool("list_prometheus_label_names", datasourceUid="real")
    assert "prometheus" in tool("list_prometheus_label_values", datasourceUid="real", labelName="job")
    assert tool("list_prometheus_metric_metadata", datasourceUid="real", metric="prometheus_build_info")
    instant = {"datasourceUid": "real", "expr": "up", "endTime": "now"}
    assert "prometheus" in json.dumps(tool("query_prometheus", queryType="instant", **instant))
    range_ = {"queryType": "range", "startTime": "now-5m", "stepSeconds": 15}
    assert "prometheus" in json.dumps(tool("query_prometheus", **instant, **range_))
    histogram = {"metric": "prometheus_http_request_duration_seconds", "percentile": 90}
    assert tool("query_prometheus_histogram", datasourceUid="real", **histogram)


def test_annotations_are_created_and_changed(tool: Tool) -> None:
    """An annotation is created, found, changed and deleted."""
    created = tool("create_annotation", text="Release", tags=["release"], time=1_700_000_000_000, dashboardUid="board")
    annotation_id = created["Payload"]["id"]
    assert tool("get_annotations", tags=["release"])["Payload"][0]["text"] == "Release"
    assert tool("get_annotation_tags")["Payload"]["result"]["tags"] == [{"count": 1, "tag": "release"}]
    tool("update_annotation", id=annotation_id, text="Release 2")
    assert tool("get_annotations", dashboardUid="board")["Payload"][0]["text"] == "Release 2"
    tool("delete_annotation", id=annotation_id)
    assert tool("get_annotations")["Payload"] == []


def test_snapshots_are_created_and_deleted(tool: Tool) -> None:
    """A snapshot is created, listed, read and deleted."""
    key = tool("create_snapshot", dashboard=BOARD, name="Kept")["key"]
    assert [snapshot["key"] for snapshot in tool("list_snapshots")] == [key]
    assert "Board" in json.dumps(tool("get_snapshot", key=key))
    tool("delete_snapshot", key=key)
    assert not tool("list_snapshots")


def test_dashboards_are_linked_and_panels_drawn(tool: Tool) -> None:
    """Links name the dashboard, also shortened, and a panel is drawn."""
    assert tool("generate_deeplink", resourceType="dashboard", dashboardUid="board").endswith("/d/board")
    assert tool("generate_deeplink", resourceType="panel", dashboardUid="board", panelId=1).endswith("/d/board?viewPanel=1")
    assert "/goto/" in tool("generate_deeplink", resourceType="dashboard", dashboardUid="board", shorten=True)
    picture = tool("get_panel_image", dashboardUid="board", panelId=1, width=400, height=300)
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")


def test_accounts_and_permissions_are_described(tool: Tool) -> None:
    """The caller, the users and teams of its organization, and the permissions of a folder and a dashboard are described."""
    assert tool("user_info")["orgs"][0]["role"] == "Admin"
    assert tool("grafana_api_request", endpoint="/api/org")["data"]["id"] == 1
    send("POST", "/api/teams", {"name": "Operators"})
    assert [team["name"] for team in tool("list_teams")["teams"]] == ["Operators"]
    assert [user["login"] for user in tool("list_users_by_org")["orgUsers"]] == ["admin"]
    for resource, name in (("folders", "agents"), ("dashboards", "board")):
        assert tool("get_resource_description", resourceType=resource)["permissions"] == ["View", "Edit", "Admin"]
        granted = tool("get_resource_permissions", resource=resource, resourceId=name)
        assert {permission["builtInRole"]: permission["permission"] for permission in granted} == {
            "Admin": "Admin",
            "Editor": "Edit",
            "Viewer": "View",
        }


def test_plugins_and_examples_are_listed(tool: Tool) -> None:
    """Plugins of data sources and panels are installed, and examples need no server."""
    assert tool("get_plugin", pluginId="prometheus")["installed"]
    assert tool("get_plugin", pluginId="timeseries")["installed"]
    assert not tool("get_plugin", pluginId="absent")["installed"]
    assert tool("get_query_examples", datasourceType="prometheus")["examples"]
    assert tool("suggest_loki_alloy_label_config", approvedLabels=["job"])["alloy"]


def test_alerting_is_empty_and_refuses_writes(tool: Tool, refusal: Tool) -> None:
    """Lists of alerting are empty, and writes are refused with status 501."""
    assert not tool("alerting_rules_read", operation="list")
    assert not tool("alerting_manage_routing", operation="get_contact_points")
    assert not tool("alerting_manage_routing", operation="get_time_intervals")
    assert not tool("alerting_silences_read", operation="list")
    point = {"name": "Mail", "type": "email", "settings": {"addresses": "a@example.org"}}
    matchers = [{"name": "job", "value": "a", "isRegex": False, "isEqual": True}]
    silence = {"matchers": matchers, "starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z", "comment": "x"}
    assert "501" in refusal("alerting_rules_write", operation="delete", rule_uid="absent")
    assert "501" in refusal("alerting_routing_write", operation="create_contact_point", **point)
    assert "501" in refusal("alerting_silences_write", operation="create", created_by="x", **silence)


def test_an_edit_of_a_managed_dashboard_is_a_commit(tool: Tool) -> None:
    """A dashboard of a git repository is changed by a commit, with the message of the edit."""
    sync = {"enabled": True, "target": "folder"}
    spec = {"title": "Team", "type": "git", "git": {"url": os.environ["DASHWRIGHT_TEST_GIT"]}, "workflows": ["write"], "sync": sync}
    repositories = "/apis/provisioning.grafana.app/v1beta1/namespaces/default/repositories"
    send("POST", repositories, {"metadata": {"name": "team"}, "spec": spec})
    send("POST", f"{repositories}/team/files/managed.json", {"uid": "managed", "title": "Managed", "panels": []})
    assert tool("list_provisioning_repositories")[0]["name"] == "team"
    assert tool("validate_provisioning_file", repo="team", path="managed.json")["valid"]
    patch = [{"op": "replace", "path": "$.title", "value": "By an agent"}]
    tool("update_dashboard", uid="managed", operations=patch, message="Rename it")
    assert json.loads(git("show", "main:managed.json"))["title"] == "By an agent"
    assert git("log", "-1", "--format=%s", "main").strip() == "Rename it"


def test_every_tool_is_called(uncalled: set[str]) -> None:
    """The cases above call every tool, except for those that are excluded."""
    assert uncalled == EXCLUDED


def git(*arguments: str) -> str:
    """Return the output of git in the repository of the git server."""
    command = ["git", f"--git-dir={os.environ['DASHWRIGHT_TEST_GIT_DIR']}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def send(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Return the response to a request without a tool."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(TARGET + path, content, headers, method=method)) as response:
        return json.load(response)
