"""The files of one commit, read from a mirror."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Final, NamedTuple

import pygit2
from pygit2.enums import FileMode

from dashwright.common.errors import Conflict, Invalid, NotFound, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.adapters.git import objects
from dashwright.jobs_worker.adapters.git.damage import mark_damaged
from dashwright.jobs_worker.adapters.git.last_changes import LastChanges
from dashwright.jobs_worker.adapters.git.mirrors import Commit
from dashwright.jobs_worker.adapters.git.read_ahead import BlobsAhead
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES, check_size
from dashwright.jobs_worker.domain.objects import SHORT_HASH_DIGITS, Difference, Entry, File, LastChange

MAX_ENTRIES: Final = 50_000
"""Default limit on files and directories together."""

_MIN_FILES_AHEAD: Final = 200
"""Minimum number of files for which reading ahead saves more time than starting git takes."""

_LFS_HEADER: Final = b"version https://git-lfs.github.com/spec/"
"""Beginning of the text file that Git LFS stores in place of a large file."""

_SPECIAL_MODES: Final = {
    FileMode.LINK: "a symbolic link is not followed: put the file itself there",
    FileMode.COMMIT: "a submodule is not entered: keep its files in this repository",
}


class GitCheckout:
    """The files below ``directory`` (empty: all), with paths relative to it.

    If the commit has no such directory, there are no files; with ``must_exist`` every method then raises Conflict instead. ``max_entries``
    limits files and directories together, ``max_file_bytes`` one file. ``last_changes`` is a cache that several checkouts share.
    """

    def __init__(
        self,
        commit: Commit,
        directory: str = "",
        *,
        must_exist: bool = False,
        last_changes: LastChanges | None = None,
        max_entries: int = MAX_ENTRIES,
        max_file_bytes: int = MAX_FILE_BYTES,
    ) -> None:
        self._commit = commit.sha
        self._mirror_path = commit.mirror_path
        self._directory = directory
        self._must_exist = must_exist
        self._max_entries = max_entries
        self._max_file_bytes = max_file_bytes
        self._last_changes = last_changes or LastChanges()

    @property
    def commit(self) -> str:
        """The hash of the commit."""
        return self._commit

    async def entries(self) -> Sequence[Entry]:
        """Return all entries. Raises TooLarge, and MirrorDamaged if the mirror is damaged."""
        return await asyncio.to_thread(self._entries)

    async def entries_at(self, paths: Collection[str]) -> Sequence[Entry]:
        """Return the existing files among ``paths``. Raises MirrorDamaged if the mirror is damaged."""
        return await asyncio.to_thread(self._entries_at, paths) if paths else ()

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the entries with sizes, which takes about 5 µs a file. Raises MirrorDamaged if the mirror is damaged."""
        return await asyncio.to_thread(self._with_sizes, entries)

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the known last changes by path."""
        paths_in_repository = {os.path.join(self._directory, path): path for path in paths}  # noqa: PTH118 - paths of git, thousands of them
        changes = await self._last_changes.get(Commit(self._mirror_path, self._commit), paths_in_repository) if paths_in_repository else {}
        return {paths_in_repository[path]: change for path, change in changes.items()}

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path.

        It raises NotFound, TooLarge or Invalid for a fault of a file, and MirrorDamaged if the mirror is damaged.
        """
        try:
            repository = pygit2.Repository(str(self._mirror_path))
            tree = self._root(repository)
        except pygit2.GitError as error:
            raise mark_damaged(self._mirror_path, error) from error
        # Files are read directory by directory, so a cache of one directory looks up each only once.
        directory_at = lru_cache(maxsize=1)(partial(objects.object_at, repository, tree))
        return lambda path: self._read(repository, directory_at, path)

    @asynccontextmanager
    async def reading(self, checksums: Sequence[str]) -> AsyncIterator[Callable[[str, str], File]]:
        """Yield a function that reads a file by the path and checksum of its entry.

        Many files are read ahead, in the order of ``checksums``. A file that was not read ahead is read like by ``open_reader``.
        """
        read = await asyncio.to_thread(self.open_reader)
        with ExitStack() as opened:
            blobs = await asyncio.to_thread(self._blobs_ahead, checksums, opened) if len(checksums) >= _MIN_FILES_AHEAD else None

            def read_entry(path: str, checksum: str) -> File:
                body = blobs.read(checksum) if blobs is not None else None
                return read(path) if body is None else _file(body, checksum)

            yield read_entry

    def _blobs_ahead(self, checksums: Sequence[str], opened: ExitStack) -> BlobsAhead | None:
        """Start to read ahead, and return None if git cannot be started."""
        try:
            return opened.enter_context(BlobsAhead.start(self._mirror_path, checksums, self._max_file_bytes))
        except OSError:
            return None

    async def difference_since(self, base_commit: str, extra_paths: Collection[str] = ()) -> Difference | None:
        """Return the difference from an earlier commit.

        Returns None if

        - ``base_commit`` is unknown here (the branch was rewritten), is not an ancestor, or differs in more files than the limit;
        - a symlink or submodule was added or removed: it may replace a directory, whose stored objects the difference does not contain;
        - one of ``extra_paths`` is neither found nor among the deleted files: its name is not UTF-8.
        """
        is_descendant = await Commit(self._mirror_path, self._commit).descends_from(base_commit)
        return await asyncio.to_thread(self._difference_since, base_commit, extra_paths) if is_descendant else None

    def _entries(self) -> list[Entry]:
        try:
            entries: list[Entry] = []
            repository = pygit2.Repository(str(self._mirror_path))
            for entry in _walk(repository, self._root(repository)):
                entries.append(entry)
                if len(entries) > self._max_entries:
                    raise TooLarge(
                        f"the repository holds more than {self._max_entries} files and directories: split it or raise "
                        "DASHWRIGHT_REPOSITORY_FILES"
                    )
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error
        return entries

    def _entries_at(self, paths: Collection[str]) -> list[Entry]:
        try:
            repository = pygit2.Repository(str(self._mirror_path))
            tree = self._root(repository)
            items = [(path, _item_at(repository, tree, path.encode())) for path in sorted(paths)]
            return [_entry_of_item(path, item) for path, item in items if item is not None]
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error

    def _with_sizes(self, entries: Sequence[Entry]) -> list[Entry]:
        try:
            read_header = pygit2.Repository(str(self._mirror_path)).odb.read_header
            return [replace(entry, size=read_header(pygit2.Oid(hex=entry.checksum))[1]) if entry.checksum else entry for entry in entries]
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error

    def _read(self, repository: pygit2.Repository, directory_at: Callable[[str], pygit2.Object | None], path: str) -> File:
        """Return the file at a path. ``directory_at`` returns the tree of a directory by path. Raises the errors of ``open_reader``."""
        parent_path, _, name = path.rpartition("/")
        try:
            blob = objects.entry_of(repository, directory_at(parent_path), name)
            if not isinstance(blob, pygit2.Blob):
                raise NotFound(f"file not found: {path}")
            # The size is read from the header: ``blob.size`` would unpack the blob first.
            check_size(repository.odb.read_header(blob.id)[1], self._max_file_bytes)
            body = blob.data
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error
        return _file(body, str(blob.id))

    def _difference_since(self, base_commit: str, extra_paths: Collection[str]) -> Difference | None:
        try:
            repository = pygit2.Repository(str(self._mirror_path))
            old_commit = objects.commit_of(repository, base_commit)
            if old_commit is None:
                return None
            before, root = objects.tree_of(repository, old_commit, self._directory), self._root(repository)
            # If all files are replaced by other files, each of them is a removed path, and each new one an added path.
            limit = 2 * self._max_entries
            changes = list(islice(_differing_paths(repository, before, root), limit + 1))
            removed_modes = {change.path: change.old_mode for change in changes if change.old_mode}
            added_modes = {change.path: change.new_mode for change in changes if change.new_mode}
            if len(changes) > limit or len(added_modes) > self._max_entries or _special_paths(removed_modes) != _special_paths(added_modes):
                return None
            return _difference(repository, base_commit, before, root, [change.path for change in changes], extra_paths)
        except (pygit2.GitError, KeyError) as error:
            raise mark_damaged(self._mirror_path, error) from error

    def _root(self, repository: pygit2.Repository) -> pygit2.Tree:
        """Return the tree of the directory. Raises Conflict if the directory must exist and is missing."""
        commit = objects.commit_of(repository, self._commit)
        if commit is None:
            raise mark_damaged(self._mirror_path, KeyError(self._commit))
        tree = objects.tree_of(repository, commit, self._directory)
        if self._must_exist and self._directory and tree.id == objects.EMPTY_TREE:
            short_hash = self._commit[:SHORT_HASH_DIGITS]
            raise Conflict(
                f"there is no directory {self._directory!r} at commit {short_hash}, so the stored objects of this repository are "
                "kept; correct the path in the spec of the repository, or restore the directory, with a .keep in it if nothing is to "
                "be stored"
            )
        return tree


def _walk(repository: pygit2.Repository, tree: pygit2.Tree, parent_path: str = "") -> Iterator[Entry]:
    """Yield the entries below a tree; hidden and very deep directories are named but not entered."""
    objects.check_object_size(repository, tree.id)
    for item in tree:
        path = parent_path + _printable(item.raw_name)
        if isinstance(item, pygit2.Tree):
            yield Entry(path + "/")
            if _is_entered(path + "/"):
                yield from _walk(repository, item, path + "/")
        else:
            yield _entry(path, item.filemode, item.id)


def _is_entered(directory: str) -> bool:
    """Return whether the content of a directory is read."""
    return not paths.is_hidden(directory) and directory.count("/") < paths.MAX_WALK_DEPTH


def _entry(path: str, mode: int, blob: pygit2.Oid) -> Entry:
    fault = _SPECIAL_MODES.get(FileMode(mode), "")
    return Entry(path, fault=fault, is_submodule=mode == FileMode.COMMIT) if fault else Entry(path, str(blob))


class _PathChange(NamedTuple):
    """The change of a path between two trees."""

    path: bytes
    #: File mode in the old tree; 0 for a directory and for a missing file.
    old_mode: int
    #: File mode in the new tree; 0 for a directory and for a missing file.
    new_mode: int


def _differing_paths(
    repository: pygit2.Repository, before: pygit2.Tree | None, after: pygit2.Tree | None, parent_path: bytes = b""
) -> Iterator[_PathChange]:
    """Yield the paths that differ between two trees, as deep as ``_walk`` enters.

    Directories with differences are yielded, too. The generator is lazy, so that a caller can stop early: libgit2 would compute all
    differences first, and even those of a small repository may not fit into memory.
    """
    for tree in (before, after):
        if tree is not None:
            objects.check_object_size(repository, tree.id)
    old_items, new_items = ({item.raw_name or b"": item for item in tree or ()} for tree in (before, after))
    for name in old_items.keys() | new_items.keys():
        # The lists below have two values, for the old and the new tree.
        items = [old_items.get(name), new_items.get(name)]
        modes = [0 if item is None else int(item.filemode or 0) for item in items]
        if items[0] is not None and items[1] is not None and items[0].id == items[1].id and modes[0] == modes[1]:
            continue
        directories = [item if isinstance(item, pygit2.Tree) else None for item in items]
        file_modes = [0 if directory is not None else mode for directory, mode in zip(directories, modes, strict=True)]
        if any(file_modes):
            yield _PathChange(parent_path + name, *file_modes)
        if any(directories):
            path = parent_path + name + b"/"
            yield _PathChange(path, 0, 0)
            if _is_entered(_printable(path)):
                yield from _differing_paths(repository, directories[0], directories[1], path)


def _special_paths(files: Mapping[bytes, int]) -> AbstractSet[bytes]:
    """Return the paths of links and submodules among ``files``, which have the file mode of each path."""
    return {path for path, mode in files.items() if FileMode(mode) in _SPECIAL_MODES}


def _difference(
    repository: pygit2.Repository,
    base_commit: str,
    before: pygit2.Tree,
    tree: pygit2.Tree,
    changed_paths: Iterable[bytes],
    extra_paths: Iterable[str],
) -> Difference | None:
    """Return the difference at the changed paths and ``extra_paths``; None if an extra path exists in neither tree."""
    differing_paths = {path for raw_path in changed_paths for path in _path_with_directories(raw_path)}
    encoded_extra_paths = {path.encode() for path in extra_paths}
    examined_paths = differing_paths | {path for raw_path in encoded_extra_paths for path in _path_with_directories(raw_path)}
    items = {raw_path: item for raw_path in examined_paths if (item := _item_at(repository, tree, raw_path)) is not None}
    if not encoded_extra_paths <= items.keys() | differing_paths:
        return None
    # Each path counts 1 if it exists now, and -1 if it existed before.
    growth = sum((raw_path in items) - (_item_at(repository, before, raw_path) is not None) for raw_path in differing_paths)
    entries = [_entry_of_item(_printable(raw_path), item) for raw_path, item in items.items()]
    return Difference(frozenset(map(_printable, examined_paths)), entries, growth, base_commit)


def _file(body: bytes, checksum: str) -> File:
    """Return the file of a blob. Raises Invalid for a pointer of Git LFS."""
    if body.startswith(_LFS_HEADER):
        raise Invalid("a pointer of Git LFS, not the file itself: store dashboards in git without LFS")
    return File(body, checksum)


def _entry_of_item(path: str, item: pygit2.Object) -> Entry:
    if isinstance(item, pygit2.Tree):
        return Entry(path)
    assert item.filemode is not None, "it was found in a tree"
    return _entry(path, item.filemode, item.id)


def _path_with_directories(raw_path: bytes) -> Iterator[bytes]:
    """Yield the directories above a file from the top, and then the file, as deep as ``_walk`` enters."""
    end = raw_path.find(b"/")
    while end >= 0:
        yield raw_path[: end + 1]
        if not _is_entered(_printable(raw_path[: end + 1])):
            return
        end = raw_path.find(b"/", end + 1)
    yield raw_path


def _item_at(repository: pygit2.Repository, tree: pygit2.Tree, raw_path: bytes) -> pygit2.Object | None:
    """Return the directory at a path that ends in a slash, or the file at any other path; None if the path has no entry of that type."""
    item = objects.object_at(repository, tree, os.fsdecode(raw_path.rstrip(b"/")))
    return item if isinstance(item, pygit2.Tree) == raw_path.endswith(b"/") else None


def _printable(raw_name: bytes | None) -> str:
    """Return a name as a string. Bytes that are not UTF-8 are escaped, and the rules on paths refuse such a name."""
    return (raw_name or b"").decode(errors="backslashreplace")
