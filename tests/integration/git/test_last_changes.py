"""The times and authors of the last changes of a commit's files."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git import command, last_changes
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit, Mirrors

ODD_PATH = "deep/ü (1)\n'&.json"


@pytest.fixture
def work_tree(server: GitServer) -> WorkTree:
    """Create the empty repository ``r.git``."""
    return server.create_repository("r.git")


@pytest.fixture
def fetch(mirrors: Mirrors, open_remote: OpenRemote) -> Any:
    """Return a function that fetches and returns the newest commit."""

    async def fetch() -> Commit:
        commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
        assert commit is not None
        return commit

    return fetch


def set_author(work_tree: WorkTree, name: str, date: str) -> None:
    """Change the author and the commit time of the newest commit. ``date`` is in Unix seconds."""
    git(work_tree.folder, "commit", "--quiet", "--amend", "--no-edit", f"--author={name} <a@example.org>")
    # The log indents the message, and begins with the hash of the commit, which is not a part of the object.
    rewritten = git(work_tree.folder, "log", "-1", "--format=raw").replace("\n    ", "\n")
    lines = [line for line in rewritten.splitlines() if not line.startswith("commit ")]
    lines = [f"{line.rsplit(' ', 2)[0]} {date} +0000" if line.startswith("committer ") else line for line in lines]
    sha = git(work_tree.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin="\n".join(lines) + "\n")
    git(work_tree.folder, "reset", "--quiet", "--soft", sha)
    git(work_tree.folder, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/main")


async def test_each_file_has_the_newest_commit_that_changed_it(work_tree: WorkTree, fetch: Any) -> None:
    """Each file has the newest commit that changed it, which may be a merge.

    A name may contain any bytes, and paths are relative to the directory of the repository.
    """
    work_tree.commit({"a.json": "1", "b.json": "1", ODD_PATH: "1"})
    set_author(work_tree, "Anna Ä", "1700000000")
    git(work_tree.folder, "checkout", "--quiet", "-b", "side")
    work_tree.commit({"b.json": "2"}, branch="side")
    git(work_tree.folder, "checkout", "--quiet", "main")
    work_tree.commit({"c.json": "3"})
    git(work_tree.folder, "merge", "--quiet", "--no-ff", "--no-edit", "side")
    git(work_tree.folder, "push", "--quiet", "origin", "HEAD:refs/heads/main")
    commit = await fetch()
    paths = ["a.json", "b.json", "c.json", ODD_PATH, "none.json"]
    changes = await GitCheckout(commit).last_changes(paths)
    assert {path: (change.milliseconds, change.author) for path, change in changes.items()} == {
        path: (
            int(git(work_tree.folder, "log", "-1", "--format=%ct", "--", path)) * 1000,
            git(work_tree.folder, "log", "-1", "--format=%an", "--", path),
        )
        for path in paths[:-1]
    }
    assert (changes["a.json"].milliseconds, changes["a.json"].author) == (1_700_000_000_000, "Anna Ä")
    deep_checkout = GitCheckout(commit, "deep")
    name = ODD_PATH.removeprefix("deep/")
    assert await deep_checkout.last_changes([name]) == {name: changes[ODD_PATH]}
    assert await deep_checkout.last_changes([]) == {}


async def test_one_walk_serves_all_lists_of_a_commit(work_tree: WorkTree, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All lists of a commit share one walk over its newest commits. For a single file, the whole history is searched."""
    work_tree.commit({"a.json": "1", "b.json": "1"})
    work_tree.commit({"b.json": "2"})
    commit, changes = await fetch(), LastChanges()
    commands: list[Sequence[str]] = []
    run = command.run

    async def run_and_count(arguments: Sequence[str], **options: Any) -> bytes:
        commands.append(arguments)
        return await run(arguments, **options)

    monkeypatch.setattr(command, "run", run_and_count)
    monkeypatch.setattr(last_changes, "MAX_COMMITS", 1)
    # The second list is from the cache.
    for _ in range(2):
        assert set(await changes.get(commit, ["a.json", "b.json"])) == {"b.json"}
    assert set(await changes.get(commit, ["b.json"])) == {"b.json"}
    assert len(commands) == 1
    assert set(await changes.get(commit, ["a.json"])) == {"a.json"}


async def test_a_failed_walk_does_not_fail_the_list(work_tree: WorkTree, fetch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the history cannot be read in time, the last changes are missing, and no error is raised."""
    work_tree.commit({"a.json": "1"})
    commit = await fetch()

    async def time_out(*_: Any, **__: Any) -> bytes:
        await asyncio.sleep(0)
        raise SourceFailed("the git host did not respond within 5 s")

    monkeypatch.setattr(command, "run", time_out)
    assert await LastChanges().get(commit, ["a.json", "b.json"]) == {}
