"""Teams of an organization, and who is in them. Only people are: a service account is in no team."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique import unique
from dashwright.common.errors import DashwrightError

_sql = load(__package__, "teams.sql")


@dataclass(frozen=True, slots=True)
class Team:
    """``permission`` is that of whoever asked: 4 for an admin of the team, else 0."""

    id: int
    uid: str
    org_id: int
    name: str
    email: str
    members: int
    permission: int


@dataclass(frozen=True, slots=True)
class TeamMember:
    org_id: int
    team_id: int
    team_uid: str
    user_id: int
    user_uid: str
    email: str
    name: str
    login: str
    permission: int


@dataclass(frozen=True, slots=True)
class TeamQuery:
    """Which teams of an organization: empty texts stand for any, ``only`` None for all numbers."""

    org_id: int
    containing: str = ""
    name: str = ""
    only: Collection[int] | None = None

    @property
    def numbers(self) -> list[int] | None:
        return None if self.only is None else list(self.only)


async def page(connection: Connection, wanted: TeamQuery, *, limit: int, offset: int, viewer: int) -> Sequence[Team]:
    """By name; ``viewer`` is the number of the user whose permission is told."""
    rows = await connection.fetch(_sql.page, wanted.org_id, wanted.containing, wanted.name, limit, offset, wanted.numbers, viewer)
    return [_team(row) for row in rows]


async def count(connection: Connection, wanted: TeamQuery) -> int:
    """How many ``page`` finds without a limit."""
    return int(await connection.fetchval(_sql.count, wanted.org_id, wanted.containing, wanted.name, wanted.numbers))


async def of_member(connection: Connection, org_id: int, user_id: int, only: Collection[int] | None = None) -> Sequence[Team]:
    """The teams that a user is in, by name, with the user's own permission in each; ``only`` those with these numbers, None: all."""
    return [_team(row) for row in await connection.fetch(_sql.of_member, org_id, user_id, None if only is None else list(only))]


async def person_exists(connection: Connection, user_id: int) -> bool:
    """Whether a number is a person's; a service account is in no team."""
    return bool(await connection.fetchval(_sql.person_exists, user_id))


async def find(connection: Connection, org_id: int, number: int | None, uid: str, *, viewer: int) -> Team | None:
    """By number, or else by uid."""
    row = await connection.fetchrow(_sql.find, org_id, number, uid, viewer)
    return None if row is None else _team(row)


async def hold(connection: Connection, org_id: int, team_id: int) -> bool:
    """Keeps a team from being deleted until the transaction ends; False where there is none."""
    return await connection.fetchval(_sql.hold, org_id, team_id) is not None


async def insert(connection: Connection, org_id: int, name: str, email: str, *, taken: DashwrightError) -> tuple[int, str]:
    """Makes a team and answers its number and uid. Raises ``taken``."""
    with unique(otherwise={"team_org_id_name_key": taken}):
        row = await connection.fetchrow(_sql.insert, org_id, name, email)
    assert row is not None, "an insert without a condition writes its row"
    return row["id"], row["uid"]


async def change(connection: Connection, org_id: int, team_id: int, name: str | None, email: str | None, *, taken: DashwrightError) -> bool:
    """None leaves a column as it is. Answers False where there is no such team. Raises ``taken``."""
    with unique(otherwise={"team_org_id_name_key": taken}):
        return await connection.fetchval(_sql.change, org_id, team_id, name, email) is not None


async def delete(connection: Connection, org_id: int, team_id: int) -> str | None:
    """Removes a team with its memberships and preferences; answers its name, None where there is none."""
    name = await connection.fetchval(_sql.delete, org_id, team_id)
    return None if name is None else str(name)


async def members(connection: Connection, team_id: int) -> Sequence[TeamMember]:
    """By login."""
    return [TeamMember(**row) for row in await connection.fetch(_sql.members, team_id)]


async def insert_member(
    connection: Connection, org_id: int, team_id: int, user_id: int, permission: int, *, taken: DashwrightError
) -> bool:
    """Answers False where the user is nobody of the organization. Raises ``taken`` for a member. The team must be held."""
    with unique(otherwise={"team_member_team_id_user_id_key": taken}):
        return await connection.fetchval(_sql.insert_member, org_id, team_id, user_id, permission) is not None


async def set_permission(connection: Connection, team_id: int, user_id: int, permission: int) -> bool:
    """Answers False where the user is no member."""
    return await connection.fetchval(_sql.set_permission, team_id, user_id, permission) is not None


async def delete_member(connection: Connection, team_id: int, user_id: int) -> bool:
    """Answers False where the user was no member."""
    return await connection.fetchval(_sql.delete_member, team_id, user_id) is not None


def _team(row: Any) -> Team:
    return Team(row["id"], row["uid"], row["org_id"], row["name"], row["email"], row["members"], row["permission"])
