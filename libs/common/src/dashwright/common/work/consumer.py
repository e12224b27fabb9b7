"""Consumer of jobs, which claims jobs under a lease, runs them while it renews the lease, and records the results.

Every step may be repeated. When a worker dies, job recovery, a task of the jobs worker, requeues or fails its jobs.
"""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Final, Protocol

import structlog
from structlog.contextvars import bound_contextvars

from dashwright.common.clock import Clock
from dashwright.common.database.notifier import CHANNEL
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, TooManyRequests, Unavailable
from dashwright.common.group_commit import GroupCommit
from dashwright.common.jobs import job_messages
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery, count_header
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.observability import metrics, tracing
from dashwright.common.stores import claims, evaluations, jobs, sync_status
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.evaluations import NewResult
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.work.execution import Execution, LeaseLost
from dashwright.common.work.wakeups import PASSES, WakeupPublisher

log = structlog.get_logger()

#: Time between two searches for jobs without a wake-up: for lost wake-ups, postponed jobs and after errors.
_SEARCH_INTERVAL_SECONDS: Final = 1.0
#: Minimum time by which a job is postponed. Without it, workers would claim and postpone the job in a loop.
_MIN_DELAY_SECONDS: Final = 1.0
#: Maximum number of times that workers without a free slot pass on a wake-up. The next one drops it: probably all workers are full.
_MAX_PASSES: Final = 4
#: One slot in this many is reserved for namespaces of which no job is running: jobs of other namespaces may occupy slots for minutes.
_SLOTS_PER_RESERVED_SLOT: Final = 4
#: Maximum number of jobs that one transaction finishes.
_MAX_JOBS_PER_COMMIT: Final = 100
#: Maximum number of wake-ups that are delivered but not acknowledged.
_PREFETCH: Final = 16
#: Uid in a wake-up that is passed on. A wake-up only causes a search, which ignores the uid.
_NO_JOB: Final = uuid.UUID(int=0)


class Runner(Protocol):
    """Runner of the jobs of one action."""

    async def run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Run the job and return its final status.

        TooManyRequests postpones the job. Unavailable and LeaseLost leave it to job recovery. Any other DashwrightError ends it
        with the state ``error``.
        """
        ...


class JobConsumer:
    """Consumer of the jobs of one pool of workers: ``work`` or ``evaluate``. Wake-ups in ``queue`` announce ready jobs.

    At most ``slots`` jobs run concurrently. If a worker does not renew a lease within the time ``lease``, another worker takes over
    the job.
    """

    def __init__(
        self,
        database: Database,
        broker: Broker,
        wakeups: WakeupPublisher,
        runners: Mapping[str, Runner],
        clock: Clock,
        *,
        pool: str,
        queue: str,
        slots: int,
        lease: timedelta,
    ) -> None:
        self._database = database
        self._broker = broker
        self._wakeups = wakeups
        self._runners = runners
        self._clock = clock
        self._pool = pool
        self._queue = queue
        self._slots = slots
        self._reserved_slots = max(slots // _SLOTS_PER_RESERVED_SLOT, 1) if slots > 1 else 0
        self._lease = lease
        self._subscription: Subscription | None = None
        self._claim_task: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._executions: set[Execution] = set()
        #: Set by a wake-up and by the end of a job: there may be a job to claim and a free slot.
        self._search_requested = asyncio.Event()
        #: True from a wake-up until a search finds no job, or until all slots are occupied.
        self._is_woken = False
        self._is_stopping = False
        #: Commits of the ends of jobs that do not affect the sync status of a repository.
        self._group_commit = GroupCommit(self._commit_finished, max_items=_MAX_JOBS_PER_COMMIT)
        #: Time of the event loop before which due jobs are not searched for again.
        self._next_search_for_due_jobs = 0.0
        self._exit_stack = AsyncExitStack()

    async def start(self) -> None:
        """Begin to claim jobs."""
        # Leases are also checked when listening begins, since notifications of cancellations may have been missed before.
        listener = self._database.listen(CHANNEL, self._on_notification, self._check_leases)
        await self._exit_stack.enter_async_context(listener)
        self._subscription = await self._broker.consume(self._queue, self.handle, prefetch=_PREFETCH)
        self._claim_task = asyncio.create_task(self._claim_jobs(), name="claim-jobs")

    async def stop(self, *, drain: float) -> None:
        """Claim no more jobs. Wait at most ``drain`` seconds for running jobs, then requeue them."""
        self._is_stopping = True
        self._search_requested.set()
        if self._subscription is not None:
            await self._subscription.cancel(drain=drain)
        if self._claim_task is not None:
            # Not cancelled: the jobs of a cancelled claim would wait until their leases expire.
            await self._claim_task
        if self._running and drain > 0:
            await asyncio.wait(self._running, timeout=drain)
        unfinished = [*self._running]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        await self._exit_stack.aclose()

    def _on_notification(self, payload: str) -> None:
        if payload == jobs.CANCELLATIONS:
            self._check_leases()

    def _check_leases(self) -> None:
        """Check all leases now instead of at their next renewals, so that cancelled jobs stop soon."""
        for execution in self._executions:
            execution.check_lease()

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """Search for jobs because of a wake-up. Without a free slot, pass it on to another worker."""
        passes = count_header(delivery.message.headers, PASSES)
        if len(self._running) < self._slots:
            self._is_woken = True
            self._search_requested.set()
        elif passes < _MAX_PASSES:
            # The name of a pool is also a routing key of its wake-ups.
            self._wakeups.publish_soon([Wakeup(self._pool, _NO_JOB, passes + 1)])
        return Ack()

    async def _claim_jobs(self) -> None:
        """Claim jobs whenever slots are free, until the consumer stops."""
        while not self._is_stopping:
            self._search_requested.clear()
            may_have_more_jobs = False
            if free_slots := self._slots - len(self._running):
                try:
                    may_have_more_jobs = await self._claim(free_slots)
                except Unavailable as error:
                    log.warning("jobs_not_claimed", error=error.message)
                except Exception:
                    log.exception("jobs_not_claimed")
            if not may_have_more_jobs and not self._is_stopping:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SEARCH_INTERVAL_SECONDS):
                        await self._search_requested.wait()

    async def _claim(self, limit: int) -> bool:
        """Claim and start at most ``limit`` jobs. Return whether any job was claimed: then more may be ready."""
        await self._make_due_jobs_ready()
        owner = uuid.uuid4()
        started = JobStatus(state=State.WORKING, started=self._clock.milliseconds(), message=job_messages.STARTED)
        was_woken, self._is_woken = self._is_woken, False
        async with self._database.connection() as connection:
            claimed_jobs = await claims.claim(
                connection,
                self._pool,
                limit=limit,
                reserved=self._reserved_slots,
                owner=owner,
                lease=self._lease,
                status=started.to_json(),
            )
        for job in claimed_jobs:
            task = asyncio.create_task(self._run_claimed(job, owner, started), name=f"job {job.name}")
            self._running.add(task)
            task.add_done_callback(self._on_end)
        # A wake-up that arrived during the claim may announce jobs that the claim did not see. One that arrived before may announce
        # several jobs, so it counts until a claim returns no job.
        is_woken = self._is_woken or (was_woken and bool(claimed_jobs))
        is_full = len(self._running) >= self._slots
        if is_woken and is_full:
            # Another worker may have free slots for the other jobs that the wake-up announced.
            self._wakeups.publish_soon([Wakeup(self._pool, claimed_jobs[0].uid)])
        self._is_woken = is_woken and not is_full
        return bool(claimed_jobs)

    async def _make_due_jobs_ready(self) -> None:
        """Make due postponed jobs ready. Do nothing if the last call was less than one search interval ago."""
        now = asyncio.get_running_loop().time()
        if now < self._next_search_for_due_jobs:
            return
        self._next_search_for_due_jobs = now + _SEARCH_INTERVAL_SECONDS
        async with self._database.transaction() as connection:
            await claims.place_due(connection, self._pool)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Search for another job, since the task of an ended job leaves a free slot."""
        self._running.discard(task)
        self._search_requested.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("job_task_failed", exc_info=error)

    async def _run_claimed(self, job: StoredJob, owner: uuid.UUID, started: JobStatus) -> None:
        """Run a claimed job with its trace, and with the sync status of its repository up to date."""
        tracing.enter(job.trace)
        with bound_contextvars(job=job.name, repository=job.repository, action=job.action):
            await self._update_sync_status(job, started)
            await self._run_under_lease(job, owner)

    async def _update_sync_status(self, job: StoredJob, status: JobStatus, *, scheduled_at: int | None = None) -> None:
        """Copy the state of a job to the sync status of its repository. ``scheduled_at``, in Unix milliseconds, is when it may run.

        This is a separate transaction, since a claim must not hold the lock of jobs while it waits for that of objects.
        """
        if not sync_status.is_affected_by(job):
            return
        try:
            async with self._database.transaction() as connection:
                await sync_status.update(connection, job, status, scheduled_at=scheduled_at)
        except Unavailable as error:
            log.info("job_not_mirrored", job=job.name, error=error.message)

    async def _show_next_sync(self, job: StoredJob) -> None:
        """Copy the state of the next job of the concurrency group to the sync status, which still shows the finished job."""
        if job.repository is None:
            return
        try:
            async with self._database.transaction() as connection:
                next_uid = await claims.next_of_group(connection, job.uid)
                if next_uid is not None:
                    await sync_status.refresh(connection, next_uid)
        except Unavailable as error:
            log.info("job_not_mirrored", error=error.message)

    async def _run_under_lease(self, job: StoredJob, owner: uuid.UUID) -> None:
        """Run a job while its lease is renewed, and finish, postpone, requeue or abandon it."""
        execution = Execution(self._database, job, owner, self._clock, lease=self._lease)
        log.info("job_started", attempt=job.attempts)
        self._executions.add(execution)
        try:
            async with execution.holding_lease():
                status = await self._run(job, execution)
            await self._finish(job, execution, status)
        except TooManyRequests as error:
            await self._postpone(job, owner, error)
        except LeaseLost:
            log.warning("job_abandoned", reason="its lease is no longer held: it was cancelled or taken over by another worker")
        except Unavailable as error:
            log.warning("job_left_to_recovery", error=error.message)
        except asyncio.CancelledError:
            # Shielded, since the cancellation that stops the worker must not also cancel the requeueing.
            await asyncio.shield(self._requeue(job, owner))
            raise
        finally:
            self._executions.discard(execution)

    async def _run(self, job: StoredJob, execution: Execution) -> JobStatus:
        """Return the final status of a job. Errors that end the job are part of the status; other errors are raised."""
        runner = self._runners.get(job.action)
        if runner is None:
            return execution.failed_status(f"jobs with the action {job.action} are not supported by this worker")
        try:
            return await runner.run(job, execution)
        except (LeaseLost, Unavailable, TooManyRequests):
            raise
        except DashwrightError as error:
            return execution.failed_status(error.message)
        except Exception:
            log.exception("job_failed")
            trace_context = tracing.current()
            return execution.failed_status(
                f"internal failure; the worker's log has trace id {trace_context.trace_id if trace_context else 'unknown'}"
            )

    async def _finish(self, job: StoredJob, execution: Execution, status: JobStatus) -> None:
        """Record the end of a job. Raises LeaseLost if another worker has taken over the job, or if it was cancelled."""
        final_state = FinalState(job.uid, execution.owner, status.state.value, status.to_json())
        if sync_status.is_affected_by(job):
            async with self._database.transaction() as connection:
                # Before the job, because it takes the lock of objects, and a transaction takes that lock before the lock of jobs.
                await sync_status.update(connection, job, status)
                if not await claims.finish(connection, [final_state]):
                    raise LeaseLost
        elif not await self._group_commit.add((final_state, execution.result)):
            raise LeaseLost
        await self._show_next_sync(job)
        metrics.jobs_finished.labels(action=job.action, state=status.state.value).inc()
        milliseconds = (status.finished or 0) - (status.started or 0)
        seconds = milliseconds / 1000
        metrics.jobs_seconds.labels(action=job.action).observe(seconds)
        log.info("job_ended", state=status.state.value, message=status.message, seconds=seconds)

    async def _commit_finished(self, ended: Sequence[tuple[FinalState, NewResult | None]]) -> Sequence[bool]:
        """Finish jobs in one transaction. Return for each job whether its lease was still held. Store nothing for a job without it."""
        async with self._database.transaction() as connection:
            uids = await claims.finish(connection, [final_state for final_state, _ in ended])
            if results := [result for _, result in ended if result is not None and result.uid in uids]:
                await evaluations.create_results(connection, results)
        return [final_state.uid in uids for final_state, _ in ended]

    async def _postpone(self, job: StoredJob, owner: uuid.UUID, error: TooManyRequests) -> None:
        """Change a job to pending because a git host or service limits requests. This does not count as an attempt."""
        delay = max(error.retry_after or 0.0, _MIN_DELAY_SECONDS)
        status = JobStatus(state=State.PENDING, message=f"postponed: {error.message}")
        try:
            async with self._database.transaction() as connection:
                is_postponed = await claims.postpone(
                    connection, job.uid, owner=owner, delay=timedelta(seconds=delay), status=status.to_json()
                )
        except Unavailable as unavailable:
            log.warning("job_left_to_recovery", error=unavailable.message)
            return
        if not is_postponed:
            log.warning("job_abandoned", reason="its lease is no longer held: it was cancelled or taken over by another worker")
            return
        await self._update_sync_status(job, status, scheduled_at=self._clock.milliseconds() + round(delay * 1000))
        log.info("job_postponed", seconds=delay, reason=error.message)

    async def _requeue(self, job: StoredJob, owner: uuid.UUID) -> None:
        """Requeue the job of a stopping worker. If this fails, another worker takes the job over when its lease expires.

        The sync status is updated after the job, since another transaction may hold the lock of objects.
        """
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                is_requeued = await claims.requeue(connection, job.uid, owner=owner)
            # A job that was cancelled or taken over has another state, which must not be replaced.
            if is_requeued:
                await self._update_sync_status(job, JobStatus(state=State.PENDING))
                self._wakeups.publish_soon([Wakeup(self._pool, job.uid)])
            log.info("job_handed_back", requeued=is_requeued)
