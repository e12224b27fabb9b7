"""Rights of each service's database role: it may read and write rows, but never change the schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from dashwright.common.errors import DashwrightError

_IDENTITY_TABLES: Final = (
    "user",
    "person",
    "org",
    "org_user",
    "api_key",
    "team",
    "team_member",
    "permission",
    "preferences",
    "star",
    "quota",
)
_MIGRATIONS_TABLE: Final = "schema_migrations"
_AUDIT_TABLE: Final = "audit_event"
_DEAD_LETTER_TABLE: Final = "dead_letter"
#: Tables that only the gateway uses, whose role is ``dashwright_api``.
_GATEWAY_TABLES: Final = (_AUDIT_TABLE, _DEAD_LETTER_TABLE, "dashboard_snapshot", "short_url", "query_history")


@dataclass(frozen=True, slots=True)
class Rights:
    """Tables that a role may not write, or not use at all. The role may read and write all other tables."""

    read_only: tuple[str, ...] = ()
    inaccessible: tuple[str, ...] = ()


RIGHTS_BY_ROLE: Final[Mapping[str, Rights]] = {
    "dashwright_api": Rights(read_only=(_MIGRATIONS_TABLE,)),
    # The worker counts members and keys against quotas, and reads the names of authors.
    "dashwright_jobs_worker": Rights(read_only=(_MIGRATIONS_TABLE, *_IDENTITY_TABLES), inaccessible=_GATEWAY_TABLES),
    "dashwright_expressions": Rights(read_only=(_MIGRATIONS_TABLE,), inaccessible=(*_IDENTITY_TABLES, *_GATEWAY_TABLES)),
}


async def grant(connection: "asyncpg.Connection[Any]", rights_by_role: Mapping[str, Rights] = RIGHTS_BY_ROLE) -> None:
    """Grant each role its rights on every table; roles that do not exist are skipped.

    Call it in a transaction as the owner of the tables. Raises DashwrightError if another role owns one of the tables.
    """
    try:
        await _grant(connection, rights_by_role)
    except asyncpg.InsufficientPrivilegeError as error:
        advice = "make one role the owner of all tables, as deploy/postgres/roles.sql does, and migrate as that role"
        raise DashwrightError(f"The rights of the services' roles could not be granted ({error}); {advice}") from error


async def _grant(connection: "asyncpg.Connection[Any]", rights_by_role: Mapping[str, Rights]) -> None:
    """Grant the rights of each role that exists."""
    for role in await connection.fetch("select rolname from pg_roles where rolname = any($1::text[])", list(rights_by_role)):
        name, rights = role["rolname"], rights_by_role[role["rolname"]]
        await connection.execute(f'grant select, insert, update, delete on all tables in schema public to "{name}"')
        await connection.execute(f'grant usage, select, update on all sequences in schema public to "{name}"')
        for table in rights.read_only:
            await connection.execute(f'revoke insert, update, delete on "{table}" from "{name}"')
        for table in rights.inaccessible:
            await connection.execute(f'revoke all on "{table}" from "{name}"')
