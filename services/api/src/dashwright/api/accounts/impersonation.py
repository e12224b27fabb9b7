"""Checks before a caller gets control of an account. The caller could act as the account, and so needs all of its rights."""

from typing import Final

from dashwright.api.domain.access.assignment import ScopesByOrganization, first_missing_grant
from dashwright.api.domain.access.roles import permissions_of
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, users
from dashwright.common.database.pool import Connection
from dashwright.common.identity import Identity, Role, org_of
from dashwright.common.kinds.registry import FOLDER

_SET_RULES_ACTION: Final = f"{FOLDER.area}.permissions:write"
"""The action of setting access rules. A caller who may do it on all objects can get every right that rules give."""


async def require_permissions_of(connection: Connection, caller: Identity, account_id: int) -> None:
    """Raise Forbidden with the first permission that the account has in some organization and the caller lacks there.

    An account that is named in access rules may have more rights than its role. The caller then needs permission to set all rules.
    """
    if caller.is_server_admin:
        return
    caller_permissions = await _permissions_by_org(connection, caller)
    _require_all(caller_permissions, await users.permissions_by_org(connection, account_id))
    org_ids = {org_of(namespace) or 0 for namespace in await access.namespaces_of(connection, account_id)}
    _require_all(caller_permissions, {org_id: {_SET_RULES_ACTION: frozenset({"*"})} for org_id in org_ids})


async def require_rules_permission(connection: Connection, caller: Identity, team_id: int) -> None:
    """Raise Forbidden if a team is named in access rules, and the caller may not set all rules in its organization."""
    if caller.is_server_admin or caller.may(_SET_RULES_ACTION):
        return
    if await access.is_team_referenced(connection, team_id):
        raise permission_denied(_SET_RULES_ACTION)


async def require_server_admin_permissions(connection: Connection, caller: Identity) -> None:
    """Raise Forbidden with the first permission of server admins that the caller lacks in some organization."""
    if not caller.is_server_admin:
        # Permissions in organization 0 apply globally and in all organizations.
        _require_all(await _permissions_by_org(connection, caller), {0: permissions_of(Role.ADMIN, is_server_admin=True)})


async def _permissions_by_org(connection: Connection, caller: Identity) -> ScopesByOrganization:
    """Return the caller's permissions by organization.

    Permissions in the current organization are taken from the identity, since a legacy key has permissions but no account.
    """
    return {**await users.permissions_by_org(connection, caller.user_id), caller.org_id: caller.permissions}


def _require_all(caller_permissions: ScopesByOrganization, required_permissions: ScopesByOrganization) -> None:
    """Raise Forbidden with the first required permission that the caller lacks."""
    if (missing := first_missing_grant(caller_permissions, required_permissions)) is not None:
        raise permission_denied(missing.action)
