"""Permissions of roles. The names of actions are those of Grafana, which clients already use."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from dashwright.common.identity import CallerType, Identity, Role, namespace_of
from dashwright.common.kinds.registry import KINDS

ALL_SCOPES: Final = frozenset({"*"})
"""The scopes of a permission on all objects."""


def _kind_actions(role: Role) -> frozenset[str]:
    """Return the actions on objects of all kinds for which ``role`` is the minimum role."""
    actions = {action for kind in KINDS for action, minimum_role in kind.roles.items() if minimum_role is role}
    if role is Role.ADMIN:
        actions |= {f"{kind.area}.permissions:{verb}" for kind in KINDS if kind.has_access_rules for verb in ("read", "write")}
    return frozenset(actions)


_VIEWER: Final = _kind_actions(Role.VIEWER) | {"annotations:read", "datasources:query", "shorturls:create", "snapshots:read"}
_EDITOR: Final = (
    _VIEWER
    | _kind_actions(Role.EDITOR)
    | {
        "annotations:create",
        "annotations:write",
        "annotations:delete",
        "datasources:explore",
        "snapshots:create",
        "snapshots:delete",
    }
)
_ADMIN: Final = (
    _EDITOR
    | _kind_actions(Role.ADMIN)
    | {
        "orgs:read",
        "orgs:write",
        "orgs.preferences:read",
        "orgs.preferences:write",
        "orgs.quotas:read",
        "org.users:read",
        "org.users:add",
        "org.users:write",
        "org.users:remove",
        "apikeys:read",
        "apikeys:create",
        "apikeys:delete",
        "serviceaccounts:read",
        "serviceaccounts:create",
        "serviceaccounts:write",
        "serviceaccounts:delete",
        "serviceaccounts.permissions:read",
        "serviceaccounts.permissions:write",
        "teams:read",
        "teams:create",
        "teams:write",
        "teams:delete",
        "teams.permissions:read",
        "teams.permissions:write",
        "datasources:read",
        "datasources:create",
        "datasources:write",
        "datasources:delete",
        "audit:read",
    }
)
_SERVER_ADMIN: Final = _ADMIN | {
    "orgs:create",
    "orgs:delete",
    "orgs.quotas:write",
    "users:read",
    "users:write",
    "users:create",
    "users:delete",
    "users:enable",
    "users:disable",
    "users:logout",
    "users.authtoken:read",
    "users.password:write",
    "users.permissions:read",
    "users.permissions:write",
    "users.quotas:list",
    "users.quotas:update",
    "settings:read",
    "server.stats:read",
}
_ACTIONS_BY_ROLE: Final[Mapping[Role, frozenset[str]]] = {
    Role.NONE: frozenset(),
    Role.VIEWER: _VIEWER,
    Role.EDITOR: _EDITOR,
    Role.ADMIN: _ADMIN,
}


@cache
def permissions_of(role: Role, *, is_server_admin: bool = False) -> Mapping[str, frozenset[str]]:
    """Return the scopes by action of a role. Each scope is ``*``, all objects of the organization. Server admins may do every action."""
    actions = _SERVER_ADMIN if is_server_admin else _ACTIONS_BY_ROLE[role]
    return MappingProxyType(dict.fromkeys(sorted(actions), ALL_SCOPES))


def queue_identity(org_id: int) -> Identity:
    """Return the identity of a queue message that has no credentials. It may only submit jobs, alone or in batches."""
    uid = f"queue:{namespace_of(org_id)}"
    return Identity(
        uid=uid,
        login=uid,
        org_id=org_id,
        role=Role.NONE,
        kind=CallerType.QUEUE,
        permissions=MappingProxyType(dict.fromkeys(("jobs:create", "batches:create", "batches:write"), ALL_SCOPES)),
    )


def provisioning_identity(org_id: int) -> Identity:
    """Return the identity that writes repositories declared in files. It has the rights of an Admin of the organization."""
    uid = CallerType.PROVISIONING.value
    return Identity(
        uid=uid, login=uid, org_id=org_id, role=Role.ADMIN, kind=CallerType.PROVISIONING, permissions=permissions_of(Role.ADMIN)
    )
