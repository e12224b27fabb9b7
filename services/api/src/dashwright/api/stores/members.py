"""Memberships of users in organizations. Service accounts have memberships too, which are never listed or changed here."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique import unique
from dashwright.common.errors import DashwrightError
from dashwright.common.identity import Role

_sql = load(__package__, "members.sql")


@dataclass(frozen=True, slots=True)
class Member:
    """A user in an organization."""

    org_id: int
    role: Role
    user_id: int
    uid: str
    login: str
    email: str
    name: str
    is_disabled: bool
    created: datetime
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Membership:
    """An organization as one of its members sees it."""

    org_id: int
    name: str
    role: Role


async def page(
    connection: Connection, org_id: int, *, containing: str = "", limit: int, offset: int = 0, only: Collection[int] | None = None
) -> Sequence[Member]:
    """Return a page of the users in an organization, ordered by e-mail and login.

    ``containing`` is a part of the login, e-mail or name. ``only`` limits the page to these user ids.
    """
    ids = None if only is None else list(only)
    query = _sql.bind("page", org_id=org_id, containing=containing, only=ids, limit=limit, offset=offset)
    rows = await connection.fetch(*query)
    return [
        Member(
            row["org_id"],
            Role(row["role"]),
            row["id"],
            row["uid"],
            row["login"],
            row["email"],
            row["name"],
            row["is_disabled"],
            row["created"],
            row["last_seen_at"],
        )
        for row in rows
    ]


async def count(connection: Connection, org_id: int, *, containing: str = "", only: Collection[int] | None = None) -> int:
    """Return the number of users that ``page`` finds without a limit."""
    ids = None if only is None else list(only)
    return int(await connection.fetchval(*_sql.bind("count", org_id=org_id, containing=containing, only=ids)))


async def organizations(connection: Connection, user_id: int) -> Sequence[Membership]:
    """Return the organizations of a user or service account, ordered by name."""
    return [Membership(row["id"], row["name"], Role(row["role"])) for row in await connection.fetch(_sql.organizations, user_id)]


async def lock_admins(connection: Connection) -> None:
    """Take the lock that serializes removals of admin roles, until the transaction ends."""
    await connection.execute(_sql.lock_admins)


async def role(connection: Connection, org_id: int, user_id: int) -> Role | None:
    """Return the role of a user in an organization, or None if the user is not a member."""
    found = await connection.fetchval(_sql.role, org_id, user_id)
    return None if found is None else Role(found)


async def is_only_admin(connection: Connection, org_id: int, user_id: int) -> bool:
    """Return whether a user is the only Admin of an organization. Call it under ``lock_admins``."""
    return [row["user_id"] for row in await connection.fetch(_sql.admins, org_id)] == [user_id]


async def only_admin_of(connection: Connection, user_id: int) -> str | None:
    """Return the name of an organization whose only Admin is this user, or None. Call it under ``lock_admins``."""
    name = await connection.fetchval(_sql.only_admin_of, user_id)
    return None if name is None else str(name)


async def insert(connection: Connection, org_id: int, user_id: int, new_role: Role, *, if_exists: DashwrightError) -> None:
    """Insert a membership. Raises ``if_exists`` if it exists already.

    The caller must hold a lock on the organization, and the user must exist.
    """
    with unique(otherwise={"org_user_pkey": if_exists}):
        await connection.execute(_sql.insert, org_id, user_id, new_role.value)


async def set_role(connection: Connection, org_id: int, user_id: int, new_role: Role) -> None:
    """Change the role of a member."""
    await connection.execute(_sql.set_role, org_id, user_id, new_role.value)


async def delete(connection: Connection, org_id: int, user_id: int) -> None:
    """Delete a membership."""
    await connection.execute(_sql.delete, org_id, user_id)
