"""Who may see and change which folder and dashboard, from either form it is kept in. Pure."""

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
    """The object that rules are of, ``resource`` being its plural."""

    org_id: int
    resource: str
    name: str


class Grantee(NamedTuple):
    """A user, a team, or everybody with a role: one of the three."""

    user_id: int | None = None
    team_id: int | None = None
    role: str | None = None


@dataclass(slots=True)
class Rules:
    """The highest level each grantee has on each object: 1 view, 2 edit, 4 admin."""

    of: dict[Subject, dict[Grantee, int]] = field(default_factory=dict)

    def add(self, subject: Subject, grantee: Grantee, level: int) -> None:
        levels = self.of.setdefault(subject, {})
        levels[grantee] = max(levels.get(grantee, 0), level)


def holders(roles: Iterable[Row]) -> dict[int, tuple[int, Grantee]]:
    """By the number of a role that stands for one grantee's rights: the organization, and that grantee."""
    found: dict[int, tuple[int, Grantee]] = {}
    for row in roles:
        match = _MANAGED.fullmatch(text(row, "name"))
        grantee = None if match is None else _grantee(match[1], match[2])
        if grantee is not None:
            found[whole(row, "id")] = (whole(row, "org_id"), grantee)
    return found


def add_permission(rules: Rules, row: Row, held: Mapping[int, tuple[int, Grantee]]) -> None:
    """One action on one scope that a role has; what is about neither folder nor dashboard is none of this."""
    holder, level = held.get(whole(row, "role_id")), _LEVELS.get(text(row, "action"))
    match = _SCOPE.fullmatch(text(row, "scope"))
    if holder is not None and level is not None and match is not None:
        rules.add(Subject(holder[0], match[1], match[2]), holder[1], level)


def add_list_entry(rules: Rules, row: Row, subjects: Mapping[int, Subject]) -> None:
    """An entry of the older form, which names the dashboard or folder by its number."""
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
