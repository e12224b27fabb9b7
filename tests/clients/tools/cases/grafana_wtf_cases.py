"""Cases of grafana-wtf: searches and replacements in dashboards, and its reports."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
SOURCE = {"name": "Metrics", "uid": "metrics", "type": "prometheus", "access": "proxy", "url": "http://127.0.0.1:1"}
REFERENCE = {"type": "prometheus", "uid": "metrics"}
PANEL = {"id": 1, "type": "stat", "title": "Load", "datasource": REFERENCE, "targets": [{"refId": "A", "expr": "rare_metric"}]}
OLD_DASHBOARD = {"uid": "old", "title": "Old", "panels": [{"id": 1, "type": "text", "title": "Notes", "options": {"content": "misspelt"}}]}


@pytest.fixture(scope="module", autouse=True)
def dashboard() -> None:
    """Create a folder, a data source, and a dashboard that queries it, in two versions."""
    _post("/api/folders", {"uid": "web", "title": "Web"})
    for title in ("Hosts", "Hosts 2"):
        board = {"uid": "hosts", "title": title, "panels": [PANEL]}
        _post("/api/dashboards/db", {"dashboard": board, "overwrite": True, "message": f"named {title}"})
    _post("/api/datasources", SOURCE)


def test_info_names_the_server_and_counts_panels() -> None:
    """The report about a run names the server and counts the panels."""
    report = run("info")
    assert report["grafana"]["url"] == TARGET
    assert report["summary"]["dashboard_panels"] == 1


def test_find_searches_dashboards_and_data_sources() -> None:
    """A text is found in dashboards and data sources, with the path of the member that contains it."""
    report = run("find", "rare_metric")
    assert "panels.[0].targets.[0].expr" in json.dumps(report["dashboards"])
    assert run("find", "127.0.0.1:1")["datasources"]


def test_explore_reports_dashboards() -> None:
    """A dashboard is reported with its data sources and its queries."""
    (report,) = run("explore", "dashboards")
    assert report["dashboard"]["title"] == "Hosts 2"
    assert [source["uid"] for source in report["datasources"]] == ["metrics"]
    (detailed,) = run("explore", "dashboards", "--data-details", "--queries-only")
    assert [panel["expr"] for panel in detailed["details"]["panels"]] == ["rare_metric"]


def test_explore_reports_data_sources() -> None:
    """A data source is reported with the dashboards that use it."""
    assert "Hosts 2" in json.dumps(run("explore", "datasources")["used"])


def test_explore_reports_permissions() -> None:
    """The permissions of folders and dashboards are reported."""
    reports = {report["type"]: report for report in run("explore", "permissions")}
    assert (reports["folder"]["item"]["uid"], reports["dashboard"]["item"]["slug"]) == ("web", "hosts-2")
    for report in reports.values():
        assert {permission["permissionName"] for permission in report["permissions"]} == {"View", "Edit", "Admin"}


def test_explore_reports_no_alert_rules() -> None:
    """The report on alert rules is empty."""
    assert run("explore", "alerts") == []


def test_plugins_are_listed_and_found() -> None:
    """Plugins are listed with their versions, and one is found by its id."""
    assert {"prometheus", "timeseries"} <= {plugin["id"] for plugin in run("plugins", "list")}
    assert run("plugins", "list", "--id=prometheus")["name"] == "Prometheus"
    assert all(plugin["version"] for plugin in run("plugins", "status"))


def test_replace_changes_one_dashboard() -> None:
    """A text is replaced in one dashboard, and a dry run changes nothing."""
    _post("/api/dashboards/db", {"dashboard": OLD_DASHBOARD})
    execute("replace", "misspelt", "spelt", "--select-dashboard=old", "--dry-run")
    assert run("find", "misspelt")["dashboards"]
    execute("replace", "misspelt", "spelt", "--select-dashboard=old")
    assert [hit["UID"] for hit in run("find", "spelt")["dashboards"]] == ["old"]
    assert not run("find", "misspelt")["dashboards"]
    requests.delete(f"{TARGET}/api/dashboards/uid/old", headers=HEADERS, timeout=30).raise_for_status()


def test_log_reports_the_versions_of_a_dashboard() -> None:
    """The versions of a dashboard are reported with their messages."""
    assert {entry["message"] for entry in run("log", "hosts")} == {"named Hosts", "named Hosts 2"}


def run(*arguments: str) -> Any:
    """Return what grafana-wtf reports."""
    return json.loads(execute(*arguments, "--format=json"))


def execute(*arguments: str) -> str:
    """Return what grafana-wtf prints. Raises AssertionError if it fails."""
    process = subprocess.run(
        [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "grafana-wtf", *arguments, "--drop-cache"],
        env={**os.environ, "GRAFANA_URL": TARGET, "GRAFANA_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout


def _post(path: str, body: dict[str, Any]) -> None:
    """Create an object. Raises AssertionError if it is refused."""
    response = requests.post(TARGET + path, json=body, headers=HEADERS, timeout=30)
    assert response.ok, response.text
