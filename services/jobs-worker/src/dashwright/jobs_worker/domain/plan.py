"""The plan of a sync: every conflict is decided before anything is written, so that all of it can be written in one transaction.

A refused file never costs what is stored of it, and two files never overwrite one another.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dashwright.common.errors import Conflict
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.folders import Folders, shallow_first
from dashwright.jobs_worker.domain.objects import Key, ManagedObject, Owner, Write
from dashwright.jobs_worker.domain.ownership import annotations, write_refusal
from dashwright.jobs_worker.domain.resource import Resource
from dashwright.jobs_worker.domain.survey import Fault, IgnoredFile, Survey


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file that was read. There may be very many, so the resource itself waits in the spool."""

    path: str
    #: Checksum of the bytes that were read.
    checksum: str
    key: Key
    #: Objects that the path stands for so far.
    stored: tuple[ManagedObject, ...]
    #: Ticket of the resource in the spool.
    ticket: int


def write_of(path: str, checksum: str, resource: Resource, folders: Folders, *, is_new: bool) -> Write:
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
        annotations={**resource.annotations, **annotations(folders.repository, path, checksum, folder)},
    )


@dataclass(slots=True)
class Plan:
    """The changes that a sync makes."""

    #: Objects that the repository owns before, by key.
    ours: Mapping[Key, ManagedObject]
    #: Keys that are stored already, of the repository and of other managers.
    existing: frozenset[Key]
    #: Directories whose folders are created or updated, parents first.
    directories: list[str] = field(default_factory=list)
    #: Files whose objects are written, in plan order.
    writes: list[PreparedFile] = field(default_factory=list)
    #: Objects to delete, then folders, deepest first.
    removals: list[ManagedObject] = field(default_factory=list)
    #: Objects that are as they must be.
    unchanged: list[ManagedObject] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    #: Files with the bytes of the file that their object comes from; not errors.
    copies: list[Fault] = field(default_factory=list)
    #: Files without a resource; not errors.
    ignored: list[IgnoredFile] = field(default_factory=list)

    @property
    def changes(self) -> int:
        """The number of writes and deletions."""
        return len(self.directories) + len(self.writes) + len(self.removals)


def unknown_keys(found: Survey, prepared: Iterable[PreparedFile], managed: Iterable[ManagedObject], folders: Folders) -> list[Key]:
    """Return the keys of objects that would be created: another manager may own them."""
    ours = {item.key for item in managed}
    keys = {file.key for file in prepared} | {folders.key(directory) for directory in found.directories}
    return sorted(keys - ours)


def make_plan(
    found: Survey, prepared: Sequence[PreparedFile], managed: Sequence[ManagedObject], owners: Mapping[Key, Owner], folders: Folders
) -> Plan:
    """Return the plan of a sync. ``found.faults`` includes the faults of reading.

    Raises Conflict if the root folder belongs to another manager.
    """
    ours = {item.key: item for item in managed}
    plan = Plan(ours, frozenset(ours.keys() | owners.keys()))
    plan.faults, plan.unchanged, plan.ignored = list(found.faults), list(found.unchanged), list(found.ignored)
    blocked = _blocked(found, ours, owners, folders)
    plan.faults += [Fault(directory, reason, name=folders.name(directory)) for directory, reason in blocked.items()]
    plan.faults += _refuse_foreign(prepared, plan.ours, owners, blocked, folders.repository)
    refused = {fault.path for fault in plan.faults}
    held = {item.key: _Holder(item.path, item.checksum) for item in found.unchanged}
    held |= {item.key: _Holder(fault.path) for fault in plan.faults for item in fault.stored}
    losers, plan.copies = _refuse_duplicates([file for file in prepared if file.path not in refused], held)
    plan.faults += losers
    refused |= {fault.path for fault in (*losers, *plan.copies)}
    plan.writes = [file for file in prepared if file.path not in refused]
    staying = held.keys() | {item.key for fault in losers for item in fault.stored} | {file.key for file in plan.writes}
    gone = [item for item in managed if item.key.group != FOLDER.group and item.key not in staying]
    plan.removals = sorted(gone, key=_plan_order)
    _plan_folders(plan, found, folders, blocked)
    return plan


def _plan_order(item: ManagedObject) -> tuple[int, str]:
    return paths.plan_order(item.path)


def _blocked(found: Survey, ours: Mapping[Key, ManagedObject], owners: Mapping[Key, Owner], folders: Folders) -> dict[str, str]:
    """Return the directories that cannot have a folder, with the reason. Raises Conflict for the root's."""
    blocked: dict[str, str] = {}
    for directory in shallow_first(found.directories):
        key = folders.key(directory)
        reason = "" if key in ours else write_refusal(key, owners.get(key), folders.repository)
        if reason and not directory:
            raise Conflict(f"{reason}: folder '{key.name}' exists; rename the repository, or remove the folder")
        if reason := reason or (blocked.get(paths.parent(directory), "") if directory else ""):
            blocked[directory] = reason
    return blocked


def _plan_folders(plan: Plan, found: Survey, folders: Folders, blocked: Mapping[str, str]) -> None:
    """Add the folders to write, and as last deletions those to remove."""
    resources = [item.path for item in found.unchanged] + [file.path for file in plan.writes]
    needed = {directory for path in resources for directory in paths.directories(path)} | found.requested_directories | {""}
    with_folder = found.directories & needed - blocked.keys()
    for directory in shallow_first(with_folder):
        stored = plan.ours.get(folders.key(directory))
        if stored is not None and folders.is_current(directory, stored):
            plan.unchanged.append(stored)
        else:
            plan.directories.append(directory)
    staying = {folders.key(directory) for directory in with_folder}
    gone = [
        item
        for item in plan.ours.values()
        if item.key.group == FOLDER.group and item.key not in staying and item.path.rstrip("/") + "/" not in found.existing_directories
    ]
    plan.removals += sorted(gone, key=_plan_order)


def _refuse_foreign(
    prepared: Iterable[PreparedFile],
    ours: Mapping[Key, ManagedObject],
    owners: Mapping[Key, Owner],
    blocked: Mapping[str, str],
    repository: str,
) -> list[Fault]:
    faults = []
    for file in prepared:
        reason = write_refusal(file.key, owners.get(file.key), repository) if file.key not in ours else ""
        reason = reason or blocked.get(paths.parent(file.path), "")
        if reason:
            faults.append(Fault(file.path, reason, file.stored, file.key.name))
    return faults


@dataclass(frozen=True, slots=True)
class _Holder:
    """The file that an object comes from."""

    path: str
    #: Checksum of its bytes, empty if they are not what is stored.
    checksum: str = ""


def _refuse_duplicates(prepared: Iterable[PreparedFile], held: Mapping[Key, _Holder]) -> tuple[list[Fault], list[Fault]]:
    """Leave one file for each name and return the others as faults and copies.

    The file that has the name keeps it, else the first in plan order. A refused file keeps what is stored of it and may so refuse the next
    file; each file is examined once.
    """
    rivals: dict[Key, list[PreparedFile]] = {}
    for file in prepared:
        rivals.setdefault(file.key, []).append(file)
    faults: dict[str, Fault] = {}
    copies: dict[str, Fault] = {}
    holding = deque(held.items())

    def refuse(files: Iterable[PreparedFile], other: _Holder) -> None:
        for file in files:
            if not file.stored and file.checksum and file.checksum == other.checksum:
                copies.setdefault(file.path, _copy(file, other.path))
                continue
            faults.setdefault(file.path, _duplicate(file, other.path))
            holding.extend((item.key, _Holder(file.path)) for item in file.stored)

    def settle_held() -> None:
        while holding:
            key, holder = holding.popleft()
            refuse(rivals.pop(key, ()), holder)

    settle_held()
    for key, files in list(rivals.items()):
        winner = next((file for file in files if any(item.key == key for item in file.stored)), files[0])
        rivals[key] = [winner]
        refuse((file for file in files if file is not winner), _Holder(winner.path, winner.checksum))
    settle_held()
    return _in_plan_order(faults), _in_plan_order(copies)


def _duplicate(file: PreparedFile, other: str) -> Fault:
    shown = f"duplicate resource name: {file.key.name}"
    message = f"{shown}, {file.path} and {other}"
    return Fault(file.path, message, file.stored, file.key.name, shown=shown)


def _copy(file: PreparedFile, other: str) -> Fault:
    message = f"{file.path} is a copy of {other}: only that one is synced"
    return Fault(file.path, message, (), file.key.name, shown="the file is a copy of another one, and only that one is synced")


def _in_plan_order(faults: Mapping[str, Fault]) -> list[Fault]:
    return sorted(faults.values(), key=lambda fault: paths.plan_order(fault.path))
