"""Checks of statements and roles. The read-only transaction forbids changes of data; this forbids what it does not."""

import asyncpg

from dashwright.common.errors import BadRequest
from dashwright.expressions.sources.postgres.lexing import first_word

#: First words of a statement. The server decides on the rest; this gives the better message.
READING = ("select", "with", "values", "table", "show", "explain")

_ROLES = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_signal_backend")
_FUNCTIONS = ("pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "lo_import", "lo_export")
_EXTENSIONS = ("dblink", "adminpack")

_RECIPE = (
    "Make one that only reads and name it as the data source's user: create role dashwright_reader login password '…'; "
    "grant usage on schema public to dashwright_reader; grant select on all tables in schema public to dashwright_reader; "
    "(functions of extensions are revoked from all roles by: revoke execute on all functions in schema … from public;)"
)

#: Reasons why a role may do more than read, also by inherited roles and ``set role``: ``MEMBER`` covers both.
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


def check_statement(sql: str) -> None:
    """Raise BadRequest if the statement does not start with a word that reads."""
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise BadRequest("rawSql holds a character that is not allowed in statements: NUL, or half of a surrogate pair; remove it")
    word = first_word(sql)
    if word not in READING:
        allowed = ", ".join(reading.upper() for reading in READING)
        begins = f"begins with {word[:40].upper()!r}" if word else "has no statement"
        raise BadRequest(f"rawSql {begins}; a data source only reads: begin with one of {allowed}")


async def check_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Raise BadRequest if the role may do more than read tables; the message has statements that create a fitting role."""
    transaction = connection.transaction(readonly=True)
    await transaction.start()
    try:
        # The role may have set a search path of its own, which could replace these functions and operators.
        await connection.execute("set local search_path to pg_catalog")
        reasons = [row[0] for row in await connection.fetch(_MAY_TOO_MUCH, _ROLES, _FUNCTIONS, _EXTENSIONS)]
        role = await connection.fetchval("select session_user")
    finally:
        await transaction.rollback()
    if reasons:
        raise BadRequest(
            f"the role {role!r} of this data source may do more than read, so no query is run as it: {'; '.join(reasons[:5])}. {_RECIPE}",
            message_id="postgres.role",
        )
