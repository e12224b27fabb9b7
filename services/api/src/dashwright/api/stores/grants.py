"""Explicit grants to users and service accounts.

Grants in organization 0 apply in every organization and to global resources.
"""

from collections.abc import Sequence

from dashwright.api.domain.access.scopes import Grant
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "grants.sql")


async def of_account(connection: Connection, account_id: int, org_id: int) -> Sequence[Grant]:
    """Return an account's grants in an organization, sorted by action and scope."""
    return [Grant(row["action"], row["scope"]) for row in await connection.fetch(_sql.of_account, account_id, org_id)]


async def lock(connection: Connection, account_id: int, org_id: int) -> bool:
    """Lock an account's grants until the transaction ends.

    Returns False if the account does not exist or is not a member of the organization.
    """
    if await connection.fetchval(_sql.lock, account_id) is None:
        return False
    # Grants in organization 0 require no membership.
    return org_id == 0 or await connection.fetchval(_sql.lock_membership, account_id, org_id) is not None


async def replace(connection: Connection, account_id: int, org_id: int, new_grants: Sequence[Grant], *, actor: str) -> None:
    """Replace all grants of an account in an organization. ``actor`` is stored as the creator of new grants."""
    actions, scopes = [action for action, _ in new_grants], [scope for _, scope in new_grants]
    await connection.execute(_sql.delete_all_except, account_id, org_id, actions, scopes)
    await connection.execute(_sql.insert, account_id, org_id, actions, scopes, actor)


async def service_account_org(connection: Connection, account_id: int) -> int | None:
    """Return the organization of a service account, or None if the account does not exist."""
    org_id = await connection.fetchval(_sql.service_account_org, account_id)
    return None if org_id is None else int(org_id)
