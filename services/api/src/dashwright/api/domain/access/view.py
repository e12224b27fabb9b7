"""Permissions of a caller on objects in the folders of a namespace."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING, ObjectScope
from dashwright.api.domain.access.tree import EMPTY_TREE, AccessTree, Level, Rules
from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, KINDS

KINDS_WITH_RULES: Final = tuple(sorted((kind for kind in KINDS if kind.has_access_rules), key=lambda kind: not kind.is_tree))
"""The kinds whose objects may have access rules of their own; folders first."""

_LEVELS_BY_ROLE: Final[Mapping[Role, Level]] = {
    Role.NONE: Level.NONE,
    Role.VIEWER: Level.VIEW,
    Role.EDITOR: Level.EDIT,
    Role.ADMIN: Level.ADMIN,
}
_FOLDER_PREFIX: Final = "folders:uid:"
_ALL_FOLDERS_SCOPE: Final = "folders:*"
_ROOT_SCOPE: Final = "folders:uid:general"
"""The scope of objects at the root, which Grafana calls the folder General."""
_PERMISSIONS_SUFFIX: Final = ".permissions"
_PROTECTED_PLURAL_BY_AREA: Final = {"annotations": DASHBOARD.plural}
"""The plural of the kind whose access rules apply to the actions of another area, by that area: annotations follow their dashboards."""


class AccessView:
    """A caller's rights in one namespace, from role, access rules and explicit grants.

    - Admins may do everything.
    - At the root, an object without rules follows the role: Viewers read, Editors change. Rules of the object replace this.
    - In a folder, the highest level from the rules of the object and of all folders above it counts.
    - Each explicit grant adds its action.
    - For kinds outside of folders, only permissions count.
    """

    def __init__(self, identity: Identity, tree: AccessTree = EMPTY_TREE) -> None:
        self.tree = tree
        self._identity = identity
        self._is_admin = bypasses_rules(identity)
        self._role_level = _LEVELS_BY_ROLE[identity.role]
        self._grants = identity.granted
        # Cached, because every page of a list needs the same scope.
        self._scopes_by_action: dict[tuple[str, str], ObjectScope] = {}
        self._folders_by_level: dict[Level, frozenset[str]] = {}

    def level(self, kind: Kind, name: str, folder: str | None) -> Level:
        """Return the highest level that role and rules give on an object; ADMIN or NONE for kinds outside of folders."""
        if self._is_admin:
            return Level.ADMIN
        if not kind.in_folder:
            return Level.ADMIN if self._identity.may(kind.actions["update"]) else Level.NONE
        if not self.tree.rules_by_object:
            return self._role_level
        own_rules = self.tree.rules_by_object.get((kind.plural, name))
        if folder is None:
            return self._role_level if own_rules is None else self._level_from(own_rules)
        path = self.tree.path(folder)
        # If a folder above the object is missing, only the rules of the object count.
        if not path:
            return Level.NONE if own_rules is None else self._level_from(own_rules)
        folder_rules = [self.tree.rules_by_object.get((FOLDER.plural, ancestor)) for ancestor in path]
        levels = [self._level_from(rules) for rules in (own_rules, *folder_rules) if rules is not None]
        # A top-level folder without rules of its own is an object at the root, so the role counts.
        if folder_rules[-1] is None:
            levels.append(self._role_level)
        return max(levels, default=Level.NONE)

    def may(self, action: str, kind: Kind, name: str, folder: str | None) -> bool:
        """Return whether the caller may do ``action`` on an object. To create one, pass an empty name and the target folder."""
        if self._is_admin:
            return True
        if not kind.in_folder:
            return self._identity.may(action)
        return self._is_granted(action, kind, name, folder) or self.level(kind, name, folder) >= _required_level(action)

    def may_on_any(self, action: str) -> bool:
        """Return whether the caller may do ``action`` on at least one object, even if the object does not exist yet."""
        if self._is_admin or self._grants.get(action) or self._role_level >= _required_level(action):
            return True
        # The area of an action on objects with rules is the plural of their kind, except for the areas in the mapping.
        area, required_level = _area(action), _required_level(action)
        plurals = {FOLDER.plural, _PROTECTED_PLURAL_BY_AREA.get(area, area)}
        return any(
            plural in plurals and self._level_from(rules) >= required_level for (plural, _), rules in self.tree.rules_by_object.items()
        )

    def knows_folder(self, folder: str) -> bool:
        """Return whether the folder existed when the view was created; also True if there are no rules that depend on folders."""
        return not self.tree.rules_by_object or folder in self.tree.parents

    def scope(self, kind: Kind, verb: str = "get") -> ObjectScope:
        """Return the objects of a kind on which the caller may do ``verb``, a key of ``kind.actions``."""
        return self.scope_for_action(kind, kind.actions[verb])

    def scope_for_action(self, kind: Kind, action: str) -> ObjectScope:
        """Return the objects of a kind on which the caller may do ``action``."""
        key = kind.key, action
        scope = self._scopes_by_action.get(key)
        if scope is None:
            scope = self._scopes_by_action[key] = self._compute_scope(kind, action)
        return scope

    def shows_same_objects(self, newer: "AccessView") -> bool:
        """Return True if folders and rules show the same objects in this view and in a newer view; False if this is not certain.

        Folders that only one view has are ignored, and so are the objects in them. But if this view shows objects in a deleted
        folder, the result is False.
        """
        # The newer view does not show objects in deleted folders, so their delete events would be lost.
        deleted_folders = self.tree.parents.keys() - newer.tree.parents.keys()
        kinds_in_folders = [kind for kind in KINDS if kind.in_folder]
        if deleted_folders and any(not deleted_folders.isdisjoint(self.scope(kind).folders) for kind in kinds_in_folders):
            return False
        if self.tree.has_same_access(newer.tree):
            return True
        folders = self.tree.parents.keys() & newer.tree.parents.keys()
        return all(_scope_within(self.scope(kind), folders) == _scope_within(newer.scope(kind), folders) for kind in kinds_in_folders)

    def _compute_scope(self, kind: Kind, action: str) -> ObjectScope:
        """Return the result of ``scope_for_action`` without the cache."""
        if not kind.in_folder:
            return EVERYTHING if self._identity.may(action) else NOTHING
        scopes, required_level = self._grants.get(action, frozenset()), _required_level(action)
        role_suffices = self._role_level >= required_level
        if self._is_admin or _covers_all(scopes, kind) or (role_suffices and not self.tree.rules_by_object):
            return EVERYTHING
        granted_folders = {scope.removeprefix(_FOLDER_PREFIX) for scope in scopes if _FOLDER_PREFIX in scope}
        granted_names = {scope.removeprefix(f"{kind.area}:uid:") for scope in scopes if scope.startswith(f"{kind.area}:uid:")}
        is_root_granted = _ROOT_SCOPE in scopes
        rules_by_name = {name: rules for (plural, name), rules in self.tree.rules_by_object.items() if plural == kind.plural}
        allowed_names = {name for name, rules in rules_by_name.items() if self._level_from(rules) >= required_level}
        denied_names = [name for name in rules_by_name if name not in allowed_names]
        return ObjectScope(
            folders=tuple(self._folders_with_level(required_level) | self.tree.subtree(granted_folders)),
            includes_root=role_suffices or is_root_granted,
            # Rules of an object replace the role only at the root. A grant on the root includes all objects there.
            hidden_names=tuple(denied_names) if role_suffices and not is_root_granted else (),
            names=tuple(granted_names | allowed_names),
        )

    def _folders_with_level(self, required_level: Level) -> frozenset[str]:
        """Return the folders on which the role and the rules give at least a level, including rules of the folders above."""
        if required_level not in self._folders_by_level:
            folders: set[str] = set()
            for name in self.tree.folders_top_down:
                parent, own_rules = self.tree.parents[name], self.tree.rules_by_object.get((FOLDER.plural, name))
                # The role counts only for a top-level folder without rules of its own.
                role_suffices = own_rules is None and self._role_level >= required_level
                has_level_from_above = parent in folders if parent is not None else role_suffices
                if has_level_from_above or (own_rules is not None and self._level_from(own_rules) >= required_level):
                    folders.add(name)
            self._folders_by_level[required_level] = frozenset(folders)
        return self._folders_by_level[required_level]

    def _level_from(self, rules: Rules) -> Level:
        """Return the highest level that a list of rules gives to the caller."""
        return max((rule.level for rule in rules if rule.applies_to(self._identity)), default=Level.NONE)

    def _is_granted(self, action: str, kind: Kind, name: str, folder: str | None) -> bool:
        """Return whether an explicit grant permits an action on an object, by its own uid or that of a folder above it."""
        scopes = self._grants.get(action)
        if not scopes:
            return False
        if _covers_all(scopes, kind) or f"{kind.area}:uid:{name}" in scopes:
            return True
        if folder is None:
            return _ROOT_SCOPE in scopes
        return any(f"{_FOLDER_PREFIX}{ancestor}" in scopes for ancestor in self.tree.path(folder))


def bypasses_rules(identity: Identity) -> bool:
    """Return whether the caller may do everything in the organization, regardless of access rules."""
    return identity.is_server_admin or identity.role is Role.ADMIN


def deleted_by_filter(identity: Identity) -> str | None:
    """Return the filter of the trash by the user who deleted an object: the caller's uid, or None for an Admin, who sees all objects."""
    return None if bypasses_rules(identity) else identity.uid


def require_permission(view: AccessView, action: str, kind: Kind, name: str, folder: str | None, *, login: str) -> None:
    """Raise Forbidden if the view does not allow ``action`` on the object."""
    if not view.may(action, kind, name, folder):
        object_name = f'{kind.key} "{name}"' if name else kind.key
        raise Forbidden(f"{object_name} is forbidden: {login} needs {action}", details=kind.details(name))


def actions_of(kind: Kind, level: Level = Level.ADMIN) -> Sequence[str]:
    """Return the actions that a level allows on an object of a kind, and on its access rules if the kind has them."""
    object_actions = [f"{kind.area}:{verb}" for verb in ("read", "create", "write", "delete")]
    rule_actions = [f"{kind.area}{_PERMISSIONS_SUFFIX}:{verb}" for verb in ("read", "write")] if kind in KINDS_WITH_RULES else []
    return [action for action in (*object_actions, *rule_actions) if _required_level(action) <= level]


def _area(action: str) -> str:
    """Return the area of an action: ``dashboards`` for ``dashboards:read`` and for ``dashboards.permissions:read``."""
    return action.rpartition(":")[0].removesuffix(_PERMISSIONS_SUFFIX)


def _required_level(action: str) -> Level:
    """Return the level of access rules that permits an action on an object."""
    area, _, verb = action.rpartition(":")
    if area.endswith(_PERMISSIONS_SUFFIX):
        return Level.ADMIN
    return Level.VIEW if verb == "read" else Level.EDIT


def _covers_all(scopes: Collection[str], kind: Kind) -> bool:
    """Return whether scopes include all objects of a kind in folders."""
    return "*" in scopes or _ALL_FOLDERS_SCOPE in scopes or f"{kind.area}:*" in scopes


def _scope_within(scope: ObjectScope, folders: Set[str]) -> tuple[object, ...]:
    """Return a tuple that is equal for two scopes with the same objects in ``folders`` and at the root."""
    scope_folders = folders if scope.includes_everything else folders & frozenset(scope.folders)
    return scope_folders, scope.includes_everything or scope.includes_root, frozenset(scope.hidden_names), frozenset(scope.names)
