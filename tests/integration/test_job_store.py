"""The job store over a real PostgreSQL: every change of state is a guarded update."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import JOB
from dashwright.common.stores import accepted, jobs, outbox
from dashwright.common.stores.job_records import NewJob, StoredJob

LEASE = timedelta(seconds=30)
WORKING = b'{"state":"working"}'
SUCCESS = b'{"state":"success"}'


def new(suffix: str, *, incremental: bool = False, key: str | None = "r/sync/", group: str | None = "r", action: str = "sync") -> NewJob:
    spec = f'{{"action":"sync","repository":"r","sync":{{"incremental":{str(incremental).lower()}}}}}'
    labels = {"repository": "r"}
    return NewJob(f"r-sync-{suffix}", "default", spec, "r", action, labels, "2026-01-01T00:00:00Z", key, group, "work.sync")


async def submit(database: Database, *wanted: NewJob) -> jobs.SubmissionResult:
    async with database.connection() as connection:
        return await jobs.submit(connection, JOB, wanted, submitted_by={"uid": "user:1"}, headers={"traceparent": "t"})


async def claim(database: Database, uid: uuid.UUID, owner: uuid.UUID, lease: timedelta = LEASE) -> StoredJob | None:
    async with database.transaction() as connection:
        return await jobs.claim(connection, uid, owner=owner, lease=lease, status=WORKING)


async def finish(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> object:
    async with database.transaction() as connection:
        return await jobs.finish(connection, uid, owner=owner, state="success", status=SUCCESS)


async def state(database: Database, uid: uuid.UUID) -> str:
    async with database.connection() as connection:
        return (await jobs.get_many(connection, [uid]))[0].state


async def test_job_and_wakeup_are_recorded_together(database: Database) -> None:
    """A submitted job is pending, and its wake-up is in the outbox with its trace."""
    submitted = await submit(database, new("1"))
    (job,), (wakeup,) = submitted.jobs, submitted.wakeups
    assert (job.state, job.name) == ("pending", "r-sync-1")
    assert (wakeup.exchange, wakeup.routing_key, wakeup.headers) == ("dashwright.jobs", "work.sync", {"traceparent": "t"})
    assert str(job.uid) in wakeup.body
    async with database.connection() as connection:
        assert await outbox.depth(connection) == 1


async def test_an_equal_pending_job_is_that_job(database: Database) -> None:
    """A submission equal to a pending job returns that job without a second wake-up; it is full if either is."""
    first = await submit(database, new("1", incremental=True))
    again = await submit(database, new("2", incremental=False))
    third = await submit(database, new("3", incremental=True))
    assert first.jobs[0].uid == again.jobs[0].uid == third.jobs[0].uid
    assert '"incremental":false' in third.jobs[0].spec
    assert [*again.wakeups, *third.wakeups] == []


async def test_a_batch_returns_jobs_in_its_order(database: Database) -> None:
    """Each item of a batch has its job at the same index; equal items have the same job."""
    submitted = await submit(database, new("1", key="a", group="a"), new("2", key="b", group="b"), new("3", key="a", group="a"))
    assert submitted.jobs[0].uid == submitted.jobs[2].uid != submitted.jobs[1].uid
    assert len(submitted.wakeups) == 2


async def test_concurrent_submissions_of_equal_jobs_create_one(database: Database) -> None:
    """Any number of concurrent equal submissions creates one pending job."""
    answers = await asyncio.gather(*(submit(database, new(str(number))) for number in range(8)))
    assert len({answer.jobs[0].uid for answer in answers}) == 1
    assert sum(len(answer.wakeups) for answer in answers) == 1


async def test_one_of_many_claims_wins(database: Database) -> None:
    """A pending job is claimed once, however many workers try."""
    uid = (await submit(database, new("1"))).jobs[0].uid
    claims = await asyncio.gather(*(claim(database, uid, uuid.uuid4()) for _ in range(6)))
    assert sum(job is not None for job in claims) == 1


async def test_a_job_waits_for_its_concurrency_group(database: Database) -> None:
    """A job submitted while its group is busy is pending, cannot be claimed, and is woken by the end of the other."""
    owner = uuid.uuid4()
    first = (await submit(database, new("1"))).jobs[0].uid
    assert await claim(database, first, owner) is not None
    second = (await submit(database, new("2"))).jobs[0].uid
    assert first != second
    assert await claim(database, second, uuid.uuid4()) is None
    async with database.transaction() as connection:
        wakeups = await jobs.finish(connection, first, owner=owner, state="success", status=SUCCESS)
    assert wakeups is not None
    assert [str(second) in wakeup.body for wakeup in wakeups] == [True]
    assert await claim(database, second, uuid.uuid4()) is not None


async def test_only_the_owner_writes(database: Database) -> None:
    """Progress, renewal and end by another worker than the owner of the lease are refused and change nothing."""
    owner, stranger = uuid.uuid4(), uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner)
    async with database.connection() as connection:
        assert not await jobs.report(connection, uid, owner=stranger, status=WORKING)
        assert not await jobs.renew(connection, uid, owner=stranger, lease=LEASE)
        assert not await jobs.holds(connection, uid, owner=stranger)
        assert await jobs.holds(connection, uid, owner=owner)
        assert await jobs.renew(connection, uid, owner=owner, lease=LEASE)
    assert await finish(database, uid, stranger) is None
    assert await state(database, uid) == "working"
    assert await finish(database, uid, owner) == []
    assert await state(database, uid) == "success"


async def test_a_renewed_lease_records_no_change(database: Database) -> None:
    """Renewal creates no change and no version; claiming and finishing do."""
    owner = uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner)
    async with database.connection() as connection:
        before = await connection.fetchval("select count(*) from change")
        await jobs.renew(connection, uid, owner=owner, lease=LEASE)
        assert before == await connection.fetchval("select count(*) from change")
    assert before == 2


async def test_an_expired_job_is_pending_again(database: Database) -> None:
    """A job with an expired lease is pending again with a wake-up, and its former owner can write nothing."""
    owner = uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner, timedelta(0))
    async with database.transaction() as connection:
        (lapsed,) = await jobs.lapsed(connection, limit=10)
        await jobs.lock(connection)
        (wakeup,) = await jobs.requeue_lapsed(connection, lapsed)
    assert str(uid) in wakeup.body
    assert await state(database, uid) == "pending"
    assert await finish(database, uid, owner) is None
    again = await claim(database, uid, uuid.uuid4())
    assert again is not None
    assert again.attempts == 2


async def test_a_lease_renewed_before_the_rescue_is_kept(database: Database) -> None:
    """The rescue takes no job from a worker that renewed its lease after the rescue found it expired."""
    owner = uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner, timedelta(0))
    async with database.transaction() as connection:
        (lapsed,) = await jobs.lapsed(connection, limit=10)
        await jobs.renew(connection, uid, owner=owner, lease=LEASE)
        await jobs.lock(connection)
        assert await jobs.requeue_lapsed(connection, lapsed) == []
        assert await jobs.end_lapsed(connection, lapsed, status=b"{}") is None
    assert await state(database, uid) == "working"


async def test_a_returned_job_costs_no_attempt(database: Database) -> None:
    """A stopping worker leaves its job pending, woken, and with the attempts it had."""
    owner = uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner)
    async with database.transaction() as connection:
        assert len(await jobs.hand_back(connection, uid, owner=owner)) == 1
    again = await claim(database, uid, uuid.uuid4())
    assert again is not None
    assert again.attempts == 1


async def test_a_cancelled_job_ends_and_frees_its_group(database: Database) -> None:
    """Cancelling a working job ends it with an error, clears its lease and wakes the next; cancelling an ended job deletes it."""
    owner = uuid.uuid4()
    uid = (await submit(database, new("1"))).jobs[0].uid
    await claim(database, uid, owner)
    second = (await submit(database, new("2"))).jobs[0].uid
    async with database.transaction() as connection:
        _, wakeups = await jobs.cancel(connection, JOB, "default", "r-sync-1", now=5)
    assert [str(second) in wakeup.body for wakeup in wakeups] == [True]
    assert await finish(database, uid, owner) is None
    async with database.transaction() as connection:
        cancelled = await jobs.get(connection, JOB, "default", "r-sync-1")
        assert "job was cancelled" in cancelled.status
        await jobs.cancel(connection, JOB, "default", "r-sync-1", now=6)
        with pytest.raises(NotFound):
            await jobs.get(connection, JOB, "default", "r-sync-1")


async def test_a_job_that_waits_too_long_is_woken_periodically(database: Database) -> None:
    """A pending job is woken again after the waiting time, and again after the same time."""
    hour = timedelta(hours=1)
    await submit(database, new("1"))
    async with database.connection() as connection:
        assert await jobs.wake_stale(connection, older_than=hour, limit=10) == []
        await connection.execute("update job set created_at = now() - interval '2 hours'")
        assert len(await jobs.wake_stale(connection, older_than=hour, limit=10)) == 1
        assert await jobs.wake_stale(connection, older_than=hour, limit=10) == []
        await connection.execute("update job_woken set woken_at = now() - interval '2 hours'")
        assert len(await jobs.wake_stale(connection, older_than=hour, limit=10)) == 1


async def test_history_keeps_the_newest(database: Database) -> None:
    """Trimming deletes the oldest ended jobs beyond the number kept for each repository.

    Jobs of different actions are counted separately, so that many ``pr`` jobs delete no sync.
    """
    uids = []
    for action, number in [("pr", 0), ("sync", 1), ("sync", 2), ("sync", 3), ("sync", 4)]:
        uid = (await submit(database, new(str(number), action=action))).jobs[0].uid
        owner = uuid.uuid4()
        await claim(database, uid, owner)
        await finish(database, uid, owner)
        uids.append(uid)
    waiting = (await submit(database, new("waiting"))).jobs[0].uid
    async with database.connection() as connection:
        assert await jobs.trim(connection, keep=2) == 2
        left = await jobs.get_many(connection, [*uids, waiting])
    assert [uids[0], *uids[3:], waiting] == [job.uid for job in left]


async def test_a_message_id_is_recorded_once(database: Database) -> None:
    """The first of two deliveries of a message id is recorded; other submitters may use the same id."""
    uid = (await submit(database, new("1"))).jobs[0].uid
    async with database.connection() as connection:
        assert await accepted.record(connection, "default", "user:1", "m", b"h", [uid])
        assert not await accepted.record(connection, "default", "user:1", "m", b"h", [uid])
        assert await accepted.record(connection, "default", "user:2", "m", b"h", [uid])
        assert (b"h", [uid]) == await accepted.find(connection, "default", "user:1", "m")
