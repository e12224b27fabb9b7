"""The runner of ``pr`` jobs: it reads the reference to a pull request from the job and reviews that pull request."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final

import orjson

from dashwright.common.clock import Clock
from dashwright.common.errors import BadRequest, SourceFailed, TooManyRequests
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import StoredJob
from dashwright.jobs_worker.actions.pull_request import ReviewTools, review
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference
from dashwright.jobs_worker.ports import DocumentStore, Host, MirrorDamaged, PullRequestCheckouts, Renderer
from dashwright.jobs_worker.runners.repository import RepositoryJob

ATTEMPTS = 2
"""Attempts of one job, because its mirror may be damaged."""

_REPETITION_SECONDS: Final = 600.0
"""Seconds after its submission during which a review is repeated while the git host fails."""

_PAUSE_SECONDS: Final = 30.0
"""Seconds until a review is repeated."""


class PullRequestRunner:
    """A runner of reviews of pull requests. ``open_document_store`` and ``open_tools`` construct the adapters of one attempt."""

    def __init__(
        self,
        clock: Clock,
        *,
        host: Host,
        pull_request_checkouts: PullRequestCheckouts,
        open_document_store: Callable[[Repository], DocumentStore],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        renderer: Renderer,
        gateway_address: str,
    ) -> None:
        self._clock = clock
        self._host = host
        self._pull_request_checkouts = pull_request_checkouts
        self._open_document_store = open_document_store
        self._open_tools = open_tools
        self._renderer = renderer
        self._gateway_address = gateway_address

    async def run(self, repository_job: RepositoryJob) -> JobProgress:
        """Review the pull request of the job.

        Raises BadRequest if the job names none or the repository is a local directory, and what ``review`` raises. If the host fails,
        TooManyRequests postpones a review that a webhook has submitted: no user waits for it, and the host sends no second event.
        """
        try:
            return await self._review(repository_job)
        except MirrorDamaged:
            # Also a SourceFailed, but the next attempt recreates the mirror, without a pause.
            raise
        except SourceFailed as error:
            if not self._is_repeated(repository_job.job):
                raise
            raise TooManyRequests(error.message, retry_after=_PAUSE_SECONDS) from error

    def _is_repeated(self, job: StoredJob) -> bool:
        """Return whether a failed review is repeated later: that of a webhook, for ten minutes after its submission."""
        submitted_at = datetime.fromisoformat(orjson.loads(job.metadata)["creationTimestamp"])
        return jobs.is_automatic(job) and (self._clock.now() - submitted_at).total_seconds() < _REPETITION_SECONDS

    async def _review(self, repository_job: RepositoryJob) -> JobProgress:
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
