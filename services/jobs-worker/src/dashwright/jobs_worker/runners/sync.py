"""The runner of sync jobs: it opens the repository, decides how much of it to examine, and records the result."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, PreconditionFailed, Unhealthy
from dashwright.common.jobs import job_messages
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus, RepositoryType
from dashwright.common.stores import jobs, repositories, revisions, statuses
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.repositories import StoredCommit
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.actions.sync import SyncJob, SyncTools, sync
from dashwright.jobs_worker.domain.objects import Difference, QuarantinedFile, Repository
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.ports import Checkout, Resources, Revisions
from dashwright.jobs_worker.runners.repository import RepositoryJob

log = structlog.get_logger()

ATTEMPTS: Final = 5


class SyncRunner:
    """Runs syncs over adapters. The ``open_…`` arguments construct the adapters of one attempt, ``open_resources`` by the stored edition.

    ``most_entries`` is the limit of files and directories in a repository.
    """

    def __init__(
        self,
        database: Database,
        prober: Prober,
        clock: Clock,
        *,
        open_checkout: Callable[[RepositoryJob], Awaitable[Checkout | None]],
        commits: Revisions,
        open_resources: Callable[[RepositoryJob, int], Resources],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        most_entries: int,
    ) -> None:
        self._database = database
        self._prober = prober
        self._clock = clock
        self._open_checkout = open_checkout
        self._commits = commits
        self._open_resources = open_resources
        self._open_tools = open_tools
        self._most_entries = most_entries

    async def run(self, work: RepositoryJob) -> JobProgress:
        """Sync the repository of the job. Raises Overtaken if another writer stored the repository first, and CopyDamaged."""
        job, stored, repository = work.job, work.stored, work.repository
        async with self._database.connection() as connection:
            kept = await repositories.stored_commit(connection, stored.uid, generation=stored.generation)
            held = await revisions.held_head(connection, stored.uid, generation=stored.generation)
        if not repository.spec.sync.enabled:
            raise PreconditionFailed(job_messages.SYNC_DISABLED)
        newest = await self._checkout(work)
        if newest is None:
            await self._record_sync(repository, incremental=False, held_at="")
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.NO_COMMITS)
        if newest.commit == held and jobs.is_scheduled(job):
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.HELD)
        back_to = jobs.commit_of(job)
        checkout = await self._commits.at_synced(repository, back_to) if back_to else newest
        head = newest.commit if back_to else ""
        # The edition was read before the files: if another writer stores in between, the write is refused as Overtaken.
        objects = self._open_resources(work, kept.edition)
        quarantined = await objects.quarantined()
        if checkout.commit and checkout.commit == kept.commit == _last_ref(stored) and all(item.is_copy for item in quarantined):
            await self._record_sync(repository, incremental=jobs.is_incremental(job), held_at=head)
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.SAME_COMMIT)
        difference = await self._difference(job, checkout, kept, quarantined)
        with self._open_tools() as tools:
            progress = await sync(SyncJob.of(repository), checkout, objects, work.execution, tools, difference)
        await self._record_sync(repository, incremental=difference is not None, held_at=head)
        if checkout.commit:
            await self._keep_commits(repository)
        if back_to:
            progress.final_message = job_messages.PUT_BACK
        return progress

    async def _difference(
        self, job: StoredJob, checkout: Checkout, kept: StoredCommit, quarantined: Sequence[QuarantinedFile]
    ) -> Difference | None:
        """Return the part to examine; None for everything. For a commit that is already stored, that is only the files in quarantine."""
        if not kept.commit or not (jobs.is_incremental(job) or checkout.commit == kept.commit):
            return None
        difference = await checkout.difference_since(kept.commit, [item.path for item in quarantined])
        # The full examination reports that there are too many files.
        is_too_large = difference is not None and kept.entries + difference.growth > self._most_entries
        return None if is_too_large else difference

    async def _checkout(self, work: RepositoryJob) -> Checkout | None:
        """Return the files. A repository on a git host is fetched immediately: a successful fetch is the probe."""
        repository = work.repository
        if repository.spec.type is RepositoryType.LOCAL:
            health = await self._prober.probe(repository.namespace, repository.name)
            if not health.healthy:
                raise Unhealthy("; ".join(health.message or ["Repository is unhealthy"]))
            return await self._open_checkout(work)
        try:
            checkout = await self._open_checkout(work)
        except DashwrightError as error:
            await self._prober.record(repository.namespace, repository.name, error)
            raise
        await self._prober.record(repository.namespace, repository.name, None)
        return checkout

    async def _keep_commits(self, repository: Repository) -> None:
        """Keep the listed revisions in the copy, for rollbacks. A failure does not undo the sync."""
        async with self._database.connection() as connection:
            known = await revisions.list_all(connection, uuid.UUID(repository.uid))
        try:
            await self._commits.keep_only_synced(repository, [revision.ref for revision in known])
        except DashwrightError as error:
            log.warning("commits_not_kept", repository=repository.name, error=error.message)

    async def _record_sync(self, repository: Repository, *, incremental: bool, held_at: str) -> None:
        """Record in the status which generation was synced and whether everything was examined.

        ``held_at`` is the head of the branch that a rollback left; empty if the repository follows its branch.
        """
        uid = uuid.UUID(repository.uid)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.sync.incremental = incremental
            status.sync.held = True if held_at else None
            status.observed_generation = repository.generation

        async with self._database.transaction() as connection:
            await statuses.change(connection, REPOSITORY, repository.namespace, repository.name, RepositoryStatus, change)
            if held_at:
                await revisions.hold_at(connection, uid, held_at, generation=repository.generation)
            else:
                await revisions.release(connection, uid)


def _last_ref(stored: StoredObject) -> str | None:
    return RepositoryStatus.model_validate_json(stored.status or "{}").sync.last_ref
