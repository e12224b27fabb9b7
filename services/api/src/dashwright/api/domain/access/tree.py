"""The folders of a namespace, and the access rules of folders and dashboards."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from dashwright.common.identity import Identity, Role


class Level(IntEnum):
    """The access level of a rule; each level includes the lower ones. The values are those of Grafana."""

    NONE = 0
    VIEW = 1
    EDIT = 2
    ADMIN = 4


class Rule(NamedTuple):
    """An access rule: the level of one user, one team, or all users with at least a role.

    Exactly one of ``user_id``, ``team_id`` and ``role`` is set; the others are 0 or None.
    """

    #: NONE does not lower the level that other rules give: the highest level of all rules counts.
    level: Level
    user_id: int = 0
    team_id: int = 0
    role: Role | None = None

    def applies_to(self, identity: Identity) -> bool:
        """Return whether the rule applies to an identity."""
        if self.role is not None:
            return identity.role.includes(self.role)
        if self.team_id:
            return self.team_id in identity.teams
        # Callers without an account, such as legacy keys, have the user id 0.
        return self.user_id == identity.user_id and identity.user_id != 0


Rules: TypeAlias = Sequence[Rule]
ObjectKey: TypeAlias = tuple[str, str]
"""The plural of a kind and the name of one of its objects."""

_NO_PARENTS: Final[Mapping[str, None]] = MappingProxyType({})
_NO_RULES: Final[Mapping[ObjectKey, Rules]] = MappingProxyType({})


class AccessTree:
    """Folders and access rules of one namespace.

    ``parents`` maps every folder to its parent, or to None at the root. ``rules_by_object`` has the objects with rules of their own,
    even if their list of rules is empty.
    """

    def __init__(self, parents: Mapping[str, str | None] = _NO_PARENTS, rules_by_object: Mapping[ObjectKey, Rules] = _NO_RULES) -> None:
        self.parents = parents
        self.rules_by_object = rules_by_object
        self._last_comparison: tuple[AccessTree, bool] | None = None  #: The other tree, and the result of ``has_same_access``.

    def __len__(self) -> int:
        return len(self.parents) + len(self.rules_by_object)

    def path(self, folder: str) -> Sequence[str]:
        """Return the folder and its ancestors, the top-level folder last; () if one of them is missing or contains itself."""
        path: dict[str, None] = {}
        current: str | None = folder
        while current is not None:
            # No permission follows from a path with a cycle or a missing folder.
            if current in path or current not in self.parents:
                return ()
            path[current] = None
            current = self.parents[current]
        return tuple(path)

    @cached_property
    def folders_top_down(self) -> Sequence[str]:
        """The folders that are reachable from the root, each after its parent."""
        children: defaultdict[str | None, list[str]] = defaultdict(list)
        for name, parent in self.parents.items():
            children[parent].append(name)
        folders = list(children[None])
        # The list grows during the iteration, so each level is appended after its parents.
        for name in folders:
            folders.extend(children.get(name, ()))
        return folders

    def subtree(self, roots: Collection[str]) -> frozenset[str]:
        """Return the existing folders of ``roots``, and all folders below them."""
        if not roots:
            return frozenset()
        folders: set[str] = set()
        for name in self.folders_top_down:
            if name in roots or self.parents[name] in folders:
                folders.add(name)
        return frozenset(folders)

    def has_same_access(self, other: "AccessTree") -> bool:
        """Return whether both trees give the same access to all objects in the folders that both have.

        This is true if the rules are equal, and each common folder has the same parent, which exists in both trees or in neither. The last
        result is cached.
        """
        if self is other:
            return True
        if self._last_comparison is None or self._last_comparison[0] is not other:
            self._last_comparison = other, self._has_same_access(other)
        return self._last_comparison[1]

    def _has_same_access(self, other: "AccessTree") -> bool:
        """Return the result of ``has_same_access`` without the cache."""
        if self.rules_by_object != other.rules_by_object:
            return False
        own_parents, other_parents = self.parents, other.parents
        return all(
            other_parents[name] == parent and (parent is None or (parent in own_parents) is (parent in other_parents))
            for name, parent in own_parents.items()
            if name in other_parents
        )


EMPTY_TREE: Final = AccessTree()
"""The tree of a namespace without folders and rules."""
