"""The union of two sets: a hash join on label sets.

Two items pair if their labels are equal, if either has none, or if one has all labels of the other and more. The pairs
come in the order of a loop over the left set with a loop over the right set inside.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.limits import KEY_SET_PAIRS
from dashwright.expressions.engine.values import Positions

#: Pairs that are made between two checks of the deadline, during which other threads cannot run.
_STRETCH = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Positions in the two sets and the labels of each pair."""

    left: Positions
    right: Positions
    labels: tuple[Labels, ...]
    unpaired_left: Positions  #: Positions without a partner.
    unpaired_right: Positions


@dataclass(frozen=True, slots=True)
class _Match:
    """Left positions, in order, each with its bucket of right positions, in order."""

    left: Sequence[int]
    buckets: Sequence[Sequence[int]]


class Union:
    """The join of two sets of labels.

    ``count`` is the number of pairs, known before any pair is made, so that a limit can be checked first. Raises
    TooLarge if the label sets have too many different sets of keys, and DeadlineExceeded.
    """

    def __init__(self, left: tuple[Labels, ...], right: tuple[Labels, ...], deadline: Deadline | None = None) -> None:
        self._left, self._right = left, right
        self._deadline = deadline or Deadline()
        # The labels of the pairs if item i pairs with item i only.
        self._item_by_item = left if _aligned(left, right) else None
        self._matches = [] if self._item_by_item else list(_matches(left, right, self._deadline))
        self.count = len(self._item_by_item or ()) or sum(len(bucket) for match in self._matches for bucket in match.buckets)
        if not self.count and len(left) == len(right) == 1:
            # Two single items always pair; without anything in common they lose their labels.
            self._item_by_item, self.count = (NONE,), 1

    def pairs(self) -> Pairs:
        """Return all pairs."""
        if self._item_by_item:
            every, none = np.arange(self.count, dtype=np.intp), np.empty(0, np.intp)
            return Pairs(every, every, self._item_by_item, none, none)
        left, right = _positions(self._matches, self.count, self._deadline)
        labels = tuple(self._labels(left, right))
        return Pairs(left, right, labels, _unpaired(left, len(self._left)), _unpaired(right, len(self._right)))

    def _labels(self, left: Positions, right: Positions) -> Iterator[Labels]:
        for start in range(0, self.count, _STRETCH):
            self._deadline.check()
            stretch = slice(start, start + _STRETCH)
            for i, j in zip(left[stretch].tolist(), right[stretch].tolist(), strict=True):
                yield _larger(self._left[i], self._right[j])


def _aligned(left: tuple[Labels, ...], right: tuple[Labels, ...]) -> bool:
    """Return whether both hold the same distinct items with equal keys, so that no item has two partners."""
    return left == right and len(set(left)) == len(left) and len({item.keys for item in left}) == 1


def _larger(left: Labels, right: Labels) -> Labels:
    return left if len(left) >= len(right) else right


def _unpaired(positions: Positions, size: int) -> Positions:
    free = np.ones(size, np.bool_)
    free[positions] = False
    return np.flatnonzero(free)


def _matches(left: tuple[Labels, ...], right: tuple[Labels, ...], deadline: Deadline) -> Iterator[_Match]:
    left_groups, right_groups = _by_keys(left), _by_keys(right)
    if len(left_groups) * len(right_groups) > KEY_SET_PAIRS:
        raise TooLarge(
            f"the two sides have label sets of {len(left_groups)} and {len(right_groups)} different label keys, more than can be matched "
            f"({KEY_SET_PAIRS} pairs of them); give the series the same keys"
        )
    for keys, positions in left_groups.items():
        deadline.check()
        for other_keys, other_positions in right_groups.items():
            common = frozenset(keys).intersection(other_keys)
            if not keys or not other_keys:
                yield _Match(positions, [other_positions] * len(positions))
            elif keys == other_keys:
                yield _match([left[i] for i in positions], positions, [right[j] for j in other_positions], other_positions)
            elif len(keys) != len(other_keys) and len(common) == min(len(keys), len(other_keys)):
                deadline.check()
                parts, other_parts = [left[i].part(common) for i in positions], [right[j].part(common) for j in other_positions]
                yield _match(parts, positions, other_parts, other_positions)


def _by_keys(labels: tuple[Labels, ...]) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, item in enumerate(labels):
        groups.setdefault(item.keys, []).append(position)
    return groups


def _match(parts: Sequence[Hashable], positions: list[int], other_parts: Sequence[Hashable], other_positions: list[int]) -> _Match:
    index: dict[Hashable, list[int]] = {}
    for part, position in zip(other_parts, other_positions, strict=True):
        index.setdefault(part, []).append(position)
    found = [(position, bucket) for part, position in zip(parts, positions, strict=True) if (bucket := index.get(part))]
    return _Match([position for position, _ in found], [bucket for _, bucket in found])


def _positions(matches: list[_Match], count: int, deadline: Deadline) -> tuple[Positions, Positions]:
    sizes = np.fromiter((len(bucket) for match in matches for bucket in match.buckets), np.intp)
    owners = np.fromiter(chain.from_iterable(match.left for match in matches), np.intp)
    left: NDArray[np.intp] = np.repeat(owners, sizes)
    right = np.empty(count, np.intp)
    rest = chain.from_iterable(bucket for match in matches for bucket in match.buckets)
    for start in range(0, count, _STRETCH):
        deadline.check()
        size = min(_STRETCH, count - start)
        right[start : start + size] = np.fromiter(rest, np.intp, size)
    if len(matches) > 1:
        order = np.lexsort((right, left))
        return left[order], right[order]
    return left, right
