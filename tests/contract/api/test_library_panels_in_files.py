"""Library panels in repositories. A sync stores the panels of files, an edit changes the file, and an export writes the files."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_exports import counts, create_folder, create_repository, export, list_files, read_json
from tests.contract.api.test_sync_from_git import DASHBOARDS, run_sync
from tests.servers.git import GitServer, WorkTree, git

PANELS = "/apis/dashboard.grafana.app/v0alpha1/namespaces/default/librarypanels"
PANEL = {"id": 3, "type": "stat", "title": "CPU", "options": {"unit": "%"}, "fieldConfig": {}, "description": "Load of all hosts"}
#: The file of the panel ``cpu``.
FILE = {"apiVersion": "dashboard.grafana.app/v0alpha1", "kind": "LibraryPanel", "metadata": {"name": "cpu"}, "spec": PANEL}
#: A dashboard that shows the panel ``cpu``.
DASHBOARD = {"uid": "load", "title": "Load", "panels": [{"id": 1, "libraryPanel": {"uid": "cpu", "name": "CPU"}}]}

#: The file of the panel ``ram``.
YAML_FILE = """\
apiVersion: dashboard.grafana.app/v1beta1
kind: LibraryPanel
metadata:
  name: ram
spec:
  title: RAM
  type: table
"""

__all__ = ["export"]  # the fixture


@pytest.fixture
def work_tree(git_server: GitServer) -> WorkTree:
    """Return the work tree of the repository ``team``, which is empty."""
    return git_server.create_repository("team.git")


@pytest.fixture
async def sync_of_panels(git_api: Api, git_server: GitServer, work_tree: WorkTree) -> dict[str, Any]:
    """Sync a library panel in JSON and one in YAML, with a dashboard that shows the first, and return the job's status."""
    files: dict[str, str | bytes | None] = {
        "web/cpu.json": json.dumps(FILE),
        "web/ram.yaml": YAML_FILE,
        "load.json": json.dumps(DASHBOARD),
    }
    work_tree.commit(files, message="first")
    await create_repository(git_api, git_server)
    return await run_sync(git_api)


async def test_library_panels_are_synced(git_api: Api, sync_of_panels: dict[str, Any]) -> None:
    """A sync stores and counts library panels, and a dashboard is connected to its panel. A second sync changes nothing."""
    assert sync_of_panels["state"] == "success", sync_of_panels
    assert counts(sync_of_panels) == {"create": 1}  # the dashboard
    assert counts(sync_of_panels, "librarypanels") == {"create": 2}
    _, body = await git_api("GET", f"{PANELS}/cpu")
    # The spec of a library panel has no id.
    assert body["spec"] == {key: value for key, value in PANEL.items() if key != "id"}
    assert body["metadata"]["annotations"]["grafana.app/sourcePath"] == "web/cpu.json"
    assert (await git_api("GET", "/api/library-elements/cpu"))[1]["result"]["meta"]["connectedDashboards"] == 1
    second_sync = await run_sync(git_api)
    assert (second_sync["state"], counts(second_sync, "librarypanels")) == ("success", {}), second_sync


async def test_an_edit_changes_the_file(git_api: Api, git_server: GitServer, sync_of_panels: dict[str, Any]) -> None:
    """An edit of a library panel changes its file, which remains JSON or YAML and keeps its kind and version."""
    headers = {"Content-Type": "application/merge-patch+json"}
    status, body = await git_api("PATCH", f"{PANELS}/cpu", {"spec": {"title": "Processor"}}, headers=headers)
    assert status == 200, body
    file = read_json(git_server, "web/cpu.json")
    assert (file["apiVersion"], file["kind"], file["metadata"]) == (FILE["apiVersion"], "LibraryPanel", {"name": "cpu"})
    assert file["spec"] == PANEL | {"title": "Processor"}
    assert (await git_api("PATCH", f"{PANELS}/ram", {"spec": {"title": "Memory"}}, headers=headers))[0] == 200
    yaml = git(git_server.root / "team.git", "show", "main:web/ram.yaml")
    assert "kind: LibraryPanel" in yaml
    assert "title: Memory" in yaml


async def test_a_removed_file_deletes_the_library_panel(git_api: Api, work_tree: WorkTree, sync_of_panels: dict[str, Any]) -> None:
    """A sync deletes the library panel of a removed file."""
    work_tree.commit({"web/ram.yaml": None}, message="second")
    status = await run_sync(git_api)
    assert status["state"] == "success", status
    assert (await git_api("GET", f"{PANELS}/ram"))[0] == 404


@pytest.mark.usefixtures("export")
async def test_an_export_contains_the_library_panels(
    git_api: Api, git_server: GitServer, export: Callable[..., Awaitable[dict[str, Any]]]
) -> None:
    """Every library panel is exported with its name, to which the dashboards refer. A second export leaves its file unchanged."""
    await create_folder(git_api, "web", "Web")
    body = {"metadata": {"name": "cpu", "annotations": {"grafana.app/folder": "web"}}, "spec": PANEL}
    assert (await git_api("POST", PANELS, body))[0] == 201
    spec = {key: value for key, value in DASHBOARD.items() if key != "uid"}
    dashboard = {"metadata": {"name": "load"}, "spec": spec}
    assert (await git_api("POST", DASHBOARDS.replace("v2alpha1", "v0alpha1"), dashboard))[0] == 201
    status = await export()
    assert status["state"] == "success", status
    assert counts(status) == {"create": 1}  # the dashboard
    assert counts(status, "librarypanels") == {"create": 1}
    assert list_files(git_server) == ["Web/cpu.json", "load.json"]
    assert read_json(git_server, "Web/cpu.json") == FILE
    second_export = await export()
    assert counts(second_export, "librarypanels") == {"noop": 1}, second_export
