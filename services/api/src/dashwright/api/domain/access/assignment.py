"""What a caller may hand on: nobody gives a role above their own, or a permission they do not hold themselves."""

from collections.abc import Iterable
from typing import Final

from dashwright.api.domain.access.scopes import Grant
from dashwright.common.identity import Identity, Role

_ORDER: Final = tuple(Role)


def may_assign(caller: Identity, role: Role) -> bool:
    """Whether ``caller``, as the organization in question sees them, may give ``role``. Server admins may give any."""
    return caller.is_server_admin or _ORDER.index(role) <= _ORDER.index(caller.role)


def beyond(caller: Identity, grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Those of ``grants`` that ``caller`` does not hold on the whole of their scope, and so may not give."""
    return tuple(grant for grant in grants if not caller.may(grant.action, grant.scope))
