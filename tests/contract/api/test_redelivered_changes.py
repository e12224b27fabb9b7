"""Redelivered changes: if a worker ends before it replies, a second worker receives the change and finds the commit that was pushed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.file_calls import AUTHOR, Calls
from tests.contract.api.test_files_changed_by_the_worker import TREE, Team, synced_team
from tests.contract.api.test_sync_from_git import dashboard, run_sync
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.errors import AlreadyExists, Unavailable
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.calls.files import FileCalls

NEW_DASHBOARD = {"uid": "n", "title": "N", "panels": []}
#: A change of each method, by its name.
CHANGES: dict[str, dict[str, Any]] = {
    "create": {"method": "create", "path": "deep/new/n.json", "content": NEW_DASHBOARD},
    "update": {"method": "update", "path": "a.json", "content": {"uid": "a", "title": "A2", "panels": []}},
    "delete": {"method": "delete", "path": "deep/in/c.json"},
    "delete of a directory": {"method": "delete", "path": "deep/"},
    "move": {"method": "move", "path": "deep/moved.json", "original_path": "a.json"},
}


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    """Yield the calls about the files of the repository ``team``."""
    async with Calls(broker, "team") as calls:
        yield calls


@pytest.fixture
async def team(git_api: Api, git_server: GitServer, tmp_path: Path) -> Team:
    """Return a synced repository over git."""
    return await synced_team("git", TREE, git_api, git_server, tmp_path / "team")


@pytest.fixture
def work_tree(team: Team) -> WorkTree:
    """Return the work tree from which other users push."""
    assert team.work_tree is not None
    return team.work_tree


async def fail_after_push(*_: Any) -> None:
    """Fail instead of storing the objects of a pushed change, like a worker that ends."""
    raise Unavailable("the worker ends here")


def list_commits(work_tree: WorkTree, ref: str = "main") -> list[str]:
    """Return the commits of a branch on the server, the newest first."""
    git(work_tree.folder, "fetch", "--quiet", "origin")
    return git(work_tree.folder, "rev-list", f"origin/{ref}").split()


async def plan(calls: Calls, change: dict[str, Any]) -> dict[str, Any]:
    """Return the request that executes a change as the worker planned it."""
    planned = await calls.request_change(**change)
    return {**change, "content": planned.content, "base": planned.base}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_pushed_change_is_found_and_stored(
    team: Team, work_tree: WorkTree, calls: Calls, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """A repeated change returns the commit that the first worker pushed, even if newer commits follow, and stores its objects."""
    planned_change = await plan(calls, change)
    with monkeypatch.context() as patched:
        patched.setattr(FileCalls, "_store", fail_after_push)
        first = await calls.request_change(**planned_change)
    assert first.wrapper.errors
    git(work_tree.folder, "pull", "--quiet", "origin", "main")
    work_tree.commit({"newer.json": dashboard("t", "T")})
    before = list_commits(work_tree)
    calls.is_repeated = True
    repeated = await calls.request_change(**planned_change)
    assert (repeated.wrapper.ref, repeated.wrapper.errors, repeated.wrapper.hash) == (first.wrapper.ref, None, first.wrapper.hash)
    assert list_commits(work_tree) == before
    stored = await team.stored_titles()
    assert (await run_sync(team.api))["state"] == "success"
    assert await team.stored_titles() == stored | {"newer.json": "T"}


@pytest.mark.parametrize("spec", ['{"title": "A2", "panels": []}', None], ids=["edit", "removal"])
async def test_a_pushed_edit_is_found_and_stored(
    team: Team, work_tree: WorkTree, calls: Calls, monkeypatch: pytest.MonkeyPatch, spec: str | None
) -> None:
    """A repeated edit returns the commit that the first worker pushed and stores the object as committed."""
    checksum = (await calls.files())["a.json"] or ""
    body = {"version": "v1beta1", "name": "a", "spec": spec, "folder": "team"} if spec else None
    with monkeypatch.context() as patched:
        patched.setattr(FileCalls, "_store", fail_after_push)
        with pytest.raises(Unavailable):
            await calls.edit_object("a.json", checksum, body)
    before = list_commits(work_tree)
    calls.is_repeated = True
    assert (await calls.edit_object("a.json", checksum, body)).ref == before[0]
    assert list_commits(work_tree) == before
    assert (await team.stored_titles()).get("a.json") == ("A2" if spec else None)


async def test_a_change_that_was_not_pushed_is_executed(team: Team, work_tree: WorkTree, calls: Calls) -> None:
    """A repeated change that was not pushed creates exactly one commit."""
    planned_change = await plan(calls, CHANGES["create"])
    before = list_commits(work_tree)
    calls.is_repeated = True
    created = await calls.request_change(**planned_change)
    assert list_commits(work_tree) == [created.wrapper.ref, *before]
    assert (await team.stored_titles())["deep/new/n.json"] == "N"


@pytest.mark.parametrize("changed_author", [{"at": AUTHOR.at + 1}, {"name": "Bob"}], ids=["another time", "another name"])
async def test_an_equal_change_of_another_request_conflicts(team: Team, calls: Calls, changed_author: dict[str, Any]) -> None:
    """A repeated change conflicts with an equal commit of another author or time, because another request has created that commit."""
    planned_change = await plan(calls, CHANGES["create"])
    await calls.request_change(**planned_change)
    calls.author, calls.is_repeated = AUTHOR.model_copy(update=changed_author), True
    with pytest.raises(AlreadyExists):
        await calls.request_change(**planned_change)


async def test_a_branch_created_by_the_first_worker_is_found(team: Team, work_tree: WorkTree, calls: Calls) -> None:
    """A repeated change on another branch returns the first worker's commit and stores nothing."""
    planned_change = await plan(calls, {**CHANGES["create"], "ref": "better"})
    first = await calls.request_change(**planned_change)
    calls.is_repeated = True
    repeated = await calls.request_change(**planned_change)
    assert repeated.wrapper.ref == first.wrapper.ref
    assert list_commits(work_tree, "better")[0] == first.wrapper.ref
    assert "deep/new/n.json" not in await team.stored_titles()
