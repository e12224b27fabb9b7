"""Possible grants: every action, the scopes it can be granted on, and older names of both."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dashwright.api.domain.access.roles import permissions_of
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Role
from dashwright.common.kinds.registry import KINDS

LONGEST: Final = 210
"""Characters of a scope."""

ORGANIZATION_ANNOTATIONS: Final = "annotations:type:organization"
"""The scope of annotations without a dashboard."""


class Grant(NamedTuple):
    """An action on a scope, by the names that are stored, shown and used in errors."""

    action: str
    scope: str


KNOWN: Final = frozenset(permissions_of(Role.ADMIN, is_server_admin=True))
"""Every action. Server admins may do all of them."""

# Names of older versions of Grafana, which stored grants and clients still use.
_ACTIONS: Final[Mapping[str, str]] = {
    "users.quotas:read": "users.quotas:list",
    "users.quotas:write": "users.quotas:update",
    "users.password:update": "users.password:write",
    "users.permissions:update": "users.permissions:write",
    "users.logout": "users:logout",
}
_PREFIXES: Final[Mapping[str, str]] = {"orgs:id:": "org:id:", "global.users:id:": "global.users:"}
_WHOLE: Final[Mapping[str, str]] = {
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
# Prefix of an object's number or uid in a scope, by the part of the action before its colon. Other actions are granted on * only.
_PREFIX_OF: Final[Mapping[str, str]] = {
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
_BY_FOLDER: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        area: tuple(dict.fromkeys((f"{kind.area}:uid:", "folders:uid:")))
        for kind in KINDS
        if kind.in_folder
        for area in (kind.area, *([f"{kind.area}.permissions"] if kind.has_access_rules else []))
    },
    "annotations": ("dashboards:uid:", "folders:uid:"),
}
# Objects outside of folders are granted by one name for all of them.
_APART: Final = {"annotations": ORGANIZATION_ANNOTATIONS}
_UID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_DATA_SOURCE: Final = "datasources:uid:"
_DATA_SOURCE_ID: Final = "datasources:id:"
_DATA_SOURCE_NAME: Final = "datasources:name:"


def normalise(action: str, scope: str) -> Grant:
    """Return the grant under its canonical names. A missing scope is ``*``. ``alias_of`` resolves data sources by name.

    Raises BadRequest for an unknown action, or a scope on which the action cannot be granted.
    """
    known = _ACTIONS.get(action, action)
    if known not in KNOWN:
        raise BadRequest(f"There is no action {action[:LONGEST]!r} to grant")
    canonical = _canonical(scope or "*")
    prefixes = _prefixes_of(known)
    apart = _APART.get(known.rpartition(":")[0], "*")
    fits = len(scope) <= LONGEST
    if canonical in ("*", apart) or (fits and any(canonical == _all_of(prefix) or _names_one(canonical, prefix) for prefix in prefixes)):
        return Grant(known, canonical)
    alike = (f"{_all_of(prefix)}, {prefix}{'UID' if prefix.endswith(':uid:') else 'N'}" for prefix in prefixes)
    scopes = ", ".join(dict.fromkeys(("*", *alike, apart)))
    raise BadRequest(f"{known} cannot be granted on the scope {scope[:LONGEST]!r}; it is granted on {scopes}")


def is_by_folder(action: str) -> bool:
    """Return whether an action concerns folders or their content."""
    return action.rpartition(":")[0] in _BY_FOLDER


def alias_of(scope: str) -> tuple[int | None, str | None]:
    """Return the number or the name of the data source in a scope that does not use its uid; else (None, None)."""
    if scope.startswith(_DATA_SOURCE_ID):
        return int(scope.removeprefix(_DATA_SOURCE_ID)), None
    return None, scope.removeprefix(_DATA_SOURCE_NAME) if scope.startswith(_DATA_SOURCE_NAME) else None


def grants_of(rows: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Return the scopes by action of rows (action, scope). Rows with unknown actions are ignored."""
    found: dict[str, set[str]] = {}
    for action, scope in rows:
        known = _ACTIONS.get(action, action)
        if known in KNOWN:
            found.setdefault(known, set()).add(_canonical(scope))
    return MappingProxyType({action: frozenset(scopes) for action, scopes in found.items()})


def with_grants(permissions: Mapping[str, frozenset[str]], granted: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """Return ``permissions`` with explicit grants added."""
    if not granted:
        return permissions
    return MappingProxyType(
        {**permissions, **{action: permissions.get(action, frozenset()) | scopes for action, scopes in granted.items()}}
    )


def _prefixes_of(action: str) -> tuple[str, ...]:
    """Return the prefixes of a number or uid in the scopes of an action; none if it is granted on ``*`` only."""
    area = action.rpartition(":")[0]
    return _BY_FOLDER.get(area) or ((_PREFIX_OF[area],) if area in _PREFIX_OF else ())


def _canonical(scope: str) -> str:
    if scope in _WHOLE:
        return _WHOLE[scope]
    for prefix, canonical in _PREFIXES.items():
        if scope.startswith(prefix):
            return canonical + scope.removeprefix(prefix)
    return scope


def _all_of(prefix: str) -> str:
    return f"{prefix.partition(':')[0]}:*"


def _names_one(scope: str, prefix: str) -> bool:
    if not prefix.endswith(":uid:"):
        return _has_number(scope, prefix)
    by_uid = scope.startswith(prefix) and _UID.fullmatch(scope.removeprefix(prefix)) is not None
    if prefix != _DATA_SOURCE:
        return by_uid
    by_name = scope.startswith(_DATA_SOURCE_NAME) and scope != _DATA_SOURCE_NAME
    return by_uid or by_name or _has_number(scope, _DATA_SOURCE_ID)


def _has_number(scope: str, prefix: str) -> bool:
    number = scope.removeprefix(prefix)
    return scope.startswith(prefix) and number.isascii() and number.isdigit() and number[0] != "0" and int(number) < 2**63
