"""Concurrency groups of jobs over a real PostgreSQL: which jobs run concurrently, without starvation."""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import JOB
from dashwright.common.models.provisioning import JobSpec, RepositoryType
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import NewJob, StoredJob
from dashwright.common.stores.outbox import Wakeup
from dashwright.common.work.new_jobs import new_job

LEASE = timedelta(seconds=30)
PENDING, WORKING, SUCCESS = (f'{{"state":"{state}"}}'.encode() for state in ("pending", "working", "success"))
STALE = timedelta(minutes=5)


def job_of(action: str, number: int, repository: str = "r", namespace: str = "default") -> NewJob:
    options = {"sync": {"incremental": False}, "export": {"branch": f"b{number}"}, "pr": {"pr": number}}[action]
    spec = JobSpec.model_validate({"action": action, "repository": repository, action: options})
    return new_job(namespace, spec, uid=uuid.uuid4(), kind=RepositoryType.GITHOST, now=datetime(2026, 1, 1, tzinfo=UTC))


async def submit(database: Database, *submitted: NewJob) -> list[uuid.UUID]:
    """Submit jobs and return the ids in their wake-ups."""
    async with database.transaction() as connection:
        return ids_of((await jobs.submit(connection, JOB, submitted, submitted_by={}, headers={})).wakeups)


async def claim(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> StoredJob | None:
    async with database.transaction() as connection:
        return await jobs.claim(connection, uid, owner=owner, lease=LEASE, status=WORKING)


async def finish(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> list[uuid.UUID]:
    async with database.transaction() as connection:
        wakeups = await jobs.finish(connection, uid, owner=owner, state="success", status=SUCCESS)
    assert wakeups is not None
    return ids_of(wakeups)


async def postpone(database: Database, uid: uuid.UUID, owner: uuid.UUID, delay: timedelta) -> Sequence[Wakeup] | None:
    async with database.transaction() as connection:
        return await jobs.postpone(connection, uid, owner=owner, delay=delay, status=PENDING)


async def wake_overdue(database: Database) -> list[uuid.UUID]:
    async with database.transaction() as connection:
        return ids_of(await jobs.wake_stale(connection, older_than=STALE, limit=10))


async def states(database: Database) -> Counter[str]:
    async with database.connection() as connection:
        return Counter(job.state for job in (await jobs.list_page(connection, JOB, "default", after="", limit=500)).items)


def ids_of(wakeups: Sequence[Wakeup]) -> list[uuid.UUID]:
    return [uuid.UUID(orjson.loads(wakeup.body)["uid"]) for wakeup in wakeups]


@pytest.mark.parametrize("seed", range(3))
async def test_groups_keep_their_limits_and_all_jobs_run(database: Database, seed: int) -> None:
    """With many concurrent workers, a repository has at most four pull request jobs next to one sync or export.

    Each end wakes the next job, so that all jobs run without a search for lost wake-ups, in whatever order these arrive.
    """
    chance = random.Random(seed)
    submitted = [job_of("pr", number) for number in range(24)] + [job_of("export", number) for number in range(6)] + [job_of("sync", 0)]
    submitted += [job_of("pr", number, "other") for number in range(6)]
    chance.shuffle(submitted)
    tokens = await submit(database, *submitted)
    chance.shuffle(tokens)
    most: Counter[tuple[str, bool]] = Counter()

    async def claimer() -> None:
        while tokens:
            owner = uuid.uuid4()
            job = await claim(database, tokens.pop(chance.randrange(len(tokens))), owner)
            if job is not None:
                most.update({group: max(0, number - most[group]) for group, number in (await at_work(database)).items()})
                tokens.extend(await finish(database, job.uid, owner))

    while tokens:
        await asyncio.gather(*(claimer() for _ in range(10)))
    assert await states(database) == {"success": len(submitted)}
    assert most["r", False] == 1
    assert most["r", True] == 4


async def test_syncs_and_exports_exclude_each_other(database: Database) -> None:
    """A sync makes an export of its repository wait, and neither makes a pull request wait."""
    (sync,), (export,) = await submit(database, job_of("sync", 0)), await submit(database, job_of("export", 1))
    owner = uuid.uuid4()
    assert await claim(database, sync, owner) is not None
    assert await claim(database, export, uuid.uuid4()) is None
    (pr,) = await submit(database, job_of("pr", 1))
    assert await claim(database, pr, uuid.uuid4()) is not None
    assert await finish(database, sync, owner) == [export]


async def test_one_job_of_a_pull_request_runs_at_a_time(database: Database) -> None:
    """A second job of a pull request waits for the first, so that the later one reports last, and makes no other job wait."""
    owner = uuid.uuid4()
    (first,) = await submit(database, job_of("pr", 7))
    assert await claim(database, first, owner) is not None
    again, other = [(await submit(database, job_of("pr", number)))[0] for number in (7, 8)]
    assert again != first
    taken = await claim(database, again, owner)
    assert (taken.uid if taken else None) == other
    assert await claim(database, other, owner) is None
    (next_one,) = await finish(database, first, owner)
    taken = await claim(database, next_one, owner)
    assert (taken.uid if taken else None) == again


async def test_repositories_share_the_workers(database: Database) -> None:
    """Whichever wake-up arrives, the next job is the oldest one of the repository with the fewest working jobs."""
    many = [(await submit(database, job_of("pr", number)))[0] for number in range(6)]
    await submit(database, job_of("export", 1, "late"))
    await submit(database, job_of("pr", 1, "last"))
    taken = [await claim(database, uid, uuid.uuid4()) for uid in many]
    assert [job.repository if job is not None else None for job in taken] == ["r", "late", "last", "r", "r", "r"]


async def test_organizations_share_the_workers(database: Database) -> None:
    """However slow the hosts of an organization are, free slots go to the organizations with the fewest working jobs."""
    many = [(await submit(database, job_of("sync", 0, f"slow-{number}")))[0] for number in range(5)]
    await submit(database, job_of("sync", 0, "theirs", "org-2"))
    taken = [await claim(database, uid, uuid.uuid4()) for uid in many]
    assert [job.namespace if job is not None else None for job in taken] == ["default", "org-2", "default", "default", "default"]


async def test_a_lost_wakeup_is_repeated_within_the_group_limit(database: Database) -> None:
    """A pending pull request job is woken again if fewer than four are working, and not otherwise."""
    uids = await submit(database, *(job_of("pr", number) for number in range(5)))
    await age(database)
    for uid in uids[:3]:
        assert await claim(database, uid, uuid.uuid4()) is not None
    assert len(await wake_overdue(database)) == 2
    await age(database)
    assert await claim(database, uids[3], uuid.uuid4()) is not None
    assert await wake_overdue(database) == []


async def test_a_postponed_job_is_woken_once_when_due(database: Database) -> None:
    """Until then it is pending, costs no attempt, and lets other jobs of its group run before it."""
    owner = uuid.uuid4()
    (sync,), (export,) = await submit(database, job_of("sync", 0)), await submit(database, job_of("export", 1))
    assert await claim(database, sync, owner) is not None
    wakeups = await postpone(database, sync, owner, timedelta(seconds=60))
    assert wakeups is not None
    assert ids_of(wakeups) == [export]
    assert await claim(database, sync, owner) is not None, "its wake-up is for the export then"
    assert await finish(database, export, owner) == []
    assert await claim(database, sync, owner) is None
    assert await wake_overdue(database) == []
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() - interval '1 second'")
    assert await wake_overdue(database) == [sync]
    assert await wake_overdue(database) == []
    taken = await claim(database, sync, owner)
    assert taken is not None
    assert taken.attempts == 1


async def test_a_postponed_job_and_an_equal_pending_one_both_run(database: Database) -> None:
    """Neither is lost or ended; the older one runs first when it is due."""
    owner = uuid.uuid4()
    (first,) = await submit(database, job_of("sync", 0))
    assert await claim(database, first, owner) is not None
    (second,) = await submit(database, job_of("sync", 0))
    wakeups = await postpone(database, first, owner, timedelta(0))
    assert wakeups is not None
    assert ids_of(wakeups) == [first]
    assert await states(database) == {"pending": 2}
    taken = await claim(database, second, owner)
    assert taken is not None
    assert taken.uid == first


async def test_only_the_owner_postpones(database: Database) -> None:
    """A worker that lost its lease cannot postpone the job of the new owner."""
    (uid,) = await submit(database, job_of("sync", 0))
    assert await claim(database, uid, uuid.uuid4()) is not None
    assert await postpone(database, uid, uuid.uuid4(), timedelta(0)) is None
    assert await states(database) == {"working": 1}


async def at_work(database: Database) -> dict[tuple[str, bool], int]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select repository, action = 'pr' as is_pr, count(*) as number from job where state = 'working' group by 1, 2"
        )
    return {(row["repository"], row["is_pr"]): row["number"] for row in rows}


async def age(database: Database) -> None:
    """Move all submissions back by more than the time after which a wake-up is repeated."""
    async with database.connection() as connection:
        await connection.execute("update job set created_at = created_at - interval '10 minutes'")
        await connection.execute("update job_woken set woken_at = woken_at - interval '10 minutes'")
