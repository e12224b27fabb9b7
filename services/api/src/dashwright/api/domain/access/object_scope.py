"""The objects of a kind that a caller may see, in a form for SQL statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """A set of objects: those that at least one member includes. The folder of a folder is its parent."""

    #: All objects of the kind.
    everything: bool = False
    #: All objects directly in these folders.
    folders: Sequence[str] = ()
    #: All objects at the root, except ``hidden``.
    root: bool = False
    #: Objects at the root with rules that exclude the caller.
    hidden: Sequence[str] = ()
    #: Single objects.
    names: Sequence[str] = ()

    def holds(self, name: str, folder: str | None) -> bool:
        """Return whether an object is in the set. At the root it has no ``folder``."""
        if self.everything or name in self.names:
            return True
        return folder in self.folders if folder is not None else self.root and name not in self.hidden


EVERYTHING: Final = Scope(everything=True)
NOTHING: Final = Scope()
