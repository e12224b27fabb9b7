"""The log of a mirror, and its limits for commits of any content."""

import os
from pathlib import Path

import pygit2
import pytest

from dashwright.common.errors import SourceFailed, TooLarge
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.log import MAX_ITEMS, log
from dashwright.jobs_worker.adapters.git.mirrors import Commit

BRANCH = "refs/heads/main"
_MEMORY = Path("/proc/self/statm")


def commit(repository: pygit2.Repository, message: str, *, time: int, author_name: str = "A", committer_name: str = "A") -> str:
    """Make a commit without files on the branch, at a time in seconds."""
    parents = [repository.references[BRANCH].peel(pygit2.Commit).id] if BRANCH in repository.references else []
    author, committer = pygit2.Signature(author_name, "a@example.org", time, 0), pygit2.Signature(committer_name, "b@example.org", time, 0)
    return str(repository.create_commit(BRANCH, author, committer, message, repository.TreeBuilder().write(), parents))


async def test_the_log_has_the_newest_commits(tmp_path: Path) -> None:
    """The log has the newest commits up to the limit, newest first, even if all of them were made in the same second."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    names = [commit(repository, str(index), time=1_700_000_000) for index in range(MAX_ITEMS + 5)]
    entries = await log(Commit(tmp_path, names[-1]), "")
    assert [item.ref for item in entries] == names[: -MAX_ITEMS - 1 : -1]


async def test_a_common_parent_is_listed_once(tmp_path: Path) -> None:
    """The common parent of two branches is listed once, after both of them."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    first = commit(repository, "first", time=1_700_000_000)
    tree, signature = repository[first].peel(pygit2.Tree).id, pygit2.Signature("A", "a@example.org", 1_700_000_001, 0)
    branch_commits = [repository.create_commit(None, signature, signature, name, tree, [first]) for name in ("left", "right")]
    merged = repository.create_commit(None, signature, signature, "merged", tree, branch_commits)
    entries = await log(Commit(tmp_path, str(merged)), "")
    assert [item.message for item in entries] == ["merged", "left", "right", "first"]


async def test_a_commit_has_authors_time_and_message(tmp_path: Path) -> None:
    """A commit has author and, if it differs, committer, a time in milliseconds, and a message of limited length."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    name = commit(repository, "a" * 20_000, time=1_700_000_000, author_name="Ä", committer_name="B")
    (entry,) = await log(Commit(tmp_path, name), "")
    assert ([author.name for author in entry.authors], entry.created_at, len(entry.message)) == (["Ä", "B"], 1_700_000_000_000, 10_000)
    raw = repository[name].read_raw().replace("Ä".encode(), b"\xc4").replace(b"a" * 20_000, b"\xff\n")
    name = str(repository.write(pygit2.enums.ObjectType.COMMIT, raw))
    (entry,) = await log(Commit(tmp_path, name), "")
    assert ([author.name for author in entry.authors], entry.message) == (["\ufffd", "B"], "\ufffd")


async def test_a_mirror_without_a_commit_is_damaged(tmp_path: Path) -> None:
    """A mirror without the commit is damaged: the error concerns the mirror, not the caller."""
    pygit2.init_repository(str(tmp_path), bare=True)
    with pytest.raises(SourceFailed, match="damaged"):
        await log(Commit(tmp_path, "0" * 39 + "1"), "")


async def test_a_commit_too_large_to_be_loaded_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log raises TooLarge if a commit is too large to be loaded, wherever that commit is in the history."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    names = [commit(repository, message, time=1_700_000_000) for message in ("first", "x" * 2000, "last")]
    monkeypatch.setattr(objects, "MAX_OBJECT_BYTES", 1000)
    with pytest.raises(TooLarge, match="a commit of 2"):
        await log(Commit(tmp_path, names[-1]), "")


async def test_names_are_truncated(tmp_path: Path) -> None:
    """Names of authors are truncated, because a thousand commits are returned in one response, and a name may be as long as a commit."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    name = commit(repository, "m", time=1_700_000_000, author_name="A" * 10_000, committer_name="B" * 10_000)
    (entry,) = await log(Commit(tmp_path, name), "")
    assert [author.name for author in entry.authors] == ["A" * 200, "B" * 200]


@pytest.mark.skipif(not _MEMORY.exists(), reason="this system does not report the memory of a process")
def test_pending_commits_are_not_in_memory(tmp_path: Path) -> None:
    """Only the ids of pending commits are in memory, because a commit may have thousands of ancestors of many megabytes."""
    repository = pygit2.init_repository(str(tmp_path), bare=True)
    tree, signature = repository.TreeBuilder().write(), pygit2.Signature("A", "a@example.org", 1_700_000_000, 0)
    parents = [repository.create_commit(None, signature, signature, f"{index}" + "x" * 1_000_000, tree, []) for index in range(200)]
    merged = repository.create_commit(None, signature, signature, "merged", tree, parents)
    result = objects.history(pygit2.Repository(str(tmp_path)), str(merged))
    next(result)
    resident_bytes = _resident_bytes()
    next(result)
    # The messages of the 200 parents together have 200 MB.
    assert _resident_bytes() - resident_bytes < 100_000_000


def _resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(_MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
