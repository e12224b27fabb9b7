"""Bring what is stored to what the repository holds: survey, read what changed, plan, write everything at once.

A bad file is an error in the summary while all others go in. Nothing is written before everything is decided, and nothing at all when
nothing changed. Bodies are spooled: memory holds names and titles, never the repository.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from dashwright.common.errors import DashwrightError, PreconditionFailed
from dashwright.common.jobs import paths, verdicts
from dashwright.common.jobs.progress import Effect, Result, Tally
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import SyncTarget
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.identity import folder_names
from dashwright.jobs_worker.domain.objects import Change, Difference, Key, Managed, Removal
from dashwright.jobs_worker.domain.plan import Plan, Prepared, make_plan, unknown_keys
from dashwright.jobs_worker.domain.resource import LARGEST_FILE, Reader
from dashwright.jobs_worker.domain.survey import Candidate, Fault, Survey, survey
from dashwright.jobs_worker.ports import Checkout, Progress, Resources, Spool


@dataclass(frozen=True, slots=True)
class SyncJob:
    """What to sync: the repository's ``spec.title`` and ``spec.sync``."""

    namespace: str
    repository: str
    title: str
    target: SyncTarget
    enabled: bool


@dataclass(frozen=True, slots=True)
class Means:
    """What a sync works with beside its ports. ``read_yaml`` turns YAML text into plain JSON data and raises Invalid."""

    spool: Spool
    read_yaml: Callable[[str], Any]
    admission: AdmissionSettings
    largest_file: int = LARGEST_FILE


async def sync(
    job: SyncJob, checkout: Checkout, resources: Resources, progress: Progress, means: Means, difference: Difference | None = None
) -> Tally:
    """Looks at everything, or where ``difference`` tells how the checkout differs from what is stored, at that only.

    Both leave the same behind. Answers verdict, errors and summary; faults of single files are among them. Raises what fails as a whole,
    and then nothing was written: PreconditionFailed when sync is off, Conflict when the root folder is somebody else's, and what the ports
    raise.
    """
    if not job.enabled:
        raise PreconditionFailed(verdicts.SYNC_DISABLED)
    tally = Tally(message=verdicts.SYNC_STARTED)
    await progress.report(tally)
    folders = Folders(job.repository, job.title, rooted=job.target is SyncTarget.FOLDER)
    entries = await checkout.entries() if difference is None else difference.entries
    managed, taken = await _managed(job, resources, folders, difference)
    names = await asyncio.to_thread(folder_names, job.repository, entries, managed, taken, commit=checkout.commit)
    folders = replace(folders, names=names)
    found = await asyncio.to_thread(survey, entries, managed, folders)
    tally.message = verdicts.READING
    await progress.report(tally)
    reader = Reader(job.namespace, job.repository, means.read_yaml, means.admission, means.largest_file)
    prepared = []
    for candidate in found.candidates:
        prepared += await _read(candidate, found, checkout, reader, means.spool)
        await progress.report(tally)
    if difference is not None:
        untouched = await _untouched(job, resources, managed, prepared)
        managed += untouched
        found.unchanged += untouched
    owners = await resources.owners(job.namespace, unknown_keys(found, prepared, managed, folders))
    plan = await asyncio.to_thread(make_plan, found, prepared, managed, owners, folders)
    _record_settled(tally, plan)
    whole = "" if plan.faults else checkout.commit
    if plan.changes:
        tally.message = verdicts.REPLICATING if difference is None else verdicts.REPLICATING_DIFFERENCE
        await progress.report(tally)
        async with aclosing(_changes(plan, folders, means.spool, tally, progress)) as changes:
            await resources.apply(job.namespace, changes, commit=whole)
        _record_written(tally, plan, folders)
        if difference is not None:
            tally.message = verdicts.REPLICATED_DIFFERENCE
            await progress.report(tally)
    else:
        tally.final_message = verdicts.NOTHING_TO_SYNC if difference is None or difference.paths else verdicts.NO_DIFFERENCE
        if whole:
            await resources.note(whole)
    tally.message = verdicts.UPDATING_STATS
    await progress.report(tally)
    return tally


async def _managed(job: SyncJob, resources: Resources, folders: Folders, difference: Difference | None) -> tuple[list[Managed], set[str]]:
    """What is stored of all that is looked at, and which names the folders of other directories have."""
    if difference is None:
        return list(await resources.managed(job.namespace, job.repository)), set()
    places = {path.rstrip("/") for path in difference.paths} | {""}
    keys = [folders.key(path) for path in ("", *difference.paths) if paths.is_directory(path) and folders.name(path)]
    stored = await resources.managed_at(job.namespace, job.repository, difference.paths, keys)
    managed = [item for item in stored if item.path.rstrip("/") in places]
    return managed, {item.key.name for item in stored if item.path.rstrip("/") not in places}


async def _untouched(job: SyncJob, resources: Resources, managed: Sequence[Managed], prepared: Sequence[Prepared]) -> Sequence[Managed]:
    """The objects that files read now name, too, though they came from files that are as they were."""
    names = {file.key for file in prepared} - {item.key for item in managed}
    return await resources.managed_at(job.namespace, job.repository, (), names) if names else ()


async def _read(candidate: Candidate, found: Survey, checkout: Checkout, reader: Reader, spool: Spool) -> list[Prepared]:
    """The file, read once; what cannot be read or understood is added to ``found.faults`` instead."""
    try:
        return [await _prepare(candidate, checkout, reader, spool)]
    except DashwrightError as fault:
        # Below 500 is what whoever keeps the repository can mend; anything else is a failure of ours and ends the job.
        if fault.status >= 500:
            raise
        found.faults.append(Fault(candidate.path, fault.message, candidate.stored))
        return []


async def _prepare(candidate: Candidate, checkout: Checkout, reader: Reader, spool: Spool) -> Prepared:
    file = await checkout.read(candidate.path)

    def parse() -> Prepared:
        resource = reader.read(candidate.path, file.body)
        return Prepared(candidate, replace(resource, spec=b""), file.checksum, spool.put(resource.spec))

    return await asyncio.to_thread(parse)


async def _changes(plan: Plan, folders: Folders, spool: Spool, tally: Tally, progress: Progress) -> AsyncGenerator[Change, None]:
    """Folders from the top, files, then what has gone: each can be done when it comes."""
    for directory in plan.directories:
        yield folders.write(directory, is_new=folders.key(directory) not in plan.existing)
        await _advance(tally, progress)
    for file in plan.writes:
        spec = await asyncio.to_thread(spool.get, file.ticket)
        yield file.write(folders, spec, is_new=file.key not in plan.existing)
        await _advance(tally, progress)
    for item in plan.removals:
        yield Removal(item.key)
        await _advance(tally, progress)


async def _advance(tally: Tally, progress: Progress) -> None:
    tally.underway += 1
    await progress.report(tally)


def _record_settled(tally: Tally, plan: Plan) -> None:
    """What is decided without a write: faults, and what already is as it must be."""
    tally.total = len(plan.unchanged) + len(plan.faults) + plan.changes
    for (key, is_own), times in Counter((item.key[:2], not item.path) for item in plan.unchanged).items():
        tally.record(Result(_counted(Effect.NOOP, is_own=is_own), *key, path=""), times)
    for fault in plan.faults:
        kind = FOLDER if paths.is_directory(fault.path) else DASHBOARD
        effect = Effect.UPDATE if fault.stored else Effect.CREATE
        tally.record(Result(effect, kind.group, kind.plural, fault.path, fault.name, fault.message))


def _record_written(tally: Tally, plan: Plan, folders: Folders) -> None:
    """Only now, after the commit, do they count."""
    tally.underway = 0
    written = [(folders.key(directory), directory) for directory in plan.directories] + [(file.key, file.path) for file in plan.writes]
    for key, path in written:
        tally.record(_result(Effect.UPDATE if key in plan.existing else Effect.CREATE, key, path))
    for item in plan.removals:
        tally.record(_result(Effect.DELETE, item.key, item.path))


def _result(effect: Effect, key: Key, path: str) -> Result:
    return Result(_counted(effect, is_own=not path), key.group, key.resource, path, key.name)


def _counted(effect: Effect, *, is_own: bool) -> Effect:
    """The repository's own folder stands for nothing in the tree, so the summary of what the tree holds leaves it out."""
    return Effect.IGNORED if is_own else effect
