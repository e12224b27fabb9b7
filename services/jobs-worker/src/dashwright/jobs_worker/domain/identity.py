"""The identity of folders: a name is given once, and a moved directory takes its folder and the access rules on it along."""

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
"""Directories with equal files up to which such a file identifies the one that was moved."""

Contents = Mapping[str, AbstractSet[tuple[str, str]]]
"""Relative paths and checksums of all resource files below a directory, by directory."""


def folder_names(
    repository: str, entries: Sequence[Entry], managed: Iterable[ManagedObject], taken: AbstractSet[str], *, commit: str
) -> dict[str, str]:
    """Return the name of each directory's folder.

    ``taken`` are names of other directories. ``commit`` distinguishes the new name of a directory that exists again after its folder moved
    away.
    """
    unread = {entry.path.rstrip("/") + "/" for entry in entries if entry.fault}
    there = {directory for entry in entries if _is_good(entry.path) for directory in paths.directories(entry.path)}
    stored = {item.path.rstrip("/") + "/": item.key.name for item in managed if item.key.group == FOLDER.group and item.path}
    gone = {directory for directory in stored.keys() - there if not unread & set(paths.directories(directory))}
    files = [(item.path, item.checksum) for item in managed if item.key.group != FOLDER.group]
    read = [(entry.path, entry.checksum) for entry in entries if entry.checksum and paths.is_resource(entry.path) and _is_good(entry.path)]
    # A moved directory keeps the folder, and with it the dashboards' links and the access rules.
    names = stored | {new: stored[old] for new, old in _moves(_contents(files, gone), _contents(read, there - stored.keys())).items()}
    used = {*taken, *names.values()}
    for directory in shallow_first(there - names.keys()):
        name, turn = folder_name(repository, directory), 0
        while name in used:
            turn += 1
            name = folder_name(repository, directory, incarnation=f"{commit}#{turn}")
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
    """Map each new directory to the removed directory it was moved from.

    Candidates, in this order:

    1. a directory with the same files;
    2. the directory of the same name below the former path of the directory above;
    3. the directory that more than half of the files were in.

    Each removed directory is used once.
    """
    sources: defaultdict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    # Deep directories first: of equal contents the shallow one is popped for the shallowest new directory.
    for directory in reversed(shallow_first(old)):
        sources[frozenset(old[directory])].append(directory)
    moves = {directory: held.pop() for directory in shallow_first(new) if (held := sources.get(frozenset(new[directory])))}
    left = {directory: old[directory] for held in sources.values() for directory in held}
    homes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for directory in shallow_first(left):
        for file in left[directory]:
            homes[file].append(directory)
    # From the top, so that the move of a parent is known when its children are matched.
    for directory in shallow_first(new.keys() - moves.keys()):
        above = paths.parent(directory)
        along = moves[above] + directory.removeprefix(above) if above in moves else ""
        home = along if along in left else _likely(new[directory], left, homes)
        if home:
            moves[directory] = home
            del left[home]
    return moves


def _likely(files: AbstractSet[tuple[str, str]], left: Contents, homes: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return the directory that most of the files were in, if that is more than half of its files; else an empty string."""
    known = (homes.get(file, ()) for file in files)
    counted = Counter(home for found in known if len(found) <= _TELLING for home in found if home in left)
    likely = [home for home, count in counted.items() if 2 * count > len(left[home])]
    return min(likely, key=lambda home: (-counted[home], len(left[home]), home), default="")
