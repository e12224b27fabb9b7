"""The limit of dashboards at both entry points that create them, the resource API and syncs, over one database."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta

import orjson
import pytest
from tests.integration import synced_repository
from tests.signer import SIGNER

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access import permissions_of
from dashwright.api.domain.actor import Actor
from dashwright.api.resources.services import secret_sealers
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists
from dashwright.common.identity import Identity, Role, org_of
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID
from dashwright.common.kinds.kind import Extract, Kind, Storage
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, KINDS, PLAYLIST, REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores import claims, jobs, quotas, resources
from dashwright.common.stores.job_records import NewJob
from dashwright.common.stores.quotas import Claim, QuotaReached
from dashwright.jobs_worker.adapters.store import Attempt, DatabaseObjectStore
from dashwright.jobs_worker.domain.objects import Change, Key, Removal, Snapshot, Write

NO_RULES = QuotaRules()
SEALING = secret_sealers(SecretCipher.from_keys("of tests only"))
ADMIN = Actor("user:1", "admin", 1, "192.0.2.1", "request", "trace")


@pytest.fixture
async def limited_organization(database: Database) -> Database:
    """Create organizations 1 and 2, and limit the namespace of 1 to three dashboards."""
    async with database.transaction() as connection:
        await connection.execute("insert into org (name) values ('Main Org.'), ('Other')")
        await quotas.set_limit(connection, org_id=1, target="dashboard", limit=3)
    return database


def writer_of(database: Database, rules: QuotaRules = NO_RULES) -> Writer:
    """Return the writer of the resource API, which may read repositories below ``/srv``."""
    broker, clock = MemoryBroker(), Clock()
    rpc = RpcClient(broker, SIGNER)
    edits = Edits(database, RepositoryClient(database, broker, rpc, RepositoryHealthClient(broker, rpc, clock)), clock)
    settings = AdmissionSettings(permitted_paths=("/srv",))
    return Writer(database, clock, settings, rules, AccessPolicy(database, Feed(database)), SEALING, edits)


def admin_of(namespace: str) -> WriteContext:
    """Return the context of a write by an admin of a namespace."""
    org_id = org_of(namespace)
    assert org_id is not None
    return WriteContext(Identity("user:1", "admin", org_id, Role.ADMIN, permissions=permissions_of(Role.ADMIN)), ADMIN)


async def create_object(
    database: Database, name: str, kind: Kind = DASHBOARD, namespace: str = "default", rules: QuotaRules = NO_RULES
) -> None:
    """Create an object of any kind through the resource API."""
    spec: dict[str, object] = {"title": name}
    if kind is REPOSITORY:
        spec |= {"workflows": [], "type": "local", "local": {"path": "/srv/r"}, "sync": {"enabled": True, "target": "folder"}}
    if kind is PLAYLIST:
        spec |= {"interval": "5m", "items": []}
    await writer_of(database, rules).create(DesiredObject(kind, name, kind.version, spec), admin_of(namespace))


async def run_sync(
    database: Database, writes: Sequence[str] = (), removals: Sequence[str] = (), *, rules: QuotaRules = NO_RULES, kind: Kind = DASHBOARD
) -> None:
    """Run a sync of the repository ``r``: claim a new job, and write as its owner with a valid lease."""
    name = uuid.uuid4().hex
    new_job = NewJob(
        name=name,
        namespace="default",
        spec="{}",
        repository="r",
        action="sync",
        labels={},
        created="2026-01-01T00:00:00Z",
        coalesce_key=name,  # Of this job only, so that the job is never merged.
        concurrency_group=name,  # Of this job only, so that the job never waits.
        wake_key="work.sync",
    )
    owner = uuid.uuid4()
    async with database.transaction() as connection:
        uid = (await jobs.submit(connection, JOB, [new_job], submitted_by={})).jobs[0].uid
        await claims.claim(connection, "work", limit=1, owner=owner, lease=timedelta(minutes=5), status=b"{}")

    async def changes() -> AsyncIterator[Change]:
        for item in writes:
            yield Write(
                Key(kind.group, kind.plural, item),
                kind.kind,
                kind.version,
                extract=Extract(item),
                folder="",
                spec=orjson.dumps({"title": item}),
                is_new=True,
                annotations={MANAGED_BY: "repo", MANAGER_ID: "r"},
            )
        for item in removals:
            yield Removal(Key(kind.group, kind.plural, item))

    await DatabaseObjectStore(
        database, Clock(), rules, repository=synced_repository.repository("r"), edition=0, attempt=Attempt(uid, owner)
    ).apply("default", changes(), Snapshot())


async def stored_names(database: Database, namespace: str = "default") -> set[str]:
    """Return the names of the stored dashboards."""
    async with database.connection() as connection:
        rows = await connection.fetch("select name from resource where resource = 'dashboards' and namespace = $1", namespace)
    return {row["name"] for row in rows}


async def test_the_api_stops_at_the_limit(limited_organization: Database) -> None:
    """A dashboard beyond the limit is refused with limit and use, and leaves no row. After a deletion, another one can be created."""
    for name in ("a", "b", "c"):
        await create_object(limited_organization, name)
    with pytest.raises(QuotaReached) as caught:
        await create_object(limited_organization, "d")
    error = caught.value
    assert error.message == "dashboard Quota reached: limit 3, used 3"
    assert [(cause.field, cause.reason, cause.message) for cause in error.causes] == [
        ("quota.dashboard", "QuotaReached", "limit 3, used 3")
    ]
    assert error.extra == {"scope": "org", "target": "dashboard", "limit": 3, "used": 3}
    async with limited_organization.connection() as connection:
        assert await connection.fetchval("select count(*) from change where name = 'd'") == 0
    with pytest.raises(AlreadyExists):
        await create_object(limited_organization, "a")
    await writer_of(limited_organization).delete(DASHBOARD, "default", "a", admin_of("default"))
    await create_object(limited_organization, "d")
    assert await stored_names(limited_organization) == {"b", "c", "d"}


@pytest.mark.parametrize(("limit", "created_count"), [(-1, 4), (0, 0), (1, 1), (4, 4), (5, 4)])
async def test_the_limit_is_exact(limited_organization: Database, limit: int, created_count: int) -> None:
    """A limit of the organization, a default and a global limit each permit exactly their number of dashboards, and -1 any number."""
    async with limited_organization.transaction() as connection:
        await quotas.set_limit(connection, org_id=1, target="dashboard", limit=limit)
    # The dashboards that the first two organizations have created by then count towards the global limit, too.
    global_limit = limit if limit < 0 else created_count + created_count + limit
    for rules, namespace in (
        (NO_RULES, "default"),
        (QuotaRules(defaults={"org_dashboard": limit}), "org-2"),
        (QuotaRules(defaults={"global_dashboard": global_limit}), "org-3"),
    ):
        for name in ("a", "b", "c", "d"):
            try:
                await create_object(limited_organization, name, namespace=namespace, rules=rules)
            except QuotaReached:
                break
        assert len(await stored_names(limited_organization, namespace)) == created_count


async def test_only_dashboards_of_the_organization_count(limited_organization: Database) -> None:
    """Folders, repositories and dashboards of other organizations are not counted; disabled quotas limit nothing."""
    for index in range(5):
        await create_object(limited_organization, f"f{index}", FOLDER)
        await create_object(limited_organization, f"d{index}", namespace="org-2")
    for name in ("a", "b", "c"):
        await create_object(limited_organization, name)
    await create_object(limited_organization, "d", rules=QuotaRules(enabled=False))
    await run_sync(limited_organization, ["e"], rules=QuotaRules(enabled=False))
    await run_sync(limited_organization, ["s1", "s2"], kind=FOLDER)
    assert len(await stored_names(limited_organization)) == 5


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.storage is Storage.RESOURCES], ids=lambda kind: kind.plural)
async def test_every_counted_kind_is_limited(limited_organization: Database, kind: Kind) -> None:
    """Neither the API nor a sync creates an object of a counted kind if the limit is 0: the counts do not change.

    Objects of other kinds are created, and are not counted.
    """
    rules = QuotaRules(defaults={f"global_{target}": 0 for target in ("dashboard", "data_source", "alert_rule")})
    async with limited_organization.connection() as connection:
        before = [quota.used for quota in await quotas.list_for_org(connection, NO_RULES, 1) or ()]
    with suppress(QuotaReached):
        await create_object(limited_organization, "a", kind, rules=rules)
    with suppress(QuotaReached):
        await run_sync(limited_organization, ["b"], rules=rules, kind=kind)
    async with limited_organization.connection() as connection:
        assert before == [quota.used for quota in await quotas.list_for_org(connection, NO_RULES, 1) or ()]


async def test_a_sync_beyond_the_limit_writes_nothing(limited_organization: Database) -> None:
    """The whole sync is refused, including removals; the error has the limit, the use, and what would be added and removed."""
    await create_object(limited_organization, "own")
    await run_sync(limited_organization, ["a"])
    message = "dashboard Quota reached: the organization may have 3, it has 2 and this sync would add 3 and remove 1; nothing was written"
    with pytest.raises(QuotaReached, match=f"^{message}$"):
        await run_sync(limited_organization, ["b", "c", "d"], ["a"])
    assert await stored_names(limited_organization) == {"own", "a"}


async def test_a_sync_may_replace_at_the_limit(limited_organization: Database) -> None:
    """At the limit, a sync may add as many dashboards as it removes. Updates are not counted."""
    await run_sync(limited_organization, ["a", "b", "c"])
    await run_sync(limited_organization, ["c", "d", "e"], ["a", "b"])
    assert await stored_names(limited_organization) == {"c", "d", "e"}


async def test_updates_above_a_lowered_limit_succeed(limited_organization: Database) -> None:
    """After the limit is lowered below the use, updates and removals succeed, and additions are refused."""
    await run_sync(limited_organization, ["a", "b", "c"])
    async with limited_organization.transaction() as connection:
        await quotas.set_limit(connection, org_id=1, target="dashboard", limit=1)
    await run_sync(limited_organization, ["a", "b"], ["c"])
    with pytest.raises(QuotaReached, match="may have 1, it has 2 and this sync would add 1; nothing"):
        await run_sync(limited_organization, ["a", "d"])
    with pytest.raises(QuotaReached, match="limit 1, used 2"):
        await create_object(limited_organization, "d")
    assert await stored_names(limited_organization) == {"a", "b"}


async def test_concurrent_creates_and_syncs_never_exceed_the_limit(limited_organization: Database, database_url: str) -> None:
    """Concurrent creations through the API and syncs create exactly as many dashboards as the limit permits."""
    async with limited_organization.transaction() as connection:
        await quotas.set_limit(connection, org_id=1, target="dashboard", limit=10)
    other = await Database.open(database_url, application_name="other", max_size=5)

    async def create_one(number: int) -> int:
        """Return how many dashboards were created: for most numbers one through the API, for every fifth number two by a sync."""
        database = (limited_organization, other)[number % 2]
        try:
            if number % 5 == 0:
                await run_sync(database, [f"s{number}-a", f"s{number}-b"])
                return 2
            await create_object(database, f"d{number}")
        except QuotaReached:
            return 0
        return 1

    try:
        created = await asyncio.gather(*(create_one(number) for number in range(50)))
    finally:
        await other.close()
    assert sum(created) == len(await stored_names(limited_organization)) == 10


async def test_setting_the_limit_waits_for_running_creators(limited_organization: Database) -> None:
    """The limit changes while no creator is running, so that none continues with the old limit."""
    async with limited_organization.transaction() as connection:
        await resources.lock(connection, "default")
        limit_change = asyncio.create_task(forbid_dashboards(limited_organization))
        # Whether a transaction waits for the lock of a namespace's objects.
        is_waiting = "select exists (select from pg_locks where locktype = 'advisory' and classid = 11 and not granted)"
        while not await connection.fetchval(is_waiting):
            assert not limit_change.done()
    await limit_change
    with pytest.raises(QuotaReached):
        await create_object(limited_organization, "a")


async def forbid_dashboards(database: Database) -> None:
    """Set the limit of organization 1 to 0."""
    async with database.transaction() as connection:
        await quotas.set_limit(connection, org_id=1, target="dashboard", limit=0)


async def test_dashboards_can_be_reserved(limited_organization: Database) -> None:
    """A transaction can reserve several dashboards, up to the limit of three."""
    async with limited_organization.transaction() as connection:
        # The quota of dashboards is protected by the lock of the namespace's objects.
        await resources.lock(connection, "default")
        await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "dashboard", count=3))
        with pytest.raises(QuotaReached, match=r"^dashboard Quota reached$"):
            await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "dashboard", count=4))


@pytest.mark.parametrize(("created", "removed"), [(2, 0), (3, 1), (1, 0), (2, 1), (0, 0)])
async def test_the_refusal_of_a_sync_is_predicted(limited_organization: Database, created: int, removed: int) -> None:
    """The prediction is the message of the later refusal, or empty if the sync succeeds."""
    for name in ("x", "y"):
        await run_sync(limited_organization, [name])
    store = DatabaseObjectStore(limited_organization, Clock(), NO_RULES, repository=synced_repository.repository("r"), edition=0)
    predicted = await store.quota_refusal("default", created=created, removed=removed)
    refused = ""
    try:
        await run_sync(limited_organization, [f"n{index}" for index in range(created)], ["x"] * removed)
    except QuotaReached as error:
        refused = error.message
    assert predicted == refused
