"""Data sources over a real PostgreSQL: bound secrets, one default, exact counts, and complete deletion."""

import asyncio
from collections.abc import Callable

import pytest

from dashwright.api.data_sources import DataSources
from dashwright.api.domain.actor import Actor
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, Conflict, SourceFailed
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores import data_sources, quotas
from dashwright.common.stores.data_sources import Fields, StoredDataSource
from dashwright.common.stores.quotas import QuotaReached

CIPHER = SecretCipher.from_keys("the key")
ACTOR = Actor("user:1", "admin", 1, "", "", "")
ACTOR_OF_ORG_2 = Actor("user:1", "admin", 2, "", "", "")
NO_LIMITS = QuotaRules()


@pytest.fixture
async def store(database: Database) -> DataSources:
    """Create organizations 1 and 2, and return their empty store of data sources."""
    async with database.connection() as connection:
        await connection.execute("insert into org (name) values ('Main Org.'), ('Other')")
    return DataSources(database, CIPHER, NO_LIMITS)


@pytest.fixture
async def prometheus(store: DataSources) -> StoredDataSource:
    """Create the data source ``p`` with two secrets in organization 1."""
    fields = Fields("Prometheus", "prometheus", uid="p", url="http://x:9090", user="u", database="d", json_data={"httpMethod": "POST"})
    return await store.create(ACTOR, fields, {"basicAuthPassword": "hunter22", "token": "glsa"})


def replace_by(fields: Fields) -> Callable[[Fields], Fields]:
    """Return a change that ignores the stored fields."""
    return lambda _: fields


async def sql(database: Database, statement: str, *values: object) -> object:
    """Execute a statement and return the first value of its first row."""
    async with database.connection() as connection:
        return await connection.fetchval(statement, *values)


async def read_secrets(database: Database, uid: str, *, org_id: int = 1, cipher: SecretCipher = CIPHER) -> dict[str, str]:
    """Return the secrets of a data source as a worker reads them."""
    async with database.connection() as connection:
        record = await data_sources.find(connection, cipher, org_id, uid)
    assert record is not None
    return dict(record.secrets)


async def test_a_worker_reads_a_data_source_with_its_secrets(database: Database, prometheus: StoredDataSource) -> None:
    """A data source is found by uid in its organization only, and its string form contains no secret."""
    async with database.connection() as connection:
        record = await data_sources.find(connection, CIPHER, 1, "p")
        assert await data_sources.find(connection, CIPHER, 2, "p") is None
    assert record is not None
    assert (record.id, record.org_id, record.type, record.url) == (prometheus.id, 1, "prometheus", "http://x:9090")
    assert (record.user, record.database, record.json_data, record.version) == ("u", "d", {"httpMethod": "POST"}, 1)
    assert record.secrets == {"basicAuthPassword": "hunter22", "token": "glsa"}
    assert "hunter22" not in repr(record)


@pytest.mark.usefixtures("prometheus")
async def test_no_clear_secret_is_stored(database: Database) -> None:
    """No column of the tables and no audit event contains a secret."""
    for table in ("data_source", "data_source_secret", "audit_event"):
        text = await sql(database, f"select string_agg(t::text, ' ') from {table} t")
        assert text
        assert "hunter22" not in str(text)
        assert b"hunter22".hex() not in str(text)


@pytest.mark.usefixtures("prometheus")
async def test_a_moved_secret_is_refused(database: Database) -> None:
    """A sealed secret moved to another name or data source cannot be opened; the error names the data source and no secret."""
    await sql(database, "update data_source_secret set sealed = (select sealed from data_source_secret where name = 'token')")
    with pytest.raises(SourceFailed, match=r"The data source 'Prometheus' cannot be queried. .*enter it again") as refusal:
        await read_secrets(database, "p")
    # Without the first letter, which a message might begin in upper case.
    assert "asicAuthPassword" not in refusal.value.message


@pytest.mark.usefixtures("prometheus")
async def test_a_changed_key_is_reported(database: Database) -> None:
    """If the key has changed, the error of a query says so, and the secrets of the other key can be counted at the start."""
    other = SecretCipher.from_keys("another key")
    with pytest.raises(SourceFailed, match="another DASHWRIGHT_SECRET_KEY"):
        await read_secrets(database, "p", cipher=other)
    async with database.connection() as connection:
        assert await data_sources.count_foreign(connection, other) == 2
        assert await data_sources.count_foreign(connection, CIPHER) == 0


async def test_a_change_keeps_the_secrets_it_does_not_name(database: Database, store: DataSources, prometheus: StoredDataSource) -> None:
    """A change removes secrets that it sets to an empty text, and keeps those that it omits, even if they are sealed under another key."""
    changed = await store.change(ACTOR, prometheus.id, replace_by(prometheus.fields), {"token": "", "tlsClientKey": "k"}, version=1)
    assert (changed.version, changed.secret_names) == (2, ("basicAuthPassword", "tlsClientKey"))
    assert await read_secrets(database, "p") == {"basicAuthPassword": "hunter22", "tlsClientKey": "k"}
    store_with_another_key = DataSources(database, SecretCipher.from_keys("another key"), NO_LIMITS)
    await store_with_another_key.change(ACTOR, prometheus.id, replace_by(prometheus.fields), {}, version=None)
    assert (await read_secrets(database, "p"))["basicAuthPassword"] == "hunter22"


async def test_secrets_move_with_the_uid(database: Database, store: DataSources, prometheus: StoredDataSource) -> None:
    """A new uid seals the secrets again. Without their key, the uid can change only if the request replaces all secrets."""
    renamed = Fields("Prometheus", "prometheus", uid="q")
    store_with_another_key = DataSources(database, SecretCipher.from_keys("another key"), NO_LIMITS)
    with pytest.raises(Conflict, match="another DASHWRIGHT_SECRET_KEY"):
        await store_with_another_key.change(ACTOR, prometheus.id, replace_by(renamed), {"token": "new"}, version=None)
    await store.change(ACTOR, prometheus.id, replace_by(renamed), {"token": "new"}, version=None)
    assert await read_secrets(database, "q") == {"basicAuthPassword": "hunter22", "token": "new"}
    new_secrets = {"basicAuthPassword": "b", "token": ""}
    await store_with_another_key.change(
        ACTOR, prometheus.id, replace_by(Fields("Prometheus", "prometheus", uid="r")), new_secrets, version=None
    )
    assert await read_secrets(database, "r", cipher=SecretCipher.from_keys("another key")) == {"basicAuthPassword": "b"}


async def test_concurrent_requests_leave_one_default(database: Database, store: DataSources) -> None:
    """After concurrent changes each organization has exactly one default."""
    creations = [store.create(ACTOR, Fields(f"d{index}", "x", is_default=True), {}) for index in range(8)]
    creations += [store.create(ACTOR_OF_ORG_2, Fields("d", "x", is_default=True), {})]
    await asyncio.gather(*creations)
    assert await sql(database, "select array_agg(org_id order by org_id) from data_source where is_default") == [1, 2]
    # Eight in organization 1 and one in organization 2.
    assert await sql(database, "select count(*) from data_source") == 9


async def test_concurrent_creations_of_a_name_conflict(store: DataSources) -> None:
    """One of several concurrent creations with a name or uid succeeds, and the others conflict."""
    created = await asyncio.gather(*(store.create(ACTOR, Fields("n", "x"), {}) for _ in range(6)), return_exceptions=True)
    assert [type(result) for result in created if not isinstance(result, StoredDataSource)] == [AlreadyExists] * 5
    created = await asyncio.gather(*(store.create(ACTOR, Fields(f"n{n}", "x", uid="u"), {}) for n in range(6)), return_exceptions=True)
    assert [str(result) for result in created if not isinstance(result, StoredDataSource)] == [
        "data source with the same uid already exists"
    ] * 5


async def test_a_change_of_an_outdated_version_conflicts(store: DataSources, prometheus: StoredDataSource) -> None:
    """The second change of a version is refused; a change without a version, or with a later one, succeeds."""
    results = await asyncio.gather(
        *(store.change(ACTOR, prometheus.id, replace_by(prometheus.fields), {}, version=1) for _ in range(5)), return_exceptions=True
    )
    assert [type(result) for result in results if not isinstance(result, StoredDataSource)] == [Conflict] * 4
    for version in (2, None, 0, 2**63 - 1):
        await store.change(ACTOR, prometheus.id, replace_by(prometheus.fields), {}, version=version)


@pytest.mark.parametrize("limits", [{"org_data_source": 3}, {"global_data_source": 3}])
async def test_the_quota_limits_data_sources(database: Database, store: DataSources, limits: dict[str, int]) -> None:
    """Concurrent creations never exceed the quota. At the limit, data sources can still be changed or replaced."""
    limited_store = DataSources(database, CIPHER, QuotaRules(defaults=limits))
    created = await asyncio.gather(*(limited_store.create(ACTOR, Fields(f"n{n}", "x"), {}) for n in range(8)), return_exceptions=True)
    created_sources = [result for result in created if isinstance(result, StoredDataSource)]
    assert (len(created_sources), [type(result) for result in created if not isinstance(result, StoredDataSource)]) == (
        3,
        [QuotaReached] * 5,
    )
    await limited_store.change(ACTOR, created_sources[0].id, replace_by(Fields("other", "x", uid=created_sources[0].uid)), {}, version=None)
    await limited_store.remove(ACTOR, created_sources[1].id)
    await limited_store.create(ACTOR, Fields("again", "x"), {})
    async with database.connection() as connection:
        listed_quotas = await quotas.list_for_org(connection, NO_LIMITS, 1)
    assert listed_quotas is not None
    assert [quota.used for quota in listed_quotas if quota.target == "data_source"] == [3]


async def test_deleting_a_data_source_deletes_its_secrets_and_grants(
    database: Database, store: DataSources, prometheus: StoredDataSource
) -> None:
    """A data source is deleted with its secrets and grants only. A new uid deletes the grants of the old one, and keeps the secrets."""
    other = await store.create(ACTOR, Fields("other", "x", uid="o"), {"token": "t"})
    await sql(database, """insert into "user" (login, email, org_id) values ('u', 'u', 1)""")
    for org_id, uid in ((1, "p"), (1, "o"), (2, "p")):
        statement = "insert into permission (user_id, org_id, action, scope, created_by) values (1, $1, 'datasources:query', $2, '')"
        await sql(database, statement, org_id, f"datasources:uid:{uid}")
    await store.remove(ACTOR, prometheus.id)
    grants = "select array_agg(org_id || ' ' || scope order by scope) from permission"
    assert await sql(database, grants) == ["1 datasources:uid:o", "2 datasources:uid:p"]
    assert await sql(database, "select count(*) from data_source_secret") == 1
    await store.change(ACTOR, other.id, replace_by(Fields("other", "x", uid="new")), {}, version=None)
    assert await sql(database, grants) == ["2 datasources:uid:p"]


async def test_deleting_an_organization_deletes_its_data_sources(database: Database, store: DataSources) -> None:
    """An organization is deleted with its data sources, and those of other organizations are kept."""
    for actor in (ACTOR, ACTOR_OF_ORG_2):
        await store.create(actor, Fields("same", "x", uid="same"), {"token": "t"})
    await sql(database, "delete from org where id = 1")
    assert await sql(database, "select array_agg(org_id) from data_source") == [2]
    assert await read_secrets(database, "same", org_id=2) == {"token": "t"}
