"""Storage of teams and their members. Only users can be members, not service accounts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.database.unique_violations import convert_unique_violations
from dashwright.common.errors import DashwrightError

_sql = load(__package__, "teams.sql")


@dataclass(frozen=True, slots=True)
class Team:
    """A stored team."""

    id: int
    uid: str
    org_id: int
    name: str
    email: str
    member_count: int
    #: The permission of one user in the team: 4 for an admin of the team, else 0.
    permission: int


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A member of a team."""

    org_id: int
    team_id: int
    team_uid: str
    user_id: int
    user_uid: str
    email: str
    name: str
    login: str
    #: 4 for an admin of the team, else 0.
    permission: int


@dataclass(frozen=True, slots=True)
class TeamQuery:
    """A search for teams of an organization. An empty string does not filter."""

    org_id: int
    #: A part of the name.
    containing: str = ""
    #: The complete name.
    name: str = ""
    #: Only teams with these ids; all if None.
    ids: Collection[int] | None = None


async def page(connection: Connection, query: TeamQuery, *, limit: int, offset: int, user_id: int) -> Sequence[Team]:
    """Return a page of teams, sorted by name, with the permission of user ``user_id`` in each."""
    rows = await connection.fetch(*_sql.bind("page", **_search_parameters(query), limit=limit, offset=offset, user_id=user_id))
    return [_team(row) for row in rows]


async def count(connection: Connection, query: TeamQuery) -> int:
    """Return the number of teams that ``page`` finds without a limit."""
    return int(await connection.fetchval(*_sql.bind("count", **_search_parameters(query))))


async def of_member(connection: Connection, org_id: int, user_id: int, ids: Collection[int] | None = None) -> Sequence[Team]:
    """Return the teams of a user, sorted by name, with the user's permission in each. ``ids`` limits them to these ids."""
    return [_team(row) for row in await connection.fetch(_sql.of_member, org_id, user_id, None if ids is None else list(ids))]


async def person_exists(connection: Connection, user_id: int) -> bool:
    """Return whether an id belongs to a user. False for the id of a service account."""
    return bool(await connection.fetchval(_sql.person_exists, user_id))


async def find(connection: Connection, org_id: int, team_id: int | None, uid: str, *, user_id: int) -> Team | None:
    """Return the team with an id, or else with a uid, and the permission of user ``user_id`` in it. None for an unknown team."""
    row = await connection.fetchrow(_sql.find, org_id, team_id, uid, user_id)
    return None if row is None else _team(row)


async def lock(connection: Connection, org_id: int, team_id: int) -> bool:
    """Keep a team from being deleted until the transaction ends. Returns False if it does not exist."""
    return await connection.fetchval(_sql.lock, org_id, team_id) is not None


async def insert(connection: Connection, org_id: int, name: str, email: str, *, taken_error: DashwrightError) -> tuple[int, str]:
    """Insert a team and return its id and uid. Raises ``taken_error`` if the name is in use."""
    with convert_unique_violations({"team_org_id_name_key": taken_error}):
        row = await connection.fetchrow(_sql.insert, org_id, name, email)
    assert row is not None, "an insert without a condition writes its row"
    return row["id"], row["uid"]


async def change(
    connection: Connection, org_id: int, team_id: int, name: str | None, email: str | None, *, taken_error: DashwrightError
) -> bool:
    """Update a team and return whether it exists. None leaves a value unchanged. Raises ``taken_error`` if the name is in use."""
    with convert_unique_violations({"team_org_id_name_key": taken_error}):
        return await connection.fetchval(_sql.change, org_id, team_id, name, email) is not None


async def delete(connection: Connection, org_id: int, team_id: int) -> str | None:
    """Delete a team with its memberships and preferences, and return its name, or None if it does not exist."""
    name = await connection.fetchval(_sql.delete, org_id, team_id)
    return None if name is None else str(name)


async def members(connection: Connection, team_id: int) -> Sequence[TeamMember]:
    """Return the members of a team, sorted by login."""
    return [TeamMember(**row) for row in await connection.fetch(_sql.members, team_id)]


async def insert_member(
    connection: Connection, org_id: int, team_id: int, user_id: int, permission: int, *, taken_error: DashwrightError
) -> bool:
    """Insert a member and return False if the user is not in the organization.

    Raises ``taken_error`` for an existing member. The team must be locked with ``lock``.
    """
    with convert_unique_violations({"team_member_team_id_user_id_key": taken_error}):
        return await connection.fetchval(_sql.insert_member, org_id, team_id, user_id, permission) is not None


async def set_permission(connection: Connection, team_id: int, user_id: int, permission: int) -> bool:
    """Change a member's permission and return whether the user is a member."""
    return await connection.fetchval(_sql.set_permission, team_id, user_id, permission) is not None


async def delete_member(connection: Connection, team_id: int, user_id: int) -> bool:
    """Delete a member and return whether the user was one."""
    return await connection.fetchval(_sql.delete_member, team_id, user_id) is not None


def _team(row: Any) -> Team:
    return Team(row["id"], row["uid"], row["org_id"], row["name"], row["email"], row["members"], row["permission"])


def _search_parameters(query: TeamQuery) -> dict[str, Any]:
    ids = None if query.ids is None else list(query.ids)
    return {"org_id": query.org_id, "containing": query.containing, "name": query.name, "ids": ids}
