"""Queues of jobs are deleted when they are empty, and their counters are correct with concurrent changes."""

import asyncio
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Final

from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import JOB
from dashwright.common.stores import claims, job_queues, jobs
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import NewJob

NAMESPACES: Final = ("default", "org-2", "org-3")
ROUNDS: Final = 12


def new_job(name: str, namespace: str, group: str) -> NewJob:
    """Return a job of a concurrency group, which has a queue of its own."""
    return NewJob(name, namespace, "{}", group, "sync", {}, "2026-01-01T00:00:00Z", None, group, "work.sync")


async def submit_jobs(database: Database, *requested_jobs: NewJob) -> None:
    """Submit jobs in one transaction."""
    async with database.transaction() as connection:
        await jobs.submit(connection, JOB, requested_jobs, submitted_by={})


async def run_next(database: Database) -> int:
    """Claim and finish the jobs that are next; return their number."""
    owner = uuid.uuid4()
    async with database.connection() as connection:
        claimed = await claims.claim(connection, "work", limit=4, owner=owner, lease=timedelta(minutes=1), status=b"{}")
    async with database.transaction() as connection:
        await claims.finish(connection, [FinalState(job.uid, owner, "success", b"{}") for job in claimed])
    return len(claimed)


async def delete_empty(database: Database, limit: int = 100) -> int:
    """Delete empty queues in one transaction, and return their number."""
    async with database.transaction() as connection:
        return await job_queues.delete_empty(connection, limit=limit)


async def queues(database: Database) -> list[tuple[str, int, int]]:
    """Return the groups of all queues with their counters of ready and working jobs."""
    async with database.connection() as connection:
        rows = await connection.fetch("select lane, ready, working from job_queue order by namespace, lane")
    return [(row["lane"], row["ready"], row["working"]) for row in rows]


async def wrong_counters(database: Database) -> list[str]:
    """Return the counters of queues and namespaces that do not equal the rows of jobs."""
    statement = """
        with place as (
            select q.id, count(p.uid) filter (where not p.is_working) as ready, count(p.uid) filter (where p.is_working) as working
            from job_queue q left join job_place p on p.queue = q.id group by q.id
        )
        select 'queue ' || q.id as name from job_queue q join place using (id) where (q.ready, q.working) <> (place.ready, place.working)
        union all
        select 'claimable ' || q.id from job_queue q
        where q.is_claimable <> (q.ready > 0 and q.lane_width > (
            select sum(working) from job_queue other where (other.namespace, other.lane) = (q.namespace, q.lane)))
        union all
        select 'lost place ' || p.uid from job_place p where p.queue not in (select id from job_queue)
        union all
        select 'no place ' || j.uid from job j left join job_place p using (uid) where state in ('pending', 'working') and p.uid is null
        union all
        select 'namespace ' || n.namespace from job_namespace n
        where (claimable_queues, working) <> (
            select count(*) filter (where is_claimable), coalesce(sum(q.working), 0) from job_queue q where q.namespace = n.namespace)
    """
    async with database.connection() as connection:
        return [row["name"] for row in await connection.fetch(statement)]


async def test_an_empty_queue_is_deleted_and_created_again(database: Database) -> None:
    """Queues with ready or working jobs remain. A queue that was deleted returns with the next job of its group."""
    await submit_jobs(database, new_job("a", "default", "a"), new_job("b", "default", "b"), new_job("b2", "default", "b"))
    assert await delete_empty(database) == 0
    while await run_next(database) and await queues(database) != [("a", 0, 0), ("b", 1, 0)]:
        pass
    assert await delete_empty(database) == 1
    assert await queues(database) == [("b", 1, 0)]
    await submit_jobs(database, new_job("a2", "default", "a"))
    assert await queues(database) == [("a", 1, 0), ("b", 1, 0)]
    assert await wrong_counters(database) == []


async def test_a_full_group_closes_all_its_queues(database: Database) -> None:
    """If a group has as many working jobs as its limit, all its queues are closed, until one of the jobs ends."""
    keys = "abc"
    await submit_jobs(
        database,
        *(replace(new_job(f"{key}{number}", "default", "group"), fairness_key=key, group_limit=2) for key in keys for number in range(2)),
        replace(new_job("ungrouped", "default", "group"), concurrency_group=None),
    )
    # Two jobs of the group run at a time, and in the first round also the job without a group.
    for expected in (3, 2, 2, 0):
        owner = uuid.uuid4()
        async with database.connection() as connection:
            claimed = await claims.claim(connection, "work", limit=4, owner=owner, lease=timedelta(minutes=1), status=b"{}")
        assert len(claimed) == expected
        assert await wrong_counters(database) == []
        async with database.transaction() as connection:
            await claims.finish(connection, [FinalState(job.uid, owner, "success", b"{}") for job in claimed])
        assert await wrong_counters(database) == []


async def test_the_plan_of_the_count_of_waiting_jobs_is_cached(database: Database) -> None:
    """The plan of the statement is cached, because each submission runs it, and planning takes longer than running."""
    async with database.connection() as connection:
        for _ in range(10):
            await job_queues.count_waiting(connection, ["default"])
        plans = await connection.fetchval(
            "select generic_plans from pg_prepared_statements where statement like '%as waiting%' and statement not like '%generic_plans%'"
        )
    # PostgreSQL plans the first five executions individually.
    assert plans >= 5


async def test_an_organization_with_a_writer_is_skipped(database: Database) -> None:
    """A deletion of empty queues does not wait for a transaction that holds the lock of an organization, and keeps its queues."""
    for namespace in NAMESPACES:
        await submit_jobs(database, new_job("a", namespace, "a"))
    while await run_next(database):
        pass
    async with database.transaction() as connection:
        await jobs.submit(connection, JOB, [new_job("b", "default", "a")], submitted_by={})
        async with asyncio.timeout(20):
            assert await delete_empty(database) == len(NAMESPACES) - 1
    assert await queues(database) == [("a", 1, 0)]
    assert await wrong_counters(database) == []


async def test_the_number_of_deleted_queues_is_limited(database: Database) -> None:
    """One transaction deletes at most as many queues as requested, so that its locks are short."""
    await submit_jobs(database, *(new_job(group, "default", group) for group in "abcde"))
    while await run_next(database):
        pass
    assert [await delete_empty(database, limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_counters_are_right_with_concurrent_writers_and_deletions(database: Database) -> None:
    """The deletion of empty queues may be concurrent with submissions, claims and ends of jobs. No job or count is lost."""
    is_submitting = True

    async def submit_and_work(namespace: str) -> int:
        """Submit two jobs in each round, and return how many jobs of any organization were finished."""
        finished = 0
        for number in range(ROUNDS):
            await submit_jobs(database, *(new_job(f"{number}-{group}", namespace, group) for group in "ab"))
            finished += await run_next(database) + await run_next(database)
        return finished

    async def delete() -> int:
        """Delete empty queues as long as jobs are submitted, and return their number."""
        deleted = 0
        while is_submitting:
            deleted += await delete_empty(database)
        return deleted

    deleter = asyncio.create_task(delete())
    async with asyncio.timeout(60):
        finished = sum(await asyncio.gather(*(submit_and_work(namespace) for namespace in NAMESPACES)))
        is_submitting = False
        while count := await run_next(database):
            finished += count
    assert (finished, await deleter > 0) == (len(NAMESPACES) * ROUNDS * 2, True)
    assert await wrong_counters(database) == []
    await delete_empty(database)
    assert await queues(database) == []
