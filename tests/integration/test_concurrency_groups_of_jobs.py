"""Lanes of jobs over a real PostgreSQL: who may work beside whom, and that nobody waits for ever."""

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


def wanted(action: str, number: int, repository: str = "r", namespace: str = "default") -> NewJob:
    options = {"sync": {"incremental": False}, "export": {"branch": f"b{number}"}, "pr": {"pr": number}}[action]
    spec = JobSpec.model_validate({"action": action, "repository": repository, action: options})
    return new_job(namespace, spec, uid=uuid.uuid4(), kind=RepositoryType.GITHOST, now=datetime(2026, 1, 1, tzinfo=UTC))


async def submit(database: Database, *asked: NewJob) -> list[uuid.UUID]:
    """The jobs that their wake-ups are for, one each."""
    async with database.transaction() as connection:
        return woken((await jobs.submit(connection, JOB, asked, submitted_by={}, headers={})).wakeups)


async def claim(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> StoredJob | None:
    async with database.transaction() as connection:
        return await jobs.claim(connection, uid, owner=owner, lease=LEASE, status=WORKING)


async def finish(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> list[uuid.UUID]:
    async with database.transaction() as connection:
        wakeups = await jobs.finish(connection, uid, owner=owner, state="success", status=SUCCESS)
    assert wakeups is not None
    return woken(wakeups)


async def postpone(database: Database, uid: uuid.UUID, owner: uuid.UUID, delay: timedelta) -> Sequence[Wakeup] | None:
    async with database.transaction() as connection:
        return await jobs.postpone(connection, uid, owner=owner, delay=delay, status=PENDING)


async def stale(database: Database) -> list[uuid.UUID]:
    async with database.transaction() as connection:
        return woken(await jobs.wake_stale(connection, older_than=STALE, limit=10))


async def states(database: Database) -> Counter[str]:
    async with database.connection() as connection:
        return Counter(job.state for job in (await jobs.list_page(connection, JOB, "default", after="", limit=500)).items)


def woken(wakeups: Sequence[Wakeup]) -> list[uuid.UUID]:
    return [uuid.UUID(orjson.loads(wakeup.body)["uid"]) for wakeup in wakeups]


@pytest.mark.parametrize("seed", range(3))
async def test_never_two_of_a_lane_nor_five_for_pull_requests_and_all_come_to_their_turn(database: Database, seed: int) -> None:
    """With many claimers at once at most four pull requests of a repository are at work beside its one sync or export.

    Each end wakes the next, so that all are done though nobody looks for lost wake-ups, whatever order these come in.
    """
    chance = random.Random(seed)
    asked = [wanted("pr", number) for number in range(24)] + [wanted("export", number) for number in range(6)] + [wanted("sync", 0)]
    asked += [wanted("pr", number, "other") for number in range(6)]
    chance.shuffle(asked)
    tokens = await submit(database, *asked)
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
    assert await states(database) == {"success": len(asked)}
    assert most["r", False] == 1
    assert most["r", True] == 4


async def test_a_job_waits_behind_the_other_kind_but_no_pull_request_does(database: Database) -> None:
    """A sync keeps an export of its repository waiting, and neither keeps a pull request waiting."""
    (sync,), (export,) = await submit(database, wanted("sync", 0)), await submit(database, wanted("export", 1))
    owner = uuid.uuid4()
    assert await claim(database, sync, owner) is not None
    assert await claim(database, export, uuid.uuid4()) is None
    (pr,) = await submit(database, wanted("pr", 1))
    assert await claim(database, pr, uuid.uuid4()) is not None
    assert await finish(database, sync, owner) == [export]


async def test_a_pull_request_is_looked_at_once_at_a_time(database: Database) -> None:
    """What is asked for while the same is at work waits for its end, and keeps no other: who began earlier never has the last word."""
    owner = uuid.uuid4()
    (first,) = await submit(database, wanted("pr", 7))
    assert await claim(database, first, owner) is not None
    again, other = [(await submit(database, wanted("pr", number)))[0] for number in (7, 8)]
    assert again != first
    taken = await claim(database, again, owner)
    assert (taken.uid if taken else None) == other
    assert await claim(database, other, owner) is None
    (next_one,) = await finish(database, first, owner)
    taken = await claim(database, next_one, owner)
    assert (taken.uid if taken else None) == again


async def test_many_jobs_of_one_repository_keep_no_other_waiting(database: Database) -> None:
    """Whoever's wake-up comes, the next job is one of the repository that has the fewest at work, the oldest of these."""
    many = [(await submit(database, wanted("pr", number)))[0] for number in range(6)]
    await submit(database, wanted("export", 1, "late"))
    await submit(database, wanted("pr", 1, "last"))
    taken = [await claim(database, uid, uuid.uuid4()) for uid in many]
    assert [job.repository if job is not None else None for job in taken] == ["r", "late", "last", "r", "r", "r"]


async def test_many_repositories_of_one_organization_keep_no_other_waiting(database: Database) -> None:
    """Its hosts may be as slow as they like: what becomes free goes to those who have the fewest at work."""
    many = [(await submit(database, wanted("sync", 0, f"slow-{number}")))[0] for number in range(5)]
    await submit(database, wanted("sync", 0, "theirs", "org-2"))
    taken = [await claim(database, uid, uuid.uuid4()) for uid in many]
    assert [job.namespace if job is not None else None for job in taken] == ["default", "org-2", "default", "default", "default"]


async def test_a_lost_wakeup_of_a_pull_request_is_made_up_for_where_there_is_room(database: Database) -> None:
    """What waits although fewer than four are at work is woken again; what waits behind four is not."""
    uids = await submit(database, *(wanted("pr", number) for number in range(5)))
    await age(database)
    for uid in uids[:3]:
        assert await claim(database, uid, uuid.uuid4()) is not None
    assert len(await stale(database)) == 2
    await age(database)
    assert await claim(database, uids[3], uuid.uuid4()) is not None
    assert await stale(database) == []


async def test_a_postponed_job_is_left_alone_and_then_woken_once(database: Database) -> None:
    """It is pending meanwhile, costs no attempt, lets others of its lane go before it, and is woken by itself when its time has come."""
    owner = uuid.uuid4()
    (sync,), (export,) = await submit(database, wanted("sync", 0)), await submit(database, wanted("export", 1))
    assert await claim(database, sync, owner) is not None
    wakeups = await postpone(database, sync, owner, timedelta(seconds=60))
    assert wakeups is not None
    assert woken(wakeups) == [export]
    assert await claim(database, sync, owner) is not None, "its wake-up is for the export then"
    assert await finish(database, export, owner) == []
    assert await claim(database, sync, owner) is None
    assert await stale(database) == []
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() - interval '1 second'")
    assert await stale(database) == [sync]
    assert await stale(database) == []
    taken = await claim(database, sync, owner)
    assert taken is not None
    assert taken.attempts == 1


async def test_where_an_equal_job_waits_a_postponed_one_waits_beside_it(database: Database) -> None:
    """Neither is lost nor ends for that: the older one goes first when its time has come."""
    owner = uuid.uuid4()
    (first,) = await submit(database, wanted("sync", 0))
    assert await claim(database, first, owner) is not None
    (second,) = await submit(database, wanted("sync", 0))
    wakeups = await postpone(database, first, owner, timedelta(0))
    assert wakeups is not None
    assert woken(wakeups) == [first]
    assert await states(database) == {"pending": 2}
    taken = await claim(database, second, owner)
    assert taken is not None
    assert taken.uid == first


async def test_only_the_owner_postpones(database: Database) -> None:
    """A worker that lost its job does not take it from the one that has it now."""
    (uid,) = await submit(database, wanted("sync", 0))
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
    """As if everything had been asked for longer ago than a wake-up may take."""
    async with database.connection() as connection:
        await connection.execute("update job set created_at = created_at - interval '10 minutes'")
        await connection.execute("update job_woken set woken_at = woken_at - interval '10 minutes'")
