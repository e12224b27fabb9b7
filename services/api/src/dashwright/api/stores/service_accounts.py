"""Rows of service accounts: entries of ``"user"`` that log in with tokens only, each in one organization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.identity import Role

_sql = queries.load(__package__, "service_accounts.sql")


@dataclass(frozen=True, slots=True)
class StoredServiceAccount:
    """A stored service account."""

    id: int
    uid: str
    name: str
    login: str
    email: str
    org_id: int
    is_disabled: bool
    role: Role
    #: The number of its tokens, including expired ones.
    token_count: int
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True)
class ServiceAccountQuery:
    """A search for service accounts of an organization."""

    #: A part of the login, name or e-mail.
    containing: str = ""
    only_disabled: bool = False
    #: Only accounts with a token that has expired by this time (Unix seconds).
    expired_at: int | None = None
    #: Only accounts with these ids; all if None.
    ids: frozenset[int] | None = None


async def search(
    connection: Connection, org_id: int, query: ServiceAccountQuery, *, limit: int, offset: int
) -> tuple[Sequence[StoredServiceAccount], int]:
    """Return a page of matching accounts, sorted by e-mail and login, and the number of matches on all pages."""
    values: dict[str, Any] = {
        "org_id": org_id,
        "containing": query.containing,
        "only_disabled": query.only_disabled,
        "expired_at": query.expired_at,
        "ids": None if query.ids is None else list(query.ids),
    }
    rows = await connection.fetch(*_sql.bind("search", **values, limit=limit, offset=offset))
    total = cast("int", await connection.fetchval(*_sql.bind("count", **values)))
    return [_account(row) for row in rows], total


async def find(connection: Connection, org_id: int, account_id: int) -> StoredServiceAccount | None:
    """Return a service account of an organization, or None."""
    row = await connection.fetchrow(_sql.find, org_id, account_id)
    return None if row is None else _account(row)


async def lock_role(connection: Connection, org_id: int, account_id: int) -> Role | None:
    """Return the role of a service account, or None, and keep the account from being deleted until the transaction ends."""
    role = cast("str | None", await connection.fetchval(_sql.lock_role, org_id, account_id))
    return None if role is None else Role(role)


async def id_of(connection: Connection, org_id: int, uid: str) -> int | None:
    """Return the id of the service account with a uid, or None."""
    return cast("int | None", await connection.fetchval(_sql.id_of, org_id, uid))


async def lock_names(connection: Connection, org_id: int) -> None:
    """Lock the assignment of service account names in an organization until the transaction ends."""
    await connection.execute(_sql.lock_names, org_id)


async def is_name_taken(connection: Connection, org_id: int, name: str, *, except_id: int = 0) -> bool:
    """Return whether another service account than ``except_id`` has the name.

    Letter case is ignored, and blanks equal dashes.
    """
    return cast("bool", await connection.fetchval(_sql.is_name_taken, org_id, name, except_id))


async def login_of(connection: Connection, org_id: int, name: str) -> str:
    """Return the login for a name: ``sa-{org}-{name}``, in lower case and with dashes for blanks."""
    return cast("str", await connection.fetchval(_sql.login_of, org_id, name))


async def insert_skipping_taken(
    connection: Connection, org_id: int, names_by_login: Mapping[str, str], *, is_disabled: bool = False
) -> Mapping[str, int]:
    """Insert accounts, and return the ids of the inserted ones by login.

    Logins that are in use are skipped. If two logins differ only in letter case, the second one is skipped. Call
    ``insert_roles`` next: it makes the accounts members of the organization.
    """
    rows = await connection.fetch(_sql.insert_skipping_taken, org_id, list(names_by_login), list(names_by_login.values()), is_disabled)
    return {row["login"]: row["id"] for row in rows}


async def insert_roles(connection: Connection, org_id: int, roles_by_account_id: Mapping[int, Role]) -> None:
    """Insert the memberships of new accounts."""
    role_names = [role.value for role in roles_by_account_id.values()]
    await connection.execute(_sql.insert_roles, org_id, list(roles_by_account_id), role_names)


async def change(
    connection: Connection, org_id: int, account_id: int, *, name: str | None, role: Role | None, is_disabled: bool | None
) -> None:
    """Update a service account. None keeps the stored value."""
    await connection.execute(_sql.change, org_id, account_id, name, is_disabled)
    if role is not None:
        await connection.execute(_sql.change_role, org_id, account_id, role.value)


async def delete(connection: Connection, org_id: int, account_id: int) -> str | None:
    """Delete a service account with everything it owns, and return its name, or None if it does not exist."""
    return cast("str | None", await connection.fetchval(_sql.delete, org_id, account_id))


def _account(row: Any) -> StoredServiceAccount:
    same_named_columns = ("id", "uid", "name", "login", "email", "org_id", "is_disabled")
    return StoredServiceAccount(
        **{column: row[column] for column in same_named_columns},
        role=Role(row["role"]),
        token_count=row["tokens"],
        created=row["created"],
        updated=row["updated"],
    )
