"""The scheduler: it syncs new and changed repositories, those whose interval has passed and whose host has new commits, and recovered ones.

One worker plans for all; when it ends, another one takes over. Requests to hosts are bounded: a few concurrently, each repository no more
often than it is due, and a host that refused an organization is left alone by it for a while. After a time without planning, jobs are
submitted a few at a time, the longest overdue first.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError, NotFound, TooManyRequests, Unavailable
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryStatus, RepositoryType, SyncJobOptions, SyncState
from dashwright.common.relay import Relay
from dashwright.common.stores import jobs, mirror, repositories, statuses
from dashwright.common.stores.repositories import ScheduledRepository
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.new_jobs import new_job
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.readiness import observe
from dashwright.jobs_worker.domain.schedule import HEALTHY_FOR, UNHEALTHY_FOR, NextStep, next_step
from dashwright.jobs_worker.maintenance.prober import Prober

log = structlog.get_logger()

AT_ONCE: Final = 16
_AT_ONE_HOST: Final = 2
MOST_WAITING: Final = 32
"""Jobs of the scheduler that wait for a worker: above this number it submits no more."""

_SHORTEST_WAIT: Final = 10_000
"""Shortest pause, in milliseconds, of a host that refused requests."""

_AGAIN: Final = 600_000
"""Milliseconds until a commit that could not be stored completely is tried again."""

_LONGEST_PAUSE: Final = 900_000
"""Milliseconds between probes of a repository whose probes succeed but whose syncs fail; pauses grow up to this."""

_ROUND_SECONDS: Final = 1.0
_WAITING_SECONDS: Final = 5.0

Head = Callable[[Repository], Awaitable[str | None]]
"""Returns the newest commit of a repository, None if it has none or is a folder. Raises an error if it cannot be read."""


class Scheduler:
    """The planner of syncs. ``rules`` is the fingerprint of the present rules: files that other rules refused are examined again."""

    def __init__(self, database: Database, relay: Relay, prober: Prober, clock: Clock, head: Head, *, rules: str) -> None:
        self._database = database
        self._relay = relay
        self._prober = prober
        self._clock = clock
        self._head = head
        self._rules = rules
        self._handled_at: dict[uuid.UUID, int] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._submitted_commits: dict[uuid.UUID, tuple[str | None, int, int]] = {}
        self._pauses: dict[uuid.UUID, int] = {}
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._paused_until: dict[tuple[str, str], int] = {}
        self._waiting = 0
        self._under_way: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start planning, as soon as no other worker does."""
        self._task = asyncio.create_task(self._run(), name="scheduler")

    async def stop(self) -> None:
        """Cancel planning and the steps under way."""
        if self._task is not None:
            for task in (self._task, *self._under_way.values()):
                task.cancel()
            await asyncio.gather(self._task, *self._under_way.values(), return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                async with repositories.schedule(self._database) as connection:
                    while connection is not None:
                        await self.plan(connection)
                        await asyncio.sleep(_ROUND_SECONDS)
            except Unavailable as error:
                log.info("schedule_waits", error=error.message)
            except Exception:
                log.exception("schedule_failed")
            await asyncio.sleep(_WAITING_SECONDS)

    async def plan(self, connection: Connection) -> None:
        """Do one round: start everything that is due."""
        now = self._clock.milliseconds()
        known = await repositories.scheduled(connection)
        self._handled_at = {item.uid: at for item in known if (at := self._handled_at.get(item.uid))}
        self._submitted_commits = {item.uid: seen for item in known if (seen := self._submitted_commits.get(item.uid))}
        self._paused_until = {handled: until for handled, until in self._paused_until.items() if until > now}
        self._waiting = await jobs.count_waiting(connection, jobs.SCHEDULER)
        self._pauses = {item.uid: pause for item in known if (pause := self._pauses.get(item.uid))}
        if not self._under_way:
            self._hosts.clear()
        for item in sorted(known, key=self._last_handled):
            step = self._next_step(item, now)
            if step is not NextStep.NOTHING and item.uid not in self._under_way and _host_key(item) not in self._paused_until:
                self._begin(item, step)

    async def wait_idle(self) -> None:
        """Wait for all steps under way."""
        while self._under_way:
            await asyncio.wait(self._under_way.values())

    def _begin(self, item: ScheduledRepository, step: NextStep) -> None:
        """Start a step in a task of its own: a host that does not respond delays only repositories of the same host."""
        task = asyncio.create_task(self._handle(item, step), name=f"repository {item.name}")
        self._under_way[item.uid] = task
        task.add_done_callback(lambda _: self._under_way.pop(item.uid, None))

    def _last_handled(self, item: ScheduledRepository) -> int:
        return max(item.status.sync.finished or 0, self._handled_at.get(item.uid, 0))

    def _next_step(self, item: ScheduledRepository, now: int) -> NextStep:
        if item.is_deleting:
            return NextStep.NOTHING
        handled, pause = self._handled_at.get(item.uid, 0), self._pauses.get(item.uid, UNHEALTHY_FOR)
        return next_step(item.spec, item.status, changed=item.changed, handled=handled, now=now, pause=pause)

    async def _handle(self, item: ScheduledRepository, step: NextStep) -> None:
        """Do a step. A failing repository delays no other; it is tried again when it is due again."""
        # The host's slot comes first: waiting for a slow host must not occupy a slot that others could use.
        async with self._hosts.setdefault(_host(item), asyncio.Semaphore(_AT_ONE_HOST)), self._slots:
            # Both may have changed while this step waited for its slots.
            if _host_key(item) in self._paused_until or (step is not NextStep.PROBE and self._waiting >= MOST_WAITING):
                return
            # Before the step, so that a failing repository is not due again immediately.
            self._handled_at[item.uid] = self._clock.milliseconds()
            try:
                await self._take_step(item, step)
            except Unavailable as error:
                log.info("repository_waits", repository=item.name, error=error.message)
            except TooManyRequests as error:
                await self._pause_host(item, error)
            except DashwrightError as error:
                log.info("scheduled_step_failed", repository=item.name, error=error.message)
                await self._prober.record(item.namespace, item.name, error)

    async def _pause_host(self, item: ScheduledRepository, error: TooManyRequests) -> None:
        """Leave the host alone for this organization. The repository is due again right after that, and its status says so."""
        wait = max(_SHORTEST_WAIT, round((error.retry_after or 0) * 1000))
        until = self._clock.milliseconds() + wait
        self._paused_until[_host_key(item)] = until
        self._handled_at.pop(item.uid, None)
        log.info("host_paused", repository=item.name, seconds=wait / 1000, reason=error.message)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.sync.scheduled = until

        with suppress(NotFound, Unavailable):
            await self._prober.record(item.namespace, item.name, error)
            await self._change(item, change)

    async def _change(self, item: ScheduledRepository, change: Callable[[RepositoryStatus, StoredObject], None]) -> None:
        async with self._database.transaction() as connection:
            await statuses.change(connection, REPOSITORY, item.namespace, item.name, RepositoryStatus, change)

    async def _take_step(self, item: ScheduledRepository, step: NextStep) -> None:
        if step is NextStep.PROBE:
            was_healthy = item.status.health.healthy or item.status.health.checked is None
            health = await self._prober.probe(item.namespace, item.name)
            if health.healthy and not was_healthy and item.spec.sync.enabled:
                self._pauses[item.uid] = min(2 * self._pauses.get(item.uid, UNHEALTHY_FOR), _LONGEST_PAUSE)
                await self._submit(item, incremental=False)
        elif step is NextStep.SYNC or item.spec.type is RepositoryType.LOCAL:
            await self._submit(item, incremental=False)
        else:
            self._pauses.pop(item.uid, None)
            await self._check_host(item)

    async def _check_host(self, item: ScheduledRepository) -> None:
        """Submit a sync if the host has a new commit, the last sync failed, or the spec changed since.

        Quarantined files alone do not cause a sync: only another commit can repair them.
        """
        commit, sync = await self._head(_repository(item)), item.status.sync
        if commit is not None and commit == item.held_at:
            await self._record_unchanged(item)
            return
        is_observed = commit is None or item.status.observed_generation == item.generation
        is_lasting = item.refused_by == ({self._rules} if sync.state == SyncState.ERROR else set())
        if commit == sync.last_ref and is_observed and is_lasting:
            self._submitted_commits.pop(item.uid, None)
            await self._record_unchanged(item)
        elif commit is None and sync.last_ref:
            await self._prober.probe(item.namespace, item.name)
        elif self._is_new(item, commit):
            await self._submit(item, incremental=True)

    async def _record_unchanged(self, item: ScheduledRepository) -> None:
        """Record now and then that the repository can be read and when it is checked next: each record is an event for all watches."""
        now, health = self._clock.milliseconds(), item.status.health
        if now - (health.checked or 0) < HEALTHY_FOR and not health.message:
            return
        due = now + (item.spec.sync.interval_seconds or 0) * 1000

        def change(status: RepositoryStatus, stored: StoredObject) -> None:
            observe(status, item.spec, None, generation=stored.generation, now=now)
            if status.sync.state not in (SyncState.WORKING, SyncState.PENDING):
                status.sync.scheduled = due

        await self._change(item, change)

    def _is_new(self, item: ScheduledRepository, commit: str | None) -> bool:
        """Return whether the commit was not submitted recently: one that cannot be stored completely is retried only now and then."""
        now = self._clock.milliseconds()
        *seen, at = self._submitted_commits.get(item.uid, (None, 0, 0))
        if seen == [commit, item.generation] and now - at < _AGAIN:
            return False
        self._submitted_commits[item.uid] = commit, item.generation, now
        return True

    async def _submit(self, item: ScheduledRepository, *, incremental: bool) -> None:
        spec = JobSpec(action=Action.SYNC, repository=item.name, sync=SyncJobOptions(incremental=incremental))
        job = new_job(item.namespace, spec, uid=item.uid, kind=item.spec.type, now=self._clock.now())
        async with self._database.transaction() as connection:
            submitted = await jobs.submit(connection, JOB, [job], submitted_by={"uid": jobs.SCHEDULER, "login": jobs.SCHEDULER}, headers={})
        self._waiting += len(submitted.wakeups)
        self._relay.publish_soon(submitted.wakeups)
        async with self._database.transaction() as connection:
            await mirror.show(connection, submitted.jobs[0].uid)
        log.info("sync_scheduled", repository=item.name, incremental=incremental)


def _host(item: ScheduledRepository) -> str:
    """Return the host of a repository, empty for a folder."""
    return host_of(item.spec.remote.url) if item.spec.remote is not None else ""


def _host_key(item: ScheduledRepository) -> tuple[str, str]:
    """Return the host and the organization: hosts count requests by token, so a refusal concerns one organization."""
    return _host(item), item.namespace


def _repository(item: ScheduledRepository) -> Repository:
    return Repository(item.namespace, item.name, str(item.uid), item.generation, item.spec, item.status.sync.last_ref or "")
