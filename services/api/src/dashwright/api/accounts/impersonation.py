"""Checks before a caller gets control of an account: they could act as that account, so it may not have more rights than they do."""

from typing import Final

from dashwright.api.domain.access.assignment import Reach, first_missing
from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, users
from dashwright.common.database.pool import Connection
from dashwright.common.identity import Identity, Role, org_of
from dashwright.common.kinds.registry import FOLDER

_SETS_RULES: Final = f"{FOLDER.area}.permissions:write"


async def require_cover(connection: Connection, caller: Identity, account_id: int) -> None:
    """Raise Forbidden with the first permission that the account has in some organization and the caller does not have there.

    An account that access rules name may see more than its role permits. Controlling it needs the right to set all rules.
    """
    if caller.is_server_admin:
        return
    own = await _reach(connection, caller)
    _require(own, await users.reach(connection, account_id))
    named = {org_of(namespace) or 0 for namespace in await access.namespaces_of(connection, account_id)}
    _require(own, {org_id: {_SETS_RULES: frozenset({"*"})} for org_id in named})


async def require_rules(connection: Connection, caller: Identity, team_id: int) -> None:
    """Raise Forbidden if access rules name a team, and the caller may not set all rules in its organization."""
    if caller.is_server_admin or caller.may(_SETS_RULES):
        return
    if await access.names_team(connection, team_id):
        raise permission_denied(_SETS_RULES)


async def require_all(connection: Connection, caller: Identity) -> None:
    """Raise Forbidden with the first permission that a server admin has and the caller does not have everywhere."""
    if not caller.is_server_admin:
        _require(await _reach(connection, caller), {0: permissions_of(Role.ADMIN, is_server_admin=True)})


async def _reach(connection: Connection, caller: Identity) -> Reach:
    """Return the caller's permissions by organization.

    Those of the current organization are taken from the identity: a legacy key has rights without having an account.
    """
    return {**await users.reach(connection, caller.user_id), caller.org_id: caller.permissions}


def _require(caller: Reach, other: Reach) -> None:
    if (lacking := first_missing(caller, other)) is not None:
        raise permission_denied(lacking.action)
