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
from dashwright.common.stores import jobs, repositories, resources, statuses
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
        open_resources: Callable[[StoredJob, Execution, Repository], Resources],
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
            known = await repositories.commit_of(connection, stored.uid, generation=stored.generation)
        repository = repository_of(stored)
        spec = repository.spec
        if not spec.sync.enabled:
            raise PreconditionFailed(verdicts.SYNC_DISABLED)
        checkout = await self._checkout(job, repository)
        if checkout is None:
            return execution.ended(Tally(message=verdicts.SYNC_STARTED, final_message=verdicts.NO_COMMITS))
        if checkout.commit and checkout.commit == known:
            await self._note(repository, known, incremental=jobs.is_incremental(job))
            return execution.ended(Tally(message=verdicts.SYNC_STARTED, final_message=verdicts.SAME_COMMIT))
        wanted = SyncJob(job.namespace, job.repository, spec.title, spec.sync.target, spec.sync.enabled)
        difference = await checkout.changed(known) if known and jobs.is_incremental(job) else None
        with self._open_spool() as spool:
            means = Means(spool, self._read_yaml, self._admission, self._largest_file)
            tally = await sync(wanted, checkout, self._open_resources(job, execution, repository), execution, means, difference)
        ended = execution.ended(tally)
        stored_commit = checkout.commit if ended.state is State.SUCCESS else ""
        await self._note(repository, stored_commit, incremental=difference is not None)
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
            checkout = await self._open_checkout(repository)
        except DashwrightError as error:
            await self._prober.note(job.namespace, job.repository, error)
            raise
        await self._prober.note(job.namespace, job.repository, None)
        return checkout

    async def _note(self, repository: Repository, commit: str, *, incremental: bool) -> None:
        """Tells which commit is stored now, unless empty, and whether all of it was looked at for that."""

        def change(status: RepositoryStatus, _: Stored) -> None:
            status.sync.incremental = incremental
            if commit:
                status.sync.last_ref = commit
                status.observed_generation = repository.generation

        async with self._database.transaction() as connection:
            await statuses.change(connection, REPOSITORY, repository.namespace, repository.name, RepositoryStatus, change)
