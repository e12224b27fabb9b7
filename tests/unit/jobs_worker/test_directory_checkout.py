"""A checkout of a local folder, which reads everything in the folder and nothing outside."""

import asyncio
import errno
import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from dashwright.common.errors import Forbidden, NotFound, SourceFailed, TooLarge
from dashwright.jobs_worker.adapters.directory import DirectoryCheckout


@pytest.fixture
def permitted(tmp_path: Path) -> Path:
    """Return the permitted folder with the empty folder ``repo``. The folder ``secret`` next to it is not permitted."""
    folder = tmp_path / "permitted"
    (folder / "repo").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.json").write_bytes(b"secret")
    return folder


@pytest.fixture
def root(permitted: Path) -> Path:
    """Return the folder of the repository."""
    return permitted / "repo"


async def faults(root: Path) -> dict[str, str]:
    """Return the fault of each entry that cannot be read, by its path."""
    return {entry.path: entry.fault for entry in await DirectoryCheckout("repo", [root.parent]).entries() if entry.fault}


async def test_entries_are_files_and_directories(root: Path) -> None:
    """Entries are resources with size and SHA-1 of their bytes, and other files and directories by name.

    Hidden directories are not searched.
    """
    (root / "a" / "empty").mkdir(parents=True)
    (root / ".git" / "objects").mkdir(parents=True)
    (root / "a" / "x.json").write_bytes(b"{}")
    (root / "README.md").write_bytes(b"# big" * 10)
    sizes_and_checksums = {entry.path: (entry.size, entry.checksum) for entry in await DirectoryCheckout("repo", [root.parent]).entries()}
    assert sizes_and_checksums == {
        ".git/": (0, ""),
        "README.md": (50, ""),
        "a/": (0, ""),
        "a/empty/": (0, ""),
        "a/x.json": (2, hashlib.sha1(b"{}").hexdigest()),
    }


async def test_read_returns_bytes_and_their_checksum(root: Path) -> None:
    """A file that changed after the listing is returned with its new bytes, and with their checksum."""
    (root / "a").mkdir()
    (root / "a" / "x.json").write_bytes(b"new")
    file = DirectoryCheckout("repo", [root.parent]).open_reader()("a/x.json")
    assert file.body == b"new"
    assert file.checksum == hashlib.sha1(b"new").hexdigest()


@pytest.mark.parametrize("path", ["../secret", "/etc", "..", "repo/../../secret", "/"])
def test_a_path_outside_of_the_permitted_folders_is_rejected(permitted: Path, path: str) -> None:
    """A path with ``..``, or in a folder that is not permitted, is rejected before any file is read."""
    with pytest.raises(Forbidden, match="is not in a permitted folder"):
        DirectoryCheckout(path, [permitted])


@pytest.mark.parametrize("link", ["out", "out/below"])
def test_a_link_on_the_path_to_the_folder_is_rejected(permitted: Path, link: str) -> None:
    """Neither the folder nor a parent may be a link that leads out."""
    (permitted / "out").symlink_to(permitted.parent / "secret")
    (permitted.parent / "secret" / "below").mkdir()
    with pytest.raises(Forbidden, match="is not in a permitted folder"):
        DirectoryCheckout(link, [permitted])


def test_nothing_is_permitted_without_a_setting() -> None:
    """Without permitted folders, every folder is refused, and the refusal names the setting."""
    with pytest.raises(Forbidden, match="DASHWRIGHT_PERMITTED_PATHS"):
        DirectoryCheckout("anything", [])


async def test_permitted_folder_may_itself_be_reached_by_a_link(permitted: Path, root: Path) -> None:
    """The operator chose the permitted folder, so its path may contain links."""
    alias = permitted.parent / "alias"
    alias.symlink_to(permitted)
    (root / "x.json").write_bytes(b"{}")
    assert len(await DirectoryCheckout(str(alias / "repo"), [alias]).entries()) == 1


def open_descriptors() -> int:
    """Return the number of open file descriptors of this process."""
    return len(list(Path("/dev/fd").iterdir()))


def replace_by_link(folder: Path, target: Path) -> None:
    """Replace an empty folder by a symbolic link."""
    folder.rmdir()
    folder.symlink_to(target)


async def test_folder_replaced_by_a_link_is_refused(permitted: Path, root: Path) -> None:
    """If the folder is replaced by a link after the check of its path, nothing is read through the link."""
    checkout = DirectoryCheckout("repo", [permitted])
    replace_by_link(root, permitted.parent / "secret")
    with pytest.raises(Forbidden, match="cannot be read"):
        await checkout.entries()
    with pytest.raises(Forbidden):
        checkout.open_reader()("key.json")


async def test_a_missing_folder_is_an_error(permitted: Path) -> None:
    """A missing folder does not count as empty, or all stored objects would be deleted."""
    with pytest.raises(NotFound, match=r"directory not found: .*gone"):
        await DirectoryCheckout("gone", [permitted]).entries()


async def test_links_inside_are_rejected_one_by_one(root: Path) -> None:
    """Links to files and directories are reported and never followed."""
    (root / "real.json").write_bytes(b"{}")
    (root / "inside.json").symlink_to("real.json")
    (root / "outside.json").symlink_to(root.parent.parent / "secret" / "key.json")
    (root / "dir").symlink_to(root.parent.parent / "secret")
    (root / "dangling.json").symlink_to("nowhere")
    link_faults = await faults(root)
    assert sorted(link_faults) == ["dangling.json", "dir", "inside.json", "outside.json"]
    assert set(link_faults.values()) == {"a symbolic link is not followed or opened: put the file itself there"}


@pytest.mark.parametrize("path", ["outside.json", "dir/key.json"])
async def test_a_link_created_during_the_sync_is_not_read(root: Path, path: str) -> None:
    """A link that replaces a file or directory during the sync is not followed."""
    (root / "outside.json").symlink_to(root.parent.parent / "secret" / "key.json")
    (root / "dir").symlink_to(root.parent.parent / "secret")
    with pytest.raises(Forbidden):
        DirectoryCheckout("repo", [root.parent]).open_reader()(path)


async def test_special_files_are_named_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes and sockets are reported but not opened, because a pipe without a writer would block the worker permanently."""
    os.mkfifo(root / "pipe.json")
    # The path of a socket must be short.
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.json")
        special_faults = await faults(root)
    assert special_faults == {
        "pipe.json": "a pipe is not followed or opened: put the file itself there",
        "socket.json": "a socket is not followed or opened: put the file itself there",
    }
    with pytest.raises(Forbidden, match="a pipe"):
        DirectoryCheckout("repo", [root.parent]).open_reader()("pipe.json")


async def test_a_file_above_the_limit_is_a_separate_error(root: Path) -> None:
    """A large file is neither read nor hashed; a file that grew after the listing is rejected when read."""
    (root / "big.json").write_bytes(b"12345")
    (root / "fits.json").write_bytes(b"1234")
    checkout = DirectoryCheckout("repo", [root.parent], max_file_bytes=4)
    assert [(entry.path, bool(entry.fault)) for entry in await checkout.entries()] == [("big.json", True), ("fits.json", False)]
    with pytest.raises(TooLarge, match="at most 4"):
        checkout.open_reader()("big.json")


async def test_number_of_entries_is_bounded(root: Path) -> None:
    """The number of entries is limited, and the error names the limit."""
    for name in "abc":
        (root / name).touch()
    assert len(await DirectoryCheckout("repo", [root.parent], max_entries=3).entries()) == 3
    with pytest.raises(TooLarge, match="more than 2 files"):
        await DirectoryCheckout("repo", [root.parent], max_entries=2).entries()


async def test_a_file_deleted_during_the_sync_is_an_error(root: Path) -> None:
    """The error of a file that was deleted during the sync says that it was deleted, and refers to the next sync."""
    with pytest.raises(NotFound, match="was deleted"):
        DirectoryCheckout("repo", [root.parent]).open_reader()("gone.json")


async def test_depth_is_bounded(root: Path) -> None:
    """A directory below the deepest level that is searched is named, but not searched."""
    root.joinpath(*["d"] * 70).mkdir(parents=True)
    paths = [entry.path for entry in await DirectoryCheckout("repo", [root.parent]).entries()]
    # The deepest of the 70 levels that is listed.
    assert max(path.count("/") for path in paths) == 64


async def test_a_name_that_is_not_utf_8_is_escaped(root: Path) -> None:
    """Bytes that are not UTF-8 are escaped; the plan rejects the path."""
    (root / os.fsdecode(b"caf\xe9.json")).write_bytes(b"{}")
    assert [entry.path for entry in await DirectoryCheckout("repo", [root.parent]).entries()] == ["caf\\xe9.json"]


async def test_all_descriptors_are_closed(root: Path) -> None:
    """Success and failure both close all descriptors."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "x.json").write_bytes(b"{}")
    (root / "a" / "link.json").symlink_to("b/x.json")
    checkout = DirectoryCheckout("repo", [root.parent])
    before = open_descriptors()
    await checkout.entries()
    checkout.open_reader()("a/b/x.json")
    with pytest.raises(Forbidden):
        checkout.open_reader()("a/link.json")
    assert open_descriptors() == before


FailSystemCall = Callable[[str, str, int], None]


@pytest.fixture
def fail_system_call(monkeypatch: pytest.MonkeyPatch) -> FailSystemCall:
    """Return a function that makes a system call fail for one name.

    Permissions would not suffice, because the user of the tests may be able to read everything.
    """

    def fail(call: str, name: str, number: int) -> None:
        original = getattr(os, call)

        def refuse(path: Any, *arguments: Any, **options: Any) -> Any:
            if path == name:
                raise OSError(number, os.strerror(number), name)
            return original(path, *arguments, **options)

        monkeypatch.setattr(os, call, refuse)

    return fail


@pytest.mark.parametrize(("call", "name"), [("open", "locked"), ("stat", "x.json")])
async def test_directory_that_may_not_be_read_is_a_fault(root: Path, fail_system_call: FailSystemCall, call: str, name: str) -> None:
    """If the worker may not list a directory or search it, the directory has a fault, and all other directories are read."""
    (root / "a" / "locked").mkdir(parents=True)
    (root / "a" / "locked" / "x.json").write_bytes(b"{}")
    (root / "a" / "y.json").write_bytes(b"{}")
    fail_system_call(call, name, errno.EACCES)
    entries = await DirectoryCheckout("repo", [root.parent]).entries()
    assert sorted((entry.path, entry.fault) for entry in entries) == [
        ("a/", ""),
        ("a/locked/", ""),
        ("a/locked/", "the worker may not read it: give its user the right to"),
        ("a/y.json", ""),
    ]


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE])
@pytest.mark.parametrize("name", ["sub", "x.json", "repo"])
async def test_failing_disk_or_worker_ends_the_listing(root: Path, fail_system_call: FailSystemCall, name: str, number: int) -> None:
    """If the disk or the worker fails, the listing fails, because objects of unread files would be deleted otherwise."""
    (root / "sub").mkdir()
    (root / "sub" / "x.json").write_bytes(b"{}")
    fail_system_call("open", name, number)
    with pytest.raises(SourceFailed, match=os.strerror(number)):
        await DirectoryCheckout("repo", [root.parent]).entries()


async def test_failing_disk_ends_the_reading(root: Path, fail_system_call: FailSystemCall) -> None:
    """A failing disk ends the reading, because the error is not a fault of the one file."""
    (root / "x.json").write_bytes(b"{}")
    fail_system_call("open", "x.json", errno.EIO)
    with pytest.raises(SourceFailed, match=r"x\.json cannot be read"):
        DirectoryCheckout("repo", [root.parent]).open_reader()("x.json")


async def test_an_unreadable_folder_is_an_error(root: Path, fail_system_call: FailSystemCall) -> None:
    """An unreadable folder does not count as empty."""
    (root / "x.json").write_bytes(b"{}")
    fail_system_call("stat", "x.json", errno.EACCES)
    with pytest.raises(Forbidden, match="cannot be read: the worker may not read it"):
        await DirectoryCheckout("repo", [root.parent]).entries()


async def test_bytes_of_all_resources_are_bounded(root: Path) -> None:
    """The total size of resources is limited; other files do not count, and the error names the setting."""
    for name in ("a.json", "b.yaml", "README.md"):
        (root / name).write_bytes(b"12345")
    assert len(await DirectoryCheckout("repo", [root.parent], max_total_bytes=10).entries()) == 3
    with pytest.raises(TooLarge, match="more than 9 bytes: split it or raise DASHWRIGHT_REPOSITORY_BYTES"):
        await DirectoryCheckout("repo", [root.parent], max_total_bytes=9).entries()


async def test_a_cancelled_listing_stops_at_the_next_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of a cancelled listing stops and does not read the complete folder."""
    for index in range(100):
        (root / f"{index}.json").write_bytes(b"{}")
    examined_paths: list[object] = []
    has_begun, may_continue = Event(), Event()
    original = os.stat

    def stat(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        examined_paths.append(path)
        has_begun.set()
        assert may_continue.wait(20)
        return original(path, *arguments, **options)

    checkout = DirectoryCheckout("repo", [root.parent])
    monkeypatch.setattr(os, "stat", stat)
    listing = asyncio.create_task(checkout.entries())
    assert await asyncio.to_thread(has_begun.wait, 20)
    listing.cancel()
    await asyncio.wait([listing])
    may_continue.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert listing.cancelled()
    # The listing examined the first files only, and not all 100.
    assert len(examined_paths) < 5
