"""A stand-in for the jobs worker, which says of files what a test wants it to, and repositories that are known to be healthy."""

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


class StandIn:
    """Answers on the queue of repositories. ``touches`` are told of every file; ``faults`` are raised, one a call, of what is to be done.

    ``asked`` are the requests, decoded.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.touches: list[dict[str, Any]] = []
        self.faults: list[DashwrightError] = []
        self.is_silent = False

    @property
    def done(self) -> Sequence[dict[str, Any]]:
        """The changes that were not only planned."""
        return [asked for asked in self.asked if asked["call"] == "edit" or asked.get("base")]

    async def answer(self, request: Request) -> Reply:
        asked = json.loads(request.body)
        self.asked.append(asked)
        if self.is_silent:
            await asyncio.Event().wait()  # until nobody waits for it any more
        if asked["call"] == "files":
            items = [{"path": "a.json", "size": 2, "hash": "h"}]
            return _reply({"kind": "FileList", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {}, "items": items})
        if self.faults and asked in self.done:
            raise self.faults.pop(0)
        if asked["call"] == "edit":
            return _reply({"ref": "c"})
        wrapper = {"kind": "ResourceWrapper", "apiVersion": "provisioning.grafana.app/v0alpha1", "path": asked["path"], "ref": "c"}
        wrapper |= {"resource": {"type": TYPE, "file": {"spec": {"title": "T"}}}}
        base = f"b{len(self.asked)}" if asked["call"] == "change" and not asked.get("base") else asked.get("base", "")
        content = None if asked.get("content") is None else f"{asked['content']} as written"
        return _reply({"base": base, "content": content, "wrapper": wrapper, "touches": self.touches})


def touch(verb: str, name: str, folder: str | None = None) -> dict[str, Any]:
    return {"verb": verb, "group": "dashboard.grafana.app", "resource": "dashboards", "name": name, "folder": folder}


async def made(api: Api, name: str, root: Path, *workflows: str, enabled: bool = True) -> None:
    """A local repository that was found healthy just now."""
    sync = {"enabled": enabled, "target": "folder", "intervalSeconds": 0}
    spec = {"title": name, "workflows": list(workflows), "type": "local", "local": {"path": str(root / name)}, "sync": sync}
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec})
    assert status == 201, found
    await judged(api, name, healthy=True)


async def judged(api: Api, name: str, *, healthy: bool, ago: int = 0) -> None:
    """Writes down that a repository was probed so many seconds ago, and how it was."""
    health = "jsonb_build_object('healthy', $2::boolean, 'checked', $3::bigint, 'message', jsonb_build_array('it is so'))"
    statement = f"update resource set status = jsonb_set(status::jsonb, '{{health}}', {health}) where name = $1"
    await api.sql(statement, name, healthy, int((time.time() - ago) * 1000))


def _reply(tree: dict[str, Any]) -> Reply:
    return Reply(json.dumps(tree).encode())
