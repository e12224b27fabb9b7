"""Permissions of a caller on objects in the folders of a namespace."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING, Scope
from dashwright.api.domain.access.tree import EMPTY, Level, Rules, Tree
from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, KINDS

KINDS_WITH_RULES: Final = tuple(sorted((kind for kind in KINDS if kind.has_access_rules), key=lambda kind: not kind.is_tree))
"""The kinds whose objects may have access rules of their own; folders first."""

_AT_ROOT: Final[Mapping[Role, Level]] = {Role.NONE: Level.NONE, Role.VIEWER: Level.VIEW, Role.EDITOR: Level.EDIT, Role.ADMIN: Level.ADMIN}
_FOLDERS: Final = "folders:uid:"
_ALL_FOLDERS: Final = "folders:*"
_ROOT: Final = "folders:uid:general"
_PERMISSIONS: Final = ".permissions"
_RULED_AS: Final = {"annotations": DASHBOARD.plural}
"""Areas of actions that follow the rules of another kind."""


class View:
    """A caller's rights in one namespace, from role, access rules and explicit grants.

    At the root, objects without rules follow the role: Viewers read, Editors change. Rules of an object replace that at the
    root; below, they add to the rules of the folders above, and the highest level counts. Each explicit grant adds its action.
    Admins may do everything. For kinds outside of folders only permissions count.
    """

    def __init__(self, identity: Identity, tree: Tree = EMPTY) -> None:
        self.tree = tree
        self._identity = identity
        self._is_admin = is_above_rules(identity)
        self._default = _AT_ROOT[identity.role]
        self._granted = identity.granted
        # Computed once for a view: every page of a list asks for the same scope.
        self._scopes: dict[tuple[str, str], Scope] = {}
        self._opened: dict[Level, frozenset[str]] = {}

    def level(self, kind: Kind, name: str, folder: str | None) -> Level:
        """Return the highest level of role and rules on an object; ADMIN or NONE for kinds outside of folders."""
        if self._is_admin:
            return Level.ADMIN
        if not kind.in_folder:
            return Level.ADMIN if self._identity.may(kind.actions["update"]) else Level.NONE
        if not self.tree.lists:
            return self._default
        own = self.tree.lists.get((kind.plural, name))
        if folder is None:
            return self._default if own is None else self._of(own)
        path = self.tree.path(folder)
        if not path:
            return Level.NONE if own is None else self._of(own)
        lists = [self.tree.lists.get((FOLDER.plural, above)) for above in path]
        top = self._default if lists[-1] is None else Level.NONE
        return max(top, *(self._of(rules) for rules in (own, *lists) if rules is not None), Level.NONE)

    def may(self, action: str, kind: Kind, name: str, folder: str | None) -> bool:
        """Return whether the caller may do ``action`` on an object. For a create, the name is empty and the folder is the target."""
        if self._is_admin:
            return True
        if not kind.in_folder:
            return self._identity.may(action)
        return self._is_granted(action, kind, name, folder) or self.level(kind, name, folder) >= _needed(action)

    def holds(self, action: str) -> bool:
        """Return whether the caller may do ``action`` on any object, including future ones."""
        if self._is_admin or self._granted.get(action) or self._default >= _needed(action):
            return True
        area = _area(action)
        plurals = {FOLDER.plural, _RULED_AS.get(area, area)}
        return any(plural in plurals and self._of(rules) >= _needed(action) for (plural, _), rules in self.tree.lists.items())

    def knows(self, folder: str) -> bool:
        """Return whether the folder existed when the view was made, or does not matter because there are no rules."""
        return not self.tree.lists or folder in self.tree.parents

    def scope(self, kind: Kind, verb: str = "get") -> Scope:
        """Return the objects of a kind on which the caller may do a verb, by default read."""
        return self.scope_of(kind, kind.actions[verb])

    def scope_of(self, kind: Kind, action: str) -> Scope:
        """Return the objects of a kind on which the caller may do ``action``."""
        key = kind.key, action
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = self._scope(kind, action)
        return found

    def agrees(self, other: "View") -> bool:
        """Return whether both views show the same objects, as far as folders and rules decide it. May be False although they do.

        Objects in folders that only one view knows are ignored, unless this view opened a folder that was deleted since: its
        objects would vanish unnoticed.
        """
        # The other view does not see objects of folders deleted since, so their delete events would be lost.
        gone = self.tree.parents.keys() - other.tree.parents.keys()
        if any(not gone.isdisjoint(self.scope(kind).folders) for kind in KINDS if gone and kind.in_folder):
            return False
        if self.tree.is_like(other.tree):
            return True
        known = self.tree.parents.keys() & other.tree.parents.keys()
        return all(_as_known(self.scope(kind), known) == _as_known(other.scope(kind), known) for kind in KINDS if kind.in_folder)

    def _scope(self, kind: Kind, action: str) -> Scope:
        if not kind.in_folder:
            return EVERYTHING if self._identity.may(action) else NOTHING
        granted, needed = self._granted.get(action, frozenset()), _needed(action)
        is_default = self._default >= needed
        if self._is_admin or _covers_all(granted, kind) or (is_default and not self.tree.lists):
            return EVERYTHING
        by_name = {scope.removeprefix(f"{kind.area}:uid:") for scope in granted if scope.startswith(f"{kind.area}:uid:")}
        listed = {name: self._of(rules) >= needed for (plural, name), rules in self.tree.lists.items() if plural == kind.plural}
        is_root_granted = _ROOT in granted
        return Scope(
            folders=tuple(self._open(needed) | self.tree.below({scope.removeprefix(_FOLDERS) for scope in granted if _FOLDERS in scope})),
            root=is_default or is_root_granted,
            hidden=tuple(name for name, is_open in listed.items() if not is_open) if is_default and not is_root_granted else (),
            names=tuple(by_name | {name for name, is_open in listed.items() if is_open}),
        )

    def _open(self, needed: Level) -> frozenset[str]:
        """Return the folders on which role and rules give at least a level."""
        if needed not in self._opened:
            found: set[str] = set()
            for name in self.tree.downwards:
                parent, own = self.tree.parents[name], self.tree.lists.get((FOLDER.plural, name))
                is_given = parent in found if parent is not None else own is None and self._default >= needed
                if is_given or (own is not None and self._of(own) >= needed):
                    found.add(name)
            self._opened[needed] = frozenset(found)
        return self._opened[needed]

    def _of(self, rules: Rules) -> Level:
        return max((rule.level for rule in rules if rule.is_about(self._identity)), default=Level.NONE)

    def _is_granted(self, action: str, kind: Kind, name: str, folder: str | None) -> bool:
        granted = self._granted.get(action)
        if not granted:
            return False
        if _covers_all(granted, kind) or f"{kind.area}:uid:{name}" in granted:
            return True
        if folder is None:
            return _ROOT in granted
        return any(f"{_FOLDERS}{above}" in granted for above in self.tree.path(folder))


def is_above_rules(identity: Identity) -> bool:
    """Return whether the caller may do everything in the organization, whatever the access rules say."""
    return identity.is_server_admin or identity.role is Role.ADMIN


def deleter_of(identity: Identity) -> str | None:
    """Return the uid whose deletions the caller finds in the trash; None for those of all users."""
    return None if is_above_rules(identity) else identity.uid


def demand(view: View, action: str, kind: Kind, name: str, folder: str | None, *, login: str) -> None:
    """Raise Forbidden if the view does not allow ``action`` on the object."""
    if not view.may(action, kind, name, folder):
        what = f'{kind.key} "{name}"' if name else kind.key
        raise Forbidden(f"{what} is forbidden: {login} needs {action}", details=kind.details(name))


def actions_of(kind: Kind, level: Level = Level.ADMIN) -> Sequence[str]:
    """Return the actions of a level on an object of a kind, and on its rules if it may have some."""
    on_it = [f"{kind.area}:{verb}" for verb in ("read", "create", "write", "delete")]
    on_rules = [f"{kind.area}{_PERMISSIONS}:{verb}" for verb in ("read", "write")] if kind in KINDS_WITH_RULES else []
    return [action for action in (*on_it, *on_rules) if _needed(action) <= level]


def _area(action: str) -> str:
    return action.rpartition(":")[0].removesuffix(_PERMISSIONS)


def _needed(action: str) -> Level:
    area, _, verb = action.rpartition(":")
    if area.endswith(_PERMISSIONS):
        return Level.ADMIN
    return Level.VIEW if verb == "read" else Level.EDIT


def _covers_all(granted: Collection[str], kind: Kind) -> bool:
    return "*" in granted or _ALL_FOLDERS in granted or f"{kind.area}:*" in granted


def _as_known(scope: Scope, known: Set[str]) -> tuple[object, ...]:
    """Return what a scope says about the folders ``known``, the root and single objects, in a comparable form."""
    folders = known if scope.everything else known & frozenset(scope.folders)
    return folders, scope.everything or scope.root, frozenset(scope.hidden), frozenset(scope.names)
