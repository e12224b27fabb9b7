"""Use cases on organizations: creating, renaming, changing the address, and removing with everything that belongs to them."""

from typing import Final

from dashwright.api.accounts.rights import Rights
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, members, orgs
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import Caller, Identity, Role, namespace_of
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import hooks, jobs, quotas, resources

CREATE: Final = "org.create"
UPDATE: Final = "org.update"
MOVE: Final = "org.address.update"
DELETE: Final = "org.delete"
_NAME_TAKEN: Final = "Organization name taken"


class Organizations:
    """Changes to organizations."""

    def __init__(self, rights: Rights, rules: QuotaRules) -> None:
        self._rights = rights
        self._rules = rules

    async def create(self, actor: Actor, caller: Identity, name: str) -> int:
        """Create an organization and return its id. A user who creates one becomes its Admin.

        Raises AlreadyExists for a name that is in use, and QuotaReached.
        """
        is_user = caller.kind is Caller.USER
        claims = [quotas.Claim(Scope.GLOBAL, 0, "org")]
        if is_user:
            claims.append(quotas.Claim(Scope.USER, caller.user_id, "org_user"))
        async with self._rights.changing(f"user:{caller.user_id}") as connection:
            await quotas.reserve(connection, self._rules, *claims)
            org_id = await orgs.insert(connection, name, taken=AlreadyExists(_NAME_TAKEN))
            if is_user:
                taken = AlreadyExists("User is already member of this organization")
                await members.insert(connection, org_id, caller.user_id, Role.ADMIN, if_exists=taken)
            await audit.record(connection, actor, CREATE, f"org:{org_id}", org_id=None, details={"name": name})
        return org_id

    async def rename(self, actor: Actor, org_id: int, name: str) -> None:
        """Change the name. Raises NotFound, and BadRequest for a name that is in use."""
        async with self._rights.changing() as connection:
            if not await orgs.rename(connection, org_id, name, taken=BadRequest(_NAME_TAKEN)):
                raise not_found()
            await audit.record(connection, actor, UPDATE, f"org:{org_id}", org_id=org_id, details={"name": name})

    async def move(self, actor: Actor, org_id: int, address: orgs.Address) -> None:
        """Replace the postal address. Raises NotFound."""
        async with self._rights.changing() as connection:
            if not await orgs.move(connection, org_id, address):
                raise not_found()
            await audit.record(connection, actor, MOVE, f"org:{org_id}", org_id=org_id)

    async def remove(self, actor: Actor, org_id: int) -> None:
        """Remove an organization with its objects and jobs. Running jobs end without further writes; users are kept.

        Raises NotFound.
        """
        gone = NotFound("Failed to delete organization. ID not found")
        async with self._rights.changing(f"org:{org_id}") as connection:
            found = await orgs.get(connection, org_id)
            if found is None:
                raise gone
            removed = await _empty(connection, namespace_of(org_id))
            await members.lock_admins(connection)  # Deleting a user locks the same rows in another order: a deadlock without this.
            if not await orgs.delete(connection, org_id):
                raise gone
            details = {"name": found.name, "objects": removed}
            await audit.record(connection, actor, DELETE, f"org:{org_id}", org_id=org_id, details=details)


def not_found() -> NotFound:
    """Return the error for an unknown organization."""
    return NotFound("Organization not found")


async def _empty(connection: Connection, namespace: str) -> int:
    """Remove the objects and jobs of a namespace, and return the number of objects. Watchers are notified of each.

    A worker whose job was removed has lost its lease, so it writes nothing more.
    """
    await resources.lock(connection)
    await jobs.lock(connection)
    await jobs.delete_namespace(connection, namespace)
    await hooks.mark_namespace_for_removal(connection, namespace)
    return await resources.delete_namespace(connection, namespace)
