"""Limits of assignment: no caller gives a role above the own one or a permission not held, or takes over an account with more rights."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dashwright.api.domain.access.scopes import Grant, is_by_folder
from dashwright.common.identity import Identity, Role, covers

Reach: TypeAlias = Mapping[int, Mapping[str, frozenset[str]]]
"""Scopes by action by organization id. Id 0 holds what applies globally and in all other organizations."""


def may_assign(caller: Identity, role: Role) -> bool:
    """Return whether ``caller``, in the view of the organization, may give ``role``. Server admins may give every role."""
    return caller.is_server_admin or caller.role.holds(role)


def not_assignable(caller: Identity, grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return the grants that ``caller`` does not hold on their whole scope, and so may not give.

    Access rules narrow what a role allows on folders and their content, so only Admins may give those actions.
    """
    is_admin = caller.is_server_admin or caller.role is Role.ADMIN

    def holds(grant: Grant) -> bool:
        if is_admin or not is_by_folder(grant.action):
            return caller.may(grant.action, grant.scope)
        return any(covers(granted, grant.scope) for granted in caller.granted.get(grant.action, ()))

    return tuple(grant for grant in grants if not holds(grant))


def first_missing(caller: Reach, other: Reach) -> Grant | None:
    """Return the first permission of ``other`` that ``caller`` does not hold on its whole scope, or None."""
    for org_id, held in sorted(other.items()):
        own = caller.get(org_id, caller[0])
        for action, scopes in sorted(held.items()):
            for scope in sorted(scopes):
                if not any(covers(granted, scope) for granted in own.get(action, ())):
                    return Grant(action, scope)
    return None
