"""Rollbacks of repositories. An earlier commit is stored again, and held until the branch moves or a user requests a sync."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard, run_sync, sync_status, titles
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.clock import Clock
from dashwright.common.identity import Role
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.models.job_options import SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryType
from dashwright.common.stores import jobs, resources
from dashwright.common.stores.job_records import new_job
from dashwright.common.work.wakeups import WakeupPublisher

TEAM = f"{REPOSITORIES}/team"


async def wait_for_end(api: Api, job: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a job once it has ended."""
    notified = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            await notified.wait()
            notified.clear()
            _, body = await api("GET", f"{TEAM}/jobs/{job['metadata']['uid']}")
            if body["status"]["state"] in ("success", "error"):
                return dict(body["status"])


async def roll_back(api: Api, body: dict[str, str] | None = None) -> dict[str, Any]:
    """Request a rollback and return the status of its job once it has ended."""
    status, job = await api("POST", f"{TEAM}/rollback", body)
    assert status == 202, job
    return await wait_for_end(api, job)


async def run_scheduled_sync(
    api: Api, broker: MemoryBroker, *, incremental: bool = True, submitter_uid: str = jobs.SCHEDULER
) -> dict[str, Any]:
    """Submit a sync like the scheduler or a webhook, and return its status."""
    spec = JobSpec(action=Action.SYNC, repository="team", sync=SyncJobOptions(incremental=incremental))
    async with api.database.transaction() as connection:
        uid = (await resources.get(connection, REPOSITORY, "default", "team")).uid
        job = new_job("default", spec, uid=uid, repository_type=RepositoryType.GITHOST, now=Clock().now())
        submitter = {"uid": submitter_uid, "login": submitter_uid}
        submitted = await jobs.submit(connection, JOB, [job], submitted_by=submitter)
    wakeups = WakeupPublisher(broker)
    wakeups.publish_soon(submitted.wakeups)
    await wakeups.stop()
    return await wait_for_end(api, {"metadata": {"uid": str(submitted.jobs[0].uid)}})


async def revisions(api: Api) -> list[tuple[str, str]]:
    """Return the synced commits, the newest first. Each has ``current``, ``withdrawn`` or the empty string as its second item."""
    status, body = await api("GET", f"{TEAM}/revisions")
    assert (status, body["kind"]) == (200, "RevisionList"), body
    result = []
    for item in body["items"]:
        flags = [flag for flag in ("current", "withdrawn") if item.get(flag)]
        assert len(flags) <= 1
        result.append((item["ref"], flags[0] if flags else ""))
    return result


async def sync_three_commits(api: Api, server: GitServer) -> tuple[WorkTree, str, str, str]:
    """Create a repository, sync three commits one by one, and return the work tree and the commits."""
    work_tree = server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "1"), "b.json": dashboard("b", "B")})
    await create_repository(api, server)
    assert (await run_sync(api))["state"] == "success"
    second = work_tree.commit({"a.json": dashboard("a", "2"), "b.json": None})
    assert (await run_sync(api, incremental=True))["state"] == "success"
    third = work_tree.commit({"a.json": dashboard("a", "3"), "c.json": dashboard("c", "C")})
    assert (await run_sync(api, incremental=True))["state"] == "success"
    return work_tree, first, second, third


async def test_rollbacks_restore_one_commit_after_another(git_api: Api, git_server: GitServer) -> None:
    """Each rollback without a ref restores the previous commit, and one with a ref this commit. A requested sync ends the hold."""
    _, first, second, third = await sync_three_commits(git_api, git_server)
    assert await revisions(git_api) == [(third, "current"), (second, ""), (first, "")]
    status = await roll_back(git_api)
    assert status["state"] == "success"
    assert status["message"] == "rolled back; held until the branch has another commit or a sync is requested"
    assert await titles(git_api) == {"a": "2"}
    status_of_sync = await sync_status(git_api)
    assert (status_of_sync["lastRef"], status_of_sync["held"], status_of_sync["state"]) == (second, True, "success")
    assert await revisions(git_api) == [(third, "withdrawn"), (second, "current"), (first, "")]
    assert (await roll_back(git_api))["state"] == "success"
    assert await titles(git_api) == {"a": "1", "b": "B"}
    # No commit was synced before the first one.
    assert (await git_api("POST", f"{TEAM}/rollback"))[0] == 422
    assert (await roll_back(git_api, {"ref": second}))["state"] == "success"
    assert await titles(git_api) == {"a": "2"}
    assert (await run_sync(git_api))["state"] == "success"
    assert await titles(git_api) == {"a": "3", "c": "C"}
    status_of_sync = await sync_status(git_api)
    assert status_of_sync["lastRef"] == third
    assert "held" not in status_of_sync
    assert (await roll_back(git_api))["state"] == "success"
    assert (await sync_status(git_api))["lastRef"] == second


async def test_withdrawn_commits_are_skipped(git_api: Api, git_server: GitServer) -> None:
    """A rollback from a newer commit skips the commit that an earlier rollback withdrew."""
    work_tree, _, second, third = await sync_three_commits(git_api, git_server)
    await roll_back(git_api)
    fourth = work_tree.commit({"a.json": dashboard("a", "4")})
    assert (await run_sync(git_api, incremental=True))["state"] == "success"
    assert await titles(git_api) == {"a": "4", "c": "C"}
    assert (await revisions(git_api))[:3] == [(fourth, "current"), (third, "withdrawn"), (second, "")]
    await roll_back(git_api)
    assert (await sync_status(git_api))["lastRef"] == second


async def test_a_commit_with_an_invalid_file_can_be_rolled_back(git_api: Api, git_server: GitServer) -> None:
    """A rollback from a commit with an invalid file undoes the changed objects and the errors of this commit."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "1"), "b.json": dashboard("b", "1")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    work_tree.commit({"a.json": dashboard("a", "2"), "b.json": "{", "c.json": dashboard("c", "2")})
    assert (await run_sync(git_api, incremental=True))["state"] == "error"
    assert await titles(git_api) == {"a": "2", "b": "1", "c": "2"}
    assert (await roll_back(git_api))["state"] == "success"
    assert await titles(git_api) == {"a": "1", "b": "1"}
    assert (await sync_status(git_api))["lastRef"] == first
    assert await git_api.sql("select count(*) from repository_fault") == 0


async def test_a_rollback_holds_until_the_branch_moves(git_api: Api, git_server: GitServer, broker: MemoryBroker) -> None:
    """Syncs by the scheduler or a webhook do nothing after a rollback until the branch has a new commit.

    A full sync after the sync of this commit would change nothing.
    """
    work_tree, _, second, _ = await sync_three_commits(git_api, git_server)
    await roll_back(git_api)
    for incremental, submitter_uid in ((True, jobs.SCHEDULER), (False, jobs.SCHEDULER), (True, f"{jobs.WEBHOOK}1")):
        status = await run_scheduled_sync(git_api, broker, incremental=incremental, submitter_uid=submitter_uid)
        assert status["message"] == "held at the commit that it was rolled back to"
        status_of_sync = await sync_status(git_api)
        assert (status_of_sync["held"], status_of_sync["lastRef"]) == (True, second)
        assert await titles(git_api) == {"a": "2"}
    fourth = work_tree.commit({"a.json": dashboard("a", "4"), "d/e.json": dashboard("e", "E")})
    status = await run_scheduled_sync(git_api, broker)
    assert (status["state"], status["message"]) == ("success", "completed successfully")
    status_of_sync = await sync_status(git_api)
    assert (status_of_sync["lastRef"], status_of_sync["incremental"]) == (fourth, True)
    assert "held" not in status_of_sync
    assert await titles(git_api) == {"a": "4", "c": "C", "e": "E"}
    _, plan = await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All"})
    assert plan["items"] == []


async def test_a_new_spec_ends_the_hold(git_api: Api, git_server: GitServer, broker: MemoryBroker) -> None:
    """The sync of a new spec stores the newest commit."""
    _, _, _, third = await sync_three_commits(git_api, git_server)
    await roll_back(git_api)
    _, team = await git_api("GET", TEAM)
    team["spec"]["title"] = "Renamed"
    assert (await git_api("PUT", TEAM, team))[0] == 200
    assert (await run_scheduled_sync(git_api, broker, incremental=False))["state"] == "success"
    assert (await sync_status(git_api))["lastRef"] == third


async def test_a_rollback_runs_after_a_pending_sync(git_api: Api, git_server: GitServer) -> None:
    """A rollback that is requested while a sync is pending runs after the sync, and holds at the requested commit."""
    work_tree, _, second, third = await sync_three_commits(git_api, git_server)
    fourth = work_tree.commit({"a.json": dashboard("a", "4")})
    _, first_job = await git_api("POST", f"{TEAM}/sync", {})
    _, rollback_job = await git_api("POST", f"{TEAM}/rollback", {"ref": second})
    await wait_for_end(git_api, first_job)
    assert (await wait_for_end(git_api, rollback_job))["state"] == "success"
    assert await titles(git_api) == {"a": "2"}
    assert (await sync_status(git_api))["held"] is True
    assert await git_api.sql("select head from repository_hold") == fourth
    assert (await revisions(git_api))[:3] == [(fourth, "withdrawn"), (third, "withdrawn"), (second, "current")]


@pytest.mark.parametrize("lost_by", [{"host"}, {"mirror"}, {"mirror", "host"}], ids=["host", "mirror", "mirror and host"])
async def test_a_commit_outside_of_all_branches_can_be_restored(
    git_api: Api, git_server: GitServer, tmp_path: Path, lost_by: set[str]
) -> None:
    """After the branch was rewritten, a synced commit is restored from the mirror or the host. If both have lost it, the rollback fails."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "1")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    (work_tree.folder / "a.json").write_text(dashboard("a", "2"))
    # The amended commit replaces the first one in the branch.
    second = work_tree.push(amend=True)
    await run_sync(git_api)
    assert await titles(git_api) == {"a": "2"}
    (mirror,) = (tmp_path / "data" / "git").glob("*/")
    if "mirror" in lost_by:
        shutil.rmtree(mirror)
    if "host" in lost_by:
        # Garbage collection deletes commits outside of all branches.
        for repository_path in (mirror, git_server.root / "team.git"):
            if repository_path.exists():
                git(repository_path, "-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")
    status = await roll_back(git_api)
    if lost_by == {"mirror", "host"}:
        assert status["state"] == "error"
        assert status["errors"] == [f"commit {first} was synced before, but neither this worker nor the git host has it any more"]
        status_of_sync = await sync_status(git_api)
        assert status_of_sync["lastRef"] == second
        assert "held" not in status_of_sync
        assert await titles(git_api) == {"a": "2"}
    else:
        assert status["state"] == "success", status
        assert await titles(git_api) == {"a": "1"}
        assert (await run_sync(git_api, incremental=True))["state"] == "success"
        assert await titles(git_api) == {"a": "2"}


async def test_a_dry_run_of_a_rollback_changes_nothing(git_api: Api, git_server: GitServer) -> None:
    """The dry run of a rollback returns the plan and changes nothing."""
    _, _, second, third = await sync_three_commits(git_api, git_server)
    status, body = await git_api("POST", f"{TEAM}/rollback", params={"dryRun": "All"})
    assert status == 200
    assert body["kind"] == "SyncPlan"
    assert body["ref"] == second
    assert body["base"] == third
    assert [(item["action"], item["name"]) for item in body["items"]] == [("update", "a"), ("delete", "c")]
    assert await titles(git_api) == {"a": "3", "c": "C"}
    assert (await sync_status(git_api))["lastRef"] == third


async def test_invalid_rollbacks_are_rejected(git_api: Api, git_server: GitServer) -> None:
    """Missing permissions, unknown commits and reserved options are rejected."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "1")})
    await create_repository(git_api, git_server)
    editor = await git_api.person("editor", Role.EDITOR)
    assert (await git_api("POST", f"{TEAM}/rollback", auth=editor))[0] == 403
    assert (await git_api("GET", f"{TEAM}/revisions", auth=editor))[0] == 200
    status, response = await git_api("POST", f"{TEAM}/rollback")
    assert (status, response["message"]) == (422, "ref: Not found: no earlier commit was synced")
    await run_sync(git_api)
    status, response = await git_api("POST", f"{TEAM}/rollback", {"ref": "0" * 40})
    assert status == 422
    assert first in response["message"]
    assert (await git_api("POST", f"{REPOSITORIES}/none/rollback"))[0] == 404
    for path, body in (("sync", {"ref": first}), ("jobs", {"action": "sync", "sync": {"ref": first}})):
        status, response = await git_api("POST", f"{TEAM}/{path}", body)
        assert (status, response["details"]["causes"][0]["field"]) == (422, "spec.sync.ref")


async def test_a_local_repository_has_no_rollbacks(git_api: Api) -> None:
    """A rollback of a local repository is 400."""
    (git_api.data / "x").mkdir()
    spec: dict[str, Any] = {"title": "T", "type": "local", "workflows": [], "local": {"path": str(git_api.data / "x")}}
    body = {"metadata": {"name": "team"}, "spec": {**spec, "sync": {"enabled": True, "target": "instance"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    status, response = await git_api("POST", f"{TEAM}/rollback")
    assert (status, response["message"]) == (400, "this repository does not support rollback: a local directory keeps no commits")
