"""Execution of one job: its lease, renewed in the background, and its progress, written from time to time."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import StoredJob

log = structlog.get_logger()

#: Shortest time between two writes of the progress.
_REPORT_SECONDS = 0.5


class LeaseLost(Exception):
    """Loss of the lease: nothing more of the job may be written."""


class Execution:
    """Connection of a runner to the job it runs.

    ``owner`` identifies this attempt: writes of earlier attempts are refused.
    """

    def __init__(self, database: Database, job: StoredJob, owner: uuid.UUID, clock: Clock, *, lease: timedelta) -> None:
        self.owner = owner
        self.started = clock.milliseconds()
        self._database = database
        self._job = job
        self._clock = clock
        self._lease = lease
        self._reported = 0.0

    @asynccontextmanager
    async def holding_lease(self) -> AsyncIterator[None]:
        """Renew the lease while the block runs. Cancel the block with LeaseLost if the lease is lost."""
        task = asyncio.current_task()
        assert task is not None
        lost = False

        async def renew() -> None:
            nonlocal lost
            loop = asyncio.get_running_loop()
            held_until = loop.time() + self._lease.total_seconds()
            while True:
                await asyncio.sleep(self._lease.total_seconds() / 3)
                try:
                    async with self._database.connection() as connection:
                        held = await jobs.renew(connection, self._job.uid, owner=self.owner, lease=self._lease)
                    held_until = loop.time() + self._lease.total_seconds()
                except Unavailable as error:
                    log.warning("lease_not_renewed", error=error.message)
                    # An unreachable database is not a loss yet: no other worker can take the lease before it lapses.
                    held = loop.time() < held_until
                if not held:
                    lost = True
                    task.cancel()
                    return

        renewal = asyncio.create_task(renew(), name=f"lease of {self._job.name}")
        try:
            yield
        except asyncio.CancelledError:
            if lost and task.uncancel() == 0:
                raise LeaseLost from None
            raise
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def report(self, progress: JobProgress) -> None:
        """Write the progress, at most twice a second. Raises LeaseLost if the job was cancelled or taken over."""
        now = asyncio.get_running_loop().time()
        if now - self._reported < _REPORT_SECONDS:
            return
        self._reported = now
        status = progress.status(started=self.started)
        async with self._database.connection() as connection:
            if not await jobs.report(connection, self._job.uid, owner=self.owner, status=status.to_json()):
                raise LeaseLost

    def failed(self, message: str) -> JobStatus:
        """Return the final status of a job that could not do its work."""
        return JobStatus(
            state=State.ERROR, started=self.started, finished=self._clock.milliseconds(), message=message, errors=[message], progress=0.0
        )

    def ended(self, progress: JobProgress) -> JobStatus:
        """Return the final status of a job that did its work, with or without errors."""
        return progress.status(started=self.started, finished=self._clock.milliseconds())
