"""Cases of grafana-wtf: searches in dashboards, and reports on dashboards and data sources."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
SOURCE = {"name": "Metrics", "uid": "metrics", "type": "prometheus", "access": "proxy", "url": "http://127.0.0.1:1"}
REFERENCE = {"type": "prometheus", "uid": "metrics"}
PANEL = {"id": 1, "type": "stat", "title": "Load", "datasource": REFERENCE, "targets": [{"refId": "A", "expr": "rare_metric"}]}


@pytest.fixture(scope="module", autouse=True)
def dashboard() -> None:
    """Create a data source and a dashboard that queries it, in two versions."""
    for title in ("Hosts", "Hosts 2"):
        board = {"uid": "hosts", "title": title, "panels": [PANEL]}
        _post("/api/dashboards/db", {"dashboard": board, "overwrite": True, "message": f"named {title}"})
    _post("/api/datasources", SOURCE)


def test_info() -> None:
    """The report names the server and counts the panels."""
    report = run("info", "--format=json")
    assert report["grafana"]["url"] == TARGET
    assert report["summary"]["dashboard_panels"] == 1


def test_find() -> None:
    """A text is found in dashboards, with its place."""
    found = run("find", "rare_metric", "--format=json")
    assert "panels.[0].targets.[0].expr" in json.dumps(found)
    assert found["meta"] or found["dashboards"]


def test_explore_dashboards() -> None:
    """A dashboard is reported with its data sources."""
    reports = run("explore", "dashboards", "--format=json")
    assert [report["dashboard"]["title"] for report in reports] == ["Hosts 2"]
    assert "metrics" in json.dumps(reports[0]["datasources"])


def test_explore_data_sources() -> None:
    """A data source is reported with the dashboards that use it."""
    assert "Hosts 2" in json.dumps(run("explore", "datasources", "--format=json")["used"])


def test_log() -> None:
    """The versions of a dashboard are reported with their messages."""
    assert {entry["message"] for entry in run("log", "hosts", "--format=json")} == {"named Hosts", "named Hosts 2"}


def run(*arguments: str) -> Any:
    """Return what grafana-wtf prints as JSON."""
    done = subprocess.run(
        [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "grafana-wtf", *arguments, "--drop-cache"],
        env={**os.environ, "GRAFANA_URL": TARGET, "GRAFANA_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _post(path: str, body: dict[str, Any]) -> None:
    response = requests.post(TARGET + path, json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
    assert response.ok, response.text
