"""Cases of grafana-backup: everything is saved, deleted and restored."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import requests

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
ADMIN = ("admin", "admin")
PASSWORD = "correct horse battery"
SOURCE = {"name": "Metrics", "uid": "metrics", "type": "prometheus", "access": "proxy", "url": "http://127.0.0.1:1"}
SHARED = {"id": 2, "title": "Shared", "libraryPanel": {"uid": "shared", "name": "Shared"}}
BOARD = {"uid": "hosts", "title": "Hosts", "panels": [{"id": 1, "type": "text", "title": "Notes"}, SHARED], "tags": ["kept"]}
ELEMENT = {"uid": "shared", "name": "Shared", "kind": 1, "folderUid": "web", "model": {"type": "text", "title": "Shared"}}
#: All components except for legacy alert channels, and versions of dashboards, whose lists it reads in the form before Grafana 11 only.
COMPONENTS = (
    "folders,dashboards,datasources,alert-rules,contact-points,notification-policy,snapshots,annotations,library-elements,"
    "teams,team-members,organizations,users"
)


def test_everything_is_saved_and_restored(tmp_path: Path) -> None:
    """Every object is equal after it was saved, deleted and restored."""
    create_all()
    before = contents()
    backups, settings = tmp_path / "backups", tmp_path / "settings.json"
    general = {"debug": False, "verify_ssl": False, "backup_dir": str(backups), "backup_file_format": "%Y%m%d"}
    account = {"admin_account": ADMIN[0], "admin_password": ADMIN[1], "default_user_password": PASSWORD}
    server = {"url": TARGET, "token": TOKEN, "search_api_limit": 100, **account}
    settings.write_text(json.dumps({"general": general, "grafana": server}))
    run(settings, "save", f"--components={COMPONENTS}")
    delete_all()
    deleted = contents()
    assert [name for name in before if deleted[name] == before[name]] == []
    run(settings, "restore", str(next(backups.glob("*.tar.gz"))))
    restored = contents()
    assert {name: restored[name] for name in before if restored[name] != before[name]} == {}


def create_all() -> None:
    """Create one object of each kind."""
    ann = call("POST", "/api/admin/users", {"login": "ann", "email": "ann@example.org", "password": PASSWORD}, ADMIN)["id"]
    call("POST", "/api/admin/users", {"login": "bob", "email": "bob@example.org", "password": PASSWORD}, ADMIN)
    call("POST", "/api/orgs", {"name": "Second"}, ADMIN)
    call("POST", "/api/folders", {"uid": "web", "title": "Web"})
    call("POST", "/api/folders/web/permissions", {"items": [{"userId": ann, "permission": 2}, {"role": "Viewer", "permission": 1}]})
    call("POST", "/api/library-elements", ELEMENT)
    call("POST", "/api/dashboards/db", {"dashboard": BOARD, "folderUid": "web"})
    call("POST", "/api/datasources", SOURCE)
    team = call("POST", "/api/teams", {"name": "Operators"})["teamId"]
    call("POST", f"/api/teams/{team}/members", {"userId": ann})
    # Annotations of the last year are saved.
    call("POST", "/api/annotations", {"text": "Release", "tags": ["release"], "time": int((time.time() - 3600) * 1000)})
    call("POST", "/api/snapshots", {"dashboard": BOARD, "name": "Hosts"})


def delete_all() -> None:
    """Delete every object, except for the team and the user ann, whose numbers cannot be restored."""
    for path in ("datasources/uid/metrics", "dashboards/uid/hosts", "library-elements/shared", "folders/web"):
        call("DELETE", f"/api/{path}")
    for annotation in call("GET", "/api/annotations"):
        call("DELETE", f"/api/annotations/{annotation['id']}")
    for snapshot in call("GET", "/api/dashboard/snapshots"):
        call("DELETE", f"/api/snapshots/{snapshot['key']}")
    team, ann = call("GET", "/api/teams/search")["teams"][0]["id"], call("GET", "/api/users/lookup?loginOrEmail=ann", auth=ADMIN)["id"]
    call("DELETE", f"/api/teams/{team}/members/{ann}")
    call("DELETE", f"/api/admin/users/{call('GET', '/api/users/lookup?loginOrEmail=bob', auth=ADMIN)['id']}", auth=ADMIN)
    call("DELETE", f"/api/orgs/{call('GET', '/api/orgs/name/Second', auth=ADMIN)['id']}", auth=ADMIN)


def contents() -> dict[str, Any]:
    """Return what is stored of each kind, without what the server sets."""
    boards = [call("GET", f"/api/dashboards/uid/{found['uid']}") for found in call("GET", "/api/search?type=dash-db")]
    folders = call("GET", "/api/folders")
    permissions = [call("GET", f"/api/folders/{folder['uid']}/permissions") for folder in folders]
    teams = call("GET", "/api/teams/search")["teams"]
    snapshots = [call("GET", f"/api/snapshots/{found['key']}") for found in call("GET", "/api/dashboard/snapshots")]
    return {
        "folders": chosen(folders, "uid", "title"),
        "permissions": [chosen(each, "userLogin", "role", "permission") for each in permissions],
        "dashboards": [chosen([board["dashboard"]], *BOARD) + chosen([board["meta"]], "folderUid") for board in boards],
        "data sources": chosen(call("GET", "/api/datasources"), *SOURCE),
        "library elements": chosen(call("GET", "/api/library-elements")["result"]["elements"], "uid", "name", "folderUid", "model"),
        "team members": [chosen(call("GET", f"/api/teams/{team['id']}/members"), "login") for team in teams],
        "annotations": chosen(call("GET", "/api/annotations"), "text", "tags", "time"),
        "snapshots": chosen([snapshot["dashboard"] for snapshot in snapshots], "title", "panels"),
        "users": chosen(call("GET", "/api/users", auth=ADMIN), "login", "email"),
        "organizations": chosen(call("GET", "/api/orgs", auth=ADMIN), "name"),
    }


def chosen(objects: list[dict[str, Any]], *members: str) -> list[dict[str, Any]]:
    """Return some members of objects."""
    return [{member: each.get(member) for member in members} for each in objects]


def call(method: str, path: str, body: dict[str, Any] | None = None, auth: tuple[str, str] | None = None) -> Any:
    """Return the response to a request, which uses the token unless a login is given. Raises AssertionError if it is an error."""
    response = requests.request(method, TARGET + path, json=body, headers={} if auth else HEADERS, auth=auth, timeout=30)
    assert response.ok, f"{method} {path}: {response.text}"
    return response.json()


def run(settings: Path, *arguments: str) -> None:
    """Run grafana-backup. Raises AssertionError if it fails."""
    done = subprocess.run(
        [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "grafana-backup", "--config", str(settings), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
