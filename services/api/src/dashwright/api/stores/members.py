"""Memberships of people in organizations. Service accounts have a membership too, and are never shown or changed here."""

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
    """The people of an organization, by e-mail and login; ``only`` those with these ids, None: all."""
    rows = await connection.fetch(_sql.page, org_id, containing, limit, offset, None if only is None else list(only))
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
    """How many ``page`` finds without a limit."""
    return int(await connection.fetchval(_sql.count, org_id, containing, None if only is None else list(only)))


async def organizations(connection: Connection, user_id: int) -> Sequence[Membership]:
    """What a user or service account is a member of, by name."""
    return [Membership(row["id"], row["name"], Role(row["role"])) for row in await connection.fetch(_sql.organizations, user_id)]


async def lock_admins(connection: Connection) -> None:
    """Makes the caller's transaction the only one that takes admins away until it ends."""
    await connection.execute(_sql.lock_admins)


async def role(connection: Connection, org_id: int, user_id: int) -> Role | None:
    """The role of a person, None where they are no member."""
    found = await connection.fetchval(_sql.role, org_id, user_id)
    return None if found is None else Role(found)


async def is_only_admin(connection: Connection, org_id: int, user_id: int) -> bool:
    """Whether an organization has no Admin but this person. Ask under ``lock_admins``."""
    return [row["user_id"] for row in await connection.fetch(_sql.admins, org_id)] == [user_id]


async def only_admin_of(connection: Connection, user_id: int) -> str | None:
    """The name of an organization that has no Admin but this person. Ask under ``lock_admins``."""
    name = await connection.fetchval(_sql.only_admin_of, user_id)
    return None if name is None else str(name)


async def insert(connection: Connection, org_id: int, user_id: int, given: Role, *, taken: DashwrightError) -> None:
    """Raises ``taken`` for a member. The organization must be held, and the user exist."""
    with unique(otherwise={"org_user_pkey": taken}):
        await connection.execute(_sql.insert, org_id, user_id, given.value)


async def set_role(connection: Connection, org_id: int, user_id: int, given: Role) -> None:
    await connection.execute(_sql.set_role, org_id, user_id, given.value)


async def delete(connection: Connection, org_id: int, user_id: int) -> None:
    await connection.execute(_sql.delete, org_id, user_id)
