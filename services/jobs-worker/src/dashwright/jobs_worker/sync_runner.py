"""Runs sync jobs: loads the repository, probes it, runs the action, and answers what came of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unhealthy
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import JobStatus, RepositorySpec
from dashwright.common.stores import resources
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.sync import Means, SyncJob, sync
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.ports import Checkout, Resources, Spool


class SyncRunner:
    """``open_…`` are the adapters' constructors; the other keywords are what a sync works with."""

    def __init__(
        self,
        database: Database,
        prober: Prober,
        clock: Clock,
        *,
        open_checkout: Callable[[RepositorySpec], Checkout],
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
            repository = await resources.get(connection, REPOSITORY, job.namespace, job.repository)
        spec = RepositorySpec.model_validate_json(repository.spec)
        health = await self._prober.probe(job.namespace, job.repository)
        if not health.healthy:
            raise Unhealthy("; ".join(health.message or ["Repository is unhealthy"]))
        wanted = SyncJob(job.namespace, job.repository, spec.title, spec.sync.target, spec.sync.enabled)
        with self._open_spool() as spool:
            means = Means(spool, self._read_yaml, self._admission, self._largest_file)
            tally = await sync(wanted, self._open_checkout(spec), self._open_resources(job, execution), execution, means)
        return execution.ended(tally)
