"""Explicit grants of permissions, in addition to roles. A caller can only grant permissions that they have."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.accounts.rights import RightsTransactions
from dashwright.api.domain.access.assignment import unassignable_grants
from dashwright.api.domain.access.metadata import ScopedType
from dashwright.api.domain.access.scopes import ACTIONS, Grant, data_source_alias
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, grants
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden, NotFound
from dashwright.common.identity import Identity
from dashwright.common.stores import data_sources

UPDATE: Final = "permission.update"
"""The audit event of changed grants."""


class Grants:
    """Changes to the grants of accounts."""

    def __init__(self, transactions: RightsTransactions) -> None:
        self._transactions = transactions

    async def replace(
        self,
        actor: Actor,
        caller: Identity,
        audit_target: str,
        account_id: int,
        org_id: int,
        requested_grants: Sequence[Grant],
        *,
        unknown_account: NotFound,
    ) -> None:
        """Replace the account's grants in an organization (0: those for the server and for all organizations).

        ``caller`` is the caller as a member of that organization, ``audit_target`` the account's name in the audit log. Grants on data
        sources by id or name are stored by uid, which does not change. Raises ``unknown_account`` if the account does not exist,
        Forbidden if the caller lacks a grant that is added or removed, and BadRequest for an unknown data source.
        """
        async with self._transactions.invalidating(f"user:{account_id}") as connection:
            account_exists = await grants.lock(connection, account_id, org_id)
            if not account_exists:
                raise unknown_account
            new_grants = sorted({await _with_uid(connection, org_id, grant) for grant in requested_grants})
            # Stored grants of unknown actions permit nothing, so any caller may remove them.
            stored_grants = await grants.of_account(connection, account_id, org_id)
            current_grants = {grant for grant in stored_grants if grant.action in ACTIONS}
            changed_grants = sorted(current_grants.symmetric_difference(new_grants))
            if forbidden_grants := unassignable_grants(caller, changed_grants):
                action, scope = forbidden_grants[0]
                raise Forbidden(f"You do not hold {action} on {scope} yourself, and so can neither grant nor revoke it")
            await grants.replace(connection, account_id, org_id, new_grants, actor=actor.uid)
            details = {"permissions": [f"{action} {scope}" for action, scope in new_grants]}
            await audit.record(connection, actor, UPDATE, audit_target, org_id=org_id, details=details)


async def _with_uid(connection: Connection, org_id: int, grant: Grant) -> Grant:
    """Return a grant on a data source by id or name as one by uid, and other grants unchanged. Raises BadRequest."""
    source_id, name = data_source_alias(grant.scope)
    if source_id is None and name is None:
        return grant
    data_source = await data_sources.get(connection, org_id, source_id=source_id, name=name)
    if data_source is None:
        raise BadRequest(
            f"There is no data source {grant.scope} in this organization; name it by its uid: {ScopedType.DATA_SOURCE.prefix}UID"
        )
    return Grant(grant.action, f"{ScopedType.DATA_SOURCE.prefix}{data_source.uid}")
