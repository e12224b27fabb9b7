"""Use cases on organizations: creating, renaming, changing the address, and removing with everything that belongs to them."""

from typing import Final

from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, dead_letters, members, orgs
from dashwright.common.database.pool import Connection
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import CallerType, Identity, Role, namespace_of
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import hooks, jobs, quotas, resources

# Audit events.
CREATE: Final = "org.create"
UPDATE: Final = "org.update"
UPDATE_ADDRESS: Final = "org.address.update"
DELETE: Final = "org.delete"
_NAME_TAKEN: Final = "Organization name taken"


class Organizations:
    """Changes to organizations."""

    def __init__(self, transactions: RightsTransactions, quota_rules: QuotaRules) -> None:
        self._transactions = transactions
        self._quota_rules = quota_rules

    async def create(self, actor: Actor, caller: Identity, name: str) -> int:
        """Create an organization and return its id. A caller who is a user becomes its Admin.

        Raises AlreadyExists for a name that is in use, and QuotaReached.
        """
        is_user = caller.kind is CallerType.USER
        claims = [quotas.Claim(Scope.GLOBAL, 0, "org")]
        if is_user:
            claims.append(quotas.Claim(Scope.USER, caller.user_id, "org_user"))
        async with self._transactions.invalidating(f"user:{caller.user_id}") as connection:
            await quotas.reserve(connection, self._quota_rules, *claims)
            org_id = await orgs.insert(connection, name, taken_error=AlreadyExists(_NAME_TAKEN))
            if is_user:
                already_member = AlreadyExists("User is already member of this organization")
                await members.insert(connection, org_id, caller.user_id, Role.ADMIN, exists_error=already_member)
            await audit.record(connection, actor, CREATE, f"org:{org_id}", org_id=None, details={"name": name})
        return org_id

    async def rename(self, actor: Actor, org_id: int, name: str) -> None:
        """Change the name. Raises NotFound, and BadRequest for a name that is in use."""
        # Identities contain neither the name nor the address of an organization, so none is invalidated.
        async with self._transactions.invalidating() as connection:
            if not await orgs.rename(connection, org_id, name, taken_error=BadRequest(_NAME_TAKEN)):
                raise not_found()
            await audit.record(connection, actor, UPDATE, f"org:{org_id}", org_id=org_id, details={"name": name})

    async def change_address(self, actor: Actor, org_id: int, address: orgs.Address) -> None:
        """Replace the postal address. Raises NotFound."""
        async with self._transactions.invalidating() as connection:
            if not await orgs.set_address(connection, org_id, address):
                raise not_found()
            await audit.record(connection, actor, UPDATE_ADDRESS, f"org:{org_id}", org_id=org_id)

    async def remove(self, actor: Actor, org_id: int) -> None:
        """Delete an organization with its objects and jobs. Running jobs end without further writes. Users are kept.

        Raises NotFound.
        """
        not_found_error = NotFound("Failed to delete organization. ID not found")
        async with self._transactions.invalidating(f"org:{org_id}") as connection:
            organization = await orgs.get(connection, org_id)
            if organization is None:
                raise not_found_error
            object_count = await _delete_content(connection, namespace_of(org_id))
            await members.lock_admins(connection)  # Deleting a user locks the same rows in another order, which could deadlock.
            if not await orgs.delete(connection, org_id):
                raise not_found_error
            # Dead letters are stored under a lock of the organization's row, so no more of them are stored after its deletion.
            await dead_letters.delete_namespace(connection, namespace_of(org_id))
            details = {"name": organization.name, "objects": object_count}
            await audit.record(connection, actor, DELETE, f"org:{org_id}", org_id=org_id, details=details)


def not_found() -> NotFound:
    """Return the error for an unknown organization."""
    return NotFound("Organization not found")


async def _delete_content(connection: Connection, namespace: str) -> int:
    """Delete the objects and jobs of a namespace, and return the number of objects. Watchers are notified of each object.

    A worker whose job was deleted has lost its lease, so it writes nothing more.
    """
    # Objects before jobs, as in all transactions, against deadlocks.
    await resources.lock(connection, namespace)
    await jobs.lock(connection, namespace)
    await jobs.delete_namespace(connection, namespace)
    await hooks.mark_namespace_for_removal(connection, namespace)
    return await resources.delete_namespace(connection, namespace)
