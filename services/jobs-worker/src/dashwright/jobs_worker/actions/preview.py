"""The preview of a sync: its plan with the differences in each object. Nothing is written."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from dashwright.common.errors import Conflict, TooLarge
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.provisioning import JobResourceSummary
from dashwright.common.models.repository_views import PlannedAction, PlannedChange
from dashwright.jobs_worker.actions.sync import NullReporter, PlannedSync, SyncJob, SyncTools, plan_sync, record_written
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.json_patch import json_patch
from dashwright.jobs_worker.domain.objects import Document, Key, ManagedObject, Write
from dashwright.jobs_worker.domain.plan import Plan, PreparedFile, write_for
from dashwright.jobs_worker.domain.resource import resource_from_bytes
from dashwright.jobs_worker.domain.scan import Fault
from dashwright.jobs_worker.ports import Checkout, DocumentStore, Spool

MAX_ITEMS: Final = 1000
"""Limit on the changes that a preview lists."""

MAX_TOTAL_DIFF_BYTES: Final = 8 * 1024 * 1024
"""Limit on the bytes of all diffs together."""

COMPARISON_TIMEOUT_SECONDS: Final = 20.0
"""Time after which the remaining changes have no diff."""

_BATCH_SIZE: Final = 10
"""Stored objects whose bodies are in memory together."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of a preview."""

    #: Summary of the job that would make these changes.
    summary: list[JobResourceSummary]
    items: list[PlannedChange]
    #: ``True`` if there are more changes than ``items``.
    is_truncated: bool
    #: Reasons why the sync would write nothing.
    errors: list[str]


@dataclass(frozen=True, slots=True)
class _PreviewStep:
    """One change of the plan."""

    change: PlannedChange
    #: Makes the object that would be stored; the body of a file comes from the spool. None if the change is not an update.
    make_write: Callable[[], Write] | None = None


async def preview(job: SyncJob, checkout: Checkout, document_store: DocumentStore, tools: SyncTools, *, with_items: bool = True) -> Preview:
    """Return the changes that a sync would make; without ``with_items`` only their numbers.

    A conflict that would prevent the sync is among the errors of the result. Raises the other errors of ``plan_sync``.
    """
    progress = JobProgress()
    try:
        planned_sync = await plan_sync(job, checkout, document_store, NullReporter(), tools, progress)
    except Conflict as error:
        return Preview(summary=[], items=[], is_truncated=False, errors=[error.message])
    record_written(progress, planned_sync.plan, planned_sync.folders)
    steps = await asyncio.to_thread(lambda: list(islice(_steps(planned_sync, tools.spool), MAX_ITEMS if with_items else 0)))
    await _compare(job.namespace, steps, document_store)
    items = [step.change for step in steps]
    return Preview(
        progress.summary(),
        items,
        len(items) < _item_count(planned_sync.plan),
        await quota_errors(job.namespace, planned_sync.plan, document_store),
    )


def _item_count(plan: Plan) -> int:
    return len(plan.faults) + plan.change_count


def _steps(planned_sync: PlannedSync, spool: Spool) -> Iterator[_PreviewStep]:
    """Yield the refused files, then all changes in the order of writing."""
    plan, folders = planned_sync.plan, planned_sync.folders
    for fault in plan.faults:
        yield _PreviewStep(_refused_change(fault))
    for directory in plan.directories:
        folder = folders.write_for(directory, is_new=folders.key(directory) not in plan.existing)
        yield _write_step(folder, directory, partial(folders.write_for, directory, is_new=False))
    for file in plan.writes:
        make_write = partial(_spooled_write, file, folders, spool, is_new=file.key not in plan.existing)
        yield _write_step(make_write(), file.path, make_write)
    for item in plan.removals:
        yield _PreviewStep(_removed_change(item))


def _spooled_write(file: PreparedFile, folders: Folders, spool: Spool, *, is_new: bool) -> Write:
    """Return the write of a file, with its body from the spool."""
    return write_for(file.path, file.checksum, resource_from_bytes(spool.get(file.ticket)), folders, is_new=is_new)


def _refused_change(fault: Fault) -> PlannedChange:
    kind = fault.kind
    return PlannedChange(
        action=PlannedAction.REFUSE, group=kind.group, resource=kind.plural, name=fault.name, path=fault.path, message=fault.message
    )


def _write_step(write: Write, path: str, make_write: Callable[[], Write]) -> _PreviewStep:
    """Return the step of a write. ``make_write`` makes the write again for the comparison, so that not all bodies are in memory."""
    change = PlannedChange(
        action=PlannedAction.CREATE if write.is_new else PlannedAction.UPDATE,
        group=write.key.group,
        resource=write.key.resource,
        name=write.key.name,
        path=path,
        title=write.extract.title,
        folder=write.folder or None,
    )
    return _PreviewStep(change, None if write.is_new else make_write)


def _removed_change(item: ManagedObject) -> PlannedChange:
    key = item.key
    is_directory = key.group == FOLDER.group and item.path
    return PlannedChange(
        action=PlannedAction.DELETE,
        group=key.group,
        resource=key.resource,
        name=key.name,
        path=item.directory if is_directory else item.path,
        title=item.title,
        folder=item.folder or None,
    )


async def _compare(namespace: str, steps: list[_PreviewStep], document_store: DocumentStore) -> None:
    """Add diffs to the updates until the limit of bytes or time is reached."""
    clock = asyncio.get_running_loop().time
    remaining_bytes, deadline = MAX_TOTAL_DIFF_BYTES, clock() + COMPARISON_TIMEOUT_SECONDS
    updates = [(step.change, step.make_write) for step in steps if step.make_write is not None]
    for start in range(0, len(updates), _BATCH_SIZE):
        batch = updates[start : start + _BATCH_SIZE]
        if remaining_bytes <= 0 or clock() > deadline:
            for change, _ in batch:
                change.message = "not compared: there are too many changes to compare them all"
            continue
        documents = await document_store.documents(namespace, [_key(change) for change, _ in batch])
        for change, make_write in batch:
            if document := documents.get(_key(change)):
                remaining_bytes -= await asyncio.to_thread(_add_diff, change, document, make_write)


def _key(change: PlannedChange) -> Key:
    return Key(change.group, change.resource, change.name)


def _add_diff(change: PlannedChange, document: Document, make_write: Callable[[], Write]) -> int:
    """Add the diff to a change and return its size in bytes."""
    try:
        change.diff, size = json_patch(document, make_write())
    except TooLarge as error:
        change.message = error.message
        return 0
    return size


async def quota_errors(namespace: str, plan: Plan, document_store: DocumentStore) -> list[str]:
    """Return the reasons why nothing of the plan would be written."""
    created_count = sum(file.key not in plan.existing and file.key.resource == DASHBOARD.plural for file in plan.writes)
    removed_count = sum(item.key.resource == DASHBOARD.plural for item in plan.removals)
    refusal = await document_store.quota_refusal(namespace, created=created_count, removed=removed_count)
    return [refusal] if refusal else []
