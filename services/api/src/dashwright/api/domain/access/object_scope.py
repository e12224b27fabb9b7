"""The objects of a kind that a caller may see, in a form for SQL statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ObjectScope:
    """A set of objects: all objects that at least one field includes. The folder of a folder is its parent."""

    #: The set has all objects of the kind.
    includes_everything: bool = False
    #: The set has all objects directly in these folders.
    folders: Sequence[str] = ()
    #: The set has all objects at the root, except ``hidden_names``.
    includes_root: bool = False
    #: Names of objects at the root whose access rules exclude the caller.
    hidden_names: Sequence[str] = ()
    #: Names of single objects in the set.
    names: Sequence[str] = ()

    def includes(self, name: str, folder: str | None) -> bool:
        """Return whether an object is in the set. An object at the root has no ``folder``."""
        if self.includes_everything or name in self.names:
            return True
        if folder is None:
            return self.includes_root and name not in self.hidden_names
        return folder in self.folders


EVERYTHING: Final = ObjectScope(includes_everything=True)
NOTHING: Final = ObjectScope()
