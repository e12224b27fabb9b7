"""Use cases on members of organizations. None of them removes the last Admin of an organization."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from dashwright.api.accounts.organizations import not_found
from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.domain.access.assignment import may_assign
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, members, orgs, persons
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, BadRequest, Forbidden, NotFound
from dashwright.common.identity import Identity, Role
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import quotas

# Audit events.
ADD: Final = "org.user.add"
UPDATE: Final = "org.user.update"
REMOVE: Final = "org.user.remove"


class Members:
    """Changes to the members of organizations. ``caller`` is the caller's identity in the organization ``org_id``."""

    def __init__(self, database: Database, transactions: RightsTransactions, quota_rules: QuotaRules) -> None:
        self._database = database
        self._transactions = transactions
        self._quota_rules = quota_rules

    async def add(self, actor: Actor, caller: Identity, org_id: int, login_or_email: str, role: Role) -> int:
        """Add a user, and return their id.

        Raises Forbidden for a role above the caller's, NotFound for an unknown user or organization, AlreadyExists for a member, and
        QuotaReached.
        """
        _check_role(caller, role)
        # The user is found before the transaction, which needs the id to invalidate the identities of the user.
        async with self._database.connection() as connection:
            if await orgs.get(connection, org_id) is None:
                raise not_found()
            person = await persons.find(connection, login_or_email)
        if person is None:
            raise user_not_found()
        already_member = AlreadyExists("User is already member of this organization")
        claims = (quotas.Claim(Scope.ORG, org_id, "org_user"), quotas.Claim(Scope.USER, person.id, "org_user"))
        async with self._transactions.invalidating(f"user:{person.id}") as connection:
            if await members.role(connection, org_id, person.id) is not None:
                raise already_member
            await quotas.reserve(connection, self._quota_rules, *claims)
            # Organization and user are locked until the commit, since either may be removed concurrently.
            organization_exists = await orgs.lock(connection, org_id)
            if not organization_exists:
                raise not_found()
            user_exists = await persons.lock(connection, person.id)
            if not user_exists:
                raise user_not_found()
            await members.insert(connection, org_id, person.id, role, exists_error=already_member)
            await audit.record(connection, actor, ADD, f"user:{person.id}", org_id=org_id, details={"role": role.value})
        return person.id

    async def change_role(self, actor: Actor, caller: Identity, org_id: int, user_id: int, role: Role) -> None:
        """Change the role of a member.

        Raises Forbidden if the new or the current role is above the caller's, NotFound if the user is not a member, and BadRequest
        for the last Admin.
        """
        _check_role(caller, role)
        async with self._member_transaction(caller, org_id, user_id) as (connection, current_role):
            if current_role is Role.ADMIN and role is not Role.ADMIN and await members.is_only_admin(connection, org_id, user_id):
                raise BadRequest("Cannot change role so that there is no organization admin left")
            await members.set_role(connection, org_id, user_id, role)
            details = {"role": role.value, "before": current_role.value}
            await audit.record(connection, actor, UPDATE, f"user:{user_id}", org_id=org_id, details=details)

    async def remove(self, actor: Actor, caller: Identity, org_id: int, user_id: int) -> None:
        """Remove a member. The user is kept, even without any organization.

        Raises Forbidden if the member's role is above the caller's, NotFound if the user is not a member, and BadRequest for the last
        Admin.
        """
        async with self._member_transaction(caller, org_id, user_id) as (connection, current_role):
            if current_role is Role.ADMIN and await members.is_only_admin(connection, org_id, user_id):
                raise BadRequest("Cannot remove last organization admin")
            await members.delete(connection, org_id, user_id)
            await audit.record(connection, actor, REMOVE, f"user:{user_id}", org_id=org_id, details={"before": current_role.value})

    @asynccontextmanager
    async def _member_transaction(self, caller: Identity, org_id: int, user_id: int) -> AsyncIterator[tuple[Connection, Role]]:
        """Open a transaction that changes a member, and yield it with their role. Raises Forbidden and NotFound."""
        async with self._transactions.invalidating(f"user:{user_id}") as connection:
            # Without the lock, two concurrent transactions could remove the last two Admins: each would still read the other Admin.
            await members.lock_admins(connection)
            role = await members.role(connection, org_id, user_id)
            if role is None:
                raise user_not_found()
            _check_role(caller, role)
            yield connection, role


def user_not_found() -> NotFound:
    """Return the error for an unknown user."""
    return NotFound("User not found")


def _check_role(caller: Identity, role: Role) -> None:
    """Raise Forbidden for a role above the caller's."""
    if not may_assign(caller, role):
        raise Forbidden("Cannot assign a role higher than user's role")
