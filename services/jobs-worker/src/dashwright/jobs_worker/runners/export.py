"""The runner of export jobs: it finds out who asked for the export and runs it in the name of that account."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.provisioning import ExportJobOptions
from dashwright.jobs_worker.actions.export import Bounds, ExportJob, export
from dashwright.jobs_worker.domain.objects import GitIdentity
from dashwright.jobs_worker.ports import Checkouts, Exports, Spool
from dashwright.jobs_worker.runners.repository import RepositoryJob


class AuthoredExports(Exports, Protocol):
    """The objects to export, and the accounts that ask for exports."""

    async def author(self, uid: str, login: str) -> GitIdentity:
        """Return the name and address of an account as a commit names them."""
        ...


class ExportRunner:
    """Runs exports over adapters. ``open_exports`` and ``open_spool`` construct the adapters of one attempt."""

    def __init__(
        self,
        *,
        checkouts: Checkouts,
        open_exports: Callable[[RepositoryJob], AuthoredExports],
        open_spool: Callable[[], AbstractContextManager[Spool]],
        bounds: Bounds,
    ) -> None:
        self._checkouts = checkouts
        self._open_exports = open_exports
        self._open_spool = open_spool
        self._bounds = bounds

    async def run(self, work: RepositoryJob) -> JobProgress:
        """Export what the job asks for. Raises what ``export`` raises."""
        exports = self._open_exports(work)
        submitter = work.job.submitted_by
        by = await exports.author(str(submitter.get("uid", "")), str(submitter.get("login", "")))
        job = ExportJob(work.repository, work.spec.export or ExportJobOptions(), by)
        with self._open_spool() as spool:
            return await export(job, exports, self._checkouts, work.execution, spool, self._bounds)
