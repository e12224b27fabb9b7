"""Checks of statements and roles. They are needed because a read-only transaction forbids only changes of data."""

import asyncpg

from dashwright.common.errors import BadRequest
from dashwright.expressions.sources.postgres.lexing import first_word

#: The first words of allowed statements. The server would refuse changes too, but with a less helpful message.
READ_KEYWORDS = ("select", "with", "values", "table", "show", "explain")

# Roles, functions and extensions that give more rights than reading tables.
_PRIVILEGED_ROLES = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_signal_backend")
_PRIVILEGED_FUNCTIONS = ("pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "lo_import", "lo_export")
_PRIVILEGED_EXTENSIONS = ("dblink", "adminpack")
#: The maximum number of excessive rights that an error lists.
_MAX_REASONS = 5

_ROLE_ADVICE = (
    "Make one that only reads and name it as the data source's user: create role dashwright_reader login password '…'; "
    "grant usage on schema public to dashwright_reader; grant select on all tables in schema public to dashwright_reader; "
    "(functions of extensions are revoked from all roles by: revoke execute on all functions in schema … from public;)"
)

#: Selects the reasons why the role of the session may do more than read. ``MEMBER`` includes indirect memberships and
#: those that take effect only by ``set role``.
_EXCESSIVE_RIGHTS = """
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
    """Raise BadRequest if the first word of the statement is not in READ_KEYWORDS, or for NUL or half of a surrogate pair."""
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        raise BadRequest("rawSql holds a character that is not allowed in statements: NUL, or half of a surrogate pair; remove it")
    word = first_word(sql)
    if word not in READ_KEYWORDS:
        allowed = ", ".join(keyword.upper() for keyword in READ_KEYWORDS)
        begins = f"begins with {word[:40].upper()!r}" if word else "has no statement"
        raise BadRequest(f"rawSql {begins}; a data source only reads: begin with one of {allowed}")


async def check_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Raise BadRequest if the role may do more than read tables. The message contains SQL that creates such a role."""
    transaction = connection.transaction(readonly=True)
    await transaction.start()
    try:
        # With the search path of the role, functions of another schema could replace those that ``_EXCESSIVE_RIGHTS`` calls.
        await connection.execute("set local search_path to pg_catalog")
        reasons = [
            row[0] for row in await connection.fetch(_EXCESSIVE_RIGHTS, _PRIVILEGED_ROLES, _PRIVILEGED_FUNCTIONS, _PRIVILEGED_EXTENSIONS)
        ]
        role = await connection.fetchval("select session_user")
    finally:
        await transaction.rollback()
    if reasons:
        raise BadRequest(
            f"the role {role!r} of this data source may do more than read, so no query is run as it: {'; '.join(reasons[:_MAX_REASONS])}. "
            f"{_ROLE_ADVICE}",
            message_id="postgres.role",
        )
