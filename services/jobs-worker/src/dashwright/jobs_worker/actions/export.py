"""The export of unmanaged objects into a repository.

Everything is read as it was at one moment, every path is decided, and all files are sent in one push. A dashboard that cannot be exported
is an error in the summary while all others go through. Bodies are spooled, so memory holds only names and titles. Nothing has happened
until the host accepts the commits, and a repeated export makes no new ones.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, NotFound, TooLarge
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.jobs.selection import Selection
from dashwright.common.jobs.workflows import check_export, hands_over, prefix_of
from dashwright.common.models.provisioning import ExportJobOptions, RepositoryType
from dashwright.jobs_worker.actions.retries import with_retries
from dashwright.jobs_worker.domain.export import Directories, ExportItem, Handover, Version, fault_of, file_names, may_replace, place
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.files.rules import ref_of
from dashwright.jobs_worker.domain.objects import Draft, Edit, Entry, File, GitIdentity, Key, Repository
from dashwright.jobs_worker.ports import Checkout, Checkouts, CopyDamaged, Exports, ProgressReporter, Spool

MESSAGE: Final = "Exported from Dashwright"
MOST_COMMITS: Final = 10_000
MOST_BYTES_OF_FOLDER: Final = 64 * 1024 * 1024
"""Bytes written into a folder by one export: all of them are in memory together."""

_ATTEMPTS: Final = 3
_AT_ONCE: Final = 16
"""Dashboards whose bodies are in memory together: each may have megabytes."""

_HISTORIES_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class ExportJob:
    """An export to do."""

    repository: Repository
    options: ExportJobOptions
    #: Author of the commits that are not old versions.
    by: GitIdentity


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one export."""

    #: Files and directories.
    most_files: int
    #: Bytes of one file.
    largest_file: int
    #: Bytes of all files.
    most_bytes: int
    #: Levels of directories.
    deepest_folder: int


@dataclass(frozen=True, slots=True)
class _SpooledVersion:
    """A version of a file whose body waits in the spool."""

    ticket: int
    by: GitIdentity
    at: datetime
    message: str


@dataclass(slots=True)
class _ExportSet:
    """Everything to export."""

    directories: Directories
    folders: Sequence[ExportItem]
    #: Returns why no file can be at a path; empty if one can.
    fault_at: Callable[[str], str]
    files: list[ExportItem] = field(default_factory=list)
    #: Versions by uid, the newest last.
    versions: dict[str, list[_SpooledVersion]] = field(default_factory=dict)
    faults: list[Result] = field(default_factory=list)
    #: Bytes in the spool.
    size: int = 0


@dataclass(frozen=True, slots=True)
class _FileWrite:
    """A file to write."""

    path: str
    #: Versions that git does not have yet, the newest last.
    versions: Sequence[_SpooledVersion]
    #: Checksum of the existing file, None if the file is missing.
    replaces: str | None


@dataclass(slots=True)
class _ExportPlan:
    """The changes that an export makes to one state of the repository."""

    results: list[Result] = field(default_factory=list)
    writes: list[_FileWrite] = field(default_factory=list)
    #: Paths of files that keep empty directories.
    keeps: list[str] = field(default_factory=list)
    #: Path of each dashboard's file by uid, whether it is written or there already.
    places: dict[str, str] = field(default_factory=dict)


async def export(
    job: ExportJob, exports: Exports, checkouts: Checkouts, reporter: ProgressReporter, spool: Spool, bounds: Bounds
) -> JobProgress:
    """Export the objects and return the progress with errors and summary; faults of single files are among the errors.

    Raises an error for the export as a whole, and nothing was written then: BadRequest if the repository may not be written this way,
    NotFound for an unknown folder, TooLarge, Conflict if others keep writing the branch, and what the ports raise.
    """
    spec = job.repository.spec
    check_export(spec, job.options)
    ref = ref_of(spec, job.options.branch or "")
    progress = JobProgress(message=job_messages.EXPORT_STARTED)
    await reporter.report(progress)
    export_set = await _collect(job, exports, reporter, spool, bounds, progress)
    made, plan = await _write(job, ref, export_set, exports, checkouts, reporter, spool, progress)
    if made is not None and hands_over(spec, job.options):
        progress.message = job_messages.EXPORT_HANDING_OVER
        await reporter.report(progress)
        levels = _handovers(export_set, plan, await made.entries())
        if any(levels):
            await exports.hand_over(levels)
    progress.underway = 0
    for result in (*export_set.faults, *plan.results):
        progress.record(result)
    if not plan.writes and not plan.keeps:
        progress.final_message = job_messages.NOTHING_TO_EXPORT
    return progress


async def _collect(
    job: ExportJob, exports: Exports, reporter: ProgressReporter, spool: Spool, bounds: Bounds, progress: JobProgress
) -> _ExportSet:
    options = job.options
    folders = await exports.folders(bounds.most_files + 1)
    if len(folders) > bounds.most_files:
        raise TooLarge("load folder tree: too many folders")
    directories = await asyncio.to_thread(Directories, folders, prefix_of(options))
    if options.folder and directories.path(options.folder) is None:
        raise NotFound(f"folder {options.folder} NOT found in tree")
    within = directories.within(options.folder or "")
    items = await exports.dashboards(list(within) if options.folder else None, bounds.most_files + 1)
    if len(items) + len(folders) > bounds.most_files:
        raise TooLarge(
            f"more than {bounds.most_files} files and directories: export folder by folder, or raise DASHWRIGHT_REPOSITORY_FILES"
        )
    exported = [item for item in folders if item.key.name in within and not item.is_managed]
    export_set = _ExportSet(
        directories, exported, partial(fault_of, deepest=bounds.deepest_folder, selection=Selection.of_repository(job.repository.spec))
    )
    progress.total = len(items) + len(export_set.folders)
    most_bytes = MOST_BYTES_OF_FOLDER if job.repository.spec.type is RepositoryType.LOCAL else bounds.most_bytes
    for some in _portions(items, _HISTORIES_AT_ONCE if options.history else _AT_ONCE):
        versions = await exports.versions(some, older=bool(options.history))
        await asyncio.to_thread(_spool, export_set, some, versions, spool, bounds.largest_file, with_name=options.identifier)
        if export_set.size > most_bytes:
            raise TooLarge(f"more than {most_bytes} bytes: export folder by folder, or without history")
        if options.history and sum(map(len, export_set.versions.values())) > MOST_COMMITS:
            raise TooLarge(f"more than {MOST_COMMITS} versions: export folder by folder, or without history")
        progress.underway += len(some)
        await reporter.report(progress)
    return export_set


def _portions(items: Sequence[ExportItem], size: int) -> Iterator[Sequence[ExportItem]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _spool(
    export_set: _ExportSet, items: Sequence[ExportItem], versions: Iterable[Version], spool: Spool, largest: int, *, with_name: bool
) -> None:
    kept: defaultdict[str, list[Version]] = defaultdict(list)
    for version in versions:
        kept[version.uid].append(version)
    for item in items:
        directory = export_set.directories.path(item.folder)
        if directory is None:
            export_set.faults.append(_error(item.key, f"{item.key.name}.json", f"folder {item.folder} NOT found in tree"))
            continue
        spooled: list[_SpooledVersion] = []
        for version in kept[item.uid]:
            try:
                body = version.content(item.key.name if with_name else "", largest=largest)
                check_size(len(body), largest)
            except DashwrightError as fault:
                if version.generation == item.generation:
                    export_set.faults.append(_error(item.key, next(file_names(item, directory)), fault.message))
                continue
            export_set.size += len(body)
            spooled.append(_SpooledVersion(spool.put(body), version.by, version.at, version.commit_message()))
        if kept[item.uid] and kept[item.uid][-1].generation == item.generation and spooled:
            export_set.files.append(item)
            export_set.versions[item.uid] = spooled


async def _write(
    job: ExportJob,
    ref: str,
    export_set: _ExportSet,
    exports: Exports,
    checkouts: Checkouts,
    reporter: ProgressReporter,
    spool: Spool,
    progress: JobProgress,
) -> tuple[Checkout | None, _ExportPlan]:
    """Write the files and return the state of the branch after that, with what was planned. Starts again if another writer was first."""
    progress.message = job_messages.EXPORT_WRITING

    async def attempt() -> tuple[Checkout | None, _ExportPlan]:
        base = await _base(checkouts, job.repository, ref)
        if base is None and ref:
            raise BadRequest("the repository has no commits yet: export to its own branch, which has to be written first")
        entries = {entry.path: entry for entry in await base.entries()} if base is not None else {}
        before = _BranchFiles(entries, base.open_reader() if base is not None else None)
        plan = await asyncio.to_thread(_plan_files, export_set, before, spool)
        await reporter.report(progress)
        if not plan.writes and not plan.keeps:
            return base, plan
        drafts = _drafts(job, plan, spool)
        # The push cannot be undone, so another attempt must not have started in the meantime.
        await exports.check_lease()
        return await checkouts.push(job.repository, base.commit if base is not None else "", ref, drafts), plan

    return await with_retries(attempt, attempts=_ATTEMPTS, on=(Conflict, CopyDamaged))


async def _base(checkouts: Checkouts, repository: Repository, ref: str) -> Checkout | None:
    """Return the branch to build on: the repository's own branch if ``ref`` does not exist yet."""
    try:
        return await checkouts.at(repository, ref)
    except NotFound:
        if not ref:
            raise
        return await checkouts.at(repository, "")


@dataclass(slots=True)
class _BranchFiles:
    """The files of the branch before the export."""

    entries: Mapping[str, Entry]
    #: Reads a file by path; None if there are no files at all.
    read: Callable[[str], File] | None
    _last: tuple[str, File] | None = None

    def file(self, path: str) -> File | None:
        """Return the file at a path; None if nothing can be read there."""
        if self.read is None or path not in self.entries or self.entries[path].fault:
            return None
        if self._last is None or self._last[0] != path:
            try:
                self._last = path, self.read(path)
            except DashwrightError as fault:
                if fault.status >= 500:
                    raise
                return None
        return self._last[1]

    def is_free(self, path: str, *, name: str, body: bytes) -> bool:
        """Return whether an object of that name may be written to a path without destroying another file."""
        if path not in self.entries:
            return not self.is_blocked(path)
        found = self.file(path)
        return found is not None and (found.body == body or may_replace(found.body, name))

    def is_blocked(self, path: str) -> bool:
        """Return whether a file is in place of a needed directory, or a directory in place of the file."""
        return f"{path}/" in self.entries or any(self._is_other_than_directory(above) for above in paths.directories(path))

    def _is_other_than_directory(self, path: str) -> bool:
        return path.rstrip("/") in self.entries or (path in self.entries and bool(self.entries[path].fault))


def _plan_files(export_set: _ExportSet, before: _BranchFiles, spool: Spool) -> _ExportPlan:
    plan = _ExportPlan()
    taken: set[str] = set()
    for item in export_set.files:
        directory = export_set.directories.path(item.folder) or ""
        versions = export_set.versions[item.uid]
        is_free = partial(before.is_free, name=item.key.name, body=spool.get(versions[-1].ticket))
        try:
            path = place(item, directory, taken, is_free, export_set.fault_at)
        except BadRequest as fault:
            plan.results.append(_error(item.key, next(file_names(item, directory)), fault.message))
            continue
        plan.places[item.uid] = path
        found = before.file(path)
        missing = versions if found is None else _missing(versions, found.body, spool)
        if missing:
            plan.writes.append(_FileWrite(path, missing, found.checksum if found else None))
        effect = Effect.CREATE if found is None else Effect.UPDATE if missing else Effect.NOOP
        plan.results.append(Result(effect, item.key.group, item.key.resource, path, item.key.name))
    _plan_folders(export_set, before, plan)
    return plan


def _missing(versions: Sequence[_SpooledVersion], body: bytes, spool: Spool) -> Sequence[_SpooledVersion]:
    """Return the versions that are newer than the file in the repository."""
    known = next((index for index in reversed(range(len(versions))) if spool.get(versions[index].ticket) == body), -1)
    return versions[known + 1 :]


def _plan_folders(export_set: _ExportSet, before: _BranchFiles, plan: _ExportPlan) -> None:
    """Plan a ``.keep`` file for each folder without files: git has no empty directories."""
    reached = {directory for path in plan.places.values() for directory in paths.directories(path)}
    for item in sorted(export_set.folders, key=lambda item: -export_set.directories.depth(item.key.name)):
        directory = export_set.directories.path(item.key.name) or ""
        fault = export_set.fault_at(f"{directory}x.json") or ("other files are at its path" if before.is_blocked(f"{directory}x") else "")
        if fault:
            plan.results.append(_error(item.key, directory, fault))
            continue
        if directory not in before.entries and directory not in reached:
            plan.keeps.append(f"{directory}{paths.KEEP}")
            reached.update(paths.directories(directory))
        effect = Effect.NOOP if directory in before.entries else Effect.CREATE
        plan.results.append(Result(effect, item.key.group, item.key.resource, directory, item.key.name))


def _error(key: Key, path: str, reason: str) -> Result:
    return Result(Effect.CREATE, key.group, key.resource, path, key.name, f"error writing: {path} ({reason})")


@dataclass(frozen=True, slots=True)
class _SpooledEdits:
    """Edits whose bodies are read from the spool each time they are iterated. A file without a ticket is empty."""

    files: Sequence[tuple[str, int | None, str | None]]
    spool: Spool

    def __iter__(self) -> Iterator[Edit]:
        for path, ticket, replaces in self.files:
            yield Edit(path, b"" if ticket is None else self.spool.get(ticket), replaces)


def _drafts(job: ExportJob, plan: _ExportPlan, spool: Spool) -> Sequence[Draft]:
    keeps: list[tuple[str, int | None, str | None]] = [(path, None, None) for path in plan.keeps]
    if not job.options.history:
        newest = [(write.path, write.versions[-1].ticket, write.replaces) for write in plan.writes]
        return [Draft(_SpooledEdits([*newest, *keeps], spool), job.by, MESSAGE)]
    dated = [(version, write.path) for write in plan.writes for version in write.versions]
    dated.sort(key=lambda pair: pair[0].at)
    drafts = [
        Draft(_SpooledEdits([(path, version.ticket, None)], spool), version.by, version.message, version.at) for version, path in dated
    ]
    return [*drafts, Draft(_SpooledEdits(keeps, spool), job.by, MESSAGE)] if keeps else drafts


def _handovers(export_set: _ExportSet, plan: _ExportPlan, entries: Iterable[Entry]) -> Sequence[Sequence[Handover]]:
    """Return the folders level by level and then the dashboards, as far as they are in the repository."""
    found = {entry.path: entry.checksum for entry in entries}
    levels: defaultdict[int, list[Handover]] = defaultdict(list)
    for item in export_set.folders:
        directory = export_set.directories.path(item.key.name) or ""
        if directory in found:
            handed = Handover(item.key, item.uid, item.generation, item.folder, directory.rstrip("/"))
            levels[export_set.directories.depth(item.key.name)].append(handed)
    dashboards = [
        Handover(item.key, item.uid, item.generation, item.folder, path, found[path])
        for item in export_set.files
        if (path := plan.places.get(item.uid, "")) in found
    ]
    return [*(levels[depth] for depth in sorted(levels)), dashboards]
