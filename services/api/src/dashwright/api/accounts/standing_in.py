"""Who may act for whom: whoever gets hold of an account acts with all its rights, and so may not get hold of one that may do more."""

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
    """Raises Forbidden naming the first permission that the account holds, wherever that is, and the caller does not hold there.

    Who is named in rules of access may see what others do not: whoever may set all rules covers them.
    """
    if caller.is_server_admin:
        return
    own = await _reach(connection, caller)
    _require(own, await users.reach(connection, account_id))
    named = {org_of(namespace) or 0 for namespace in await access.namespaces_of(connection, account_id)}
    _require(own, {org_id: {_SETS_RULES: frozenset({"*"})} for org_id in named})


async def require_rules(connection: Connection, caller: Identity, team_id: int) -> None:
    """Raise Forbidden where rules of access name a team, and the caller may not set all rules in its organization."""
    if caller.is_server_admin or caller.may(_SETS_RULES):
        return
    if await access.names_team(connection, team_id):
        raise permission_denied(_SETS_RULES)


async def require_all(connection: Connection, caller: Identity) -> None:
    """Raises Forbidden naming the first permission that a server admin holds and the caller does not hold everywhere."""
    if not caller.is_server_admin:
        _require(await _reach(connection, caller), {0: permissions_of(Role.ADMIN, is_server_admin=True)})


async def _reach(connection: Connection, caller: Identity) -> Reach:
    """The caller is taken as seen already, where they were: a legacy key is no account, and has rights all the same."""
    return {**await users.reach(connection, caller.user_id), caller.org_id: caller.permissions}


def _require(caller: Reach, other: Reach) -> None:
    if (lacking := first_missing(caller, other)) is not None:
        raise permission_denied(lacking.action)
