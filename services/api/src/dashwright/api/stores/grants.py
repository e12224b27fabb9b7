"""Explicit grants to users and service accounts. Organization 0 stands for every organization, and for what belongs to none."""

from collections.abc import Sequence

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "grants.sql")

Grant = tuple[str, str]
"""(action, scope), by their canonical names."""


async def of_account(connection: Connection, account_id: int, org_id: int) -> Sequence[Grant]:
    """By action and scope."""
    return [(row["action"], row["scope"]) for row in await connection.fetch(_sql.of_account, account_id, org_id)]


async def lock(connection: Connection, account_id: int, org_id: int) -> bool:
    """Makes the caller's transaction the only one that changes the account's grants until it ends.

    False where there is no such account, or it is no member of the organization.
    """
    if await connection.fetchval(_sql.lock, account_id) is None:
        return False
    return org_id == 0 or await connection.fetchval(_sql.hold_membership, account_id, org_id) is not None


async def replace(connection: Connection, account_id: int, org_id: int, wanted: Sequence[Grant], *, actor: str) -> None:
    """Makes these the account's only grants there."""
    actions, scopes = [action for action, _ in wanted], [scope for _, scope in wanted]
    await connection.execute(_sql.retire, account_id, org_id, actions, scopes)
    await connection.execute(_sql.insert, account_id, org_id, actions, scopes, actor)


async def service_account_org(connection: Connection, account_id: int) -> int | None:
    """The organization of a service account, None where there is no such account."""
    org_id = await connection.fetchval(_sql.service_account_org, account_id)
    return None if org_id is None else int(org_id)
