"""What may be asked, and as whom. The read-only transaction forbids changes of data; this forbids what it does not."""

import asyncpg

from dashwright.common.errors import BadRequest
from dashwright.expressions.sources.postgres.lexing import first_word

READING = ("select", "with", "values", "table", "show", "explain")
"""What a statement may begin with. The server decides on the rest, this only says it better."""

_ROLES = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_signal_backend")
_FUNCTIONS = ("pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "lo_import", "lo_export")
_EXTENSIONS = ("dblink", "adminpack")

_RECIPE = (
    "Make one that only reads and name it as the data source's user: create role dashwright_reader login password '…'; "
    "grant usage on schema public to dashwright_reader; grant select on all tables in schema public to dashwright_reader; "
    "(functions of extensions are taken from everybody by: revoke execute on all functions in schema … from public;)"
)

_MAY_TOO_MUCH = """
with may as (select * from pg_roles where pg_has_role(session_user, oid, 'MEMBER'))
select 'it is a superuser, or may become one: ' || rolname from may where rolsuper
union all
select 'it may replicate: ' || rolname from may where rolreplication and not rolsuper
union all
select 'it is a member of ' || rolname from may where rolname = any ($1::text[])
union all
select distinct 'it may call ' || proname from pg_proc p, may
where pronamespace = 'pg_catalog'::regnamespace and proname = any ($2::text[]) and has_function_privilege(may.oid, p.oid, 'EXECUTE')
union all
select distinct 'it may call functions of the extension ' || extname
from pg_extension e
join pg_depend on refobjid = e.oid and refclassid = 'pg_extension'::regclass and classid = 'pg_proc'::regclass and deptype = 'e', may
where extname = any ($3::text[]) and has_function_privilege(may.oid, objid, 'EXECUTE')
"""
"""Also by roles that are inherited, or that ``set role`` leads to: ``MEMBER`` counts both."""


def check_statement(sql: str) -> None:
    """Raises BadRequest for what does not begin like a statement that reads."""
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise BadRequest("rawSql holds a character that no statement can: NUL, or half of a surrogate pair; remove it")
    word = first_word(sql)
    if word not in READING:
        allowed = ", ".join(reading.upper() for reading in READING)
        begins = f"begins with {word[:40].upper()!r}" if word else "has no statement"
        raise BadRequest(f"rawSql {begins}; a data source only reads: begin with one of {allowed}")


async def check_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Raises BadRequest where the role of the connection may do more than read tables, with a statement that makes a fit one."""
    transaction = connection.transaction(readonly=True)
    await transaction.start()
    try:
        # A path that the role chose for itself must not decide what these functions and operators are.
        await connection.execute("set local search_path to pg_catalog")
        reasons = [row[0] for row in await connection.fetch(_MAY_TOO_MUCH, _ROLES, _FUNCTIONS, _EXTENSIONS)]
        role = await connection.fetchval("select session_user")
    finally:
        await transaction.rollback()
    if reasons:
        raise BadRequest(
            f"the role {role!r} of this data source may do more than read, so nothing is asked as it: {'; '.join(reasons[:5])}. {_RECIPE}",
            message_id="postgres.role",
        )
