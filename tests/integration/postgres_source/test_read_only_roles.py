"""The roles that a data source accepts: those that may only read, and cannot become a more powerful role."""

from collections.abc import AsyncIterator
from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest
from tests.integration.postgres_source.conftest import PASSWORD, RANGE, Warehouse, column_values, patient_limits, sql_query

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.source import Postgres


@pytest.fixture
async def role(owner: Any, warehouse: Warehouse) -> AsyncIterator[str]:
    """Create a role that may only log in, and another one, ``…_higher``, that a test may grant to it."""
    name = f"role_{token_hex(6)}"
    await owner.execute(f"create role {name} login password '{PASSWORD}'; create role {name}_higher")
    yield name
    await owner.execute(f"drop owned by {name}, {name}_higher; drop role {name}; drop role {name}_higher")


def record_of(warehouse: Warehouse, role: str) -> SourceRecord:
    """Return a data source that reads the database with a role."""
    return replace(warehouse.record, uid=role, user=role)


#: Statements that give the role a right, and the reason for which it is refused.
REFUSED_RIGHTS = [
    ("alter role {role} superuser", "it is a superuser, or may become one: {role}"),
    ("alter role {role} replication", "it may replicate: {role}"),
    ("grant pg_read_server_files to {role}", "it is a member of pg_read_server_files"),
    ("grant pg_write_server_files to {role}", "it is a member of pg_write_server_files"),
    ("grant pg_execute_server_program to {role}", "it is a member of pg_execute_server_program"),
    ("grant pg_signal_backend to {role}", "it is a member of pg_signal_backend"),
    ("grant pg_read_server_files to {role}_higher; grant {role}_higher to {role}", "it is a member of pg_read_server_files"),
    ("alter role {role} noinherit; grant pg_execute_server_program to {role}", "it is a member of pg_execute_server_program"),
    ("alter role {role}_higher superuser; grant {role}_higher to {role}", "it is a superuser, or may become one: {role}_higher"),
    ("alter role {role}_higher superuser; alter role {role} noinherit; grant {role}_higher to {role}", "may become one: {role}_higher"),
    ("grant execute on function pg_read_file(text) to {role}", "it may call pg_read_file"),
    ("grant execute on function pg_ls_dir(text) to {role}_higher; grant {role}_higher to {role}", "it may call pg_ls_dir"),
    ("create extension dblink", "it may call functions of the extension dblink"),
    (
        "alter role {role} set search_path = evil, pg_catalog; grant pg_read_server_files to {role}",
        "it is a member of pg_read_server_files",
    ),
]

#: Functions and an operator that would hide the rights of a role, if the check of roles used them by its search path.
MISLEADING_FUNCTIONS = """
    create schema evil;
    create function evil.pg_has_role(name, oid, text) returns boolean language sql as 'select false';
    create function evil.differs(name, text) returns boolean language sql as 'select false';
    create operator evil.= (leftarg = name, rightarg = text, function = evil.differs);
    grant usage on schema evil to public;
"""


@pytest.mark.parametrize(("statement", "message"), REFUSED_RIGHTS)
async def test_a_role_that_may_write_is_refused(
    owner: Any, warehouse: Warehouse, connections: Connections, role: str, statement: str, message: str
) -> None:
    """A role that may write, or become a role that may, is refused, and the error says how to create a suitable role."""
    await owner.execute(MISLEADING_FUNCTIONS)
    await owner.execute(statement.format(role=role))
    source = Postgres(record_of(warehouse, role), connections)
    try:
        for operation in (source.health(), source.query(sql_query("select 1 as x"), RANGE, patient_limits())):
            with pytest.raises(BadRequest, match=f"role '{role}' .* may do more than read.*{message.format(role=role)}") as caught:
                await operation
            assert "create role dashwright_reader login password" in caught.value.message
            assert PASSWORD not in caught.value.message
    finally:
        await owner.execute("drop schema evil cascade; drop extension if exists dblink")
        await owner.execute("revoke execute on all functions in schema pg_catalog from " + role + ", " + role + "_higher")


@pytest.mark.parametrize(
    "statement",
    [
        "grant select on measurement to {role}",
        "grant pg_read_all_data to {role}",
        "grant pg_monitor to {role}",
        "alter role {role} createdb createrole",
        "create extension dblink; revoke execute on all functions in schema public from public; grant select on measurement to {role}",
    ],
)
async def test_a_reading_role_is_accepted(owner: Any, warehouse: Warehouse, connections: Connections, role: str, statement: str) -> None:
    """A role may read anything; the read-only transaction forbids other effects."""
    await owner.execute(statement.format(role=role))
    source = Postgres(record_of(warehouse, role), connections)
    try:
        assert await source.health() == "Database Connection OK"
        (frame,) = await source.query(sql_query("select current_user::text as x"), RANGE, patient_limits())
        assert column_values(frame) == {"x": [role]}
    finally:
        await owner.execute("drop extension if exists dblink; grant execute on all functions in schema public to public")


async def test_every_new_connection_is_checked(owner: Any, warehouse: Warehouse, connections: Connections, role: str) -> None:
    """A role that gets more rights after the data source was created is refused at the next connection."""
    source = Postgres(record_of(warehouse, role), connections)
    assert await source.health() == "Database Connection OK"
    await owner.execute(f"alter role {role} superuser")
    await owner.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", role)
    changed_source = Postgres(replace(record_of(warehouse, role), version=2), connections)
    with pytest.raises(BadRequest, match="it is a superuser"):
        await changed_source.health()
