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
#: The annotation must be of the last year, because grafana-backup does not save older ones.
RELEASE = {"text": "Release", "tags": ["release"], "time": int((time.time() - 3600) * 1000)}
#: The stored members of each kind that are compared; members that the server sets are left out.
STORED: dict[str, list[Any]] = {
    "folders": [{"uid": "web", "title": "Web"}],
    "permissions": [
        {"userLogin": "ann", "role": None, "permission": 2},
        {"userLogin": "", "role": "Viewer", "permission": 1},
    ],
    "dashboards": [BOARD | {"folderUid": "web"}],
    "data sources": [SOURCE],
    "library elements": [ELEMENT | {"model": {"type": "text", "title": "Shared", "description": ""}}],
    "team members": [{"login": "ann"}],
    "annotations": [RELEASE],
    "snapshots": [BOARD],
    "users": [{"login": "admin"}, {"login": "ann"}, {"login": "bob"}],
    "organizations": [{"name": "Main Org."}, {"name": "Second"}],
}
#: All components except legacy alert channels, and versions of dashboards, which grafana-backup reads only in the form before Grafana 11.
COMPONENTS = (
    "folders,dashboards,datasources,alert-rules,contact-points,notification-policy,snapshots,annotations,library-elements,"
    "teams,team-members,organizations,users"
)


def test_everything_is_saved_and_restored(tmp_path: Path) -> None:
    """Objects that are saved, deleted and restored are equal to the original ones."""
    create_all()
    assert contents() == STORED
    backups, settings = tmp_path / "backups", tmp_path / "settings.json"
    general = {"debug": False, "verify_ssl": False, "backup_dir": str(backups), "backup_file_format": "%Y%m%d"}
    account = {"admin_account": ADMIN[0], "admin_password": ADMIN[1], "default_user_password": PASSWORD}
    server = {"url": TARGET, "token": TOKEN, "search_api_limit": 100, **account}
    settings.write_text(json.dumps({"general": general, "grafana": server}))
    run(settings, "save", f"--components={COMPONENTS}")
    delete_all()
    kinds_with_all_objects = [kind for kind, objects in contents().items() if objects == STORED[kind]]
    assert kinds_with_all_objects == []
    run(settings, "restore", str(next(backups.glob("*.tar.gz"))))
    assert contents() == STORED


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
    call("POST", "/api/annotations", RELEASE)
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


def contents() -> dict[str, list[Any]]:
    """Return the compared members of all stored objects, by kind."""
    boards = [call("GET", f"/api/dashboards/uid/{result['uid']}") for result in call("GET", "/api/search?type=dash-db")]
    folders = call("GET", "/api/folders")
    teams = call("GET", "/api/teams/search")["teams"]
    objects_by_kind: dict[str, list[Any]] = {
        "folders": folders,
        "permissions": [item for folder in folders for item in call("GET", f"/api/folders/{folder['uid']}/permissions")],
        "dashboards": [board["dashboard"] | {"folderUid": board["meta"]["folderUid"]} for board in boards],
        "data sources": call("GET", "/api/datasources"),
        "library elements": call("GET", "/api/library-elements")["result"]["elements"],
        "team members": [item for team in teams for item in call("GET", f"/api/teams/{team['id']}/members")],
        "annotations": call("GET", "/api/annotations"),
        "snapshots": [call("GET", f"/api/snapshots/{item['key']}")["dashboard"] for item in call("GET", "/api/dashboard/snapshots")],
        "users": call("GET", "/api/users", auth=ADMIN),
        "organizations": call("GET", "/api/orgs", auth=ADMIN),
    }
    return {
        kind: [{member: item.get(member) for member in STORED[kind][0]} for item in objects] for kind, objects in objects_by_kind.items()
    }


def call(method: str, path: str, body: dict[str, Any] | None = None, auth: tuple[str, str] | None = None) -> Any:
    """Return the response to a request, which uses the token unless a login is given. Raises AssertionError if it is an error."""
    response = requests.request(method, TARGET + path, json=body, headers={} if auth else HEADERS, auth=auth, timeout=30)
    assert response.ok, f"{method} {path}: {response.text}"
    return response.json()


def run(settings: Path, *arguments: str) -> None:
    """Run grafana-backup. Raises AssertionError if it fails."""
    process = subprocess.run(
        [Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "grafana-backup", "--config", str(settings), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-2000:]
    assert "Traceback" not in process.stderr, process.stderr[-2000:]
