"""The export of unmanaged objects into a repository.

The list of objects with their generations is read first. Then every path is decided, and all files are sent in one push. An object that
cannot be exported is an error in the summary, and the others are exported. Bodies are spooled, so memory contains only names and titles.
Nothing is changed before the host accepts the commits, and a repeated export makes no new commits.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, NotFound, TooLarge
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.jobs.selection import Selection
from dashwright.common.jobs.workflows import adopts_exported_objects, check_export, export_directory
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.common.models.provisioning import RepositoryType
from dashwright.jobs_worker.actions.branch_files import BranchFiles
from dashwright.jobs_worker.actions.retries import with_retries
from dashwright.jobs_worker.domain.export import Adoption, Directories, ExportItem, HistoryVersion, candidate_paths, choose_path, path_fault
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.files.rules import effective_ref
from dashwright.jobs_worker.domain.folder_files import FolderFile
from dashwright.jobs_worker.domain.objects import CommitDraft, Edit, Entry, GitIdentity, Key, Repository
from dashwright.jobs_worker.ports import Checkout, Checkouts, Exports, MirrorDamaged, ProgressReporter, Spool

COMMIT_MESSAGE: Final = "Exported from Dashwright"
MAX_COMMITS: Final = 10_000
"""Limit on the number of versions, each a commit, of one export with history."""

MAX_DIRECTORY_BYTES: Final = 64 * 1024 * 1024
"""Limit on the bytes that one export writes into a local directory: all of them are in memory together."""

_ATTEMPTS: Final = 3
# Objects whose bodies are in memory together: a body may have megabytes, and with history each object has many bodies.
_OBJECTS_PER_BATCH: Final = 16
_HISTORIES_PER_BATCH: Final = 2


@dataclass(frozen=True, slots=True)
class ExportJob:
    """The parameters of one export."""

    repository: Repository
    options: ExportJobOptions
    #: Author of the export's own commit. A commit of an older version has the author of that version.
    author: GitIdentity


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """The limits of one export."""

    #: Files and directories.
    max_files: int
    #: Bytes of one file.
    max_file_bytes: int
    #: Bytes of all files.
    max_total_bytes: int
    #: Levels of directories.
    max_folder_depth: int


@dataclass(frozen=True, slots=True)
class _SpooledVersion:
    """A version of a file. Its body is in the spool."""

    ticket: int
    author: GitIdentity
    created_at: datetime
    message: str


@dataclass(slots=True)
class _ExportSet:
    """The objects to export, with their spooled versions."""

    directories: Directories
    folders: Sequence[ExportItem]
    #: Returns why a file cannot be at a path, or an empty string.
    fault_at: Callable[[str], str]
    #: Dashboards and library panels.
    items: list[ExportItem] = field(default_factory=list)
    #: Versions by uid, the newest last.
    versions: dict[str, list[_SpooledVersion]] = field(default_factory=dict)
    faults: list[Result] = field(default_factory=list)
    #: Bytes in the spool.
    spooled_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _FileWrite:
    """A file to write."""

    path: str
    #: Versions that git does not have yet, the newest last.
    versions: Sequence[_SpooledVersion]
    #: Checksum of the existing file, None if the file is missing.
    replaced_checksum: str | None


@dataclass(slots=True)
class _ExportPlan:
    """The changes that an export makes to one checkout of the repository."""

    results: list[Result] = field(default_factory=list)
    writes: list[_FileWrite] = field(default_factory=list)
    #: ``_folder.json`` files, and files that keep empty directories.
    directory_files: list["_SpooledFile"] = field(default_factory=list)
    #: Uids of the folders that have no directory of their own.
    refused_folders: set[str] = field(default_factory=set)
    #: Path of each object's file by uid, including files that need no write.
    paths_by_uid: dict[str, str] = field(default_factory=dict)


async def export(
    job: ExportJob, exports: Exports, checkouts: Checkouts, reporter: ProgressReporter, spool: Spool, limits: ExportLimits
) -> JobProgress:
    """Export the objects, and return the progress with errors and summary. Faults of single files are among the errors.

    Raises BadRequest if the workflow forbids the export, NotFound for an unknown folder, TooLarge for too many objects or bytes, Conflict
    if another writer changed the branch during every attempt, and the errors of ``Checkouts`` and ``Exports``.
    """
    spec = job.repository.spec
    check_export(spec, job.options)
    ref = effective_ref(spec, job.options.branch or "")
    progress = JobProgress(message=job_messages.EXPORT_STARTED)
    await reporter.report(progress)
    export_set = await _collect_objects(job, exports, reporter, spool, limits, progress)
    checkout, plan = await _write_files(job, ref, export_set, exports, checkouts, reporter, spool, progress)
    if checkout is not None and adopts_exported_objects(spec, job.options):
        progress.message = job_messages.EXPORT_ADOPTION
        await reporter.report(progress)
        levels = _adoptions(export_set, plan, await checkout.entries())
        if any(levels):
            await exports.adopt(levels)
    # The recorded results replace this estimate of the progress.
    progress.uncommitted = 0
    for result in (*export_set.faults, *plan.results):
        progress.record(result)
    if not plan.writes and not plan.directory_files:
        progress.final_message = job_messages.NOTHING_TO_EXPORT
    return progress


async def _collect_objects(
    job: ExportJob, exports: Exports, reporter: ProgressReporter, spool: Spool, limits: ExportLimits, progress: JobProgress
) -> _ExportSet:
    """List the objects to export and spool their versions. Raises NotFound for an unknown folder, and TooLarge."""
    options = job.options
    # One more than the limit is requested, so that an excess is noticed without reading all folders.
    folders = await exports.folders(limits.max_files + 1)
    if len(folders) > limits.max_files:
        raise TooLarge("load folder tree: too many folders")
    directories = await asyncio.to_thread(Directories, folders, export_directory(options))
    if options.folder and directories.path(options.folder) is None:
        raise NotFound(f"folder {options.folder} NOT found in tree")
    exported_folder_names = directories.subtree(options.folder or "")
    items = await exports.objects(list(exported_folder_names) if options.folder else None, limits.max_files + 1)
    if len(items) + len(folders) > limits.max_files:
        raise TooLarge(f"more than {limits.max_files} files and directories: export folder by folder, or raise DASHWRIGHT_REPOSITORY_FILES")
    exported_folders = [item for item in folders if item.key.name in exported_folder_names and not item.is_managed]
    export_set = _ExportSet(
        directories,
        exported_folders,
        partial(path_fault, max_folder_depth=limits.max_folder_depth, selection=Selection.of_repository(job.repository.spec)),
    )
    progress.total = len(items) + len(export_set.folders)
    max_total_bytes = MAX_DIRECTORY_BYTES if job.repository.spec.type is RepositoryType.LOCAL else limits.max_total_bytes
    for batch in _batches(items, _HISTORIES_PER_BATCH if options.history else _OBJECTS_PER_BATCH):
        versions = await exports.versions(batch, include_older=bool(options.history))
        await asyncio.to_thread(_spool_versions, export_set, batch, versions, spool, limits.max_file_bytes, with_names=options.identifier)
        if export_set.spooled_bytes > max_total_bytes:
            raise TooLarge(f"more than {max_total_bytes} bytes: export folder by folder, or without history")
        if options.history and sum(map(len, export_set.versions.values())) > MAX_COMMITS:
            raise TooLarge(f"more than {MAX_COMMITS} versions: export folder by folder, or without history")
        progress.uncommitted += len(batch)
        await reporter.report(progress)
    return export_set


def _batches(items: Sequence[ExportItem], size: int) -> Iterator[Sequence[ExportItem]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _spool_versions(
    export_set: _ExportSet,
    items: Sequence[ExportItem],
    versions: Iterable[HistoryVersion],
    spool: Spool,
    max_file_bytes: int,
    *,
    with_names: bool,
) -> None:
    """Put the versions of objects into the spool, and the objects or their faults into ``export_set``."""
    versions_by_uid: defaultdict[str, list[HistoryVersion]] = defaultdict(list)
    for version in versions:
        versions_by_uid[version.uid].append(version)
    for item in items:
        directory = export_set.directories.path(item.folder)
        if directory is None:
            export_set.faults.append(_error_result(item.key, f"{item.key.name}.json", f"folder {item.folder} NOT found in tree"))
            continue
        stored_versions = versions_by_uid[item.uid]
        # The listed version is no longer stored, for example because the object was deleted.
        if not stored_versions or stored_versions[-1].generation != item.generation:
            continue
        spooled_versions: list[_SpooledVersion] = []
        # From the newest to the oldest. If the newest version is invalid, no version is exported, since the file would have an old content.
        for version in reversed(stored_versions):
            try:
                body = version.content(item.name_in_file(with_names=with_names), max_file_bytes=max_file_bytes)
                check_size(len(body), max_file_bytes)
            except DashwrightError as fault:
                if version.generation == item.generation:
                    export_set.faults.append(_error_result(item.key, next(candidate_paths(item, directory)), fault.message))
                    break
                continue
            export_set.spooled_bytes += len(body)
            spooled_versions.append(_SpooledVersion(spool.put(body), version.author, version.created_at, version.commit_message()))
        if spooled_versions:
            export_set.items.append(item)
            export_set.versions[item.uid] = spooled_versions[::-1]


async def _write_files(
    job: ExportJob,
    ref: str,
    export_set: _ExportSet,
    exports: Exports,
    checkouts: Checkouts,
    reporter: ProgressReporter,
    spool: Spool,
    progress: JobProgress,
) -> tuple[Checkout | None, _ExportPlan]:
    """Write the files and return the checkout of the branch after the push, and the plan.

    Return None in place of the checkout if the repository has no commits and there are no files to write.
    If another writer changes the branch before the push, the files are planned again.
    """
    progress.message = job_messages.EXPORT_WRITING

    async def attempt() -> tuple[Checkout | None, _ExportPlan]:
        base_checkout = await _open_base(checkouts, job.repository, ref)
        if base_checkout is None and ref:
            raise BadRequest("the repository has no commits yet: export to its own branch first")
        entries = {entry.path: entry for entry in await base_checkout.entries()} if base_checkout is not None else {}
        branch_files = BranchFiles(entries, base_checkout.open_reader() if base_checkout is not None else None)
        plan = await asyncio.to_thread(_plan_files, export_set, branch_files, spool, with_names=bool(job.options.identifier))
        await reporter.report(progress)
        if not plan.writes and not plan.directory_files:
            return base_checkout, plan
        drafts = _drafts(job, plan, spool)
        # The push cannot be undone, so this attempt must still have the lease.
        await exports.check_lease()
        base = base_checkout.commit if base_checkout is not None else ""
        return await checkouts.push(job.repository, base, ref, drafts), plan

    return await with_retries(attempt, attempts=_ATTEMPTS, retryable=(Conflict, MirrorDamaged))


async def _open_base(checkouts: Checkouts, repository: Repository, ref: str) -> Checkout | None:
    """Return the checkout to commit on: the head of ``ref``, or of the repository's own branch if ``ref`` does not exist yet."""
    try:
        return await checkouts.at(repository, ref)
    except NotFound:
        if not ref:
            raise
        return await checkouts.at(repository, "")


def _plan_files(export_set: _ExportSet, branch_files: BranchFiles, spool: Spool, *, with_names: bool) -> _ExportPlan:
    """Decide the path of each object, and which of its versions git lacks."""
    plan = _ExportPlan()
    used_paths: set[str] = set()
    for item in export_set.items:
        directory = export_set.directories.path(item.folder) or ""
        versions = export_set.versions[item.uid]
        is_free = partial(branch_files.is_free, key=item.key, body=spool.get(versions[-1].ticket))
        try:
            path = choose_path(item, directory, used_paths, is_free, export_set.fault_at)
        except BadRequest as fault:
            plan.results.append(_error_result(item.key, next(candidate_paths(item, directory)), fault.message))
            continue
        plan.paths_by_uid[item.uid] = path
        existing_file = branch_files.file(path)
        new_versions = versions if existing_file is None else _versions_after(versions, existing_file.body, spool)
        if new_versions:
            plan.writes.append(_FileWrite(path, new_versions, existing_file.checksum if existing_file else None))
        effect = _effect(is_new=existing_file is None, is_written=bool(new_versions))
        plan.results.append(Result(effect, item.key.group, item.key.resource, path, item.key.name))
    _plan_folders(export_set, branch_files, plan, spool, with_names=with_names)
    return plan


def _versions_after(versions: Sequence[_SpooledVersion], body: bytes, spool: Spool) -> Sequence[_SpooledVersion]:
    """Return the versions that are newer than the file in the repository, or all if no version is equal to the file."""
    index_in_git = next((index for index in reversed(range(len(versions))) if spool.get(versions[index].ticket) == body), -1)
    return versions[index_in_git + 1 :]


def _plan_folders(export_set: _ExportSet, branch_files: BranchFiles, plan: _ExportPlan, spool: Spool, *, with_names: bool) -> None:
    """Plan a ``_folder.json`` for each folder, or without names a ``.keep`` file for each empty one: git has no empty directories."""
    planned_directories = paths.all_directories(plan.paths_by_uid.values())
    # The deepest first: a directory is not empty if another directory in it gets a file.
    for item in sorted(export_set.folders, key=lambda item: -export_set.directories.depth(item.key.name)):
        directory = export_set.directories.path(item.key.name) or ""
        # A directory is checked by a file in it: ``x`` is any name.
        obstacle = "other files are at its path" if branch_files.is_blocked(f"{directory}x") else ""
        fault = export_set.fault_at(f"{directory}x.json") or obstacle
        file_path, writes_file = f"{directory}{paths.FOLDER_FILE}", False
        if with_names and not fault and not export_set.fault_at(file_path):
            file = FolderFile(item.key.name, item.title, item.description)
            fault, writes_file = branch_files.folder_file_fault(file_path, file), not branch_files.has_folder_file(file_path, file)
        if fault:
            plan.results.append(_error_result(item.key, directory, fault))
            plan.refused_folders.add(item.uid)
            continue
        if writes_file:
            plan.directory_files.append(_SpooledFile(file_path, spool.put(file.to_bytes()), branch_files.checksum(file_path)))
            planned_directories.update(paths.directories(directory))
        elif directory not in branch_files.entries and directory not in planned_directories:
            plan.directory_files.append(_SpooledFile(f"{directory}{paths.KEEP_FILE}", None))
            planned_directories.update(paths.directories(directory))
        effect = _effect(is_new=directory not in branch_files.entries, is_written=writes_file)
        plan.results.append(Result(effect, item.key.group, item.key.resource, directory, item.key.name))


def _effect(*, is_new: bool, is_written: bool) -> Effect:
    """Return the effect of the export on a file or directory."""
    return Effect.CREATE if is_new else Effect.UPDATE if is_written else Effect.NOOP


def _error_result(key: Key, path: str, reason: str) -> Result:
    return Result(Effect.CREATE, key.group, key.resource, path, key.name, f"error writing: {path} ({reason})")


class _SpooledFile(NamedTuple):
    """A file to write. Its body is in the spool."""

    path: str
    #: None for an empty file.
    ticket: int | None
    #: Checksum of the existing file; None if the file is missing, and in git, where it is not checked.
    replaced_checksum: str | None = None


@dataclass(frozen=True, slots=True)
class _SpooledEdits:
    """Edits whose bodies are read from the spool each time they are iterated."""

    files: Sequence[_SpooledFile]
    spool: Spool

    def __iter__(self) -> Iterator[Edit]:
        for file in self.files:
            yield Edit(file.path, b"" if file.ticket is None else self.spool.get(file.ticket), file.replaced_checksum)


def _drafts(job: ExportJob, plan: _ExportPlan, spool: Spool) -> Sequence[CommitDraft]:
    """Return one commit of all files, or with history a commit of each version, the oldest first."""
    if not job.options.history:
        newest_files = [_SpooledFile(write.path, write.versions[-1].ticket, write.replaced_checksum) for write in plan.writes]
        return [CommitDraft(_SpooledEdits([*newest_files, *plan.directory_files], spool), job.author, COMMIT_MESSAGE)]
    versions = [(version, write.path) for write in plan.writes for version in write.versions]
    versions.sort(key=lambda version_and_path: version_and_path[0].created_at)
    drafts = [
        # The replaced checksum is left out: only local directories check it, and they have no history.
        CommitDraft(_SpooledEdits([_SpooledFile(path, version.ticket)], spool), version.author, version.message, version.created_at)
        for version, path in versions
    ]
    if plan.directory_files:
        drafts.append(CommitDraft(_SpooledEdits(plan.directory_files, spool), job.author, COMMIT_MESSAGE))
    return drafts


def _adoptions(export_set: _ExportSet, plan: _ExportPlan, entries: Iterable[Entry]) -> Sequence[Sequence[Adoption]]:
    """Return the objects that the repository can adopt: the folders by level from the top, and then the other objects.

    Objects without a file or directory in ``entries`` are left out.
    """
    checksums = {entry.path: entry.checksum for entry in entries}
    levels: defaultdict[int, list[Adoption]] = defaultdict(list)
    for item in export_set.folders:
        directory = export_set.directories.path(item.key.name) or ""
        if directory in checksums and item.uid not in plan.refused_folders:
            checksum = checksums.get(directory + paths.FOLDER_FILE, "")
            adoption = Adoption(item.key, item.uid, item.generation, item.folder, directory.rstrip("/"), checksum)
            levels[export_set.directories.depth(item.key.name)].append(adoption)
    objects = [
        Adoption(item.key, item.uid, item.generation, item.folder, path, checksums[path])
        for item in export_set.items
        if (path := plan.paths_by_uid.get(item.uid, "")) in checksums
    ]
    return [*(levels[depth] for depth in sorted(levels)), objects]
