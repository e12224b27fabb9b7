"""The files of one commit, read from a bare copy."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Final

import pygit2
from pygit2.enums import FileMode

from dashwright.common.errors import Conflict, Invalid, NotFound, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit, damaged
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE, check_size
from dashwright.jobs_worker.domain.objects import Difference, Entry, File, LastChange

MOST_ENTRIES: Final = 50_000

_LFS: Final = b"version https://git-lfs.github.com/spec/"
_SPECIAL: Final = {
    FileMode.LINK: "a symbolic link is not followed: put the file itself there",
    FileMode.COMMIT: "a submodule is not entered: keep its files in this repository",
}


class GitCheckout:
    """The files below ``directory`` (empty: all), with paths relative to it.

    If the commit has no such directory there are no files; with ``must_exist`` every method raises Conflict then. ``most_entries`` limits
    files and directories together, ``largest`` the bytes of a file that is read. ``last_changes`` is a cache that outlives the checkout.
    """

    def __init__(
        self,
        commit: Commit,
        directory: str = "",
        *,
        must_exist: bool = False,
        last_changes: LastChanges | None = None,
        most_entries: int = MOST_ENTRIES,
        largest: int = LARGEST_FILE,
    ) -> None:
        self._commit = commit.sha
        self._place = commit.place
        self._directory = directory
        self._must_exist = must_exist
        self._most_entries = most_entries
        self._largest = largest
        self._last_changes = last_changes or LastChanges()

    @property
    def commit(self) -> str:
        """The hash of the commit."""
        return self._commit

    async def entries(self) -> Sequence[Entry]:
        """Return all entries. Raises TooLarge, and CopyDamaged if the copy is damaged."""
        return await asyncio.to_thread(self._entries)

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries with sizes, which takes about 5 µs a file. Raises CopyDamaged if the copy is damaged."""
        return await asyncio.to_thread(self._with_sizes, entries)

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the known last changes by path."""
        whole = {os.path.join(self._directory, path): path for path in paths}  # noqa: PTH118 - paths of git, thousands of them
        found = await self._last_changes.of(Commit(self._place, self._commit), whole) if whole else {}
        return {whole[path]: change for path, change in found.items()}

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path.

        It raises NotFound, TooLarge or Invalid for a fault of a file, and CopyDamaged if the copy is damaged.
        """
        try:
            repository = pygit2.Repository(str(self._place))
            tree = self._root(repository)
        except pygit2.GitError as error:
            raise damaged(self._place, error) from error
        # Files come directory by directory: a directory is looked up once.
        directory = lru_cache(maxsize=1)(partial(objects.at, repository, tree))
        return lambda path: self._read(repository, directory, path)

    async def difference_since(self, since: str, also: Collection[str] = ()) -> Difference | None:
        """Return the difference from an earlier commit.

        None if that commit is unknown here (the branch was rewritten), is not an ancestor, or differs by more than the limit.

        Also None if a symlink or submodule was added or removed: it may replace a directory, whose stored objects the difference does not
        cover. And if a path of ``also`` is not found although it was not deleted: its name is not UTF-8.
        """
        is_after = await Commit(self._place, self._commit).descends_from(since)
        return await asyncio.to_thread(self._difference_since, since, also) if is_after else None

    def _entries(self) -> list[Entry]:
        try:
            found: list[Entry] = []
            repository = pygit2.Repository(str(self._place))
            for entry in _walk(repository, self._root(repository)):
                found.append(entry)
                if len(found) > self._most_entries:
                    raise TooLarge(
                        f"the repository holds more than {self._most_entries} files and directories: split it or raise "
                        "DASHWRIGHT_REPOSITORY_FILES"
                    )
        except (pygit2.GitError, KeyError) as error:
            raise damaged(self._place, error) from error
        return found

    def _with_sizes(self, entries: Sequence[Entry]) -> list[Entry]:
        try:
            header = pygit2.Repository(str(self._place)).odb.read_header
            return [replace(entry, size=header(pygit2.Oid(hex=entry.checksum))[1]) if entry.checksum else entry for entry in entries]
        except (pygit2.GitError, KeyError) as error:
            raise damaged(self._place, error) from error

    def _read(self, repository: pygit2.Repository, directory: Callable[[str], pygit2.Object | None], path: str) -> File:
        above, _, name = path.rpartition("/")
        try:
            found = objects.inside(repository, directory(above), name)
            if not isinstance(found, pygit2.Blob):
                raise NotFound(f"file not found: {path}")
            # By its header: the blob's own size is known only after it is unpacked.
            check_size(repository.odb.read_header(found.id)[1], self._largest)
            body = found.data
        except (pygit2.GitError, KeyError) as error:
            raise damaged(self._place, error) from error
        if body.startswith(_LFS):
            raise Invalid("a pointer of Git LFS, not the file itself: store dashboards in git without LFS")
        return File(body, str(found.id))

    def _difference_since(self, since: str, also: Collection[str]) -> Difference | None:
        try:
            repository = pygit2.Repository(str(self._place))
            old = objects.commit_of(repository, since)
            if old is None:
                return None
            before, root = objects.tree_of(repository, old, self._directory), self._root(repository)
            most = 2 * self._most_entries
            differing = list(islice(_differing(repository, before, root), most + 1))
            gone, new = ({path: sides[side] for path, *sides in differing if sides[side]} for side in (0, 1))
            if len(differing) > most or len(new) > self._most_entries or _special(gone) != _special(new):
                return None
            return _difference(repository, since, before, root, [path for path, *_ in differing], also)
        except (pygit2.GitError, KeyError) as error:
            raise damaged(self._place, error) from error

    def _root(self, repository: pygit2.Repository) -> pygit2.Tree:
        found = objects.commit_of(repository, self._commit)
        if found is None:
            raise damaged(self._place, KeyError(self._commit))
        tree = objects.tree_of(repository, found, self._directory)
        if self._must_exist and self._directory and tree.id == objects.EMPTY:
            raise Conflict(
                f"there is no directory {self._directory!r} at commit {self._commit[:10]}, so the stored objects of this repository are "
                "kept; correct spec.githost.path, or restore the directory, with a .keep in it if nothing is to be stored"
            )
        return tree


def _walk(repository: pygit2.Repository, tree: pygit2.Tree, above: str = "") -> Iterator[Entry]:
    """Yield the entries below a tree; hidden and very deep directories are named but not entered."""
    objects.check(repository, tree.id)
    for item in tree:
        path = above + _printable(item.raw_name)
        if isinstance(item, pygit2.Tree):
            yield Entry(path + "/")
            if _is_entered(path + "/"):
                yield from _walk(repository, item, path + "/")
        else:
            yield _entry(path, item.filemode, item.id)


def _is_entered(directory: str) -> bool:
    return not paths.is_hidden(directory) and directory.count("/") < paths.DEEPEST_WALK


def _entry(path: str, mode: int, blob: pygit2.Oid) -> Entry:
    fault = _SPECIAL.get(FileMode(mode), "")
    return Entry(path, fault=fault) if fault else Entry(path, str(blob))


def _differing(
    repository: pygit2.Repository, before: pygit2.Tree | None, after: pygit2.Tree | None, above: bytes = b""
) -> Iterator[tuple[bytes, int, int]]:
    """Yield paths that differ between two trees with both modes, 0 if missing, as deep as a walk enters.

    Directories on the way are yielded as well, so a caller that takes a few items costs only those: libgit2 finds all differences before it
    returns one, and a small repository may have more of them than fit into memory.
    """
    for tree in (before, after):
        if tree is not None:
            objects.check(repository, tree.id)
    old, new = ({item.raw_name or b"": item for item in tree or ()} for tree in (before, after))
    for name in old.keys() | new.keys():
        sides = [old.get(name), new.get(name)]
        modes = [0 if item is None else int(item.filemode or 0) for item in sides]
        if sides[0] is not None and sides[1] is not None and sides[0].id == sides[1].id and modes[0] == modes[1]:
            continue
        directories = [item if isinstance(item, pygit2.Tree) else None for item in sides]
        files = [0 if directory is not None else mode for directory, mode in zip(directories, modes, strict=True)]
        if any(files):
            yield above + name, files[0], files[1]
        if any(directories):
            path = above + name + b"/"
            yield path, 0, 0
            if _is_entered(_printable(path)):
                yield from _differing(repository, directories[0], directories[1], path)


def _special(files: Mapping[bytes, int]) -> AbstractSet[bytes]:
    return {path for path, mode in files.items() if FileMode(mode) in _SPECIAL}


def _difference(
    repository: pygit2.Repository, since: str, before: pygit2.Tree, tree: pygit2.Tree, changed: Iterable[bytes], also: Iterable[str]
) -> Difference | None:
    differing = {path for raw in changed for path in _reached(raw)}
    wanted = {path.encode() for path in also}
    touched = differing | {path for raw in wanted for path in _reached(raw)}
    found = {raw: item for raw in touched if (item := _item(repository, tree, raw)) is not None}
    if not wanted <= found.keys() | differing:
        return None
    growth = sum((raw in found) - (_item(repository, before, raw) is not None) for raw in differing)
    entries = [_found(_printable(raw), item) for raw, item in found.items()]
    return Difference(frozenset(map(_printable, touched)), entries, growth, since)


def _found(path: str, item: pygit2.Object) -> Entry:
    if isinstance(item, pygit2.Tree):
        return Entry(path)
    assert item.filemode is not None, "it was found in a tree"
    return _entry(path, item.filemode, item.id)


def _reached(raw: bytes) -> Iterator[bytes]:
    """Yield the directories above a file from the top, and the file, as deep as a walk enters."""
    end = raw.find(b"/")
    while end >= 0:
        yield raw[: end + 1]
        if not _is_entered(_printable(raw[: end + 1])):
            return
        end = raw.find(b"/", end + 1)
    yield raw


def _item(repository: pygit2.Repository, tree: pygit2.Tree, raw: bytes) -> pygit2.Object | None:
    """Return the object at a path if it is what the path says: a directory or not."""
    item = objects.at(repository, tree, os.fsdecode(raw.rstrip(b"/")))
    return item if isinstance(item, pygit2.Tree) == raw.endswith(b"/") else None


def _printable(raw: bytes | None) -> str:
    """Return a name as text. Bytes that are not UTF-8 are escaped, and the rules on paths refuse the result."""
    return (raw or b"").decode(errors="backslashreplace")
