"""The scheduler of syncs: for new and changed repositories, for new commits at the host, and for repositories that can be read again.

One worker plans for all workers; when it ends, another one takes over. Requests to hosts are limited: a few are concurrent, a repository
is checked only when it is due, and a host that refused an organization receives no requests of that organization for a time. After a
pause of the scheduler, jobs are submitted a few at a time, the longest overdue first.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError, NotFound, TooManyRequests, Unavailable
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.job_options import SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryStatus, RepositoryType, SyncState
from dashwright.common.stores import job_queues, jobs, repositories, resources, sync_status
from dashwright.common.stores.job_queues import TooManyWaitingJobs
from dashwright.common.stores.job_records import new_job
from dashwright.common.stores.repositories import ListedRepository, ScheduledRepository
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.readiness import set_readiness
from dashwright.jobs_worker.domain.schedule import HEALTHY_PROBE_INTERVAL, UNHEALTHY_PROBE_INTERVAL, NextStep, next_step
from dashwright.jobs_worker.maintenance.prober import Prober

log = structlog.get_logger()

MAX_CONCURRENT_STEPS: Final = 16
_MAX_STEPS_PER_HOST: Final = 2
MAX_WAITING_JOBS: Final = 32
"""Limit on the scheduler's jobs that wait for a worker. It submits no more jobs until some have started."""

_MIN_HOST_PAUSE_MILLISECONDS: Final = 10_000
"""Shortest time, in milliseconds, without requests to a host that refused a request."""

_RESUBMIT_MILLISECONDS: Final = 600_000
"""Milliseconds until a commit that could not be stored completely is submitted again."""

_MAX_PROBE_INTERVAL_MILLISECONDS: Final = 900_000
"""Longest interval, in milliseconds, between probes of a repository whose probes succeed but whose syncs fail."""

_ROUND_INTERVAL_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 5.0

FetchHead = Callable[[Repository], Awaitable[str | None]]
"""Returns the newest commit of a repository; None for an empty repository and a local directory. Raises an error if it cannot be read."""


class Scheduler:
    """The scheduler of syncs.

    ``rules_fingerprint`` is the fingerprint of the present rules. Files that other rules refused are examined again. No sync is
    submitted for an organization with ``max_waiting_jobs`` waiting jobs.
    """

    def __init__(
        self,
        database: Database,
        wakeups: WakeupPublisher,
        prober: Prober,
        clock: Clock,
        fetch_head: FetchHead,
        *,
        rules_fingerprint: str,
        max_waiting_jobs: int,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._prober = prober
        self._clock = clock
        self._fetch_head = fetch_head
        self._rules_fingerprint = rules_fingerprint
        self._max_waiting_jobs = max_waiting_jobs
        self._repositories: Mapping[uuid.UUID, ListedRepository] = {}
        #: Start of the last step of each repository, in Unix milliseconds.
        self._last_step_at: dict[uuid.UUID, int] = {}
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_STEPS)
        #: The last submitted commit of each repository, with the generation of the spec and the time in Unix milliseconds.
        self._submitted_commits: dict[uuid.UUID, tuple[str | None, int, int]] = {}
        #: Milliseconds between probes of repositories whose probes succeed but whose syncs fail.
        self._probe_intervals: dict[uuid.UUID, int] = {}
        self._slots_by_host: dict[str, asyncio.Semaphore] = {}
        #: End of the pause by host and namespace, in Unix milliseconds.
        self._paused_until: dict[tuple[str, str], int] = {}
        #: Jobs of the scheduler that wait for a worker.
        self._waiting_jobs = 0
        self._running_steps: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the scheduler. It plans only while no other worker does."""
        self._task = asyncio.create_task(self._run(), name="scheduler")

    async def stop(self) -> None:
        """Cancel planning and the steps under way."""
        if self._task is not None:
            for task in (self._task, *self._running_steps.values()):
                task.cancel()
            await asyncio.gather(self._task, *self._running_steps.values(), return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                async with repositories.scheduler_lock(self._database) as connection:
                    while connection is not None:
                        await self.plan(connection)
                        await asyncio.sleep(_ROUND_INTERVAL_SECONDS)
            except Unavailable as error:
                log.info("schedule_delayed", error=error.message)
            except Exception:
                log.exception("schedule_failed")
            await asyncio.sleep(_RETRY_SECONDS)

    async def plan(self, connection: Connection) -> None:
        """Start, once, the steps of all repositories that are due."""
        now = self._clock.milliseconds()
        self._repositories = known = await repositories.list_all(connection, self._repositories)
        # The entries of deleted repositories are discarded.
        self._last_step_at = {uid: last_step for uid, last_step in self._last_step_at.items() if uid in known}
        self._submitted_commits = {uid: commit for uid, commit in self._submitted_commits.items() if uid in known}
        self._probe_intervals = {uid: interval for uid, interval in self._probe_intervals.items() if uid in known}
        self._paused_until = {key: paused_until for key, paused_until in self._paused_until.items() if paused_until > now}
        self._waiting_jobs = await jobs.count_waiting(connection, jobs.SCHEDULER)
        # Running steps hold slots, so the slots of former hosts are discarded only between steps.
        if not self._running_steps:
            self._slots_by_host.clear()
        for repository in sorted(known.values(), key=self._last_activity):
            step = self._next_step(repository, now)
            if (
                step is not NextStep.NOTHING
                and repository.uid not in self._running_steps
                and (repository.host, repository.namespace) not in self._paused_until
            ):
                self._start_step(repository, step)

    async def wait_idle(self) -> None:
        """Wait for all steps under way."""
        while self._running_steps:
            await asyncio.wait(self._running_steps.values())

    def _start_step(self, repository: ListedRepository, step: NextStep) -> None:
        """Start a step in a task of its own: a host that does not respond delays only repositories of the same host."""
        task = asyncio.create_task(self._handle(repository, step), name=f"repository {repository.name}")
        self._running_steps[repository.uid] = task
        task.add_done_callback(lambda _: self._running_steps.pop(repository.uid, None))

    def _last_activity(self, repository: ListedRepository) -> int:
        """Return the time of the last sync or step of a repository, in Unix milliseconds; 0 without any."""
        return max(repository.timing.sync_finished, self._last_step_at.get(repository.uid, 0))

    def _next_step(self, repository: ListedRepository, now: int) -> NextStep:
        if repository.is_deleting:
            return NextStep.NOTHING
        return next_step(
            repository.timing,
            spec_changed_at=repository.spec_changed_at,
            last_step_at=self._last_step_at.get(repository.uid, 0),
            now_milliseconds=now,
            probe_interval=self._probe_intervals.get(repository.uid, UNHEALTHY_PROBE_INTERVAL),
        )

    async def _handle(self, listed_repository: ListedRepository, step: NextStep) -> None:
        """Run a step. A failing repository delays no other repository, and is retried when it is due again."""
        # The host's slot comes first: waiting for a slow host must not occupy a slot that others could use.
        async with self._slots_by_host.setdefault(listed_repository.host, asyncio.Semaphore(_MAX_STEPS_PER_HOST)), self._slots:
            # The pause and the number of jobs may have changed while this step waited for its slots.
            if (listed_repository.host, listed_repository.namespace) in self._paused_until or (
                step is not NextStep.PROBE and self._waiting_jobs >= MAX_WAITING_JOBS
            ):
                return
            # Parsed only now: hundreds of steps may wait for a slot.
            repository = listed_repository.parse()
            # Recorded before the step, so that a failing repository is not due again immediately.
            self._last_step_at[repository.uid] = self._clock.milliseconds()
            try:
                await self._run_step(repository, step)
            except Unavailable as error:
                log.info("scheduled_step_delayed", repository=repository.name, error=error.message)
            except TooManyRequests as error:
                await self._pause_host(repository, listed_repository.host, error)
            except DashwrightError as error:
                log.info("scheduled_step_failed", repository=repository.name, error=error.message)
                await self._prober.record(repository.namespace, repository.name, error)

    async def _pause_host(self, repository: ScheduledRepository, host: str, error: TooManyRequests) -> None:
        """Stop requests of this organization to the host for a time. The repository is due after that, as its status says."""
        pause = max(_MIN_HOST_PAUSE_MILLISECONDS, round((error.retry_after or 0) * 1000))
        paused_until = self._clock.milliseconds() + pause
        # Hosts count requests by token, so they refuse requests of one organization.
        self._paused_until[host, repository.namespace] = paused_until
        self._last_step_at.pop(repository.uid, None)
        log.info("host_paused", repository=repository.name, seconds=pause / 1000, reason=error.message)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.sync.scheduled = paused_until

        with suppress(NotFound, Unavailable):
            await self._prober.record(repository.namespace, repository.name, error)
            await self._change(repository, change)

    async def _change(self, repository: ScheduledRepository, change: Callable[[RepositoryStatus, StoredObject], None]) -> None:
        async with self._database.transaction() as connection:
            await resources.update_status(connection, REPOSITORY, repository.namespace, repository.name, RepositoryStatus, change)

    async def _run_step(self, repository: ScheduledRepository, step: NextStep) -> None:
        """Probe a repository, submit a sync, or check the host for a new commit. A local directory has no commits to check."""
        if step is NextStep.PROBE:
            was_healthy = repository.status.health.healthy or repository.status.health.checked is None
            health = await self._prober.probe(repository.namespace, repository.name)
            if health.healthy and not was_healthy and repository.spec.sync.enabled:
                # If the sync fails again, the next probe comes later. A check of the host resets the interval.
                self._probe_intervals[repository.uid] = min(
                    2 * self._probe_intervals.get(repository.uid, UNHEALTHY_PROBE_INTERVAL), _MAX_PROBE_INTERVAL_MILLISECONDS
                )
                await self._submit(repository, incremental=False)
        elif step is NextStep.SYNC or repository.spec.type is RepositoryType.LOCAL:
            await self._submit(repository, incremental=False)
        else:
            self._probe_intervals.pop(repository.uid, None)
            await self._check_for_commit(repository)

    async def _check_for_commit(self, repository: ScheduledRepository) -> None:
        """Submit a sync if the host has a new commit, the last sync failed, or the spec changed since.

        Files in quarantine do not cause a sync, because only another commit can repair them.
        """
        commit, sync = await self._fetch_head(_repository(repository)), repository.status.sync
        if commit is not None and commit == repository.held_at:
            await self._record_unchanged(repository)
            return
        spec_is_synced = commit is None or repository.status.observed_generation == repository.generation
        # No sync is needed if the last one had no refused files, or failed because of files that the present rules refuse again.
        settled_fingerprints = {self._rules_fingerprint} if sync.state == SyncState.ERROR else set()
        if commit == sync.last_ref and spec_is_synced and repository.refused_by == settled_fingerprints:
            self._submitted_commits.pop(repository.uid, None)
            await self._record_unchanged(repository)
        elif commit is None and sync.last_ref:
            # The repository was synced before and has no commits now: the probe records this as a fault.
            await self._prober.probe(repository.namespace, repository.name)
        elif self._claim_commit(repository, commit):
            await self._submit(repository, incremental=True)

    async def _record_unchanged(self, repository: ScheduledRepository) -> None:
        """Record that the repository can be read and when it is checked next.

        This is done only every five minutes, because each record is an event for all watches.
        """
        now, health = self._clock.milliseconds(), repository.status.health
        if now - (health.checked or 0) < HEALTHY_PROBE_INTERVAL and not health.message:
            return
        next_check = now + (repository.spec.sync.interval_seconds or 0) * 1000

        def change(status: RepositoryStatus, stored_object: StoredObject) -> None:
            if status.health.checked is not None and not status.health.healthy:
                return  # A failure was recorded in the meantime. The next probe announces that it has ended.
            set_readiness(status, repository.spec, None, generation=stored_object.generation, now=now)
            if status.sync.state not in (SyncState.WORKING, SyncState.PENDING):
                status.sync.scheduled = next_check

        await self._change(repository, change)

    def _claim_commit(self, repository: ScheduledRepository, commit: str | None) -> bool:
        """Return whether to submit a sync of the commit, and record it as submitted.

        A commit that was submitted in the last ten minutes is not submitted again: it could not be stored completely.
        """
        now = self._clock.milliseconds()
        submitted_commit, submitted_generation, submitted_at = self._submitted_commits.get(repository.uid, (None, 0, 0))
        is_submitted = submitted_commit == commit and submitted_generation == repository.generation
        if is_submitted and now - submitted_at < _RESUBMIT_MILLISECONDS:
            return False
        self._submitted_commits[repository.uid] = commit, repository.generation, now
        return True

    async def _submit(self, repository: ScheduledRepository, *, incremental: bool) -> None:
        """Submit a sync, unless too many jobs of the organization are waiting."""
        spec = JobSpec(action=Action.SYNC, repository=repository.name, sync=SyncJobOptions(incremental=incremental))
        job = new_job(repository.namespace, spec, uid=repository.uid, repository_type=repository.spec.type, now=self._clock.now())
        try:
            async with self._database.transaction() as connection:
                submitted = await jobs.submit(connection, JOB, [job], submitted_by={"uid": jobs.SCHEDULER, "login": jobs.SCHEDULER})
                if submitted.wakeups:
                    # The submitted job is already one of the waiting jobs, so no further job is added.
                    await job_queues.require_capacity(connection, job.namespace, added=0, limit=self._max_waiting_jobs)
        except TooManyWaitingJobs as error:
            self._submitted_commits.pop(repository.uid, None)
            log.info("sync_not_scheduled", repository=repository.name, reason=error.message)
            return
        self._waiting_jobs += len(submitted.wakeups)
        self._wakeups.publish_soon(submitted.wakeups)
        # In a separate transaction, because it waits for the lock of objects, which must not delay submissions of jobs.
        async with self._database.transaction() as connection:
            await sync_status.refresh(connection, submitted.jobs[0].uid)
        log.info("sync_scheduled", repository=repository.name, incremental=incremental)


def _repository(repository: ScheduledRepository) -> Repository:
    return Repository(
        repository.namespace,
        repository.name,
        str(repository.uid),
        repository.generation,
        repository.spec,
        repository.status.sync.last_ref or "",
    )
