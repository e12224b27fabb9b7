"""Recovery of abandoned jobs: a job whose lease has expired is requeued, or ends if it was started too often."""

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError
from dashwright.common.jobs import job_messages
from dashwright.common.jobs.routing import Wakeup, pool_of
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.observability import metrics
from dashwright.common.stores import claims, jobs, resources, sync_status
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.work.wakeups import WakeupPublisher

log = structlog.get_logger()

#: Maximum number of jobs that one call recovers.
_BATCH_SIZE = 100


class JobRecovery:
    """Recovery of abandoned jobs.

    A job that was started ``max_attempts`` times ends as ``error``.
    """

    def __init__(self, database: Database, wakeups: WakeupPublisher, clock: Clock, *, max_attempts: int) -> None:
        self._database = database
        self._wakeups = wakeups
        self._clock = clock
        self._max_attempts = max_attempts

    async def run_once(self) -> None:
        """Recover jobs whose lease has expired. A job that cannot be recovered does not delay the others."""
        async with self._database.connection() as connection:
            expired = await claims.list_with_expired_lease(connection, limit=_BATCH_SIZE)
        for job in expired:
            try:
                await self._recover(job)
            except DashwrightError as error:
                log.warning("job_not_recovered", job=job.name, error=error.message)

    async def _recover(self, job: StoredJob) -> None:
        """Requeue a job, or end it as ``error`` if it was started too often."""
        async with self._database.transaction() as connection:
            # Every writer of objects and jobs takes these locks in this order; otherwise they could deadlock.
            if sync_status.is_affected_by(job):
                await resources.lock(connection, job.namespace)
            await jobs.lock(connection, job.namespace)
            if job.attempts >= self._max_attempts:
                is_recovered = await self._fail(connection, job, f"{job_messages.LEASE_EXPIRED}; given up after {job.attempts} attempts")
            else:
                is_recovered = await self._requeue(connection, job)
        if is_recovered:
            self._wakeups.publish_soon([Wakeup(pool_of(job.wake_key), job.uid)])
            log.warning("job_recovered", job=job.name, repository=job.repository, attempts=job.attempts)

    async def _requeue(self, connection: Connection, job: StoredJob) -> bool:
        """Requeue a job. Return False if its worker, or another recovery, has changed it in the meantime."""
        if not await claims.requeue_expired(connection, job):
            return False
        await sync_status.update(connection, job, JobStatus(state=State.PENDING))
        metrics.jobs_taken_up_again.inc()
        return True

    async def _fail(self, connection: Connection, job: StoredJob, message: str) -> bool:
        """End a job as ``error``. Return False if its worker, or another recovery, has changed it in the meantime."""
        previous_status = JobStatus.model_validate_json(job.status)
        status = JobStatus(
            state=State.ERROR, started=previous_status.started, finished=self._clock.milliseconds(), message=message, errors=[message]
        )
        is_failed = await claims.fail_expired(connection, job, status=status.to_json())
        if is_failed:
            await sync_status.update(connection, job, status)
        return is_failed
