"""Shows in the status of repositories that a sync of them is queued."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.stores import mirror
from dashwright.common.stores.jobs import StoredJob

log = structlog.get_logger()


class QueuedSyncs:
    """Writes the status after the submission has committed: the status needs the lock of objects, which a large sync may hold."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._showing: set[asyncio.Task[None]] = set()

    async def show(self, submitted: Iterable[StoredJob], *, patience: float) -> None:
        """Show those of the jobs that are syncs. Waits ``patience`` seconds; what is left goes on in the background."""
        uids = list(dict.fromkeys(job.uid for job in submitted if mirror.concerns(job)))
        if not uids:
            return
        task = asyncio.create_task(self._show(uids), name="show-queued-syncs")
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)
        await asyncio.wait({task}, timeout=patience)

    async def stop(self) -> None:
        """Wait for what is being shown."""
        await asyncio.gather(*self._showing, return_exceptions=True)

    async def _show(self, uids: Sequence[uuid.UUID]) -> None:
        """One transaction each: other writers have their turn between two of a long list."""
        for uid in uids:
            try:
                async with self._database.transaction() as connection:
                    await mirror.show(connection, uid)
            except DashwrightError as error:
                log.info("job_not_mirrored", job=str(uid), error=error.message)
                return
