"""Runs export jobs: loads the repository and who asked, runs the action, and answers what came of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from dashwright.common.database.pool import Database
from dashwright.common.models.provisioning import ExportJobOptions, JobSpec, JobStatus
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.export import Bounds, ExportJob, export
from dashwright.jobs_worker.domain.objects import GitIdentity, Repository
from dashwright.jobs_worker.ports import Checkouts, Exports, Spool
from dashwright.jobs_worker.stored_repositories import load


class AuthoredExports(Exports, Protocol):
    """Exports, and who those are that ask for them."""

    async def author(self, uid: str, login: str) -> GitIdentity:
        """As a commit names them."""
        ...


class ExportRunner:
    """``open_…`` are the adapters' constructors."""

    def __init__(
        self,
        database: Database,
        *,
        checkouts: Checkouts,
        open_exports: Callable[[StoredJob, Execution, Repository], AuthoredExports],
        open_spool: Callable[[], AbstractContextManager[Spool]],
        bounds: Bounds,
    ) -> None:
        self._database = database
        self._checkouts = checkouts
        self._open_exports = open_exports
        self._open_spool = open_spool
        self._bounds = bounds

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        assert job.repository is not None
        async with self._database.connection() as connection:
            repository = await load(connection, job.namespace, job.repository)
        exports = self._open_exports(job, execution, repository)
        by = await exports.author(str(job.submitted_by.get("uid", "")), str(job.submitted_by.get("login", "")))
        options = JobSpec.model_validate_json(job.spec).export or ExportJobOptions()
        with self._open_spool() as spool:
            progress = await export(ExportJob(repository, options, by), exports, self._checkouts, execution, spool, self._bounds)
        return execution.ended(progress)
