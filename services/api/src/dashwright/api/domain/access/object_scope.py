"""The objects of a kind that a caller may see, in a form for SQL statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """A set of objects.

    An object is in the set if ``everything`` is set, its folder is in ``folders``, its name is in ``names``, or it is at the
    root, ``root`` is set and its name is not in ``hidden``. The folder of a folder is its parent.
    """

    everything: bool = False
    folders: Sequence[str] = ()
    root: bool = False
    hidden: Sequence[str] = ()
    names: Sequence[str] = ()

    def holds(self, name: str, folder: str | None) -> bool:
        """Return whether an object is in the set. At the root it has no ``folder``."""
        if self.everything or name in self.names:
            return True
        return folder in self.folders if folder is not None else self.root and name not in self.hidden


EVERYTHING: Final = Scope(everything=True)
NOTHING: Final = Scope()
