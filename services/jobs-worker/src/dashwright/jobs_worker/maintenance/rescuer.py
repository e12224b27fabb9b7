"""Recovery of abandoned jobs: requeued if their lease has expired, woken if their wake-up was lost."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

import orjson
import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import job_messages
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.observability import metrics
from dashwright.common.relay import Relay
from dashwright.common.stores import jobs, mirror, resources
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.outbox import Wakeup

log = structlog.get_logger()

_BATCH = 100
_REPLACED = "the worker of this job was lost; an equal pending job replaces it"


class Rescuer:
    """Recovery of abandoned jobs.

    A job that was started ``max_attempts`` times ends as ``error``. A pending job that has waited longer than ``stale_after`` since its
    last wake-up is woken again.
    """

    def __init__(self, database: Database, relay: Relay, clock: Clock, *, max_attempts: int, stale_after: timedelta) -> None:
        self._database = database
        self._relay = relay
        self._clock = clock
        self._max_attempts = max_attempts
        self._stale_after = stale_after

    async def rescue(self) -> None:
        """Recover jobs whose lease has expired, and wake pending ones. A job that cannot be recovered does not delay the others."""
        async with self._database.connection() as connection:
            expired = await jobs.lapsed(connection, limit=_BATCH)
        for job in expired:
            try:
                await self._rescue_one(job)
            except DashwrightError as error:
                log.warning("job_not_rescued", job=job.name, error=error.message)
        await self.wake(older_than=self._stale_after)

    async def _rescue_one(self, job: StoredJob) -> None:
        async with self._database.transaction() as connection:
            # Every writer of objects and jobs takes these locks in this order; otherwise they could deadlock.
            if mirror.concerns(job):
                await resources.lock(connection)
            await jobs.lock(connection)
            if await jobs.has_pending_equal(connection, job):
                wakeups = await self._end(connection, job, _REPLACED)
            elif job.attempts >= self._max_attempts:
                wakeups = await self._end(connection, job, f"{job_messages.LEASE_LAPSED}; given up after {job.attempts} attempts")
            else:
                wakeups = await self._requeue(connection, job)
        if wakeups is not None:
            self._relay.publish_soon(wakeups)
            log.warning("job_rescued", job=job.name, repository=job.repository, attempts=job.attempts)

    async def _requeue(self, connection: Connection, job: StoredJob) -> Sequence[Wakeup] | None:
        wakeups = await jobs.requeue_lapsed(connection, job)
        if not wakeups:
            return None
        await mirror.mirror(connection, job, JobStatus(state=State.PENDING))
        metrics.jobs_taken_up_again.inc()
        return wakeups

    async def _end(self, connection: Connection, job: StoredJob, message: str) -> Sequence[Wakeup] | None:
        before = JobStatus.model_validate_json(job.status)
        status = JobStatus(
            state=State.ERROR, started=before.started, finished=self._clock.milliseconds(), message=message, errors=[message]
        )
        wakeups = await jobs.end_lapsed(connection, job, status=status.to_json())
        if wakeups is not None:
            await mirror.mirror(connection, job, status)
        return wakeups

    async def wake(self, *, older_than: timedelta) -> None:
        """Wake, in batches, the pending jobs that may run and whose last wake-up is older than ``older_than``."""
        woken = 0
        last: uuid.UUID | None = None
        while True:
            async with self._database.transaction() as connection:
                wakeups = await jobs.wake_stale(connection, older_than=older_than, limit=_BATCH, after=last)
            self._relay.publish_soon(wakeups)
            woken += len(wakeups)
            if len(wakeups) < _BATCH:
                break
            last = uuid.UUID(orjson.loads(wakeups[-1].body)["uid"])
        if woken:
            log.info("pending_jobs_woken", jobs=woken)
