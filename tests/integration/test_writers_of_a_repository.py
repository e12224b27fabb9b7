"""Concurrent writers of one repository's objects: each continues from the state that the previous writer stored, or writes nothing."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta

import orjson
import pytest
from tests.unit.jobs_worker.doubles import MemoryCheckout, dashboard_file

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import Conflict, NotFound, TooLarge
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, JOB, REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import State
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import claims, jobs, repositories, resources
from dashwright.common.stores.job_records import NewJob
from dashwright.common.stores.repositories import StoredCommit
from dashwright.common.work.execution import Execution
from dashwright.jobs_worker.actions.sync import SyncTools
from dashwright.jobs_worker.adapters.spool import FileSpool
from dashwright.jobs_worker.adapters.store import Attempt, DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Change, Difference, Entry, Key, Repository, Snapshot, Write
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.ports import Checkout, Overtaken
from dashwright.jobs_worker.runners.repository import RepositoryJob, RepositoryRunner
from dashwright.jobs_worker.runners.sync import ATTEMPTS, SyncRunner
from dashwright.jobs_worker.stored_repositories import repository_of

SPEC = '{"title":"R","workflows":[],"type":"local","sync":{"enabled":true,"target":"instance"}}'
COUNTER = Key(DASHBOARD.group, DASHBOARD.plural, "counter")


@pytest.fixture
async def repository(database: Database) -> Repository:
    """Create the repository ``r``."""
    created = resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R"))
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, "default"), "default", created, actor="user:1", now=Clock().now())
        return repository_of(await resources.get(connection, REPOSITORY, "default", "r"))


async def edition_of(database: Database, repository: Repository) -> int:
    """Return the stored edition of the repository's objects, which each writer increases."""
    async with database.connection() as connection:
        return (await repositories.stored_commit(connection, uuid.UUID(repository.uid), generation=repository.generation)).edition


async def title_of(store: DatabaseObjectStore) -> str:
    """Return the title of the repository's only dashboard, or 0 before the first write."""
    return next((item.title for item in await store.managed("default", "r")), "0")


async def counter_write(text: str) -> AsyncIterator[Change]:
    """Yield a write of the dashboard with a number as its title."""
    annotations = {MANAGED_BY: "repo", MANAGER_ID: "r", SOURCE_PATH: "counter.json"}
    spec = orjson.dumps({"title": text})
    yield Write(COUNTER, DASHBOARD.kind, DASHBOARD.version, Extract(text), "", spec, is_new=True, annotations=annotations)


async def count_up(database: Database, repository: Repository, times: int, pauses: random.Random) -> None:
    """Increase the stored number, repeating each attempt that another writer overtook."""
    writes = 0
    while writes < times:
        edition_before = await edition_of(database, repository)
        store = DatabaseObjectStore(database, Clock(), QuotaRules(), repository=repository, edition=edition_before)
        body = str(int(await title_of(store)) + 1)
        # Gives the other writer the opportunity to write first.
        for _ in range(pauses.randrange(3)):
            await asyncio.sleep(0)
        try:
            await store.apply("default", counter_write(body), Snapshot())
            writes += 1
        except Overtaken:
            continue


@pytest.mark.parametrize("seed", range(3))
async def test_no_write_is_lost(database: Database, repository: Repository, seed: int) -> None:
    """If two writers read, wait and write in any order, each write continues from the state of the previous one."""
    pauses = random.Random(seed)
    await asyncio.gather(*(count_up(database, repository, 8, pauses) for _ in range(2)))
    # Each of two writers makes eight writes.
    assert await edition_of(database, repository) == 16
    assert await title_of(DatabaseObjectStore(database, Clock(), QuotaRules(), repository=repository, edition=16)) == "16"


class ChangingTree(MemoryCheckout):
    """A checkout in which another writer changes the file and stores its dashboard during each of the first ``times`` listings."""

    def __init__(self, database: Database, repository: Repository, times: int) -> None:
        super().__init__({})
        self.times = times
        self._database = database
        self._repository = repository

    async def entries(self) -> Sequence[Entry]:
        """List the present files, and let the other writer change them afterwards."""
        entries_of_tree = await super().entries()
        if self.times > 0:
            self.times -= 1
            self.files = {"counter.json": dashboard_file("counter", str(self.times))}
            edition_before = await edition_of(self._database, self._repository)
            other = DatabaseObjectStore(self._database, Clock(), QuotaRules(), repository=self._repository, edition=edition_before)
            await other.apply("default", counter_write(str(self.times)), Snapshot())
        return entries_of_tree


class GrownCommit(MemoryCheckout):
    """A commit with ``growth`` more files than the synced one. A listing of all its files fails."""

    commit = "c2"

    def __init__(self, growth: int) -> None:
        super().__init__({})
        self.growth = growth

    async def entries(self) -> Sequence[Entry]:
        """Fail, as for a repository with too many files."""
        raise TooLarge("too many files")

    async def difference_since(self, since: str, also: Collection[str] = ()) -> Difference | None:
        """Return a difference without changed paths, which only reports the growth."""
        return Difference(frozenset(), [], self.growth, since)


class NoCommits:
    """The synced commits of a repository that was never synced."""

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """Fail: the commit was never synced."""
        raise NotFound(commit)

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """Do nothing."""
        return


async def run_sync(database: Database, checkout: MemoryCheckout) -> tuple[State | None, str | None]:
    """Run a sync of the repository like a worker."""
    new_job = NewJob("a", "default", '{"sync":{"incremental":true}}', "r", "sync", {}, "2026-01-01T00:00:00Z", "a", "r", "work.sync")
    owner, lease = uuid.uuid4(), timedelta(minutes=5)
    async with database.transaction() as connection:
        await jobs.submit(connection, JOB, [new_job], submitted_by={})
        (job,) = await claims.claim(connection, "work", limit=1, owner=owner, lease=lease, status=b"{}")

    async def open_checkout(_: RepositoryJob) -> MemoryCheckout:
        return checkout

    async def probe(_: Repository) -> None:
        return

    def open_resources(work: RepositoryJob, edition: int) -> DatabaseObjectStore:
        attempt = Attempt(work.job.uid, work.execution.owner)
        return DatabaseObjectStore(database, Clock(), QuotaRules(), repository=work.repository, edition=edition, attempt=attempt)

    @contextmanager
    def open_tools() -> Iterator[SyncTools]:
        with FileSpool() as spool:
            yield SyncTools(spool, AdmissionSettings(), 1024)

    runner = SyncRunner(
        database,
        Prober(database, Clock(), probe),
        Clock(),
        open_checkout=open_checkout,
        synced_commits=NoCommits(),
        open_object_store=open_resources,
        open_tools=open_tools,
        max_entries=1000,
    )
    status = await RepositoryRunner(database, runner.run, attempts=ATTEMPTS).run(job, Execution(database, job, owner, Clock(), lease=lease))
    return status.state, status.message


async def test_an_overtaken_sync_starts_again(database: Database, repository: Repository) -> None:
    """An overtaken sync reads the files again and keeps the other writer's objects where the files agree."""
    checkout = ChangingTree(database, repository, 4)
    assert await run_sync(database, checkout) == (State.SUCCESS, "completed successfully")
    store = DatabaseObjectStore(database, Clock(), QuotaRules(), repository=repository, edition=0)
    assert [(item.path, item.title) for item in await store.managed("default", "r")] == [("counter.json", "0")]


async def test_a_sync_that_is_always_overtaken_fails(database: Database, repository: Repository) -> None:
    """A sync that other writers overtake at each attempt fails with the reason, and keeps their objects."""
    with pytest.raises(Conflict, match="other writers changed the repository 5 times during this sync"):
        await run_sync(database, ChangingTree(database, repository, 100))
    assert await edition_of(database, repository) == 5


@pytest.mark.parametrize(
    ("growth", "outcome"), [(1, StoredCommit(2, "c2", 1000)), (2, StoredCommit(1, "c1", 999))], ids=["at the limit", "above the limit"]
)
async def test_a_difference_beyond_the_bound_is_refused(
    database: Database, repository: Repository, growth: int, outcome: StoredCommit
) -> None:
    """If a difference leads to more than 1000 files and directories, the sync lists all files, and has the error of this listing."""
    uid = uuid.UUID(repository.uid)
    async with database.connection() as connection:
        await repositories.record_commit(connection, uid, "c1", generation=1, edition=0, entries=999)
    with pytest.raises(TooLarge) if outcome.commit == "c1" else nullcontext():
        await run_sync(database, GrownCommit(growth))
    async with database.connection() as connection:
        assert await repositories.stored_commit(connection, uid, generation=1) == outcome
