"""Pull requests at a git host of the test's own, a gateway and a worker that look at them, and what the host was told."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.contract.api.conftest import Api
from tests.servers.git import Work, git
from tests.servers.git_host import GitHost

from dashwright.jobs_worker.main import JobsWorker

REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
DASHBOARDS: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
NAME: Final = "team/boards"


@dataclass(frozen=True)
class Proposals:
    """The repository ``team`` over ``team/boards``, whose own branch is main."""

    api: Api
    host: GitHost
    work: Work
    worker: JobsWorker

    async def made(self, **block: Any) -> None:
        spec = {"title": "Team boards", "type": "githost", "workflows": ["branch"], "sync": {"enabled": True, "target": "folder"}}
        spec |= {"githost": {"url": self.host.url(NAME), "branch": "main", **block}}
        status, found = await self.api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
        assert status == 201, found

    def proposed(self, files: Mapping[str, str | None], branch: str = "change", *, base: str = "main") -> int:
        """A pull request of one commit after main; its number."""
        self.pushed(files, branch)
        return self.host.open_pull(NAME, branch, base=base)

    def pushed(self, files: Mapping[str, str | None], branch: str, *, after: str = "main") -> str:
        """One commit after that of another branch; the host sees at once that the branch moved."""
        git(self.work.folder, "fetch", "--quiet", "origin")
        git(self.work.folder, "checkout", "--quiet", "--force", "--detach", f"origin/{after}")
        commit = self.work.commit(dict(files), branch=branch)
        self.host.call_push_hooks(NAME)
        return commit

    async def asked(self, repository: str = "team", **options: Any) -> str:
        """The uid of a pr job."""
        status, job = await self.api("POST", f"{REPOSITORIES}/{repository}/jobs", {"action": "pr", "pr": options})
        assert status == 202, job
        return str(job["metadata"]["uid"])

    async def ended(self, *jobs: str, repository: str = "team") -> list[dict[str, Any]]:
        """The statuses of jobs once all have ended."""
        return [await self._ended(repository, job) for job in jobs]

    async def reviewed(self, number: int) -> dict[str, Any]:
        return (await self.ended(await self.asked(pr=number)))[0]

    async def synced(self) -> dict[str, Any]:
        status, job = await self.api("POST", f"{REPOSITORIES}/team/jobs", {"action": "sync", "sync": {}})
        assert status == 202, job
        return (await self.ended(job["metadata"]["uid"]))[0]

    def comments(self, number: int) -> list[str]:
        return [*self.host.repositories[NAME].pulls[number].comments.values()]

    def statuses(self) -> list[tuple[str, str]]:
        """What was said of commits: state and words, in order."""
        return [(said["state"], said["description"]) for _, said in self.host.repositories[NAME].statuses]

    async def titles(self) -> dict[str, str]:
        _, found = await self.api("GET", DASHBOARDS)
        return {item["metadata"]["name"]: item["spec"]["title"] for item in found["items"]}

    async def _ended(self, repository: str, job: str) -> dict[str, Any]:
        heard = asyncio.Event()
        async with asyncio.timeout(60), self.api.database.listen("change", lambda _: heard.set(), heard.set):
            while True:
                await heard.wait()
                heard.clear()
                _, found = await self.api("GET", f"{REPOSITORIES}/{repository}/jobs/{job}")
                if found["status"]["state"] in ("success", "error"):
                    return dict(found["status"])


def dashboard(name: str, title: str, expr: str = "up", **settings: Any) -> str:
    panel = {"id": 1, "title": "Load", "type": "timeseries", "targets": [{"refId": "A", "expr": expr}]}
    return json.dumps({"uid": name, "title": title, "panels": [panel], **settings})
