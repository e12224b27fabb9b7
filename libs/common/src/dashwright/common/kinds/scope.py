"""Which objects of a kind are meant where not all of them are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a kind a caller may read, as a statement asks for them.

    An object is in it where ``everything`` is set, where its folder is one of ``folders``, where it lies at the root, ``root`` is set and
    it is none of ``hidden``, or where it is one of ``names``. Of folders themselves only ``names`` count.
    """

    everything: bool = False
    folders: Sequence[str] = ()
    root: bool = False
    hidden: Sequence[str] = ()
    names: Sequence[str] = ()


EVERYTHING: Final = Scope(everything=True)
NOTHING: Final = Scope()
