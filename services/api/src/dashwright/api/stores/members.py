"""Memberships of users in organizations. Service accounts have memberships, too, but this store neither lists nor changes them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique_violations import convert_unique_violations
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
    """An organization of a user, with the user's role in it."""

    org_id: int
    name: str
    role: Role


async def page(
    connection: Connection, org_id: int, *, containing: str = "", limit: int, offset: int = 0, ids: Collection[int] | None = None
) -> Sequence[Member]:
    """Return a page of the users in an organization, ordered by e-mail and login.

    ``containing`` is a part of the login, e-mail or name. ``ids`` limits the page to these user ids.
    """
    requested_ids = None if ids is None else list(ids)
    query = _sql.bind("page", org_id=org_id, containing=containing, ids=requested_ids, limit=limit, offset=offset)
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


async def count(connection: Connection, org_id: int, *, containing: str = "", ids: Collection[int] | None = None) -> int:
    """Return the number of users that ``page`` finds without a limit."""
    requested_ids = None if ids is None else list(ids)
    return int(await connection.fetchval(*_sql.bind("count", org_id=org_id, containing=containing, ids=requested_ids)))


async def organizations(connection: Connection, user_id: int) -> Sequence[Membership]:
    """Return the organizations of a user or service account, ordered by name."""
    return [Membership(row["id"], row["name"], Role(row["role"])) for row in await connection.fetch(_sql.organizations, user_id)]


async def lock_admins(connection: Connection) -> None:
    """Let only this transaction remove roles of Admins and server admins until it ends."""
    await connection.execute(_sql.lock_admins)


async def role(connection: Connection, org_id: int, user_id: int) -> Role | None:
    """Return the role of a user in an organization, or None if the user is not a member."""
    stored_role = await connection.fetchval(_sql.role, org_id, user_id)
    return None if stored_role is None else Role(stored_role)


async def is_only_admin(connection: Connection, org_id: int, user_id: int) -> bool:
    """Return whether a user is the only Admin of an organization. Call it under ``lock_admins``."""
    return [row["user_id"] for row in await connection.fetch(_sql.admins, org_id)] == [user_id]


async def organization_with_only_admin(connection: Connection, user_id: int) -> str | None:
    """Return the name of an organization whose only Admin is this user, or None. Call it under ``lock_admins``."""
    name = await connection.fetchval(_sql.only_admin_of, user_id)
    return None if name is None else str(name)


async def insert(connection: Connection, org_id: int, user_id: int, new_role: Role, *, exists_error: DashwrightError) -> None:
    """Insert a membership. Raises ``exists_error`` if the user is a member already.

    Call it under ``orgs.lock``. The user must exist.
    """
    with convert_unique_violations({"org_user_pkey": exists_error}):
        await connection.execute(_sql.insert, org_id, user_id, new_role.value)


async def set_role(connection: Connection, org_id: int, user_id: int, new_role: Role) -> None:
    """Change the role of a member."""
    await connection.execute(_sql.set_role, org_id, user_id, new_role.value)


async def delete(connection: Connection, org_id: int, user_id: int) -> None:
    """Delete a membership."""
    await connection.execute(_sql.delete, org_id, user_id)
