"""Rights of each service's role on the tables: rows, never the schema. A database without these roles is not changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from dashwright.common.errors import DashwrightError

_IDENTITY: Final = ("user", "person", "org", "org_user", "api_key", "team", "team_member", "permission", "preferences", "star", "quota")
_RECORD: Final = "schema_migrations"
_AUDIT: Final = "audit_event"


@dataclass(frozen=True, slots=True)
class Rights:
    """Tables on which a role may do less than read and write."""

    read_only: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


SERVICES: Final[Mapping[str, Rights]] = {
    "dashwright_api": Rights(read_only=(_RECORD,)),
    # The worker counts members and keys against quotas, and reads the names of authors.
    "dashwright_jobs_worker": Rights(read_only=(_RECORD, *_IDENTITY), closed=(_AUDIT,)),
    "dashwright_expressions": Rights(read_only=(_RECORD,), closed=(*_IDENTITY, _AUDIT)),
}


async def grant(connection: "asyncpg.Connection[Any]", services: Mapping[str, Rights] = SERVICES) -> None:
    """Grant each existing role its rights on every table. Call in a transaction, as the owner of the tables.

    Raises DashwrightError if another role owns some of them.
    """
    try:
        await _grant(connection, services)
    except asyncpg.InsufficientPrivilegeError as error:
        advice = "make one role the owner of all tables, as deploy/postgres/roles.sql does, and migrate as that"
        raise DashwrightError(f"The rights of the services' roles could not be granted ({error}); {advice}") from error


async def _grant(connection: "asyncpg.Connection[Any]", services: Mapping[str, Rights]) -> None:
    for role in await connection.fetch("select rolname from pg_roles where rolname = any($1::text[])", list(services)):
        name, rights = role["rolname"], services[role["rolname"]]
        await connection.execute(f'grant select, insert, update, delete on all tables in schema public to "{name}"')
        await connection.execute(f'grant usage, select, update on all sequences in schema public to "{name}"')
        for table in rights.read_only:
            await connection.execute(f'revoke insert, update, delete on "{table}" from "{name}"')
        for table in rights.closed:
            await connection.execute(f'revoke all on "{table}" from "{name}"')
