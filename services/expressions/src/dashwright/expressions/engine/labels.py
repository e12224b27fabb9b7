"""Label sets, which identify series and numbers. The label sets of a query are stored together, one column for each label."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from numpy.typing import NDArray

#: The number of distinct strings after which ``LabelSetsBuilder`` forgets all of them. So many strings are mostly values that do not
#: repeat, and remembering them would take more memory than sharing saves.
_MAX_INTERNED = 10_000


class Labels:
    """An immutable set of labels."""

    __slots__ = ("_hash", "keys", "pairs")

    def __init__(self, pairs: tuple[tuple[str, str], ...]) -> None:
        self.pairs = pairs  #: Sorted by key.
        self.keys = tuple([key for key, _ in pairs])
        self._hash: int | None = None

    @staticmethod
    def of(mapping: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> "Labels":
        """Return the label set of a mapping or of pairs."""
        return Labels(tuple(sorted(dict(mapping).items())))

    def pairs_of(self, keys: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Return the pairs whose key is one of ``keys``, sorted by key."""
        return tuple([label for label in self.pairs if label[0] in keys])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.pairs == other.pairs if isinstance(other, Labels) else NotImplemented

    def __hash__(self) -> int:
        # Label sets of a union are hashed several times.
        if self._hash is None:
            self._hash = hash(self.pairs)
        return self._hash

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return ", ".join([f"{key}={value}" for key, value in self.pairs])

    def __repr__(self) -> str:
        return f"Labels({dict(self.pairs)!r})"


class LabelSets(Sequence[Labels]):
    """The label sets of the items of a set of series or numbers.

    Sets with the same keys are stored as one column of values for each key. Their ``Labels`` are created when they are first
    read, since most expressions only pass label sets on.
    """

    def __init__(self, keys: tuple[str, ...], columns: Sequence[Sequence[str]], labels: Sequence[Labels] | None, count: int) -> None:
        """Create ``count`` sets: of sorted ``keys`` with their ``columns``, or of ``labels`` if it is not None.

        Callers use ``of`` or ``of_mappings``.
        """
        self._keys = keys
        self._columns = columns
        self._labels = labels
        self._count = count
        # Computed when they are first read. A lock, as of ``cached_property``, would make concurrent requests wait.
        self._texts: list[str] | None = None

    @staticmethod
    def of(labels: Iterable[Labels]) -> "LabelSets":
        """Return the label sets of several items."""
        if isinstance(labels, LabelSets):
            return labels
        label_sets = tuple(labels)
        return LabelSets((), (), label_sets, len(label_sets))

    @staticmethod
    def of_mappings(mappings: Sequence[Mapping[str, str]]) -> "LabelSets":
        """Return the label sets of mappings from keys to values."""
        builder = LabelSetsBuilder()
        builder.add(mappings)
        return builder.build()

    @property
    def keys(self) -> tuple[str, ...]:
        """The sorted keys of all sets, if they are stored as columns."""
        return self._keys

    @property
    def columns(self) -> Sequence[Sequence[str]]:
        """The values of each key, in the order of ``keys``."""
        return self._columns

    def column(self, key: str) -> Sequence[str] | None:
        """Return the values of a label, or None if the sets are not stored as columns or do not have the label."""
        return self._columns[self._keys.index(key)] if key in self._keys else None

    @property
    def max_count(self) -> int:
        """The number of labels of the largest set."""
        return len(self._keys) if self._labels is None else max(map(len, self._labels), default=0)

    def at(self, positions: NDArray[Any]) -> "LabelSets":
        """Return the label sets at the positions, in that order."""
        indexes = positions.tolist()
        labels = None if self._labels is None else tuple([self._labels[index] for index in indexes])
        return LabelSets(self._keys, [[column[index] for index in indexes] for column in self._columns], labels, len(indexes))

    def texts(self) -> list[str]:
        """Return the text of each set, such as ``a=1, b=2``."""
        if self._texts is None:
            template = ", ".join([f"{key.replace('%', '%%')}=%s" for key in self._keys])
            self._texts = [template % row for row in zip(*self._columns, strict=True)] if self._columns else list(map(str, self))
        return self._texts

    @overload
    def __getitem__(self, index: int) -> Labels: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Labels]: ...
    def __getitem__(self, index: int | slice) -> Labels | Sequence[Labels]:
        return self._all[index]

    def __iter__(self) -> Iterator[Labels]:
        return iter(self._all)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LabelSets) and self._columns and other._columns:
            return self._keys == other._keys and all(map(_are_equal, self._columns, other._columns))
        return self._all == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        return f"LabelSets({list(self)!r})"

    @property
    def _all(self) -> Sequence[Labels]:
        if self._labels is None:
            keys = self._keys
            rows = zip(*self._columns, strict=True) if keys else [()] * self._count
            self._labels = tuple([Labels(tuple(zip(keys, row, strict=True))) for row in rows])
        return self._labels


class LabelSetsBuilder:
    """A builder of the label sets of mappings that are read part by part. Most equal strings share one object."""

    def __init__(self) -> None:
        #: The keys of all mappings, in the order of the mappings, as long as all have the same keys.
        self._keys: tuple[str, ...] = ()
        #: The values of each of ``_keys``.
        self._columns: list[list[str]] = []
        #: The label sets, once two mappings have had different keys.
        self._labels: list[Labels] | None = None
        self._interned: dict[str, str] = {}
        self._count = 0

    def add(self, mappings: Sequence[Mapping[str, str]]) -> None:
        """Add the label sets of mappings from keys to values."""
        if mappings and not self._count:
            self._keys = tuple(mappings[0])
            self._columns = [[] for _ in self._keys]
        if self._labels is None and any(tuple(mapping) != self._keys for mapping in mappings):
            self._labels = list(self.build())
        # ``intern(text, text)`` returns the first string that is equal to the text.
        intern = self._interned.setdefault
        if self._labels is not None:
            self._labels += [Labels.of((key, intern(text, text)) for key, text in mapping.items()) for mapping in mappings]
        else:
            values_by_key = zip(*[mapping.values() for mapping in mappings], strict=True)
            # Not strict, because without mappings there are no values for the columns.
            for column, values in zip(self._columns, values_by_key, strict=False):
                column += map(intern, values, values)
        self._count += len(mappings)
        if len(self._interned) > _MAX_INTERNED:
            self._interned.clear()

    def build(self) -> LabelSets:
        """Return the label sets."""
        if self._labels is not None or not self._count:
            return LabelSets.of(self._labels or ())
        order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
        return LabelSets(tuple([self._keys[index] for index in order]), [self._columns[index] for index in order], None, self._count)


def _are_equal(left: Sequence[str], right: Sequence[str]) -> bool:
    return tuple(left) == tuple(right)


NO_LABELS = Labels(())
