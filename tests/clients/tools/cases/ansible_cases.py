"""Cases of Ansible's collections for Grafana: a play creates objects, repeats without a change, and deletes them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

TARGET, TOKEN = os.environ["DASHWRIGHT_TEST_TARGET"], os.environ["DASHWRIGHT_TEST_TOKEN"]
PLAYBOOK = Path(os.environ["DASHWRIGHT_TEST_PROGRAMS"]) / "ansible-playbook"
ADMIN = {"url": TARGET, "url_username": "admin", "url_password": "admin"}
ACCOUNT = {"url": TARGET, "grafana_api_key": TOKEN}
KEY = {"grafana_url": TARGET, "grafana_api_key": TOKEN}
#: Arguments of each module of community.grafana; the paths of files are relative to the folder of the play.
COMMUNITY: list[tuple[str, dict[str, Any]]] = [
    ("folder", ACCOUNT | {"title": "Web", "uid": "web"}),
    ("folder", ACCOUNT | {"title": "Inner", "uid": "inner", "parent_uid": "web"}),
    (
        "datasource",
        ACCOUNT
        | {"name": "Metrics", "uid": "metrics", "ds_type": "prometheus", "ds_url": "http://127.0.0.1:1", "access": "proxy"}
        | {"additional_json_data": {"httpMethod": "POST", "timeInterval": "15s"}, "tls_skip_verify": True},
    ),
    ("dashboard", ACCOUNT | {"folder": "Web", "path": "hosts.json", "overwrite": True, "commit_message": "Add hosts"}),
    ("organization", ADMIN | {"name": "Second"}),
    ("user", ADMIN | {"name": "Ann", "login": "ann", "email": "ann@example.org", "password": "correct horse battery"}),
    ("organization_user", ADMIN | {"org_name": "Second", "login": "ann", "role": "editor"}),
    ("team", ADMIN | {"name": "Operators", "email": "operators@example.org", "members": ["ann@example.org"], "enforce_members": True}),
]
#: Arguments of modules of grafana.grafana, whose plays write always.
GRAFANA: list[tuple[str, dict[str, Any]]] = [
    ("folder", KEY | {"title": "Cloud", "uid": "cloud", "overwrite": True}),
    (
        "dashboard",
        KEY | {"dashboard": {"dashboard": {"title": "Nodes", "uid": "nodes", "panels": []}, "folderUid": "cloud", "overwrite": True}},
    ),
    ("datasource", KEY | {"dataSource": {"name": "Logs", "type": "prometheus", "access": "proxy", "url": "http://127.0.0.1:1"}}),
]
DASHBOARD = {"uid": "hosts", "title": "Hosts", "panels": [{"id": 1, "type": "text", "title": "Notes"}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for plays that contains the file of a dashboard."""
    (tmp_path / "hosts.json").write_text(json.dumps(DASHBOARD))
    return tmp_path


def test_plays_are_idempotent(folder: Path) -> None:
    """A play of all modules changes everything in its first run and nothing in its second; objects are deleted in the reverse order."""
    tasks = [{f"community.grafana.grafana_{module}": arguments | {"state": "present"}} for module, arguments in COMMUNITY]
    assert changes(folder, tasks) == [True] * len(tasks)
    assert changes(folder, tasks) == [False] * len(tasks)
    removals = [{name: removal_arguments(arguments) for name, arguments in task.items()} for task in reversed(tasks)]
    assert changes(folder, removals) == [True] * len(tasks)
    # Without the first three removals: of the team, the membership and the user.
    assert changes(folder, removals[3:]) == [False] * len(removals[3:])


def test_an_exported_dashboard_is_the_stored_one(folder: Path) -> None:
    """A dashboard that a play writes is exported with the same members."""
    dashboard = "community.grafana.grafana_dashboard"
    changes(folder, [{dashboard: ACCOUNT | {"path": "hosts.json", "overwrite": True, "state": "present"}}])
    changes(folder, [{dashboard: ACCOUNT | {"uid": "hosts", "path": "exported.json", "state": "export"}}])
    exported = json.loads((folder / "exported.json").read_text())["dashboard"]
    assert {name: exported[name] for name in DASHBOARD} == DASHBOARD
    assert changes(folder, [{dashboard: ACCOUNT | {"uid": "hosts", "state": "absent"}}]) == [True]


def test_the_collection_of_grafana_creates_and_deletes(folder: Path) -> None:
    """Folders, dashboards and data sources of the collection ``grafana.grafana`` are created and deleted."""
    for state, modules in ("present", GRAFANA), ("absent", GRAFANA[::-1]):
        tasks = [{f"grafana.grafana.{module}": arguments | {"state": state}} for module, arguments in modules]
        assert changes(folder, tasks) == [True] * len(tasks)


def removal_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with which a task deletes the object of these arguments."""
    if arguments.get("path"):
        return ACCOUNT | {"uid": DASHBOARD["uid"], "state": "absent"}
    return arguments | {"state": "absent"}


def changes(folder: Path, tasks: list[dict[str, Any]]) -> list[bool]:
    """Run the tasks as one play, and return for each whether it changed something. A failed task fails the test with its message."""
    play = folder / "play.json"
    play.write_text(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
    environment = os.environ | {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_HOME": str(folder / "ansible")}
    process = subprocess.run([PLAYBOOK, play.name], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stdout[-4000:] + process.stderr[-2000:]
    return [task["hosts"]["localhost"]["changed"] for task in json.loads(process.stdout)["plays"][0]["tasks"]]
