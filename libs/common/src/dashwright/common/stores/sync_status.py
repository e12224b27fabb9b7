"""Sync status of repositories, which follows every change of the state of their sync jobs."""

import uuid

from dashwright.common.database.pool import Connection
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import (
    Action,
    JobStatus,
    RepositorySpec,
    RepositoryStatus,
    State,
    SyncState,
    SyncStatus,
)
from dashwright.common.stores import jobs, repository_events, resources
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject


def is_affected_by(job: StoredJob) -> bool:
    """Return whether the state of a job is part of the sync status of its repository."""
    return job.action == Action.SYNC and job.repository is not None


async def refresh(connection: Connection, job_uid: uuid.UUID) -> None:
    """Copy the current state of an unfinished job to the sync status. Ignore a job that waits for a running sync.

    Call this in a later transaction than the submission of the job, because submissions do not wait for the lock of objects.
    """
    # The job is read once to learn the namespace to lock, and again under the lock. The lists are empty if it was deleted.
    for unlocked_job in await jobs.get_many(connection, [job_uid]):
        await resources.lock(connection, unlocked_job.namespace)
    for job in await jobs.get_many(connection, [job_uid]):
        state = State(job.state)
        if state is State.WORKING or (state is State.PENDING and not await jobs.is_other_sync_running(connection, job)):
            await update(connection, job, JobStatus.model_validate_json(job.status))


async def update(connection: Connection, job: StoredJob, status: JobStatus, *, scheduled_at: int | None = None) -> None:
    """Copy the state of a job to the sync status of its repository, and announce the end of a finished job.

    A finished job also sets the time of the next sync. ``scheduled_at`` is the time at which a postponed job may run, in Unix
    milliseconds. The sync itself records the commit that it stored.

    This takes the lock of objects. A transaction that also takes the lock of jobs must take that of objects first.
    """
    if not is_affected_by(job):
        return
    assert job.repository is not None
    await resources.lock(connection, job.namespace)

    # The repository and its new status, if the job has ended.
    ended: list[tuple[StoredObject, SyncStatus]] = []

    def set_sync_status(repository_status: RepositoryStatus, repository: StoredObject) -> None:
        previous = repository_status.sync
        next_sync_at = scheduled_at or previous.scheduled
        if status.finished is not None:
            next_sync_at = _next_sync_at(repository, status.finished)
        repository_status.sync = SyncStatus(
            state=SyncState(status.state.value),
            job=str(job.uid),
            started=status.started,
            finished=status.finished,
            message=status.errors or [],
            scheduled=next_sync_at,
            # Until the job is finished, this is the requested mode. The sync itself then records the actual mode.
            incremental=jobs.is_incremental(job) if status.finished is None else previous.incremental,
            last_ref=previous.last_ref,
            held=previous.held,
        )
        if status.finished is not None:
            ended.append((repository, repository_status.sync))

    try:
        await resources.update_status(connection, REPOSITORY, job.namespace, job.repository, RepositoryStatus, set_sync_status)
    except NotFound:
        # The repository was deleted in the meantime, so there is no status to write.
        return
    for repository, sync in ended:
        await repository_events.announce(connection, repository, repository_events.sync_announcements(repository, job, status, sync))


def _next_sync_at(repository: StoredObject, finished: int) -> int | None:
    """Return the time of the next sync in Unix milliseconds, or None if the repository has no sync interval."""
    sync = RepositorySpec.model_validate_json(repository.spec).sync
    return finished + sync.interval_seconds * 1000 if sync.enabled and sync.interval_seconds else None
