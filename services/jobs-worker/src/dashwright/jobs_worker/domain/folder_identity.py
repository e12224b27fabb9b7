"""The identity of folders. A moved directory keeps its folder, and with it the access rules of the folder."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

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


def stored_folders(managed: Iterable[ManagedObject]) -> list[ManagedObject]:
    """Return the folders of directories among stored objects, without the root folder.

    If several folders come from one directory, that which a ``_folder.json`` names comes last: a dictionary by directory then keeps it.
    """
    folders = [item for item in managed if item.key.group == FOLDER.group and item.path]
    return sorted(folders, key=lambda item: (item.checksum != "", item.key.name))


def present_directories(entries: Sequence[Entry], folders: Iterable[ManagedObject]) -> set[str]:
    """Return the directories that exist, and those of the stored ``folders`` that may exist below an unreadable directory."""
    unreadable_directories = {entry.path.rstrip("/") + "/" for entry in entries if entry.fault}
    present_paths = paths.all_directories(entry.path for entry in entries if paths.is_valid(entry.path))
    stored = {item.directory for item in folders} if unreadable_directories else set()
    return present_paths | {directory for directory in stored if unreadable_directories & set(paths.directories(directory))}


def is_renamed(folders: Iterable[ManagedObject], names: Mapping[str, str], present_paths: AbstractSet[str]) -> bool:
    """Return whether an existing directory gets a folder other than its stored one. All objects in it then change their folder, too."""
    directories = ((item.directory, item.key.name) for item in folders)
    return any(directory in present_paths and names.get(directory, name) != name for directory, name in directories)


def folder_names(
    repository: str,
    entries: Sequence[Entry],
    existing_directories: AbstractSet[str],
    managed: Sequence[ManagedObject],
    names_elsewhere: AbstractSet[str],
    claimed_names: Mapping[str, str],
    *,
    commit: str,
) -> dict[str, str]:
    """Return the name of each directory's folder.

    ``existing_directories`` are those that ``present_directories`` returns. ``names_elsewhere`` are folder names of directories that are
    not among ``entries``. ``claimed_names`` are the names that directories get because of their ``_folder.json``, by directory.

    If the folder of a directory moved away and the directory exists again, ``commit`` makes the name of its new folder unique.
    """
    folders = stored_folders(managed)
    directory_of_claim = {name: directory for directory, name in claimed_names.items()}
    names_before = {item.directory: item.key.name for item in folders}
    # The former directory of each folder whose name another directory claims, by claiming directory.
    claimed_moves = {
        directory_of_claim[name]: directory
        for directory, name in names_before.items()
        if name in directory_of_claim and directory not in existing_directories
    }
    unclaimed_names = {directory: name for directory, name in names_before.items() if name not in directory_of_claim}
    known_names = {**unclaimed_names, **claimed_names}
    removed_directories = known_names.keys() - existing_directories
    stored_files = [(item.path, item.checksum) for item in managed if item.key.group != FOLDER.group]
    present_files = (
        (entry.path, entry.checksum) for entry in entries if entry.checksum and paths.is_resource(entry.path) and paths.is_valid(entry.path)
    )
    # Moves are detected because a new folder would have no access rules, and links to the old folder would break.
    removed_contents = _contents(stored_files, removed_directories)
    # The files of all directories are read only if a directory can have moved.
    new_contents = _contents(present_files, existing_directories - known_names.keys()) if removed_contents else {}
    moves = _moves(removed_contents, new_contents, claimed_moves)
    names = known_names | {new_directory: known_names[former_directory] for new_directory, former_directory in moves.items()}
    used_names = {*names_elsewhere, *names.values()}
    for directory in shallow_first(existing_directories - names.keys()):
        name, attempt = folder_name(repository, directory), 0
        while name in used_names:
            attempt += 1
            name = folder_name(repository, directory, incarnation=f"{commit}#{attempt}")
        names[directory] = name
        used_names.add(name)
    present_names = {names[directory] for directory in existing_directories & names.keys()}
    # A removed directory is left out if a present directory took over its folder.
    return {directory: name for directory, name in names.items() if directory in existing_directories or name not in present_names}


def _contents(files: Iterable[tuple[str, str]], directories: AbstractSet[str]) -> _Contents:
    """Return the files below each of ``directories``. Each of ``files`` is a path and a checksum."""
    contents: defaultdict[str, set[_RelativeFile]] = defaultdict(set)
    for path, checksum in files:
        for directory in paths.directories(path):
            if directory in directories:
                contents[directory].add((path.removeprefix(directory), checksum))
    return contents


def _moves(removed_contents: _Contents, new_contents: _Contents, known_moves: Mapping[str, str]) -> dict[str, str]:
    """Return the former directory of each moved directory, by new directory.

    ``known_moves`` have the same form and are not in the result. Directories below a known move may move with it.

    The former directory is the first of these that was removed:

    1. a directory with the same files;
    2. the directory of the same name below the former path of the directory above;
    3. the directory with the most files in the new one, if these are more than half of its own files.

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
    parent_moves = {**known_moves, **moves}
    unmatched = {directory: removed_contents[directory] for directories in sources.values() for directory in directories}
    directories_by_file: defaultdict[_RelativeFile, list[str]] = defaultdict(list)
    for directory in shallow_first(unmatched):
        for file in unmatched[directory]:
            directories_by_file[file].append(directory)
    # From the top, so that the move of a parent is known when its children are matched.
    for directory in shallow_first(new_contents.keys() - moves.keys()):
        parent = paths.parent(directory)
        moved_with_parent = parent_moves[parent] + directory.removeprefix(parent) if parent in parent_moves else ""
        source = (
            moved_with_parent
            if moved_with_parent in unmatched
            else _majority_source(new_contents[directory], unmatched, directories_by_file)
        )
        if source:
            moves[directory] = parent_moves[directory] = source
            del unmatched[source]
    return moves


def _majority_source(
    files: AbstractSet[_RelativeFile], unmatched: _Contents, directories_by_file: Mapping[_RelativeFile, Sequence[str]]
) -> str:
    """Return the removed directory with the most of ``files``, if these are more than half of its own files; else an empty string."""
    directories_of_files = (directories_by_file.get(file, ()) for file in files)
    counts = Counter(
        directory
        for directories in directories_of_files
        if len(directories) <= _MAX_CANDIDATES
        for directory in directories
        if directory in unmatched
    )
    candidates = [directory for directory, count in counts.items() if 2 * count > len(unmatched[directory])]
    # Of directories with equally many common files, the one with the fewest other files resembles the new directory most.
    return min(candidates, key=lambda directory: (-counts[directory], len(unmatched[directory]), directory), default="")
