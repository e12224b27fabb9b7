"""Gateways apply the files that declare repositories. If the gateway that applies them is killed, another one continues."""

import json
from pathlib import Path
from typing import Any

from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.conftest import MakeStack


def write_declarations(file: Path, *names: str) -> None:
    """Replace the file by declarations of repositories in one step, so that a gateway never reads a part of them."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [declaration(name) for name in names]}))
    new.rename(file)


def declaration(name: str) -> dict[str, Any]:
    """Return the manifest of a local repository."""
    spec = {"title": name, "type": "local", "local": {"path": name}, "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    return {"apiVersion": "provisioning.grafana.app/v1", "kind": "Repository", "metadata": {"name": name}, "spec": spec}


async def test_another_gateway_applies_the_files(make_stack: MakeStack, tmp_path: Path) -> None:
    """After the first gateway is killed, another gateway creates newly declared repositories and deletes those no longer declared."""
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "repositories.json"
    write_declarations(file, "kept", "removed")
    stack = await make_stack(PROVISIONING_DIR=str(tmp_path / "files"), PROVISIONING_SECONDS="0.1").start_without_queries()
    await stack.gateway.event("repository_provisioned", repository="removed")
    other = await stack.add_gateway()
    await stack.gateway.kill()
    # Until now, only the first gateway has applied the files.
    assert other.logged_events("repository_provisioned") == []
    write_declarations(file, "kept", "added")
    await other.event("repository_provisioned", repository="removed", outcome="deleted")
    await other.event("repository_provisioned", repository="added", outcome="created")
    async with Client(other.address) as client:
        listing = await client.call("GET", f"{PROVISIONING}/repositories")
    assert {item["metadata"]["name"] for item in listing["items"]} >= {"kept", "added"}
