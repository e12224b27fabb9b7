"""The runner of ``pr`` jobs: it decides which pull request is meant and has it reviewed."""

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
from dashwright.jobs_worker.ports import Host, PullRequestCheckouts, Renderer, StoredObjects
from dashwright.jobs_worker.runners.repository import RepositoryJob

ATTEMPTS = 2


class PullRequestRunner:
    """Runs reviews over adapters. ``open_stored`` and ``open_tools`` construct the adapters of one attempt."""

    def __init__(
        self,
        *,
        host: Host,
        proposals: PullRequestCheckouts,
        open_stored: Callable[[Repository], StoredObjects],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        renderer: Renderer,
        address: str,
    ) -> None:
        self._host = host
        self._proposals = proposals
        self._open_stored = open_stored
        self._open_tools = open_tools
        self._renderer = renderer
        self._address = address

    async def run(self, work: RepositoryJob) -> JobProgress:
        """Review the pull request of the job. Raises BadRequest if the job names none or the repository is a folder."""
        reference = PullRequestReference.of(work.spec.pr)
        # A delivery of the git host may be handled late: the newest commit is reviewed, whichever that is by then.
        if jobs.is_scheduled(work.job):
            reference = reference.without_commit()
        repository = work.repository
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest("a folder has no pull requests")
        with self._open_tools() as sync_tools:
            stored = self._open_stored(repository)
            tools = ReviewTools(self._host, self._proposals, stored, sync_tools, self._renderer, self._address)
            return await review(repository, reference, tools, work.execution)
