"""The sync: store what the files of a repository hold. It surveys, reads what changed, plans, and writes everything in one transaction.

A bad file is an error in the summary while all others are stored. Nothing is written before everything is decided, and nothing at all if
nothing changed. Bodies are spooled, so memory holds paths and names but not the repository.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from dashwright.common.errors import BadRequest, DashwrightError, Invalid, PreconditionFailed, TooLarge
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.jobs.selection import ALL_FILES, Selection
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import SyncTarget
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.identity import folder_names
from dashwright.jobs_worker.domain.objects import Change, Difference, Entry, ManagedObject, QuarantinedFile, Removal, Repository, Snapshot
from dashwright.jobs_worker.domain.plan import Plan, PreparedFile, make_plan, unknown_keys, write_of
from dashwright.jobs_worker.domain.recognition import NoResource
from dashwright.jobs_worker.domain.resource import DEEPEST_FOLDER, Reader, Resource, rules_fingerprint, unpack
from dashwright.jobs_worker.domain.survey import Candidate, Fault, IgnoredFile, Survey, survey
from dashwright.jobs_worker.ports import Checkout, ProgressReporter, Resources, Spool

Item = TypeVar("Item")

_AT_ONCE: Final = 50
"""Items handled by one call in a thread: enough to make the change of threads negligible."""
_LONGEST_MESSAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class SyncJob:
    """The repository to sync, with its options and selection of files."""

    namespace: str
    repository: str
    title: str
    target: SyncTarget
    enabled: bool
    selection: Selection = ALL_FILES

    @classmethod
    def of(cls, repository: Repository) -> "SyncJob":
        """Return the sync of a repository by its spec."""
        spec = repository.spec
        selection = Selection.of_repository(spec)
        return cls(repository.namespace, repository.name, spec.title, spec.sync.target, spec.sync.enabled, selection)


@dataclass(frozen=True, slots=True)
class SyncTools:
    """The means of a sync apart from its ports."""

    spool: Spool
    admission: AdmissionSettings
    #: Bytes.
    largest_file: int = LARGEST_FILE
    #: Levels of directories that become folders.
    deepest_folder: int = DEEPEST_FOLDER

    def reader(self, namespace: str, repository: str) -> Reader:
        """Return a reader of the files of one repository."""
        return Reader(namespace, repository, self.admission, self.largest_file, self.deepest_folder)


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A decided sync, of which nothing is written yet."""

    plan: Plan
    folders: Folders
    snapshot: Snapshot
    #: The part that was examined, None for everything.
    difference: Difference | None
    #: The set of files in quarantine has changed.
    requarantined: bool


class NullReporter:
    """A reporter that ignores progress."""

    async def report(self, progress: JobProgress) -> None:
        """Do nothing."""
        return


async def sync(
    job: SyncJob,
    checkout: Checkout,
    resources: Resources,
    reporter: ProgressReporter,
    tools: SyncTools,
    difference: Difference | None = None,
) -> JobProgress:
    """Sync the repository, or only what ``difference`` names, and return the progress with errors and summary.

    Both leave the same objects. Faults of single files are among the errors. Raises PreconditionFailed if sync is disabled, and what
    ``plan_sync`` and ``apply_plan`` raise: nothing was written then.
    """
    if not job.enabled:
        raise PreconditionFailed(job_messages.SYNC_DISABLED)
    progress = JobProgress(message=job_messages.SYNC_STARTED)
    await reporter.report(progress)
    planned = await plan_sync(job, checkout, resources, reporter, tools, progress, difference)
    await apply_plan(job, planned, resources, reporter, tools.spool, progress)
    progress.message = job_messages.UPDATING_STATS
    await reporter.report(progress)
    return progress


async def plan_sync(
    job: SyncJob,
    checkout: Checkout,
    resources: Resources,
    reporter: ProgressReporter,
    tools: SyncTools,
    progress: JobProgress,
    difference: Difference | None = None,
) -> PlannedSync:
    """Read the files and decide everything; bodies wait in the spool. Results that need no write are recorded in ``progress``.

    Raises Conflict if the root folder belongs to another manager, and what the ports raise.
    """
    folders = Folders(job.repository, job.title, rooted=job.target is SyncTarget.FOLDER)
    entries = await checkout.entries() if difference is None else difference.entries
    looked_at = len(entries)
    entries = await asyncio.to_thread(_selected, entries, job.selection)
    managed, taken = await _managed(job, resources, folders, difference)
    names = await asyncio.to_thread(folder_names, job.repository, entries, managed, taken, commit=checkout.commit)
    folders = replace(folders, names=names)
    judged_by = rules_fingerprint(tools.admission, tools.largest_file, tools.deepest_folder)
    quarantined = await resources.quarantined()
    refused = {(item.path, item.checksum): item for item in quarantined if item.checksum and item.rules == judged_by}
    found = await asyncio.to_thread(survey, entries, managed, folders, refused)
    if difference is not None:
        found.directories |= difference.folders
        found.requested_directories = difference.folders
    del entries  # the list of 50,000 files takes megabytes, and bodies are read next
    progress.message = job_messages.READING
    progress.to_read = len(found.candidates)
    await reporter.report(progress)
    reader = tools.reader(job.namespace, job.repository)
    prepared: list[PreparedFile] = []
    for some in _taken(found.candidates):
        prepared += await asyncio.to_thread(_read, some, checkout, reader, tools.spool, found)
        progress.read += len(some)
        await reporter.report(progress)
    if difference is not None:
        untouched = await _untouched(job, resources, managed, prepared)
        managed += untouched
        found.unchanged += untouched
    unknown = await asyncio.to_thread(unknown_keys, found, prepared, managed, folders)
    plan = await asyncio.to_thread(make_plan, found, prepared, managed, await resources.owners(job.namespace, unknown), folders)
    await asyncio.to_thread(_record_settled, progress, plan)
    snapshot = _snapshot(plan, checkout.commit, looked_at, difference, judged_by)
    before = {item for item in quarantined if difference is None or item.path in difference.paths}
    return PlannedSync(plan, folders, snapshot, difference, before != set(snapshot.quarantined))


def _snapshot(plan: Plan, commit: str, looked_at: int, difference: Difference | None, judged_by: str) -> Snapshot:
    faults = {fault.path: fault for fault in plan.faults}
    quarantined = [
        QuarantinedFile(fault.path, fault.message, fault.name, fault.checksum, judged_by if fault.lasting else "")
        for fault in faults.values()
    ]
    quarantined += [QuarantinedFile(copy.path, copy.message, copy.name, is_copy=True) for copy in plan.copies]
    if difference is None:
        return Snapshot(commit, quarantined=quarantined, entries=looked_at)
    return Snapshot(commit, difference.since, difference.paths, quarantined, difference.growth)


async def apply_plan(
    job: SyncJob, planned: PlannedSync, resources: Resources, reporter: ProgressReporter, spool: Spool, progress: JobProgress
) -> None:
    """Write the plan in one transaction and count the results. Raises what ``resources.apply`` raises; nothing was written then."""
    plan, folders, difference = planned.plan, planned.folders, planned.difference
    if not plan.changes:
        progress.final_message = job_messages.NOTHING_TO_SYNC if difference is None or difference.paths else job_messages.NO_DIFFERENCE
        if planned.snapshot.commit or planned.requarantined:
            await resources.note(planned.snapshot)
        return
    progress.message = job_messages.REPLICATING if difference is None else job_messages.REPLICATING_DIFFERENCE
    await reporter.report(progress)
    async with aclosing(_changes(plan, folders, spool, progress, reporter)) as changes:
        await resources.apply(job.namespace, changes, planned.snapshot)
    await asyncio.to_thread(record_written, progress, plan, folders)
    if difference is not None:
        progress.message = job_messages.REPLICATED_DIFFERENCE
        await reporter.report(progress)


def _selected(entries: Sequence[Entry], selection: Selection) -> Sequence[Entry]:
    return entries if selection == ALL_FILES else [entry for entry in entries if selection.takes(entry.path)]


async def _managed(
    job: SyncJob, resources: Resources, folders: Folders, difference: Difference | None
) -> tuple[list[ManagedObject], set[str]]:
    """Return the stored objects of the examined paths, and the folder names that other directories use."""
    if difference is None:
        return list(await resources.managed(job.namespace, job.repository)), set()
    places = {path.rstrip("/") for path in difference.paths} | {""}
    keys = [folders.key(path) for path in ("", *difference.paths) if paths.is_directory(path) and folders.name(path)]
    stored = await resources.managed_at(job.namespace, job.repository, difference.paths, keys)
    managed = [item for item in stored if item.path.rstrip("/") in places]
    return managed, {item.key.name for item in stored if item.path.rstrip("/") not in places}


async def _untouched(
    job: SyncJob, resources: Resources, managed: Sequence[ManagedObject], prepared: Sequence[PreparedFile]
) -> Sequence[ManagedObject]:
    """Return the objects that files name now although their own, unchanged files were not examined."""
    names = {file.key for file in prepared} - {item.key for item in managed}
    return await resources.managed_at(job.namespace, job.repository, (), names) if names else ()


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield slices of the items, each for one call in a thread."""
    return (items[first : first + _AT_ONCE] for first in range(0, len(items), _AT_ONCE))


def _taken(items: list[Item]) -> Iterator[Sequence[Item]]:
    """Yield slices of the items and remove them from the list, so that memory shrinks."""
    items.reverse()
    while items:
        some = items[: -_AT_ONCE - 1 : -1]
        del items[-_AT_ONCE:]
        yield some


def _read(candidates: Sequence[Candidate], checkout: Checkout, reader: Reader, spool: Spool, found: Survey) -> list[PreparedFile]:
    """Read each file once and return those with a resource; faults and files without a resource are noted in ``found``.

    The last file comes first: in a git pack the later of two similar files is stored whole and the earlier as its difference, so the base
    is still cached when it is needed.
    """
    prepared: list[PreparedFile] = []
    faults: list[Fault] = []
    read = checkout.open_reader()
    for candidate in reversed(candidates):
        checksum = ""
        try:
            file = read(candidate.path)
            checksum = candidate.checksum if file.checksum == candidate.checksum else file.checksum
            resource = reader.read(candidate.path, file.body)
            prepared.append(PreparedFile(candidate.path, checksum, resource.key, candidate.stored, spool.put(resource.pack())))
            found.directories.update(paths.directories(candidate.path))
        except NoResource as nothing:
            if candidate.stored:
                faults.append(Fault(candidate.path, _emptied(nothing, candidate), candidate.stored))
            else:
                found.ignored.append(IgnoredFile(candidate.path, _printable(nothing.remark)))
        except DashwrightError as fault:
            # Below 500 the author of the file can fix it; anything else is a failure of this system and ends the job.
            if fault.status >= 500:
                raise
            lasting = isinstance(fault, BadRequest | Invalid | TooLarge)
            faults.append(Fault(candidate.path, _printable(fault.message), candidate.stored, checksum=checksum, lasting=lasting))
    found.faults += faults[::-1]
    return prepared[::-1]


def _emptied(nothing: NoResource, candidate: Candidate) -> str:
    """Return the fault of a file that lost its object: it may have been cut off, while deleting the file would be clear."""
    return _printable(f"{nothing.message}, but {candidate.stored[0].key.name!r} is stored from it: delete the file to delete the object")


def _printable(message: str) -> str:
    """Return a message that can be stored: it may quote any bytes of a file."""
    return message[:_LONGEST_MESSAGE].encode(errors="backslashreplace").decode().replace("\0", "\\0")


async def _changes(
    plan: Plan, folders: Folders, spool: Spool, progress: JobProgress, reporter: ProgressReporter
) -> AsyncGenerator[Change, None]:
    """Yield folders from the top, then files, then deletions, so that each change is possible when it comes."""
    for directory in plan.directories:
        yield folders.write(directory, is_new=folders.key(directory) not in plan.existing)
        await _advance(progress, reporter)
    for files in _portions(plan.writes):
        for file, resource in zip(files, await asyncio.to_thread(_resources, files, spool), strict=True):
            yield write_of(file.path, file.checksum, resource, folders, is_new=file.key not in plan.existing)
            await _advance(progress, reporter)
    for item in plan.removals:
        yield Removal(item.key)
        await _advance(progress, reporter)


def _resources(files: Sequence[PreparedFile], spool: Spool) -> list[Resource]:
    return [unpack(spool.get(file.ticket)) for file in files]


async def _advance(progress: JobProgress, reporter: ProgressReporter) -> None:
    progress.underway += 1
    await reporter.report(progress)


def _record_settled(progress: JobProgress, plan: Plan) -> None:
    """Record the results that need no write: faults, and objects that are up to date."""
    progress.total = len(plan.unchanged) + len(plan.faults) + len(plan.copies) + len(plan.ignored) + plan.changes
    for (key, is_own), times in Counter((item.key[:2], not item.path) for item in plan.unchanged).items():
        progress.record(Result(_counted(Effect.NOOP, is_own=is_own), *key, path=""), times)
    for fault in plan.faults:
        kind = FOLDER if paths.is_directory(fault.path) else DASHBOARD
        effect = Effect.UPDATE if fault.stored else Effect.CREATE
        progress.record(Result(effect, kind.group, kind.plural, fault.path, fault.name, fault.message))
    for copy in plan.copies:
        progress.record(Result(Effect.IGNORED, DASHBOARD.group, DASHBOARD.plural, copy.path, copy.name, warning=copy.message))
    for file in sorted(plan.ignored, key=lambda file: paths.plan_order(file.path)):
        progress.record(Result(Effect.IGNORED, DASHBOARD.group, DASHBOARD.plural, file.path, warning=file.remark))


def record_written(progress: JobProgress, plan: Plan, folders: Folders) -> None:
    """Record the results of the writes. Call it after the commit: only then do they count."""
    progress.underway = 0
    written = [(folders.key(directory), directory) for directory in plan.directories] + [(file.key, file.path) for file in plan.writes]
    done = [(Effect.UPDATE if key in plan.existing else Effect.CREATE, key, path) for key, path in written]
    done += [(Effect.DELETE, item.key, item.path) for item in plan.removals]
    for (effect, group, resource), times in Counter((_counted(effect, is_own=not path), *key[:2]) for effect, key, path in done).items():
        progress.record(Result(effect, group, resource, path=""), times)


def _counted(effect: Effect, *, is_own: bool) -> Effect:
    """Return the effect to count: the repository's own folder is not part of the tree, so the summary leaves it out."""
    return Effect.UNCOUNTED if is_own else effect
