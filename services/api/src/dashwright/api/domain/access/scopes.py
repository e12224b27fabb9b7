"""The grants that can be given: every action, the scopes that it can be granted on, and older names of actions and scopes."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dashwright.api.domain.access.roles import permissions_of
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Role
from dashwright.common.kinds.registry import KINDS

MAX_SCOPE_LENGTH: Final = 210
"""Limit on the characters of a scope."""

ORGANIZATION_ANNOTATIONS: Final = "annotations:type:organization"
"""The scope of annotations without a dashboard."""


class Grant(NamedTuple):
    """A permission to do an action on a scope, with the canonical names of both."""

    action: str
    scope: str


ACTIONS: Final = frozenset(permissions_of(Role.ADMIN, is_server_admin=True))
"""Every action. Server admins may do all of them."""

# Names of older versions of Grafana, which stored grants and clients still use.
_RENAMED_ACTIONS: Final[Mapping[str, str]] = {
    "users.quotas:read": "users.quotas:list",
    "users.quotas:write": "users.quotas:update",
    "users.password:update": "users.password:write",
    "users.permissions:update": "users.permissions:write",
    "users.logout": "users:logout",
}
_RENAMED_PREFIXES: Final[Mapping[str, str]] = {"orgs:id:": "org:id:", "global.users:id:": "global.users:"}
_RENAMED_WILDCARDS: Final[Mapping[str, str]] = {
    "orgs:*": "org:*",
    "org:id:*": "org:*",
    "orgs:id:*": "org:*",
    "global.users:id:*": "global.users:*",
    "users:id:*": "users:*",
    "apikeys:id:*": "apikeys:*",
    "serviceaccounts:id:*": "serviceaccounts:*",
    "teams:id:*": "teams:*",
    "datasources:uid:*": "datasources:*",
    "datasources:id:*": "datasources:*",
    "datasources:name:*": "datasources:*",
    "annotations:type:dashboard": "dashboards:*",
    **{f"{kind.area}:uid:*": f"{kind.area}:*" for kind in KINDS if kind.in_folder},
}
# Prefix of an object's id or uid in a scope, by the part of the action before its colon. Other actions are granted on * only.
_PREFIX_BY_AREA: Final[Mapping[str, str]] = {
    "orgs": "org:id:",
    "orgs.quotas": "org:id:",
    "orgs.preferences": "org:id:",
    "org.users": "users:id:",
    "users": "global.users:",
    "users.password": "global.users:",
    "users.permissions": "global.users:",
    "users.quotas": "global.users:",
    "apikeys": "apikeys:id:",
    "serviceaccounts": "serviceaccounts:id:",
    "serviceaccounts.permissions": "serviceaccounts:id:",
    "teams": "teams:id:",
    "teams.permissions": "teams:id:",
    "datasources": "datasources:uid:",
}
# Objects in folders are granted by their own uid or by that of a folder above them.
_FOLDER_PREFIXES_BY_AREA: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        area: tuple(dict.fromkeys((f"{kind.area}:uid:", "folders:uid:")))
        for kind in KINDS
        if kind.in_folder
        for area in (kind.area, *([f"{kind.area}.permissions"] if kind.has_access_rules else []))
    },
    "annotations": ("dashboards:uid:", "folders:uid:"),
}
# Objects outside of folders share one scope.
_SCOPE_OUTSIDE_FOLDERS: Final = {"annotations": ORGANIZATION_ANNOTATIONS}
_UID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Uids that a scope may contain."""
_DATA_SOURCE_UID: Final = "datasources:uid:"
_DATA_SOURCE_ID: Final = "datasources:id:"
_DATA_SOURCE_NAME: Final = "datasources:name:"


def canonical_grant(action: str, scope: str) -> Grant:
    """Return the grant with its canonical names. An empty scope is ``*``. A data source scope by id or name is kept as it is.

    Raises BadRequest for an unknown action, or a scope on which the action cannot be granted.
    """
    canonical_action = _RENAMED_ACTIONS.get(action, action)
    if canonical_action not in ACTIONS:
        raise BadRequest(f"There is no action {action[:MAX_SCOPE_LENGTH]!r} to grant")
    canonical_scope = _canonical_scope(scope or "*")
    prefixes = _object_prefixes(canonical_action)
    scope_outside_folders = _SCOPE_OUTSIDE_FOLDERS.get(canonical_action.rpartition(":")[0], "*")
    if canonical_scope in ("*", scope_outside_folders):
        return Grant(canonical_action, canonical_scope)
    if len(scope) <= MAX_SCOPE_LENGTH:
        for prefix in prefixes:
            if canonical_scope == _wildcard(prefix) or _is_single_object(canonical_scope, prefix):
                return Grant(canonical_action, canonical_scope)
    patterns = (f"{_wildcard(prefix)}, {prefix}{'UID' if prefix.endswith(':uid:') else 'N'}" for prefix in prefixes)
    valid_scopes = ", ".join(dict.fromkeys(("*", *patterns, scope_outside_folders)))
    raise BadRequest(f"{canonical_action} cannot be granted on the scope {scope[:MAX_SCOPE_LENGTH]!r}; it is granted on {valid_scopes}")


def depends_on_folders(action: str) -> bool:
    """Return whether an action is done on folders, or on objects in folders."""
    return action.rpartition(":")[0] in _FOLDER_PREFIXES_BY_AREA


def data_source_alias(scope: str) -> tuple[int | None, str | None]:
    """Return (id, None) for a data source scope by id, (None, name) for one by name, and (None, None) for other scopes."""
    if scope.startswith(_DATA_SOURCE_ID):
        return int(scope.removeprefix(_DATA_SOURCE_ID)), None
    if scope.startswith(_DATA_SOURCE_NAME):
        return None, scope.removeprefix(_DATA_SOURCE_NAME)
    return None, None


def scopes_by_action(rows: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Return the scopes by action of stored rows (action, scope). Rows with unknown actions are ignored."""
    canonical_scopes: dict[str, set[str]] = {}
    for action, scope in rows:
        canonical_action = _RENAMED_ACTIONS.get(action, action)
        if canonical_action in ACTIONS:
            canonical_scopes.setdefault(canonical_action, set()).add(_canonical_scope(scope))
    return MappingProxyType({action: frozenset(scopes) for action, scopes in canonical_scopes.items()})


def with_grants(permissions: Mapping[str, frozenset[str]], grants: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """Return ``permissions`` with explicit grants added. Both are scopes by action."""
    if not grants:
        return permissions
    granted_actions = {action: permissions.get(action, frozenset()) | scopes for action, scopes in grants.items()}
    return MappingProxyType({**permissions, **granted_actions})


def _object_prefixes(action: str) -> tuple[str, ...]:
    """Return the prefixes of an id or uid in the scopes of an action; empty if the action is granted on ``*`` only."""
    area = action.rpartition(":")[0]
    return _FOLDER_PREFIXES_BY_AREA.get(area) or ((_PREFIX_BY_AREA[area],) if area in _PREFIX_BY_AREA else ())


def _canonical_scope(scope: str) -> str:
    """Return the current name of a scope, which may have a name of an older version of Grafana."""
    if scope in _RENAMED_WILDCARDS:
        return _RENAMED_WILDCARDS[scope]
    for prefix, canonical_prefix in _RENAMED_PREFIXES.items():
        if scope.startswith(prefix):
            return canonical_prefix + scope.removeprefix(prefix)
    return scope


def _wildcard(prefix: str) -> str:
    """Return the scope of all objects whose own scopes begin with a prefix: ``teams:*`` for ``teams:id:``."""
    return f"{prefix.partition(':')[0]}:*"


def _is_single_object(scope: str, prefix: str) -> bool:
    """Return whether a scope is that of one object: the prefix with an id or a uid. A data source may also have its older scopes."""
    if not prefix.endswith(":uid:"):
        return _has_id(scope, prefix)
    has_uid = scope.startswith(prefix) and _UID.fullmatch(scope.removeprefix(prefix)) is not None
    if prefix != _DATA_SOURCE_UID:
        return has_uid
    has_name = scope.startswith(_DATA_SOURCE_NAME) and scope != _DATA_SOURCE_NAME
    return has_uid or has_name or _has_id(scope, _DATA_SOURCE_ID)


def _has_id(scope: str, prefix: str) -> bool:
    """Return whether a scope is the prefix and a positive 64-bit integer."""
    object_id = scope.removeprefix(prefix)
    return scope.startswith(prefix) and object_id.isascii() and object_id.isdigit() and object_id[0] != "0" and int(object_id) < 2**63
