"""The files of a repository as a change would leave them: the touched paths and their entries."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry


def checksum_of(body: bytes, *, in_git: bool) -> str:
    """Return the checksum that a file of these bytes has in its checkout."""
    head = b"blob %d\0" % len(body) if in_git else b""
    return hashlib.sha1(head + body, usedforsecurity=False).hexdigest()


def difference_of(entries: Collection[Entry], edits: Sequence[Edit], *, in_git: bool) -> Difference:
    """Return the difference that the edits make to ``entries``. A directory is removed with its last entry; a new one becomes a folder."""
    bodies = {edit.path: edit.body for edit in edits}
    touched = {path for edited in bodies for path in (edited, *paths.directories(edited))}
    new = [Entry(path, checksum_of(body, in_git=in_git), len(body)) for path, body in bodies.items() if body is not None]
    staying = [entry.path for entry in entries if entry.path not in touched]
    alive = {directory for path in (*staying, *(entry.path for entry in new)) for directory in paths.directories(path)}
    there = [*new, *(Entry(path) for path in touched & alive)]
    growth = len(there) - len(touched & {entry.path for entry in entries})
    made = {paths.parent(path) for path, body in bodies.items() if body is not None and path == paths.parent(path) + paths.KEEP}
    return Difference(frozenset(touched), there, growth, folders=frozenset(made - {""}))


def difference_at(path: str, checksum: str) -> Difference:
    """Return the difference of one existing file and the directories above it."""
    above = [*paths.directories(path)]
    return Difference(frozenset((path, *above)), [Entry(path, checksum), *map(Entry, above)])


def files_below(entries: Iterable[Entry], directory: str) -> Mapping[str, Entry]:
    """Return the files in a directory at any depth, by path."""
    return {entry.path: entry for entry in entries if entry.path.startswith(directory) and not paths.is_directory(entry.path)}
