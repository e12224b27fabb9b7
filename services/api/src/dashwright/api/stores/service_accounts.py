"""Service accounts: rows of ``"user"`` that log in with tokens only, each in one organization, with one role there."""

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
    """A service account; ``tokens`` counts those it has, expired ones too."""

    id: int
    uid: str
    name: str
    login: str
    email: str
    org_id: int
    is_disabled: bool
    role: Role
    tokens: int
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True)
class ServiceAccountQuery:
    """Which accounts to show. ``expired_at``: only those with a token that has ended by then (Unix seconds). ``ids``: only these."""

    text: str = ""
    only_disabled: bool = False
    expired_at: int | None = None
    ids: frozenset[int] | None = None


async def matching(
    connection: Connection, org_id: int, search: ServiceAccountQuery, *, limit: int, offset: int
) -> tuple[Sequence[StoredServiceAccount], int]:
    """One page, sorted by e-mail and login, and how many there are on all pages."""
    ids = None if search.ids is None else list(search.ids)
    wanted = (org_id, search.text, search.only_disabled, search.expired_at is not None, search.expired_at, ids)
    rows = await connection.fetch(_sql.matching, *wanted, limit, offset)
    total = cast("int", await connection.fetchval(_sql.count_matching, *wanted))
    return [_account(row) for row in rows], total


async def find(connection: Connection, org_id: int, account_id: int) -> StoredServiceAccount | None:
    """The service account of that number, None where the organization has none."""
    row = await connection.fetchrow(_sql.find, org_id, account_id)
    return None if row is None else _account(row)


async def hold_role(connection: Connection, org_id: int, account_id: int) -> Role | None:
    """The account's role; the account cannot be deleted before the transaction ends. None where there is no such account."""
    role = cast("str | None", await connection.fetchval(_sql.hold_role, org_id, account_id))
    return None if role is None else Role(role)


async def number_of(connection: Connection, org_id: int, uid: str) -> int | None:
    """The number of the account with a uid."""
    return cast("int | None", await connection.fetchval(_sql.number_of, org_id, uid))


async def lock_names(connection: Connection, org_id: int) -> None:
    """Waits until nobody else gives names to service accounts of the organization, until the transaction ends."""
    await connection.execute(_sql.lock_names, org_id)


async def is_name_taken(connection: Connection, org_id: int, name: str, *, but: int = 0) -> bool:
    """Whether a service account other than ``but`` has the name; neither case nor blanks for dashes make it another one."""
    return cast("bool", await connection.fetchval(_sql.is_name_taken, org_id, name, but))


async def login_of(connection: Connection, org_id: int, name: str) -> str:
    """``sa-{org}-{name in small letters, dashes for blanks}``."""
    return cast("str", await connection.fetchval(_sql.login_of, org_id, name))


async def insert_where_free(
    connection: Connection, org_id: int, names: Mapping[str, str], *, is_disabled: bool = False
) -> Mapping[str, int]:
    """Makes accounts, given names by login, except where somebody has the login; answers the numbers of those made, by login.

    Of two logins that differ in case only the first is made. An account without a role is no member yet: see ``insert_roles``.
    """
    rows = await connection.fetch(_sql.insert_where_free, org_id, list(names), list(names.values()), is_disabled)
    return {row["login"]: row["id"] for row in rows}


async def insert_roles(connection: Connection, org_id: int, roles: Mapping[int, Role]) -> None:
    """The memberships of new accounts: a role by the number of each."""
    await connection.execute(_sql.insert_roles, org_id, list(roles), [role.value for role in roles.values()])


async def change(
    connection: Connection, org_id: int, account_id: int, *, name: str | None, role: Role | None, is_disabled: bool | None
) -> None:
    """Changes what is not None."""
    await connection.execute(_sql.change, org_id, account_id, name, is_disabled)
    if role is not None:
        await connection.execute(_sql.change_role, org_id, account_id, role.value)


async def delete(connection: Connection, org_id: int, account_id: int) -> str | None:
    """The name of the account that was deleted with all it owned; None where there is none."""
    return cast("str | None", await connection.fetchval(_sql.delete, org_id, account_id))


def _account(row: Any) -> StoredServiceAccount:
    members = ("id", "uid", "name", "login", "email", "org_id", "is_disabled")
    return StoredServiceAccount(
        **{name: row[name] for name in members},
        role=Role(row["role"]),
        tokens=row["tokens"],
        created=row["created"],
        updated=row["updated"],
    )
