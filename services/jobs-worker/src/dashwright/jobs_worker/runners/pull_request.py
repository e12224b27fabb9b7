"""Runs pr jobs: loads the repository, looks at its pull request, and answers what came of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.models.provisioning import JobSpec, JobStatus, RepositoryType
from dashwright.common.stores import jobs
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.pull_request import ReviewTools, review
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference
from dashwright.jobs_worker.ports import CopyDamaged, Host, PullRequestCheckouts, Renderer, StoredObjects
from dashwright.jobs_worker.stored_repositories import load

log = structlog.get_logger()


class PullRequestRunner:
    """``open_stored`` is the adapter's constructor, ``open_tools`` lends what a plan is made with, ``address`` is ours for people."""

    def __init__(
        self,
        database: Database,
        *,
        host: Host,
        proposals: PullRequestCheckouts,
        open_stored: Callable[[Repository], StoredObjects],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        renderer: Renderer,
        address: str,
    ) -> None:
        self._database = database
        self._host = host
        self._proposals = proposals
        self._open_stored = open_stored
        self._open_tools = open_tools
        self._renderer = renderer
        self._address = address

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Begin again where the copy of the repository broke. Raises BadRequest for a job that names no pull request.

        What a git host delivers may come late: its newest commit is looked at, whichever that is by then.
        """
        assert job.repository is not None
        reference = PullRequestReference.of(JobSpec.model_validate_json(job.spec).pr)
        if jobs.is_scheduled(job):
            reference = reference.without_commit()
        async with self._database.connection() as connection:
            repository = await load(connection, job.namespace, job.repository)
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("a folder has no pull requests")
        try:
            return await self._attempt(repository, reference, execution)
        except CopyDamaged as error:
            log.warning("copy_damaged", error=error.message)
            return await self._attempt(repository, reference, execution)

    async def _attempt(self, repository: Repository, reference: PullRequestReference, execution: Execution) -> JobStatus:
        with self._open_tools() as tools:
            reviewing = ReviewTools(self._host, self._proposals, self._open_stored(repository), tools, self._renderer, self._address)
            return execution.ended(await review(repository, reference, reviewing, execution))
