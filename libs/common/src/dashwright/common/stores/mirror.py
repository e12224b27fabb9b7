"""Mirror of the life of sync jobs in the sync status of their repository. Every change of a job's state comes through here."""

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
from dashwright.common.stores import jobs, resources, statuses
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject


def concerns(job: StoredJob) -> bool:
    """Return whether a job is mirrored.

    A transaction that writes both takes the lock of objects first, then that of jobs.
    """
    return job.action == Action.SYNC and job.repository is not None


async def show(connection: Connection, uid: uuid.UUID) -> None:
    """Mirror the present state of an unfinished job. A job that waits for another sync at work is not shown.

    Call after the commit of a submission, which does not wait for the lock of objects.
    """
    await resources.lock(connection)
    for job in await jobs.get_many(connection, [uid]):
        state = State(job.state)
        if state is State.WORKING or (state is State.PENDING and not await jobs.is_synced_now(connection, job)):
            await mirror(connection, job, JobStatus.model_validate_json(job.status))


async def mirror(connection: Connection, job: StoredJob, status: JobStatus, *, due: int | None = None) -> None:
    """Write a job's state into the repository's sync status, at the end with the time of the next sync.

    The sync itself records what it has stored. ``due`` is when a postponed job may run. ``incremental`` is what was
    requested, until the job reports what it did.
    """
    if not concerns(job):
        return
    assert job.repository is not None
    await resources.lock(connection)

    def change(repository: RepositoryStatus, stored: StoredObject) -> None:
        repository.sync = SyncStatus(
            state=SyncState(status.state.value),
            job=str(job.uid),
            started=status.started,
            finished=status.finished,
            message=status.errors or [],
            scheduled=due or repository.sync.scheduled if status.finished is None else _due(stored, status.finished),
            incremental=jobs.is_incremental(job) if status.finished is None else repository.sync.incremental,
            last_ref=repository.sync.last_ref,
            held=repository.sync.held,
        )

    try:
        await statuses.change(connection, REPOSITORY, job.namespace, job.repository, RepositoryStatus, change)
    except NotFound:
        # The repository was deleted in the meantime, so there is no status to write.
        return


def _due(repository: StoredObject, finished: int) -> int | None:
    """Return when the next sync is due; None without an interval."""
    sync = RepositorySpec.model_validate_json(repository.spec).sync
    return finished + sync.interval_seconds * 1000 if sync.enabled and sync.interval_seconds else None
