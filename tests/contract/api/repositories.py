"""Fake of the jobs worker that returns what a test chooses, and repositories that count as healthy."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.contract.api.conftest import Api

from dashwright.common.errors import DashwrightError
from dashwright.common.messaging.rpc import Reply, Request

REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
TYPE: Final = {"group": "dashboard.grafana.app", "version": "v0alpha1", "kind": "Dashboard", "resource": "dashboards"}


class FakeJobsWorker:
    """Server of the repository queue, which returns the response for one file whatever path is requested."""

    def __init__(self) -> None:
        #: The requests that were received, decoded.
        self.requests: list[dict[str, Any]] = []
        #: The objects that a change of any file touches; see ``touch``.
        self.touches: list[dict[str, Any]] = []
        #: The object in any file, by its forms: as it is in the file, as it is stored, and so on.
        self.resource: dict[str, Any] = {"type": TYPE, "file": {"spec": {"title": "T"}}}
        #: The errors of any file.
        self.problems: list[str] = []
        #: The path to which a missing file was moved.
        self.moved_to = ""
        #: Errors for the next calls that change something: each call raises and removes the first one.
        self.faults: list[DashwrightError] = []
        #: Whether no request gets a response.
        self.is_silent = False

    @property
    def changes(self) -> Sequence[dict[str, Any]]:
        """Requests that changed something, without those that only planned."""
        return [call for call in self.requests if call["call"] == "edit" or call.get("base")]

    async def respond(self, request: Request) -> Reply:
        """Record a request and return the response of a worker."""
        call = json.loads(request.body)
        self.requests.append(call)
        if self.is_silent:
            await asyncio.Event().wait()  # until the caller times out
        if call["call"] == "files":
            items = [{"path": "a.json", "size": 2, "hash": "h"}]
            return _reply({"kind": "FileList", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {}, "items": items})
        if self.faults and call in self.changes:
            raise self.faults.pop(0)
        if call["call"] == "edit":
            return _reply({"ref": "c"})
        wrapper = {"kind": "ResourceWrapper", "apiVersion": "provisioning.grafana.app/v0alpha1", "path": call["path"], "ref": "c"}
        wrapper |= {"resource": self.resource, **({"errors": self.problems} if self.problems else {})}
        # A plan gets a new base. A call with the base of its plan executes the change and keeps that base.
        base = f"b{len(self.requests)}" if call["call"] == "change" and not call.get("base") else call.get("base", "")
        content = None if call.get("content") is None else f"{call['content']} as written"
        return _reply({"base": base, "content": content, "wrapper": wrapper, "touches": self.touches, "movedTo": self.moved_to})


def touch(verb: str, name: str, folder: str | None = None) -> dict[str, Any]:
    """Return a dashboard that a change touches, as the jobs worker reports it."""
    return {"verb": verb, "group": "dashboard.grafana.app", "resource": "dashboards", "name": name, "folder": folder}


async def make_local_repository(api: Api, name: str, root: Path, *workflows: str, enabled: bool = True) -> None:
    """Create a local repository and record that it was healthy just now."""
    sync = {"enabled": enabled, "target": "folder", "intervalSeconds": 0}
    spec = {"title": name, "workflows": list(workflows), "type": "local", "local": {"path": str(root / name)}, "sync": sync}
    status, body = await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec})
    assert status == 201, body
    await record_health(api, name, healthy=True)


async def record_health(api: Api, name: str, *, healthy: bool, ago: int = 0) -> None:
    """Record that a repository was probed ``ago`` seconds ago, with this result."""
    health = "jsonb_build_object('healthy', $2::boolean, 'checked', $3::bigint, 'message', jsonb_build_array('it is so'))"
    statement = f"update resource set status = jsonb_set(status::jsonb, '{{health}}', {health}) where name = $1"
    await api.sql(statement, name, healthy, int((time.time() - ago) * 1000))


def _reply(tree: dict[str, Any]) -> Reply:
    """Return a reply with this JSON."""
    # Without spaces, as the worker writes its replies.
    return Reply(json.dumps(tree, separators=(",", ":")).encode())
