"""What clients see of a git host that was asked too often: patience, and nothing lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import ADMIN, Api, StartApi
from tests.servers.git import GitServer

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.jobs_worker.main import JobsWorker

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
PATIENCE = "asks for fewer requests"


@pytest.fixture
async def api(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[Api]:
    """A gateway, and a worker that sees every tenth of a second whether a job may go on."""
    settings = load(data_dir=tmp_path, secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False, job_lease_seconds=0.3)
    worker = JobsWorker(settings, database, broker, Clock())
    await worker.start()
    yield await start_api()
    await worker.stop()


async def repository(api: Api, server: GitServer) -> None:
    server.make("team.git").commit({"a.json": json.dumps({"uid": "a", "title": "A"})})
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 600}
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": sync, "githost": {"url": server.url("team.git"), "branch": "main"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201


def refuse(server: GitServer, seconds: int) -> None:
    async def refusal(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": str(seconds)})

    server.fault = refusal


async def until(api: Api, path: str, *told: tuple[str, str, Any]) -> dict[str, Any]:
    """The object at a path once each of these fields of its status is so."""
    heard = asyncio.Event()
    async with asyncio.timeout(20), api.database.listen("change", lambda _: heard.set(), heard.set):
        while True:
            await heard.wait()
            heard.clear()
            _, found = await api("GET", path)
            status = {"": found["status"], **found["status"]}
            if all(value in str(status[part].get(key)) for part, key, value in told):
                return dict(found)


async def test_a_sync_waits_for_a_host_that_asks_for_patience(api: Api, git_server: GitServer) -> None:
    """Its job is pending and says why and until when, the repository stays healthy; it is done when the time has come, at one attempt."""
    await repository(api, git_server)
    status, done = await api("POST", f"{REPOSITORIES}/team/sync", {"incremental": False})
    assert status == 202
    await until(api, f"{REPOSITORIES}/team/jobs/{done['metadata']['uid']}", ("", "state", "success"))
    refuse(git_server, 600)
    status, job = await api("POST", f"{REPOSITORIES}/team/sync", {"incremental": False})
    assert status == 202
    path = f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}"
    waiting = await until(api, path, ("", "message", PATIENCE))
    assert (waiting["status"]["state"], waiting["status"].get("errors")) == ("pending", None)
    team = (await until(api, f"{REPOSITORIES}/team", ("sync", "state", "pending"), ("health", "message", PATIENCE)))["status"]
    assert team["health"]["healthy"]
    assert 500_000 < team["sync"]["scheduled"] - Clock().milliseconds() <= 600_000
    git_server.fault = None
    await api.sql("update git_host_share set paused_until = now() where namespace = 'default' returning 1")
    await api.sql("update job set not_before = now() where not_before is not null returning 1")
    await until(api, path, ("", "state", "success"))
    team = (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]
    assert (team["health"]["healthy"], team["health"].get("message")) == (True, None)
    assert await api.sql("select attempts from job where uid::text = $1", job["metadata"]["uid"]) == 1


async def test_who_waits_for_an_answer_is_told_when_to_come_back(api: Api, git_server: GitServer) -> None:
    """429 with Retry-After from what asks the host at once; another repository of the host is not even asked for."""
    await repository(api, git_server)
    refuse(git_server, 600)
    for path in ("refs", "history"):
        async with api.session.get(f"{REPOSITORIES}/team/{path}", headers={"Authorization": ADMIN}) as answer:
            found = await answer.json()
            assert (answer.status, found["reason"]) == (429, "TooManyRequests")
            assert PATIENCE in found["message"]
            assert 500 < int(answer.headers["Retry-After"]) <= 600
    assert len(git_server.requests) == 1


async def test_a_trial_tells_that_the_host_asks_for_patience(api: Api, git_server: GitServer) -> None:
    """A configuration is tried: what its host says is a result like any other."""
    await repository(api, git_server)
    refuse(git_server, 600)
    status, tested = await api("POST", f"{REPOSITORIES}/team/test")
    assert (status, tested["code"], tested["success"]) == (400, 400, False)
    assert PATIENCE in tested["errors"][0]["detail"]
