"""The sync status of a repository follows its job, and a write of the status is validated."""

import asyncio
import json
from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.deliveries import create_hooked_repository, deliver
from tests.contract.api.repositories import REPOSITORIES, make_local_repository
from tests.contract.api.test_sync_from_git import dashboard

from dashwright.common.work import execution

JOBS: Final = REPOSITORIES.replace("repositories", "jobs")
TEAM: Final = f"{REPOSITORIES}/team"


async def sync_of(api: Api, name: str = "team") -> tuple[str, str]:
    """Return the state and the job of the last sync."""
    _, body = await api("GET", f"{REPOSITORIES}/{name}")
    return body["status"]["sync"]["state"], body["status"]["sync"].get("job", "")


async def wait_for_status(api: Api, path: str, condition: Any) -> Any:
    """Return the status of an object once it satisfies the condition. The object is read after every notification of a change."""
    notified = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            _, body = await api("GET", path)
            if condition(body["status"]):
                return body["status"]
            await notified.wait()
            notified.clear()


@pytest.mark.parametrize("path", ["sync", "jobs"])
async def test_a_repository_is_pending_while_its_sync_is_queued(api: Api, path: str) -> None:
    """From the response on, the status is pending with the uid of the job, regardless of the last sync, until the job runs."""
    await make_local_repository(api, "team", api.data)
    await api("PUT", f"{TEAM}/status", {"status": {"sync": {"state": "success", "lastRef": "c"}}})
    body = {} if path == "sync" else {"action": "sync", "sync": {}}
    status, job = await api("POST", f"{TEAM}/{path}", body)
    assert (status, await sync_of(api)) == (202, ("pending", job["metadata"]["uid"]))
    assert (await api("GET", f"{TEAM}/jobs/{(await sync_of(api))[1]}"))[1]["metadata"]["name"] == job["metadata"]["name"]
    assert (await api("GET", TEAM))[1]["status"]["sync"]["lastRef"] == "c"
    assert (await api("DELETE", f"{JOBS}/{job['metadata']['name']}"))[0] == 200
    assert await sync_of(api) == ("error", job["metadata"]["uid"])


async def test_a_queued_sync_does_not_hide_the_running_one(api: Api) -> None:
    """The status has the running sync until it ends, then the queued one. Exports do not count."""
    await make_local_repository(api, "team", api.data, "write")
    await api("POST", f"{TEAM}/export", {})
    assert await sync_of(api) == ("", "")
    _, first = await api("POST", f"{TEAM}/sync", {})
    await api.sql(
        "update job set state = 'working', status = '{\"state\": \"working\"}' where name = $1 returning 1", first["metadata"]["name"]
    )
    _, second = await api("POST", f"{TEAM}/sync", {})
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert await sync_of(api) == ("pending", first["metadata"]["uid"])


async def test_a_sync_by_webhook_is_pending(api: Api) -> None:
    """The sync that a webhook delivery starts is pending shortly after the delivery."""
    await create_hooked_repository(api)
    assert (await deliver(api))[0] == 202
    await wait_for_status(api, f"{REPOSITORIES}/boards", lambda status: status["sync"]["state"] == "pending")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("status", "field"),
    [({"sync": {"state": "banana"}}, "status.sync.state"), ({"health": {"healthy": "very"}}, "status.health.healthy")],
    ids=["enum", "type"],
)
async def test_a_status_write_is_validated(api: Api, method: str, status: Any, field: str) -> None:
    """A value of the wrong type or outside of its enum is rejected with its field, and nothing is written."""
    await make_local_repository(api, "team", api.data)
    before = (await api("GET", TEAM))[1]
    headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    code, error = await api(method, f"{TEAM}/status", {"status": status}, headers=headers)
    assert (code, error["details"]["causes"][0]["field"]) == (422, field)
    assert (await api("GET", TEAM))[1] == before


async def test_progress_is_reported_during_a_sync(git_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch of a sync of 1,500 files has progress before the end, far fewer steps than files, and 100 at the end."""
    # A fast machine would read and write all files between two reports.
    monkeypatch.setattr(execution, "_REPORT_INTERVAL_SECONDS", 0.05)
    folder = git_api.data / "many"
    folder.mkdir()
    for index in range(1500):
        (folder / f"{index}.json").write_text(dashboard(f"d{index}", f"Title {index}"))
    spec = {"title": "Many", "workflows": [], "type": "local", "local": {"path": str(folder)}}
    spec |= {"sync": {"enabled": True, "target": "folder"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
    reports = await watch_progress(git_api)
    assert reports == sorted(reports)
    assert reports[-1] == 100
    assert any(0 < value < 100 for value in reports)
    assert len(reports) < 300
    # A sync without changes ends at 100, too.
    assert (await watch_progress(git_api))[-1] == 100


async def watch_progress(api: Api) -> list[float]:
    """Run a sync and return the values of progress that a watch shows, in order and without repetitions."""
    _, job = await api("POST", f"{TEAM}/sync", {})
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={job['metadata']['name']}",
        "resourceVersion": job["metadata"]["resourceVersion"],
    }
    reports: list[float] = []
    async with asyncio.timeout(60), api.session.get(JOBS, params=query, headers={"Authorization": ADMIN}) as stream:
        async for line in stream.content:
            status = json.loads(line)["object"]["status"]
            progress = status.get("progress")
            is_repeated = bool(reports) and reports[-1] == progress
            if progress and not is_repeated:
                reports.append(progress)
            if status["state"] in ("success", "error"):
                assert status["state"] == "success", status
                return reports
    raise AssertionError("the watch ended before the job")
