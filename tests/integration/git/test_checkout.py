"""One commit as a sync reads it, and what lies between two."""

import os
from collections.abc import Awaitable, Callable

import pytest
from tests.integration.git.conftest import Ask
from tests.servers.git import GitServer, Work, git

from dashwright.common.errors import Invalid, NotFound, TooLarge
from dashwright.jobs_worker.adapters.git.checkout import GitCheckout
from dashwright.jobs_worker.adapters.git.mirrors import Mirrors
from dashwright.jobs_worker.domain.objects import Difference, Entry

Read = Callable[..., Awaitable[GitCheckout]]


@pytest.fixture
def work(server: GitServer) -> Work:
    return server.make("r.git")


@pytest.fixture
def read(mirrors: Mirrors, ask: Ask) -> Read:
    async def read(**bounds: int) -> GitCheckout:
        commit = await mirrors.fetch("uid", ask("r.git"), "main")
        assert commit is not None
        return GitCheckout(commit, **bounds)

    return read


async def test_every_file_and_directory_is_an_entry(work: Work, read: Read) -> None:
    """With the blob's name as the checksum; hidden directories are named, not entered."""
    work.commit({"a.json": "{}", "deep/er/b.yaml": "b: 1", ".github/workflows/x.yml": "x", "notes.txt": "n"})
    entries = {entry.path: entry.checksum for entry in await (await read()).entries()}
    assert set(entries) == {"a.json", "deep/", "deep/er/", "deep/er/b.yaml", ".github/", "notes.txt"}
    assert entries["a.json"] == git(work.folder, "rev-parse", "HEAD:a.json")
    assert entries["deep/"] == ""


async def test_a_file_is_read_as_it_is_in_the_commit(work: Work, read: Read) -> None:
    work.commit({"ü/a b.json": b'{"title": "\xc3\xbc"}'})
    checkout = await read()
    file = await checkout.read("ü/a b.json")
    assert file.body == b'{"title": "\xc3\xbc"}'
    assert file.checksum == {entry.path: entry.checksum for entry in await checkout.entries()}["ü/a b.json"]
    for path in ("none.json", "ü", "ü/"):
        with pytest.raises(NotFound):
            await checkout.read(path)


async def test_what_is_no_file_is_refused_by_itself(work: Work, read: Read) -> None:
    """Links, submodules, pointers of LFS, files too large: each says what it is, and the others are read."""
    (work.folder / "link.json").symlink_to("/etc/passwd")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    work.commit({"lfs.json": pointer, "big.json": "x" * 2000, "good.json": "{}"})
    git(work.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(work.folder, "commit", "--quiet", "-m", "module")
    git(work.folder, "push", "--quiet", "origin", "HEAD:main")
    checkout = await read(largest=1000)
    faults = {entry.path: entry.fault for entry in await checkout.entries() if entry.fault}
    assert set(faults) == {"link.json", "module"}
    assert "symbolic link" in faults["link.json"]
    assert "submodule" in faults["module"]
    with pytest.raises(Invalid, match="LFS"):
        await checkout.read("lfs.json")
    with pytest.raises(TooLarge):
        await checkout.read("big.json")
    assert (await checkout.read("good.json")).body == b"{}"


async def test_names_that_are_no_text_are_shown_escaped(work: Work, read: Read) -> None:
    """So that the rules of paths refuse them by name."""
    (work.folder / os.fsdecode(b"\xff.json")).write_text("{}")
    work.push()
    assert [entry.path for entry in await (await read()).entries()] == ["\\xff.json"]


async def test_too_many_entries_are_refused(work: Work, read: Read) -> None:
    work.commit({f"{number}.json": "{}" for number in range(11)})
    with pytest.raises(TooLarge, match="DASHWRIGHT_REPOSITORY_FILES"):
        await (await read(most_entries=10)).entries()


async def test_what_changed_since_a_commit(work: Work, read: Read) -> None:
    """Added, changed, moved and removed files, and the directories above them as far as they are there; nothing from a commit to itself."""
    old = work.commit({"same.json": "1", "edit.json": "2", "in/gone.json": "3" * 100, "same/move.json": "4" * 1000, "same/a.json": "5"})
    work.commit({"edit.json": "22", "in/gone.json": None, "same/move.json": None, "sub/moved.json": "4" * 1000, ".ci/x/new.json": "6"})
    checkout = await read()
    found = await checkout.changed(old)
    assert found is not None
    assert found.paths == {"edit.json", "in/", "in/gone.json", "same/", "same/move.json", "sub/", "sub/moved.json", ".ci/"}
    entries = {entry.path: entry for entry in await checkout.entries()}
    assert {entry.path: entry for entry in found.entries} == {path: entries[path] for path in found.paths & entries.keys()}
    assert found.paths - entries.keys() == {"in/", "in/gone.json", "same/move.json"}
    assert await checkout.changed(checkout.commit) == Difference(frozenset(), [])


async def test_names_that_are_no_text_differ_like_others(work: Work, read: Read) -> None:
    """Shown escaped, with the directory that they leave behind."""
    place = work.folder / os.fsdecode(b"\xff")
    place.mkdir()
    (place / "a.json").write_text("{}")
    (place / "b.json").write_text("[]")
    old = work.push()
    (place / "a.json").unlink()
    work.push()
    found = await (await read()).changed(old)
    assert found == Difference(frozenset({"\\xff/", "\\xff/a.json"}), [Entry("\\xff/")])


async def test_a_link_that_comes_or_goes_is_no_difference(work: Work, read: Read) -> None:
    """It may hide a directory, so that everything is to be looked at; one that was there before hides nothing new."""
    old = work.commit({"a.json": "{}"})
    (work.folder / "link").symlink_to("a.json")
    linked = work.push()
    assert await (await read()).changed(old) is None
    (work.folder / "link").unlink()
    (work.folder / "link").symlink_to("b.json")
    work.push()
    found = await (await read()).changed(linked)
    assert found is not None
    assert [(entry.path, "symbolic link" in entry.fault) for entry in found.entries] == [("link", True)]


async def test_too_large_a_difference_is_none(work: Work, read: Read) -> None:
    """Then the whole is looked at, and tells what is too large."""
    old = work.commit({"a.json": "{}"})
    work.commit({f"{number}.json": "{}" for number in range(11)})
    assert await (await read(most_entries=10)).changed(old) is None


@pytest.mark.parametrize("since", ["0" * 40, "no commit", ""], ids=["unknown", "text", "empty"])
async def test_what_is_no_earlier_commit_has_no_difference(work: Work, read: Read, since: str) -> None:
    work.commit({"a.json": "{}"})
    assert await (await read()).changed(since) is None
