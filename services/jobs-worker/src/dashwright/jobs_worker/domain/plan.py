"""The plan of a sync. Every conflict is decided before anything is written, so that one transaction can write everything.

If a file is refused, the object that was stored from it is kept. Two files never overwrite the same object.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dashwright.common.errors import Conflict
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folders import Folders, shallow_first
from dashwright.jobs_worker.domain.objects import Key, ManagedObject, Manager, Write
from dashwright.jobs_worker.domain.ownership import manager_annotations, write_refusal
from dashwright.jobs_worker.domain.resource import Resource
from dashwright.jobs_worker.domain.scan import Fault, IgnoredFile, Scan


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file that was read, or one document of it. Its resource is in the spool, because all resources together may not fit into memory."""

    path: str
    #: Checksum of the bytes that were read.
    checksum: str
    key: Key
    #: Objects that were stored from the path, and are kept if this resource is refused.
    stored_objects: tuple[ManagedObject, ...]
    #: Ticket of the resource in the spool.
    ticket: int

    @property
    def identity(self) -> tuple[str, int]:
        """The identity of the resource among all documents, which may have the same path and key."""
        return self.path, self.ticket


def write_for(path: str, checksum: str, resource: Resource, folders: Folders, *, is_new: bool) -> Write:
    """Return the object to store for the resource in a file, in the folder of its directory."""
    folder = folders.name(paths.parent(path))
    return Write(
        key=resource.key,
        kind=resource.kind,
        version=resource.version,
        extract=resource.extract,
        folder=folder,
        spec=resource.spec,
        is_new=is_new,
        labels=resource.labels,
        annotations={**resource.annotations, **manager_annotations(folders.repository, path, checksum, folder)},
    )


@dataclass(slots=True)
class Plan:
    """The changes that a sync makes."""

    #: Objects that the repository manages before the sync, by key.
    managed: Mapping[Key, ManagedObject]
    #: Keys that are stored already, of the repository and of other managers.
    existing: frozenset[Key]
    #: Directories whose folders are created or updated, parents first.
    directories: list[str] = field(default_factory=list)
    #: Files whose objects are written, in plan order (see ``common.jobs.paths``).
    writes: list[PreparedFile] = field(default_factory=list)
    #: Dashboards to delete, then folders, the deepest first.
    removals: list[ManagedObject] = field(default_factory=list)
    #: Objects that need no change.
    unchanged: list[ManagedObject] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    #: Files with the same bytes as the file from which their object is stored. They are not errors.
    copies: list[Fault] = field(default_factory=list)
    #: ``_folder.json`` files without effect; not errors.
    folder_faults: list[Fault] = field(default_factory=list)
    #: Files without a resource; not errors.
    ignored: list[IgnoredFile] = field(default_factory=list)

    @property
    def change_count(self) -> int:
        """The number of writes and deletions."""
        return len(self.directories) + len(self.writes) + len(self.removals)


def keys_to_create(scan: Scan, prepared_files: Iterable[PreparedFile], managed: Iterable[ManagedObject], folders: Folders) -> list[Key]:
    """Return the keys of the objects to write that the repository does not manage. They may exist under another manager."""
    managed_keys = {item.key for item in managed}
    keys = {file.key for file in prepared_files} | {folders.key(directory) for directory in scan.directories}
    return sorted(keys - managed_keys)


def make_plan(
    scan: Scan, prepared_files: Sequence[PreparedFile], managed: Sequence[ManagedObject], managers: Mapping[Key, Manager], folders: Folders
) -> Plan:
    """Return the plan of a sync. ``scan.faults`` must include the faults found when the files were read.

    Raises Conflict if the root folder belongs to another manager.
    """
    managed_by_key = {item.key: item for item in managed}
    plan = Plan(managed_by_key, frozenset(managed_by_key.keys() | managers.keys()))
    plan.faults, plan.unchanged, plan.ignored = list(scan.faults), list(scan.unchanged), list(scan.ignored)
    plan.folder_faults = list(scan.folder_faults)
    blocked_directories = _blocked_directories(scan, managed_by_key, managers, folders)
    plan.faults += [Fault(directory, reason, name=folders.name(directory)) for directory, reason in blocked_directories.items()]
    foreign_faults = _foreign_faults(prepared_files, plan.managed, managers, blocked_directories, folders.repository)
    plan.faults += foreign_faults.values()
    # Objects that are kept in any case: those of unchanged files and those of faulty ones.
    source_files = {item.key: _SourceFile(item.path, item.checksum) for item in scan.unchanged}
    source_files |= {item.key: _SourceFile(fault.path) for fault in plan.faults for item in fault.stored_objects}
    accepted_files = [file for file in prepared_files if file.identity not in foreign_faults]
    duplicates, copies = _refuse_duplicates(accepted_files, source_files)
    plan.faults += _in_plan_order(duplicates)
    plan.copies = _in_plan_order(copies)
    chosen_files = [file for file in accepted_files if file.identity not in duplicates and file.identity not in copies]
    kept_keys = {item.key for fault in duplicates.values() for item in fault.stored_objects}
    remaining_keys = source_files.keys() | kept_keys | {file.key for file in chosen_files}
    # A file is read even if it is unchanged, when another of its documents could not be stored.
    plan.unchanged += [managed_by_key[file.key] for file in chosen_files if _is_stored(file, managed_by_key, folders)]
    plan.writes = [file for file in chosen_files if not _is_stored(file, managed_by_key, folders)]
    removed_objects = [item for item in managed if item.key.group != FOLDER.group and item.key not in remaining_keys]
    plan.removals = sorted(removed_objects, key=_plan_order)
    _plan_folders(plan, scan, folders, blocked_directories)
    return plan


def _is_stored(file: PreparedFile, managed: Mapping[Key, ManagedObject], folders: Folders) -> bool:
    """Return whether the resource is stored from these bytes in the folder of its directory."""
    item = managed.get(file.key)
    if item is None or not file.checksum:
        return False
    return (item.path, item.checksum, item.folder) == (file.path, file.checksum, folders.name(paths.parent(file.path)))


def _plan_order(item: ManagedObject) -> tuple[int, str]:
    return paths.plan_order(item.path)


def _blocked_directories(
    scan: Scan, managed: Mapping[Key, ManagedObject], managers: Mapping[Key, Manager], folders: Folders
) -> dict[str, str]:
    """Return the directories that cannot have a folder, with the reason. Raises Conflict if the root directory is one of them."""
    reasons: dict[str, str] = {}
    for directory in shallow_first(scan.directories):
        key = folders.key(directory)
        reason = "" if key in managed else write_refusal(key, managers.get(key), folders.repository)
        if reason and not directory:
            raise Conflict(f"{reason}: folder '{key.name}' exists; rename the repository, or remove the folder")
        # A directory below a blocked one has no parent folder.
        if directory and not reason:
            reason = reasons.get(paths.parent(directory), "")
        if reason:
            reasons[directory] = reason
    return reasons


def _plan_folders(plan: Plan, scan: Scan, folders: Folders, blocked_directories: Mapping[str, str]) -> None:
    """Add the folders to write, and append the folders to delete to the removals."""
    resources = [item.path for item in plan.unchanged] + [file.path for file in plan.writes]
    moved_directories = _moved_directories(plan, scan, folders)
    needed_directories = paths.all_directories(resources) | scan.requested_directories | moved_directories | {""}
    writable_directories = needed_directories - blocked_directories.keys()
    folder_directories = (scan.directories | moved_directories) & writable_directories
    for directory in shallow_first(folder_directories):
        stored_folder = plan.managed.get(folders.key(directory))
        if stored_folder is not None and folders.is_current(directory, stored_folder):
            plan.unchanged.append(stored_folder)
        else:
            plan.directories.append(directory)
    # Objects of refused files are kept where they are, so their folders are kept, too.
    kept_folders = {item.folder for fault in plan.faults for item in fault.stored_objects}
    remaining_keys = {folders.key(directory) for directory in folder_directories}
    removed_folders = [
        item
        for item in plan.managed.values()
        if item.key.group == FOLDER.group
        and item.key not in remaining_keys
        and not (_has_directory(item, scan, folders) or item.key.name in kept_folders)
    ]
    plan.removals += sorted(removed_folders, key=_plan_order)


def _moved_directories(plan: Plan, scan: Scan, folders: Folders) -> set[str]:
    """Return the directories whose folders are kept, but move because the parent directory gets another folder; and their parents."""
    return {
        parent
        for item in plan.managed.values()
        if item.key.group == FOLDER.group and item.path and _has_directory(item, scan, folders)
        if item.folder != folders.name(paths.parent(item.directory))
        for parent in paths.directories(item.directory)
    }


def _has_directory(folder: ManagedObject, scan: Scan, folders: Folders) -> bool:
    """Return whether the directory of a stored folder exists and has no other folder."""
    is_present = folder.directory in scan.existing_directories
    return is_present and folders.names.get(folder.directory, folder.key.name) == folder.key.name


def _foreign_faults(
    prepared_files: Iterable[PreparedFile],
    managed: Mapping[Key, ManagedObject],
    managers: Mapping[Key, Manager],
    blocked_directories: Mapping[str, str],
    repository: str,
) -> dict[tuple[str, int], Fault]:
    """Return the faults of files whose object has another manager or whose directory cannot have a folder, by identity of the file."""
    faults = {}
    for file in prepared_files:
        reason = write_refusal(file.key, managers.get(file.key), repository) if file.key not in managed else ""
        reason = reason or blocked_directories.get(paths.parent(file.path), "")
        if reason:
            faults[file.identity] = Fault(file.path, reason, file.stored_objects, file.key.name, resource=file.key.resource)
    return faults


@dataclass(frozen=True, slots=True)
class _SourceFile:
    """The file from which an object is stored."""

    path: str
    #: Checksum of the file, empty if the stored object has another content.
    checksum: str = ""


def _refuse_duplicates(
    prepared_files: Iterable[PreparedFile], source_files: Mapping[Key, _SourceFile]
) -> tuple[dict[tuple[str, int], Fault], dict[tuple[str, int], Fault]]:
    """Choose one file for each key. Return the faults of the other files by identity: those of duplicates, then those of copies.

    The file from which the object is stored is chosen, or else the first one in plan order. A copy has the same bytes as that file.
    The stored objects of a refused file are kept, so other files for these objects are refused, too. ``source_files`` are the files of
    objects that are kept in any case, by key.
    """
    files_by_key: dict[Key, list[PreparedFile]] = {}
    for file in prepared_files:
        files_by_key.setdefault(file.key, []).append(file)
    faults: dict[tuple[str, int], Fault] = {}
    copies: dict[tuple[str, int], Fault] = {}
    # Objects that are kept, with the file that they come from. All other files for them must still be refused.
    pending = deque(source_files.items())

    def refuse(files: Iterable[PreparedFile], source: _SourceFile) -> None:
        """Refuse files for an object that comes from ``source``."""
        for file in files:
            is_copy = not file.stored_objects and file.checksum != "" and file.checksum == source.checksum and file.path != source.path
            if is_copy:
                copies.setdefault(file.identity, _copy_fault(file, source.path))
                continue
            faults.setdefault(file.identity, _duplicate_fault(file, source.path))
            # Two documents of one file may have the name of one stored object, which then comes from the chosen document.
            kept_objects = (item for item in file.stored_objects if (item.key, file.path) != (file.key, source.path))
            pending.extend((item.key, _SourceFile(file.path)) for item in kept_objects)

    def refuse_pending() -> None:
        """Refuse the files for all pending objects, and for those that become pending during this."""
        while pending:
            key, source = pending.popleft()
            refuse(files_by_key.pop(key, ()), source)

    refuse_pending()
    for key, files in list(files_by_key.items()):
        chosen_file = next((file for file in files if any(item.key == key for item in file.stored_objects)), files[0])
        # A refused file may keep an object with this key, and the chosen file is then refused, too.
        files_by_key[key] = [chosen_file]
        refuse((file for file in files if file is not chosen_file), _SourceFile(chosen_file.path, chosen_file.checksum))
    refuse_pending()
    return faults, copies


def _duplicate_fault(file: PreparedFile, other_path: str) -> Fault:
    public_message = f"duplicate resource name: {file.key.name}"
    message = f"{public_message}, twice in {file.path}" if file.path == other_path else f"{public_message}, {file.path} and {other_path}"
    return _fault_of_two_files(file, other_path, message, public_message, file.stored_objects)


def _copy_fault(file: PreparedFile, other_path: str) -> Fault:
    message = f"{file.path} is a copy of {other_path}: only that one is synced"
    return _fault_of_two_files(file, other_path, message, "the file is a copy of another one, and only that one is synced", ())


def _fault_of_two_files(
    file: PreparedFile, other_path: str, message: str, public_message: str, stored_objects: tuple[ManagedObject, ...]
) -> Fault:
    """Return a fault of a file because of the file at ``other_path``."""
    return Fault(
        file.path,
        message,
        stored_objects,
        file.key.name,
        public_message=public_message,
        other_path=other_path,
        resource=file.key.resource,
    )


def _in_plan_order(faults: Mapping[tuple[str, int], Fault]) -> list[Fault]:
    return sorted(faults.values(), key=lambda fault: paths.plan_order(fault.path))
