"""The comparison of a checkout with the stored objects: which files are unchanged, to be read or refused, and which directories exist."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Entry, ManagedObject, QuarantinedFile


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new or changed file."""

    path: str
    checksum: str
    #: Objects that the file stands for so far.
    stored: tuple[ManagedObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A file or directory that cannot be stored, with the reason. Objects stored from it or from below it are kept."""

    path: str
    message: str
    #: Objects that the path stands for so far.
    stored: tuple[ManagedObject, ...] = ()
    name: str = ""
    #: Checksum of the bytes if they are the reason, else empty.
    checksum: str = ""
    #: The fault lasts as long as the file is unchanged, whatever happens to other files.
    lasting: bool = False
    #: Message for callers who may not see other files.
    shown: str = ""


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file without a resource."""

    path: str
    #: Hint for its author, empty if there is nothing to say.
    remark: str = ""


@dataclass(slots=True)
class Survey:
    """A comparison of a checkout with what is stored; ``candidates`` and ``faults`` are in plan order.

    A folder is made for each of ``directories``, which hold a resource, and for the ``requested_directories``. A stored folder is kept as
    long as its directory is one of the ``existing_directories``.
    """

    unchanged: list[ManagedObject] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ignored: list[IgnoredFile] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    requested_directories: frozenset[str] = frozenset()
    existing_directories: set[str] = field(default_factory=set)


def survey(
    entries: Sequence[Entry],
    managed: Iterable[ManagedObject],
    folders: Folders,
    refused: Mapping[tuple[str, str], QuarantinedFile] | None = None,
) -> Survey:
    """Compare by checksum and folder without reading a file. ``refused`` are known faults by path and checksum.

    Raises Invalid for a stored object that came from no file.
    """
    found = Survey()
    stored = _stored_by_path(found, managed, {_as_directory(entry.path) for entry in entries if entry.fault})
    for entry in sorted(entries, key=lambda entry: paths.plan_order(entry.path)):
        found.existing_directories.update(paths.directories(entry.path))
        if not paths.is_hidden(entry.path):
            _sort_in(found, entry, stored, folders, refused or {})
    if folders.rooted:
        found.directories.add("")
    return found


def _stored_by_path(found: Survey, managed: Iterable[ManagedObject], unread: AbstractSet[str]) -> Mapping[str, Sequence[ManagedObject]]:
    """Return the objects from each path, and for an ``unread`` directory all from below it; their folders are kept."""
    stored: defaultdict[str, list[ManagedObject]] = defaultdict(list)
    for item in managed:
        is_folder = item.key.group == FOLDER.group
        if not item.path and not is_folder:
            raise Invalid("empty path on a non folder", details={"name": item.key.name})
        above = list(paths.directories(_as_directory(item.path) if is_folder and item.path else item.path))
        unread_above = unread & set(above)
        if unread_above:
            found.existing_directories.update(above)
        if not is_folder:
            for path in (item.path, *unread_above):
                stored[path].append(item)
    return stored


def _as_directory(path: str) -> str:
    return path.rstrip("/") + "/"


def _sort_in(
    found: Survey,
    entry: Entry,
    stored: Mapping[str, Sequence[ManagedObject]],
    folders: Folders,
    refused: Mapping[tuple[str, str], QuarantinedFile],
) -> None:
    so_far = tuple(stored.get(entry.path, ()))
    try:
        paths.check_path(entry.path)
    except BadRequest as refusal:
        if paths.is_resource(entry.path):
            found.faults.append(Fault(entry.path, refusal.message, so_far, lasting=True))
        return
    if entry.fault:
        if not paths.is_directory(entry.path):
            # Something that is refused may have taken the place of a directory.
            so_far = (*so_far, *stored.get(_as_directory(entry.path), ()))
        if so_far or paths.is_directory(entry.path) or paths.is_resource(entry.path):
            found.faults.append(Fault(entry.path, entry.fault, so_far, lasting=True))
    elif paths.is_resource(entry.path):
        if _is_unchanged(entry, so_far, folders):
            found.unchanged.extend(so_far)
            found.directories.update(paths.directories(entry.path))
        elif known := refused.get((entry.path, entry.checksum)):
            found.faults.append(Fault(entry.path, known.message, so_far, known.name, known.checksum, lasting=True))
        else:
            found.candidates.append(Candidate(entry.path, entry.checksum, so_far))


def _is_unchanged(entry: Entry, stored: tuple[ManagedObject, ...], folders: Folders) -> bool:
    if len(stored) != 1 or not entry.checksum or stored[0].checksum != entry.checksum:
        return False
    return stored[0].folder == folders.name(paths.parent(entry.path))
