"""A writer that records queued syncs in the status of their repositories."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.stores import sync_status
from dashwright.common.stores.job_records import StoredJob

log = structlog.get_logger()


class SyncStatusWriter:
    """A writer that records queued syncs in the status of their repositories.

    Call ``write_queued`` after the transaction that submits the jobs, because it waits for the lock of objects. A large sync may
    hold this lock for a long time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks: set[asyncio.Task[None]] = set()

    async def write_queued(self, submitted_jobs: Iterable[StoredJob], *, timeout: float) -> None:
        """Record the syncs among the submitted jobs, in the order of the jobs.

        Waits up to ``timeout`` seconds; after that, the writes continue in the background. Errors of the writes are logged only.
        """
        job_uids = list(dict.fromkeys(job.uid for job in submitted_jobs if sync_status.is_affected_by(job)))
        if not job_uids:
            return
        task = asyncio.create_task(self._write_queued(job_uids), name="write-queued-syncs")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task}, timeout=timeout)

    async def stop(self) -> None:
        """Wait for the writes in progress."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write_queued(self, job_uids: Sequence[uuid.UUID]) -> None:
        """Record syncs in their order, up to the first error."""
        # Each job has its own transaction, so that other writers get the lock between two jobs of a long list.
        for uid in job_uids:
            try:
                async with self._database.transaction() as connection:
                    await sync_status.refresh(connection, uid)
            except DashwrightError as error:
                log.info("job_not_mirrored", job=str(uid), error=error.message)
                # The next writes would wait and fail, too. The worker that claims a job writes this status anyway.
                return
