"""Removals of a sync over a real database: only objects that the repository still manages are deleted."""

import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.integration import synced_repository

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Conflict
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import claims, jobs, resources
from dashwright.common.stores.job_records import NewJob
from dashwright.jobs_worker.adapters.store import Attempt, DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Change, Key, Removal, Snapshot


@pytest.fixture
async def object_store(database: Database) -> DatabaseObjectStore:
    """Return the store of objects that a job of repository ``r`` uses. The job has a lease."""
    job = NewJob("a", "default", "{}", "r", "sync", {}, "2026-01-01T00:00:00Z", "a", "r", "work.sync")
    owner = uuid.uuid4()
    async with database.transaction() as connection:
        uid = (await jobs.submit(connection, JOB, [job], submitted_by={})).jobs[0].uid
        await claims.claim(connection, "work", limit=1, owner=owner, lease=timedelta(minutes=5), status=b"{}")
    return DatabaseObjectStore(
        database, Clock(), QuotaRules(), repository=synced_repository.repository("r"), edition=0, attempt=Attempt(uid, owner)
    )


async def create_dashboard(database: Database, name: str, repository: str) -> None:
    """Create a dashboard that a repository manages."""
    write = resources.Write(
        DASHBOARD, name, '{"title":"T"}', DASHBOARD.version, extract=Extract("T"), annotations={MANAGED_BY: "repo", MANAGER_ID: repository}
    )
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now())


async def removals(*names: str) -> AsyncIterator[Change]:
    """Yield the planned removal of each dashboard."""
    for name in names:
        yield Removal(Key(DASHBOARD.group, DASHBOARD.plural, name))


async def remaining_names(database: Database) -> set[str]:
    """Return which of the dashboards ``managed`` and ``foreign`` exist."""
    async with database.connection() as connection:
        return set(await resources.annotations_by_name(connection, DASHBOARD, "default", ["managed", "foreign"]))


async def test_an_object_taken_over_since_the_plan_is_kept(database: Database, object_store: DatabaseObjectStore) -> None:
    """If another manager has taken over an object since the plan, the sync changes nothing, and its error says to sync again."""
    await create_dashboard(database, "managed", "r")
    await create_dashboard(database, "foreign", "other")
    with pytest.raises(Conflict, match="dashboards 'foreign' was taken over by another manager during the sync; sync again"):
        await object_store.apply("default", removals("managed", "foreign"), Snapshot())
    assert await remaining_names(database) == {"managed", "foreign"}


async def test_an_object_deleted_since_the_plan_does_not_conflict(database: Database, object_store: DatabaseObjectStore) -> None:
    """The removal of an object that another client deleted succeeds."""
    await create_dashboard(database, "managed", "r")
    await object_store.apply("default", removals("managed", "gone"), Snapshot())
    assert await remaining_names(database) == set()


async def test_a_folder_with_foreign_objects_is_kept(database: Database, object_store: DatabaseObjectStore) -> None:
    """If a removed folder contains an object of another manager, the folder and its parents are kept without a manager.

    Other removed folders are deleted.
    """
    managed = {MANAGED_BY: "repo", MANAGER_ID: "r", SOURCE_PATH: "x"}
    writes = [
        resources.Write(
            kind,
            name,
            '{"title":"T"}',
            kind.version,
            extract=Extract("T"),
            annotations=annotations | ({FOLDER_KEY: parent} if parent else {}),
        )
        for kind, name, parent, annotations in (
            (FOLDER, "top", "", managed),
            (FOLDER, "used", "top", managed),
            (FOLDER, "unused", "top", managed),
            (DASHBOARD, "managed", "unused", managed),
            (DASHBOARD, "foreign", "used", {}),
        )
    ]
    async with database.transaction() as connection:
        for write in writes:
            await resources.create(await resources.lock(connection, "default"), "default", write, actor="user:1", now=Clock().now())

    async def removals_of_all() -> AsyncIterator[Change]:
        yield Removal(Key(DASHBOARD.group, DASHBOARD.plural, "managed"))
        for name in ("used", "unused", "top"):
            yield Removal(Key(FOLDER.group, FOLDER.plural, name))

    await object_store.apply("default", removals_of_all(), Snapshot())
    async with database.connection() as connection:
        folders = await resources.annotations_by_name(connection, FOLDER, "default", ["top", "used", "unused"])
    assert {name: dict(annotations) for name, annotations in folders.items()} == {"top": {}, "used": {FOLDER_KEY: "top"}}
    assert await remaining_names(database) == {"foreign"}
