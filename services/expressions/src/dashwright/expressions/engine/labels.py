"""Interned label sets. They identify series and numbers, and are compared and hashed far more often than created."""

from collections.abc import Iterable, Mapping
from threading import Lock
from weakref import WeakValueDictionary


class Labels:
    """An immutable set of labels.

    Create it by ``Labels.of`` only, which returns the same object for equal pairs, so that equality is identity.
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
            labels = _interned.get(pairs)
            if labels is None:
                labels = _interned[pairs] = Labels(pairs)
            return labels

    def pairs_of(self, keys: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Return the pairs whose key is one of ``keys``, sorted by key."""
        return tuple([pair for pair in self.pairs if pair[0] in keys])

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.pairs)

    def __repr__(self) -> str:
        return f"Labels({dict(self.pairs)!r})"


_lock = Lock()
_interned: WeakValueDictionary[tuple[tuple[str, str], ...], Labels] = WeakValueDictionary()

NO_LABELS = Labels.of()
