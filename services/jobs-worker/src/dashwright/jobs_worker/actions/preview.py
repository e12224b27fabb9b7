"""The preview of a sync: its plan with the differences in each object. Nothing is written."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from dashwright.common.errors import Conflict, TooLarge
from dashwright.common.jobs import paths
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.provisioning import JobResourceSummary
from dashwright.common.models.repository_views import PlannedAction, PlannedChange
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, SyncJob, SyncTools, plan_sync, record_written
from dashwright.jobs_worker.domain.comparison import difference
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Document, Key, ManagedObject, Write
from dashwright.jobs_worker.domain.plan import Plan, PreparedFile, write_of
from dashwright.jobs_worker.domain.resource import unpack
from dashwright.jobs_worker.domain.survey import Fault
from dashwright.jobs_worker.ports import Checkout, Spool, StoredObjects

MOST_ITEMS: Final = 1000
MOST_DIFFERENCES: Final = 8 * 1024 * 1024
"""Bytes of all diffs together."""

COMPARING_SECONDS: Final = 20.0

_BATCH: Final = 10


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of a preview."""

    #: The summary of the job that would do it.
    summary: list[JobResourceSummary]
    items: list[PlannedChange]
    is_truncated: bool
    #: Reasons why nothing would be written.
    errors: list[str]


@dataclass(frozen=True, slots=True)
class _PreviewStep:
    """One change of the plan."""

    change: PlannedChange
    #: Returns the object that would be stored; only for updates. Bodies wait in the spool until then.
    write: Callable[[], Write] | None = None


async def preview(job: SyncJob, checkout: Checkout, stored: StoredObjects, tools: SyncTools, *, with_items: bool = True) -> Preview:
    """Return what a sync would do; without ``with_items`` only the counts.

    An error that fails a sync as a whole is part of the result. Raises what the ports raise.
    """
    progress = JobProgress()
    try:
        planned = await plan_sync(job, checkout, stored, NullReporter(), tools, progress)
    except Conflict as error:
        return Preview([], [], False, [error.message])
    record_written(progress, planned.plan, planned.folders)
    steps = await asyncio.to_thread(lambda: list(islice(_steps(planned, tools.spool), MOST_ITEMS if with_items else 0)))
    await _compare(job.namespace, steps, stored)
    items = [step.change for step in steps]
    return Preview(progress.summary(), items, len(items) < _length(planned.plan), await refusals(job.namespace, planned.plan, stored))


def _length(plan: Plan) -> int:
    return len(plan.faults) + plan.changes


def _steps(planned: PlannedSync, spool: Spool) -> Iterator[_PreviewStep]:
    """Yield the refused files, then all changes in the order of writing."""
    plan, folders = planned.plan, planned.folders
    for fault in plan.faults:
        yield _PreviewStep(_refused_change(fault))
    for directory in plan.directories:
        folder = folders.write(directory, is_new=folders.key(directory) not in plan.existing)
        yield _write_step(folder, directory, partial(folders.write, directory, is_new=False))
    for file in plan.writes:
        make = partial(_write_of, file, folders, spool, is_new=file.key not in plan.existing)
        yield _write_step(make(), file.path, make)
    for item in plan.removals:
        yield _PreviewStep(_removed_change(item))


def _write_of(file: PreparedFile, folders: Folders, spool: Spool, *, is_new: bool) -> Write:
    return write_of(file.path, file.checksum, unpack(spool.get(file.ticket)), folders, is_new=is_new)


def _refused_change(fault: Fault) -> PlannedChange:
    kind = FOLDER if paths.is_directory(fault.path) else DASHBOARD
    return PlannedChange(
        action=PlannedAction.REFUSE, group=kind.group, resource=kind.plural, name=fault.name, path=fault.path, message=fault.message
    )


def _write_step(write: Write, path: str, make: Callable[[], Write]) -> _PreviewStep:
    change = PlannedChange(
        action=PlannedAction.CREATE if write.is_new else PlannedAction.UPDATE,
        group=write.key.group,
        resource=write.key.resource,
        name=write.key.name,
        path=path,
        title=write.extract.title,
        folder=write.folder or None,
    )
    return _PreviewStep(change, None if write.is_new else make)


def _removed_change(item: ManagedObject) -> PlannedChange:
    key = item.key
    is_directory = key.group == FOLDER.group and item.path
    return PlannedChange(
        action=PlannedAction.DELETE,
        group=key.group,
        resource=key.resource,
        name=key.name,
        path=item.path.rstrip("/") + "/" if is_directory else item.path,
        title=item.title,
        folder=item.folder or None,
    )


async def _compare(namespace: str, steps: list[_PreviewStep], stored: StoredObjects) -> None:
    """Add diffs to the updates, as long as there is room and time for them."""
    clock = asyncio.get_running_loop().time
    room, until = MOST_DIFFERENCES, clock() + COMPARING_SECONDS
    updates = [(step.change, step.write) for step in steps if step.write is not None]
    for start in range(0, len(updates), _BATCH):
        batch = updates[start : start + _BATCH]
        if room <= 0 or clock() > until:
            for change, _ in batch:
                change.message = "not compared: there are too many changes to compare them all"
            continue
        found = await stored.documents(namespace, [_key(change) for change, _ in batch])
        for change, write in batch:
            if document := found.get(_key(change)):
                room -= await asyncio.to_thread(_fill_in, change, document, write)


def _key(change: PlannedChange) -> Key:
    return Key(change.group, change.resource, change.name)


def _fill_in(change: PlannedChange, document: Document, write: Callable[[], Write]) -> int:
    """Add the diff to a change and return its size in bytes."""
    try:
        change.diff, size = difference(document, write())
    except TooLarge as error:
        change.message = error.message
        return 0
    return size


async def refusals(namespace: str, plan: Plan, stored: StoredObjects) -> list[str]:
    """Return the reasons why nothing of the plan would be written."""
    created = sum(file.key not in plan.existing for file in plan.writes)
    removed = sum(item.key.group == DASHBOARD.group for item in plan.removals)
    refusal = await stored.quota_refusal(namespace, created=created, removed=removed)
    return [refusal] if refusal else []
