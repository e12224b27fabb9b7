"""The job store over a real PostgreSQL: every change of state is a guarded update."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.stores import accepted_messages, claims, jobs, resources
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import NewJob, StoredJob

LEASE = timedelta(seconds=30)
WORKING = b'{"state":"working"}'
SUCCESS = b'{"state":"success"}'


def new_job(
    suffix: str, *, incremental: bool = False, key: str | None = "r/sync/", group: str | None = "r", action: str = "sync"
) -> NewJob:
    """Return a sync of the repository ``r``. Pending jobs with the same ``key`` are merged; jobs of a ``group`` run in sequence."""
    spec = f'{{"action":"sync","repository":"r","sync":{{"incremental":{str(incremental).lower()}}}}}'
    labels = {"repository": "r"}
    return NewJob(f"r-sync-{suffix}", "default", spec, "r", action, labels, "2026-01-01T00:00:00Z", key, group, "work.sync")


async def submit_jobs(database: Database, *requested_jobs: NewJob) -> jobs.SubmissionResult:
    """Submit jobs in one transaction."""
    async with database.connection() as connection:
        return await jobs.submit(connection, JOB, requested_jobs, submitted_by={"uid": "user:1"}, trace="t")


async def claim_jobs(database: Database, owner: uuid.UUID, lease: timedelta = LEASE, *, limit: int = 1) -> Sequence[StoredJob]:
    """Claim up to ``limit`` jobs and return them."""
    async with database.connection() as connection:
        return await claims.claim(connection, "work", limit=limit, owner=owner, lease=lease, status=WORKING)


async def finish(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> bool:
    """Finish a job with success, and return whether the owner still had its lease."""
    async with database.transaction() as connection:
        return await claims.finish(connection, [FinalState(uid, owner, "success", SUCCESS)]) == {uid}


async def state_of_job(database: Database, uid: uuid.UUID) -> str:
    """Return the state of a job."""
    async with database.connection() as connection:
        return (await jobs.get_many(connection, [uid]))[0].state


async def test_a_submitted_job_is_pending_with_a_wakeup(database: Database) -> None:
    """A submission returns the pending job with its trace, and the wake-up to publish."""
    submitted = await submit_jobs(database, new_job("1"))
    (job,) = submitted.jobs
    assert (job.state, job.name, job.trace) == ("pending", "r-sync-1", "t")
    assert submitted.wakeups == [Wakeup("work.sync", job.uid)]


async def test_an_equal_submission_returns_the_pending_job(database: Database) -> None:
    """A submission equal to a pending job returns that job without a wake-up. The job becomes a full sync if the submission is one."""
    first = await submit_jobs(database, new_job("1", incremental=True))
    repeated = await submit_jobs(database, new_job("2", incremental=False))
    third = await submit_jobs(database, new_job("3", incremental=True))
    assert first.jobs[0].uid == repeated.jobs[0].uid == third.jobs[0].uid
    assert '"incremental":false' in third.jobs[0].spec
    assert [*repeated.wakeups, *third.wakeups] == []


async def test_a_batch_returns_jobs_in_its_order(database: Database) -> None:
    """Each item of a batch has its job at the same index; equal items have the same job. One wake-up is enough for all."""
    submitted = await submit_jobs(
        database, new_job("1", key="a", group="a"), new_job("2", key="b", group="b"), new_job("3", key="a", group="a")
    )
    assert submitted.jobs[0].uid == submitted.jobs[2].uid != submitted.jobs[1].uid
    assert len(submitted.wakeups) == 1


async def test_concurrent_submissions_of_equal_jobs_create_one(database: Database) -> None:
    """Concurrent equal submissions create one pending job."""
    responses = await asyncio.gather(*(submit_jobs(database, new_job(str(index))) for index in range(8)))
    assert len({response.jobs[0].uid for response in responses}) == 1
    assert sum(len(response.wakeups) for response in responses) == 1


async def test_one_of_many_claims_wins(database: Database) -> None:
    """A pending job is claimed once, however many workers try."""
    await submit_jobs(database, new_job("1"))
    claimed = await asyncio.gather(*(claim_jobs(database, uuid.uuid4()) for _ in range(6)))
    assert sum(map(len, claimed)) == 1


async def test_a_job_waits_for_its_concurrency_group(database: Database) -> None:
    """A job submitted while its group is busy is pending, and is claimed after the end of the other."""
    owner = uuid.uuid4()
    first = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    assert [job.uid for job in await claim_jobs(database, owner)] == [first]
    second = (await submit_jobs(database, new_job("2"))).jobs[0].uid
    assert first != second
    assert await claim_jobs(database, uuid.uuid4()) == []
    assert await finish(database, first, owner)
    assert [job.uid for job in await claim_jobs(database, uuid.uuid4())] == [second]


async def test_only_the_owner_writes(database: Database) -> None:
    """Only the owner of the lease can report progress, renew the lease or end the job."""
    owner, other_worker = uuid.uuid4(), uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner)
    async with database.connection() as connection:
        assert not await claims.report(connection, uid, owner=other_worker, status=WORKING)
        assert not await claims.renew(connection, uid, owner=other_worker, lease=LEASE)
        assert not await claims.holds_lease(connection, uid, owner=other_worker)
        assert await claims.holds_lease(connection, uid, owner=owner)
        assert await claims.renew(connection, uid, owner=owner, lease=LEASE)
    assert not await finish(database, uid, other_worker)
    assert await state_of_job(database, uid) == "working"
    assert await finish(database, uid, owner)
    assert await state_of_job(database, uid) == "success"


async def test_a_renewed_lease_records_no_change(database: Database) -> None:
    """Renewal creates no change and no version; claiming and finishing do."""
    owner = uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner)
    async with database.connection() as connection:
        before = await connection.fetchval("select count(*) from change")
        await claims.renew(connection, uid, owner=owner, lease=LEASE)
        assert before == await connection.fetchval("select count(*) from change")
    assert before == 2  # the submission and the claim


async def test_an_expired_job_is_pending_again(database: Database) -> None:
    """A job with an expired lease is pending again, and its former owner can write nothing."""
    owner = uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner, timedelta(0))
    async with database.transaction() as connection:
        (expired_job,) = await claims.list_with_expired_lease(connection, limit=10)
        await jobs.lock(connection, "default")
        assert await claims.requeue_expired(connection, expired_job)
    assert await state_of_job(database, uid) == "pending"
    assert not await finish(database, uid, owner)
    (repeated,) = await claim_jobs(database, uuid.uuid4())
    assert repeated.attempts == 2


async def test_a_lease_renewed_during_the_recovery_is_kept(database: Database) -> None:
    """The recovery takes no job from a worker that renewed its lease after the recovery found it expired."""
    owner = uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner, timedelta(0))
    async with database.transaction() as connection:
        (expired_job,) = await claims.list_with_expired_lease(connection, limit=10)
        await claims.renew(connection, uid, owner=owner, lease=LEASE)
        await jobs.lock(connection, "default")
        assert not await claims.requeue_expired(connection, expired_job)
        assert not await claims.fail_expired(connection, expired_job, status=b"{}")
    assert await state_of_job(database, uid) == "working"


async def test_a_returned_job_keeps_its_attempts(database: Database) -> None:
    """A job that a stopping worker returns is pending, and its attempt does not count."""
    owner = uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner)
    async with database.transaction() as connection:
        assert await claims.requeue(connection, uid, owner=owner)
    (repeated,) = await claim_jobs(database, uuid.uuid4())
    assert repeated.attempts == 1


async def test_a_returned_job_waits_next_to_an_equal_one(database: Database) -> None:
    """A stopping worker returns its job although an equal one is pending: both are claimed, the older one first."""
    owner = uuid.uuid4()
    returned = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner)
    waiting = (await submit_jobs(database, new_job("2"))).jobs[0].uid
    async with database.transaction() as connection:
        assert await claims.requeue(connection, returned, owner=owner)
    for uid in (returned, waiting):
        assert [job.uid for job in await claim_jobs(database, owner)] == [uid]
        assert await finish(database, uid, owner)


async def test_a_cancelled_job_ends_and_frees_its_group(database: Database) -> None:
    """Cancelling a working job ends it with an error, clears its lease and frees its group; cancelling an ended job deletes it."""
    owner = uuid.uuid4()
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    await claim_jobs(database, owner)
    second = (await submit_jobs(database, new_job("2"))).jobs[0].uid
    async with database.transaction() as connection:
        await jobs.cancel(connection, JOB, "default", "r-sync-1", now=5)
    assert not await finish(database, uid, owner)
    assert [job.uid for job in await claim_jobs(database, uuid.uuid4())] == [second]
    async with database.transaction() as connection:
        cancelled = await jobs.get(connection, JOB, "default", "r-sync-1")
        assert "job was cancelled" in cancelled.status
        await jobs.cancel(connection, JOB, "default", "r-sync-1", now=6)
        with pytest.raises(NotFound):
            await jobs.get(connection, JOB, "default", "r-sync-1")


async def test_the_newest_ended_jobs_are_kept(database: Database) -> None:
    """Trimming deletes the oldest ended jobs beyond the number kept for each repository.

    Jobs of different actions are counted separately, so that many ``pr`` jobs delete no sync.
    """
    uids = []
    for action, number in [("pr", 0), ("sync", 1), ("sync", 2), ("sync", 3), ("sync", 4)]:
        uid = (await submit_jobs(database, new_job(str(number), action=action))).jobs[0].uid
        owner = uuid.uuid4()
        await claim_jobs(database, owner)
        await finish(database, uid, owner)
        uids.append(uid)
    waiting = (await submit_jobs(database, new_job("waiting"))).jobs[0].uid
    async with database.transaction() as connection:
        # The two oldest of the four syncs.
        assert await jobs.trim(connection, keep=2, orphan_retention=timedelta(days=1), limit=100) == 2
        remaining = await jobs.get_many(connection, [*uids, waiting])
    assert [uids[0], *uids[3:], waiting] == [job.uid for job in remaining]


async def test_old_jobs_of_a_deleted_repository_are_deleted(database: Database) -> None:
    """Trimming deletes the ended jobs of a repository that does not exist, as soon as they are old enough."""
    uid, owner = (await submit_jobs(database, new_job("1"))).jobs[0].uid, uuid.uuid4()
    await claim_jobs(database, owner)
    await finish(database, uid, owner)
    waiting = (await submit_jobs(database, new_job("waiting"))).jobs[0].uid
    async with database.transaction() as connection:
        assert await jobs.trim(connection, keep=2, orphan_retention=timedelta(days=1), limit=100) == 0
    async with database.transaction() as connection:
        assert await jobs.trim(connection, keep=2, orphan_retention=timedelta(), limit=100) == 1
        assert [job.uid for job in await jobs.get_many(connection, [uid, waiting])] == [waiting]


async def test_old_jobs_of_a_repository_are_kept(database: Database) -> None:
    """Trimming keeps the ended jobs of an existing repository at any age."""
    async with database.transaction() as connection:
        locked = await resources.lock(connection, "default")
        write = resources.Write(REPOSITORY, "r", "{}", "v0alpha1")
        repository_uid = (await resources.create(locked, "default", write, actor="user:1", now=datetime.now(UTC))).uid
    uid, owner = (await submit_jobs(database, replace(new_job("1"), repository_uid=repository_uid))).jobs[0].uid, uuid.uuid4()
    await claim_jobs(database, owner)
    await finish(database, uid, owner)
    async with database.transaction() as connection:
        assert await jobs.trim(connection, keep=2, orphan_retention=timedelta(), limit=100) == 0


async def test_a_message_id_is_recorded_once(database: Database) -> None:
    """The first of two deliveries of a message id is recorded; other submitters may use the same id."""
    uid = (await submit_jobs(database, new_job("1"))).jobs[0].uid
    async with database.connection() as connection:
        assert await accepted_messages.record(connection, "default", "user:1", "m", b"h", [uid])
        assert not await accepted_messages.record(connection, "default", "user:1", "m", b"h", [uid])
        assert await accepted_messages.record(connection, "default", "user:2", "m", b"h", [uid])
        assert (b"h", [uid]) == await accepted_messages.find(connection, "default", "user:1", "m")
