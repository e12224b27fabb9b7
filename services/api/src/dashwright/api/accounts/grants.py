"""Explicit grants: who holds what beside their role. Nobody gives what they do not hold themselves."""

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
    def __init__(self, rights: Rights) -> None:
        self._rights = rights

    async def replace(
        self, actor: Actor, caller: Identity, holder: str, account_id: int, org_id: int, wanted: Sequence[Grant], *, unknown: NotFound
    ) -> None:
        """Makes these the account's only grants in an organization (0: everywhere and globally). ``caller`` is seen from there.

        Raises Forbidden naming the first grant, given or taken away, that the caller does not hold, ``unknown``, and BadRequest for a
        data source that is named by number or name and is not there: kept is its uid, whatever it is called later. Rows that grant
        nothing, because nobody knows their action, may be taken away by all. ``holder`` is the account as the audit names it.
        """
        async with self._rights.changing(f"user:{account_id}") as connection:
            if not await grants.lock(connection, account_id, org_id):
                raise unknown
            wanted = sorted({await _by_uid(connection, org_id, grant) for grant in wanted})
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
