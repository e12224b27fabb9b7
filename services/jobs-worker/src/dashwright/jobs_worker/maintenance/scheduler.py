"""Syncs what is due: new and changed repositories, those whose interval has passed and whose host has something new, those that healed.

One worker plans for all; when it ends, another goes on. What is asked of hosts is bounded: so many at once, and each repository no more
often than it is due.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError, Unavailable
from dashwright.common.kinds.registry import JOB
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryType, SyncJobOptions
from dashwright.common.relay import Relay
from dashwright.common.stores import jobs, repositories
from dashwright.common.stores.repositories import Planned
from dashwright.common.work.new_jobs import new_job
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.schedule import Need, need
from dashwright.jobs_worker.maintenance.prober import Prober

log = structlog.get_logger()

ACTOR: Final = "access-policy:provisioning"

_AT_ONCE: Final = 16
_AT_ONE_HOST: Final = 2
_AGAIN: Final = 600_000
"""Milliseconds after which a commit that could not be stored whole is tried again."""

_ROUND_SECONDS: Final = 1.0
_WAITING_SECONDS: Final = 5.0

Head = Callable[[Repository], Awaitable[str | None]]
"""The newest commit of a repository; None where it has none, or keeps no commits. Raises why it cannot be told."""


class Scheduler:
    def __init__(self, database: Database, relay: Relay, prober: Prober, clock: Clock, head: Head) -> None:
        self._database = database
        self._relay = relay
        self._prober = prober
        self._clock = clock
        self._head = head
        self._asked: dict[uuid.UUID, int] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._seen: dict[uuid.UUID, tuple[str | None, int]] = {}
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._under_way: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="scheduler")

    async def stop(self) -> None:
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
        """One round: begins everything that is due."""
        now = self._clock.milliseconds()
        known = await repositories.planned(connection)
        self._asked = {item.uid: at for item in known if (at := self._asked.get(item.uid))}
        self._seen = {item.uid: seen for item in known if (seen := self._seen.get(item.uid))}
        if not self._under_way:
            self._hosts.clear()
        for item in known:
            wanted = self._need(item, now)
            if wanted is not Need.NOTHING and item.uid not in self._under_way:
                self._begin(item, wanted)

    async def settle(self) -> None:
        """Waits for everything that is under way."""
        while self._under_way:
            await asyncio.wait(self._under_way.values())

    def _begin(self, item: Planned, wanted: Need) -> None:
        """Beside everything else: a host that says nothing keeps nobody waiting but those of the same host."""
        task = asyncio.create_task(self._see_to(item, wanted), name=f"repository {item.name}")
        self._under_way[item.uid] = task
        task.add_done_callback(lambda _: self._under_way.pop(item.uid, None))

    def _need(self, item: Planned, now: int) -> Need:
        if item.is_deleting:
            return Need.NOTHING
        return need(item.spec, item.status, changed=item.changed, asked=self._asked.get(item.uid, 0), now=now)

    async def _see_to(self, item: Planned, wanted: Need) -> None:
        """A repository that cannot be seen to keeps no other waiting; it is asked again when it is due again."""
        host = host_of(item.spec.githost.url) if item.spec.githost is not None else ""
        async with self._hosts.setdefault(host, asyncio.Semaphore(_AT_ONE_HOST)), self._slots:
            self._asked[item.uid] = self._clock.milliseconds()
            try:
                await self._do(item, wanted)
            except Unavailable as error:
                log.info("repository_waits", repository=item.name, error=error.message)
            except DashwrightError as error:
                log.info("repository_not_seen_to", repository=item.name, error=error.message)
                await self._prober.note(item.namespace, item.name, error)

    async def _do(self, item: Planned, wanted: Need) -> None:
        if wanted is Need.LOOK:
            was_healthy = item.status.health.healthy or item.status.health.checked is None
            health = await self._prober.probe(item.namespace, item.name)
            if health.healthy and not was_healthy and item.spec.sync.enabled:
                await self._submit(item, incremental=False)
        elif wanted is Need.SYNC or item.spec.type is RepositoryType.LOCAL:
            await self._submit(item, incremental=False)
        elif (commit := await self._head(_repository(item))) != item.status.sync.last_ref and self._is_new(item, commit):
            await self._submit(item, incremental=True)

    def _is_new(self, item: Planned, commit: str | None) -> bool:
        """A commit with a bad file in it stays beside what is stored: that is told once, and then now and then."""
        now = self._clock.milliseconds()
        seen, at = self._seen.get(item.uid, (None, 0))
        if seen == commit and now - at < _AGAIN:
            return False
        self._seen[item.uid] = commit, now
        return True

    async def _submit(self, item: Planned, *, incremental: bool) -> None:
        spec = JobSpec(action=Action.SYNC, repository=item.name, sync=SyncJobOptions(incremental=incremental))
        job = new_job(item.namespace, spec, uid=item.uid, kind=item.spec.type, now=self._clock.now())
        async with self._database.transaction() as connection:
            submitted = await jobs.submit(connection, JOB, [job], submitted_by={"uid": ACTOR, "login": ACTOR}, headers={})
        self._relay.publish_soon(submitted.wakeups)
        log.info("sync_scheduled", repository=item.name, incremental=incremental)


def _repository(item: Planned) -> Repository:
    return Repository(item.namespace, item.name, str(item.uid), item.generation, item.spec)
