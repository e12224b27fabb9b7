"""Access rules on folders and dashboards, read from rows of Grafana's database. This module does no I/O.

Grafana stores access rules in two forms: as permissions of managed roles (``permission``), and in the older table ``dashboard_acl``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dashwright.common.identity import Role
from dashwright.standalone.importing.fields import Row, integer, string

_MANAGED_ROLE_PATTERN: Final = re.compile(r"managed:(users|teams|builtins):([^:]+):permissions")
_SCOPE_PATTERN: Final = re.compile(r"(folders|dashboards):uid:(.+)")
_VIEW, _EDIT, _ADMIN = 1, 2, 4  # Grafana's levels of access rules, which Dashwright stores unchanged.
_LEVEL_BY_ACTION: Final = {
    "folders:read": _VIEW,
    "dashboards:read": _VIEW,
    "folders:write": _EDIT,
    "dashboards:write": _EDIT,
    "folders.permissions:write": _ADMIN,
    "dashboards.permissions:write": _ADMIN,
}
_ROLE_BY_LOWER_NAME: Final = {role.value.lower(): role.value for role in (Role.VIEWER, Role.EDITOR, Role.ADMIN)}


class ProtectedObject(NamedTuple):
    """A folder or dashboard that access rules apply to."""

    org_id: int
    #: The plural of its kind.
    resource: str
    name: str


class Grantee(NamedTuple):
    """A user, a team, or all users with a role. Exactly one of the three fields is set."""

    user_id: int | None = None
    team_id: int | None = None
    role: str | None = None


class ManagedRole(NamedTuple):
    """A role that Grafana creates for one grantee. It has the grantee's permissions on single folders and dashboards.

    This role is a row of the table ``role``, unlike ``Grantee.role``, which is a basic role such as Viewer.
    """

    org_id: int
    grantee: Grantee


@dataclass(slots=True)
class Rules:
    """The highest level of each grantee on each object."""

    levels_by_object: dict[ProtectedObject, dict[Grantee, int]] = field(default_factory=dict)

    def add(self, protected_object: ProtectedObject, grantee: Grantee, level: int) -> None:
        """Raise the level of a grantee on an object to at least ``level``."""
        levels = self.levels_by_object.setdefault(protected_object, {})
        levels[grantee] = max(levels.get(grantee, 0), level)


def managed_roles_by_id(rows: Iterable[Row]) -> dict[int, ManagedRole]:
    """Return the managed roles in rows of the table role, by id. Other roles are left out.

    Grafana manages a role for each user, team and basic role that has permissions on single objects.
    """
    managed_roles: dict[int, ManagedRole] = {}
    for row in rows:
        match = _MANAGED_ROLE_PATTERN.fullmatch(string(row, "name"))
        grantee = None if match is None else _grantee(match[1], match[2])
        if grantee is not None:
            managed_roles[integer(row, "id")] = ManagedRole(integer(row, "org_id"), grantee)
    return managed_roles


def add_permission(rules: Rules, row: Row, managed_roles: Mapping[int, ManagedRole]) -> None:
    """Add a row of the table permission if it gives a managed role access to a folder or dashboard."""
    managed_role, level = managed_roles.get(integer(row, "role_id")), _LEVEL_BY_ACTION.get(string(row, "action"))
    match = _SCOPE_PATTERN.fullmatch(string(row, "scope"))
    if managed_role is not None and level is not None and match is not None:
        rules.add(ProtectedObject(managed_role.org_id, match[1], match[2]), managed_role.grantee, level)


def add_acl_row(rules: Rules, row: Row, protected_objects: Mapping[int, ProtectedObject]) -> None:
    """Add a row of the table dashboard_acl, which refers to the dashboard or folder by id. An invalid row is left out."""
    protected_object = protected_objects.get(integer(row, "dashboard_id"))
    role = _ROLE_BY_LOWER_NAME.get(string(row, "role").lower())
    grantee = Grantee(integer(row, "user_id") or None, integer(row, "team_id") or None, role)
    level = integer(row, "permission")
    has_one_grantee = sum(member is not None for member in grantee) == 1
    if protected_object is not None and level in (_VIEW, _EDIT, _ADMIN) and has_one_grantee:
        rules.add(protected_object, grantee, level)


def _grantee(grantee_type: str, identifier: str) -> Grantee | None:
    """Return the grantee of a managed role by the parts of the role's name, or None if there is no such grantee."""
    if grantee_type == "builtins":
        return Grantee(role=_ROLE_BY_LOWER_NAME[identifier.lower()]) if identifier.lower() in _ROLE_BY_LOWER_NAME else None
    if not identifier.isdigit():
        return None
    return Grantee(user_id=int(identifier)) if grantee_type == "users" else Grantee(team_id=int(identifier))
