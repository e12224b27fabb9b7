"""The folders of a namespace, and the access rules of folders and dashboards."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from dashwright.common.identity import Identity, Role


class Level(IntEnum):
    """The level of a rule; each includes the lower ones."""

    NONE = 0
    VIEW = 1
    EDIT = 2
    ADMIN = 4


class Rule(NamedTuple):
    """The level of one user, one team, or all users with at least a role. The other two members are 0 or None."""

    #: NONE takes nothing away: the highest level of all rules counts.
    level: Level
    user_id: int = 0
    team_id: int = 0
    role: Role | None = None

    def is_about(self, identity: Identity) -> bool:
        """Return whether the rule applies to an identity."""
        if self.role is not None:
            return identity.role.holds(self.role)
        return self.team_id in identity.teams if self.team_id else self.user_id == identity.user_id != 0


Rules: TypeAlias = Sequence[Rule]
ObjectKey: TypeAlias = tuple[str, str]
"""The plural of a kind and the name of one of its objects."""

_NONE: Final[Mapping[str, None]] = MappingProxyType({})
_NO_LISTS: Final[Mapping[ObjectKey, Rules]] = MappingProxyType({})


class Tree:
    """Folders and access rules of one namespace.

    ``parents`` maps every folder to its parent, None at the root. ``lists`` has the objects with rules of their own, even if
    their list is empty.
    """

    def __init__(self, parents: Mapping[str, str | None] = _NONE, lists: Mapping[ObjectKey, Rules] = _NO_LISTS) -> None:
        self.parents = parents
        self.lists = lists
        self._compared: tuple[Tree, bool] | None = None

    def __len__(self) -> int:
        return len(self.parents) + len(self.lists)

    def path(self, folder: str) -> Sequence[str]:
        """Return the folder and those above it up to the root; empty if the path does not end there."""
        found: dict[str, None] = {}
        at: str | None = folder
        while at is not None:
            # A circle or a missing folder: no right follows from such a path.
            if at in found or at not in self.parents:
                return ()
            found[at] = None
            at = self.parents[at]
        return tuple(found)

    @cached_property
    def downwards(self) -> Sequence[str]:
        """The folders that are reachable from the root, each after its parent."""
        children: defaultdict[str | None, list[str]] = defaultdict(list)
        for name, parent in self.parents.items():
            children[parent].append(name)
        found = list(children[None])
        for name in found:
            found.extend(children.get(name, ()))
        return found

    def below(self, tops: Collection[str]) -> frozenset[str]:
        """Return the existing folders of ``tops`` and all folders below them."""
        found: set[str] = set()
        if not tops:
            return frozenset()
        for name in self.downwards:
            if name in tops or self.parents[name] in found:
                found.add(name)
        return frozenset(found)

    def is_like(self, other: "Tree") -> bool:
        """Return whether both trees have the same rules and every common folder is at the same place. The last result is cached."""
        if self is other:
            return True
        if self._compared is None or self._compared[0] is not other:
            self._compared = other, self._is_like(other)
        return self._compared[1]

    def _is_like(self, other: "Tree") -> bool:
        if self.lists != other.lists:
            return False
        mine, theirs = self.parents, other.parents
        return all(
            theirs[name] == parent and (parent is None or (parent in mine) is (parent in theirs))
            for name, parent in mine.items()
            if name in theirs
        )


EMPTY: Final = Tree()
