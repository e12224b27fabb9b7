"""Which objects of a kind somebody may see, as a statement asks for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """An object is in it where ``everything`` is set, where its folder is one of ``folders``, where it lies at the root, ``root`` is set
    and it is none of ``hidden``, or where it is one of ``names``. Of folders the same is asked: their folder is the one above.
    """

    everything: bool = False
    folders: Sequence[str] = ()
    root: bool = False
    hidden: Sequence[str] = ()
    names: Sequence[str] = ()

    def holds(self, name: str, folder: str | None) -> bool:
        """Whether an object with that name in that folder (None: at the root) is in it."""
        if self.everything or name in self.names:
            return True
        return folder in self.folders if folder is not None else self.root and name not in self.hidden


EVERYTHING: Final = Scope(everything=True)
NOTHING: Final = Scope()
