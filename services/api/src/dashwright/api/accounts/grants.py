"""Explicit grants of permissions, in addition to roles. A caller can only grant permissions that they have."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.accounts.rights import Rights
from dashwright.api.domain.access.assignment import not_assignable
from dashwright.api.domain.access.metadata import Subject
from dashwright.api.domain.access.scopes import KNOWN, Grant, alias_of
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit, grants
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest, Forbidden, NotFound
from dashwright.common.identity import Identity
from dashwright.common.stores import data_sources

UPDATE: Final = "permission.update"


class Grants:
    """Changes to the grants of accounts."""

    def __init__(self, rights: Rights) -> None:
        self._rights = rights

    async def replace(
        self, actor: Actor, caller: Identity, holder: str, account_id: int, org_id: int, wanted: Sequence[Grant], *, unknown: NotFound
    ) -> None:
        """Replace the account's grants in an organization (0: everywhere and globally).

        ``caller`` is the caller as a member of that organization, ``holder`` the account as the audit names it. A data source given by
        id or name is stored by its uid, which survives renaming. Raises ``unknown`` for an unknown account, Forbidden with the
        first added or removed grant that the caller does not have, and BadRequest for an unknown data source.
        """
        async with self._rights.changing(f"user:{account_id}") as connection:
            if not await grants.lock(connection, account_id, org_id):
                raise unknown
            wanted = sorted({await _by_uid(connection, org_id, grant) for grant in wanted})
            # Stored grants of unknown actions permit nothing, so any caller may remove them.
            before = {Grant(*pair) for pair in await grants.of_account(connection, account_id, org_id) if pair[0] in KNOWN}
            if refused := not_assignable(caller, sorted(before.symmetric_difference(wanted))):
                action, scope = refused[0]
                raise Forbidden(f"You do not hold {action} on {scope} yourself, and so can neither grant nor revoke it")
            await grants.replace(connection, account_id, org_id, wanted, actor=actor.uid)
            details = {"permissions": [f"{action} {scope}" for action, scope in wanted]}
            await audit.record(connection, actor, UPDATE, holder, org_id=org_id, details=details)


async def _by_uid(connection: Connection, org_id: int, grant: Grant) -> Grant:
    number, name = alias_of(grant.scope)
    if number is None and name is None:
        return grant
    found = await data_sources.get(connection, org_id, number=number, name=name)
    if found is None:
        raise BadRequest(f"There is no data source {grant.scope} in this organization; name it by its uid: {Subject.DATA_SOURCE.prefix}UID")
    return Grant(grant.action, f"{Subject.DATA_SOURCE.prefix}{found.uid}")
