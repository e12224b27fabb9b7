"""Concurrency groups of jobs over a real PostgreSQL: which jobs run concurrently, without starvation."""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import JOB
from dashwright.common.models.provisioning import JobSpec, RepositoryType
from dashwright.common.stores import claims, jobs
from dashwright.common.stores.claims import FinalState
from dashwright.common.stores.job_records import NewJob, StoredJob, new_job

LEASE = timedelta(seconds=30)
PENDING, WORKING, SUCCESS = (f'{{"state":"{state}"}}'.encode() for state in ("pending", "working", "success"))


def job_of(action: str, number: int, repository: str = "r", namespace: str = "default") -> NewJob:
    """Return a job of a repository. ``number`` is that of the pull request, or distinguishes the branch of an export."""
    options = {"sync": {"incremental": False}, "export": {"branch": f"b{number}"}, "pr": {"pr": number}}[action]
    spec = JobSpec.model_validate({"action": action, "repository": repository, action: options})
    return new_job(namespace, spec, uid=uuid.uuid4(), repository_type=RepositoryType.GITHOST, now=datetime(2026, 1, 1, tzinfo=UTC))


def evaluation_of(namespace: str, **scheduling: Any) -> NewJob:
    """Return an evaluation, which belongs to no concurrency group."""
    name = f"{scheduling.get('fairness_key', '')}-{uuid.uuid4().hex}"
    return NewJob(name, namespace, "{}", None, "evaluate", {}, "2026-01-01T00:00:00Z", None, None, "evaluate", **scheduling)


async def submit_jobs(database: Database, *submitted: NewJob) -> list[uuid.UUID]:
    """Submit jobs and return their ids."""
    async with database.transaction() as connection:
        return [job.uid for job in (await jobs.submit(connection, JOB, submitted, submitted_by={})).jobs]


async def claim_jobs(database: Database, owner: uuid.UUID, *, limit: int = 1, reserved: int = 0, pool: str = "work") -> list[StoredJob]:
    """Claim jobs of a pool and return them."""
    async with database.connection() as connection:
        return [*await claims.claim(connection, pool, limit=limit, reserved=reserved, owner=owner, lease=LEASE, status=WORKING)]


async def claim_uid(database: Database, owner: uuid.UUID) -> uuid.UUID | None:
    """Return the uid of the claimed job, or None."""
    return next((job.uid for job in await claim_jobs(database, owner)), None)


async def finish(database: Database, uid: uuid.UUID, owner: uuid.UUID) -> None:
    """Finish a working job with success."""
    async with database.transaction() as connection:
        assert await claims.finish(connection, [FinalState(uid, owner, "success", SUCCESS)]) == {uid}


async def postpone(database: Database, uid: uuid.UUID, owner: uuid.UUID, delay: timedelta) -> bool:
    """Postpone a working job, and return whether this was permitted."""
    async with database.transaction() as connection:
        return await claims.postpone(connection, uid, owner=owner, delay=delay, status=PENDING)


async def place_due(database: Database) -> int:
    """Place the postponed jobs that are due in their queues, and return their number."""
    async with database.transaction() as connection:
        return await claims.place_due(connection, "work")


async def states(database: Database) -> Counter[str]:
    """Count the jobs of the default organization by state."""
    async with database.connection() as connection:
        return Counter(job.state for job in (await jobs.list_page(connection, JOB, "default", after="", limit=500)).items)


@pytest.mark.parametrize("seed", range(3))
async def test_groups_keep_their_limits_and_all_jobs_run(database: Database, seed: int) -> None:
    """With many concurrent workers, a repository has at most four pull request jobs next to one sync or export."""
    generator = random.Random(seed)
    submitted = [job_of("pr", number) for number in range(24)] + [job_of("export", number) for number in range(6)] + [job_of("sync", 0)]
    submitted += [job_of("pr", number, "other") for number in range(6)]
    generator.shuffle(submitted)
    await submit_jobs(database, *submitted)
    maximum: Counter[tuple[str, bool]] = Counter()

    async def worker() -> None:
        """Claim and finish jobs until none is pending, and record the largest number of working jobs of each group in ``maximum``."""
        owner = uuid.uuid4()
        while (await states(database))["pending"]:
            for job in await claim_jobs(database, owner, limit=generator.randint(1, 6)):
                for group, number in (await count_working(database)).items():
                    maximum[group] = max(maximum[group], number)
                await finish(database, job.uid, owner)

    await asyncio.gather(*(worker() for _ in range(5)))
    assert await states(database) == {"success": len(submitted)}
    assert maximum["r", False] == 1
    assert maximum["r", True] == 4


async def test_syncs_and_exports_exclude_each_other(database: Database) -> None:
    """An export of a repository waits for its sync, but a job of a pull request does not."""
    (sync,), (export,) = await submit_jobs(database, job_of("sync", 0)), await submit_jobs(database, job_of("export", 1))
    owner = uuid.uuid4()
    assert await claim_uid(database, owner) == sync
    assert await claim_uid(database, uuid.uuid4()) is None
    (pr,) = await submit_jobs(database, job_of("pr", 1))
    assert await claim_uid(database, uuid.uuid4()) == pr
    await finish(database, sync, owner)
    assert await claim_uid(database, uuid.uuid4()) == export


async def test_one_job_of_a_pull_request_runs_at_a_time(database: Database) -> None:
    """A second job of a pull request waits for the first, so that the later one reports last. Other jobs do not wait for it."""
    owner = uuid.uuid4()
    (first,) = await submit_jobs(database, job_of("pr", 7))
    assert await claim_uid(database, owner) == first
    repeated, other = [(await submit_jobs(database, job_of("pr", number)))[0] for number in (7, 8)]
    assert repeated != first
    assert await claim_uid(database, owner) == other
    assert await claim_uid(database, owner) is None
    await finish(database, first, owner)
    assert await claim_uid(database, owner) == repeated


async def test_repositories_share_the_workers(database: Database) -> None:
    """The next job is the oldest one of the repository with the fewest working jobs."""
    for index in range(6):
        await submit_jobs(database, job_of("pr", index))
    await submit_jobs(database, job_of("export", 1, "late"))
    await submit_jobs(database, job_of("pr", 1, "last"))
    claimed = [job.repository for _ in range(7) for job in await claim_jobs(database, uuid.uuid4())]
    # The seventh claim gets nothing: "r" has the most jobs of pull requests that may run at a time, which is four.
    assert claimed == ["r", "late", "last", "r", "r", "r"]


async def test_organizations_share_the_workers(database: Database) -> None:
    """Free slots go to the organizations with the fewest working jobs, even if hosts of one organization are slow."""
    for index in range(5):
        await submit_jobs(database, job_of("sync", 0, f"slow-{index}"))
    await submit_jobs(database, job_of("sync", 0, "theirs", "org-2"))
    # One claim more than there are jobs.
    claimed = [job.namespace for _ in range(7) for job in await claim_jobs(database, uuid.uuid4())]
    assert claimed == ["default", "org-2", "default", "default", "default", "default"]


async def test_the_last_slot_is_reserved_for_organizations_without_working_jobs(database: Database) -> None:
    """The last of four slots remains free for other organizations, however many jobs an organization has, unless it is the only one."""
    owner = uuid.uuid4()

    async def claim_all() -> list[str]:
        """Claim jobs until four slots are used, or the waiting jobs may not take the next one; return their namespaces."""
        claimed: list[str] = []
        while len(claimed) < 4 and (jobs := await claim_jobs(database, owner, limit=4 - len(claimed), reserved=1)):
            claimed += [job.namespace for job in jobs]
        return claimed

    await submit_jobs(database, *(job_of("sync", 0, f"only-{index}") for index in range(4)))
    working = await claim_jobs(database, owner, limit=4, reserved=1)
    assert len(working) == 4
    await submit_jobs(database, job_of("sync", 0, "small", "org-2"))
    working += await claim_jobs(database, owner)
    for job in working:
        await finish(database, job.uid, owner)
    await submit_jobs(database, *(job_of("sync", 0, f"slow-{index}") for index in range(5)))
    assert await claim_all() == ["default"] * 3
    await submit_jobs(database, *(job_of("sync", 0, f"small-{index}", "org-2") for index in range(2)))
    assert [job.namespace for job in await claim_jobs(database, owner, limit=1, reserved=1)] == ["org-2"]
    assert await claim_jobs(database, owner, limit=1, reserved=1) == []


async def test_a_claim_of_many_jobs_leaves_others_their_share(database: Database) -> None:
    """A worker with eight free slots claims four jobs of an organization if another one has jobs, too."""
    await submit_jobs(database, *(evaluation_of("default") for _ in range(20)))
    await submit_jobs(database, evaluation_of("org-2"))
    owner = uuid.uuid4()
    claimed = [job.namespace for job in await claim_jobs(database, owner, limit=8, pool="evaluate")]
    claimed += [job.namespace for job in await claim_jobs(database, owner, limit=4, pool="evaluate")]
    assert claimed == ["default"] * 4 + ["org-2"]


@pytest.mark.parametrize("seed", range(10))
async def test_a_claim_of_many_jobs_equals_many_claims_of_one(database: Database, seed: int) -> None:
    """One claim of many jobs chooses the same jobs as single claims, within one organization and priority."""
    generator = random.Random(seed)
    for _ in range(3):
        # Some queues have working jobs, finished jobs, or a shared concurrency group.
        await submit_jobs(database, *(random_evaluation(generator) for _ in range(10)))
        owner = uuid.uuid4()
        for job in await claim_jobs(database, owner, limit=4, pool="evaluate"):
            if generator.random() < 0.5:
                await finish(database, job.uid, owner)
    for limit in (1, 2, 5, 50):
        assert await preview_claims(database, [limit]) == await preview_claims(database, [1] * limit)


def random_evaluation(generator: random.Random) -> NewJob:
    """Return an evaluation of a random queue. All have the same priority."""
    key, group = generator.choice("ab"), generator.choice([None, "g", "h"])
    return replace(evaluation_of("default", fairness_key=key, weight=3.0 if key == "a" else 1.0), concurrency_group=group, group_limit=3)


async def preview_claims(database: Database, limits: Sequence[int]) -> set[uuid.UUID]:
    """Return the jobs that claims with these limits choose, and roll the claims back."""
    claimed: set[uuid.UUID] = set()
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        for limit in limits:
            jobs = await claims.claim(connection, "evaluate", limit=limit, owner=uuid.uuid4(), lease=LEASE, status=WORKING)
            claimed |= {job.uid for job in jobs}
        await transaction.rollback()
    return claimed


async def test_weights_divide_the_claims(database: Database) -> None:
    """The key with the weight 3 gets three of four claims, and the key with the weight 1 the fourth one."""
    weighted = (("a", 3.0), ("b", 1.0))
    await submit_jobs(database, *(evaluation_of("default", fairness_key=key, weight=weight) for key, weight in weighted for _ in range(12)))
    owner, claimed = uuid.uuid4(), []
    for _ in range(12):
        (job,) = await claim_jobs(database, owner, pool="evaluate")
        claimed.append(job.name.partition("-")[0])
        await finish(database, job.uid, owner)
    assert Counter(claimed) == {"a": 9, "b": 3}


async def test_urgent_jobs_are_claimed_first(database: Database) -> None:
    """Jobs of a higher priority are claimed first within an organization, those of one submission in its order."""
    priorities = (1, 3, 5, 3)
    uids = await submit_jobs(database, *(evaluation_of("default", priority=priority) for priority in priorities))
    claimed = [job.uid for _ in priorities for job in await claim_jobs(database, uuid.uuid4(), pool="evaluate")]
    assert claimed == [uids[2], uids[1], uids[3], uids[0]]


async def test_a_postponed_job_is_claimed_when_due(database: Database) -> None:
    """A postponed job is pending without an attempt until it is due, and other jobs of its group run before it."""
    owner = uuid.uuid4()
    (sync,), (export,) = await submit_jobs(database, job_of("sync", 0)), await submit_jobs(database, job_of("export", 1))
    assert await claim_uid(database, owner) == sync
    assert await postpone(database, sync, owner, timedelta(seconds=60))  # due after a minute, which the statement below skips
    assert await claim_uid(database, owner) == export
    await finish(database, export, owner)
    assert await place_due(database) == 0
    assert await claim_uid(database, owner) is None
    async with database.connection() as connection:
        await connection.execute("update job set not_before = not_before - interval '61 seconds'")
    (claimed,) = await claim_jobs(database, owner)
    assert (claimed.uid, claimed.attempts) == (sync, 1)


async def test_a_job_that_becomes_due_is_placed(database: Database) -> None:
    """A job is placed in its queue when it becomes due, although its row does not change then, so that no trigger runs."""
    (uid,) = await submit_jobs(database, job_of("sync", 0))
    async with database.connection() as connection:
        await connection.execute("update job set not_before = now() + interval '1 hour'")
        assert await claim_uid(database, uuid.uuid4()) is None
        await connection.execute("alter table job disable trigger user")
        await connection.execute("update job set not_before = now() - interval '1 second'")
        await connection.execute("alter table job enable trigger user")
    assert await claim_uid(database, uuid.uuid4()) is None
    assert await place_due(database) == 1
    assert await claim_uid(database, uuid.uuid4()) == uid
    assert await place_due(database) == 0


async def test_a_postponed_job_and_an_equal_pending_one_both_run(database: Database) -> None:
    """A postponed job and an equal pending one are both kept, and the older one runs first when it is due."""
    owner = uuid.uuid4()
    (first,) = await submit_jobs(database, job_of("sync", 0))
    assert await claim_uid(database, owner) == first
    (second,) = await submit_jobs(database, job_of("sync", 0))
    assert await postpone(database, first, owner, timedelta(0))
    assert await states(database) == {"pending": 2}
    assert await claim_uid(database, owner) == first
    assert await claim_uid(database, owner) is None
    await finish(database, first, owner)
    assert await claim_uid(database, owner) == second


async def test_only_the_owner_postpones(database: Database) -> None:
    """A worker that lost its lease cannot postpone the job of the new owner."""
    (uid,) = await submit_jobs(database, job_of("sync", 0))
    assert await claim_uid(database, uuid.uuid4()) == uid
    assert not await postpone(database, uid, uuid.uuid4(), timedelta(0))
    assert await states(database) == {"working": 1}


async def count_working(database: Database) -> dict[tuple[str, bool], int]:
    """Count the working jobs by repository, and by whether they are of a pull request."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select repository, action = 'pr' as is_pr, count(*) as number from job where state = 'working' group by 1, 2"
        )
    return {(row["repository"], row["is_pr"]): row["number"] for row in rows}
