"""What a caller may hand on, and as whom they may act: nobody gives a role above their own or a permission they do not hold themselves,
or gets hold of an account that may do more than they.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dashwright.api.domain.access.scopes import Grant, is_by_folder
from dashwright.common.identity import Identity, Role, covers

Reach: TypeAlias = Mapping[int, Mapping[str, frozenset[str]]]
"""What an account may do in each organization that it is in, and, under 0, in all others and globally."""


def may_assign(caller: Identity, role: Role) -> bool:
    """Whether ``caller``, as the organization in question sees them, may give ``role``. Server admins may give any."""
    return caller.is_server_admin or caller.role.holds(role)


def not_assignable(caller: Identity, grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Those of ``grants`` that ``caller`` does not hold on the whole of their scope, and so may not give.

    What a role gives on folders and what lies in them is for the rules of access to narrow down: only an Admin hands that on.
    """
    is_admin = caller.is_server_admin or caller.role is Role.ADMIN

    def holds(grant: Grant) -> bool:
        if is_admin or not is_by_folder(grant.action):
            return caller.may(grant.action, grant.scope)
        return any(covers(granted, grant.scope) for granted in caller.granted.get(grant.action, ()))

    return tuple(grant for grant in grants if not holds(grant))


def first_missing(caller: Reach, other: Reach) -> Grant | None:
    """The first permission that ``other`` holds somewhere and ``caller`` does not hold there on the whole of its scope."""
    for org_id, held in sorted(other.items()):
        own = caller.get(org_id, caller[0])
        for action, scopes in sorted(held.items()):
            for scope in sorted(scopes):
                if not any(covers(granted, scope) for granted in own.get(action, ())):
                    return Grant(action, scope)
    return None
