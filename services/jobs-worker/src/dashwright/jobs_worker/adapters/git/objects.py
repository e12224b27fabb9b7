"""Commits and trees of a bare copy with a size check before they are loaded: libgit2 loads objects whole, whatever their size."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Final

import pygit2
from pygit2.enums import ObjectType

from dashwright.common.errors import BadRequest, TooLarge

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a commit or of one directory's list of names, unpacked."""

EMPTY: Final = pygit2.Oid(hex="4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The empty tree, which every repository has."""

_SHOWN: Final = {ObjectType.TREE: "directory", ObjectType.COMMIT: "commit"}


def check(repository: pygit2.Repository, oid: pygit2.Oid) -> None:
    """Raise TooLarge for a commit or tree that is too large to load, and KeyError if the copy lacks it."""
    kind, size = repository.odb.read_header(oid)
    if size > LARGEST:
        shown = _SHOWN.get(ObjectType(kind), "object")
        raise TooLarge(f"the repository has a {shown} of {size} bytes ({oid}), and at most {LARGEST} are read: split it")


def commit_of(repository: pygit2.Repository, sha: str) -> pygit2.Commit | None:
    """Return a commit; None if the copy has no commit of this name. Raises TooLarge, and ValueError for an invalid name."""
    oid = pygit2.Oid(hex=sha)
    if oid not in repository or repository.odb.read_header(oid)[0] != ObjectType.COMMIT:
        return None
    check(repository, oid)
    return repository[oid].peel(pygit2.Commit)


def tree_of(repository: pygit2.Repository, commit: pygit2.Commit, directory: str = "") -> pygit2.Tree:
    """Return the root tree of a commit, or that of a directory; the empty tree if it does not exist.

    Raises BadRequest if a part of the path is not a directory, TooLarge, and KeyError if the copy lacks it.
    """
    check(repository, commit.tree_id)
    found: pygit2.Object = commit.tree
    for name in directory.split("/") if directory else ():
        below = inside(repository, found, name)
        if below is None:
            return repository[EMPTY].peel(pygit2.Tree)
        if not isinstance(below, pygit2.Tree):
            raise BadRequest(
                f"spec.githost.path: {directory!r} leads through {name!r}, which is not a directory at commit {str(commit.id)[:10]}"
            )
        found = below
    return found.peel(pygit2.Tree)


def inside(repository: pygit2.Repository, tree: pygit2.Object | None, name: str) -> pygit2.Object | None:
    """Return the entry of a directory; None if it is missing or ``tree`` is not a directory.

    Raises TooLarge, and KeyError if the copy lacks it.
    """
    if not isinstance(tree, pygit2.Tree):
        return None
    check(repository, tree.id)
    if name not in tree:
        return None
    return tree[name]


def at(repository: pygit2.Repository, tree: pygit2.Tree, path: str) -> pygit2.Object | None:
    """Return the object at a path below a directory, like ``inside``; an empty path is the directory itself."""
    found: pygit2.Object | None = tree
    for name in path.split("/") if path else ():
        found = inside(repository, found, name)
    return found


def history(repository: pygit2.Repository, sha: str) -> Iterator[pygit2.Commit]:
    """Yield a commit and all its ancestors, the newest first. Raises TooLarge, and KeyError if the copy lacks one."""
    order = count()
    first = pygit2.Oid(hex=sha)
    seen = {first}
    waiting = [(0, next(order), first)]
    while waiting:
        # Loaded a second time: the queue may be long, and holding its commits could exhaust memory.
        newest = _loaded(repository, heappop(waiting)[2])
        yield newest
        for oid in newest.parent_ids:
            if oid not in seen:
                seen.add(oid)
                heappush(waiting, (-_loaded(repository, oid).commit_time, next(order), oid))


def _loaded(repository: pygit2.Repository, oid: pygit2.Oid) -> pygit2.Commit:
    check(repository, oid)
    return repository[oid].peel(pygit2.Commit)
