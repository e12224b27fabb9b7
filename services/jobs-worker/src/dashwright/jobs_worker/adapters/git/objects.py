"""Commits and trees of a mirror with a check of their size before they are loaded: libgit2 loads complete objects of any size."""

import os
from bisect import bisect_left
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final

import pygit2
from pygit2.enums import FileMode, ObjectType

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.jobs_worker.domain.objects import SHORT_HASH_DIGITS

MAX_OBJECT_BYTES: Final = 16 * 1024 * 1024
"""Limit on the unpacked bytes of a commit or of a tree, which is one directory's list of names."""

EMPTY_TREE: Final = pygit2.Oid(hex="4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The empty tree, which every repository has."""

_ADVICE: Final = {
    FileMode.LINK: "which is a symbolic link and is not followed: give the path of the directory itself",
    FileMode.COMMIT: "which is a submodule and is not entered: give the url of the submodule's own repository",
}
"""Continuations of the error for a path that is not a directory."""

_TYPE_NAMES: Final = {ObjectType.TREE: "directory", ObjectType.COMMIT: "commit"}


def check_object_size(repository: pygit2.Repository, oid: pygit2.Oid) -> None:
    """Raise TooLarge for a commit or tree that is too large to load, and KeyError if the mirror lacks it."""
    object_type, size = repository.odb.read_header(oid)
    if size > MAX_OBJECT_BYTES:
        type_name = _TYPE_NAMES.get(ObjectType(object_type), "object")
        raise TooLarge(f"the repository has a {type_name} of {size} bytes ({oid}), and at most {MAX_OBJECT_BYTES} are read: split it")


def commit_of(repository: pygit2.Repository, sha: str) -> pygit2.Commit | None:
    """Return a commit; None if the mirror has no commit with this hash. Raises TooLarge, and ValueError if ``sha`` is not a hash."""
    oid = pygit2.Oid(hex=sha)
    if oid not in repository or repository.odb.read_header(oid)[0] != ObjectType.COMMIT:
        return None
    check_object_size(repository, oid)
    return repository[oid].peel(pygit2.Commit)


def tree_of(repository: pygit2.Repository, commit: pygit2.Commit, directory: str = "") -> pygit2.Tree:
    """Return the root tree of a commit, or the tree of a directory; the empty tree if the directory does not exist.

    Raises BadRequest if a part of the path is not a directory, TooLarge, and KeyError if the damaged mirror lacks one of the tree objects.
    """
    check_object_size(repository, commit.tree_id)
    git_object: pygit2.Object = commit.tree
    for name in directory.split("/") if directory else ():
        entry = entry_of(repository, git_object, name)
        if entry is None:
            return repository[EMPTY_TREE].peel(pygit2.Tree)
        if not isinstance(entry, pygit2.Tree):
            advice = _ADVICE.get(FileMode(entry.filemode), "which is a file: give the path of a directory")
            short_hash = str(commit.id)[:SHORT_HASH_DIGITS]
            raise BadRequest(f"the path {directory!r} of the repository contains {name!r} at commit {short_hash}, {advice}")
        git_object = entry
    return git_object.peel(pygit2.Tree)


def entry_of(repository: pygit2.Repository, tree: pygit2.Object | None, name: str) -> pygit2.Object | None:
    """Return the entry of a directory; None if it is missing or ``tree`` is not a directory.

    Raises TooLarge, and KeyError if the entry exists but the damaged mirror lacks its object.
    """
    if not isinstance(tree, pygit2.Tree):
        return None
    check_object_size(repository, tree.id)
    raw_name = os.fsencode(name)
    # Git sorts a directory as if its name ended in a slash.
    for key in (raw_name, raw_name + b"/"):
        # A search by name, ``tree[name]``, never frees the name: pygit2 1.21 leaks a reference to it.
        index = bisect_left(range(len(tree)), key, key=lambda index: _sort_key(tree[index]))
        if index < len(tree) and tree[index].raw_name == raw_name:
            return tree[index]
    return None


def _sort_key(entry: pygit2.Object) -> bytes:
    """Return the name by which git sorts an entry of a tree."""
    return (entry.raw_name or b"") + (b"/" if entry.filemode == FileMode.TREE else b"")


def object_at(repository: pygit2.Repository, tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    """Return the object at a path below a directory, like ``entry_of``; an empty path is the directory itself."""
    git_object: pygit2.Object | None = tree
    for name in path.split("/") if path else ():
        git_object = entry_of(repository, git_object, name)
    return git_object


def history(repository: pygit2.Repository, sha: str) -> Iterator[pygit2.Commit]:
    """Yield a commit and all its ancestors, the newest first. Raises TooLarge, and KeyError if the mirror lacks one of them."""
    # The heap orders commits of the same time by a counter, because object ids are not comparable.
    insertion_order = count()
    first = pygit2.Oid(hex=sha)
    queued_ids = {first}
    # The negative time, so that the newest commit is the first one.
    queue = [(0, next(insertion_order), first)]
    while queue:
        # The queue contains ids, so each commit is loaded twice: the loaded commits of a long queue could exhaust memory.
        newest_commit = _load_commit(repository, heappop(queue)[2])
        yield newest_commit
        for oid in newest_commit.parent_ids:
            if oid not in queued_ids:
                queued_ids.add(oid)
                heappush(queue, (-_load_commit(repository, oid).commit_time, next(insertion_order), oid))


def _load_commit(repository: pygit2.Repository, oid: pygit2.Oid) -> pygit2.Commit:
    check_object_size(repository, oid)
    return repository[oid].peel(pygit2.Commit)
