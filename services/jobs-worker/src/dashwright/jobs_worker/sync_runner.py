"""Runs sync jobs: loads the repository, probes it, runs the action, and answers what came of it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, PreconditionFailed, Unhealthy
from dashwright.common.jobs import verdicts
from dashwright.common.jobs.progress import Tally
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import JobStatus, RepositoryStatus, RepositoryType, State
from dashwright.common.stores import resources, statuses
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.sync import Means, SyncJob, sync
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.maintenance.prober import Prober, repository_of
from dashwright.jobs_worker.ports import Checkout, Resources, Spool


class SyncRunner:
    """``open_…`` are the adapters' constructors; the other keywords are what a sync works with."""

    def __init__(
        self,
        database: Database,
        prober: Prober,
        clock: Clock,
        *,
        open_checkout: Callable[[Repository], Awaitable[Checkout | None]],
        open_resources: Callable[[StoredJob, Execution], Resources],
        open_spool: Callable[[], AbstractContextManager[Spool]],
        read_yaml: Callable[[str], Any],
        admission: AdmissionSettings,
        largest_file: int,
    ) -> None:
        self._database = database
        self._prober = prober
        self._clock = clock
        self._open_checkout = open_checkout
        self._open_resources = open_resources
        self._open_spool = open_spool
        self._read_yaml = read_yaml
        self._admission = admission
        self._largest_file = largest_file

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        assert job.repository is not None
        async with self._database.connection() as connection:
            stored = await resources.get(connection, REPOSITORY, job.namespace, job.repository)
        repository = repository_of(stored)
        spec = repository.spec
        if not spec.sync.enabled:
            raise PreconditionFailed(verdicts.SYNC_DISABLED)
        checkout = await self._checkout(job, repository)
        if checkout is None:
            return execution.ended(Tally(message=verdicts.SYNC_STARTED, final_message=verdicts.NO_COMMITS))
        if checkout.commit and _is_current(checkout.commit, stored):
            return execution.ended(Tally(message=verdicts.SYNC_STARTED, final_message=verdicts.SAME_COMMIT))
        wanted = SyncJob(job.namespace, job.repository, spec.title, spec.sync.target, spec.sync.enabled)
        with self._open_spool() as spool:
            means = Means(spool, self._read_yaml, self._admission, self._largest_file)
            tally = await sync(wanted, checkout, self._open_resources(job, execution), execution, means)
        ended = execution.ended(tally)
        if checkout.commit and ended.state is State.SUCCESS:
            await self._note(repository, checkout.commit)
        return ended

    async def _checkout(self, job: StoredJob, repository: Repository) -> Checkout | None:
        """One of a git host is fetched at once: that it can be is all there is to be probed."""
        assert job.repository is not None
        if repository.spec.type is RepositoryType.LOCAL:
            health = await self._prober.probe(job.namespace, job.repository)
            if not health.healthy:
                raise Unhealthy("; ".join(health.message or ["Repository is unhealthy"]))
            return await self._open_checkout(repository)
        try:
            return await self._open_checkout(repository)
        except DashwrightError as error:
            await self._prober.note(job.namespace, job.repository, error)
            raise

    async def _note(self, repository: Repository, commit: str) -> None:
        """Which commit is stored now: the next sync goes on from there."""

        def change(status: RepositoryStatus, _generation: int) -> None:
            status.sync.last_ref = commit
            status.observed_generation = repository.generation

        async with self._database.transaction() as connection:
            await statuses.change(connection, REPOSITORY, repository.namespace, repository.name, RepositoryStatus, change)


def _is_current(commit: str, stored: Stored) -> bool:
    """Whether what is stored is that commit already, under the same spec and without a file left out."""
    status = RepositoryStatus.model_validate_json(stored.status or "{}")
    return status.sync.last_ref == commit and status.observed_generation == stored.generation
