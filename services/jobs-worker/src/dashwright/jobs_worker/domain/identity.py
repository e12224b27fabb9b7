"""Which folder a directory is: the name is given once, and a directory that is moved as a whole takes its folder along."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folders import shallow_first
from dashwright.jobs_worker.domain.objects import Entry, Managed

Contents = Mapping[str, AbstractSet[tuple[str, str]]]
"""Of each directory the paths below it, with checksums, of all files that hold resources."""


def folder_names(
    repository: str, entries: Sequence[Entry], managed: Iterable[Managed], taken: AbstractSet[str], *, commit: str
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
        paths.check_path(path, spaces=True)
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
    """Where each new directory was that holds what one that has gone held; of several that hold the same, each goes to one."""
    sources: defaultdict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    for directory in reversed(shallow_first(old)):
        sources[frozenset(old[directory])].append(directory)
    return {directory: held.pop() for directory in shallow_first(new) if (held := sources.get(frozenset(new[directory])))}
