"""The limit of dashboards at both doors that make them, the resource API and syncs, over one database."""

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
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.workers.repository_client import RepositoryClient
from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists
from dashwright.common.identity import Identity, Role, org_of
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID
from dashwright.common.kinds.kind import Extract, Kind, Storage
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, KINDS, REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.secrets import SecretBox
from dashwright.common.stores import jobs, quotas, resources
from dashwright.common.stores.job_records import NewJob
from dashwright.common.stores.quotas import Claim, QuotaReached
from dashwright.jobs_worker.adapters.store import Attempt, StoredResources
from dashwright.jobs_worker.domain.objects import Change, Key, Removal, Snapshot, Write

NONE = QuotaRules()
SEALING = TokenSealer(SecretBox.of("of tests only"))
ADMIN = Actor("user:1", "admin", 1, "192.0.2.1", "request", "trace")


@pytest.fixture
async def limited(database: Database) -> Database:
    """Organizations 1 and 2; the namespace of 1 may have three dashboards."""
    async with database.transaction() as connection:
        await connection.execute("insert into org (name) values ('Main Org.'), ('Other')")
        await quotas.put(connection, org_id=1, target="dashboard", limit=3)
    return database


def door(database: Database, rules: QuotaRules = NONE) -> Writer:
    broker, clock = MemoryBroker(), Clock()
    rpc = RpcClient(broker, SIGNER)
    edits = Edits(database, RepositoryClient(database, broker, rpc, RepositoryHealthClient(broker, rpc, clock)), clock)
    settings = AdmissionSettings(permitted_paths=("/srv",))
    return Writer(database, clock, settings, rules, AccessPolicy(database, Feed(database)), SEALING, edits)


def admin_of(namespace: str) -> WriteContext:
    org_id = org_of(namespace)
    assert org_id is not None
    return WriteContext(Identity("user:1", "admin", org_id, Role.ADMIN, permissions=permissions_of(Role.ADMIN)), ADMIN)


async def create(database: Database, name: str, kind: Kind = DASHBOARD, namespace: str = "default", rules: QuotaRules = NONE) -> None:
    spec: dict[str, object] = {"title": name}
    if kind is REPOSITORY:
        spec |= {"workflows": [], "type": "local", "local": {"path": "/srv/r"}, "sync": {"enabled": True, "target": "folder"}}
    await door(database, rules).create(DesiredObject(kind, name, kind.version, spec), admin_of(namespace))


async def sync(
    database: Database, writes: Sequence[str] = (), removals: Sequence[str] = (), *, rules: QuotaRules = NONE, kind: Kind = DASHBOARD
) -> None:
    """A sync of the repository ``r`` that holds its lease."""
    name = uuid.uuid4().hex
    wanted = NewJob(name, "default", "{}", "r", "sync", {}, "2026-01-01T00:00:00Z", name, name, "work.sync")
    owner = uuid.uuid4()
    async with database.transaction() as connection:
        uid = (await jobs.submit(connection, JOB, [wanted], submitted_by={}, headers={})).jobs[0].uid
        await jobs.claim(connection, uid, owner=owner, lease=timedelta(minutes=5), status=b"{}")

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

    await StoredResources(
        database, Clock(), rules, repository=synced_repository.repository("r"), edition=0, attempt=Attempt(uid, owner)
    ).apply("default", changes(), Snapshot())


async def stored(database: Database, namespace: str = "default") -> set[str]:
    async with database.connection() as connection:
        rows = await connection.fetch("select name from resource where resource = 'dashboards' and namespace = $1", namespace)
    return {row["name"] for row in rows}


async def test_the_api_stops_at_the_limit(limited: Database) -> None:
    """The object beyond it is refused with limit and use, and leaves nothing; a place that becomes free can be taken."""
    for name in ("a", "b", "c"):
        await create(limited, name)
    with pytest.raises(QuotaReached) as caught:
        await create(limited, "d")
    error = caught.value
    assert error.message == "dashboard Quota reached: limit 3, used 3"
    assert [(cause.field, cause.reason, cause.message) for cause in error.causes] == [
        ("quota.dashboard", "QuotaReached", "limit 3, used 3")
    ]
    assert error.extra == {"scope": "org", "target": "dashboard", "limit": 3, "used": 3}
    async with limited.connection() as connection:
        assert await connection.fetchval("select count(*) from change where name = 'd'") == 0
    with pytest.raises(AlreadyExists):
        await create(limited, "a")
    await door(limited).delete(DASHBOARD, "default", "a", admin_of("default"))
    await create(limited, "d")
    assert await stored(limited) == {"b", "c", "d"}


@pytest.mark.parametrize(("limit", "made"), [(-1, 4), (0, 0), (1, 1), (4, 4), (5, 4)])
async def test_limits_mean_what_they_say(limited: Database, limit: int, made: int) -> None:
    """-1 is none, 0 nothing, and any other as many; by a default of the settings as well, and for everybody together."""
    async with limited.transaction() as connection:
        await quotas.put(connection, org_id=1, target="dashboard", limit=limit)
    for rules, namespace in (
        (NONE, "default"),
        (QuotaRules(defaults={"org_dashboard": limit}), "org-2"),
        (QuotaRules(defaults={"global_dashboard": limit if limit < 0 else limit + made * 2}), "org-3"),
    ):
        for name in ("a", "b", "c", "d"):
            try:
                await create(limited, name, namespace=namespace, rules=rules)
            except QuotaReached:
                break
        assert len(await stored(limited, namespace)) == made


async def test_only_dashboards_of_the_organization_count(limited: Database) -> None:
    """Folders, repositories and other organizations' dashboards take no place; quotas that are off limit nothing."""
    for number in range(5):
        await create(limited, f"f{number}", FOLDER)
        await create(limited, f"d{number}", namespace="org-2")
    for name in ("a", "b", "c"):
        await create(limited, name)
    await create(limited, "d", rules=QuotaRules(enabled=False))
    await sync(limited, ["e"], rules=QuotaRules(enabled=False))
    await sync(limited, ["s1", "s2"], kind=FOLDER)
    assert len(await stored(limited)) == 5


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.storage is Storage.RESOURCES], ids=lambda kind: kind.plural)
async def test_every_kind_that_is_counted_is_guarded(limited: Database, kind: Kind) -> None:
    """Where nothing may be had, whatever the quotas count of the resource store cannot be made, by no door."""
    rules = QuotaRules(defaults={f"global_{target}": 0 for target in ("dashboard", "data_source", "alert_rule")})
    async with limited.connection() as connection:
        before = [quota.used for quota in await quotas.of_org(connection, NONE, 1) or ()]
    with suppress(QuotaReached):
        await create(limited, "a", kind, rules=rules)
    with suppress(QuotaReached):
        await sync(limited, ["b"], rules=rules, kind=kind)
    async with limited.connection() as connection:
        assert before == [quota.used for quota in await quotas.of_org(connection, NONE, 1) or ()]


async def test_a_sync_beyond_the_limit_writes_nothing(limited: Database) -> None:
    """It is refused whole, removals too, and the error says how many there may be, are, and would come and go."""
    await create(limited, "own")
    await sync(limited, ["a"])
    said = "dashboard Quota reached: the organization may have 3, it has 2 and this sync would add 3 and remove 1; nothing was written"
    with pytest.raises(QuotaReached, match=f"^{said}$"):
        await sync(limited, ["b", "c", "d"], ["a"])
    assert await stored(limited) == {"own", "a"}


async def test_a_sync_may_replace_at_the_limit(limited: Database) -> None:
    """What it removes makes room for what it adds; updates take no place."""
    await sync(limited, ["a", "b", "c"])
    await sync(limited, ["c", "d", "e"], ["a", "b"])
    assert await stored(limited) == {"c", "d", "e"}


async def test_who_adds_nothing_is_not_refused_above_the_limit(limited: Database) -> None:
    """A limit that was lowered takes nothing away: updates and removals go on, additions do not."""
    await sync(limited, ["a", "b", "c"])
    async with limited.transaction() as connection:
        await quotas.put(connection, org_id=1, target="dashboard", limit=1)
    await sync(limited, ["a", "b"], ["c"])
    with pytest.raises(QuotaReached, match="may have 1, it has 2 and this sync would add 1; nothing"):
        await sync(limited, ["a", "d"])
    with pytest.raises(QuotaReached, match="limit 1, used 2"):
        await create(limited, "d")
    assert await stored(limited) == {"a", "b"}


async def test_both_doors_at_once_never_overshoot(limited: Database, database_url: str) -> None:
    """Creates through the API and syncs race for the last places, over two processes' pools: all are taken, none twice."""
    async with limited.transaction() as connection:
        await quotas.put(connection, org_id=1, target="dashboard", limit=10)
    other = await Database.open(database_url, application_name="other", max_size=5)

    async def one(number: int) -> int:
        database = (limited, other)[number % 2]
        try:
            if number % 5 == 0:
                await sync(database, [f"s{number}-a", f"s{number}-b"])
                return 2
            await create(database, f"d{number}")
        except QuotaReached:
            return 0
        return 1

    try:
        made = await asyncio.gather(*(one(number) for number in range(50)))
    finally:
        await other.close()
    assert sum(made) == len(await stored(limited)) == 10


async def test_a_limit_of_dashboards_waits_for_who_is_making_them(limited: Database) -> None:
    """It is set when no creator is at work, so that none goes on by the old one."""
    async with limited.transaction() as connection:
        await resources.lock(connection)
        setting = asyncio.create_task(_lower(limited))
        waiting = "select exists (select from pg_locks where locktype = 'advisory' and classid = 1 and not granted)"
        while not await connection.fetchval(waiting):
            assert not setting.done()
    await setting
    with pytest.raises(QuotaReached):
        await create(limited, "a")


async def _lower(database: Database) -> None:
    async with database.transaction() as connection:
        await quotas.put(connection, org_id=1, target="dashboard", limit=0)


async def test_dashboards_can_be_reserved_as_well(limited: Database) -> None:
    """Who makes many by another way, under the lock of objects, claims them as anything else."""
    async with limited.transaction() as connection:
        await resources.lock(connection)
        await quotas.reserve(connection, NONE, Claim(Scope.ORG, 1, "dashboard", new=3))
        with pytest.raises(QuotaReached, match=r"^dashboard Quota reached$"):
            await quotas.reserve(connection, NONE, Claim(Scope.ORG, 1, "dashboard", new=4))


@pytest.mark.parametrize(("created", "removed"), [(2, 0), (3, 1), (1, 0), (2, 1), (0, 0)])
async def test_what_a_sync_would_be_refused_for_is_told_beforehand(limited: Database, created: int, removed: int) -> None:
    """In the same words, or not at all where it is not refused; the sync comes after the answer."""
    for name in ("x", "y"):
        await sync(limited, [name])
    wanted = StoredResources(limited, Clock(), NONE, repository=synced_repository.repository("r"), edition=0)
    told = await wanted.quota_refusal("default", created=created, removed=removed)
    refused = ""
    try:
        await sync(limited, [f"n{number}" for number in range(created)], ["x"] * removed)
    except QuotaReached as error:
        refused = error.message
    assert told == refused
