"""The synced commits of a repository, and the hold of a rollback, which stops automatic syncs."""

import uuid
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.integration.test_commit_of_a_repository import NOW, SPEC, create_object

from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.job_options import SyncJobOptions
from dashwright.common.models.provisioning import Action, JobSpec, RepositoryType
from dashwright.common.stores import jobs, repositories, resources, revisions
from dashwright.common.stores.job_records import NewJob, new_job


@pytest.fixture
async def uid(database: Database) -> uuid.UUID:
    """Create the repository ``r`` and return its uid."""
    return await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))


async def store_commits(connection: Connection, uid: uuid.UUID, *commits: str) -> None:
    """Store commits in sequence; an empty one means a sync that did not store everything."""
    for commit in commits:
        edition = (await repositories.stored_commit(connection, uid, generation=1)).edition
        assert await repositories.record_commit(connection, uid, commit, generation=1, edition=edition)
        if commit:
            await revisions.record(connection, uid, commit, job=None, now=NOW)


@pytest.mark.parametrize(
    ("commits", "expected_summary", "expected_target"),
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
async def test_a_rollback_restores_the_commit_stored_before(
    database: Database, uid: uuid.UUID, commits: str, expected_summary: str, expected_target: str | None
) -> None:
    """A rollback restores the commit that was stored before the current one.

    In each case, a letter is a stored commit, in upper case if it is the current one. Commits after a hyphen were rolled back, and
    ``_`` is an incomplete sync.
    """
    async with database.connection() as connection:
        await store_commits(connection, uid, *(commit.strip("_") for commit in commits))
        items = await revisions.list_all(connection, uid)
    summary = "".join(("-" if item.withdrawn else "") + (item.ref.upper() if item.current else item.ref) for item in items)
    target = revisions.previous(items)
    assert (summary, target.ref if target else None) == (expected_summary, expected_target)


async def test_a_number_of_commits_is_kept(database: Database, uid: uuid.UUID) -> None:
    """A number of the newest commits is kept, with time and job. Commits and the hold are deleted with the repository."""
    job = uuid.uuid4()
    async with database.connection() as connection:
        for index in range(revisions.MAX_REVISIONS + 3):
            await revisions.record(connection, uid, f"c{index}", job=job, now=NOW + timedelta(seconds=index))
        items = await revisions.list_all(connection, uid)
        assert [item.ref for item in items] == [f"c{index}" for index in range(revisions.MAX_REVISIONS + 2, 2, -1)]
        assert (items[0].at, items[0].job) == (NOW + timedelta(seconds=revisions.MAX_REVISIONS + 2), job)
        await revisions.hold_at(connection, uid, "c1", generation=1)
    async with database.transaction() as connection:
        await resources.delete(connection, REPOSITORY, "default", ["r"], actor="user:1")
        assert await connection.fetchval("select count(*) from repository_revision") == 0
        assert await connection.fetchval("select count(*) from repository_hold") == 0
        await revisions.record(connection, uid, "late", job=job, now=NOW)
        await revisions.hold_at(connection, uid, "late", generation=1)
        assert list(await revisions.list_all(connection, uid)) == []


async def test_a_hold_belongs_to_one_generation(database: Database, uid: uuid.UUID) -> None:
    """A changed spec ends the hold, a newer hold replaces it, and it can be released."""
    async with database.connection() as connection:
        for commit in ("a", "b"):
            await revisions.hold_at(connection, uid, commit, generation=3)
            assert await revisions.held_head(connection, uid, generation=3) == commit
        assert await revisions.held_head(connection, uid, generation=4) is None
        await revisions.release(connection, uid)
        assert await revisions.held_head(connection, uid, generation=3) is None


@pytest.mark.parametrize(
    ("submitters", "expected"),
    [
        ([jobs.SCHEDULER, "user:1"], "user:1"),
        (["user:1", jobs.SCHEDULER], "user:1"),
        (["user:1", "user:2"], "user:1"),
        ([jobs.WEBHOOK + "1", "user:1"], "user:1"),
        (["user:1", jobs.WEBHOOK + "1"], "user:1"),
    ],
)
async def test_a_requested_sync_belongs_to_its_user(database: Database, uid: uuid.UUID, submitters: Sequence[str], expected: str) -> None:
    """A sync that merges a user's request and an automatic one, in any order, belongs to the user, so that a hold does not stop it."""
    async with database.transaction() as connection:
        for submitter in submitters:
            await jobs.submit(connection, JOB, [sync_job(uid)], submitted_by={"uid": submitter})
        assert [row["uid"] for row in await connection.fetch("select submitted_by ->> 'uid' as uid from job")] == [expected]


async def test_a_rollback_is_a_separate_job(database: Database, uid: uuid.UUID) -> None:
    """A rollback equals neither a pending sync nor another rollback; the same rollback twice is one job."""
    async with database.transaction() as connection:
        for ref in (None, "a", "b", "a"):
            submitted = await jobs.submit(connection, JOB, [sync_job(uid, ref)], submitted_by={"uid": "user:1"})
            assert jobs.rollback_commit(submitted.jobs[0]) == (ref or "")
        assert await connection.fetchval("select count(*) from job") == 3


def sync_job(uid: uuid.UUID, ref: str | None = None) -> NewJob:
    """Return a sync, or with ``ref`` the rollback to a commit."""
    spec = JobSpec(action=Action.SYNC, repository="r", sync=SyncJobOptions(ref=ref))
    return new_job("default", spec, uid=uid, repository_type=RepositoryType.GITHOST, now=NOW)
