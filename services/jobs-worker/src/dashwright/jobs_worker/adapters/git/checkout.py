"""The files of one commit, read from a bare copy."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pygit2
from pygit2.enums import DeltaStatus, DiffOption, FileMode

from dashwright.common.errors import Invalid, NotFound, SourceFailed, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.git.mirrors import Commit
from dashwright.jobs_worker.domain.objects import Entry, File
from dashwright.jobs_worker.domain.resource import LARGEST_FILE, check_size

MOST_ENTRIES: Final = 50_000

_LFS: Final = b"version https://git-lfs.github.com/spec/"
_SPECIAL: Final = {
    FileMode.LINK: "a symbolic link is not followed: put the file itself there",
    FileMode.COMMIT: "a submodule is not entered: its files would have to lie in this repository",
}


@dataclass(frozen=True, slots=True)
class Touched:
    """A path that two commits differ in; ``was`` is where a renamed file lay before. Of a removed one ``is_gone``."""

    path: str
    is_gone: bool = False
    was: str = ""


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

    async def changed(self, since: str) -> Sequence[Touched] | None:
        """What differs from an earlier commit; None where that one is not known here (its branch was rewritten) or no ancestor."""
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

    def _changed(self, since: str) -> list[Touched] | None:
        repository = pygit2.Repository(self._place)
        try:
            old = repository.get(since)
            if not isinstance(old, pygit2.Commit) or (since != self._commit and not repository.descendant_of(self._commit, since)):
                return None
            difference = repository.diff(since, self._commit, flags=DiffOption.SKIP_BINARY_CHECK)
            assert isinstance(difference, pygit2.Diff)
            difference.find_similar()
            return sorted((touched for delta in difference.deltas for touched in _touched(delta)), key=lambda touched: touched.path)
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
        if special := _SPECIAL.get(FileMode(item.filemode)):
            yield Entry(path, fault=special)
        elif isinstance(item, pygit2.Tree):
            yield Entry(path + "/")
            if not paths.is_hidden(path + "/") and path.count("/") + 1 < paths.DEEPEST_PATH:
                yield from _walk(item, path + "/")
        else:
            yield Entry(path, str(item.id))


def _touched(delta: pygit2.DiffDelta) -> Iterator[Touched]:
    new, old = _printable(delta.new_file.raw_path), _printable(delta.old_file.raw_path)
    if delta.status == DeltaStatus.DELETED:
        yield Touched(old, is_gone=True)
    elif delta.status == DeltaStatus.RENAMED:
        yield Touched(new, was=old)
        yield Touched(old, is_gone=True)
    else:
        yield Touched(new)


def _printable(raw: bytes | None) -> str:
    """A name that is no UTF-8 is shown with its bytes escaped, and refused by the rules of paths."""
    return (raw or b"").decode(errors="backslashreplace")


def _damaged(error: pygit2.GitError) -> SourceFailed:
    return SourceFailed(f"git failed: corrupt copy: {error}")
