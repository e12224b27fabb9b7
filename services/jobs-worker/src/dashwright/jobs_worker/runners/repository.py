"""The steps that all jobs on a repository share: load the repository, run the action, return its progress as the final status."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, Conflict
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import JobSpec, JobStatus
from dashwright.common.stores import resources
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.retries import with_retries
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.ports import MirrorDamaged, Overtaken
from dashwright.jobs_worker.stored_repositories import repository_of


@dataclass(frozen=True, slots=True)
class RepositoryJob:
    """A job on a repository at the start of one attempt."""

    job: StoredJob
    #: The row of the repository, read before its files.
    stored_object: StoredObject
    repository: Repository
    #: The attempt that holds the job's lease; progress is reported to it.
    execution: Execution

    @property
    def spec(self) -> JobSpec:
        """The action of the job and its options."""
        return JobSpec.model_validate_json(self.job.spec)


class RepositoryRunner:
    """A runner of the jobs of one action: ``action`` does the work of an attempt and returns its progress.

    If the mirror of the repository is damaged or another writer stored the repository first, a new attempt starts from the beginning, up to
    ``attempts`` attempts in all.
    """

    def __init__(self, database: Database, action: Callable[[RepositoryJob], Awaitable[JobProgress]], *, attempts: int = 1) -> None:
        self._database = database
        self._action = action
        self._attempts = attempts

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Return the final status of the job. Raises NotFound if its repository is deleted, and what the action raises."""

        async def attempt() -> JobProgress:
            return await self._action(await self._load(job, execution))

        try:
            progress = await with_retries(attempt, attempts=self._attempts, retryable=(Overtaken, MirrorDamaged))
        except Overtaken as error:
            raise Conflict(
                f"other writers changed the repository {self._attempts} times during this {job.action}; run the {job.action} again later"
            ) from error
        return execution.final_status(progress)

    async def _load(self, job: StoredJob, execution: Execution) -> RepositoryJob:
        if job.repository is None:
            raise BadRequest(f"job {job.name!r} names no repository")
        async with self._database.connection() as connection:
            stored_object = await resources.get(connection, REPOSITORY, job.namespace, job.repository)
        return RepositoryJob(job, stored_object, repository_of(stored_object), execution)
