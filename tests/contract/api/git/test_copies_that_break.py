"""A worker's copy of a repository may break, go or fill up at any moment: the next sync makes it anew, and nobody has to touch it."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.contract.api.git.trial import Trial, dashboard, well
from tests.servers.git import git

from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.domain.objects import Entry


def copy(trial: Trial) -> Path:
    (found,) = [place for place in (trial.data / "git").iterdir() if place.is_dir()]
    return found


def objects(copy: Path) -> list[Path]:
    return [path for path in (copy / "objects").rglob("*") if path.is_file()]


def scribble(copy: Path) -> None:
    for path in objects(copy):
        path.chmod(0o600)
        path.write_bytes(b"x")


def lose_objects(copy: Path) -> None:
    for path in objects(copy):
        path.unlink()


def lose_all(copy: Path) -> None:
    shutil.rmtree(copy)


def lose_data(copy: Path) -> None:
    shutil.rmtree(copy.parent.parent)


def leave_locks(copy: Path) -> None:
    """As a program does that was killed."""
    for lock in ("refs/remotes/origin/main.lock", "packed-refs.lock", "config.lock", "shallow.lock"):
        (copy / lock).parent.mkdir(parents=True, exist_ok=True)
        (copy / lock).touch()


DAMAGES = [scribble, lose_objects, lose_all, lose_data, leave_locks]


async def test_a_copy_that_breaks_between_syncs(trial: Trial) -> None:
    """One sync is enough to heal, of another commit and of the same."""
    trial.work.commit({f"{number}.json": dashboard(f"n{number}", "0") for number in range(3)})
    await trial.make()
    for number, damage in enumerate(DAMAGES):
        damage(copy(trial))
        trial.work.commit({"1.json": dashboard("n1", f"{number}")})
        assert well(await trial.later()), damage
        assert await trial.titles() == {"n0": "0", "n1": f"{number}", "n2": "0"}
        damage(copy(trial))
        await trial.rename(f"Team {number}")
        status = await trial.later()
        assert (well(status), status["observedGeneration"]) == (True, number + 2), damage


async def test_a_copy_that_breaks_during_a_sync(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was read of it: the sync begins again, and ends well."""
    trial.work.commit({"1.json": dashboard("n1", "1"), "2.json": dashboard("n2", "2")})
    for damage in DAMAGES:
        with monkeypatch.context() as patched:
            meanwhile(patched, partial(breaks, trial, damage))
            if damage is DAMAGES[0]:
                await trial.make()
            else:
                await trial.rename(damage.__name__)
            assert well(await trial.later()), damage
        assert await trial.titles() == {"n1": "1", "n2": "2"}


def breaks(trial: Trial, damage: Callable[[Path], None]) -> None:
    damage(copy(trial))


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens once, when the files of a commit are listed and none of them was read."""
    listing, waiting = GitCheckout._entries, [act]

    def entries(checkout: GitCheckout) -> list[Entry]:
        found = listing(checkout)
        if waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr(GitCheckout, "_entries", entries)


async def test_history_that_is_rewritten_during_a_sync(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """That sync stores the commit that it began with, whole; the next one stores the newest."""
    first = trial.work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})

    def rewrite() -> None:
        (trial.work.folder / "a.json").write_text(dashboard("a", "other"))
        (trial.work.folder / "b.json").unlink()
        trial.work.push(amend=True)

    meanwhile(monkeypatch, rewrite)
    await trial.make()
    assert (await trial.status())["sync"]["lastRef"] == first
    assert await trial.titles() == {"a": "A", "b": "B"}
    assert well(await trial.later())
    assert await trial.titles() == {"a": "other"}


async def test_a_branch_that_goes_during_a_sync(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.work.commit({"a.json": dashboard("a", "A")})
    meanwhile(monkeypatch, lambda: git(trial.server.root / "team.git", "update-ref", "-d", "refs/heads/main"))
    await trial.make()
    assert await trial.titles() == {"a": "A"}
    assert not well(await trial.later())
    assert await trial.titles() == {"a": "A"}


async def test_a_repository_that_is_too_large_is_told_until_it_is_smaller(trial: Trial) -> None:
    """Also where it only has been: what no branch holds any more counts once, and then goes."""
    await trial.start(repository_bytes=400_000)
    work = trial.work
    work.commit({"a.json": dashboard("a", "A"), "big.bin": os.urandom(300_000)})
    await trial.make()
    (work.folder / "big.bin").write_bytes(os.urandom(300_000))
    (work.folder / "a.json").write_text(dashboard("a", "A2"))
    work.push(amend=True)
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A2"}
    (work.folder / "big.bin").write_bytes(os.urandom(900_000))
    work.push(amend=True)
    status = await trial.later()
    text = "the repository has more than 400000 bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"
    assert status["health"]["message"] == [text]
    assert status["sync"]["message"] == [text]
    assert await trial.titles() == {"a": "A2"}
    assert sum(path.stat().st_size for path in trial.data.rglob("*") if path.is_file()) < 400_000
    (work.folder / "big.bin").unlink()
    (work.folder / "a.json").write_text(dashboard("a", "A3"))
    work.push(amend=True)
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A3"}


async def test_branches_in_the_way_of_one_another(trial: Trial) -> None:
    """The copy knows a branch that is gone; another one lies below its name, and then above."""
    work, bare = trial.work, trial.server.root / "team.git"
    work.commit({"a.json": dashboard("a", "main")})
    await trial.make()
    for old, new in (("main", "main/below"), ("main/below", "main")):
        git(bare, "update-ref", "-d", f"refs/heads/{old}")
        work.commit({"a.json": dashboard("a", new)}, branch=new)
        await trial.change(branch=new)
        assert well(await trial.later())
        assert await trial.titles() == {"a": new}


async def test_a_worker_with_a_new_folder_goes_on(trial: Trial) -> None:
    """What is stored is known by its commit, also of a copy that was made elsewhere: it stays incremental."""
    trial.work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await trial.make()
    trial.data = trial.data.with_name("another")
    await trial.start()
    trial.work.commit({"a.json": dashboard("a", "A2")})
    status = await trial.later()
    assert well(status)
    assert status["sync"]["incremental"] is True
    assert await trial.titles() == {"a": "A2", "b": "B"}


async def test_a_folder_that_cannot_be_written_is_told(trial: Trial) -> None:
    """Here a file stands in its place; a full disk and missing rights end alike."""
    (trial.data / "git").write_text("no folder")
    trial.work.commit({"a.json": dashboard("a", "A")})
    await trial.make()
    status = await trial.later(0)
    text = "the jobs worker cannot keep a copy of the repository in its data folder: File exists"
    assert status["health"]["message"] == status["sync"]["message"] == [text]
    (trial.data / "git").unlink()
    assert well(await trial.later())
