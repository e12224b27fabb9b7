"""The counts of batches equal their items after any changes of the jobs in any order."""

import random
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import pytest

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import BATCH, EVALUATION, JOB, REPOSITORY
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.stores import batches, claims, jobs, resources
from dashwright.common.stores.batches import NewItem, StoredBatch
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.batches.controller import BatchController
from dashwright.jobs_worker.maintenance.job_recovery import JobRecovery

#: Operations of a random walk.
STEPS: Final = 60
LEASE: Final = timedelta(hours=1)
#: The specs of the batches: with retries, with a stop after the first failure, and with a share of the workers.
SPECS: Final = (
    '{"retry":{"attempts":3,"backoff":0}}',
    '{"onFailure":"stop","parallelism":2}',
    '{"priority":5,"weight":2.5,"fairnessKey":"k"}',
)
REPOSITORY_SPEC: Final = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"folder"},"local":{"path":"/r"}}'


class RandomWalk:
    """Operations on batches and their jobs, chosen at random. ``seed`` determines all of them."""

    def __init__(self, database: Database, broker: MemoryBroker, seed: int) -> None:
        self._database = database
        self._random = random.Random(seed)
        wakeups = WakeupPublisher(broker)
        self._controller = BatchController(database, wakeups, Clock(), on_due=lambda: None)
        self._recovery = JobRecovery(database, wakeups, Clock(), max_attempts=2)
        self._uids: list[uuid.UUID] = []
        self._running: list[tuple[StoredJob, uuid.UUID]] = []
        self._next_id = 0

    async def start(self) -> None:
        """Create the repository and the batches."""
        async with self._database.transaction() as connection:
            locked = await resources.lock(connection, "default")
            writes = [resources.Write(BATCH, f"b{index}", spec, "v0alpha1") for index, spec in enumerate(SPECS)]
            for write in (resources.Write(REPOSITORY, "r", REPOSITORY_SPEC, "v0alpha1"), *writes):
                stored_object = await resources.create(locked, "default", write, actor="user:1", now=Clock().now(), status="{}")
                if write.kind is BATCH:
                    self._uids.append(stored_object.uid)

    async def step(self) -> None:
        """Perform one operation, chosen by weight: batches progress more often than they are disturbed."""
        operations: list[tuple[Callable[[], Awaitable[object]], int]] = [
            (self._add, 4),
            (self._controller.run_once, 6),
            (self._claim, 6),
            (self._finish, 6),
            (self._return, 2),
            (self._expire, 1),
            (self._cancel_job, 1),
            (self._retry, 1),
            (self._stop, 1),
        ]
        (operation,) = self._random.choices([operation for operation, _ in operations], [weight for _, weight in operations])
        await operation()

    async def finish_all(self) -> None:
        """Close all batches, and perform the remaining work, within a number of rounds that suffices for all of it."""
        async with self._database.transaction() as connection:
            for uid in self._uids:
                await batches.close(connection, uid)
        for _ in range(STEPS * 4):
            await self._controller.run_once()
            await self._claim()
            while self._running:
                await self._finish()
            if all([(await self.batch(uid)).finished_at for uid in self._uids]):
                return
        raise AssertionError("a batch does not end")

    async def batch(self, uid: uuid.UUID) -> StoredBatch:
        """Return a batch, which must exist."""
        async with self._database.connection() as connection:
            stored = await batches.find(connection, uid)
        assert stored is not None
        return stored

    async def wrong_counts(self) -> list[object]:
        """Return the batches whose counts differ from their items, and the items that are dispatched although their job has ended.

        A row of a batch has the stored counts and then the true ones. A row of an item begins with "lost" and is filled with zeros.
        """
        statement = """
            select b.name, b.total, b.dispatched, b.working, b.success, b.error, b.cancelled, count(i.*) as items,
                   count(*) filter (where i.state = 'dispatched') as d, count(*) filter (where j.state = 'working') as w,
                   count(*) filter (where i.state = 'success') as s, count(*) filter (where i.state = 'error') as e,
                   count(*) filter (where i.state = 'cancelled') as c
            from batch b left join batch_item i on i.batch = b.uid left join job j on j.uid = i.job and i.state = 'dispatched'
            group by b.uid
            having (b.total, b.dispatched, b.working, b.success, b.error, b.cancelled) <> (
                count(i.*), count(*) filter (where i.state = 'dispatched'), count(*) filter (where j.state = 'working'),
                count(*) filter (where i.state = 'success'), count(*) filter (where i.state = 'error'),
                count(*) filter (where i.state = 'cancelled'))
            union all
            select 'lost ' || i.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
            from batch_item i left join job j on j.uid = i.job
            where i.state = 'dispatched' and (j.uid is null or j.state not in ('pending', 'working'))
        """
        async with self._database.connection() as connection:
            return [tuple(row) for row in await connection.fetch(statement)]

    async def _add(self) -> None:
        """Add items to a batch, unless it is closed."""
        uid = self._random.choice(self._uids)
        async with self._database.transaction() as connection:
            batch = await batches.lock(connection, uid)
            assert batch is not None
            if batch.is_closed:
                return
            items = [self._new_item() for _ in range(self._random.randint(1, 5))]
            await batches.add(connection, batch, items, submitted_by={"uid": "user:1", "login": "u"}, trace=None)

    def _new_item(self) -> NewItem:
        """Return an evaluation, or in one of five cases a sync."""
        self._next_id += 1
        if self._random.random() < 0.2:
            # Syncs of one repository are merged while one is pending.
            return NewItem(str(self._next_id), "Job", '{"action":"sync","repository":"r","sync":{}}')
        return NewItem(str(self._next_id), "Evaluation", '{"panel":{}}')

    async def _claim(self) -> None:
        """Claim some jobs of a pool as a new worker."""
        owner = uuid.uuid4()
        pool = self._random.choice(["evaluate", "work"])
        async with self._database.connection() as connection:
            status = b'{"state":"working","started":5}'
            claimed = await claims.claim(connection, pool, limit=self._random.randint(1, 4), owner=owner, lease=LEASE, status=status)
        self._running += [(job, owner) for job in claimed]

    async def _finish(self) -> None:
        """Finish some jobs in one transaction, as a worker that has lost some of the leases."""
        group, self._running = self._running[:3], self._running[3:]
        states = [self._random.choice(["success", "success", "error"]) for _ in group]
        finals = [
            FinalState(job.uid, owner, state, f'{{"state":"{state}"}}'.encode()) for (job, owner), state in zip(group, states, strict=True)
        ]
        async with self._database.transaction() as connection:
            await claims.finish(connection, finals)

    async def _return(self) -> None:
        """Return a job to its queue, or postpone it."""
        if not self._running:
            return
        job, owner = self._running.pop()
        async with self._database.transaction() as connection:
            if self._random.random() < 0.5:
                await claims.requeue(connection, job.uid, owner=owner)
            else:
                await claims.postpone(connection, job.uid, owner=owner, delay=timedelta(0), status=b'{"state":"pending"}')
        async with self._database.transaction() as connection:
            await claims.place_due(connection, "evaluate")
            await claims.place_due(connection, "work")

    async def _expire(self) -> None:
        """Let all leases expire, and recover their jobs. ``_running`` still has the jobs, as their former workers would."""
        async with self._database.transaction() as connection:
            await connection.execute("update job_lease set expires_at = now() - interval '1 second'")
        await self._recovery.run_once()

    async def _cancel_job(self) -> None:
        """Cancel a job, or delete an ended one."""
        async with self._database.connection() as connection:
            rows = await connection.fetch("select name, resource from job order by created_at, uid")
        if rows:
            row = self._random.choice(rows)
            async with self._database.transaction() as connection:
                await jobs.cancel(connection, JOB if row["resource"] == "jobs" else EVALUATION, "default", row["name"], now=1)

    async def _retry(self) -> None:
        """Retry the unsuccessful items of a batch, unless it is being stopped."""
        async with self._database.transaction() as connection:
            uid = self._random.choice(self._uids)
            batch = await batches.lock(connection, uid)
            if batch is not None and not (batch.stop_reason and batch.finished_at is None):
                await batches.retry(connection, uid, states=["error", "cancelled"], ids=None)

    async def _stop(self) -> None:
        """Stop a batch, as its user cancels it."""
        async with self._database.transaction() as connection:
            await batches.stop(connection, self._random.choice(self._uids), batches.CANCELLED)


@pytest.mark.parametrize("seed", range(8))
async def test_counts_equal_the_items(database: Database, seed: int) -> None:
    """After each operation the stored counts equal the items, and no item waits for a job that has ended.

    At the end of the walk, all batches finish.
    """
    broker = MemoryBroker()
    await broker.start()
    walk = RandomWalk(database, broker, seed)
    await walk.start()
    for _ in range(STEPS):
        await walk.step()
        assert await walk.wrong_counts() == []
    await walk.finish_all()
    assert await walk.wrong_counts() == []
    await broker.close()
