"""The comparison of a checkout with the stored objects: unchanged files, files to read, refused files, and directories."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.jobs import paths
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.jobs_worker.domain.file_kinds import kind_of_plural
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Entry, ManagedObject, QuarantinedFile

_ROOT_FILE_REMARK: Final = (
    f"{paths.FOLDER_FILE} is ignored at the root of a repository: its folder has the name and title of the repository"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new or changed file, whose content a sync must read."""

    path: str
    checksum: str
    #: Objects that were stored from the file.
    stored_objects: tuple[ManagedObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A file or directory that cannot be stored, with the reason. Objects stored from it or from below it are kept."""

    path: str
    message: str
    #: Objects that were stored from the path.
    stored_objects: tuple[ManagedObject, ...] = ()
    #: Name of the object of the file, if known.
    name: str = ""
    #: Checksum of the file's bytes if the bytes are the reason, else empty.
    checksum: str = ""
    #: ``True`` if the fault depends on the file alone, so that it remains as long as the file is unchanged.
    is_lasting: bool = False
    #: Message for callers who may not see other files; empty if ``message`` names no other file.
    public_message: str = ""
    #: The other file that ``message`` names, or empty.
    other_path: str = ""
    #: ``True`` if only some documents of the file are refused, and its other documents are stored.
    is_partial: bool = False
    #: Plural of the kind of the object of the file, if known.
    resource: str = ""

    @property
    def kind(self) -> Kind:
        """Kind of the object: that of the file, else that of the stored object. A file of an unknown kind counts as a dashboard."""
        if paths.is_directory(self.path):
            return FOLDER
        stored_resources = (item.key.resource for item in self.stored_objects)
        return kind_of_plural(self.resource or next(stored_resources, DASHBOARD.plural))


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file without a resource."""

    path: str
    #: Hint for the author of the file, or empty.
    remark: str = ""


@dataclass(slots=True)
class Scan:
    """The result of comparing a checkout with the stored objects; ``candidates`` and ``faults`` are in plan order."""

    unchanged: list[ManagedObject] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    ignored: list[IgnoredFile] = field(default_factory=list)
    #: ``_folder.json`` files that have no effect. The directories have folders nevertheless, so these are not errors.
    folder_faults: list[Fault] = field(default_factory=list)
    #: Directories with a resource in them or below; each becomes a folder.
    directories: set[str] = field(default_factory=set)
    #: Directories that become folders even without a resource.
    requested_directories: frozenset[str] = frozenset()
    #: All directories of the checkout: their stored folders are kept.
    existing_directories: set[str] = field(default_factory=set)


def scan_entries(
    entries: Sequence[Entry],
    managed: Iterable[ManagedObject],
    folders: Folders,
    known_faults: Mapping[tuple[str, str], QuarantinedFile] | None = None,
    paths_to_read: AbstractSet[str] = frozenset(),
) -> Scan:
    """Compare entries with stored objects by checksum and folder, without reading a file.

    ``known_faults`` are quarantined files by path and checksum. The rules have not changed since and would refuse the files again, so
    these files need not be read. ``paths_to_read`` are files that must be read even if they are unchanged.

    Raises Invalid for a stored dashboard without a path.
    """
    scan = Scan()
    objects_by_path = _objects_by_path(scan, managed, {_directory_path(entry.path) for entry in entries if entry.fault})
    scan.existing_directories |= paths.all_directories(entry.path for entry in entries)
    for entry in sorted(entries, key=lambda entry: paths.plan_order(entry.path)):
        if not paths.is_hidden(entry.path):
            _classify(scan, entry, objects_by_path, folders, known_faults or {}, paths_to_read)
    if folders.has_root_folder:
        scan.directories.add("")
    return scan


def _objects_by_path(
    scan: Scan, managed: Iterable[ManagedObject], unreadable_directories: AbstractSet[str]
) -> Mapping[str, Sequence[ManagedObject]]:
    """Return the stored objects by the path of their file.

    Objects below an unreadable directory are also in the list of that directory. Their directories are added to
    ``scan.existing_directories``, so that the folders are kept.
    """
    objects_by_path: defaultdict[str, list[ManagedObject]] = defaultdict(list)
    for item in managed:
        is_folder = item.key.group == FOLDER.group
        if not item.path and not is_folder:
            raise Invalid("empty path on a non folder", details={"name": item.key.name})
        directories = list(paths.directories(_directory_path(item.path) if is_folder and item.path else item.path))
        unreadable_parents = unreadable_directories & set(directories)
        if unreadable_parents:
            scan.existing_directories.update(directories)
        if not is_folder:
            for path in (item.path, *unreadable_parents):
                objects_by_path[path].append(item)
    return objects_by_path


def _directory_path(path: str) -> str:
    return path.rstrip("/") + "/"


def _classify(
    scan: Scan,
    entry: Entry,
    objects_by_path: Mapping[str, Sequence[ManagedObject]],
    folders: Folders,
    known_faults: Mapping[tuple[str, str], QuarantinedFile],
    paths_to_read: AbstractSet[str],
) -> None:
    """Add an entry to the lists of ``scan`` to which it belongs. Entries that cannot hold a resource are left out."""
    stored_objects = tuple(objects_by_path.get(entry.path, ()))
    try:
        paths.check_path(entry.path)
    except BadRequest as refusal:
        if paths.is_resource(entry.path):
            scan.faults.append(Fault(entry.path, refusal.message, stored_objects, is_lasting=True))
        return
    if entry.fault:
        if not paths.is_directory(entry.path):
            # The refused entry, such as a link, may have replaced a directory.
            stored_objects = (*stored_objects, *objects_by_path.get(_directory_path(entry.path), ()))
        if stored_objects or paths.is_directory(entry.path) or paths.is_resource(entry.path):
            scan.faults.append(Fault(entry.path, entry.fault, stored_objects, is_lasting=True))
        elif entry.is_submodule:
            scan.ignored.append(IgnoredFile(entry.path, entry.fault))
    elif entry.path == paths.FOLDER_FILE:
        scan.ignored.append(IgnoredFile(entry.path, _ROOT_FILE_REMARK))
    elif paths.is_resource(entry.path):
        known_fault = known_faults.get((entry.path, entry.checksum))
        if known_fault is None and entry.path not in paths_to_read and _is_unchanged(entry, stored_objects, folders):
            scan.unchanged.extend(stored_objects)
            scan.directories.update(paths.directories(entry.path))
        elif known_fault is not None and not _is_moved(entry, stored_objects, folders):
            _add_known_fault(scan, entry, stored_objects, known_fault)
        else:
            scan.candidates.append(Candidate(entry.path, entry.checksum, stored_objects))


def _add_known_fault(scan: Scan, entry: Entry, stored_objects: tuple[ManagedObject, ...], known_fault: QuarantinedFile) -> None:
    """Add the fault of an unchanged file. Its valid documents are unchanged, too."""
    valid_objects = [item for item in stored_objects if item.checksum == entry.checksum]
    other_objects = tuple(item for item in stored_objects if item.checksum != entry.checksum)
    if valid_objects:
        scan.unchanged.extend(valid_objects)
        scan.directories.update(paths.directories(entry.path))
    scan.faults.append(
        Fault(
            entry.path,
            known_fault.message,
            other_objects,
            known_fault.name,
            known_fault.checksum,
            is_lasting=True,
            is_partial=bool(valid_objects),
        )
    )


def _is_unchanged(entry: Entry, stored_objects: tuple[ManagedObject, ...], folders: Folders) -> bool:
    """Return whether all stored objects of a file come from its present bytes and are in the folder of its directory."""
    # A JSON file has at most one resource, so several stored objects cannot all be unchanged.
    if not stored_objects or not entry.checksum or (len(stored_objects) > 1 and entry.path.endswith(".json")):
        return False
    folder = folders.name(paths.parent(entry.path))
    return all(item.checksum == entry.checksum and item.folder == folder for item in stored_objects)


def _is_moved(entry: Entry, stored_objects: tuple[ManagedObject, ...], folders: Folders) -> bool:
    """Return whether a valid document of a file with faults is stored in another folder than that of the file's directory."""
    folder = folders.name(paths.parent(entry.path))
    return any(item.checksum == entry.checksum and item.folder != folder for item in stored_objects)
