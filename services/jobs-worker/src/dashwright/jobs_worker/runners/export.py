"""The runner of export jobs: it reads which account requested the export, and commits on behalf of that account."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.jobs_worker.actions.export import ExportJob, ExportLimits, export
from dashwright.jobs_worker.domain.objects import GitIdentity
from dashwright.jobs_worker.ports import Checkouts, Exports, Spool
from dashwright.jobs_worker.runners.repository import RepositoryJob


class ExportSource(Exports, Protocol):
    """The objects to export, and the git identities of the accounts that request exports."""

    async def git_identity(self, uid: str, login: str) -> GitIdentity:
        """Return the name and e-mail address of an account, to put into commits."""
        ...


class ExportRunner:
    """A runner of exports. ``open_exports`` and ``open_spool`` construct the adapters of one attempt."""

    def __init__(
        self,
        *,
        checkouts: Checkouts,
        open_exports: Callable[[RepositoryJob], ExportSource],
        open_spool: Callable[[], AbstractContextManager[Spool]],
        limits: ExportLimits,
    ) -> None:
        self._checkouts = checkouts
        self._open_exports = open_exports
        self._open_spool = open_spool
        self._limits = limits

    async def run(self, repository_job: RepositoryJob) -> JobProgress:
        """Run one export job and return its progress. Raises DashwrightError as ``export`` does."""
        exports = self._open_exports(repository_job)
        submitter = repository_job.job.submitted_by
        author = await exports.git_identity(str(submitter.get("uid", "")), str(submitter.get("login", "")))
        export_job = ExportJob(repository_job.repository, repository_job.spec.export or ExportJobOptions(), author)
        with self._open_spool() as spool:
            return await export(export_job, exports, self._checkouts, repository_job.execution, spool, self._limits)
