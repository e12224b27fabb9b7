"""Updates of the repository status when a sync is queued."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.stores import mirror
from dashwright.common.stores.job_records import StoredJob

log = structlog.get_logger()


class QueuedSyncs:
    """Writer of queued syncs to the status of their repositories.

    It writes after the submission has committed: the status needs the lock of objects, which a large sync may hold for long.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._showing: set[asyncio.Task[None]] = set()

    async def show(self, submitted: Iterable[StoredJob], *, timeout: float) -> None:
        """Write the syncs among the jobs to the status. Waits up to ``timeout`` seconds; the rest continues in the background."""
        uids = list(dict.fromkeys(job.uid for job in submitted if mirror.concerns(job)))
        if not uids:
            return
        task = asyncio.create_task(self._show(uids), name="show-queued-syncs")
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)
        await asyncio.wait({task}, timeout=timeout)

    async def stop(self) -> None:
        """Wait for the writes in progress."""
        await asyncio.gather(*self._showing, return_exceptions=True)

    async def _show(self, uids: Sequence[uuid.UUID]) -> None:
        # A transaction for each, so that other writers get the lock between two jobs of a long list.
        for uid in uids:
            try:
                async with self._database.transaction() as connection:
                    await mirror.show(connection, uid)
            except DashwrightError as error:
                log.info("job_not_mirrored", job=str(uid), error=error.message)
                return
