"""Test environment with a git server, a gateway and a worker: tests change the server and advance the clock."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.contract.api.conftest import Api
from tests.servers.git import GitServer, WorkTree

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.broker import Broker
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import load
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.main import JobsWorker
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.scheduler import Scheduler

REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
DASHBOARDS: Final = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
#: Interval in seconds in which the repositories of the tests are synced.
MINUTE: Final = 60.0
SECRET: Final = "of tests only"

#: Query that returns whether no job waits or runs.
_AT_REST: Final = "select not exists (select from job where state in ('pending', 'working'))"


@dataclass
class AheadClock(Clock):
    """Clock that is ``ahead`` seconds ahead of the real time."""

    ahead: float = 0

    def seconds(self) -> float:
        return super().seconds() + self.ahead


@dataclass
class SyncEnvironment:
    """Running environment in which only the schedule requests syncs.

    Tests commit to the repository ``team.git`` through ``work_tree``.
    """

    api: Api
    server: GitServer
    work_tree: WorkTree
    clock: AheadClock
    broker: Broker
    data: Path
    worker: JobsWorker | None = None
    scheduler: Scheduler | None = None

    async def start(self, **settings: Any) -> None:
        """Stop the worker, if one runs, and start another one with ``settings``."""
        await self.stop()
        loaded = load(data_dir=self.data, secret_key=SECRET, allowed_hosts="127.0.0.0/8", scheduling=False, **settings)
        loaded.data_dir.mkdir(exist_ok=True)
        database = self.api.database
        self.worker = JobsWorker(loaded, database, self.broker, self.clock)
        await self.worker.start()
        checkouts = RepositoryCheckouts(loaded, SecretCipher.from_keys(SECRET))
        prober = Prober(database, self.clock, checkouts.check_readable)
        self.scheduler = Scheduler(
            database, WakeupPublisher(self.broker), prober, self.clock, checkouts.head, rules_fingerprint="of tests", max_waiting_jobs=1_000
        )

    async def stop(self) -> None:
        """Stop the worker."""
        if self.worker is not None:
            await self.worker.stop()

    async def create_repository(self, **block: Any) -> None:
        """Create the repository ``team`` and sync it once. ``block`` has further members of ``spec.githost``."""
        sync = {"enabled": True, "target": "folder", "intervalSeconds": 60}
        githost = {"url": self.server.url("team.git"), "branch": "main", **block}
        spec = {"title": "Team", "type": "githost", "workflows": [], "sync": sync, "githost": githost}
        status, body = await self.api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
        assert status == 201, body
        await self.advance(0)

    async def advance(self, seconds: float = MINUTE) -> dict[str, Any]:
        """Advance the clock, run all syncs that are due, and return the repository's status."""
        self.clock.ahead += seconds
        await self.plan_round()
        await wait_until(self.api.database, self.is_at_rest)
        return await self.status()

    async def plan_round(self) -> None:
        """Run one round of the schedule without waiting for its jobs."""
        assert self.scheduler is not None
        async with self.api.database.connection() as connection:
            await self.scheduler.plan(connection)
        await self.scheduler.wait_idle()

    async def is_at_rest(self) -> bool:
        """Return whether all jobs have ended."""
        return bool(await self.api.sql(_AT_REST))

    async def status(self) -> dict[str, Any]:
        """Return the status of the repository."""
        _, team = await self.api("GET", f"{REPOSITORIES}/team")
        return dict(team["status"])

    async def errors(self) -> list[str]:
        """Return the errors of the newest job."""
        newest_status = json.loads(await self.api.sql("select status from job order by created_at desc limit 1"))
        return list(newest_status.get("errors") or [])

    async def change(self, **block: Any) -> None:
        """Change members of ``spec.githost`` of the repository."""
        _, team = await self.api("GET", f"{REPOSITORIES}/team")
        team["spec"]["githost"] |= block
        status, body = await self.api("PUT", f"{REPOSITORIES}/team", team)
        assert status == 200, body

    async def rename(self, title: str) -> None:
        """Change the repository's title, so that the next sync is a full one."""
        _, team = await self.api("GET", f"{REPOSITORIES}/team")
        team["spec"]["title"] = title
        assert (await self.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200

    async def titles(self) -> dict[str, str]:
        """Return the title of each dashboard by name."""
        _, body = await self.api("GET", DASHBOARDS)
        return {item["metadata"]["name"]: item["spec"]["title"] for item in body["items"]}


async def wait_until(database: Database, condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until ``condition`` returns true. The condition is evaluated immediately and after every change of the database."""
    changed = asyncio.Event()
    async with asyncio.timeout(60), database.listen("change", lambda _: changed.set(), changed.set):
        while not await condition():
            await changed.wait()
            changed.clear()


def dashboard(name: str, title: str) -> str:
    """Return the file of a dashboard without panels."""
    return json.dumps({"uid": name, "title": title, "panels": []})


def is_healthy(status: dict[str, Any]) -> bool:
    """Return whether a repository is healthy and its last sync succeeded."""
    return bool(status["health"]["healthy"]) and status["sync"]["state"] == "success"
