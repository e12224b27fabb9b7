"""The grants there can be: every action, the scopes it can be granted on, and the older names that mean the same."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dashwright.api.domain.access.roles import permissions_of
from dashwright.common.errors import BadRequest
from dashwright.common.identity import Role

LONGEST: Final = 200
"""Characters of a scope."""


class Grant(NamedTuple):
    """An action on a scope, both by the names that are stored, shown and named in refusals."""

    action: str
    scope: str


KNOWN: Final = frozenset(permissions_of(Role.ADMIN, is_server_admin=True))
"""Every action. A server admin may do all of them, so their table is the list."""

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
}
# What stands before an object's number in a scope, by the part of the action before its colon. The others are granted on * only.
_NUMBERED: Final[Mapping[str, str]] = {
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
}


def normalise(action: str, scope: str) -> Grant:
    """The grant under its canonical names; no scope at all is ``*``.

    Raises BadRequest naming an action that is not known, or a scope that the action cannot be granted on.
    """
    known = _ACTIONS.get(action, action)
    if known not in KNOWN:
        raise BadRequest(f"There is no action {action[:LONGEST]!r} to grant")
    wanted = _canonical(scope or "*")
    prefix = _NUMBERED.get(known.rpartition(":")[0])
    fits = len(scope) <= LONGEST
    if wanted == "*" or (fits and prefix is not None and (wanted == _all_of(prefix) or _names_one(wanted, prefix))):
        return Grant(known, wanted)
    scopes = "*" if prefix is None else f"*, {_all_of(prefix)} and {prefix}N"
    raise BadRequest(f"{known} cannot be granted on the scope {scope[:LONGEST]!r}; it is granted on {scopes}")


def with_grants(permissions: Mapping[str, frozenset[str]], grants: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """``permissions`` and what explicit grants add to them. Rows whose action is not known are ignored."""
    added: dict[str, set[str]] = {}
    for action, scope in grants:
        known = _ACTIONS.get(action, action)
        if known in KNOWN:
            added.setdefault(known, set()).add(_canonical(scope))
    if not added:
        return permissions
    return MappingProxyType({**permissions, **{action: permissions.get(action, frozenset()) | scopes for action, scopes in added.items()}})


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
    number = scope.removeprefix(prefix)
    return scope.startswith(prefix) and number.isascii() and number.isdigit() and number[0] != "0" and int(number) < 2**63
