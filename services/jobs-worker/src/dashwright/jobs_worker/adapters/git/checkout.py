"""The files of one commit, read from a bare copy."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import pygit2
from pygit2.enums import DiffOption, FileMode

from dashwright.common.errors import Invalid, NotFound, SourceFailed, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.git.mirrors import Commit
from dashwright.jobs_worker.domain.objects import Difference, Entry, File
from dashwright.jobs_worker.domain.resource import LARGEST_FILE, check_size

MOST_ENTRIES: Final = 50_000

_LFS: Final = b"version https://git-lfs.github.com/spec/"
_SPECIAL: Final = {
    FileMode.LINK: "a symbolic link is not followed: put the file itself there",
    FileMode.COMMIT: "a submodule is not entered: its files would have to lie in this repository",
}


class GitCheckout:
    """``most_entries`` bounds files and directories together, ``largest`` the bytes of a file that is read."""

    def __init__(self, commit: Commit, *, most_entries: int = MOST_ENTRIES, largest: int = LARGEST_FILE) -> None:
        self._commit = commit.sha
        self._place = str(commit.place)
        self._most_entries = most_entries
        self._largest = largest

    @property
    def commit(self) -> str:
        return self._commit

    async def entries(self) -> Sequence[Entry]:
        """Raises TooLarge, and SourceFailed where the copy is damaged."""
        return await asyncio.to_thread(self._entries)

    async def read(self, path: str) -> File:
        """Raises NotFound, TooLarge or Invalid for a fault of this file, and SourceFailed where the copy is damaged."""
        return await asyncio.to_thread(self._read, path)

    async def changed(self, since: str) -> Difference | None:
        """None where that commit is not known here (its branch was rewritten), is no ancestor, or differs by very much.

        None also where a link or submodule came or went: it may stand for a directory, and what is stored from below that is not told here.
        """
        return await asyncio.to_thread(self._changed, since)

    def _entries(self) -> list[Entry]:
        try:
            found: list[Entry] = []
            for entry in _walk(self._root()):
                found.append(entry)
                if len(found) > self._most_entries:
                    raise TooLarge(
                        f"the repository holds more than {self._most_entries} files and directories: split it or raise "
                        "DASHWRIGHT_REPOSITORY_FILES"
                    )
        except pygit2.GitError as error:
            raise _damaged(error) from error
        return found

    def _read(self, path: str) -> File:
        try:
            repository = pygit2.Repository(self._place)
            found = repository[self._commit].peel(pygit2.Tree)[path]
            if not isinstance(found, pygit2.Blob):
                raise NotFound(f"{path} is no file at this commit")
            # Its own size would be told only once it is unpacked whole.
            check_size(repository.odb.read_header(found.id)[1], self._largest)
            body = found.data
        except KeyError as error:
            raise NotFound(f"file not found: {path}") from error
        except pygit2.GitError as error:
            raise _damaged(error) from error
        if body.startswith(_LFS):
            raise Invalid("a pointer of Git LFS, not the file itself: keep dashboards in git proper")
        return File(body, str(found.id))

    def _changed(self, since: str) -> Difference | None:
        repository = pygit2.Repository(self._place)
        try:
            old = repository.get(since)
            if not isinstance(old, pygit2.Commit) or (since != self._commit and not repository.descendant_of(self._commit, since)):
                return None
            difference = repository.diff(since, self._commit, flags=DiffOption.SKIP_BINARY_CHECK)
            assert isinstance(difference, pygit2.Diff)
            gone, new = _files(delta.old_file for delta in difference.deltas), _files(delta.new_file for delta in difference.deltas)
            if len(new) > self._most_entries or _special(gone) != _special(new):
                return None
            return _difference(self._root(), gone, new)
        except ValueError:
            return None
        except pygit2.GitError as error:
            raise _damaged(error) from error

    def _root(self) -> pygit2.Tree:
        return pygit2.Repository(self._place)[self._commit].peel(pygit2.Tree)


def _walk(tree: pygit2.Tree, above: str = "") -> Iterator[Entry]:
    """Hidden directories are named but not entered, and neither are those too deep for any file in them."""
    for item in tree:
        path = above + _printable(item.raw_name)
        if isinstance(item, pygit2.Tree):
            yield Entry(path + "/")
            if _is_entered(path + "/"):
                yield from _walk(item, path + "/")
        else:
            yield _entry(path, item.filemode, item.id)


def _is_entered(directory: str) -> bool:
    return not paths.is_hidden(directory) and directory.count("/") < paths.DEEPEST_PATH


def _entry(path: str, mode: int, blob: pygit2.Oid) -> Entry:
    fault = _SPECIAL.get(FileMode(mode), "")
    return Entry(path, fault=fault) if fault else Entry(path, str(blob))


def _files(sides: Iterable[pygit2.DiffFile]) -> Mapping[bytes, pygit2.DiffFile]:
    """One side of a difference by path, without the files that are not there."""
    return {side.raw_path: side for side in sides if side.mode}


def _special(files: Mapping[bytes, pygit2.DiffFile]) -> AbstractSet[bytes]:
    return {path for path, file in files.items() if FileMode(file.mode) in _SPECIAL}


def _difference(tree: pygit2.Tree, gone: Iterable[bytes], new: Mapping[bytes, pygit2.DiffFile]) -> Difference:
    touched = {path for raw in (*gone, *new) for path in _reached(raw)}
    entries = [_entry(_printable(raw), file.mode, file.id) for raw, file in new.items() if raw in touched]
    entries += [Entry(_printable(raw)) for raw in touched if raw.endswith(b"/") and _is_directory(tree, raw)]
    return Difference(frozenset(map(_printable, touched)), entries)


def _reached(raw: bytes) -> Iterator[bytes]:
    """The directories on the way to a file, from the top, and the file: as far as a walk through the tree goes."""
    end = raw.find(b"/")
    while end >= 0:
        yield raw[: end + 1]
        if not _is_entered(_printable(raw[: end + 1])):
            return
        end = raw.find(b"/", end + 1)
    yield raw


def _is_directory(tree: pygit2.Tree, raw: bytes) -> bool:
    try:
        return isinstance(tree[os.fsdecode(raw.rstrip(b"/"))], pygit2.Tree)
    except KeyError:
        return False


def _printable(raw: bytes | None) -> str:
    """A name that is no UTF-8 is shown with its bytes escaped, and refused by the rules of paths."""
    return (raw or b"").decode(errors="backslashreplace")


def _damaged(error: pygit2.GitError) -> SourceFailed:
    return SourceFailed(f"git failed: corrupt copy: {error}")
