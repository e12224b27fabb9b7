"""Consumer of wake-ups: claims a job under a lease, runs its action, renews the lease while it runs, and records its result.

Every step may happen twice. A wake-up is for whichever job is next. If no job may run, the wake-up is dropped: the job
that ends next wakes another one of its group. The rescuer takes over jobs of dead workers when their lease expires.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

import orjson
import structlog
from structlog.contextvars import bound_contextvars

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, TooManyRequests, Unavailable
from dashwright.common.jobs import job_messages
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry
from dashwright.common.messaging.message import Delivery
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.observability import metrics, tracing
from dashwright.common.relay import Relay
from dashwright.common.stores import jobs, mirror
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.outbox import Wakeup
from dashwright.common.work.execution import Execution, LeaseLost

log = structlog.get_logger()

#: Seconds until a wake-up is redelivered if the database is unavailable.
_RETRY_SECONDS = 1.0
#: The shortest time by which a job is postponed.
_MIN_DELAY_SECONDS = 1.0


class Runner(Protocol):
    """Runner of the jobs of one action."""

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Do the work and return the final status.

        TooManyRequests postpones the job. Any other DashwrightError ends it with the state ``error``, except Unavailable
        and a lost lease, which leave it to the rescuer.
        """
        ...


class JobConsumer:
    """Consumer of the wake-ups in ``queue``.

    At most ``slots`` jobs run concurrently. ``lease`` is how long a worker may be silent before another one
    takes over its job.
    """

    def __init__(
        self,
        database: Database,
        broker: Broker,
        relay: Relay,
        runners: Mapping[str, Runner],
        clock: Clock,
        *,
        queue: str,
        slots: int,
        lease: timedelta,
    ) -> None:
        self._database = database
        self._broker = broker
        self._relay = relay
        self._runners = runners
        self._clock = clock
        self._queue = queue
        self._slots = slots
        self._lease = lease
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Begin to consume wake-ups."""
        self._subscription = await self._broker.consume(self._queue, self.handle, prefetch=self._slots)

    async def stop(self, *, drain: float) -> None:
        """Accept no more jobs. Running jobs have ``drain`` seconds to end, before they are requeued."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """Claim and run a job for a wake-up. Raises nothing: errors end, postpone or release the job."""
        try:
            uid = uuid.UUID(orjson.loads(delivery.message.body)["uid"])
        except (ValueError, KeyError, TypeError):
            return DeadLetter('the message is not a wake-up of a job: its body must be {"uid": …}')
        owner = uuid.uuid4()
        try:
            job = await self._claim(uid, owner, delivery.routing_key)
        except Unavailable as error:
            return Retry(_RETRY_SECONDS, error.message)
        if job is None:
            return Ack()
        with bound_contextvars(job=job.name, repository=job.repository, action=job.action):
            await self._work(job, owner)
        return Ack()

    async def _claim(self, uid: uuid.UUID, owner: uuid.UUID, wake_key: str) -> StoredJob | None:
        started = JobStatus(state=State.WORKING, started=self._clock.milliseconds(), message=job_messages.STARTED)
        async with self._database.transaction() as connection:
            job = await jobs.claim(connection, uid, owner=owner, lease=self._lease, status=started.to_json(), wake_key=wake_key)
        if job is not None:
            await self._mirror(job, started)
        return job

    async def _mirror(self, job: StoredJob, status: JobStatus, *, due: int | None = None) -> None:
        """Copy the job's status to the status of its repository.

        In a transaction of its own: a claim must not hold the jobs lock while it waits for the objects lock.
        """
        try:
            async with self._database.transaction() as connection:
                await mirror.mirror(connection, job, status, due=due)
        except Unavailable as error:
            log.info("job_not_mirrored", job=job.name, error=error.message)

    async def _mirror_next(self, wakeups: Sequence[Wakeup]) -> None:
        """Copy the status of jobs that are now next in their groups; until now, the status of the running job was copied."""
        try:
            for wakeup in wakeups:
                async with self._database.transaction() as connection:
                    await mirror.show(connection, uuid.UUID(orjson.loads(wakeup.body)["uid"]))
        except Unavailable as error:
            log.info("job_not_mirrored", error=error.message)

    async def _work(self, job: StoredJob, owner: uuid.UUID) -> None:
        execution = Execution(self._database, job, owner, self._clock, lease=self._lease)
        log.info("job_started", attempt=job.attempts)
        try:
            async with execution.holding_lease():
                status = await self._run(job, execution)
            await self._finish(job, owner, status)
        except TooManyRequests as error:
            await self._postpone(job, owner, error)
        except LeaseLost:
            log.warning("job_abandoned", reason="its lease is no longer held: it was cancelled or taken over by another worker")
        except Unavailable as error:
            log.warning("job_left_to_rescuer", error=error.message)
        except asyncio.CancelledError:
            # Shielded: the cancellation that stops the worker must not also cancel the requeueing of its job.
            await asyncio.shield(self._requeue(job, owner))
            raise

    async def _run(self, job: StoredJob, execution: Execution) -> JobStatus:
        runner = self._runners.get(job.action)
        if runner is None:
            return execution.failed(f"jobs with the action {job.action} are not supported by this worker")
        try:
            return await runner.run(job, execution)
        except (LeaseLost, Unavailable, TooManyRequests):
            raise
        except DashwrightError as error:
            return execution.failed(error.message)
        except Exception:
            log.exception("job_failed")
            trace = tracing.current()
            return execution.failed(f"internal failure; the worker's log has trace id {trace.trace_id if trace else 'unknown'}")

    async def _finish(self, job: StoredJob, owner: uuid.UUID, status: JobStatus) -> None:
        async with self._database.transaction() as connection:
            await mirror.mirror(connection, job, status)
            wakeups = await jobs.finish(connection, job.uid, owner=owner, state=status.state.value, status=status.to_json())
            if wakeups is None:
                raise LeaseLost
        self._relay.publish_soon(wakeups)
        await self._mirror_next(wakeups)
        metrics.jobs_finished.labels(action=job.action, state=status.state.value).inc()
        seconds = ((status.finished or 0) - (status.started or 0)) / 1000
        metrics.jobs_seconds.labels(action=job.action).observe(seconds)
        log.info("job_ended", state=status.state.value, message=status.message, seconds=seconds)

    async def _postpone(self, job: StoredJob, owner: uuid.UUID, error: TooManyRequests) -> None:
        """Return a job to pending because a git host or service asked to wait. This does not count as an attempt."""
        delay = max(error.retry_after or 0.0, _MIN_DELAY_SECONDS)
        status = JobStatus(state=State.PENDING, message=f"postponed: {error.message}")
        try:
            async with self._database.transaction() as connection:
                wakeups = await jobs.postpone(connection, job.uid, owner=owner, delay=timedelta(seconds=delay), status=status.to_json())
        except Unavailable as unavailable:
            log.warning("job_left_to_rescuer", error=unavailable.message)
            return
        if wakeups is None:
            log.warning("job_abandoned", reason="its lease is no longer held: it was cancelled or taken over by another worker")
            return
        await self._mirror(job, status, due=self._clock.milliseconds() + round(delay * 1000))
        self._relay.publish_soon(wakeups)
        log.info("job_postponed", seconds=delay, reason=error.message)

    async def _requeue(self, job: StoredJob, owner: uuid.UUID) -> None:
        """Requeue the job of a stopping worker, so that another takes it over immediately, or after the lease if this fails.

        Requeue before mirroring, since another transaction may hold the objects lock. Mirror before waking, or the mirrored
        status could overwrite that of the next worker.
        """
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                wakeups = await jobs.hand_back(connection, job.uid, owner=owner)
            await self._mirror(job, JobStatus(state=State.PENDING))
            self._relay.publish_soon(wakeups)
            log.info("job_handed_back", woken=len(wakeups))
