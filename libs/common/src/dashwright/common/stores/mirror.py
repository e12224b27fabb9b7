"""A repository's sync status mirrors the life of its sync jobs: every change of a job's state comes through here."""

from dashwright.common.database.pool import Connection
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import Action, JobStatus, RepositoryStatus, ResourceCount, State, SyncStatus
from dashwright.common.stores import resources, statuses
from dashwright.common.stores.jobs import StoredJob


def concerns(job: StoredJob) -> bool:
    """Whether a job's life is mirrored. Who writes both takes the lock of objects first, then that of jobs."""
    return job.action == Action.SYNC and job.repository is not None


async def mirror(connection: Connection, job: StoredJob, status: JobStatus) -> None:
    """The repository's sync status takes the job's state; at the end also the counts of what it manages."""
    if not concerns(job):
        return
    assert job.repository is not None
    await resources.lock(connection)
    counts = [] if status.finished is None else await resources.count_managed(connection, job.namespace, job.repository)

    def change(repository: RepositoryStatus, generation: int) -> None:
        repository.sync = SyncStatus(
            state=status.state.value,
            job=job.name,
            started=status.started,
            finished=status.finished,
            message=status.errors,
            incremental=False,
            last_ref=repository.sync.last_ref,
        )
        if status.state is State.SUCCESS:
            repository.observed_generation = generation
        if status.finished is not None:
            repository.stats = [ResourceCount(group=group, resource=resource, count=count) for group, resource, count in counts]

    try:
        await statuses.change(connection, REPOSITORY, job.namespace, job.repository, RepositoryStatus, change)
    except NotFound:
        # The repository was deleted meanwhile: nobody is left to tell.
        return
