"""Mirrors, which are local copies of git repositories, that break, disappear or become too large: syncs recreate them."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.contract.api.git.sync_environment import SyncEnvironment, dashboard, is_healthy
from tests.servers.git import git

from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.domain.objects import Entry


def mirror_of(environment: SyncEnvironment) -> Path:
    """Return the directory of the only mirror."""
    (mirror,) = [folder for folder in (environment.data / "git").iterdir() if folder.is_dir()]
    return mirror


def objects(mirror: Path) -> list[Path]:
    """Return the files in which a mirror stores its objects."""
    return [path for path in (mirror / "objects").rglob("*") if path.is_file()]


def overwrite_objects(mirror: Path) -> None:
    """Replace the content of all objects."""
    for path in objects(mirror):
        path.chmod(0o600)
        path.write_bytes(b"x")


def delete_objects(mirror: Path) -> None:
    """Delete all objects."""
    for path in objects(mirror):
        path.unlink()


def delete_mirror(mirror: Path) -> None:
    """Delete the directory of the mirror."""
    shutil.rmtree(mirror)


def delete_data_directory(mirror: Path) -> None:
    """Delete the data directory of the worker."""
    shutil.rmtree(mirror.parent.parent)


def create_lock_files(mirror: Path) -> None:
    """Create the lock files that a killed git program would leave."""
    for lock in ("refs/remotes/origin/main.lock", "packed-refs.lock", "config.lock", "shallow.lock"):
        (mirror / lock).parent.mkdir(parents=True, exist_ok=True)
        (mirror / lock).touch()


#: Functions that damage a mirror.
DAMAGES = [overwrite_objects, delete_objects, delete_mirror, delete_data_directory, create_lock_files]


async def test_a_damaged_mirror_is_repaired_by_the_next_sync(environment: SyncEnvironment) -> None:
    """A sync repairs a damaged mirror, both an incremental sync of a new commit and a full sync without one."""
    environment.work_tree.commit({f"{index}.json": dashboard(f"n{index}", "0") for index in range(3)})
    await environment.create_repository()
    for index, damage in enumerate(DAMAGES):
        damage(mirror_of(environment))
        environment.work_tree.commit({"1.json": dashboard("n1", f"{index}")})
        assert is_healthy(await environment.advance()), damage
        assert await environment.titles() == {"n0": "0", "n1": f"{index}", "n2": "0"}
        damage(mirror_of(environment))
        # A new title causes a full sync. It is a new generation of the repository, whose first one is 1.
        await environment.rename(f"Team {index}")
        status = await environment.advance()
        assert is_healthy(status), damage
        assert status["observedGeneration"] == index + 2, damage


async def test_a_mirror_damaged_during_a_sync_is_repaired(environment: SyncEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync whose mirror is damaged while it runs starts again and succeeds."""
    environment.work_tree.commit({"1.json": dashboard("n1", "1"), "2.json": dashboard("n2", "2")})
    for damage in DAMAGES:
        with monkeypatch.context() as patched:
            run_during_sync(patched, partial(apply_damage, environment, damage))
            # The first sync is that of a new repository, and a new title causes each further sync.
            if damage is DAMAGES[0]:
                await environment.create_repository()
            else:
                await environment.rename(damage.__name__)
            assert is_healthy(await environment.advance()), damage
        assert await environment.titles() == {"n1": "1", "n2": "2"}


def apply_damage(environment: SyncEnvironment, damage: Callable[[Path], None]) -> None:
    """Damage the mirror that exists at the time of the call."""
    damage(mirror_of(environment))


def run_during_sync(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run ``act`` once during the next sync, after the files of a commit are listed and before a file is read."""
    list_entries = GitCheckout._entries
    pending_actions = [act]

    def entries(checkout: GitCheckout) -> list[Entry]:
        """List the entries of a tree, and then run the next pending action."""
        listed = list_entries(checkout)
        if pending_actions:
            pending_actions.pop()()
        return listed

    monkeypatch.setattr(GitCheckout, "_entries", entries)


async def test_a_sync_ignores_history_rewritten_while_it_runs(environment: SyncEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the branch is rewritten during a sync, the sync stores its own commit completely. The next sync stores the newest commit."""
    first = environment.work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})

    def rewrite() -> None:
        """Replace the commit of the sync by another one on the server."""
        (environment.work_tree.folder / "a.json").write_text(dashboard("a", "other"))
        (environment.work_tree.folder / "b.json").unlink()
        environment.work_tree.push(amend=True)

    run_during_sync(monkeypatch, rewrite)
    await environment.create_repository()
    assert (await environment.status())["sync"]["lastRef"] == first
    assert await environment.titles() == {"a": "A", "b": "B"}
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "other"}


async def test_a_sync_completes_although_its_branch_is_deleted(environment: SyncEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync completes when its branch is deleted; the next one fails and keeps the stored objects."""
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    run_during_sync(monkeypatch, lambda: git(environment.server.root / "team.git", "update-ref", "-d", "refs/heads/main"))
    await environment.create_repository()
    assert await environment.titles() == {"a": "A"}
    assert not is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A"}


async def test_a_repository_over_the_size_limit_is_an_error(environment: SyncEnvironment) -> None:
    """A repository above the size limit fails to sync until it is smaller. Commits of no branch are deleted and do not count."""
    await environment.start(repository_bytes=400_000)
    work_tree = environment.work_tree
    work_tree.commit({"a.json": dashboard("a", "A"), "big.bin": os.urandom(300_000)})
    await environment.create_repository()
    # Both versions of the large file together exceed the limit, but the amended commit replaces the first one.
    (work_tree.folder / "big.bin").write_bytes(os.urandom(300_000))
    (work_tree.folder / "a.json").write_text(dashboard("a", "A2"))
    work_tree.push(amend=True)
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A2"}
    (work_tree.folder / "big.bin").write_bytes(os.urandom(900_000))
    work_tree.push(amend=True)
    status = await environment.advance()
    text = "the repository has more than 400000 bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"
    assert status["health"]["message"] == [text]
    assert status["sync"]["message"] == [text]
    assert await environment.titles() == {"a": "A2"}
    assert sum(path.stat().st_size for path in environment.data.rglob("*") if path.is_file()) < 400_000
    (work_tree.folder / "big.bin").unlink()
    (work_tree.folder / "a.json").write_text(dashboard("a", "A3"))
    work_tree.push(amend=True)
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A3"}


async def test_a_branch_replaces_a_deleted_one_with_a_conflicting_name(environment: SyncEnvironment) -> None:
    """A new branch replaces a deleted branch in the mirror, although one of their names is a directory in the path of the other."""
    work_tree, bare = environment.work_tree, environment.server.root / "team.git"
    work_tree.commit({"a.json": dashboard("a", "main")})
    await environment.create_repository()
    for old, new in (("main", "main/below"), ("main/below", "main")):
        git(bare, "update-ref", "-d", f"refs/heads/{old}")
        work_tree.commit({"a.json": dashboard("a", new)}, branch=new)
        await environment.change(branch=new)
        assert is_healthy(await environment.advance())
        assert await environment.titles() == {"a": new}


async def test_a_worker_with_an_empty_data_folder_syncs_incrementally(environment: SyncEnvironment) -> None:
    """A worker without a mirror syncs incrementally from the last synced commit, which is in the database."""
    environment.work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await environment.create_repository()
    # Another worker with a new data directory replaces the first one.
    environment.data = environment.data.with_name("another")
    await environment.start()
    environment.work_tree.commit({"a.json": dashboard("a", "A2")})
    status = await environment.advance()
    assert is_healthy(status)
    assert status["sync"]["incremental"] is True
    assert await environment.titles() == {"a": "A2", "b": "B"}


async def test_an_unwritable_data_folder_is_reported(environment: SyncEnvironment) -> None:
    """A mirror that cannot be written is reported in the messages of health and sync.

    In this test, a file has the path of the mirrors' directory.
    """
    (environment.data / "git").write_text("no folder")
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.create_repository()
    status = await environment.advance(0)
    text = "the jobs worker cannot keep a copy of the repository in its data directory: File exists"
    assert status["health"]["message"] == status["sync"]["message"] == [text]
    (environment.data / "git").unlink()
    assert is_healthy(await environment.advance())
