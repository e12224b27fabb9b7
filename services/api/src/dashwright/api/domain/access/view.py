"""What a caller may do with the objects of a namespace that lie in folders."""

from enum import IntEnum

from dashwright.common.errors import Forbidden
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.scope import EVERYTHING, NOTHING, Scope


class Level(IntEnum):
    """How much a rule allows; each holds those below it."""

    NONE = 0
    VIEW = 1
    EDIT = 2
    ADMIN = 4


class View:
    """A caller's rights in one namespace."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    @property
    def is_whole(self) -> bool:
        """Whether no rule and no folder has a say: the caller may read all, or nothing."""
        return True

    def level(self, kind: Kind, name: str, folder: str | None) -> Level:
        """The highest level that the caller has on an object."""
        if self._identity.may(kind.actions["update"]):
            return Level.ADMIN if self._identity.may(kind.actions["delete"]) else Level.EDIT
        return Level.VIEW if self._identity.may(kind.actions["get"]) else Level.NONE

    def may(self, action: str, kind: Kind, name: str, folder: str | None) -> bool:
        """Whether the caller may do ``action`` on an object; of a create the name is empty and the folder the one it is to lie in."""
        return self._identity.may(action)

    def scope(self, kind: Kind) -> Scope:
        """The objects of a kind that the caller may read."""
        return EVERYTHING if self._identity.may(kind.actions["get"]) else NOTHING

    def agrees(self, other: "View") -> bool:
        """Whether both see the same objects, as far as folders and rules decide it."""
        return True


def demand(view: View, action: str, kind: Kind, name: str, folder: str | None, *, login: str) -> None:
    """Raises Forbidden where the view does not allow ``action`` on the object."""
    if not view.may(action, kind, name, folder):
        what = f'{kind.key} "{name}"' if name else kind.key
        raise Forbidden(f"{what} is forbidden: {login} needs {action}", details={"name": name, "group": kind.group, "kind": kind.plural})
