"""Test environment for reviews of pull requests: a git host, a gateway and a jobs worker."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.contract.api.conftest import Api, StartApi
from tests.servers import git_host
from tests.servers.git import WorkTree, git
from tests.servers.git_host import GitHost

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.jobs_worker.main import JobsWorker

REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
DASHBOARDS: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
#: The name of the git repository at the host.
NAME: Final = "team/boards"


@dataclass(frozen=True)
class ReviewEnvironment:
    """Running environment with the repository ``team``, which follows the branch main of ``team/boards``."""

    api: Api
    host: GitHost
    work_tree: WorkTree
    worker: JobsWorker

    async def create_repository(self, **block: Any) -> None:
        """Create the repository ``team``. ``block`` has further members of ``spec.githost``."""
        spec = {"title": "Team boards", "type": "githost", "workflows": ["branch"], "sync": {"enabled": True, "target": "folder"}}
        spec |= {"githost": {"url": self.host.url(NAME), "branch": "main", **block}}
        status, body = await self.api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
        assert status == 201, body

    def propose(self, files: Mapping[str, str | None], branch: str = "change", *, base: str = "main") -> int:
        """Push a commit on top of main to ``branch``, open a pull request from it to ``base``, and return its number."""
        self.push(files, branch)
        return self.host.open_pull(NAME, branch, base=base)

    def push(self, files: Mapping[str, str | None], branch: str, *, after: str = "main") -> str:
        """Push one commit on top of another branch, let the host call its hooks, and return the commit."""
        git(self.work_tree.folder, "fetch", "--quiet", "origin")
        git(self.work_tree.folder, "checkout", "--quiet", "--force", "--detach", f"origin/{after}")
        commit = self.work_tree.commit(dict(files), branch=branch)
        self.host.call_push_hooks(NAME)
        return commit

    async def request_review(self, repository: str = "team", **options: Any) -> str:
        """Start a job with the action pr and return its uid."""
        status, job = await self.api("POST", f"{REPOSITORIES}/{repository}/jobs", {"action": "pr", "pr": options})
        assert status == 202, job
        return str(job["metadata"]["uid"])

    async def wait_for_jobs(self, *jobs: str, repository: str = "team") -> list[dict[str, Any]]:
        """Wait until all jobs have ended, and return their statuses."""
        return [await self._wait_for_job(repository, job) for job in jobs]

    async def review(self, number: int) -> dict[str, Any]:
        """Review a pull request, wait until the job has ended, and return the status of the job."""
        return (await self.wait_for_jobs(await self.request_review(pr=number)))[0]

    async def sync(self) -> dict[str, Any]:
        """Sync the repository, wait until the job has ended, and return the status of the job."""
        status, job = await self.api("POST", f"{REPOSITORIES}/team/jobs", {"action": "sync", "sync": {}})
        assert status == 202, job
        return (await self.wait_for_jobs(job["metadata"]["uid"]))[0]

    def comments(self, number: int) -> list[str]:
        """Return the comments on a pull request."""
        return [*self.host.repositories[NAME].pulls[number].comments.values()]

    def statuses(self) -> list[tuple[str, str]]:
        """Return state and description of every commit status at the host, in order."""
        return [(status["state"], status["description"]) for _, status in self.host.repositories[NAME].statuses]

    async def titles(self) -> dict[str, str]:
        """Return the title of each dashboard by name."""
        _, body = await self.api("GET", DASHBOARDS)
        return {item["metadata"]["name"]: item["spec"]["title"] for item in body["items"]}

    async def _wait_for_job(self, repository: str, job: str) -> dict[str, Any]:
        """Wait until a job has ended, and return its status."""
        changed = asyncio.Event()
        # The event is set when the subscription begins, so that a job that has already ended is noticed, and by each notification.
        async with asyncio.timeout(60), self.api.database.listen("change", lambda _: changed.set(), changed.set):
            while True:
                await changed.wait()
                changed.clear()
                _, body = await self.api("GET", f"{REPOSITORIES}/{repository}/jobs/{job}")
                if body["status"]["state"] in ("success", "error"):
                    return dict(body["status"])


@asynccontextmanager
async def open_review_environment(
    start_api: StartApi, database: Database, broker: MemoryBroker, folder: Path, kind: type[GitHost] = GitHost, **settings: Any
) -> AsyncIterator[ReviewEnvironment]:
    """Yield the running environment, in which two dashboards were synced from main."""
    root = folder / "server"
    root.mkdir()
    api = await start_api()
    settings.setdefault("public_url", str(api.address).rstrip("/"))
    async with git_host.serving(root, kind=kind) as host:
        loaded = load(
            data_dir=folder / "data",
            secret_key="of tests only",
            allowed_hosts="127.0.0.0/8",
            scheduling=False,
            job_slots=8,
            git_host_apis=host.apis,
            **settings,
        )
        loaded.data_dir.mkdir()
        worker = JobsWorker(loaded, database, broker, Clock())
        await worker.start()
        environment = ReviewEnvironment(api, host, host.create_repository(NAME), worker)
        environment.work_tree.commit({"a.json": dashboard("a", "Alpha"), "b.json": dashboard("b", "Beta"), "README.md": "#"})
        await environment.create_repository()
        assert (await environment.sync())["state"] == "success"
        yield environment
        await worker.stop()


def dashboard(name: str, title: str, expr: str = "up", **settings: Any) -> str:
    """Return the file of a dashboard with one panel, which has the query ``expr``."""
    panel = {"id": 1, "title": "Load", "type": "timeseries", "targets": [{"refId": "A", "expr": expr}]}
    return json.dumps({"uid": name, "title": title, "panels": [panel], **settings})
