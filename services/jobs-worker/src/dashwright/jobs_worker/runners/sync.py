"""The runner of sync jobs: it opens the repository, decides whether to examine all files, and records the result."""

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
from dashwright.common.stores import jobs, repositories, resources, revisions
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.repositories import StoredCommit
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.actions.sync import SyncJob, SyncTools, sync
from dashwright.jobs_worker.domain.objects import Difference, QuarantinedFile, Repository
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.ports import Checkout, ObjectStore, SyncedCommits
from dashwright.jobs_worker.runners.repository import RepositoryJob

log = structlog.get_logger()

ATTEMPTS: Final = 5
"""Attempts of one job, because edits and other syncs may store the repository first."""


class SyncRunner:
    """A runner of syncs. The ``open_…`` arguments construct the adapters of one attempt.

    The second argument of ``open_object_store`` is the stored edition of the repository. ``max_entries`` is the limit of files and
    directories in a repository.
    """

    def __init__(
        self,
        database: Database,
        prober: Prober,
        clock: Clock,
        *,
        open_checkout: Callable[[RepositoryJob], Awaitable[Checkout | None]],
        synced_commits: SyncedCommits,
        open_object_store: Callable[[RepositoryJob, int], ObjectStore],
        open_tools: Callable[[], AbstractContextManager[SyncTools]],
        max_entries: int,
    ) -> None:
        self._database = database
        self._prober = prober
        self._clock = clock
        self._open_checkout = open_checkout
        self._synced_commits = synced_commits
        self._open_object_store = open_object_store
        self._open_tools = open_tools
        self._max_entries = max_entries

    async def run(self, repository_job: RepositoryJob) -> JobProgress:
        """Sync the repository of the job. Raises Overtaken if another writer stored the repository first, and MirrorDamaged."""
        job, stored_object, repository = repository_job.job, repository_job.stored_object, repository_job.repository
        async with self._database.connection() as connection:
            stored_commit = await repositories.stored_commit(connection, stored_object.uid, generation=stored_object.generation)
            rolled_back_head = await revisions.held_head(connection, stored_object.uid, generation=stored_object.generation)
        if not repository.spec.sync.enabled:
            raise PreconditionFailed(job_messages.SYNC_DISABLED)
        newest_checkout = await self._checkout(repository_job)
        if newest_checkout is None:
            await self._record_sync(repository, incremental=False, rolled_back_head="")
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.NO_COMMITS)
        if newest_checkout.commit == rolled_back_head and jobs.is_automatic(job):
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.HELD)
        rollback_commit = jobs.rollback_commit(job)
        checkout = await self._synced_commits.at_synced(repository, rollback_commit) if rollback_commit else newest_checkout
        head_to_record = newest_checkout.commit if rollback_commit else ""
        # The edition was read before the files, so that a write by another writer in between raises Overtaken.
        store = self._open_object_store(repository_job, stored_commit.edition)
        quarantined = await store.quarantined()
        # Copies in quarantine are not errors, so another sync of the stored commit would change nothing.
        is_stored_without_errors = checkout.commit == stored_commit.commit == _last_ref(stored_object) and all(
            item.is_copy for item in quarantined
        )
        if checkout.commit and is_stored_without_errors:
            await self._record_sync(repository, incremental=jobs.is_incremental(job), rolled_back_head=head_to_record)
            return JobProgress(message=job_messages.SYNC_STARTED, final_message=job_messages.SAME_COMMIT)
        difference = await self._difference(job, checkout, stored_commit, quarantined)
        with self._open_tools() as tools:
            progress = await sync(SyncJob.from_repository(repository), checkout, store, repository_job.execution, tools, difference)
        await self._record_sync(repository, incremental=difference is not None, rolled_back_head=head_to_record)
        if checkout.commit:
            await self._keep_commits(repository)
        if rollback_commit:
            progress.final_message = job_messages.ROLLED_BACK
        return progress

    async def _difference(
        self, job: StoredJob, checkout: Checkout, stored_commit: StoredCommit, quarantined: Sequence[QuarantinedFile]
    ) -> Difference | None:
        """Return the difference to examine; None to examine all files.

        If the commit is already stored, the difference contains only the files in quarantine.
        """
        if not stored_commit.commit or not (jobs.is_incremental(job) or checkout.commit == stored_commit.commit):
            return None
        difference = await checkout.difference_since(stored_commit.commit, [item.path for item in quarantined])
        # If the repository has too many files, None is returned: the list of all files raises the error about the limit.
        is_too_large = difference is not None and stored_commit.entries + difference.growth > self._max_entries
        return None if is_too_large else difference

    async def _checkout(self, repository_job: RepositoryJob) -> Checkout | None:
        """Return the newest checkout, and record in the status whether the repository can be read.

        A local directory is probed first. A repository on a git host is fetched without a probe: the fetch itself shows whether it can be
        read.
        """
        repository = repository_job.repository
        if repository.spec.type is RepositoryType.LOCAL:
            health = await self._prober.probe(repository.namespace, repository.name)
            if not health.healthy:
                raise Unhealthy("; ".join(health.message or ["Repository is unhealthy"]))
            return await self._open_checkout(repository_job)
        try:
            checkout = await self._open_checkout(repository_job)
        except DashwrightError as error:
            await self._prober.record(repository.namespace, repository.name, error)
            raise
        await self._prober.record(repository.namespace, repository.name, None)
        return checkout

    async def _keep_commits(self, repository: Repository) -> None:
        """Keep the commits of the stored revisions in the mirror, for rollbacks. A failure is logged and does not undo the sync."""
        async with self._database.connection() as connection:
            stored_revisions = await revisions.list_all(connection, uuid.UUID(repository.uid))
        try:
            await self._synced_commits.keep_only_synced(repository, [revision.ref for revision in stored_revisions])
        except DashwrightError as error:
            log.warning("commits_not_stored", repository=repository.name, error=error.message)

    async def _record_sync(self, repository: Repository, *, incremental: bool, rolled_back_head: str) -> None:
        """Record in the status which generation was synced and whether everything was examined.

        ``rolled_back_head`` is the head of the branch at a rollback: automatic syncs skip that commit. It is empty if the repository
        follows its branch.
        """
        uid = uuid.UUID(repository.uid)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.sync.incremental = incremental
            status.sync.held = True if rolled_back_head else None
            status.observed_generation = repository.generation

        async with self._database.transaction() as connection:
            await resources.update_status(connection, REPOSITORY, repository.namespace, repository.name, RepositoryStatus, change)
            if rolled_back_head:
                await revisions.hold_at(connection, uid, rolled_back_head, generation=repository.generation)
            else:
                await revisions.release(connection, uid)


def _last_ref(stored_object: StoredObject) -> str | None:
    return RepositoryStatus.model_validate_json(stored_object.status or "{}").sync.last_ref
