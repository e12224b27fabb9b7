"""Accounts in a real database: the first user, lookup of a login, and roles by organization."""

import asyncio

import asyncpg
import pytest

from dashwright.api.stores import members
from dashwright.api.stores.users import UserAccounts, ensure_first_user, find_for_login
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role


async def add_user(database: Database, login: str, email: str, org_id: int = 1) -> int:
    """Insert a user whose current organization is ``org_id``, without a membership; return its id."""
    async with database.connection() as connection:
        number: int = await connection.fetchval(
            """insert into "user" (login, email, org_id, password) values ($1, $2, $3, 'hash') returning id""", login, email, org_id
        )
    return number


async def add_org(database: Database, name: str, *members: tuple[int, Role]) -> int:
    """Insert an organization with its members, and return its id."""
    async with database.connection() as connection:
        number: int = await connection.fetchval("insert into org (name) values ($1) returning id", name)
        for user_id, role in members:
            await connection.execute("insert into org_user (org_id, user_id, role) values ($1, $2, $3)", number, user_id, role)
    return number


@pytest.fixture
async def admin_database(database: Database) -> Database:
    """Create the first user and organization."""
    async with database.connection() as connection:
        await ensure_first_user(connection, "admin", "hash")
    return database


async def test_concurrent_gateways_create_the_first_user_once(database: Database) -> None:
    """Clients rely on organization 1 and user 1, which one gateway creates and the others find."""

    async def start_gateway() -> bool:
        async with database.connection() as connection:
            return await ensure_first_user(connection, "admin", "hash")

    assert sorted(await asyncio.gather(*(start_gateway() for _ in range(4)))) == [False, False, False, True]
    async with database.connection() as connection:
        orgs = await connection.fetch("select id, name from org")
        assert [tuple(row) for row in orgs] == [(1, "Main Org.")]
        users = await connection.fetch('select id, login, email, org_id, is_admin from "user"')
        assert [tuple(row) for row in users] == [(1, "admin", "admin@localhost", 1, True)]
        assert await members.role(connection, 1, 1) is Role.ADMIN
        assert await members.role(connection, 2, 1) is None
    assert await add_user(database, "next", "next@x") == 2
    assert await add_org(database, "Next") == 2


async def test_a_failed_start_uses_no_ids(database: Database) -> None:
    """The first user is user 1 even after a failed start."""
    async with database.connection() as connection:
        with pytest.raises(asyncpg.CheckViolationError):
            await ensure_first_user(connection, "", "hash")
        assert await ensure_first_user(connection, "root@x.org", "hash")
        account = await find_for_login(connection, "root@x.org")
    assert account is not None
    assert account.identity is not None
    assert (account.login, account.identity.user_id, account.identity.org_id) == ("root@x.org", 1, 1)


async def test_a_user_is_found_by_login_or_email_in_any_case(admin_database: Database) -> None:
    """A login takes precedence over another user's e-mail address of the same text."""
    await add_user(admin_database, "Ann@X.org", "other@x.org")
    await add_user(admin_database, "bob", "ann@x.org")
    accounts = UserAccounts(admin_database)
    for spelling, login in (("ADMIN", "admin"), ("Admin@LocalHost", "admin"), ("ann@x.org", "Ann@X.org"), ("BOB", "bob")):
        account = await accounts.find(spelling, None)
        assert account is not None
        assert account.login == login
    assert await accounts.find("missing", None) is None


async def test_an_identity_belongs_to_the_requested_organization(admin_database: Database) -> None:
    """By default the organization is the current one, or the user's first one; without membership there is no identity."""
    user_id = await add_user(admin_database, "ann", "ann@x.org", org_id=3)  # the id of the organization "Three" below
    second_org_id = await add_org(admin_database, "Two", (user_id, Role.VIEWER))
    third_org_id = await add_org(admin_database, "Three", (user_id, Role.EDITOR))
    accounts = UserAccounts(admin_database)

    async def identity_in(org_id: int | None) -> tuple[int, Role] | None:
        """Return the organization and the role of the user's identity, or ``None`` without one."""
        account = await accounts.find("ann", org_id)
        assert account is not None
        return None if account.identity is None else (account.identity.org_id, account.identity.role)

    assert [await identity_in(org_id) for org_id in (None, second_org_id, third_org_id, 1)] == [
        (third_org_id, Role.EDITOR),
        (second_org_id, Role.VIEWER),
        (third_org_id, Role.EDITOR),
        None,
    ]
    async with admin_database.connection() as connection:
        await connection.execute("delete from org_user where org_id = $1", third_org_id)
    assert await identity_in(None) == (second_org_id, Role.VIEWER)


async def test_the_first_user_may_do_everything(admin_database: Database) -> None:
    """The first user is a server admin, whose permissions do not depend on a role."""
    account = await UserAccounts(admin_database).find("admin", None)
    assert account is not None
    identity = account.identity
    assert identity is not None
    assert (identity.uid, identity.namespace, identity.is_server_admin) == ("user:1", "default", True)
    assert all(identity.may(action) for action in ("orgs:create", "users:delete", "dashboards:write", "orgs.quotas:write"))


@pytest.mark.parametrize(("login", "email"), [("ADMIN", "new@x"), ("new", "Admin@localhost")])
async def test_logins_and_emails_are_unique(admin_database: Database, login: str, email: str) -> None:
    """Login and e-mail address are unique without regard to case."""
    with pytest.raises(asyncpg.UniqueViolationError):
        await add_user(admin_database, login, email)


async def test_a_users_role_depends_on_the_organization(admin_database: Database) -> None:
    """A user has no role and no permission outside their organizations; a server admin has all permissions everywhere."""
    user_id = await add_user(admin_database, "ann", "ann@x.org")
    second_org_id = await add_org(admin_database, "Two", (user_id, Role.EDITOR))
    accounts = UserAccounts(admin_database)
    found_accounts = {login: await accounts.find(login, None) for login in ("ann", "admin")}
    identities = {
        login: account.identity for login, account in found_accounts.items() if account is not None and account.identity is not None
    }
    for org_id, role in ((second_org_id, Role.EDITOR), (1, Role.NONE), (9999, Role.NONE), (-1, Role.NONE), (0, Role.NONE)):
        identity = await accounts.identity_in(identities["ann"], org_id)
        assert (identity.org_id, identity.role, identity.may("dashboards:write")) == (org_id, role, role is Role.EDITOR)
        assert (identity.uid, identity.user_id) == (f"user:{user_id}", user_id)
        server_admin = await accounts.identity_in(identities["admin"], org_id)
        assert server_admin.role is (Role.ADMIN if org_id == 1 else Role.NONE)
        assert server_admin.may("orgs.quotas:write", "org:id:1")
