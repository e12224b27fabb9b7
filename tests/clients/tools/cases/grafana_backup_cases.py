"""Cases of grafana-backup: everything is saved, deleted and restored."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import requests

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
SOURCE = {"name": "Metrics", "uid": "metrics", "type": "prometheus", "access": "proxy", "url": "http://127.0.0.1:1"}
BOARD = {"uid": "hosts", "title": "Hosts", "panels": [{"id": 1, "type": "text", "title": "Notes"}], "tags": ["kept"]}
ELEMENT = {"uid": "shared", "name": "Shared", "kind": 1, "folderUid": "web", "model": {"type": "text", "title": "Shared"}}
#: All components except for legacy alert channels, and versions of dashboards, whose lists it reads in the form before Grafana 11 only.
#: Organizations and users need a password.
COMPONENTS = "folders,dashboards,datasources,alert-rules,contact-points,snapshots,annotations,library-elements,teams,team-members"
PATHS = ("/api/dashboards/uid/hosts", "/api/folders/web", "/api/datasources/uid/metrics")


def test_everything_is_saved_and_restored(tmp_path: Path) -> None:
    """Dashboards, folders and data sources are equal after they were saved, deleted and restored."""
    call("POST", "/api/folders", {"uid": "web", "title": "Web"})
    call("POST", "/api/dashboards/db", {"dashboard": BOARD, "folderUid": "web"})
    call("POST", "/api/datasources", SOURCE)
    call("POST", "/api/library-elements", ELEMENT)
    call("POST", "/api/teams", {"name": "Operators"})
    call("POST", "/api/annotations", {"text": "Release", "tags": ["release"], "time": 1_700_000_000_000})
    before = [content(path) for path in PATHS]
    backups = tmp_path / "backups"
    settings = tmp_path / "settings.json"
    general = {"debug": False, "verify_ssl": False, "backup_dir": str(backups), "backup_file_format": "%Y%m%d"}
    settings.write_text(json.dumps({"general": general, "grafana": {"url": TARGET, "token": TOKEN, "search_api_limit": 100}}))
    run(settings, "save", f"--components={COMPONENTS}")
    for path in ("/api/datasources/uid/metrics", "/api/dashboards/uid/hosts", "/api/library-elements/shared", "/api/folders/web"):
        call("DELETE", path)
    assert requests.get(TARGET + PATHS[0], headers=HEADERS, timeout=30).status_code == 404
    run(settings, "restore", f"--components={COMPONENTS}", str(next(backups.glob("*.tar.gz"))))
    assert [content(path) for path in PATHS] == before
    assert call("GET", "/api/library-elements/shared")["result"]["name"] == "Shared"
    assert call("GET", "/api/teams/search")["teams"][0]["name"] == "Operators"


def content(path: str) -> Any:
    """Return an object without what the server sets."""
    found = call("GET", path)
    if "dashboard" in found:
        return {name: value for name, value in found["dashboard"].items() if name not in ("id", "version")} | {
            "folder": found["meta"]["folderUid"]
        }
    return {name: found.get(name) for name in ("uid", "name", "title", "type", "url")}


def call(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    response = requests.request(method, TARGET + path, json=body, headers=HEADERS, timeout=30)
    assert response.ok, response.text
    return response.json()


def run(settings: Path, *arguments: str) -> None:
    done = subprocess.run(
        [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "grafana-backup", "--config", str(settings), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
