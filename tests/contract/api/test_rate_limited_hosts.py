"""Git hosts that limit requests. A job waits until the host may be called again, and requests over HTTP are 429."""

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
#: A part of every message about a rate limit.
PAUSE_MESSAGE = "requests a pause"


@pytest.fixture
async def api(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[Api]:
    """Start a gateway and a worker that looks every 0.1 seconds for delayed jobs that may continue."""
    settings = load(data_dir=tmp_path, secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False, job_lease_seconds=0.3)
    worker = JobsWorker(settings, database, broker, Clock())
    await worker.start()
    yield await start_api()
    await worker.stop()


async def create_repository(api: Api, server: GitServer) -> None:
    """Create a repository on the server and declare it in the gateway."""
    server.create_repository("team.git").commit({"a.json": json.dumps({"uid": "a", "title": "A"})})
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 600}
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": sync, "githost": {"url": server.url("team.git"), "branch": "main"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201


def limit_requests(server: GitServer, seconds: int) -> None:
    """Let the server refuse every request with a ``Retry-After`` of these seconds."""

    async def refusal(_: web.Request) -> web.StreamResponse:
        """Respond to a request as a host that requests a pause."""
        return web.Response(status=429, headers={"Retry-After": str(seconds)})

    server.fault = refusal


def read_field(status: Any, field: str) -> str:
    """Return a field of a status as text. ``health.message`` is the field ``message`` of the part ``health``."""
    value = status
    for name in field.split("."):
        value = value.get(name, {})
    return str(value)


async def wait_for_status(api: Api, path: str, expected_texts: dict[str, str]) -> dict[str, Any]:
    """Return the object at a path once each of these fields of its status contains the expected text."""
    notified = asyncio.Event()
    async with asyncio.timeout(20), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            await notified.wait()
            notified.clear()
            _, body = await api("GET", path)
            if all(text in read_field(body["status"], field) for field, text in expected_texts.items()):
                return dict(body)


async def test_a_rate_limited_sync_waits(api: Api, git_server: GitServer) -> None:
    """A rate-limited sync is pending with the reason and the time of the retry, and succeeds at its first attempt afterwards."""
    await create_repository(api, git_server)
    status, first_job = await api("POST", f"{REPOSITORIES}/team/sync", {"incremental": False})
    assert status == 202
    await wait_for_status(api, f"{REPOSITORIES}/team/jobs/{first_job['metadata']['uid']}", {"state": "success"})
    limit_requests(git_server, 600)
    status, job = await api("POST", f"{REPOSITORIES}/team/sync", {"incremental": False})
    assert status == 202
    path = f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}"
    delayed_job = await wait_for_status(api, path, {"message": PAUSE_MESSAGE})
    assert (delayed_job["status"]["state"], delayed_job["status"].get("errors")) == ("pending", None)
    paused_repository = await wait_for_status(api, f"{REPOSITORIES}/team", {"sync.state": "pending", "health.message": PAUSE_MESSAGE})
    team = paused_repository["status"]
    assert team["health"]["healthy"]
    assert 500_000 < team["sync"]["scheduled"] - Clock().milliseconds() <= 600_000
    git_server.fault = None
    # As if the 600 seconds had passed.
    await api.sql("update git_host_share set paused_until = now() where namespace = 'default' returning 1")
    await api.sql("update job set not_before = now() where not_before is not null returning 1")
    await wait_for_status(api, path, {"state": "success"})
    team = (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]
    assert (team["health"]["healthy"], team["health"].get("message")) == (True, None)
    assert await api.sql("select attempts from job where uid::text = $1", job["metadata"]["uid"]) == 1


async def test_a_rate_limited_request_has_retry_after(api: Api, git_server: GitServer) -> None:
    """Requests that need the host are 429 with Retry-After. During the pause they are refused without a request to the host."""
    await create_repository(api, git_server)
    limit_requests(git_server, 600)
    for path in ("refs", "history"):
        async with api.session.get(f"{REPOSITORIES}/team/{path}", headers={"Authorization": ADMIN}) as response:
            error = await response.json()
            assert (response.status, error["reason"]) == (429, "TooManyRequests")
            assert PAUSE_MESSAGE in error["message"]
            assert 500 < int(response.headers["Retry-After"]) <= 600
    assert len(git_server.requests) == 1


async def test_a_rate_limit_is_a_result_of_a_repository_test(api: Api, git_server: GitServer) -> None:
    """A test of a repository whose host limits requests returns a failed result with the reason."""
    await create_repository(api, git_server)
    limit_requests(git_server, 600)
    status, result = await api("POST", f"{REPOSITORIES}/team/test")
    assert (status, result["code"], result["success"]) == (400, 400, False)
    assert PAUSE_MESSAGE in result["errors"][0]["detail"]
