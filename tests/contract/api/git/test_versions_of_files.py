"""Dashboards of every version in JSON and YAML, in one branch of a real git server."""

import json
from typing import Any

from tests.contract.api.conftest import Api
from tests.contract.api.git.test_folder_files import StartRepository, start_repository
from tests.contract.api.test_sync_from_git import DASHBOARDS

from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.yaml import write_yaml

__all__ = ["start_repository"]


def resource(version: str, name: str) -> dict[str, Any]:
    """Return a dashboard in the form of a version: with elements and a layout in version 2, with panels in earlier versions."""
    spec: dict[str, Any] = {"title": name}
    if version.startswith("v2"):
        spec |= {"elements": {}, "layout": {"kind": "GridLayout", "spec": {"items": []}}}
    else:
        spec |= {"panels": [], "schemaVersion": 42}
    return {"apiVersion": DASHBOARD.api_version(version), "kind": "Dashboard", "metadata": {"name": name}, "spec": spec}


async def test_files_of_every_version_are_stored(git_api: Api, start_repository: StartRepository) -> None:
    """A dashboard in a JSON or YAML file of any version is stored, and is served in this version with all members of the file."""
    files: dict[str, str | bytes | None] = {}
    for version in DASHBOARD.versions:
        files[f"all/{version}.json"] = json.dumps(resource(version, f"{version}-json"))
        files[f"all/{version}.yaml"] = write_yaml(resource(version, f"{version}-yaml"))
    await start_repository(files)
    for version in DASHBOARD.versions:
        for name in (f"{version}-json", f"{version}-yaml"):
            expected = resource(version, name)
            status, body = await git_api("GET", f"{DASHBOARDS.replace('v2alpha1', version)}/{name}")
            assert status == 200, body
            assert body["apiVersion"] == expected["apiVersion"]
            assert body["spec"].items() >= expected["spec"].items()
