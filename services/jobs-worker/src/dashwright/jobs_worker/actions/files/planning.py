"""The effect of files on stored objects: the plan of a sync, made for a few files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
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
from dashwright.jobs_worker.domain.file_kinds import kind_of_plural
from dashwright.jobs_worker.domain.file_resources import read_resources
from dashwright.jobs_worker.domain.files.differences import checksum_of, difference_of
from dashwright.jobs_worker.domain.files.touches import nearest_folder, touch, touches_of
from dashwright.jobs_worker.domain.files.wrapper import FileView
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, File, Key, Repository
from dashwright.jobs_worker.domain.plan import write_for
from dashwright.jobs_worker.domain.resource import Resource, ResourceReader
from dashwright.jobs_worker.domain.scan import Fault
from dashwright.jobs_worker.ports import Checkout, DryRunStore


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """A repository, the store of the objects of its namespace, and the tools with which a change is planned."""

    repository: Repository
    store: DryRunStore
    tools: SyncTools

    @property
    def sync_job(self) -> SyncJob:
        """The sync of the repository."""
        return SyncJob.from_repository(self.repository)

    @property
    def selection(self) -> Selection:
        """The files that the repository syncs."""
        return Selection.of_repository(self.repository.spec)

    @property
    def in_git(self) -> bool:
        """``True`` for a repository on a git host, ``False`` for a local directory."""
        return self.repository.spec.type is not RepositoryType.LOCAL

    @property
    def reader(self) -> ResourceReader:
        """The reader of the repository's files."""
        return self.tools.reader(self.repository.namespace, self.repository.name)


class ProposedCheckout:
    """A checkout on which edits are applied in memory. Without a checkout the repository has no files before the edits."""

    def __init__(self, checkout: Checkout | None, edits: Sequence[Edit], *, in_git: bool) -> None:
        self._checkout = checkout
        self._edits = edits
        self._bodies = {edit.path: edit.body for edit in edits}
        self._in_git = in_git

    @property
    def commit(self) -> str:
        """The commit before the edits."""
        return self._checkout.commit if self._checkout is not None else ""

    async def entries(self) -> Sequence[Entry]:
        """Return the entries as the edits leave them."""
        entries = await self._checkout.entries() if self._checkout is not None else ()
        difference = difference_of(entries, self._edits, in_git=self._in_git)
        return [*(entry for entry in entries if entry.path not in difference.paths), *difference.entries]

    async def entries_at(self, paths: Collection[str]) -> Sequence[Entry]:
        """Return the existing files among ``paths`` as the edits leave them."""
        edited_entries = [
            Entry(path, checksum_of(body, in_git=self._in_git), len(body))
            for path, body in self._bodies.items()
            if path in paths and body is not None
        ]
        other_paths = [path for path in paths if path not in self._bodies]
        return [*edited_entries, *(await self._checkout.entries_at(other_paths) if self._checkout is not None else ())]

    async def difference_since(self, base_commit: str, extra_paths: Collection[str] = ()) -> None:
        """Return None: proposed files have no commit, so there is no difference between commits."""

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file as the edits leave it."""
        read_before = _open_reader(self._checkout)

        def read(path: str) -> File:
            if path not in self._bodies:
                return read_before(path)
            body = self._bodies[path]
            if body is None:
                raise NotFound(f"file not found: {path}")
            return File(body, checksum_of(body, in_git=self._in_git))

        return read

    @asynccontextmanager
    async def reading(self, checksums: Sequence[str]) -> AsyncIterator[Callable[[str, str], File]]:
        """Yield a function that reads a file as the edits leave it."""
        read = await asyncio.to_thread(self.open_reader)
        yield lambda path, _: read(path)


async def read_file(checkout: Checkout | None, path: str) -> File:
    """Return a file. Raises NotFound, TooLarge, Invalid, SourceFailed, and BadRequest if the path is not a plain file."""
    return await asyncio.to_thread(lambda: _open_reader(checkout)(path))


def _open_reader(checkout: Checkout | None) -> Callable[[str], File]:
    """Return a function that reads a file by path. Its errors name the path, and an unreadable file is a BadRequest."""
    read_from_checkout = checkout.open_reader() if checkout is not None else None

    def read(path: str) -> File:
        if read_from_checkout is None:
            raise NotFound(f"file not found: {path}")
        try:
            return read_from_checkout(path)
        except NotFound as missing:
            raise NotFound(f"file not found: {path}") from missing
        except Forbidden as refusal:
            raise BadRequest(f"{path}: {refusal.message}") from refusal

    return read


async def files_match(checkout: Checkout, edits: Sequence[Edit]) -> bool:
    """Return whether every edited file has the content of its edit in the checkout."""
    read = checkout.open_reader()
    return await asyncio.to_thread(lambda: all(_body_at(read, edit.path) == edit.body for edit in edits))


def _body_at(read: Callable[[str], File], path: str) -> bytes | None:
    """Return the content of a file; None if it is missing or may not be read."""
    try:
        return read(path).body
    except (NotFound, Forbidden):
        return None


def check_selection(context: ChangeContext, edits: Sequence[Edit]) -> None:
    """Raise BadRequest if an edit writes a file that syncs do not include."""
    for edit in edits:
        if edit.body is not None:
            directory = paths.parent(edit.path)
            check_selected(context.selection, directory if edit.path == directory + paths.KEEP_FILE else edit.path)


async def plan_files(context: ChangeContext, checkout: Checkout, difference: Difference) -> PlannedSync:
    """Return the plan for the files of a difference.

    Raises the errors of ``plan_sync``, such as Conflict if the root folder belongs to another manager.
    """
    return await plan_sync(context.sync_job, checkout, context.store, NullReporter(), context.tools, JobProgress(), difference)


async def touches_of_plan(context: ChangeContext, planned_sync: PlannedSync) -> list[Touch]:
    """Return the touches of all objects that a plan writes and deletes."""
    foreign_keys = sorted(planned_sync.plan.existing - planned_sync.plan.managed.keys())
    managers = await context.store.managers(context.repository.namespace, foreign_keys) if foreign_keys else {}
    return touches_of(planned_sync.plan, planned_sync.folders, managers)


def resource_directories(entries: Collection[Entry]) -> set[str]:
    """Return the directories that may become folders, because they or directories below them contain a resource file."""
    return paths.all_directories(entry.path for entry in entries if paths.is_resource(entry.path))


async def touches_of_file(context: ChangeContext, planned_sync: PlannedSync, verb: str, key: Key, path: str) -> list[Touch]:
    """Return a touch of the object in its folder.

    If the directory of ``path`` has another folder, return a touch of an unnamed object in that folder, too.
    """
    directory_folder = nearest_folder(planned_sync.plan, planned_sync.folders, paths.parent(path))
    if (stored_object := planned_sync.plan.managed.get(key)) is not None:
        object_folder = stored_object.folder or None
    else:
        managers = await context.store.managers(context.repository.namespace, [key])
        object_folder = managers[key].folder or None if key in managers else directory_folder
    return [
        touch(verb, key, object_folder),
        *([] if object_folder == directory_folder else [touch(verb, key._replace(name=""), directory_folder)]),
    ]


def touches_of_repository(
    context: ChangeContext, planned_sync: PlannedSync, ref: str, files: Collection[str], existing_directories: AbstractSet[str]
) -> list[Touch]:
    """Return a touch of the repository if the rights on the directory of one of ``files`` are unknown; else an empty list.

    On another branch (``ref``), the rights on every directory without a stored folder are unknown. On the repository's own branch, the
    rights on a directory of ``existing_directories`` are unknown if neither the directory nor a directory above it has a stored folder.
    A directory that the change creates has the rights of the folder above it.
    """
    if ref:
        are_rights_unknown = any(
            directory and planned_sync.folders.key(directory) not in planned_sync.plan.existing for directory in map(paths.parent, files)
        )
    else:
        # The plan may treat an existing directory as the target of a move, so its names of folders cannot be used here.
        stored_directories = {item.directory for item in planned_sync.plan.managed.values() if item.key.group == FOLDER.group}
        # A stored root folder determines the rights on all directories.
        has_stored_root = planned_sync.folders.key("") in planned_sync.plan.existing
        directories_above_files = [] if has_stored_root else [{*paths.directories(file)} for file in files]
        are_rights_unknown = any(
            not directories & stored_directories and any(map(_can_be_folder, directories & existing_directories))
            for directories in directories_above_files
        )
    return [touch("update", Key(REPOSITORY.group, REPOSITORY.plural, context.repository.name), None)] if are_rights_unknown else []


def _can_be_folder(directory: str) -> bool:
    """Return whether a sync stores a folder for the directory, which depends on the rules on paths."""
    try:
        paths.check_path(directory)
    except BadRequest:
        return False
    return True


async def view_file(
    context: ChangeContext, planned_sync: PlannedSync, checkout: Checkout, path: str, ref: str, *, with_dry_run: bool = True
) -> tuple[FileView, Key]:
    """Return the view of a file with its object, and the key of the object. An unreadable file has the key of its path.

    With ``with_dry_run`` the object of a valid file is stored in a dry run. Raises Forbidden if a quota does not allow it.
    """
    file = await read_file(checkout, path)
    if paths.is_folder_file(path):
        return await _view_folder_file(context, planned_sync, checkout.commit, path, ref, file, with_dry_run=with_dry_run)
    resource, errors = await asyncio.to_thread(_read_resource, context, path, file)
    key = resource.key if resource is not None else key_at(context, planned_sync, path)
    version = resource.version if resource is not None else kind_of_plural(key.resource).version
    existing = await context.store.get_json(context.repository.namespace, key, version)
    write = None
    if resource is not None:
        write = write_for(path, file.checksum, resource, planned_sync.folders, is_new=existing is None)
    errors += [message for message in _plan_messages(context, planned_sync, path) if message not in errors]
    dry_run = (
        await context.store.dry_run(context.repository.namespace, write) if write is not None and with_dry_run and not errors else None
    )
    action = ResourceAction.UPDATE if existing is not None else ResourceAction.CREATE
    is_classic = resource is not None and resource.is_classic
    return FileView(path, ref, checkout.commit, file.checksum, is_classic, write, existing, dry_run, action, errors), key


def _plan_messages(context: ChangeContext, planned_sync: PlannedSync, path: str) -> list[str]:
    """Return why the file at a path cannot be stored, apart from its own content."""
    faults_of_plan = (*planned_sync.plan.faults, *planned_sync.plan.copies, *planned_sync.plan.folder_faults)
    messages = [fault.public_message or fault.message for fault in faults_of_plan if affects(fault, path)]
    if not context.selection.includes(path):
        messages.append("the file is not selected by include and exclude of the repository's spec")
    return messages


async def _view_folder_file(
    context: ChangeContext, planned_sync: PlannedSync, commit: str, path: str, ref: str, file: File, *, with_dry_run: bool
) -> tuple[FileView, Key]:
    """Return the view of a ``_folder.json`` with the folder of its directory, and the key of the folder."""
    namespace, folders, directory = context.repository.namespace, planned_sync.folders, paths.parent(path)
    key, errors = folders.key(directory), _plan_messages(context, planned_sync, path)
    existing = await context.store.get_json(namespace, key, FOLDER.version)
    write = None if errors else folders.write_for(directory, is_new=existing is None)
    dry_run = await context.store.dry_run(namespace, write) if write is not None and with_dry_run else None
    action = ResourceAction.UPDATE if existing is not None else ResourceAction.CREATE
    return FileView(path, ref, commit, file.checksum, write=write, existing=existing, dry_run=dry_run, action=action, errors=errors), key


def affects(fault: Fault, path: str) -> bool:
    """Return whether a fault is about the file or a directory above it."""
    return fault.path in (path, *paths.directories(path))


def _read_resource(context: ChangeContext, path: str, file: File) -> tuple[Resource | None, list[str]]:
    """Return the first resource of a file, None if it has no valid one, and the faults of the file."""
    try:
        content = read_resources(context.reader, path, file.body)
        return content.resources[0], [content.fault] if content.fault else []
    except DashwrightError as fault:
        if fault.is_server_error:
            raise
        return None, [fault.message]


def key_at(context: ChangeContext, planned_sync: PlannedSync, path: str) -> Key:
    """Return the key for a file from which no object can be read: the key of its stored object, else one generated from the path."""
    if paths.is_folder_file(path):
        return planned_sync.folders.key(paths.parent(path))
    stored_key = next(
        (item.key for item in planned_sync.plan.managed.values() if item.path == path and item.key.group == DASHBOARD.group), None
    )
    return stored_key or Key(DASHBOARD.group, DASHBOARD.plural, object_name(context.repository.name, path))
