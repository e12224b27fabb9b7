"""Use cases for teams and their members. Access rules name teams, so membership is part of a caller's identity."""

from typing import Final

from dashwright.api.accounts.impersonation import require_rules
from dashwright.api.accounts.rights import Rights
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

_SET_PASSWORDS: Final = "users.password:write"

MEMBER: Final = 0
ADMIN: Final = 4


class Teams:
    """Changes to the teams of the actor's current organization."""

    def __init__(self, database: Database, rights: Rights) -> None:
        self._database = database
        self._rights = rights

    async def create(self, actor: Actor, name: str, email: str, *, creator: int) -> tuple[int, str]:
        """Create a team and return its id and uid. The user with the id ``creator`` (0: no user) becomes its admin.

        Raises AlreadyExists for a name that is in use.
        """
        name_in_use = AlreadyExists("Team name taken")
        async with self._rights.changing(_subject(creator)) as connection:
            team_id, uid = await teams.insert(connection, actor.org_id, name, email, taken=name_in_use)
            if creator:
                await teams.insert_member(connection, actor.org_id, team_id, creator, ADMIN, taken=name_in_use)
            await audit.record(connection, actor, CREATE, _audit_target(team_id), org_id=actor.org_id, details={"name": name})
        return team_id, uid

    async def change(self, actor: Actor, team_id: int, name: str | None, email: str | None) -> None:
        """Change the name or e-mail of a team; None keeps it. Raises NotFound, and BadRequest for a name that is in use."""
        async with self._database.transaction() as connection:
            if not await teams.change(connection, actor.org_id, team_id, name, email, taken=BadRequest("Team name taken")):
                raise not_found()
            details = {key: text for key, text in {"name": name, "email": email}.items() if text is not None}
            await audit.record(connection, actor, UPDATE, _audit_target(team_id), org_id=actor.org_id, details=details)

    async def remove(self, actor: Actor, team_id: int) -> None:
        """Remove a team. Raises NotFound."""
        async with self._rights.changing(f"org:{actor.org_id}") as connection:
            name = await teams.delete(connection, actor.org_id, team_id)
            if name is None:
                raise not_found()
            await audit.record(connection, actor, DELETE, _audit_target(team_id), org_id=actor.org_id, details={"name": name})

    async def add_member(self, actor: Actor, caller: Identity, team_id: int, user_id: int, permission: int) -> None:
        """Add a user to a team.

        Raises NotFound for an unknown team or a user outside the organization, BadRequest if the user is a member already, and Forbidden if
        the caller would gain access that they may not grant. ``actor`` is for the audit log, ``caller`` for the check of rights.
        """
        already_member = BadRequest("User is already added to this team")
        async with self._rights.changing(_subject(user_id)) as connection:
            await _lock(connection, actor.org_id, team_id)
            # A caller who may set passwords could log in as the new member, and so gain the team's access.
            if caller.user_id == user_id or caller.holds(_SET_PASSWORDS):
                await require_rules(connection, caller, team_id)
            if not await teams.insert_member(connection, actor.org_id, team_id, user_id, permission, taken=already_member):
                raise NotFound("User not found")
            details = {"user": user_id, "permission": permission}
            await audit.record(connection, actor, ADD_MEMBER, _audit_target(team_id), org_id=actor.org_id, details=details)

    async def change_member(self, actor: Actor, team_id: int, user_id: int, permission: int) -> None:
        """Change the permission of a member. Raises NotFound."""
        async with self._database.transaction() as connection:
            await _lock(connection, actor.org_id, team_id)
            if not await teams.set_permission(connection, team_id, user_id, permission):
                raise NotFound("Team member not found")
            details = {"user": user_id, "permission": permission}
            await audit.record(connection, actor, UPDATE_MEMBER, _audit_target(team_id), org_id=actor.org_id, details=details)

    async def remove_member(self, actor: Actor, team_id: int, user_id: int) -> None:
        """Remove a member. Raises NotFound."""
        async with self._rights.changing(_subject(user_id)) as connection:
            await _lock(connection, actor.org_id, team_id)
            if not await teams.delete_member(connection, team_id, user_id):
                raise NotFound("Team member not found")
            await audit.record(connection, actor, REMOVE_MEMBER, _audit_target(team_id), org_id=actor.org_id, details={"user": user_id})


def not_found() -> NotFound:
    """Return the error for an unknown team."""
    return NotFound("Team not found")


def _subject(user_id: int) -> str:
    return f"user:{user_id}"


def _audit_target(team_id: int) -> str:
    return f"team:{team_id}"


async def _lock(connection: Connection, org_id: int, team_id: int) -> None:
    if not await teams.hold(connection, org_id, team_id):
        raise not_found()
