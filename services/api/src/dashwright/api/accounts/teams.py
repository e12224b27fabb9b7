"""Teams: made, changed and removed, and who is in them. Rules of access name teams, so membership is part of who somebody is."""

from typing import Final

from dashwright.api.accounts.rights import Rights
from dashwright.api.accounts.standing_in import require_rules
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, teams
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import Identity

CREATE: Final = "team.create"
UPDATE: Final = "team.update"
DELETE: Final = "team.delete"
ADD_MEMBER: Final = "team.member.add"
UPDATE_MEMBER: Final = "team.member.update"
REMOVE_MEMBER: Final = "team.member.remove"

_ACTS_FOR_OTHERS: Final = "users.password:write"

MEMBER: Final = 0
ADMIN: Final = 4


class Teams:
    """The changes to the teams of the actor's current organization."""

    def __init__(self, database: Database, rights: Rights) -> None:
        self._database = database
        self._rights = rights

    async def create(self, actor: Actor, name: str, email: str, *, creator: int) -> tuple[int, str]:
        """Answers number and uid. ``creator``, the number of a user, becomes an admin of the team; 0: nobody does. Raises AlreadyExists."""
        taken = AlreadyExists("Team name taken")
        async with self._rights.changing(_subject(creator)) as connection:
            team_id, uid = await teams.insert(connection, actor.org_id, name, email, taken=taken)
            if creator:
                await teams.insert_member(connection, actor.org_id, team_id, creator, ADMIN, taken=taken)
            await audit.record(connection, actor, CREATE, _object(team_id), org_id=actor.org_id, details={"name": name})
        return team_id, uid

    async def change(self, actor: Actor, team_id: int, name: str | None, email: str | None) -> None:
        """None leaves a member as it is. Raises NotFound, and BadRequest for a name that is taken."""
        async with self._database.transaction() as connection:
            if not await teams.change(connection, actor.org_id, team_id, name, email, taken=BadRequest("Team name taken")):
                raise not_found()
            given = {"name": name, "email": email}
            details = {key: text for key, text in given.items() if text is not None}
            await audit.record(connection, actor, UPDATE, _object(team_id), org_id=actor.org_id, details=details)

    async def remove(self, actor: Actor, team_id: int) -> None:
        """Raises NotFound."""
        async with self._rights.changing(f"org:{actor.org_id}") as connection:
            name = await teams.delete(connection, actor.org_id, team_id)
            if name is None:
                raise not_found()
            await audit.record(connection, actor, DELETE, _object(team_id), org_id=actor.org_id, details={"name": name})

    async def add_member(self, actor: Actor, caller: Identity, team_id: int, user_id: int, permission: int) -> None:
        """Raise NotFound for an unknown team or a user outside the organization, and BadRequest for a member.

        Raises Forbidden where the caller could see more by it (``require_rules``).
        """
        taken = BadRequest("User is already added to this team")
        async with self._rights.changing(_subject(user_id)) as connection:
            await _hold(connection, actor.org_id, team_id)
            if caller.user_id == user_id or caller.holds(_ACTS_FOR_OTHERS):
                await require_rules(connection, caller, team_id)
            if not await teams.insert_member(connection, actor.org_id, team_id, user_id, permission, taken=taken):
                raise NotFound("User not found")
            details = {"user": user_id, "permission": permission}
            await audit.record(connection, actor, ADD_MEMBER, _object(team_id), org_id=actor.org_id, details=details)

    async def change_member(self, actor: Actor, team_id: int, user_id: int, permission: int) -> None:
        """Raises NotFound."""
        async with self._database.transaction() as connection:
            await _hold(connection, actor.org_id, team_id)
            if not await teams.set_permission(connection, team_id, user_id, permission):
                raise NotFound("Team member not found")
            details = {"user": user_id, "permission": permission}
            await audit.record(connection, actor, UPDATE_MEMBER, _object(team_id), org_id=actor.org_id, details=details)

    async def remove_member(self, actor: Actor, team_id: int, user_id: int) -> None:
        """Raises NotFound."""
        async with self._rights.changing(_subject(user_id)) as connection:
            await _hold(connection, actor.org_id, team_id)
            if not await teams.delete_member(connection, team_id, user_id):
                raise NotFound("Team member not found")
            await audit.record(connection, actor, REMOVE_MEMBER, _object(team_id), org_id=actor.org_id, details={"user": user_id})


def not_found() -> NotFound:
    return NotFound("Team not found")


def _subject(user_id: int) -> str:
    return f"user:{user_id}"


def _object(team_id: int) -> str:
    return f"team:{team_id}"


async def _hold(connection: Connection, org_id: int, team_id: int) -> None:
    if not await teams.hold(connection, org_id, team_id):
        raise not_found()
