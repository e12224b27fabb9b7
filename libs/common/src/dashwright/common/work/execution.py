"""Execution of one job. Its lease is renewed in the background, and its progress is written periodically."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.stores import claims
from dashwright.common.stores.evaluations import NewResult
from dashwright.common.stores.job_records import StoredJob

log = structlog.get_logger()

#: Minimum time between two writes of the progress. Each write is a change that all watches of the job receive.
_REPORT_INTERVAL_SECONDS = 0.5


class LeaseLost(Exception):
    """Loss of the lease. The worker must write nothing more for the job."""


class Execution:
    """Execution of a job by a runner.

    ``owner`` identifies this attempt. Writes of other attempts are rejected.
    """

    def __init__(self, database: Database, job: StoredJob, owner: uuid.UUID, clock: Clock, *, lease: timedelta) -> None:
        self.owner = owner
        self.started = clock.milliseconds()
        #: Result of an evaluation, which is stored in the transaction that finishes the job. None for other jobs.
        self.result: NewResult | None = None
        self._database = database
        self._job = job
        self._clock = clock
        self._lease = lease
        #: Time of the event loop at which the progress was last written.
        self._reported_at = 0.0
        self._check_requested = asyncio.Event()

    def check_lease(self) -> None:
        """Request an early renewal of the lease. It stops the job if the lease was lost."""
        self._check_requested.set()

    @asynccontextmanager
    async def holding_lease(self) -> AsyncIterator[None]:
        """Renew the lease while the block runs. Cancel the block with LeaseLost if the lease is lost."""
        task = asyncio.current_task()
        assert task is not None
        is_lost = False

        async def renew() -> None:
            """Renew the lease after each third of its duration or on request. Cancel the block if the lease is lost."""
            nonlocal is_lost
            loop = asyncio.get_running_loop()
            expires_at = loop.time() + self._lease.total_seconds()
            while True:
                with suppress(TimeoutError):
                    # Two renewals can fail before the lease expires.
                    async with asyncio.timeout(self._lease.total_seconds() / 3):
                        await self._check_requested.wait()
                self._check_requested.clear()
                try:
                    async with self._database.connection() as connection:
                        is_renewed = await claims.renew(connection, self._job.uid, owner=self.owner, lease=self._lease)
                    expires_at = loop.time() + self._lease.total_seconds()
                except Unavailable as error:
                    log.warning("lease_not_renewed", error=error.message)
                    # While the database is unreachable, no other worker can claim the job before the lease expires.
                    is_renewed = loop.time() < expires_at
                if not is_renewed:
                    is_lost = True
                    task.cancel()
                    return

        renewal = asyncio.create_task(renew(), name=f"lease of {self._job.name}")
        try:
            yield
        except asyncio.CancelledError:
            # uncancel returns the number of other cancellations: if the worker is also stopping, the cancellation must continue.
            if is_lost and task.uncancel() == 0:
                raise LeaseLost from None
            raise
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)

    async def report(self, progress: JobProgress) -> None:
        """Write the progress, at most twice a second. Raises LeaseLost if the job was cancelled or taken over."""
        current_time = asyncio.get_running_loop().time()
        if current_time - self._reported_at < _REPORT_INTERVAL_SECONDS:
            return
        self._reported_at = current_time
        status = progress.status(started=self.started)
        async with self._database.connection() as connection:
            if not await claims.report(connection, self._job.uid, owner=self.owner, status=status.to_json()):
                raise LeaseLost

    def failed_status(self, message: str) -> JobStatus:
        """Return the final status of a job that failed as a whole, with ``message`` as its only error."""
        return self.ended_status(State.ERROR, message, errors=[message], progress=0.0)

    def ended_status(self, state: State, message: str, *, errors: list[str] | None, progress: float) -> JobStatus:
        """Return a final status with the given state, message and errors. ``progress`` is in percent."""
        finished = self._clock.milliseconds()
        return JobStatus(state=state, started=self.started, finished=finished, message=message, errors=errors, progress=progress)

    def final_status(self, progress: JobProgress) -> JobStatus:
        """Return the final status of a job that ran to its end, perhaps with errors of single resources."""
        return progress.status(started=self.started, finished=self._clock.milliseconds())
