"""A change whose worker ended before it could answer: another one takes it up, and finds what has arrived of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.calls import AUTHOR, Calls
from tests.contract.api.conftest import Api
from tests.contract.api.test_files_changed_by_the_worker import TREE, Team, synced_team
from tests.contract.api.test_sync_from_git import dashboard, synced
from tests.servers.git import GitServer, Work, git

from dashwright.common.errors import AlreadyExists, Unavailable
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.calls.files import FileCalls

NEW = {"uid": "n", "title": "N", "panels": []}
CHANGES: dict[str, dict[str, Any]] = {
    "create": {"method": "create", "path": "deep/new/n.json", "content": NEW},
    "update": {"method": "update", "path": "a.json", "content": {"uid": "a", "title": "A2", "panels": []}},
    "delete": {"method": "delete", "path": "deep/in/c.json"},
    "delete of a directory": {"method": "delete", "path": "deep/"},
    "move": {"method": "move", "path": "deep/moved.json", "original_path": "a.json"},
}


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    async with Calls(broker, "team") as calls:
        yield calls


@pytest.fixture
async def team(git_api: Api, git_server: GitServer, tmp_path: Path) -> Team:
    return await synced_team("git", TREE, git_api, git_server, tmp_path / "team")


@pytest.fixture
def work(team: Team) -> Work:
    assert team.work is not None
    return team.work


async def ends_after_its_push(*_: Any) -> None:
    raise Unavailable("the worker ends here")


def commits(work: Work, ref: str = "main") -> list[str]:
    git(work.folder, "fetch", "--quiet", "origin")
    return git(work.folder, "rev-list", f"origin/{ref}").split()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_a_change_that_arrived_is_answered_and_stored(
    team: Team, work: Work, calls: Calls, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """As if the first worker had done it, with its one commit; also where somebody else has pushed since."""
    looked = await calls.asked(**change)
    decided = {**change, "content": looked.content, "base": looked.base}
    with monkeypatch.context() as patched:
        patched.setattr(FileCalls, "_store", ends_after_its_push)
        first = await calls.asked(**decided)
    assert first.wrapper.errors
    git(work.folder, "pull", "--quiet", "origin", "main")
    work.commit({"theirs.json": dashboard("t", "T")})
    before = commits(work)
    calls.is_repeated = True
    again = await calls.asked(**decided)
    assert (again.wrapper.ref, again.wrapper.errors, again.wrapper.hash) == (first.wrapper.ref, None, first.wrapper.hash)
    assert commits(work) == before
    stored = await team.stored()
    assert (await synced(team.api))["state"] == "success"
    assert await team.stored() == stored | {"theirs.json": "T"}


@pytest.mark.parametrize("spec", ['{"title": "A2", "panels": []}', None], ids=["edit", "removal"])
async def test_an_edit_that_arrived_is_answered_and_stored(
    team: Team, work: Work, calls: Calls, monkeypatch: pytest.MonkeyPatch, spec: str | None
) -> None:
    """Whoever asked reads the object next: it is as the commit has it."""
    checksum = (await calls.files())["a.json"] or ""
    wanted = {"version": "v1beta1", "name": "a", "spec": spec, "folder": "team"} if spec else None
    with monkeypatch.context() as patched:
        patched.setattr(FileCalls, "_store", ends_after_its_push)
        with pytest.raises(Unavailable):
            await calls.edited("a.json", checksum, wanted)
    before = commits(work)
    calls.is_repeated = True
    assert (await calls.edited("a.json", checksum, wanted)).ref == before[0]
    assert commits(work) == before
    assert (await team.stored()).get("a.json") == ("A2" if spec else None)


async def test_a_change_that_did_not_arrive_is_made(team: Team, work: Work, calls: Calls) -> None:
    """Once."""
    change = CHANGES["create"]
    looked = await calls.asked(**change)
    before = commits(work)
    calls.is_repeated = True
    made = await calls.asked(**{**change, "content": looked.content, "base": looked.base})
    assert commits(work) == [made.wrapper.ref, *before]
    assert (await team.stored())["deep/new/n.json"] == "N"


@pytest.mark.parametrize("by", [{"at": AUTHOR.at + 1}, {"name": "Bob"}], ids=["another time", "somebody else"])
async def test_an_equal_change_of_another_request_is_none_of_ours(team: Team, calls: Calls, by: dict[str, Any]) -> None:
    """It is refused as ever: what is there was not made for it."""
    change = CHANGES["create"]
    looked = await calls.asked(**change)
    decided = {**change, "content": looked.content, "base": looked.base}
    await calls.asked(**decided)
    calls.author, calls.is_repeated = AUTHOR.model_copy(update=by), True
    with pytest.raises(AlreadyExists):
        await calls.asked(**decided)


async def test_a_branch_that_the_first_worker_made_is_found(team: Team, work: Work, calls: Calls) -> None:
    """Nothing of it is stored."""
    change = {**CHANGES["create"], "ref": "better"}
    looked = await calls.asked(**change)
    decided = {**change, "content": looked.content, "base": looked.base}
    first = await calls.asked(**decided)
    calls.is_repeated = True
    assert (await calls.asked(**decided)).wrapper.ref == first.wrapper.ref == commits(work, "better")[0]
    assert "deep/new/n.json" not in await team.stored()
