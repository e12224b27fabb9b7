"""What a caller may do with the objects of a namespace that lie in folders."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Final

from dashwright.api.domain.access.object_scope import EVERYTHING, NOTHING, Scope
from dashwright.api.domain.access.tree import EMPTY, Level, Rules, Tree
from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, KINDS

GUARDED: Final = tuple(sorted((kind for kind in KINDS if kind.has_access_rules), key=lambda kind: not kind.is_tree))
"""The kinds whose objects may have rules of their own."""

_AT_ROOT: Final[Mapping[Role, Level]] = {Role.NONE: Level.NONE, Role.VIEWER: Level.VIEW, Role.EDITOR: Level.EDIT, Role.ADMIN: Level.ADMIN}
_FOLDERS: Final = "folders:uid:"
_ALL_FOLDERS: Final = "folders:*"
_ROOT: Final = "folders:uid:general"
_PERMISSIONS: Final = ".permissions"
_RULED_AS: Final = {"annotations": DASHBOARD.plural}
"""Areas of actions on what is no object of its own, by the kind whose rules decide."""


class View:
    """A caller's rights in one namespace, of their role, the rules of access and explicit grants.

    What lies at the root without rules of its own is as the role has it: Viewers read, Editors change. Rules of its own replace that at
    the root, and add below it to what the folders above give: the highest level counts. Explicit grants add to all that, each its
    own action. Admins may do everything. Of kinds that lie in no folder the permissions alone decide.
    """

    def __init__(self, identity: Identity, tree: Tree = EMPTY) -> None:
        self.tree = tree
        self._identity = identity
        self._is_admin = is_above_rules(identity)
        self._default = _AT_ROOT[identity.role]
        self._granted = identity.granted
        self._scopes: dict[tuple[str, str], Scope] = {}
        self._opened: dict[Level, frozenset[str]] = {}

    def level(self, kind: Kind, name: str, folder: str | None) -> Level:
        """The highest level that role and rules give on an object; ADMIN or NONE on one of a kind that lies in no folder."""
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
        """Whether the caller may do ``action`` on an object; of a create the name is empty and the folder the one it is to lie in."""
        if self._is_admin:
            return True
        if not kind.in_folder:
            return self._identity.may(action)
        return self._is_granted(action, kind, name, folder) or self.level(kind, name, folder) >= _needed(action)

    def holds(self, action: str) -> bool:
        """Whether the caller may do ``action`` on any object, be it one that is still to come."""
        if self._is_admin or self._granted.get(action) or self._default >= _needed(action):
            return True
        area = _area(action)
        plurals = {FOLDER.plural, _RULED_AS.get(area, area)}
        return any(plural in plurals and self._of(rules) >= _needed(action) for (plural, _), rules in self.tree.lists.items())

    def knows(self, folder: str) -> bool:
        """Whether the folder was there when the view was made, or is of no account."""
        return not self.tree.lists or folder in self.tree.parents

    def scope(self, kind: Kind, verb: str = "get") -> Scope:
        """The objects of a kind that the caller may read, or do something else with."""
        return self.scope_of(kind, kind.actions[verb])

    def scope_of(self, kind: Kind, action: str) -> Scope:
        """The objects of a kind on which the caller may do ``action``."""
        key = kind.key, action
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = self._scope(kind, action)
        return found

    def agrees(self, other: "View") -> bool:
        """Whether no object that both know of is seen by one only, as far as folders and rules decide it, and no folder that this one
        opens has gone, with which the other does not see what was in it. May be False where that is so.
        """
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
        """The folders on which role and rules give at least a level."""
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
    """Whether the caller may do everything in their organization, whatever the rules of access say."""
    return identity.is_server_admin or identity.role is Role.ADMIN


def deleter_of(identity: Identity) -> str | None:
    """Whose deletions the caller finds in the trash: None stands for everybody's."""
    return None if is_above_rules(identity) else identity.uid


def demand(view: View, action: str, kind: Kind, name: str, folder: str | None, *, login: str) -> None:
    """Raises Forbidden where the view does not allow ``action`` on the object."""
    if not view.may(action, kind, name, folder):
        what = f'{kind.key} "{name}"' if name else kind.key
        raise Forbidden(f"{what} is forbidden: {login} needs {action}", details=kind.details(name))


def actions_of(kind: Kind, level: Level = Level.ADMIN) -> Sequence[str]:
    """What a level allows on an object of a kind, and on its rules where it may have some."""
    on_it = [f"{kind.area}:{verb}" for verb in ("read", "create", "write", "delete")]
    on_rules = [f"{kind.area}{_PERMISSIONS}:{verb}" for verb in ("read", "write")] if kind in GUARDED else []
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
    """What a scope says of the folders ``known`` and of what lies at the root or is named, in a form that can be compared."""
    folders = known if scope.everything else known & frozenset(scope.folders)
    return folders, scope.everything or scope.root, frozenset(scope.hidden), frozenset(scope.names)
