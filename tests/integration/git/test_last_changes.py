"""The times and authors of the last changes of a commit's files."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer, Work, git

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git import command, last_changes
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors

ODD = "deep/ü (1)\n'&.json"


@pytest.fixture
def work(server: GitServer) -> Work:
    return server.make("r.git")


@pytest.fixture
def fetch(mirrors: Mirrors, open_remote: OpenRemote) -> Any:
    async def fetch() -> Commit:
        commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
        assert commit is not None
        return commit

    return fetch


def set_author(work: Work, name: str, date: str) -> None:
    """Give the newest commit another author and time."""
    git(work.folder, "commit", "--quiet", "--amend", "--no-edit", f"--author={name} <a@example.org>")
    rewritten = git(work.folder, "log", "-1", "--format=raw").replace("\n    ", "\n")
    lines = [line for line in rewritten.splitlines() if not line.startswith("commit ")]
    lines = [f"{line.rsplit(' ', 2)[0]} {date} +0000" if line.startswith("committer ") else line for line in lines]
    sha = git(work.folder, "hash-object", "-t", "commit", "-w", "--stdin", lines="\n".join(lines) + "\n")
    git(work.folder, "reset", "--quiet", "--soft", sha)
    git(work.folder, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/main")


async def test_each_file_has_the_newest_commit_that_changed_it(work: Work, fetch: Any) -> None:
    """Each file has the newest commit that changed it, which may be a merge.

    A name may contain any bytes, and paths are relative to the directory of the repository.
    """
    work.commit({"a.json": "1", "b.json": "1", ODD: "1"})
    set_author(work, "Anna Ä", "1700000000")
    git(work.folder, "checkout", "--quiet", "-b", "side")
    work.commit({"b.json": "2"}, branch="side")
    git(work.folder, "checkout", "--quiet", "main")
    work.commit({"c.json": "3"})
    git(work.folder, "merge", "--quiet", "--no-ff", "--no-edit", "side")
    git(work.folder, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    commit = await fetch()
    paths = ["a.json", "b.json", "c.json", ODD, "none.json"]
    found = await GitCheckout(commit).last_changes(paths)
    assert {path: (change.at, change.author) for path, change in found.items()} == {
        path: (
            int(git(work.folder, "log", "-1", "--format=%ct", "--", path)) * 1000,
            git(work.folder, "log", "-1", "--format=%an", "--", path),
        )
        for path in paths[:-1]
    }
    assert (found["a.json"].at, found["a.json"].author) == (1_700_000_000_000, "Anna Ä")
    below = GitCheckout(commit, "deep")
    name = ODD.removeprefix("deep/")
    assert await below.last_changes([name]) == {name: found[ODD]}
    assert await below.last_changes([]) == {}


async def test_one_walk_serves_all_lists_of_a_commit(work: Work, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last change of a single file is always found; for many files, only the newest commits are examined."""
    work.commit({"a.json": "1", "b.json": "1"})
    work.commit({"b.json": "2"})
    commit, changes = await fetch(), LastChanges()
    ran: list[Sequence[str]] = []
    run = command.run

    async def run_and_count(arguments: Sequence[str], **options: Any) -> bytes:
        ran.append(arguments)
        return await run(arguments, **options)

    monkeypatch.setattr(command, "run", run_and_count)
    monkeypatch.setattr(last_changes, "MAX_COMMITS", 1)
    for _ in range(2):
        assert set(await changes.get(commit, ["a.json", "b.json"])) == {"b.json"}
    assert set(await changes.get(commit, ["b.json"])) == {"b.json"}
    assert len(ran) == 1
    assert set(await changes.get(commit, ["a.json"])) == {"a.json"}


async def test_a_failed_walk_does_not_fail_the_list(work: Work, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the history cannot be read in time, the last changes are missing, and no error is raised."""
    work.commit({"a.json": "1"})
    commit = await fetch()

    async def late(*_: Any, **__: Any) -> bytes:
        await asyncio.sleep(0)
        raise SourceFailed("the git host did not respond within 5 s")

    monkeypatch.setattr(command, "run", late)
    assert await LastChanges().get(commit, ["a.json", "b.json"]) == {}
