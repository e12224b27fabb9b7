"""The runner of ``pr`` jobs: it reads the reference to a pull request from the job and reviews that pull request."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from dashwright.common.errors import BadRequest
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.stores import jobs
from dashwright.jobs_worker.actions.pull_request import ReviewTools, review
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference
from dashwright.jobs_worker.ports import DocumentStore, Host, PullRequestCheckouts, Renderer
from dashwright.jobs_worker.runners.repository import RepositoryJob

ATTEMPTS = 2
"""Attempts of one job, because its mirror may be damaged."""


class PullRequestRunner:
    """A runner of reviews of pull requests. ``open_document_store`` and ``open_tools`` construct the adapters of one attempt."""

    def __init__(
        self,
        *,
        host: Host,
        pull_request_checkouts: PullRequestCheckouts,
        open_document_store: Callable[[Repository], DocumentStore],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        renderer: Renderer,
        gateway_address: str,
    ) -> None:
        self._host = host
        self._pull_request_checkouts = pull_request_checkouts
        self._open_document_store = open_document_store
        self._open_tools = open_tools
        self._renderer = renderer
        self._gateway_address = gateway_address

    async def run(self, repository_job: RepositoryJob) -> JobProgress:
        """Review the pull request of the job. Raises BadRequest if the job names none or the repository is a local directory."""
        reference = PullRequestReference.from_options(repository_job.spec.pr)
        # The pull request may have newer commits by now than when the git host reported it. The newest commit is reviewed.
        if jobs.is_automatic(repository_job.job):
            reference = reference.without_commit()
        repository = repository_job.repository
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("a local directory has no pull requests")
        with self._open_tools() as sync_tools:
            document_store = self._open_document_store(repository)
            tools = ReviewTools(self._host, self._pull_request_checkouts, document_store, sync_tools, self._renderer, self._gateway_address)
            return await review(repository, reference, tools, repository_job.execution)
