"""The effect of files on stored objects: the plan of a sync, made for a few files."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import object_name
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.jobs.selection import Selection, check_selected
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.models.repository_calls import Touch
from dashwright.common.models.repository_views import ResourceAction
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, SyncJob, SyncTools, plan_sync
from dashwright.jobs_worker.domain.files.proposal import checksum_of
from dashwright.jobs_worker.domain.files.touches import nearest_folder, touch, touches_of
from dashwright.jobs_worker.domain.files.wrapper import FileView
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, File, Key, Repository
from dashwright.jobs_worker.domain.plan import write_of
from dashwright.jobs_worker.domain.resource import Reader, Resource
from dashwright.jobs_worker.domain.survey import Fault
from dashwright.jobs_worker.ports import Checkout, Objects


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """A repository with the objects of its namespace and the tools that plan a change."""

    repository: Repository
    objects: Objects
    tools: SyncTools

    @property
    def job(self) -> SyncJob:
        """The sync of the repository."""
        return SyncJob.of(self.repository)

    @property
    def selection(self) -> Selection:
        """The files that the repository syncs."""
        return Selection.of_repository(self.repository.spec)

    @property
    def in_git(self) -> bool:
        """``True`` for a repository on a git host, ``False`` for a folder."""
        return self.repository.spec.type is not RepositoryType.LOCAL

    @property
    def reader(self) -> Reader:
        """The reader of the repository's files."""
        return self.tools.reader(self.repository.namespace, self.repository.name)


class ProposedCheckout:
    """A checkout as it would be after some edits. Without a checkout there are no files before."""

    def __init__(self, checkout: Checkout | None, edits: Sequence[Edit], *, in_git: bool) -> None:
        self._checkout = checkout
        self._bodies = {edit.path: edit.body for edit in edits}
        self._in_git = in_git

    @property
    def commit(self) -> str:
        """The commit before the edits."""
        return self._checkout.commit if self._checkout is not None else ""

    async def entries(self) -> Sequence[Entry]:
        """Return the entries before the edits."""
        return await self._checkout.entries() if self._checkout is not None else ()

    async def difference_since(self, since: str, also: Collection[str] = ()) -> None:
        """Return None: nothing of the proposal is stored, so there is no commit to compare with."""

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file as the edits leave it."""
        below = _open_reader(self._checkout)

        def read(path: str) -> File:
            body = self._bodies.get(path)
            return below(path) if body is None else File(body, checksum_of(body, in_git=self._in_git))

        return read


async def read_file(checkout: Checkout | None, path: str) -> File:
    """Return a file. Raises NotFound, TooLarge, Invalid, SourceFailed, and BadRequest if the path is not a plain file."""
    return await asyncio.to_thread(lambda: _open_reader(checkout)(path))


def _open_reader(checkout: Checkout | None) -> Callable[[str], File]:
    reading = checkout.open_reader() if checkout is not None else None

    def read(path: str) -> File:
        if reading is None:
            raise NotFound(f"file not found: {path}")
        try:
            return reading(path)
        except NotFound as missing:
            raise NotFound(f"file not found: {path}") from missing
        except Forbidden as refusal:
            raise BadRequest(f"{path}: {refusal.message}") from refusal

    return read


async def holds(checkout: Checkout, edits: Sequence[Edit]) -> bool:
    """Return whether the files of the checkout are as the edits leave them."""
    read = checkout.open_reader()
    return await asyncio.to_thread(lambda: all(_body_at(read, edit.path) == edit.body for edit in edits))


def _body_at(read: Callable[[str], File], path: str) -> bytes | None:
    try:
        return read(path).body
    except (NotFound, Forbidden):
        return None


def check_selection(context: ChangeContext, edits: Sequence[Edit]) -> None:
    """Raise BadRequest if a file would be written that no sync looks at."""
    for edit in edits:
        if edit.body is not None:
            directory = paths.parent(edit.path)
            check_selected(context.selection, directory if edit.path == directory + paths.KEEP else edit.path)


async def plan_files(context: ChangeContext, checkout: Checkout, difference: Difference) -> PlannedSync:
    """Return the plan for the files of a difference.

    Raises Conflict if the root folder belongs to another manager, and what the ports raise.
    """
    return await plan_sync(context.job, checkout, context.objects, NullReporter(), context.tools, JobProgress(), difference)


async def touches_of_plan(context: ChangeContext, planned: PlannedSync) -> list[Touch]:
    """Return the touches of everything that a plan writes and deletes."""
    others = sorted(planned.plan.existing - planned.plan.ours.keys())
    owners = await context.objects.owners(context.repository.namespace, others) if others else {}
    return touches_of(planned.plan, planned.folders, owners)


def with_resources(entries: Collection[Entry]) -> set[str]:
    """Return the directories that may become folders: those with a resource file in them or below."""
    return {directory for entry in entries if paths.is_resource(entry.path) for directory in paths.directories(entry.path)}


async def touches_of_file(context: ChangeContext, planned: PlannedSync, verb: str, key: Key, path: str) -> list[Touch]:
    """Return the touches of the object at a path, in its folder.

    If the file names an object of another folder, both folders count.
    """
    here = nearest_folder(planned.plan, planned.folders, paths.parent(path))
    if (stored := planned.plan.ours.get(key)) is not None:
        there = stored.folder or None
    else:
        owners = await context.objects.owners(context.repository.namespace, [key])
        there = owners[key].folder or None if key in owners else here
    return [touch(verb, key, there), *([] if there == here else [touch(verb, key._replace(name=""), here)])]


def touches_of_unknown(
    context: ChangeContext, planned: PlannedSync, ref: str, files: Collection[str], there: AbstractSet[str]
) -> list[Touch]:
    """Return a touch of the whole repository if a file's directory has no stored folder, because the rights on it are unknown.

    On the repository's own branch (empty ``ref``) this applies to directories ``there`` that were not synced yet and have no stored folder
    above. New directories of the change itself take the rights of the folder above.
    """
    if ref:
        unknown = any(directory and planned.folders.key(directory) not in planned.plan.existing for directory in map(paths.parent, files))
    else:
        # The names in the plan do not help: it may take an existing directory for the one that the change moves.
        stored = {item.path.rstrip("/") + "/" for item in planned.plan.ours.values() if item.key.group == FOLDER.group}
        ways = [] if planned.folders.key("") in planned.plan.existing else [{*paths.directories(file)} for file in files]
        unknown = any(not way & stored and any(map(_makes_folder, way & there)) for way in ways)
    return [touch("update", Key(REPOSITORY.group, REPOSITORY.plural, context.repository.name), None)] if unknown else []


def _makes_folder(directory: str) -> bool:
    try:
        paths.check_path(directory)
    except BadRequest:
        return False
    return True


async def view_file(
    context: ChangeContext, planned: PlannedSync, checkout: Checkout, path: str, ref: str, *, is_tried: bool = True
) -> tuple[FileView, Key]:
    """Return the view of a file with its object, and the object's key; for an unreadable file the key that the path has.

    With ``is_tried`` a valid file is stored in a dry run. Raises Forbidden if a quota does not allow it.
    """
    file = await read_file(checkout, path)
    resource, errors = await asyncio.to_thread(_read, context, path, file)
    key = resource.key if resource is not None else key_at(context, planned, path)
    version = resource.version if resource is not None else DASHBOARD.version
    existing = await context.objects.get_json(context.repository.namespace, key, version)
    write = None
    if resource is not None:
        write = write_of(path, file.checksum, resource, planned.folders, is_new=existing is None)
    refused = (*planned.plan.faults, *planned.plan.copies)
    faults = [fault.shown or fault.message for fault in refused if concerns(fault, path)]
    errors += [message for message in faults if message not in errors]
    if not context.selection.takes(path):
        errors.append("the file is not selected by include and exclude of the repository's spec")
    dry_run = await context.objects.dry_run(context.repository.namespace, write) if write is not None and is_tried and not errors else None
    action = ResourceAction.UPDATE if existing is not None else ResourceAction.CREATE
    classic = resource is not None and resource.is_classic
    return FileView(path, ref, checkout.commit, file.checksum, classic, write, existing, dry_run, action, errors), key


def concerns(fault: Fault, path: str) -> bool:
    """Return whether a fault is about the file or a directory above it."""
    return fault.path in (path, *paths.directories(path))


def _read(context: ChangeContext, path: str, file: File) -> tuple[Resource | None, list[str]]:
    try:
        return context.reader.read(path, file.body), []
    except DashwrightError as fault:
        if fault.status >= 500:
            raise
        return None, [fault.message]


def key_at(context: ChangeContext, planned: PlannedSync, path: str) -> Key:
    """Return the key of a path from which no object can be read: the stored object's, or the one generated from the path."""
    stored = next((item.key for item in planned.plan.ours.values() if item.path == path and item.key.group == DASHBOARD.group), None)
    return stored or Key(DASHBOARD.group, DASHBOARD.plural, object_name(context.repository.name, path))
