"""The roles of services read and write rows as far as their service needs, and never the schema."""

from collections.abc import AsyncIterator, Callable
from secrets import token_hex
from urllib.parse import urlsplit

import asyncpg
import pytest

from dashwright.common.database import grants
from dashwright.common.database.pool import Database

Address = Callable[[str], str]
API, JOBS_WORKER, EXPRESSIONS = grants.SERVICES


@pytest.fixture
async def address(database: Database, database_url: str) -> AsyncIterator[Address]:
    """Roles of this test's own, with the rights of the services; yields the address for one."""
    suffix, parts = f"_{token_hex(4)}", urlsplit(database_url)
    async with database.transaction() as connection:
        for name in grants.SERVICES:
            await connection.execute(f"create role {name}{suffix} login password 'hush'")
        await grants.grant(connection, {name + suffix: rights for name, rights in grants.SERVICES.items()})  # type: ignore[arg-type]
    yield lambda name: parts._replace(netloc=f"{name}{suffix}:hush@{parts.netloc.rpartition('@')[2]}").geturl()
    async with database.transaction() as connection:
        for name in grants.SERVICES:
            await connection.execute(f"drop owned by {name}{suffix}; drop role {name}{suffix}")


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        *((role, "create table mine (a int)") for role in grants.SERVICES),
        *((role, "drop table resource") for role in grants.SERVICES),
        *((role, "alter table resource disable trigger all") for role in grants.SERVICES),
        *((role, "truncate change") for role in grants.SERVICES),
        *((role, "insert into schema_migrations (name, checksum) values ('9', '')") for role in grants.SERVICES),
        *((role, "create role other") for role in grants.SERVICES),
        *((role, "copy (select 1) to program 'true'") for role in grants.SERVICES),
        *((role, "select pg_read_file('/etc/passwd')") for role in grants.SERVICES),
        (EXPRESSIONS, 'select password from "user"'),
        (EXPRESSIONS, "select * from person"),
        (EXPRESSIONS, "select key from api_key"),
        (EXPRESSIONS, "select * from audit_event"),
        (JOBS_WORKER, "delete from audit_event"),
        (JOBS_WORKER, 'update "user" set is_admin = true'),
        (JOBS_WORKER, "insert into api_key default values"),
        (JOBS_WORKER, "update org_user set role = 'Admin'"),
        (JOBS_WORKER, "insert into permission default values"),
    ],
)
async def test_a_service_may_not(address: Address, role: str, statement: str) -> None:
    """The database refuses it."""
    connection = await asyncpg.connect(address(role))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()
