"""Deletion of a busy organization: running jobs write nothing afterwards, and watchers get every deletion."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.integration import synced_repository

from dashwright.api.accounts.organizations import Organizations
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.domain.actor import Actor
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, JOB
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import claims, jobs, resources
from dashwright.common.stores.job_records import NewJob
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.adapters.store import Attempt, DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Change, Key, Snapshot, Write

ACTOR = Actor("user:1", "admin", 1, "", "", "")
#: So many that a deletion and a sync write them in several batches.
DASHBOARD_COUNT = 2000


class InvalidatedSubjects:
    """A record of the subjects that were invalidated in the cache."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def invalidate(self, subject: str) -> None:
        """Record a subject."""
        self.subjects.append(subject)


@pytest.fixture
async def second_organization(database: Database) -> int:
    """Create a second organization."""
    async with database.connection() as connection:
        await connection.execute("insert into org (name) values ('Main Org.')")
        number: int = await connection.fetchval("insert into org (name) values ('Two') returning id")
    return number


@pytest.fixture
def invalidated_subjects() -> InvalidatedSubjects:
    """Create an empty record."""
    return InvalidatedSubjects()


@pytest.fixture
def organizations(database: Database, invalidated_subjects: InvalidatedSubjects) -> Organizations:
    """Provide the store of organizations, with the recording cache."""
    return Organizations(RightsTransactions(database, invalidated_subjects), QuotaRules())


async def create_dashboards(database: Database, namespace: str, count: int) -> None:
    """Create dashboards of a repository."""
    writes = [
        resources.Write(DASHBOARD, f"d{index}", '{"title":"T"}', DASHBOARD.version, annotations={MANAGED_BY: "repo", MANAGER_ID: "r"})
        for index in range(count)
    ]
    async with database.transaction() as connection:
        staging = resources.StagedWrites(connection)
        await staging.create_table()
        await staging.add(writes)
        await staging.write(namespace, actor="user:1", now=Clock().now())


async def start_sync(database: Database, namespace: str) -> DatabaseObjectStore:
    """Start a sync, and return its store of objects."""
    job = NewJob("a", namespace, "{}", "r", "sync", {}, "2026-01-01T00:00:00Z", "a", "r", "work.sync")
    owner = uuid.uuid4()
    async with database.transaction() as connection:
        uid = (await jobs.submit(connection, JOB, [job], submitted_by={})).jobs[0].uid
        await claims.claim(connection, "work", limit=1, owner=owner, lease=timedelta(minutes=5), status=b"{}")
    return DatabaseObjectStore(
        database, Clock(), QuotaRules(), repository=synced_repository.repository("r"), edition=0, attempt=Attempt(uid, owner)
    )


async def changes(
    count: int, may_continue: asyncio.Event | None = None, is_half_written: asyncio.Event | None = None
) -> AsyncIterator[Change]:
    """Yield another title for each dashboard. After half of them, set ``is_half_written`` and wait for ``may_continue``."""
    for index in range(count):
        if index == count // 2 and may_continue is not None and is_half_written is not None:
            is_half_written.set()
            await may_continue.wait()
        key = Key(DASHBOARD.group, DASHBOARD.plural, f"d{index}")
        annotations = {MANAGED_BY: "repo", MANAGER_ID: "r"}
        yield Write(key, DASHBOARD.kind, DASHBOARD.version, Extract("New"), "", b'{"title":"New"}', is_new=False, annotations=annotations)


async def count_rows(database: Database, statement: str, *values: object) -> int:
    """Return the count that a statement selects."""
    async with database.connection() as connection:
        return int(await connection.fetchval(statement, *values))


async def test_a_large_organization_is_deleted_completely(
    database: Database, organizations: Organizations, invalidated_subjects: InvalidatedSubjects, second_organization: int
) -> None:
    """A deletion adds each deleted dashboard to the feed, and invalidates cached identities. Other organizations keep their objects."""
    await create_dashboards(database, f"org-{second_organization}", DASHBOARD_COUNT)
    await create_dashboards(database, "default", 3)
    await organizations.remove(ACTOR, second_organization)
    assert await count_rows(database, "select count(*) from resource where namespace = $1", f"org-{second_organization}") == 0
    assert await count_rows(database, "select count(*) from resource where namespace = 'default'") == 3
    assert (
        await count_rows(database, "select count(*) from change where type = 'DELETED' and namespace = $1", f"org-{second_organization}")
        == DASHBOARD_COUNT
    )
    assert await count_rows(database, "select count(*) from org where id = $1", second_organization) == 0
    assert invalidated_subjects.subjects == [f"org:{second_organization}"]
    with pytest.raises(NotFound, match="ID not found"):
        await organizations.remove(ACTOR, second_organization)


async def test_a_running_sync_writes_nothing_into_a_deleted_organization(
    database: Database, organizations: Organizations, second_organization: int
) -> None:
    """A deletion does not wait for a sync that has not begun to write. The later write of that sync is refused as a whole."""
    namespace = f"org-{second_organization}"
    await create_dashboards(database, namespace, DASHBOARD_COUNT)
    store = await start_sync(database, namespace)
    may_continue, is_half_written = asyncio.Event(), asyncio.Event()
    # Ten changes more than there are dashboards.
    sync = asyncio.create_task(store.apply(namespace, changes(DASHBOARD_COUNT + 10, may_continue, is_half_written), Snapshot()))
    await is_half_written.wait()
    await organizations.remove(ACTOR, second_organization)
    may_continue.set()
    with pytest.raises(LeaseLost):
        await sync
    assert await count_rows(database, "select count(*) from resource where namespace = $1", namespace) == 0
    assert await count_rows(database, "select count(*) from job where namespace = $1", namespace) == 0


async def test_a_concurrent_sync_stores_nothing_permanently(
    database: Database, organizations: Organizations, second_organization: int
) -> None:
    """If a sync and the deletion of its organization are concurrent, the sync's objects are deleted or not stored at all."""
    namespace = f"org-{second_organization}"
    await create_dashboards(database, namespace, DASHBOARD_COUNT)
    store = await start_sync(database, namespace)
    results = await asyncio.gather(
        store.apply(namespace, changes(DASHBOARD_COUNT + 10), Snapshot()),
        organizations.remove(ACTOR, second_organization),
        return_exceptions=True,
    )
    assert results[1] is None
    assert results[0] is None or isinstance(results[0], LeaseLost)
    assert await count_rows(database, "select count(*) from resource where namespace = $1", namespace) == 0
