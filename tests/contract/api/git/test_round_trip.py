"""From an edit in a browser over a branch and a pull request to the stored dashboard, with a real git host over HTTP."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.review_environment import NAME, REPOSITORIES, ReviewEnvironment, dashboard
from tests.servers import git_host
from tests.servers.git import git

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.jobs_worker.main import JobsWorker

TOKEN = "token-of-the-host"


@pytest.fixture
async def environment(start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path) -> AsyncIterator[ReviewEnvironment]:
    """Yield the environment with a synced repository and a git host that calls its webhook."""
    root = tmp_path / "server"
    root.mkdir()
    api = await start_api()
    public, data = str(api.address).rstrip("/"), tmp_path / "data"
    data.mkdir()
    settings = load(data_dir=data, secret_key="of tests only", allowed_hosts="127.0.0.0/8", scheduling=False, public_url=public)
    async with git_host.serving(root, token=TOKEN) as host:
        worker = JobsWorker(settings, database, broker, Clock())
        await worker.start()
        environment = ReviewEnvironment(api, host, host.create_repository(NAME), worker)
        environment.work_tree.commit({"a.json": dashboard("a", "Alpha"), "b.json": dashboard("b", "Beta")})
        await environment.create_repository(token=TOKEN)
        assert (await environment.sync())["state"] == "success"
        await worker.hooks.refresh()
        await host.wait_for_hooks()
        yield environment
        await worker.stop()


async def job_of_webhook(environment: ReviewEnvironment, action: str) -> dict[str, str]:
    """Wait until the only job with an action that the host's webhook started has ended, and return its status."""
    await environment.host.wait_for_hooks()
    _, body = await environment.api("GET", f"{REPOSITORIES}/team/jobs")
    [uid] = [job["metadata"]["uid"] for job in body["items"] if job["spec"]["action"] == action and _is_from_webhook(job)]
    [status] = await environment.wait_for_jobs(uid)
    return status


def _is_from_webhook(job: dict[str, Any]) -> bool:
    """Return whether a webhook started a job: all reviews of this module, and incremental syncs, unlike the first sync of the test."""
    return bool(job["spec"]["action"] == "pr" or job["spec"].get("sync", {}).get("incremental"))


async def test_an_edit_is_reviewed_merged_and_stored(environment: ReviewEnvironment) -> None:
    """An edit on a branch is reviewed after a pull request is opened, and stored after the pull request is merged."""
    edited = json.loads(dashboard("a", "Alpha", "sum(up)"))
    file = f"{REPOSITORIES}/team/files/a.json"
    status, wrapper = await environment.api("PUT", file, edited, params={"ref": "better", "message": "Sum it"})
    assert status == 200, wrapper
    assert wrapper["resource"]["action"] == "update"
    number = environment.host.open_pull(NAME, "better")

    review = await job_of_webhook(environment, "pr")
    assert review["state"] == "success"
    assert review["message"] == "1 updated"
    [text] = environment.comments(number)
    assert "- query A: `up` → `sum(up)`" in text
    [commit] = {commit for commit, _ in environment.host.repositories[NAME].statuses}
    assert commit == wrapper["ref"]
    assert commit == git(environment.host.root / NAME, "rev-parse", "better")
    assert environment.statuses()[-1] == ("success", "1 updated")
    _, before = await environment.api("GET", f"{REPOSITORIES}/team")
    assert before["status"]["sync"]["lastRef"] != commit

    environment.host.merge(NAME, number)
    assert (await job_of_webhook(environment, "sync"))["state"] == "success"
    _, after = await environment.api("GET", f"{REPOSITORIES}/team")
    assert after["status"]["sync"]["lastRef"] == commit
    assert after["status"]["sync"]["incremental"]
    _, current = await environment.api("GET", "/api/dashboards/uid/a")
    assert current["dashboard"]["panels"][0]["targets"][0]["expr"] == "sum(up)"
    assert {delivery.event for delivery in environment.host.deliveries} == {"ping", "push", "pull_request"}
    # The ping is accepted with 200, and deliveries that start a job with 202.
    assert {delivery.status for delivery in environment.host.deliveries} == {200, 202}
