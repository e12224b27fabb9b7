"""Changes of files in a local folder: each file is written completely or not at all, and no file outside of the folder."""

import asyncio
import errno
import hashlib
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed
from dashwright.jobs_worker.adapters import directory_edits
from dashwright.jobs_worker.adapters.directory import DirectoryCheckout
from dashwright.jobs_worker.domain.objects import Edit

Change = Callable[..., Awaitable[None]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the directory of the repository."""
    (tmp_path / "permitted" / "repo").mkdir(parents=True)
    return tmp_path / "permitted" / "repo"


@pytest.fixture
def change(tmp_path: Path, root: Path) -> Change:
    """Return a function that makes edits in the directory of the repository."""

    async def change(*edits: Edit) -> None:
        await directory_edits.edit(DirectoryCheckout("repo", [root.parent]), edits, tmp_path / "data" / "lock")

    return change


def content_of(root: Path) -> dict[str, str]:
    """Return the texts of all files below a folder by path, with hidden files. Directories end in a slash, and have an empty text."""
    content = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_dir():
            content[f"{name}/"] = ""
        else:
            content[name] = "" if path.is_symlink() else path.read_text()
    return content


@pytest.fixture
def remove_root(root: Path) -> None:
    """Delete the directory of the repository."""
    root.rmdir()


def tree(root: Path) -> list[Path]:
    """Return the paths of all files and directories below a directory."""
    return sorted(root.rglob("*"))


def checksum(body: str) -> str:
    """Return the checksum of a file with this content."""
    return hashlib.sha1(body.encode(), usedforsecurity=False).hexdigest()


def new_file(path: str, body: bytes) -> Edit:
    """Return an edit that creates a file."""
    return Edit(path, body, replaced_checksum=None)


def edit_of(path: str, body: bytes, *, before: str) -> Edit:
    """Return an edit of an existing file whose content is ``before``."""
    return Edit(path, body, checksum(before))


def deletion(path: str, *, before: str) -> Edit:
    """Return an edit that deletes a file whose content is ``before``."""
    return Edit(path, None, checksum(before))


async def test_files_are_created_changed_and_removed(root: Path, change: Change) -> None:
    """Directories are created as needed and removed when empty, and nothing else is left."""
    (root / "old" / "er").mkdir(parents=True)
    (root / "old" / "er" / "gone.json").write_text("1")
    (root / "edit.json").write_text("2")
    (root / "kept").mkdir()
    await change(
        new_file("new/deep/ü.json", b"3"),
        edit_of("edit.json", b"22", before="2"),
        deletion("old/er/gone.json", before="1"),
        new_file(".keep", b""),
    )
    assert content_of(root) == {"new/": "", "new/deep/": "", "new/deep/ü.json": "3", "edit.json": "22", "kept/": "", ".keep": ""}


async def test_the_folder_remains_without_files(root: Path, change: Change) -> None:
    """The folder of a repository is not deleted with its last file, and nothing is left next to it."""
    (root / "a.json").write_text("1")
    await change(deletion("a.json", before="1"))
    assert [path.name for path in tree(root.parent)] == ["repo"]


async def test_a_file_keeps_its_permissions(root: Path, change: Change) -> None:
    """A changed file keeps its permissions without set-user-ID and set-group-ID, because the worker is its new owner."""
    (root / "a.sh").write_text("1")
    (root / "a.sh").chmod(0o6750)
    await change(edit_of("a.sh", b"2", before="1"))
    assert stat.S_IMODE((root / "a.sh").stat().st_mode) == 0o750


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        pytest.param(edit_of("a.json", b"x", before="other"), Conflict, id="changed file"),
        pytest.param(deletion("a.json", before="other"), Conflict, id="deletion of a changed file"),
        pytest.param(edit_of("none.json", b"x", before="1"), Conflict, id="missing file"),
        pytest.param(deletion("none/none.json", before="1"), Conflict, id="missing directory"),
        pytest.param(new_file("a.json", b"x"), AlreadyExists, id="new file at a file"),
        pytest.param(new_file("a.json/b.json", b"x"), BadRequest, id="new file below a file"),
        pytest.param(new_file("d", b"x"), BadRequest, id="new file at a directory"),
        pytest.param(edit_of("d", b"x", before="1"), BadRequest, id="change of a directory"),
        pytest.param(new_file("link.json", b"x"), BadRequest, id="new file at a link"),
        pytest.param(new_file("link/new.json", b"x"), BadRequest, id="new file below a link"),
        pytest.param(new_file("pipe", b"x"), BadRequest, id="new file at a pipe"),
    ],
)
async def test_edits_that_cannot_be_applied_together_change_nothing(
    root: Path, change: Change, edit: Edit, error: type[DashwrightError]
) -> None:
    """If one of several edits is impossible, no file is written, no directory created, and no link followed."""
    outside_folder = root.parent.parent / "outside"
    outside_folder.mkdir()
    (root / "d").mkdir()
    (root / "a.json").write_text("1")
    (root / "link").symlink_to(outside_folder)
    (root / "link.json").symlink_to(outside_folder / "made.json")
    os.mkfifo(root / "pipe")
    before = tree(root)
    with pytest.raises(error):
        await change(new_file("first/new.json", b"x"), edit)
    assert tree(root) == before
    assert (root / "a.json").read_text() == "1"
    assert tree(outside_folder) == []


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (errno.ENOSPC, SourceFailed, "the disk is full"),
        (errno.EIO, SourceFailed, "check the disk or mount"),
        (errno.EROFS, Forbidden, "mounted read-only"),
        (errno.EACCES, Forbidden, "the right to write in the folder"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "rename"])
async def test_a_failing_disk_leaves_no_files(
    root: Path, change: Change, monkeypatch: pytest.MonkeyPatch, step: str, number: int, error: type[DashwrightError], message: str
) -> None:
    """After a failure of the disk, no partial file and no new directory is left, and files to delete still exist.

    The error says what to do.
    """
    (root / "a.json").write_text("1")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(error, match=message):
        await change(new_file("in/b.json", b"2"), deletion("a.json", before="1"))
    assert content_of(root) == {"a.json": "1"}


async def test_readers_see_a_file_before_or_after(root: Path, change: Change) -> None:
    """A file of any size is replaced as a whole."""
    old, new = "1" * 3_000_000, "2" * 3_000_000
    (root / "a.json").write_text(old)
    contents: set[str] = set()
    changing = asyncio.ensure_future(change(edit_of("a.json", new.encode(), before=old)))
    while not changing.done():
        contents.add(await asyncio.to_thread((root / "a.json").read_text))
    await changing
    assert contents <= {old, new}


async def test_of_many_concurrent_edits_one_changes_a_file(root: Path, change: Change) -> None:
    """One of many concurrent edits of a file succeeds, and the others get an error: no change is lost silently."""
    (root / "a.json").write_text("1")
    results = await asyncio.gather(
        *(change(edit_of("a.json", b"by %d" % index, before="1")) for index in range(20)), return_exceptions=True
    )
    assert results.count(None) == 1
    assert all(isinstance(result, Conflict) for result in results if result is not None)
    assert (root / "a.json").read_text() == f"by {results.index(None)}"


async def test_leftovers_of_a_crash_are_harmless(root: Path, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash leaves only a hidden file, which syncs ignore. The next change of the same file deletes it."""

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", die)
        # Called without a thread, in which the interrupt would end the event loop.
        with pytest.raises(KeyboardInterrupt):
            directory_edits._edit(DirectoryCheckout("repo", [root.parent]), [new_file("a.json", b"1")])
    assert [name.startswith(".dashwright-") for name in content_of(root)] == [True]
    await change(new_file("a.json", b"2"))
    assert content_of(root) == {"a.json": "2"}


@pytest.mark.usefixtures("remove_root")
async def test_a_missing_folder_is_reported(change: Change) -> None:
    with pytest.raises(NotFound):
        await change(new_file("a.json", b"2"))


async def test_a_cancelled_change_is_over_before_another_begins(root: Path, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled change keeps the lock until its thread has ended, because a thread cannot be stopped."""
    rename = os.rename
    has_begun = asyncio.Event()
    may_end = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*arguments: Any, **options: Any) -> None:
        """Rename a file after ``may_end`` is set."""
        loop.call_soon_threadsafe(has_begun.set)
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result()
        rename(*arguments, **options)

    monkeypatch.setattr(os, "rename", slow)
    first = asyncio.ensure_future(change(new_file("a.json", b"1")))
    await has_begun.wait()
    first.cancel()
    monkeypatch.setattr(os, "rename", rename)
    second = asyncio.ensure_future(change(edit_of("a.json", b"2", before="1")))
    may_end.set()
    await asyncio.wait([first, second])
    assert first.cancelled()
    assert second.exception() is None
    assert content_of(root) == {"a.json": "2"}
