"""Constraints and triggers of the tables for accounts, quotas and audit."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import as_file
from pathlib import Path

import asyncpg
import pytest
from tests.servers import databases

from dashwright.common.database import schema
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of

_ACCOUNTS = """
insert into org (id, name) values (1, 'Main Org.'), (2, 'Other');
insert into "user" (id, login, email, org_id) values (1, 'one', 'one@x', 1), (2, 'two', 'two@x', 1);
insert into "user" (id, login, email, org_id, is_service_account) values (3, 'sa-1-ci', 'sa-1-ci', 1, true);
insert into org_user (org_id, user_id, role) values (1, 1, 'Admin'), (1, 2, 'Viewer'), (2, 2, 'Admin'), (1, 3, 'Editor');
insert into api_key (id, org_id, name, key, role) values (1, 1, 'old', 'h1', 'Viewer');
insert into api_key (id, org_id, name, key, role, service_account_id) values (2, 1, 'token', 'h2', 'Viewer', 3);
insert into team (id, org_id, name) values (1, 1, 'team');
insert into team_member (org_id, team_id, user_id) values (1, 1, 2), (1, 1, 3);
insert into preferences (org_id, user_id, team_id, theme) values (1, 0, 0, 'dark'), (1, 2, 0, 'dark'), (1, 0, 1, 'dark'), (2, 2, 0, 'dark');
insert into star (user_id, org_id, dashboard_uid) values (2, 1, 'd'), (2, 2, 'd');
insert into permission (user_id, org_id, action, scope, created_by)
values (2, 0, 'orgs:read', '*', 'user:1'), (2, 1, 'teams:read', '*', 'user:1'), (2, 2, 'teams:read', '*', 'user:1'),
    (3, 1, 'teams:read', '*', 'user:1');
insert into quota (org_id, user_id, target, "limit") values (1, 0, 'dashboard', 5), (2, 0, 'dashboard', 5), (0, 2, 'org_user', 5);
"""


@pytest.fixture
async def accounts(database: Database) -> Database:
    """Create two organizations, two users, a service account, and rows in every table that refers to them."""
    async with database.connection() as connection:
        await connection.execute(_ACCOUNTS)
    return database


@asynccontextmanager
async def notifications_of(database: Database) -> AsyncIterator[list[str]]:
    """Collect the payloads that transactions in the block send on the channel ``identity``.

    After the block, the list is complete and sorted.
    """
    payloads: list[str] = []
    arrived = asyncio.Event()
    started = asyncio.Event()

    def collect(payload: str) -> None:
        if payload == "the end":
            arrived.set()
        else:
            payloads.append(payload)

    async with database.listen("identity", collect, started.set):
        await started.wait()
        yield payloads
        async with database.connection() as connection:
            await connection.execute("select pg_notify('identity', 'the end')")
        await arrived.wait()
        payloads.sort()


async def execute(database: Database, *statements: str) -> None:
    """Execute statements in one transaction."""
    async with database.transaction() as connection:
        for statement in statements:
            await connection.execute(statement)


async def test_the_migration_of_accounts_keeps_users(postgres_dsn: str, tmp_path: Path) -> None:
    """The migration keeps users and memberships. Each user gets a uid, and is in the view ``person``."""
    with as_file(schema.MIGRATIONS) as folder:
        for name in ("0001_resources.sql", "0002_identity.sql"):
            shutil.copy(folder / name, tmp_path)
    async with databases.temporary_database(postgres_dsn, "template0") as url:
        assert len(await schema.migrate(url, tmp_path)) == 2
        connection = await asyncpg.connect(url)
        await connection.execute("""
            insert into org (name) values ('Main Org.');
            insert into "user" (login, email, password, org_id, is_admin) values ('admin', 'admin@localhost', 'hash', 1, true);
            insert into "user" (login, email, org_id) select 'u' || n, 'u' || n || '@x', 1 from generate_series(1, 500) n;
            insert into org_user (org_id, user_id, role) select 1, id, 'Viewer' from "user";
        """)
        assert (await schema.migrate(url))[:2] == ["0003_accounts.sql", "0004_quotas_audit.sql"]
        row = await connection.fetchrow("select count(*) as users, count(distinct uid) as uids, min(length(uid)) as least from person")
        assert row is not None
        # Each of the 501 users has a uid of 14 characters.
        assert tuple(row) == (501, 501, 14)
        first = await connection.fetchrow('select login, password, is_admin, is_service_account, salt from "user" where id = 1')
        assert first is not None
        assert tuple(first) == ("admin", "hash", True, False, None)
        assert await connection.fetchval("select count(*) from org_user") == 501
        await connection.close()


async def test_namespace_of_is_the_same_in_sql_and_python(database: Database) -> None:
    """The SQL function ``namespace_of`` returns the same names as the Python function."""
    async with database.connection() as connection:
        for org_id in (1, 2, 10, 2**63 - 1):
            assert await connection.fetchval("select namespace_of($1)", org_id) == namespace_of(org_id)


async def test_a_service_account_has_no_password(accounts: Database) -> None:
    """A service account is not in the view of persons, and the database refuses a password for it."""
    async with accounts.connection() as connection:
        assert [row["id"] for row in await connection.fetch("select id from person order by id")] == [1, 2]
        with pytest.raises(asyncpg.CheckViolationError, match="account_has_no_password"):
            await connection.execute('update "user" set password = $$x$$ where id = 3')


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("update \"user\" set login = 'new' where id = 2", ["user:2"]),
        ("update \"user\" set email = 'new@x' where id = 2", ["user:2"]),
        ("update \"user\" set password = 'new' where id = 2", ["user:2"]),
        ("update \"user\" set salt = 'new' where id = 2", ["user:2"]),
        ('update "user" set org_id = 2 where id = 2', ["user:2"]),
        ('update "user" set is_admin = true where id = 2', ["user:2"]),
        ('update "user" set is_disabled = true where id in (2, 3)', ["user:2", "user:3"]),
        ('delete from "user" where id = 2', ["user:2"]),
        ('delete from "user" where id = 3', ["key:2", "user:3"]),
        ("insert into org_user (org_id, user_id, role) values (2, 1, 'Viewer')", ["user:1"]),
        ("update org_user set role = 'Editor' where org_id = 1 and user_id = 2", ["user:2"]),
        ("delete from org_user where org_id = 1 and user_id = 2", ["user:2"]),
        ("insert into permission values (3, 0, 'orgs:read', '*', now(), 'user:1')", ["user:3"]),
        ("delete from permission where user_id = 2", ["user:2"]),
        ("insert into api_key (id, org_id, name, key, role) values (9, 1, 'new', 'h9', 'Viewer')", ["key:9"]),
        ("update api_key set key = 'h' where id = 1", ["key:1"]),
        ("update api_key set role = 'Admin' where id = 1", ["key:1"]),
        ("update api_key set expires = 1 where id = 1", ["key:1"]),
        ("update api_key set is_revoked = true where id = 1", ["key:1"]),
        ("update api_key set service_account_id = 3 where id = 1", ["key:1"]),
        ("delete from api_key where id = 2", ["key:2"]),
        ("delete from org where id = 2", ["org:2", "user:2"]),
        ("delete from org where id = 1", ["key:1", "key:2", "org:1", "user:1", "user:2", "user:3"]),
        ("update \"user\" set last_seen_at = now(), theme = 'dark', name = 'N'", []),
        ("update api_key set last_used_at = now()", []),
        ("update org set name = 'renamed' where id = 2", []),
    ],
)
async def test_changes_of_a_caller_are_notified(accounts: Database, change: str, expected: list[str]) -> None:
    """Each change of a caller's identity or rights sends a notification with its id. A change of its last use sends none."""
    async with notifications_of(accounts) as payloads:
        await execute(accounts, change)
    assert payloads == expected


async def test_a_rolled_back_change_is_not_notified(accounts: Database) -> None:
    """A rolled back transaction sends no notification."""
    async with notifications_of(accounts) as payloads:
        with pytest.raises(asyncpg.CheckViolationError):
            await execute(accounts, 'update "user" set is_admin = true where id = 2', "update org_user set role = 'King'")
    assert payloads == []


async def test_a_bulk_change_is_one_notification(accounts: Database) -> None:
    """A transaction in bulk mode sends ``all`` once; the next one sends each change."""
    async with notifications_of(accounts) as payloads:
        await execute(accounts, "set local dashwright.bulk = 'on'", "update org_user set role = 'Viewer'", "delete from api_key")
        await execute(accounts, "delete from permission where user_id = 3")
    assert payloads == ["all", "user:3"]


async def rows_of(database: Database, query: str) -> list[tuple[object, ...]]:
    """Return the sorted rows of a query."""
    async with database.connection() as connection:
        return sorted(tuple(row) for row in await connection.fetch(query))


async def test_deleting_a_user_deletes_all_its_rows(accounts: Database) -> None:
    """Memberships, teams, stars, grants, preferences and quotas of a deleted user are deleted, and those of others are kept."""
    await execute(accounts, 'delete from "user" where id = 2')
    assert await rows_of(accounts, "select org_id, user_id, team_id from preferences") == [(1, 0, 0), (1, 0, 1)]
    assert await rows_of(accounts, "select org_id, user_id from quota") == [(1, 0), (2, 0)]
    assert await rows_of(accounts, "select user_id from permission") == [(3,)]
    assert await rows_of(accounts, "select user_id from team_member") == [(3,)]
    assert await rows_of(accounts, "select user_id from star") == []


async def test_deleting_an_organization_deletes_all_its_rows(accounts: Database) -> None:
    """Keys, teams, preferences, stars, quotas and grants of a deleted organization are deleted; global grants are kept."""
    await execute(accounts, "delete from org where id = 1")
    assert await rows_of(accounts, "select org_id, user_id, team_id from preferences") == [(2, 2, 0)]
    assert await rows_of(accounts, "select org_id, user_id from quota") == [(0, 2), (2, 0)]
    assert await rows_of(accounts, "select user_id, org_id from permission") == [(2, 0), (2, 2)]
    assert await rows_of(accounts, "select id from api_key") == []
    assert await rows_of(accounts, "select id from team_member") == []
    assert await rows_of(accounts, "select user_id, org_id from star") == [(2, 2)]


async def test_deleting_a_team_deletes_all_its_rows(accounts: Database) -> None:
    """Memberships and preferences of a deleted team are deleted."""
    await execute(accounts, "delete from team")
    assert await rows_of(accounts, "select org_id, user_id, team_id from preferences") == [(1, 0, 0), (1, 2, 0), (2, 2, 0)]
    assert await rows_of(accounts, "select id from team_member") == []


async def test_rights_end_with_the_membership(accounts: Database) -> None:
    """A user removed from an organization loses grants and teams in it, and keeps global grants and those in others."""
    await execute(accounts, "delete from org_user where org_id = 1 and user_id = 2")
    assert await rows_of(accounts, "select user_id, org_id from permission") == [(2, 0), (2, 2), (3, 1)]
    assert await rows_of(accounts, "select user_id from team_member") == [(3,)]


@pytest.mark.parametrize("change", ["update audit_event set login = 'x'", "delete from audit_event", "truncate audit_event"])
async def test_audit_is_append_only(database: Database, change: str) -> None:
    """Audit events can be neither changed nor deleted."""
    await execute(database, "insert into audit_event (actor, login, action, outcome, status) values ('user:1', 'a', 'x', 'ok', 200)")
    with pytest.raises(asyncpg.RaiseError, match="audit events are never changed"):
        await execute(database, change)
    assert await rows_of(database, "select login from audit_event") == [("a",)]


async def test_retention_may_only_delete(database: Database) -> None:
    """The retention setting of a transaction allows deletion of audit events, and no other change."""
    await execute(database, "insert into audit_event (actor, login, action, outcome, status) values ('user:1', 'a', 'x', 'ok', 200)")
    for change in ("update audit_event set login = 'x'", "truncate audit_event"):
        with pytest.raises(asyncpg.RaiseError):
            await execute(database, "set local dashwright.retention = 'on'", change)
    await execute(database, "set local dashwright.retention = 'on'", "delete from audit_event")
    assert await rows_of(database, "select login from audit_event") == []
