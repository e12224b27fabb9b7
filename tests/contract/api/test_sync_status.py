"""The sync status of a repository follows its job, and a status write is held to the types of the status."""

import asyncio
import json
from typing import Any, Final

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.deliveries import deliver, hooked
from tests.contract.api.repositories import REPOSITORIES, made
from tests.contract.api.test_sync_from_git import dashboard

from dashwright.common.work import execution

JOBS: Final = REPOSITORIES.replace("repositories", "jobs")
TEAM: Final = f"{REPOSITORIES}/team"


async def shown(api: Api, name: str = "team") -> tuple[str, str]:
    """The state and the job of the last sync."""
    _, found = await api("GET", f"{REPOSITORIES}/{name}")
    return found["status"]["sync"]["state"], found["status"]["sync"].get("job", "")


async def until(api: Api, path: str, is_wanted: Any) -> Any:
    """The status of an object once it is as wanted. Follows the feed of changes."""
    heard = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: heard.set(), heard.set):
        while True:
            _, found = await api("GET", path)
            if is_wanted(found["status"]):
                return found["status"]
            await heard.wait()
            heard.clear()


@pytest.mark.parametrize("path", ["sync", "jobs"])
async def test_a_repository_is_pending_while_its_sync_is_queued(api: Api, path: str) -> None:
    """From the response on, whatever the last sync was; the job is named by its uid, and ends with it."""
    await made(api, "team", api.data)
    await api("PUT", f"{TEAM}/status", {"status": {"sync": {"state": "success", "lastRef": "c"}}})
    body = {} if path == "sync" else {"action": "sync", "sync": {}}
    status, job = await api("POST", f"{TEAM}/{path}", body)
    assert (status, await shown(api)) == (202, ("pending", job["metadata"]["uid"]))
    assert (await api("GET", f"{TEAM}/jobs/{(await shown(api))[1]}"))[1]["metadata"]["name"] == job["metadata"]["name"]
    assert (await api("GET", TEAM))[1]["status"]["sync"]["lastRef"] == "c"
    assert (await api("DELETE", f"{JOBS}/{job['metadata']['name']}"))[0] == 200
    assert await shown(api) == ("error", job["metadata"]["uid"])


async def test_a_queued_sync_does_not_hide_the_one_at_work(api: Api) -> None:
    """An export is no sync; a second sync is shown when the first has ended."""
    await made(api, "team", api.data, "write")
    await api("POST", f"{TEAM}/export", {})
    assert await shown(api) == ("", "")
    _, first = await api("POST", f"{TEAM}/sync", {})
    await api.sql(
        "update job set state = 'working', status = '{\"state\": \"working\"}' where name = $1 returning 1", first["metadata"]["name"]
    )
    _, second = await api("POST", f"{TEAM}/sync", {})
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert await shown(api) == ("pending", first["metadata"]["uid"])


async def test_a_sync_that_a_host_asks_for_is_shown(api: Api) -> None:
    """Soon after the delivery, which waits for nothing."""
    await hooked(api)
    assert (await deliver(api))[0] == 202
    await until(api, f"{REPOSITORIES}/boards", lambda status: status["sync"]["state"] == "pending")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    ("status", "field"),
    [({"sync": {"state": "banana"}}, "status.sync.state"), ({"health": {"healthy": "very"}}, "status.health.healthy")],
    ids=["enum", "type"],
)
async def test_a_status_write_is_held_to_the_types(api: Api, method: str, status: Any, field: str) -> None:
    """A value outside an enum is refused with its field, and nothing is written."""
    await made(api, "team", api.data)
    before = (await api("GET", TEAM))[1]
    headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    code, refused = await api(method, f"{TEAM}/status", {"status": status}, headers=headers)
    assert (code, refused["details"]["causes"][0]["field"]) == (422, field)
    assert (await api("GET", TEAM))[1] == before


async def test_progress_moves_while_many_files_are_synced(git_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch of a sync of 1,500 files sees progress before the end, far fewer steps than files, and 100 at the end."""
    # A fast machine would read and write all files between two reports.
    monkeypatch.setattr(execution, "_REPORT_SECONDS", 0.05)
    folder = git_api.data / "many"
    folder.mkdir()
    for number in range(1500):
        (folder / f"{number}.json").write_text(dashboard(f"d{number}", f"Title {number}"))
    spec = {"title": "Many", "workflows": [], "type": "local", "local": {"path": str(folder)}}
    spec |= {"sync": {"enabled": True, "target": "folder"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
    seen = await watched(git_api)
    assert seen == sorted(seen)
    assert seen[-1] == 100
    assert any(0 < value < 100 for value in seen)
    assert len(seen) < 300
    assert (await watched(git_api))[-1] == 100


async def watched(api: Api) -> list[float]:
    """The values of progress that a watch of the job tells of, in order, those that repeat left out."""
    _, job = await api("POST", f"{TEAM}/sync", {})
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={job['metadata']['name']}",
        "resourceVersion": job["metadata"]["resourceVersion"],
    }
    seen: list[float] = []
    async with asyncio.timeout(60), api.session.get(JOBS, params=query, headers={"Authorization": ADMIN}) as stream:
        async for line in stream.content:
            status = json.loads(line)["object"]["status"]
            if status.get("progress") and status["progress"] not in seen[-1:]:
                seen.append(status["progress"])
            if status["state"] in ("success", "error"):
                assert status["state"] == "success", status
                return seen
    raise AssertionError("the watch ended before the job")
