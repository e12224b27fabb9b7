"""The differences that changes make to the files of a repository: changed paths and their entries. Nothing is written."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry


def checksum_of(body: bytes, *, in_git: bool) -> str:
    """Return the checksum that a checkout reports for a file of these bytes: the SHA-1 of the git blob, or of the bytes alone."""
    header = b"blob %d\0" % len(body) if in_git else b""
    return hashlib.sha1(header + body, usedforsecurity=False).hexdigest()


def difference_of(entries: Collection[Entry], edits: Sequence[Edit], *, in_git: bool) -> Difference:
    """Return the difference that the edits make to ``entries``.

    A directory is removed with its last entry. A directory for which the edits write a ``.keep`` file becomes a folder.
    """
    bodies = {edit.path: edit.body for edit in edits}
    changed_paths = {path for path_of_edit in bodies for path in (path_of_edit, *paths.directories(path_of_edit))}
    new_entries = [Entry(path, checksum_of(body, in_git=in_git), len(body)) for path, body in bodies.items() if body is not None]
    remaining_paths = [entry.path for entry in entries if entry.path not in changed_paths]
    present_directories = paths.all_directories([*remaining_paths, *(entry.path for entry in new_entries)])
    present_entries = [*new_entries, *(Entry(path) for path in changed_paths & present_directories)]
    former_count = len(changed_paths & {entry.path for entry in entries})
    growth = len(present_entries) - former_count
    new_folders = {paths.parent(path) for path, body in bodies.items() if body is not None and path == paths.parent(path) + paths.KEEP_FILE}
    return Difference(frozenset(changed_paths), present_entries, growth, folders=frozenset(new_folders - {""}))


def difference_at(path: str, checksum: str) -> Difference:
    """Return a difference that consists of one existing file and the directories above it."""
    directories = [*paths.directories(path)]
    return Difference(frozenset((path, *directories)), [Entry(path, checksum), *map(Entry, directories)])


def files_below(entries: Iterable[Entry], directory: str) -> Mapping[str, Entry]:
    """Return the files in a directory at any depth, by path."""
    return {entry.path: entry for entry in entries if entry.path.startswith(directory) and not paths.is_directory(entry.path)}
