"""Quotas over a real PostgreSQL: exact counts and limits, also for concurrent creations."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import NotFound
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import quotas
from dashwright.common.stores.quotas import Claim, QuotaReached

NO_RULES = QuotaRules()
UNKNOWN_ID = 9007


@pytest.fixture
async def orgs(database: Database) -> Database:
    """Create organizations 1 and 2, users 1 and 2, both members of 1, and a service account 3 in 1."""
    async with database.connection() as connection:
        await connection.execute("""
            insert into org (name) values ('Main Org.'), ('Other');
            insert into "user" (login, email, org_id) values ('one', 'one@x', 1), ('two', 'two@x', 1);
            insert into "user" (login, email, org_id, is_service_account) values ('sa', 'sa', 1, true);
            insert into org_user (org_id, user_id, role) values (1, 1, 'Admin'), (1, 2, 'Viewer'), (1, 3, 'Editor');
        """)
    return database


async def use_by_target(database: Database, org_id: int, rules: QuotaRules = NO_RULES) -> dict[str, tuple[int, int]]:
    """Return the limit and the use of each target of an organization."""
    async with database.connection() as connection:
        quota_list = await quotas.list_for_org(connection, rules, org_id)
    assert quota_list is not None
    return {quota.target: (quota.limit, quota.used) for quota in quota_list}


async def set_limit(database: Database, target: str, number: int, *, org_id: int = 0, user_id: int = 0) -> None:
    """Set a limit of an organization or of a user; the id of the other one is 0."""
    async with database.transaction() as connection:
        await quotas.set_limit(connection, org_id=org_id, user_id=user_id, target=target, limit=number)


async def add_key(connection: Connection, name: str, org_id: int = 1) -> None:
    """Insert an API key without a check of the limit."""
    await connection.execute("insert into api_key (org_id, name, key, role) values ($1, $2, $2, 'Viewer')", org_id, name)


async def create_key(database: Database, name: str, rules: QuotaRules = NO_RULES, org_id: int = 1) -> None:
    """Create an API key if the limits permit it."""
    async with database.transaction() as connection:
        await quotas.reserve(connection, rules, Claim(Scope.ORG, org_id, "api_key"), Claim(Scope.GLOBAL, 0, "api_key"))
        await add_key(connection, name, org_id)


async def count_quota_locks(connection: Connection) -> int:
    """Count the locks of quotas that the transaction holds; their class is 3."""
    count: int = await connection.fetchval(
        "select count(*) from pg_locks where locktype = 'advisory' and classid = 3 and pid = pg_backend_pid()"
    )
    return count


async def test_an_unlimited_organization_lists_every_target(orgs: Database) -> None:
    """Five targets in fixed order have limit -1 and their use; service accounts are not counted as users, expired keys are counted."""
    await create_key(orgs, "legacy")
    async with orgs.connection() as connection:
        await connection.execute("""
            insert into api_key (org_id, name, key, role, service_account_id, expires)
            values (1, 't', 't', 'Viewer', 3, 1), (2, 't', 'u', 'None', null, null)
        """)
        assert [quota.target for quota in await quotas.list_for_org(connection, NO_RULES, 1) or ()] == [
            "org_user",
            "dashboard",
            "data_source",
            "api_key",
            "alert_rule",
        ]
    assert await use_by_target(orgs, 1) == {
        "org_user": (-1, 2),
        "dashboard": (-1, 0),
        "data_source": (-1, 0),
        "api_key": (-1, 2),
        "alert_rule": (-1, 0),
    }
    assert (await use_by_target(orgs, 2))["api_key"] == (-1, 1)


async def test_a_user_has_one_quota(orgs: Database) -> None:
    """The only target of a user counts memberships; service accounts and unknown ids have no quotas."""
    async with orgs.connection() as connection:
        assert await quotas.list_for_user(connection, QuotaRules(defaults={"user_org": 10}), 2) == [
            quotas.Quota("org_user", 10, 1, user_id=2)
        ]
        assert await quotas.list_for_user(connection, NO_RULES, 3) is None
        assert await quotas.list_for_user(connection, NO_RULES, UNKNOWN_ID) is None
        assert await quotas.list_for_org(connection, NO_RULES, UNKNOWN_ID) is None


async def test_a_set_limit_overrides_the_default(orgs: Database) -> None:
    """A set limit applies to its owner and target; setting it again replaces it, and any negative number means unlimited."""
    rules = QuotaRules(defaults={"org_user": 10, "org_dashboard": 100})
    for number, stored in ((7, 7), (0, 0), (-5, -1), (2**63 - 1, 2**63 - 1)):
        await set_limit(orgs, "org_user", number, org_id=1)
        assert (await use_by_target(orgs, 1, rules))["org_user"] == (stored, 2)
    assert (await use_by_target(orgs, 1, rules))["dashboard"] == (100, 0)
    assert (await use_by_target(orgs, 2, rules))["org_user"] == (10, 0)
    await set_limit(orgs, "org_user", 3, user_id=2)
    async with orgs.connection() as connection:
        assert await quotas.list_for_user(connection, rules, 2) == [quotas.Quota("org_user", 3, 1, user_id=2)]
        assert await quotas.list_for_user(connection, rules, 1) == [quotas.Quota("org_user", -1, 1, user_id=1)]


@pytest.mark.parametrize(
    ("owner", "target", "message"),
    [
        ({"org_id": 1}, "bogus", 'unknown quota target "bogus"; known: org_user, dashboard, data_source, api_key, alert_rule'),
        ({"org_id": 1}, "user", "unknown quota target"),
        ({"user_id": 1}, "dashboard", 'unknown quota target "dashboard"; known: org_user'),
        ({"org_id": UNKNOWN_ID}, "dashboard", "Organization not found"),
        ({"org_id": -1}, "dashboard", "Organization not found"),
        ({"user_id": UNKNOWN_ID}, "org_user", "user not found"),
        ({"user_id": 3}, "org_user", "user not found"),
        ({}, "org_user", "user not found"),
    ],
)
async def test_a_limit_needs_a_known_target_and_owner(orgs: Database, owner: dict[str, int], target: str, message: str) -> None:
    """The error for an unknown target lists the known ones; an unknown target or owner adds no row."""
    with pytest.raises(NotFound, match=message):
        await set_limit(orgs, target, 5, **owner)
    async with orgs.connection() as connection:
        assert await connection.fetchval("select count(*) from quota") == 0


@pytest.mark.parametrize(("number", "created_count"), [(-1, 3), (0, 0), (1, 1), (2, 2), (3, 3), (4, 3)])
async def test_creating_stops_at_the_limit(orgs: Database, number: int, created_count: int) -> None:
    """A limit permits exactly its number of keys, and -1 any number. A limit below the use permits no more, and deletes nothing."""
    await set_limit(orgs, "api_key", number, org_id=1)
    for name in ("a", "b", "c"):
        try:
            await create_key(orgs, name)
        except QuotaReached:
            break
    assert (await use_by_target(orgs, 1))["api_key"] == (number, created_count)
    await set_limit(orgs, "api_key", 0, org_id=1)
    with pytest.raises(QuotaReached):
        await create_key(orgs, "d")
    assert (await use_by_target(orgs, 1))["api_key"] == (0, created_count)


async def test_the_error_names_the_reached_quota(orgs: Database) -> None:
    """The error of a reached quota has Grafana's text, and scope, target, limit and use as fields and as a cause."""
    await set_limit(orgs, "org_user", 2, org_id=1)
    async with orgs.transaction() as connection:
        with pytest.raises(QuotaReached) as caught:
            await quotas.reserve(connection, NO_RULES, Claim(Scope.USER, 2, "org_user"), Claim(Scope.ORG, 1, "org_user"))
    error = caught.value
    assert (error.status, error.message, error.message_id) == (403, "org Quota reached", "quota.reached")
    assert error.extra == {"scope": "org", "target": "org_user", "limit": 2, "used": 2}
    assert [(cause.field, cause.reason, cause.message) for cause in error.causes] == [("quota.org_user", "QuotaReached", "limit 2, used 2")]
    async with orgs.transaction() as connection:
        with pytest.raises(QuotaReached, match=r"^Quota reached$"):
            await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "org_user"), message="Quota reached")


async def test_a_claim_for_several_is_all_or_nothing(orgs: Database) -> None:
    """A claim for several keys succeeds only if the limit permits all of them."""
    await set_limit(orgs, "api_key", 5, org_id=1)
    await create_key(orgs, "a")
    async with orgs.transaction() as connection:
        await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "api_key", count=4))
        with pytest.raises(QuotaReached):
            await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "api_key", count=5))


async def test_global_limits_count_all_organizations(orgs: Database) -> None:
    """Global limits come from the settings and count all organizations; users are counted without service accounts."""
    rules = QuotaRules(defaults={"global_api_key": 2, "global_user": 3, "global_org": 2})
    await create_key(orgs, "a", rules)
    await create_key(orgs, "b", rules, org_id=2)
    for claim in (Claim(Scope.GLOBAL, 0, "api_key"), Claim(Scope.GLOBAL, 0, "org"), Claim(Scope.GLOBAL, 0, "user", count=2)):
        async with orgs.transaction() as connection:
            with pytest.raises(QuotaReached) as caught:
                await quotas.reserve(connection, rules, claim)
            assert caught.value.claim == claim
    async with orgs.transaction() as connection:
        await quotas.reserve(connection, rules, Claim(Scope.GLOBAL, 0, "user"))


async def test_unlimited_quotas_take_no_lock(orgs: Database) -> None:
    """Only a finite limit makes creations wait for each other; disabled quotas limit nothing."""
    claim = Claim(Scope.ORG, 1, "api_key")
    async with orgs.transaction() as connection:
        await quotas.reserve(connection, NO_RULES, claim)
        assert await count_quota_locks(connection) == 0
    await set_limit(orgs, "api_key", 0, org_id=1)
    async with orgs.transaction() as connection:
        await quotas.reserve(connection, QuotaRules(enabled=False), claim)
        assert await count_quota_locks(connection) == 0
        with pytest.raises(QuotaReached):
            await quotas.reserve(connection, NO_RULES, claim, Claim(Scope.ORG, 2, "api_key"))
        assert await count_quota_locks(connection) == 1


def test_a_claim_needs_a_target_of_its_scope() -> None:
    """A target that the scope does not have is a programming error, not an unlimited claim."""
    with pytest.raises(ValueError, match="org_user is not counted for the scope global"):
        Claim(Scope.GLOBAL, 0, "org_user")


CreateRow = Callable[[Connection, int], Awaitable[object]]
_KEY: CreateRow = lambda connection, number: add_key(connection, f"k{number}")  # noqa: E731
_USER: CreateRow = lambda connection, number: connection.execute(  # noqa: E731
    'insert into "user" (login, email, org_id) values ($1, $1, 1)', f"u{number}"
)
_ORG: CreateRow = lambda connection, number: connection.execute("insert into org (name) values ($1)", f"o{number}")  # noqa: E731
_MEMBER: CreateRow = lambda connection, number: connection.execute(  # noqa: E731
    "insert into org_user (org_id, user_id, role) values (2, $1, 'Viewer')", 100 + number
)


@pytest.mark.parametrize(
    ("claims", "create"),
    [
        pytest.param([Claim(Scope.ORG, 1, "api_key")], _KEY, id="key"),
        pytest.param([Claim(Scope.GLOBAL, 0, "user")], _USER, id="user"),
        pytest.param([Claim(Scope.GLOBAL, 0, "org"), Claim(Scope.USER, 1, "org_user")], _ORG, id="org"),
        pytest.param([Claim(Scope.ORG, 2, "org_user")], _MEMBER, id="member"),
        pytest.param([Claim(Scope.ORG, 1, "api_key"), Claim(Scope.GLOBAL, 0, "api_key")], _KEY, id="both"),
        pytest.param([Claim(Scope.GLOBAL, 0, "api_key"), Claim(Scope.ORG, 1, "api_key")], _KEY, id="both in the other order"),
    ],
)
async def test_concurrent_creators_never_exceed_the_limit(
    orgs: Database, database_url: str, claims: Sequence[Claim], create: CreateRow
) -> None:
    """If the limit permits ten more objects, exactly ten of fifty concurrent creations succeed, without a deadlock."""
    await set_limit(orgs, "org_user", 10, org_id=2)
    async with orgs.connection() as connection:
        await connection.execute(
            'insert into "user" (id, login, email, org_id) select 100 + n, $$m$$ || n, $$m$$ || n, 1 from generate_series(0, 49) n'
        )
    # Ten more than the 52 persons and two organizations that exist.
    rules = QuotaRules(defaults={"org_api_key": 10, "global_api_key": 10, "global_user": 62, "global_org": 12})
    other = await Database.open(database_url, application_name="other", max_size=5)

    async def create_one(number: int) -> bool:
        """Create a row unless the limit is reached, and return whether it was created."""
        try:
            async with (orgs, other)[number % 2].transaction() as connection:
                # Some creators claim in the opposite order, which could deadlock.
                await quotas.reserve(connection, rules, *(claims if number % 3 else reversed(claims)))
                await create(connection, number)
        except QuotaReached:
            return False
        return True

    try:
        created = await asyncio.gather(*(create_one(number) for number in range(50)))
    finally:
        await other.close()
    assert sum(created) == 10


async def test_a_new_limit_applies_to_the_next_creator(orgs: Database) -> None:
    """A change of a limit waits for a running creation, and applies to the next one."""
    await set_limit(orgs, "api_key", 5, org_id=1)
    async with orgs.transaction() as connection:
        await quotas.reserve(connection, NO_RULES, Claim(Scope.ORG, 1, "api_key"))
        limit_change = asyncio.create_task(set_limit(orgs, "api_key", 0, org_id=1))
        is_waiting = "select exists (select from pg_locks where locktype = 'advisory' and classid = 3 and not granted)"
        while not await connection.fetchval(is_waiting):
            pass
        await add_key(connection, "a")
    await limit_change
    with pytest.raises(QuotaReached):
        await create_key(orgs, "b")
    assert (await use_by_target(orgs, 1))["api_key"] == (0, 1)


_PERSON = 'insert into "user" (login, email, org_id) values ($$n{n}$$, $$n{n}$$, 1) on conflict do nothing'
#: Statements that create or delete rows; ``n`` chooses names and ids.
_STEPS = {
    "user": _PERSON,
    "account": _PERSON.replace("org_id)", "org_id, is_service_account)").replace(", 1)", ", 1, true)"),
    "member": """
        insert into org_user (org_id, user_id, role) select o.id, u.id, 'Viewer'
        from org o, "user" u where o.id = {n} % 2 + 1 and u.id % 7 = {n} on conflict do nothing
    """,
    "leave": "delete from org_user where user_id % 7 = {n} and org_id = 1",
    "remove": 'delete from "user" where id % 7 = {n}',
    "key": """
        insert into api_key (org_id, name, key, role) select id, 'n{n}', id || 'n{n}', 'Viewer' from org on conflict do nothing
    """,
    "drop key": "delete from api_key where name = 'n{n}'",
    "drop org": "delete from org where id = 2",
}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(sorted(_STEPS)), st.integers(0, 6)), max_size=12))
def test_use_equals_a_recount(database_url: str, steps: list[tuple[str, int]]) -> None:
    """After any sequence of creations and deletions every reported use equals a count of the rows."""
    asyncio.run(_check_use(database_url, steps))


async def _check_use(url: str, steps: list[tuple[str, int]]) -> None:
    """Execute the steps, compare the reported uses with counts in Python, and roll everything back."""
    database = await Database.open(url, application_name="walk", max_size=2)
    try:
        async with database.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("insert into org (id, name) values (1, 'Main Org.'), (2, 'Other')")
            for name, number in steps:
                await connection.execute(_STEPS[name].format(n=number))
            persons = {row["id"] for row in await connection.fetch('select * from "user"') if not row["is_service_account"]}
            members = [(row["org_id"], row["user_id"]) for row in await connection.fetch("select * from org_user")]
            keys = [row["org_id"] for row in await connection.fetch("select * from api_key")]
            for org in await connection.fetch("select id from org"):
                used_by_target = {quota.target: quota.used for quota in await quotas.list_for_org(connection, NO_RULES, org["id"]) or ()}
                assert used_by_target["org_user"] == sum(1 for org_id, user_id in members if org_id == org["id"] and user_id in persons)
                assert used_by_target["api_key"] == keys.count(org["id"])
            for person in persons:
                assert [quota.used for quota in await quotas.list_for_user(connection, NO_RULES, person) or ()] == [
                    sum(1 for _, user_id in members if user_id == person)
                ]
            await transaction.rollback()
    finally:
        await database.close()
