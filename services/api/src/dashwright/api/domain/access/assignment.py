"""Limits of assignment: callers cannot give a role or permission that they lack, or change an account with more permissions."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dashwright.api.domain.access.scopes import Grant, depends_on_folders
from dashwright.common.identity import Identity, Role, covers

ScopesByOrganization: TypeAlias = Mapping[int, Mapping[str, frozenset[str]]]
"""Scopes by action by organization id. Id 0 has the global scopes, which also apply in organizations without an entry."""


def may_assign(caller: Identity, role: Role) -> bool:
    """Return whether ``caller``, an identity in the organization, may give ``role`` to others. Server admins may give every role."""
    return caller.is_server_admin or caller.role.includes(role)


def unassignable_grants(caller: Identity, grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Return the grants that ``caller`` may not give, because the caller does not have them on their whole scope.

    Access rules may restrict the rights of a role on folders and their contents. A caller who is not an Admin may
    therefore give such rights only on scopes in the caller's own explicit grants.
    """
    is_admin = caller.is_server_admin or caller.role is Role.ADMIN

    def is_assignable(grant: Grant) -> bool:
        if is_admin or not depends_on_folders(grant.action):
            return caller.may(grant.action, grant.scope)
        return any(covers(scope, grant.scope) for scope in caller.granted.get(grant.action, ()))

    return tuple(grant for grant in grants if not is_assignable(grant))


def first_missing_grant(caller_permissions: ScopesByOrganization, required_permissions: ScopesByOrganization) -> Grant | None:
    """Return the first required permission that the caller does not have on its whole scope, or None."""
    for org_id, required_scopes_by_action in sorted(required_permissions.items()):
        caller_scopes_by_action = caller_permissions.get(org_id, caller_permissions[0])
        for action, required_scopes in sorted(required_scopes_by_action.items()):
            for scope in sorted(required_scopes):
                if not any(covers(caller_scope, scope) for caller_scope in caller_scopes_by_action.get(action, ())):
                    return Grant(action, scope)
    return None
