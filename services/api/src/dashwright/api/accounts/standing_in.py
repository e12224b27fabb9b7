"""Who may act for whom: whoever gets hold of an account acts with all its rights, and so may not get hold of one that may do more."""

from dashwright.api.domain.access.assignment import Reach, uncovered
from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.http.denial import denied
from dashwright.api.stores import users
from dashwright.common.database.pool import Connection
from dashwright.common.identity import Identity, Role


async def require_cover(connection: Connection, caller: Identity, account_id: int) -> None:
    """Raises Forbidden naming the first permission that the account holds, wherever that is, and the caller does not hold there."""
    if not caller.is_server_admin:
        _require(await _reach(connection, caller), await users.reach(connection, account_id))


async def require_all(connection: Connection, caller: Identity) -> None:
    """Raises Forbidden naming the first permission that a server admin holds and the caller does not hold everywhere."""
    if not caller.is_server_admin:
        _require(await _reach(connection, caller), {0: permissions_of(Role.ADMIN, is_server_admin=True)})


async def _reach(connection: Connection, caller: Identity) -> Reach:
    """The caller is taken as seen already, where they were: a legacy key is no account, and has rights all the same."""
    return {**await users.reach(connection, caller.user_id), caller.org_id: caller.permissions}


def _require(caller: Reach, other: Reach) -> None:
    if (lacking := uncovered(caller, other)) is not None:
        raise denied(lacking.action)
