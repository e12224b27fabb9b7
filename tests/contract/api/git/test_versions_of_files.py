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
    """Return a dashboard in the form of the version: with elements and a layout in v2 and its drafts, else classic."""
    elements: dict[str, Any] = {"elements": {}, "layout": {"kind": "GridLayout", "spec": {"items": []}}}
    spec = {"title": name, **(elements if version.startswith("v2") else {"panels": [], "schemaVersion": 42})}
    return {"apiVersion": DASHBOARD.api_version(version), "kind": "Dashboard", "metadata": {"name": name}, "spec": spec}


async def test_files_of_every_version_are_stored(git_api: Api, start_repository: StartRepository) -> None:
    """A file in any served version is stored without error, and served in that version with all of its members."""
    trees = [resource(version, f"{version}-{suffix}") for version in DASHBOARD.versions for suffix in ("json", "yaml")]
    files: dict[str, str | bytes | None] = {
        f"all/{tree['metadata']['name']}.{tree['metadata']['name'].partition('-')[2]}": (
            json.dumps(tree) if tree["metadata"]["name"].endswith("json") else write_yaml(tree)
        )
        for tree in trees
    }
    await start_repository(files)
    for tree in trees:
        version, name = tree["apiVersion"].partition("/")[2], tree["metadata"]["name"]
        status, body = await git_api("GET", f"{DASHBOARDS.replace('v2alpha1', version)}/{name}")
        assert (status, body["apiVersion"]) == (200, tree["apiVersion"]), body
        assert body["spec"].items() >= tree["spec"].items()
