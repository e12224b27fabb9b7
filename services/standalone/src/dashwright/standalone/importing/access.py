"""Access rules on folders and dashboards, from either form in which Grafana stores them. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dashwright.common.identity import Role
from dashwright.standalone.importing.fields import Row, text, whole

_MANAGED: Final = re.compile(r"managed:(users|teams|builtins):([^:]+):permissions")
_SCOPE: Final = re.compile(r"(folders|dashboards):uid:(.+)")
_LEVELS: Final = {
    "folders:read": 1,
    "dashboards:read": 1,
    "folders:write": 2,
    "dashboards:write": 2,
    "folders.permissions:write": 4,
    "dashboards.permissions:write": 4,
}
_ROLES: Final = {role.value.lower(): role.value for role in (Role.VIEWER, Role.EDITOR, Role.ADMIN)}


class Subject(NamedTuple):
    """The object that rules apply to."""

    org_id: int
    #: The plural of its kind.
    resource: str
    name: str


class Grantee(NamedTuple):
    """A user, a team, or all users with a role. Exactly one member is set."""

    user_id: int | None = None
    team_id: int | None = None
    role: str | None = None


@dataclass(slots=True)
class Rules:
    """The highest level of each grantee on each object: 1 view, 2 edit, 4 admin."""

    of: dict[Subject, dict[Grantee, int]] = field(default_factory=dict)

    def add(self, subject: Subject, grantee: Grantee, level: int) -> None:
        """Raise the level of a grantee on an object to at least ``level``."""
        levels = self.of.setdefault(subject, {})
        levels[grantee] = max(levels.get(grantee, 0), level)


def holders(roles: Iterable[Row]) -> dict[int, tuple[int, Grantee]]:
    """Return organization and grantee by role number, for roles that hold the rights of one grantee."""
    found: dict[int, tuple[int, Grantee]] = {}
    for row in roles:
        match = _MANAGED.fullmatch(text(row, "name"))
        grantee = None if match is None else _grantee(match[1], match[2])
        if grantee is not None:
            found[whole(row, "id")] = (whole(row, "org_id"), grantee)
    return found


def add_permission(rules: Rules, row: Row, held: Mapping[int, tuple[int, Grantee]]) -> None:
    """Add a permission of a role, if it concerns a folder or dashboard."""
    holder, level = held.get(whole(row, "role_id")), _LEVELS.get(text(row, "action"))
    match = _SCOPE.fullmatch(text(row, "scope"))
    if holder is not None and level is not None and match is not None:
        rules.add(Subject(holder[0], match[1], match[2]), holder[1], level)


def add_list_entry(rules: Rules, row: Row, subjects: Mapping[int, Subject]) -> None:
    """Add an entry of the older form, which names the dashboard or folder by its number."""
    subject = subjects.get(whole(row, "dashboard_id"))
    role = _ROLES.get(text(row, "role").lower())
    grantee = Grantee(whole(row, "user_id") or None, whole(row, "team_id") or None, role)
    level = whole(row, "permission")
    if subject is not None and level in (1, 2, 4) and sum(part is not None for part in grantee) == 1:
        rules.add(subject, grantee, level)


def _grantee(kind: str, which: str) -> Grantee | None:
    if kind == "builtins":
        return Grantee(role=_ROLES[which.lower()]) if which.lower() in _ROLES else None
    if not which.isdigit():
        return None
    return Grantee(user_id=int(which)) if kind == "users" else Grantee(team_id=int(which))
