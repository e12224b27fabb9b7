"""What a store remembers of the commits that were synced, and where one is held."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.integration.test_commit_of_a_repository import NOW, SPEC, make

from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryType, SyncJobOptions
from dashwright.common.stores import jobs, repositories, resources, revisions
from dashwright.common.stores.job_records import NewJob
from dashwright.common.work.new_jobs import new_job


@pytest.fixture
async def uid(database: Database) -> uuid.UUID:
    return await make(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))


async def stored(connection: Connection, uid: uuid.UUID, *commits: str) -> None:
    """Commits that are stored one after the other; an empty one is not stored whole."""
    for commit in commits:
        edition = (await repositories.stored_commit(connection, uid, generation=1)).edition
        assert await repositories.note_commit(connection, uid, commit, generation=1, edition=edition)
        if commit:
            await revisions.note(connection, uid, commit, job=None, now=NOW)


@pytest.mark.parametrize(
    ("commits", "known", "before"),
    [
        ("", "", None),
        ("a", "A", None),
        ("ab", "Ba", "a"),
        ("abcb", "-cBa", "a"),
        ("abcba", "-c-bA", None),
        ("abcbd", "D-cba", "b"),
        ("abcbdd", "D-cba", "b"),
        ("abcbc", "Cba", "b"),
        ("abcbdb", "-d-cBa", "a"),
        ("abca", "-c-bA", None),
        ("abcac", "C-ba", "a"),
        ("ab_", "ba", "b"),
        ("abcb_", "-cba", "b"),
    ],
)
async def test_where_a_rollback_goes(database: Database, uid: uuid.UUID, commits: str, known: str, before: str | None) -> None:
    """To what was stored before what is stored now (capital), past what was gone back from (after a hyphen); ``_`` is not stored whole."""
    async with database.connection() as connection:
        await stored(connection, uid, *(commit.strip("_") for commit in commits))
        found = await revisions.list_all(connection, uid)
    shown = "".join(("-" if item.withdrawn else "") + (item.ref.upper() if item.current else item.ref) for item in found)
    target = revisions.previous(found)
    assert (shown, target.ref if target else None) == (known, before)


async def test_so_many_are_kept(database: Database, uid: uuid.UUID) -> None:
    """The newest, with when and by which job they came; they go with the repository, and so does the hold."""
    job = uuid.uuid4()
    async with database.connection() as connection:
        for number in range(revisions.MOST_KEPT + 3):
            await revisions.note(connection, uid, f"c{number}", job=job, now=NOW + timedelta(seconds=number))
        found = await revisions.list_all(connection, uid)
        assert [item.ref for item in found] == [f"c{number}" for number in range(revisions.MOST_KEPT + 2, 2, -1)]
        assert (found[0].at, found[0].job) == (NOW + timedelta(seconds=revisions.MOST_KEPT + 2), job)
        await revisions.hold_at(connection, uid, "c1", generation=1)
    async with database.transaction() as connection:
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        assert await connection.fetchval("select count(*) from repository_revision") == 0
        assert await connection.fetchval("select count(*) from repository_hold") == 0
        await revisions.note(connection, uid, "late", job=job, now=NOW)
        await revisions.hold_at(connection, uid, "late", generation=1)
        assert list(await revisions.list_all(connection, uid)) == []


async def test_a_hold_is_that_of_one_generation(database: Database, uid: uuid.UUID) -> None:
    """A changed spec ends it, the newest one counts, and it can be let go."""
    async with database.connection() as connection:
        for head in ("a", "b"):
            await revisions.hold_at(connection, uid, head, generation=3)
            assert await revisions.held_head(connection, uid, generation=3) == head
        assert await revisions.held_head(connection, uid, generation=4) is None
        await revisions.release(connection, uid)
        assert await revisions.held_head(connection, uid, generation=3) is None


@pytest.mark.parametrize(
    ("askers", "expected"),
    [
        ([jobs.SCHEDULER, "user:1"], "user:1"),
        (["user:1", jobs.SCHEDULER], "user:1"),
        (["user:1", "user:2"], "user:1"),
        ([jobs.WEBHOOK + "1", "user:1"], "user:1"),
        (["user:1", jobs.WEBHOOK + "1"], "user:1"),
    ],
)
async def test_a_sync_that_somebody_asks_for_is_theirs(database: Database, uid: uuid.UUID, askers: Sequence[str], expected: str) -> None:
    """Though one that nobody asked for waits already, or comes while it waits: only the latter is held back."""
    async with database.transaction() as connection:
        for asker in askers:
            await jobs.submit(connection, JOB, [sync(uid)], submitted_by={"uid": asker}, headers={})
        assert [row["uid"] for row in await connection.fetch("select submitted_by ->> 'uid' as uid from job")] == [expected]


async def test_a_rollback_is_a_job_of_its_own(database: Database, uid: uuid.UUID) -> None:
    """It neither becomes a sync that waits nor another rollback; the same one twice is one."""
    async with database.transaction() as connection:
        for ref in (None, "a", "b", "a"):
            submitted = await jobs.submit(connection, JOB, [sync(uid, ref)], submitted_by={"uid": "user:1"}, headers={})
            assert jobs.commit_of(submitted.jobs[0]) == (ref or "")
        assert await connection.fetchval("select count(*) from job") == 3


def sync(uid: uuid.UUID, ref: str | None = None) -> NewJob:
    spec = JobSpec(action=Action.SYNC, repository="r", sync=SyncJobOptions(ref=ref))
    return new_job("default", spec, uid=uid, kind=RepositoryType.GITHOST, now=NOW)
