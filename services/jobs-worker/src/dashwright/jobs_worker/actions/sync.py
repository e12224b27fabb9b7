"""The sync: it scans the files of a repository, reads the changed ones, plans, and writes all objects in one transaction.

An invalid file is an error in the summary, and the other files are stored. The plan is complete before the first write, and a sync without
changes writes nothing. Bodies are spooled, so memory contains paths and names but not the content of the repository.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from dashwright.common.errors import PreconditionFailed
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.jobs.selection import ALL_FILES, Selection
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import SyncTarget
from dashwright.jobs_worker.actions.file_batches import quarantined_file, read_batch
from dashwright.jobs_worker.actions.folder_decision import decide_folders, with_folder_files
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Change, Difference, Entry, ManagedObject, Removal, Repository, Snapshot
from dashwright.jobs_worker.domain.plan import Plan, PreparedFile, keys_to_create, make_plan, write_for
from dashwright.jobs_worker.domain.resource import MAX_FOLDER_DEPTH, Resource, ResourceReader, resource_from_bytes, rules_fingerprint
from dashwright.jobs_worker.domain.scan import Fault, scan_entries
from dashwright.jobs_worker.ports import Checkout, ObjectStore, ProgressReporter, Spool

Item = TypeVar("Item")

_BATCH_SIZE: Final = 50
"""Items handled by one call in a thread: enough to make the cost of switching threads negligible."""


@dataclass(frozen=True, slots=True)
class SyncJob:
    """The repository to sync, with its options and selection of files."""

    namespace: str
    repository: str
    #: Title of the repository.
    title: str
    target: SyncTarget
    enabled: bool
    selection: Selection = ALL_FILES

    @classmethod
    def from_repository(cls, repository: Repository) -> "SyncJob":
        """Return the sync of a repository by its spec."""
        spec = repository.spec
        selection = Selection.of_repository(spec)
        return cls(repository.namespace, repository.name, spec.title, spec.sync.target, spec.sync.enabled, selection)


@dataclass(frozen=True, slots=True)
class SyncTools:
    """The spool and settings of a sync."""

    spool: Spool
    admission: AdmissionSettings
    #: Limit on the bytes of one file.
    max_file_bytes: int = MAX_FILE_BYTES
    #: Limit on the levels of directories that become folders.
    max_folder_depth: int = MAX_FOLDER_DEPTH

    def reader(self, namespace: str, repository: str) -> ResourceReader:
        """Return a reader of the files of one repository."""
        return ResourceReader(namespace, repository, self.admission, self.max_file_bytes, self.max_folder_depth)


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A sync that is planned but not written."""

    plan: Plan
    folders: Folders
    snapshot: Snapshot
    #: Difference that was examined; None if all files were.
    difference: Difference | None
    #: ``True`` if the files in quarantine, or the reasons for it, differ from those before the sync.
    has_quarantine_changed: bool


class NullReporter:
    """A reporter that ignores progress."""

    async def report(self, progress: JobProgress) -> None:
        """Do nothing."""
        return


async def sync(
    job: SyncJob,
    checkout: Checkout,
    store: ObjectStore,
    reporter: ProgressReporter,
    tools: SyncTools,
    difference: Difference | None = None,
) -> JobProgress:
    """Sync the repository and return the progress with errors and summary.

    With ``difference`` only its paths are examined. The result is the same as that of a sync of all files. Faults of single files are among
    the errors. Raises PreconditionFailed if sync is disabled, and what ``plan_sync`` and ``apply_plan`` raise. After an error nothing is
    written.
    """
    if not job.enabled:
        raise PreconditionFailed(job_messages.SYNC_DISABLED)
    progress = JobProgress(message=job_messages.SYNC_STARTED)
    await reporter.report(progress)
    planned_sync = await plan_sync(job, checkout, store, reporter, tools, progress, difference)
    await apply_plan(job, planned_sync, store, reporter, tools.spool, progress)
    progress.message = job_messages.UPDATING_STATS
    await reporter.report(progress)
    return progress


async def plan_sync(
    job: SyncJob,
    checkout: Checkout,
    store: ObjectStore,
    reporter: ProgressReporter,
    tools: SyncTools,
    progress: JobProgress,
    difference: Difference | None = None,
) -> PlannedSync:
    """Read the files into the spool and plan the sync. Results that need no write are recorded in ``progress``.

    If a directory gets another folder, all files are examined even with a ``difference``, because all objects in the folder change.

    Raises Conflict if the root folder belongs to another manager, NotFound, Forbidden or TooLarge if the files cannot be listed, and
    SourceFailed if the disk or the mirror fails. Reports of progress raise LeaseLost.
    """
    folders = Folders(job.repository, job.title, has_root_folder=job.target is SyncTarget.FOLDER)
    decide = partial(decide_folders, folders, job.namespace, checkout, store, max_folder_depth=tools.max_folder_depth)
    if difference is not None:
        difference = await with_folder_files(checkout, difference)
    entries = await checkout.entries() if difference is None else difference.entries
    entry_count = len(entries)
    entries = await asyncio.to_thread(_select_entries, entries, job.selection)
    decision = await decide(entries, difference)
    examines_all = difference is None
    if difference is not None and decision.is_renamed:
        examines_all, entries = True, await asyncio.to_thread(_select_entries, await checkout.entries(), job.selection)
        decision = await decide(entries, None)
    folders, managed = decision.folders, decision.managed
    fingerprint = rules_fingerprint(tools.admission, tools.max_file_bytes, tools.max_folder_depth)
    quarantined = await store.quarantined()
    known_faults = {(item.path, item.checksum): item for item in quarantined if item.checksum and item.rules_fingerprint == fingerprint}
    paths_to_read = {item.path for item in quarantined}
    scan = await asyncio.to_thread(scan_entries, entries, managed, folders, known_faults, paths_to_read)
    scan.folder_faults = decision.faults
    new_directories = difference.folders if difference is not None else frozenset()
    scan.requested_directories = frozenset(
        parent for directory in new_directories | decision.directories for parent in paths.directories(directory)
    )
    scan.directories |= scan.requested_directories
    del entries  # The list of 50,000 files takes megabytes, and reading the bodies needs memory.
    progress.message = job_messages.READING
    progress.files_to_read = len(scan.candidates)
    await reporter.report(progress)
    reader = tools.reader(job.namespace, job.repository)
    prepared_files: list[PreparedFile] = []
    # Each batch is read in reverse order, see ``read_batch``.
    checksums = [file.checksum for batch in _batches(scan.candidates) for file in reversed(batch)]
    async with checkout.reading(checksums) as read_file:
        for batch in _consume_batches(scan.candidates):
            prepared_files += await asyncio.to_thread(read_batch, batch, read_file, reader, tools.spool, scan)
            progress.files_read += len(batch)
            await reporter.report(progress)
    if not examines_all:
        unexamined_objects = await _unexamined_objects(job, store, managed, prepared_files)
        managed += unexamined_objects
        scan.unchanged += unexamined_objects
    new_keys = await asyncio.to_thread(keys_to_create, scan, prepared_files, managed, folders)
    plan = await asyncio.to_thread(make_plan, scan, prepared_files, managed, await store.managers(job.namespace, new_keys), folders)
    await asyncio.to_thread(_record_unwritten, progress, plan)
    if difference is None and folders.files:
        _record_missing_folder_files(progress, plan, folders, decision.faults)
    snapshot = _snapshot(plan, checkout.commit, entry_count, difference, fingerprint, examines_all=examines_all)
    previous_quarantine = {item for item in quarantined if snapshot.examined_paths is None or item.path in snapshot.examined_paths}
    return PlannedSync(plan, folders, snapshot, difference, previous_quarantine != set(snapshot.quarantined))


def _snapshot(
    plan: Plan, commit: str, entry_count: int, difference: Difference | None, fingerprint: str, *, examines_all: bool
) -> Snapshot:
    """Return the state of the repository after the plan is written."""
    quarantined = [quarantined_file(faults, fingerprint) for faults in _by_path(plan.faults).values()]
    faulty_paths = {item.path for item in quarantined}
    # Neither copies nor invalid ``_folder.json`` files are errors, but the next syncs must examine them again.
    copies = [fault for fault in (*plan.copies, *plan.folder_faults) if fault.path not in faulty_paths]
    quarantined += [replace(quarantined_file(faults, ""), checksum="", is_copy=True) for faults in _by_path(copies).values()]
    if difference is None:
        return Snapshot(commit, quarantined=quarantined, entry_count=entry_count)
    return Snapshot(commit, difference.base_commit, None if examines_all else difference.paths, quarantined, difference.growth)


def _by_path(faults: Iterable[Fault]) -> Mapping[str, list[Fault]]:
    """Return the faults by path. A file may have several faults, because each of its documents may have one."""
    faults_by_path: defaultdict[str, list[Fault]] = defaultdict(list)
    for fault in faults:
        faults_by_path[fault.path].append(fault)
    return faults_by_path


async def apply_plan(
    job: SyncJob, planned_sync: PlannedSync, store: ObjectStore, reporter: ProgressReporter, spool: Spool, progress: JobProgress
) -> None:
    """Write the plan in one transaction and count the results.

    Raises Conflict, Overtaken and LeaseLost. After an error nothing is written.
    """
    plan, folders, difference = planned_sync.plan, planned_sync.folders, planned_sync.difference
    if not plan.change_count:
        progress.final_message = job_messages.NOTHING_TO_SYNC if difference is None or difference.paths else job_messages.NO_DIFFERENCE
        if planned_sync.snapshot.commit or planned_sync.has_quarantine_changed:
            await store.store_snapshot(planned_sync.snapshot)
        return
    progress.message = job_messages.REPLICATING if difference is None else job_messages.REPLICATING_DIFFERENCE
    await reporter.report(progress)
    async with aclosing(_changes(plan, folders, spool, progress, reporter)) as changes:
        await store.apply(job.namespace, changes, planned_sync.snapshot)
    await asyncio.to_thread(record_written, progress, plan, folders)
    if difference is not None:
        progress.message = job_messages.REPLICATED_DIFFERENCE
        await reporter.report(progress)


def _select_entries(entries: Sequence[Entry], selection: Selection) -> Sequence[Entry]:
    return entries if selection == ALL_FILES else [entry for entry in entries if selection.includes(entry.path)]


async def _unexamined_objects(
    job: SyncJob, store: ObjectStore, managed: Sequence[ManagedObject], prepared_files: Sequence[PreparedFile]
) -> Sequence[ManagedObject]:
    """Return the stored objects whose keys are in prepared files, but that were stored from files that were not examined."""
    keys = {file.key for file in prepared_files} - {item.key for item in managed}
    return await store.managed_at(job.namespace, job.repository, (), keys) if keys else ()


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield slices of the items, each for one call in a thread."""
    return (items[first : first + _BATCH_SIZE] for first in range(0, len(items), _BATCH_SIZE))


def _consume_batches(items: list[Item]) -> Iterator[Sequence[Item]]:
    """Yield slices of the items and remove them from the list, so that their memory can be freed."""
    # From the end, because removing from the beginning of a list moves all of its other items.
    items.reverse()
    while items:
        batch = items[: -_BATCH_SIZE - 1 : -1]
        del items[-_BATCH_SIZE:]
        yield batch


async def _changes(
    plan: Plan, folders: Folders, spool: Spool, progress: JobProgress, reporter: ProgressReporter
) -> AsyncGenerator[Change, None]:
    """Yield folders from the top, then dashboards, then deletions, so that each change is possible after the ones before it."""
    for directory in plan.directories:
        yield folders.write_for(directory, is_new=folders.key(directory) not in plan.existing)
        await _report_uncommitted(progress, reporter)
    for files in _batches(plan.writes):
        for file, resource in zip(files, await asyncio.to_thread(_resources, files, spool), strict=True):
            yield write_for(file.path, file.checksum, resource, folders, is_new=file.key not in plan.existing)
            await _report_uncommitted(progress, reporter)
    for item in plan.removals:
        yield Removal(item.key)
        await _report_uncommitted(progress, reporter)


def _resources(files: Sequence[PreparedFile], spool: Spool) -> list[Resource]:
    return [resource_from_bytes(spool.get(file.ticket)) for file in files]


async def _report_uncommitted(progress: JobProgress, reporter: ProgressReporter) -> None:
    """Report that one more change was sent to the store, whose transaction is not committed yet."""
    progress.uncommitted += 1
    await reporter.report(progress)


def _record_missing_folder_files(progress: JobProgress, plan: Plan, folders: Folders, faults: Sequence[Fault]) -> None:
    """Record a warning for each folder without a ``_folder.json``, in a repository that has such files."""
    stored_directories = (item.directory for item in plan.unchanged if item.key.group == FOLDER.group and item.path)
    described_directories = folders.files.keys() | {paths.parent(fault.path) for fault in faults}
    for directory in sorted({*plan.directories, *stored_directories} - described_directories - {""}):
        warning = f"{directory} has no {paths.FOLDER_FILE}: its folder has a generated uid, which another server may generate differently"
        progress.record(Result(Effect.UNCOUNTED, FOLDER.group, FOLDER.plural, directory, warning=warning))
        progress.total += 1


def _record_unwritten(progress: JobProgress, plan: Plan) -> None:
    """Record the results that need no write: faults, and objects that are up to date."""
    warning_count = len(plan.copies) + len(plan.folder_faults) + len(plan.ignored)
    progress.total = len(plan.unchanged) + len(plan.faults) + warning_count + plan.change_count
    unchanged_counts = Counter((item.key.group, item.key.resource, not item.path) for item in plan.unchanged)
    for (group, resource, is_root_folder), count in unchanged_counts.items():
        progress.record(Result(_effect_to_count(Effect.NOOP, is_root_folder=is_root_folder), group, resource, path=""), count)
    for fault in plan.faults:
        kind, effect = fault.kind, Effect.UPDATE if fault.stored_objects else Effect.CREATE
        progress.record(Result(effect, kind.group, kind.plural, fault.path, fault.name, fault.message))
    for copied_file in plan.copies:
        kind = copied_file.kind
        progress.record(Result(Effect.IGNORED, kind.group, kind.plural, copied_file.path, copied_file.name, warning=copied_file.message))
    for fault in plan.folder_faults:
        progress.record(Result(Effect.UNCOUNTED, FOLDER.group, FOLDER.plural, fault.path, fault.name, warning=fault.message))
    for file in sorted(plan.ignored, key=lambda file: paths.plan_order(file.path)):
        progress.record(Result(Effect.IGNORED, DASHBOARD.group, DASHBOARD.plural, file.path, warning=file.remark))


def record_written(progress: JobProgress, plan: Plan, folders: Folders) -> None:
    """Record the results of the writes. Call it after the transaction is committed."""
    progress.uncommitted = 0
    written_objects = [(folders.key(directory), directory) for directory in plan.directories] + [
        (file.key, file.path) for file in plan.writes
    ]
    effects = [(Effect.UPDATE if key in plan.existing else Effect.CREATE, key, path) for key, path in written_objects]
    effects += [(Effect.DELETE, item.key, item.path) for item in plan.removals]
    counts = Counter((_effect_to_count(effect, is_root_folder=not path), key.group, key.resource) for effect, key, path in effects)
    for (effect, group, resource), count in counts.items():
        progress.record(Result(effect, group, resource, path=""), count)


def _effect_to_count(effect: Effect, *, is_root_folder: bool) -> Effect:
    """Return the effect to count. The summary does not count the repository's root folder, because no directory has its name."""
    return Effect.UNCOUNTED if is_root_folder else effect
