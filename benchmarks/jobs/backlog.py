"""Q3, Q4 and Q5: the choice of the next job in a backlog.

Q3 claims jobs from a backlog of 100,000 and from one of 1,000. Q4 measures the delay of single jobs of another organization while
a worker has the large backlog, and while the backlog is hidden from the worker. Q5 submits, claims and finishes jobs, with and without
priorities, fairness keys, weights and concurrency groups.
"""

import asyncio
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from tests.acceptance.processes import Stack
from tests.servers import databases

from benchmarks.jobs.small_jobs import spec
from benchmarks.measurement import Row, alternate, median_ms
from benchmarks.processes import start_service
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of
from dashwright.common.jobs.routing import EVALUATE
from dashwright.common.kinds.registry import EVALUATION
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.stores import claims, jobs
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.work.wakeups import WakeupPublisher

#: Jobs of each backlog.
_LARGE, _SMALL = 100_000, 1_000
#: Claims of a round of Q3.
_CLAIMS = 100
#: Jobs of a round of Q4.
_SINGLE_JOBS = 50
#: Jobs of a round of Q5.
_DRAINED_JOBS = 2_000
#: Free slots of the worker that drains jobs.
_SLOTS = 100
#: Jobs of one transaction.
_JOBS_PER_SUBMISSION = 1_000
#: The interval at which the end of a single job is looked for.
_POLL_SECONDS = 0.005
#: The lease of claimed jobs, longer than any round.
_LEASE = timedelta(minutes=10)

_WORKING, _SUCCESS = b'{"state":"working"}', b'{"state":"success"}'
_SPEC = orjson.dumps(spec()).decode()

#: The organization with the backlog, and the one with single jobs.
_BACKLOG_NAMESPACE, _OTHER_NAMESPACE = namespace_of(1), namespace_of(2)

#: Hide the backlog from workers, and make it visible again: workers skip namespaces without claimable queues.
_HIDE = "update job_namespace set claimable_queues = 0 where namespace = $1"
_SHOW = """
    update job_namespace n set claimable_queues = (
        select count(*) from job_queue q where (q.pool, q.namespace) = (n.pool, n.namespace) and q.is_claimable
    ) where namespace = $1
"""
#: The seconds from the submission of a finished job to its end.
_DELAY = "select extract(epoch from finished_at - created_at)::float8 from job where uid = $1 and finished_at is not null"


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of Q3, Q4 and Q5."""
    server_url, template = databases.with_database(database_url, "postgres"), urlsplit(database_url).path[1:]
    async with AsyncExitStack() as exit_stack:
        # The other databases are created first, because a database with connections cannot be copied.
        small_url = await exit_stack.enter_async_context(databases.temporary_database(server_url, template))
        empty_url = await exit_stack.enter_async_context(databases.temporary_database(server_url, template))
        large, small, empty = [await _open_database(exit_stack, url) for url in (database_url, small_url, empty_url)]
        await _create_backlog(large, _LARGE)
        await _create_backlog(small, _SMALL)
        return [
            await _claim_row(large, small),
            await _delay_row(exit_stack, large, Stack(database_url, amqp_url, folder, JOB_LEASE_SECONDS="30"), folder),
            await _throughput_row(empty),
        ]


async def _open_database(exit_stack: AsyncExitStack, url: str) -> Database:
    database = await Database.open(url, application_name="backlog")
    exit_stack.push_async_callback(database.close)
    return database


def _new_jobs(count: int, *, namespace: str = _BACKLOG_NAMESPACE, priorities: int = 1, keys: int = 1, groups: int = 0) -> list[NewJob]:
    """Return evaluations, spread evenly over priorities, fairness keys with different weights, and concurrency groups."""
    return [
        NewJob(
            name=f"e-{uuid.uuid4().hex}",
            namespace=namespace,
            spec=_SPEC,
            repository=None,
            action=EVALUATE,
            labels={},
            created="2026-01-01T00:00:00Z",
            coalesce_key=None,
            concurrency_group=f"group-{index % groups}" if groups else None,
            group_limit=_SLOTS,
            wake_key=EVALUATE,
            priority=1 + index % priorities,
            fairness_key=f"key-{index % keys}",
            weight=float(1 + index % keys),
        )
        for index in range(count)
    ]


async def _submit(database: Database, new_jobs: Sequence[NewJob]) -> Sequence[StoredJob]:
    """Store jobs in transactions of up to ``_JOBS_PER_SUBMISSION``, and return them."""
    submitted: list[StoredJob] = []
    for start in range(0, len(new_jobs), _JOBS_PER_SUBMISSION):
        async with database.transaction() as connection:
            result = await jobs.submit(
                connection, EVALUATION, new_jobs[start : start + _JOBS_PER_SUBMISSION], submitted_by={"uid": "user:1"}
            )
        submitted += result.jobs
    return submitted


async def _create_backlog(database: Database, count: int) -> None:
    """Create a backlog in five queues. The tables are vacuumed, which PostgreSQL would do some time later."""
    await _submit(database, _new_jobs(count, keys=5))
    async with database.connection() as connection:
        await connection.execute("vacuum analyze")


async def _claim_row(large: Database, small: Database) -> Row:
    """Return the row of Q3."""

    async def claim_and_requeue(database: Database) -> Sequence[float]:
        """Return the seconds of each claim. Each job is requeued, so that the size of the backlog is constant."""
        seconds = []
        async with database.connection() as connection:
            for _ in range(_CLAIMS):
                owner, started = uuid.uuid4(), time.perf_counter()
                [job] = await claims.claim(connection, EVALUATE, limit=1, owner=owner, lease=_LEASE, status=_WORKING)
                seconds.append(time.perf_counter() - started)
                async with connection.transaction():
                    await claims.requeue(connection, job.uid, owner=owner)
        return seconds

    large_seconds, small_seconds = await alternate(lambda: claim_and_requeue(large), lambda: claim_and_requeue(small))
    path = f"claim with {_LARGE:,} waiting jobs, to {_SMALL:,}, p50"
    return Row("Q3", path, "ms", median_ms(large_seconds), median_ms(small_seconds), 1.2)


async def _delay_row(exit_stack: AsyncExitStack, large: Database, stack: Stack, folder: Path) -> Row:
    """Return the row of Q4."""
    await start_service(exit_stack, stack, "dashwright-expressions", folder)
    broker = AmqpBroker(stack.amqp_url)
    await broker.start()
    exit_stack.push_async_callback(broker.close)
    wakeups = WakeupPublisher(broker)

    async def run_single_jobs(visibility_statement: str) -> Sequence[float]:
        """Return the delay of each job of the other organization, after the backlog is shown or hidden."""
        async with large.connection() as connection:
            await connection.execute(visibility_statement, _BACKLOG_NAMESPACE)
        seconds = []
        for job in _new_jobs(_SINGLE_JOBS, namespace=_OTHER_NAMESPACE):
            async with large.transaction() as connection:
                submitted = await jobs.submit(connection, EVALUATION, [job], submitted_by={"uid": "user:1"})
            wakeups.publish_soon(submitted.wakeups)
            seconds.append(await _delay_seconds(large, submitted.jobs[0].uid))
        return seconds

    with_backlog, alone = await alternate(lambda: run_single_jobs(_SHOW), lambda: run_single_jobs(_HIDE))
    # All jobs of the backlog still exist, in any state.
    async with large.connection() as connection:
        assert await jobs.count(connection, EVALUATION, _BACKLOG_NAMESPACE) == _LARGE
    added_ms = max(0.0, median_ms(with_backlog, 95) - median_ms(alone, 95))
    path = f"one job next to {_LARGE:,} of another organization, p95 added to alone, to 100 ms"
    return Row("Q4", path, "ms", added_ms, 100.0, 1.0)


async def _delay_seconds(database: Database, uid: uuid.UUID) -> float:
    """Return the seconds from the submission of a job to its end, once it has ended."""
    async with asyncio.timeout(60):
        while True:
            async with database.connection() as connection:
                seconds: float | None = await connection.fetchval(_DELAY, uid)
            if seconds is not None:
                return seconds
            await asyncio.sleep(_POLL_SECONDS)


async def _throughput_row(database: Database) -> Row:
    """Return the row of Q5."""

    async def submit_and_finish(new_jobs: Sequence[NewJob]) -> Sequence[float]:
        """Return the seconds until all jobs are submitted, claimed and finished, in this process without a worker."""
        started = time.perf_counter()
        await _submit(database, new_jobs)
        owner, finished = uuid.uuid4(), 0
        while finished < len(new_jobs):
            async with database.connection() as connection:
                claimed = await claims.claim(connection, EVALUATE, limit=_SLOTS, owner=owner, lease=_LEASE, status=_WORKING)
            async with database.transaction() as connection:
                finished += len(await claims.finish(connection, [FinalState(job.uid, owner, "success", _SUCCESS) for job in claimed]))
        return [time.perf_counter() - started]

    many_queues_seconds, one_queue_seconds = await alternate(
        lambda: submit_and_finish(_new_jobs(_DRAINED_JOBS, priorities=5, keys=4, groups=3)),
        lambda: submit_and_finish(_new_jobs(_DRAINED_JOBS)),
    )
    path = f"{_DRAINED_JOBS:,} jobs with priorities, keys, weights, groups, to without"
    return Row("Q5", path, "ms", median_ms(many_queues_seconds), median_ms(one_queue_seconds), 1 / 0.9)
