"""A commit as a sync reads it, and the difference between two commits."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from subprocess import Popen
from typing import Any

import pygit2
import pytest
from tests.integration.git.conftest import OpenRemote
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.errors import BadRequest, Conflict, Invalid, NotFound, TooLarge
from dashwright.jobs_worker.adapters.git import command, objects
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.adapters.git.read_ahead import BlobsAhead
from dashwright.jobs_worker.domain.objects import Difference, Entry
from dashwright.jobs_worker.ports import MirrorDamaged

ReadCheckout = Callable[..., Awaitable[GitCheckout]]


@pytest.fixture
def work_tree(server: GitServer) -> WorkTree:
    """Create the empty repository ``r.git``."""
    return server.create_repository("r.git")


@pytest.fixture
def read_checkout(mirrors: Mirrors, open_remote: OpenRemote) -> ReadCheckout:
    """Return a function that fetches the newest commit and returns its checkout."""

    async def read_checkout(directory: str = "", **options: Any) -> GitCheckout:
        commit = await mirrors.fetch("uid", open_remote("r.git"), "main")
        assert commit is not None
        return GitCheckout(commit, directory, **options)

    return read_checkout


async def _read_all(checkout: GitCheckout, entries: Sequence[Entry]) -> list[tuple[bytes, str]]:
    """Return the bytes and checksums of files, read in the order of ``entries``."""
    async with checkout.reading([entry.checksum for entry in entries]) as read_file:
        files = await asyncio.to_thread(lambda: [read_file(entry.path, entry.checksum) for entry in entries])
    return [(file.body, file.checksum) for file in files]


@pytest.fixture
def read_ahead(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Read files ahead even if they are few. Return a list which records, for each read file, whether it was read ahead."""
    was_read_ahead: list[bool] = []
    read_blob = BlobsAhead.read

    def record_read(blobs: BlobsAhead, blob: str) -> bytes | None:
        body = read_blob(blobs, blob)
        was_read_ahead.append(body is not None)
        return body

    monkeypatch.setattr(BlobsAhead, "read", record_read)
    monkeypatch.setattr("dashwright.jobs_worker.adapters.git.checkout._MIN_FILES_AHEAD", 1)
    return was_read_ahead


async def test_files_that_are_read_ahead_are_those_of_the_commit(
    work_tree: WorkTree, read_checkout: ReadCheckout, read_ahead: list[bool]
) -> None:
    """Files that are read ahead have the content of the commit: empty, equal and very large ones, and those with line breaks."""
    bodies: dict[str, str | bytes | None] = {
        "a.json": "",
        "b.json": "1",
        "c.json": "1",
        "d.json": "\n\n",
        **{f"{index}.json": f"{index}" * 90_000 for index in range(9)},
    }
    work_tree.commit(bodies)
    checkout = await read_checkout()
    entries = await checkout.entries()
    assert await _read_all(checkout, entries) == [(str(bodies[entry.path]).encode(), entry.checksum) for entry in entries]
    assert read_ahead == [True] * len(entries)


async def test_a_file_that_is_not_read_ahead_is_read_nevertheless(
    work_tree: WorkTree, read_checkout: ReadCheckout, read_ahead: list[bool]
) -> None:
    """A file that is read in another order, or after the end of git, is read without reading ahead."""
    work_tree.commit({f"{name}.json": name for name in "abcd"})
    checkout = await read_checkout()
    first, second, *others = await checkout.entries()
    async with checkout.reading([first.checksum, others[0].checksum, "0" * 40]) as read_file:
        for entry in (first, second, *others):
            assert (await asyncio.to_thread(read_file, entry.path, entry.checksum)).body.decode() == entry.path[0]
    assert await _read_all(checkout, [second, first]) == [(b"b", second.checksum), (b"a", first.checksum)]
    assert read_ahead[-2:] == [True, True]


async def test_a_file_that_is_too_large_is_not_read_ahead(work_tree: WorkTree, read_checkout: ReadCheckout, read_ahead: list[bool]) -> None:
    """A file that is too large is refused, whether or not it is read ahead. The files after it are no longer read ahead."""
    work_tree.commit({"a.json": "1", "b.json": "x" * 2000, "c.json": "3"})
    checkout = await read_checkout(max_file_bytes=1000)
    first, large_file, last = await checkout.entries()
    async with checkout.reading([first.checksum, large_file.checksum, last.checksum]) as read_file:
        assert read_file(first.path, first.checksum).body == b"1"
        with pytest.raises(TooLarge):
            read_file(large_file.path, large_file.checksum)
        assert read_file(last.path, last.checksum).body == b"3"
    assert read_ahead == [True, False, False]


async def test_git_ends_with_the_reading(
    work_tree: WorkTree, read_checkout: ReadCheckout, read_ahead: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled job ends its git process, however much git has still to send."""
    work_tree.commit({f"{index}.json": f"{index}" * 900_000 for index in range(3)})
    checkout, processes = await read_checkout(), []
    start_reading = command.start_reading

    def start(*arguments: Any) -> "Popen[bytes]":
        processes.append(start_reading(*arguments))
        return processes[-1]

    monkeypatch.setattr(command, "start_reading", start)
    with pytest.raises(asyncio.CancelledError):
        async with checkout.reading([entry.checksum for entry in await checkout.entries()]):
            raise asyncio.CancelledError
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


async def test_every_file_and_directory_is_an_entry(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """The checksum of a file is the name of its blob; hidden directories are listed but not entered."""
    work_tree.commit({"a.json": "{}", "deep/er/b.yaml": "b: 1", ".github/workflows/x.yml": "x", "notes.txt": "n"})
    entries = {entry.path: entry.checksum for entry in await (await read_checkout()).entries()}
    assert set(entries) == {"a.json", "deep/", "deep/er/", "deep/er/b.yaml", ".github/", "notes.txt"}
    assert entries["a.json"] == git(work_tree.folder, "rev-parse", "HEAD:a.json")
    assert entries["deep/"] == ""


async def test_a_file_is_read_from_the_commit(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    work_tree.commit({"ü/a b.json": b'{"title": "\xc3\xbc"}'})
    checkout = await read_checkout()
    file = checkout.open_reader()("ü/a b.json")
    assert file.body == b'{"title": "\xc3\xbc"}'
    assert file.checksum == {entry.path: entry.checksum for entry in await checkout.entries()}["ü/a b.json"]
    for path in ("none.json", "ü", "ü/"):
        with pytest.raises(NotFound):
            checkout.open_reader()(path)


async def test_a_file_is_found_among_names_of_every_order(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A file is found although git sorts directories as if their names ended in a slash. The lookup keeps no reference to the name."""
    names = [*("a", "a.json", "a-b/x", "a0", "a_/x", "b/c/d", "b.c", "b0", "ü/x", "z"), *(f"many/{index}" for index in range(50))]
    work_tree.commit({name: name for name in names})
    checkout = await read_checkout()
    read_file = checkout.open_reader()
    assert [read_file(name).body.decode() for name in names] == names
    for path in ("", "0", "a-b", "b", "b/c", "b/c/e", "many/50", "zz", "a/x"):
        with pytest.raises(NotFound):
            read_file(path)
    repository = pygit2.Repository(str(checkout._mirror_path))
    tree = repository[checkout.commit].peel(pygit2.Tree)
    name = "".join(["a", ".json"])
    # The lookup of pygit2 itself keeps a reference.
    count = sys.getrefcount(name)
    for _ in range(10):
        assert objects.entry_of(repository, tree, name) is not None
    assert sys.getrefcount(name) == count


async def test_only_regular_files_are_read(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Links, submodules, LFS pointers and files that are too large are named with the reason, and the others are read."""
    (work_tree.folder / "link.json").symlink_to("/etc/passwd")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    work_tree.commit({"lfs.json": pointer, "big.json": "x" * 2000, "good.json": "{}"})
    git(work_tree.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(work_tree.folder, "commit", "--quiet", "-m", "module")
    git(work_tree.folder, "push", "--quiet", "origin", "HEAD:main")
    checkout = await read_checkout(max_file_bytes=1000)
    faults = {entry.path: entry.fault for entry in await checkout.entries() if entry.fault}
    assert set(faults) == {"link.json", "module"}
    assert "symbolic link" in faults["link.json"]
    assert "submodule" in faults["module"]
    with pytest.raises(Invalid, match="LFS"):
        checkout.open_reader()("lfs.json")
    with pytest.raises(TooLarge):
        checkout.open_reader()("big.json")
    assert checkout.open_reader()("good.json").body == b"{}"


async def test_names_that_are_not_utf8_are_escaped(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Names that are not UTF-8 are escaped, so that the rules on paths refuse them by name."""
    (work_tree.folder / os.fsdecode(b"\xff.json")).write_text("{}")
    work_tree.push()
    assert [entry.path for entry in await (await read_checkout()).entries()] == ["\\xff.json"]


async def test_too_many_entries_are_refused(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    work_tree.commit({f"{index}.json": "{}" for index in range(11)})
    with pytest.raises(TooLarge, match="DASHWRIGHT_REPOSITORY_FILES"):
        await (await read_checkout(max_entries=10)).entries()


async def test_a_difference_lists_all_changes(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A difference has the changed files and the directories above them. The difference of a commit from itself is empty."""
    old = work_tree.commit(
        {"same.json": "1", "edit.json": "2", "in/gone.json": "3" * 100, "same/move.json": "4" * 1000, "same/a.json": "5"}
    )
    work_tree.commit({"edit.json": "22", "in/gone.json": None, "same/move.json": None, "sub/moved.json": "4" * 1000, ".ci/x/new.json": "6"})
    checkout = await read_checkout()
    difference = await checkout.difference_since(old)
    assert difference is not None
    assert difference.paths == {"edit.json", "in/", "in/gone.json", "same/", "same/move.json", "sub/", "sub/moved.json", ".ci/"}
    entries = {entry.path: entry for entry in await checkout.entries()}
    assert {entry.path: entry for entry in difference.entries} == {path: entries[path] for path in difference.paths & entries.keys()}
    assert difference.paths - entries.keys() == {"in/", "in/gone.json", "same/move.json"}
    # Five files and two directories before.
    assert (difference.base_commit, len(entries) - difference.growth) == (old, 7)
    assert await checkout.difference_since(checkout.commit) == Difference(frozenset(), [], base_commit=checkout.commit)


async def test_a_copy_is_new_and_a_mode_changes_no_bytes(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A copied file is new. A file that became executable is listed with its old checksum."""
    old = work_tree.commit({"a.json": "1" * 1000, "run.json": "2"})
    (work_tree.folder / "run.json").chmod(0o755)
    work_tree.commit({"copy.json": "1" * 1000})
    difference = await (await read_checkout()).difference_since(old)
    assert difference is not None
    entries = {entry.path: entry.checksum for entry in difference.entries}
    assert entries == {
        "copy.json": git(work_tree.folder, "rev-parse", "HEAD:a.json"),
        "run.json": git(work_tree.folder, "rev-parse", f"{old}:run.json"),
    }


async def test_names_that_are_not_utf8_are_escaped_in_a_difference(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Names that are not UTF-8 are escaped in a difference: a deleted file is listed with its directory, which still exists."""
    folder = work_tree.folder / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    (folder / "b.json").write_text("[]")
    old = work_tree.push()
    (folder / "a.json").unlink()
    work_tree.push()
    difference = await (await read_checkout()).difference_since(old)
    assert difference == Difference(frozenset({"\\xff/", "\\xff/a.json"}), [Entry("\\xff/")], -1, old)


async def test_a_directory_in_place_of_a_file_is_a_difference(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A file and a directory that replace each other are both listed. Of a changed hidden directory, only its own path is listed."""
    old = work_tree.commit({"a": "1", "b/c.json": "{}", ".h/x.json": "{}", "same/d.json": "{}"})
    work_tree.commit({"a": None, "b/c.json": None, ".h/x.json": "[]"})
    (work_tree.folder / "b").rmdir()
    work_tree.commit({"a/e.json": "{}", "b": "2"})
    difference = await (await read_checkout()).difference_since(old)
    assert difference is not None
    assert difference.paths == {"a", "a/", "a/e.json", "b", "b/", "b/c.json", ".h/"}
    assert ({entry.path for entry in difference.entries}, difference.growth) == ({"a/", "a/e.json", "b", ".h/"}, 0)


async def test_equal_trees_are_not_read(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Directories that are equal in both commits are not read, so the cost of a difference does not grow with the repository."""
    old = work_tree.commit({"same/a.json": "{}", "b.json": "{}"})
    work_tree.commit({"b.json": "[]"})
    checkout = await read_checkout()
    name = git(work_tree.folder, "rev-parse", "HEAD:same")
    (checkout._mirror_path / "objects" / name[:2] / name[2:]).unlink()
    difference = await checkout.difference_since(old)
    assert difference is not None
    assert difference.paths == {"b.json"}


async def test_a_new_or_removed_link_makes_a_difference_impossible(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A new or removed link may hide or reveal a directory, so all files are examined. A changed link does not, and is listed."""
    old = work_tree.commit({"a.json": "{}"})
    (work_tree.folder / "link").symlink_to("a.json")
    commit_with_link = work_tree.push()
    assert await (await read_checkout()).difference_since(old) is None
    (work_tree.folder / "link").unlink()
    (work_tree.folder / "link").symlink_to("b.json")
    work_tree.push()
    difference = await (await read_checkout()).difference_since(commit_with_link)
    assert difference is not None
    assert [(entry.path, "symbolic link" in entry.fault) for entry in difference.entries] == [("link", True)]


async def test_a_too_large_difference_is_not_returned(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Instead of a too large difference, every file is examined, so that the sync can report the limit."""
    old = work_tree.commit({"a.json": "{}"})
    work_tree.commit({f"{index}.json": "{}" for index in range(11)})
    assert await (await read_checkout(max_entries=10)).difference_since(old) is None


@pytest.mark.parametrize("since", ["0" * 40, "no commit", ""], ids=["unknown", "text", "empty"])
async def test_only_an_ancestor_has_a_difference(work_tree: WorkTree, read_checkout: ReadCheckout, since: str) -> None:
    work_tree.commit({"a.json": "{}"})
    assert await (await read_checkout()).difference_since(since) is None


@pytest.mark.parametrize(
    "missing_object", ["HEAD", "HEAD^{tree}", "HEAD:in", "HEAD:in/a.json"], ids=["commit", "root", "directory", "file"]
)
async def test_a_missing_object_damages_the_mirror(work_tree: WorkTree, read_checkout: ReadCheckout, missing_object: str) -> None:
    """A mirror without an object is damaged, which ends the work with it; the next fetch repairs it even without new commits."""
    work_tree.commit({"in/a.json": "{}", "b.json": "{}"})
    checkout = await read_checkout()
    name = git(work_tree.folder, "rev-parse", missing_object)
    mirror_path = checkout._mirror_path
    (mirror_path / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(MirrorDamaged):
        checkout.open_reader()("in/a.json") if missing_object.endswith(".json") else await checkout.entries()
    repeated = await read_checkout()
    assert len(await repeated.entries()) == 3
    assert repeated.open_reader()("in/a.json").body == b"{}"


async def test_additional_paths_are_in_a_difference(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Additional paths are listed in their current state. If one does not exist, and was not deleted, no difference is returned."""
    old = work_tree.commit({"odd#/a.json": "{}", "b.json": "{", "c.json": "{", "d.json": "{}"})
    work_tree.commit({"c.json": None, "d.json": "{ }"})
    checkout = await read_checkout()
    difference = await checkout.difference_since(old, ["odd#/", "odd#/a.json", "b.json", "c.json"])
    assert difference is not None
    assert difference.paths == {"odd#/", "odd#/a.json", "b.json", "c.json", "d.json"}
    entries = [entry for entry in await checkout.entries() if entry.path != "c.json"]
    assert sorted(difference.entries, key=str) == sorted(entries, key=str)
    assert difference.growth == -1
    assert await checkout.difference_since(checkout.commit, ["c.json"]) is None
    assert await checkout.difference_since(checkout.commit, ["b.json/"]) is None


@pytest.mark.parametrize("name", [".keep", "a.json"])
async def test_a_tree_in_millions_of_places_is_bounded(work_tree: WorkTree, read_checkout: ReadCheckout, name: str) -> None:
    """A repository of a few hundred bytes may have more paths than fit into memory. Its entries are refused, and it has no difference."""
    before = work_tree.commit({"z.json": "{}"})
    tree = git(work_tree.folder, "mktree", stdin=f"100644 blob {git(work_tree.folder, 'hash-object', '-w', '--stdin', stdin='')}\t{name}")
    # 30 directories in each directory, on six levels.
    for _ in range(6):
        tree = git(work_tree.folder, "mktree", stdin="\n".join(f"040000 tree {tree}\td{index}" for index in range(30)))
    commit = git(work_tree.folder, "commit-tree", "-p", before, "-m", "commit", tree)
    git(work_tree.folder, "push", "--quiet", "origin", f"{commit}:refs/heads/main")
    checkout = await read_checkout(max_entries=100)
    async with asyncio.timeout(20):
        assert await checkout.difference_since(before) is None
        with pytest.raises(TooLarge):
            await checkout.entries()


@pytest.mark.parametrize("directory", ["", "deep/"], ids=["root", "directory"])
async def test_a_directory_too_large_to_be_loaded_is_refused(
    work_tree: WorkTree, read_checkout: ReadCheckout, monkeypatch: pytest.MonkeyPatch, directory: str
) -> None:
    """A directory that is too large is refused before it is loaded, because few bytes may unpack to any number.

    Lists of entries, differences and reads of single files refuse it.
    """
    base = work_tree.commit({"a.json": "{}"})
    await read_checkout()
    # 20 entries of 93 bytes.
    work_tree.commit({f"{directory}{index:060}.json": "{}" for index in range(20)})
    monkeypatch.setattr(objects, "MAX_OBJECT_BYTES", 1000)
    checkout = await read_checkout()
    with pytest.raises(TooLarge, match="a directory of 18"):
        await checkout.entries()
    with pytest.raises(TooLarge, match="a directory of 18"):
        await checkout.difference_since(base)
    with pytest.raises(TooLarge, match="a directory of 18"):
        checkout.open_reader()(f"{directory}{0:060}.json")


async def test_a_commit_too_large_to_be_loaded_is_refused(
    work_tree: WorkTree, read_checkout: ReadCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_tree.commit({"a.json": "{}"}, message="x" * 2000)
    monkeypatch.setattr(objects, "MAX_OBJECT_BYTES", 1000)
    with pytest.raises(TooLarge, match="a commit of 2"):
        await read_checkout()


async def test_a_checkout_may_be_limited_to_a_directory(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Paths are relative to the directory, and the limits are those of the directory."""
    files_outside = {f"{index}.json": "{" for index in range(20)}
    work_tree.commit(
        {**files_outside, "deploy/boards/a.json": "{}", "deploy/boards/in/b.yaml": "b: 1", "deploy/boards.json": "{", "boards/c.json": "{"}
    )
    checkout = await read_checkout("deploy/boards", max_entries=3, must_exist=True)
    assert {entry.path for entry in await checkout.entries()} == {"a.json", "in/", "in/b.yaml"}
    assert checkout.open_reader()("in/b.yaml").body == b"b: 1"
    for path in ("deploy/boards/a.json", "../boards.json", "0.json"):
        with pytest.raises(NotFound):
            checkout.open_reader()(path)


async def test_changes_outside_the_directory_are_ignored(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Changes outside the directory, also of links and submodules, are ignored."""
    old = work_tree.commit({"x/a.json": "1", "b.json": "2", "xy/c.json": "3"})
    (work_tree.folder / "link").symlink_to("b.json")
    work_tree.commit({"b.json": None, "xy/c.json": "{", "d/x/e.json": "4", **{f"n{index}": "" for index in range(50)}})
    assert await (await read_checkout("x", max_entries=5)).difference_since(old) == Difference(frozenset(), [], base_commit=old)
    work_tree.commit({"x/a.json": None, "x/in/f.json": "5", "g.json": "6"})
    difference = await (await read_checkout("x")).difference_since(old, ["in/f.json"])
    assert difference is not None
    assert difference.paths == {"a.json", "in/", "in/f.json"}
    assert {entry.path for entry in difference.entries} == {"in/", "in/f.json"}


async def test_a_missing_directory_is_empty(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A missing directory is empty until it has files; if it must exist, its absence is an error."""
    old = work_tree.commit({"a.json": "{}"})
    assert await (await read_checkout("x/y")).entries() == []
    new = work_tree.commit({"x/y/a.json": "{}"})
    added_entry = Entry("a.json", git(work_tree.folder, "rev-parse", "HEAD:x/y/a.json"))
    assert await (await read_checkout("x/y", must_exist=True)).difference_since(old) == Difference(
        frozenset({"a.json"}), [added_entry], 1, old
    )
    work_tree.commit({"x/y/a.json": None})
    difference = await (await read_checkout("x/y")).difference_since(new)
    assert difference == Difference(frozenset({"a.json"}), [], -1, new)
    empty_checkout = await read_checkout("x/y", must_exist=True)
    for reading in (empty_checkout.entries(), empty_checkout.difference_since(new)):
        with pytest.raises(Conflict, match="no directory 'x/y' at commit"):
            await reading
    with pytest.raises(Conflict):
        empty_checkout.open_reader()


async def test_a_path_that_is_not_a_directory_is_refused(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """A file or a link is not treated as an empty directory."""
    (work_tree.folder / "link").symlink_to("real")
    work_tree.commit({"real/a.json": "{}", "file": "x"})
    for path in ("file", "link", "file/below"):
        with pytest.raises(BadRequest, match=r"^the path .* of the repository contains"):
            await (await read_checkout(path)).entries()


async def test_sizes_are_returned_on_request(work_tree: WorkTree, read_checkout: ReadCheckout) -> None:
    """Sizes are in bytes, and 0 for directories and links. A mirror that lacks a file is damaged."""
    (work_tree.folder / "link").symlink_to("a.json")
    work_tree.commit({"x/a.json": "{}", "x/empty.json": "", "x/big.md": "ü" * 1000})
    checkout = await read_checkout("x")
    entries = await checkout.entries()
    assert {entry.size for entry in entries} == {0}
    assert {entry.path: entry.size for entry in await checkout.with_sizes(entries)} == {"a.json": 2, "big.md": 2000, "empty.json": 0}
    complete = await read_checkout()
    assert {entry.path: entry.size for entry in await complete.with_sizes(await complete.entries())} == {
        "link": 0, "x/": 0, "x/a.json": 2, "x/big.md": 2000, "x/empty.json": 0,
    }  # fmt: skip
    name = git(work_tree.folder, "rev-parse", "HEAD:x/a.json")
    (checkout._mirror_path / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(MirrorDamaged):
        await checkout.with_sizes(entries)
