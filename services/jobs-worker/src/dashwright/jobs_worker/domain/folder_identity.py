"""The identity of folders. A moved directory keeps its folder, and with it the access rules of the folder."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folders import shallow_first
from dashwright.jobs_worker.domain.objects import Entry, ManagedObject

_MAX_CANDIDATES: Final = 8
"""Limit on directories with an equal file. A file that more directories contain does not identify a moved directory."""

_RelativeFile = tuple[str, str]
"""Path of a file, relative to a directory above it, and checksum of the file."""

_Contents = Mapping[str, AbstractSet[_RelativeFile]]
"""All resource files below a directory, by directory."""


def folder_names(
    repository: str, entries: Sequence[Entry], managed: Iterable[ManagedObject], names_elsewhere: AbstractSet[str], *, commit: str
) -> dict[str, str]:
    """Return the name of each directory's folder.

    ``names_elsewhere`` are folder names of directories that are not among ``entries``. If the folder of a directory moved away and the
    directory exists again, ``commit`` makes the name of its new folder unique.
    """
    unreadable_directories = {entry.path.rstrip("/") + "/" for entry in entries if entry.fault}
    present_directories = {directory for entry in entries if _is_valid(entry.path) for directory in paths.directories(entry.path)}
    stored_names = {item.path.rstrip("/") + "/": item.key.name for item in managed if item.key.group == FOLDER.group and item.path}
    removed_directories = {
        directory
        for directory in stored_names.keys() - present_directories
        if not unreadable_directories & set(paths.directories(directory))
    }
    stored_files = [(item.path, item.checksum) for item in managed if item.key.group != FOLDER.group]
    present_files = [
        (entry.path, entry.checksum) for entry in entries if entry.checksum and paths.is_resource(entry.path) and _is_valid(entry.path)
    ]
    # A moved directory keeps the folder, and with it the dashboards' links and the access rules.
    removed_contents = _contents(stored_files, removed_directories)
    new_contents = _contents(present_files, present_directories - stored_names.keys())
    moves = _moves(removed_contents, new_contents)
    names = stored_names | {new_directory: stored_names[former_directory] for new_directory, former_directory in moves.items()}
    used_names = {*names_elsewhere, *names.values()}
    for directory in shallow_first(present_directories - names.keys()):
        name, attempt = folder_name(repository, directory), 0
        while name in used_names:
            attempt += 1
            name = folder_name(repository, directory, incarnation=f"{commit}#{attempt}")
        names[directory] = name
        used_names.add(name)
    present_names = {names[directory] for directory in present_directories & names.keys()}
    # A removed directory is left out if a present directory took over its folder.
    return {directory: name for directory, name in names.items() if directory in present_directories or name not in present_names}


def _is_valid(path: str) -> bool:
    try:
        paths.check_path(path)
    except BadRequest:
        return False
    return True


def _contents(files: Iterable[tuple[str, str]], directories: AbstractSet[str]) -> _Contents:
    contents: defaultdict[str, set[_RelativeFile]] = defaultdict(set)
    for path, checksum in files:
        for directory in paths.directories(path):
            if directory in directories:
                contents[directory].add((path.removeprefix(directory), checksum))
    return contents


def _moves(removed_contents: _Contents, new_contents: _Contents) -> dict[str, str]:
    """Return the removed directory from which each new directory was moved, by new directory.

    Candidates, in this order:

    1. a directory with the same files;
    2. the directory of the same name below the former path of the directory above;
    3. the removed directory of which the new one contains more than half of the files.

    Each removed directory is used once.
    """
    sources: defaultdict[frozenset[_RelativeFile], list[str]] = defaultdict(list)
    # Deep directories come first in the list, so that ``pop`` returns the shallowest of directories with equal contents.
    for directory in reversed(shallow_first(removed_contents)):
        sources[frozenset(removed_contents[directory])].append(directory)
    moves = {
        directory: directories.pop()
        for directory in shallow_first(new_contents)
        if (directories := sources.get(frozenset(new_contents[directory])))
    }
    unmatched = {directory: removed_contents[directory] for directories in sources.values() for directory in directories}
    directories_by_file: defaultdict[_RelativeFile, list[str]] = defaultdict(list)
    for directory in shallow_first(unmatched):
        for file in unmatched[directory]:
            directories_by_file[file].append(directory)
    # From the top, so that the move of a parent is known when its children are matched.
    for directory in shallow_first(new_contents.keys() - moves.keys()):
        parent = paths.parent(directory)
        moved_with_parent = moves[parent] + directory.removeprefix(parent) if parent in moves else ""
        source = (
            moved_with_parent
            if moved_with_parent in unmatched
            else _majority_source(new_contents[directory], unmatched, directories_by_file)
        )
        if source:
            moves[directory] = source
            del unmatched[source]
    return moves


def _majority_source(
    files: AbstractSet[_RelativeFile], unmatched: _Contents, directories_by_file: Mapping[_RelativeFile, Sequence[str]]
) -> str:
    """Return the removed directory that had most of ``files``, if more than half of its own files are among them; else an empty string."""
    directories_of_files = (directories_by_file.get(file, ()) for file in files)
    counts = Counter(
        directory
        for directories in directories_of_files
        if len(directories) <= _MAX_CANDIDATES
        for directory in directories
        if directory in unmatched
    )
    candidates = [directory for directory, count in counts.items() if 2 * count > len(unmatched[directory])]
    return min(candidates, key=lambda directory: (-counts[directory], len(unmatched[directory]), directory), default="")
