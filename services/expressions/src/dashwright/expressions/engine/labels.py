"""Interned label sets: the identity of a series or number, compared and hashed far more often than created."""

from collections.abc import Iterable, Mapping
from threading import Lock
from weakref import WeakValueDictionary


class Labels:
    """An immutable set of labels.

    Create it by ``Labels.of`` only, which returns the same object for equal pairs while one is in use: equal means
    identical.
    """

    __slots__ = ("__weakref__", "keys", "pairs")

    def __init__(self, pairs: tuple[tuple[str, str], ...]) -> None:
        self.pairs = pairs  #: Sorted by key.
        self.keys = tuple(key for key, _ in pairs)

    @staticmethod
    def of(mapping: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> "Labels":
        """Return the label set of a mapping or of pairs."""
        pairs = tuple(sorted(dict(mapping).items()))
        with _lock:
            known = _known.get(pairs)
            if known is None:
                known = _known[pairs] = Labels(pairs)
            return known

    def part(self, keys: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Return the pairs whose key is one of ``keys``, in order."""
        return tuple([pair for pair in self.pairs if pair[0] in keys])

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.pairs)

    def __repr__(self) -> str:
        return f"Labels({dict(self.pairs)!r})"


_lock = Lock()
_known: WeakValueDictionary[tuple[tuple[str, str], ...], Labels] = WeakValueDictionary()

NONE = Labels.of()
