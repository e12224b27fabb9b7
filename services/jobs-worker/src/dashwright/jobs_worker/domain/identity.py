"""Which folder a directory is: the name is given once, and a directory that is moved takes its folder along, and the rules on it."""

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

_TELLING: Final = 8
"""A file that lies alike in more directories does not tell which of them went."""

Contents = Mapping[str, AbstractSet[tuple[str, str]]]
"""Of each directory the paths below it, with checksums, of all files that hold resources."""


def folder_names(
    repository: str, entries: Sequence[Entry], managed: Iterable[ManagedObject], taken: AbstractSet[str], *, commit: str
) -> dict[str, str]:
    """The names of all directories' folders.

    ``taken`` are names that other directories have. ``commit`` makes the name of one that comes again after its folder has gone elsewhere.
    """
    unread = {entry.path.rstrip("/") + "/" for entry in entries if entry.fault}
    there = {directory for entry in entries if _is_good(entry.path) for directory in paths.directories(entry.path)}
    stored = {item.path.rstrip("/") + "/": item.key.name for item in managed if item.key.group == FOLDER.group and item.path}
    gone = {directory for directory in stored.keys() - there if not unread & set(paths.directories(directory))}
    files = [(item.path, item.checksum) for item in managed if item.key.group != FOLDER.group]
    read = [(entry.path, entry.checksum) for entry in entries if entry.checksum and paths.is_resource(entry.path) and _is_good(entry.path)]
    names = stored | {new: stored[old] for new, old in _moves(_contents(files, gone), _contents(read, there - stored.keys())).items()}
    used = {*taken, *names.values()}
    for directory in shallow_first(there - names.keys()):
        name, turn = folder_name(repository, directory), 0
        while name in used:
            turn += 1
            name = folder_name(repository, directory, turn=f"{commit}#{turn}")
        names[directory] = name
        used.add(name)
    moved = {names[directory] for directory in there & names.keys()}
    return {directory: name for directory, name in names.items() if directory in there or name not in moved}


def _is_good(path: str) -> bool:
    try:
        paths.check_path(path)
    except BadRequest:
        return False
    return True


def _contents(files: Iterable[tuple[str, str]], directories: AbstractSet[str]) -> Contents:
    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for path, checksum in files:
        for directory in paths.directories(path):
            if directory in directories:
                found[directory].add((path.removeprefix(directory), checksum))
    return found


def _moves(old: Contents, new: Contents) -> dict[str, str]:
    """Of new directories, which of those that have gone each was.

    That is one which held the same files; else the one of its name below what the directory above was; else one of whose files more than
    half have come here. Each that has gone is taken once.
    """
    sources: defaultdict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    for directory in reversed(shallow_first(old)):
        sources[frozenset(old[directory])].append(directory)
    moves = {directory: held.pop() for directory in shallow_first(new) if (held := sources.get(frozenset(new[directory])))}
    left = {directory: old[directory] for held in sources.values() for directory in held}
    homes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for directory in shallow_first(left):
        for file in left[directory]:
            homes[file].append(directory)
    for directory in shallow_first(new.keys() - moves.keys()):
        above = paths.parent(directory)
        along = moves[above] + directory.removeprefix(above) if above in moves else ""
        home = along if along in left else _likely(new[directory], left, homes)
        if home:
            moves[directory] = home
            del left[home]
    return moves


def _likely(files: AbstractSet[tuple[str, str]], left: Contents, homes: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """The directory that most of the files were in, if these are more than half of what it held; empty where there is none."""
    known = (homes.get(file, ()) for file in files)
    counted = Counter(home for found in known if len(found) <= _TELLING for home in found if home in left)
    likely = [home for home, count in counted.items() if 2 * count > len(left[home])]
    return min(likely, key=lambda home: (-counted[home], len(left[home]), home), default="")
