"""Use cases for teams and their members. Access rules name teams, so the teams of a caller are part of the identity."""

from typing import Final

from dashwright.api.accounts.impersonation import require_rules_permission
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, teams
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import Identity

# Audit events.
CREATE: Final = "team.create"
UPDATE: Final = "team.update"
DELETE: Final = "team.delete"
ADD_MEMBER: Final = "team.member.add"
UPDATE_MEMBER: Final = "team.member.update"
REMOVE_MEMBER: Final = "team.member.remove"

_SET_PASSWORDS_ACTION: Final = "users.password:write"

MEMBER: Final = 0
"""Grafana's number for the permission of an ordinary member."""
ADMIN: Final = 4
"""Grafana's number for the permission of a member who may change the team."""


class Teams:
    """Changes to the teams of the actor's current organization."""

    def __init__(self, database: Database, transactions: RightsTransactions) -> None:
        self._database = database
        self._transactions = transactions

    async def create(self, actor: Actor, name: str, email: str, *, creator_id: int) -> tuple[int, str]:
        """Create a team and return its id and uid. The user with ``creator_id`` (0: the caller is not a user) becomes its admin.

        Raises AlreadyExists for a name that is in use.
        """
        name_in_use = AlreadyExists("Team name taken")
        async with self._transactions.invalidating(_invalidation_subject(creator_id)) as connection:
            team_id, uid = await teams.insert(connection, actor.org_id, name, email, taken_error=name_in_use)
            if creator_id:
                # A new team has no members, so the error is never raised here.
                await teams.insert_member(connection, actor.org_id, team_id, creator_id, ADMIN, taken_error=name_in_use)
            await audit.record(connection, actor, CREATE, _audit_target(team_id), org_id=actor.org_id, details={"name": name})
        return team_id, uid

    async def change(self, actor: Actor, team_id: int, name: str | None, email: str | None) -> None:
        """Change the name or e-mail of a team; None keeps it. Raises NotFound, and BadRequest for a name that is in use."""
        async with self._database.transaction() as connection:
            if not await teams.change(connection, actor.org_id, team_id, name, email, taken_error=BadRequest("Team name taken")):
                raise not_found()
            details = {key: value for key, value in {"name": name, "email": email}.items() if value is not None}
            await audit.record(connection, actor, UPDATE, _audit_target(team_id), org_id=actor.org_id, details=details)

    async def remove(self, actor: Actor, team_id: int) -> None:
        """Remove a team. Raises NotFound."""
        # All members lose the rights of the team, so the identities of the organization are invalidated.
        async with self._transactions.invalidating(f"org:{actor.org_id}") as connection:
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
        async with self._transactions.invalidating(_invalidation_subject(user_id)) as connection:
            await _lock(connection, actor.org_id, team_id)
            # The new member gets the access of the team, and so does a caller who may set the password of the member and log in as them.
            if caller.user_id == user_id or caller.has_action(_SET_PASSWORDS_ACTION):
                await require_rules_permission(connection, caller, team_id)
            if not await teams.insert_member(connection, actor.org_id, team_id, user_id, permission, taken_error=already_member):
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
        async with self._transactions.invalidating(_invalidation_subject(user_id)) as connection:
            await _lock(connection, actor.org_id, team_id)
            if not await teams.delete_member(connection, team_id, user_id):
                raise NotFound("Team member not found")
            await audit.record(connection, actor, REMOVE_MEMBER, _audit_target(team_id), org_id=actor.org_id, details={"user": user_id})


def not_found() -> NotFound:
    """Return the error for an unknown team."""
    return NotFound("Team not found")


def _invalidation_subject(user_id: int) -> str:
    return f"user:{user_id}"


def _audit_target(team_id: int) -> str:
    return f"team:{team_id}"


async def _lock(connection: Connection, org_id: int, team_id: int) -> None:
    """Lock a team until the end of the transaction. Raises NotFound."""
    team_exists = await teams.lock(connection, org_id, team_id)
    if not team_exists:
        raise not_found()
