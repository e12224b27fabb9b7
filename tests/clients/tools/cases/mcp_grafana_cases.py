"""Cases of mcp-grafana: its tools of the open-source edition that query no data source, over standard input and output."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
PANEL = {"id": 1, "type": "text", "title": "Notes", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "options": {"content": "hello"}}
BOARD = {"uid": "board", "title": "Board", "tags": ["agents"], "panels": [PANEL], "time": {"from": "now-6h", "to": "now"}}


class Server:
    """A running mcp-grafana."""

    def __init__(self) -> None:
        settings = {"GRAFANA_URL": TARGET, "GRAFANA_SERVICE_ACCOUNT_TOKEN": TOKEN, "GRAFANA_USAGE_STATS": "disabled", "DO_NOT_TRACK": "1"}
        self._process = subprocess.Popen(
            [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "mcp-grafana", "-t", "stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **settings},
            text=True,
        )
        self._id = 0
        client = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "cases", "version": "1"}}
        self._request("initialize", client)
        self._send({"method": "notifications/initialized"})

    def tool(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of a tool, parsed if it is JSON. Raises AssertionError if the tool reports an error."""
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        content = result["content"][0]
        assert not result.get("isError"), f"{name}: {content}"
        if content["type"] != "text":
            return content
        try:
            return json.loads(content["text"])
        except ValueError:
            return content["text"]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._id:
                assert "result" in message, message
                return dict(message["result"])
        raise AssertionError("mcp-grafana ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    server.tool("update_dashboard", dashboard=BOARD, overwrite=True, message="first")
    yield server
    server.close()


def test_dashboards_are_read(server: Server) -> None:
    """A dashboard is read as a whole, as a summary, by a path, and by its panels."""
    assert server.tool("get_dashboard_by_uid", uid="board")["dashboard"]["title"] == "Board"
    summary = server.tool("get_dashboard_summary", uid="board")
    assert (summary["tags"], summary["panelCount"]) == (["agents"], 1)
    assert server.tool("get_dashboard_property", uid="board", jsonPath="$.panels[0].title") == "Notes"
    server.tool("get_dashboard_panel_queries", uid="board")


def test_dashboards_are_changed(server: Server) -> None:
    """A patch changes one member and makes a version with its message."""
    server.tool("update_dashboard", dashboard={**BOARD, "uid": "changed", "title": "Changed"}, overwrite=True)
    patch = [{"op": "replace", "path": "$.title", "value": "Changed again"}]
    server.tool("update_dashboard", uid="changed", operations=patch, message="by an agent")
    assert server.tool("get_dashboard_property", uid="changed", jsonPath="$.title") == "Changed again"
    versions = server.tool("list_dashboard_versions", uid="changed")
    assert [version["version"] for version in versions] == [2, 1]
    assert versions[0]["message"] == "by an agent"


def test_searches(server: Server) -> None:
    """Dashboards and folders are found by their titles."""
    server.tool("create_folder", title="Agents", uid="agents")
    assert server.tool("search_dashboards", query="Board")["dashboards"][0]["uid"] == "board"
    assert "agents" in [folder["uid"] for folder in server.tool("search_folders", query="Agents")["dashboards"]]


def test_data_sources(server: Server) -> None:
    """A data source is created, listed, read and checked."""
    arguments = {"name": "Metrics", "type": "prometheus", "url": "http://127.0.0.1:1", "access": "proxy", "schemaReviewed": True}
    uid = server.tool("create_datasource", **arguments)["uid"]
    assert [source["uid"] for source in server.tool("list_datasources")["datasources"]] == [uid]
    assert server.tool("get_datasource", name="Metrics")["uid"] == uid
    server.tool("update_datasource", uid=uid, name="Metrics 2", schemaReviewed=True)
    assert server.tool("get_datasource", uid=uid)["name"] == "Metrics 2"
    assert "did not respond" in server.tool("check_datasources_health")["results"][0]["error"]


def test_annotations(server: Server) -> None:
    """An annotation is created, found, changed and deleted."""
    number = server.tool("create_annotation", text="Release", tags=["release"], time=1_700_000_000_000)["Payload"]["id"]
    assert server.tool("get_annotations", tags=["release"])["Payload"][0]["text"] == "Release"
    assert server.tool("get_annotation_tags")["Payload"]["result"]["tags"] == [{"count": 1, "tag": "release"}]
    server.tool("update_annotation", id=number, text="Release 2")
    assert server.tool("get_annotations")["Payload"][0]["text"] == "Release 2"
    server.tool("delete_annotation", id=number)
    assert server.tool("get_annotations")["Payload"] == []


def test_snapshots(server: Server) -> None:
    """A snapshot is created, listed, read and deleted."""
    key = server.tool("create_snapshot", dashboard=BOARD, name="Kept")["key"]
    assert [snapshot["key"] for snapshot in server.tool("list_snapshots")] == [key]
    assert "Board" in json.dumps(server.tool("get_snapshot", key=key))
    server.tool("delete_snapshot", key=key)
    assert not server.tool("list_snapshots")


def test_links_and_pictures(server: Server) -> None:
    """Links name the dashboard, also shortened, and a panel is drawn."""
    assert server.tool("generate_deeplink", resourceType="dashboard", dashboardUid="board").endswith("/d/board")
    assert "/goto/" in server.tool("generate_deeplink", resourceType="dashboard", dashboardUid="board", shorten=True)
    picture = server.tool("get_panel_image", dashboardUid="board", panelId=1, width=400, height=300)
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")


def test_accounts_and_plugins(server: Server) -> None:
    """The caller, its organization and the plugins are described, and alerting is empty."""
    assert server.tool("user_info")["orgs"][0]["role"] == "Admin"
    assert server.tool("get_plugin", pluginId="prometheus")["installed"]
    assert server.tool("grafana_api_request", endpoint="/api/org")["data"]["id"] == 1
    assert not server.tool("alerting_rules_read", operation="list")
    assert not server.tool("alerting_manage_routing", operation="get_contact_points")
    assert not server.tool("alerting_silences_read", operation="list")


def test_an_edit_of_a_managed_dashboard_changes_its_file(server: Server) -> None:
    """A dashboard of a repository is changed in its file."""
    directory = Path(os.environ["DASHWRIGHT_TEST_REPOSITORIES"]) / "team"
    directory.mkdir()
    directory.chmod(0o777)
    sync = {"enabled": True, "target": "instance"}
    spec = {"title": "Team", "type": "local", "local": {"path": str(directory)}, "workflows": ["write"], "sync": sync}
    repositories = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
    _post(repositories, {"metadata": {"name": "team"}, "spec": spec})
    _post(f"{repositories}/team/files/managed.json", {"uid": "managed", "title": "Managed", "panels": []})
    assert server.tool("list_provisioning_repositories")[0]["name"] == "team"
    assert server.tool("validate_provisioning_file", repo="team", path="managed.json")["valid"]
    server.tool("update_dashboard", uid="managed", operations=[{"op": "replace", "path": "$.title", "value": "By an agent"}])
    assert json.loads((directory / "managed.json").read_text())["title"] == "By an agent"


def _post(path: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(TARGET + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        assert response.status < 300
