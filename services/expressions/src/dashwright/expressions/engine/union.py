"""The union of two sets of items, as Grafana calls it: a hash join on label sets.

Two items pair if their labels are equal, if either has no labels, or if one has all labels of the other and more. The pairs
are sorted by the left item, then by the right item.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.labels import NO_LABELS, Labels, LabelSets
from dashwright.expressions.engine.limits import MAX_KEY_SET_PAIRS
from dashwright.expressions.engine.values import Positions

#: The number of pairs that are computed between two checks of the deadline. ``np.fromiter`` keeps the interpreter lock until the next
#: check, so that other threads wait.
_PAIRS_PER_CHECK = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The pairs of a union, as positions in the two sets, with the labels of each pair."""

    left: Positions
    right: Positions
    labels: LabelSets
    unpaired_left: Positions  #: Left positions without a partner.
    unpaired_right: Positions  #: Right positions without a partner.


@dataclass(frozen=True, slots=True)
class _Partners:
    """Left positions in order, each with the right positions that it pairs with."""

    left: Sequence[int]
    right: Sequence[Sequence[int]]  #: The partners of each left position.


class Union:
    """The join of the label sets of two sets of items.

    ``count`` is the number of pairs. It is known before they are created, so that a limit can be checked first. Raises
    TooLarge if the label sets have too many different sets of keys, and DeadlineExceeded.
    """

    def __init__(self, left: Sequence[Labels], right: Sequence[Labels], deadline: Deadline | None = None) -> None:
        left, right = LabelSets.of(left), LabelSets.of(right)
        self._left, self._right = left, right
        self._deadline = deadline or Deadline()
        # The labels of the pairs if each item pairs only with the item at the same position of the other set; else None.
        self._aligned_labels = left if _is_aligned(left, right) else None
        self._partners = [] if self._aligned_labels else list(_find_partners(left, right, self._deadline))
        if self._aligned_labels:
            self.count = len(self._aligned_labels)
        else:
            self.count = sum(len(positions) for partners in self._partners for positions in partners.right)
        if not self.count and len(left) == len(right) == 1:
            # Two single items always pair; with different labels they lose their labels.
            self._aligned_labels, self.count = LabelSets.of((NO_LABELS,)), 1

    def pairs(self) -> Pairs:
        """Return all pairs."""
        if self._aligned_labels:
            positions, unpaired = np.arange(self.count, dtype=np.intp), np.empty(0, np.intp)
            return Pairs(positions, positions, self._aligned_labels, unpaired, unpaired)
        left, right = _pair_positions(self._partners, self.count, self._deadline)
        labels = LabelSets.of(self._labels(left, right))
        return Pairs(left, right, labels, _unpaired(left, len(self._left)), _unpaired(right, len(self._right)))

    def _labels(self, left: Positions, right: Positions) -> Iterator[Labels]:
        for start in range(0, self.count, _PAIRS_PER_CHECK):
            self._deadline.check()
            chunk = slice(start, start + _PAIRS_PER_CHECK)
            for left_position, right_position in zip(left[chunk].tolist(), right[chunk].tolist(), strict=True):
                yield _larger(self._left[left_position], self._right[right_position])


def _is_aligned(left: LabelSets, right: LabelSets) -> bool:
    """Return whether both sides have equal, distinct label sets with the same keys, so that no item has two partners."""
    return left == right and len(set(left)) == len(left) and len({label_set.keys for label_set in left}) == 1


def _larger(left: Labels, right: Labels) -> Labels:
    return left if len(left) >= len(right) else right


def _unpaired(positions: Positions, size: int) -> Positions:
    """Return the positions below ``size`` that are not among ``positions``."""
    is_unpaired = np.ones(size, np.bool_)
    is_unpaired[positions] = False
    return np.flatnonzero(is_unpaired)


def _find_partners(left: LabelSets, right: LabelSets, deadline: Deadline) -> Iterator[_Partners]:
    """Yield the partners for each combination of a left and a right set of label keys, whose items are joined by hash."""
    left_groups, right_groups = _by_keys(left), _by_keys(right)
    if len(left_groups) * len(right_groups) > MAX_KEY_SET_PAIRS:
        raise TooLarge(
            f"the label sets of the two sides have {len(left_groups)} and {len(right_groups)} different sets of keys, and more than "
            f"{MAX_KEY_SET_PAIRS} pairs of these cannot be matched; give the series the same label keys"
        )
    for left_keys, left_positions in left_groups.items():
        deadline.check()
        for right_keys, right_positions in right_groups.items():
            common_keys = frozenset(left_keys).intersection(right_keys)
            is_subset = len(common_keys) == min(len(left_keys), len(right_keys))
            if not left_keys or not right_keys:
                yield _Partners(left_positions, [right_positions] * len(left_positions))
            elif left_keys == right_keys:
                left_labels = [left[position] for position in left_positions]
                right_labels = [right[position] for position in right_positions]
                yield _join(left_labels, left_positions, right_labels, right_positions)
            elif is_subset:
                deadline.check()
                left_pairs = [left[position].pairs_of(common_keys) for position in left_positions]
                right_pairs = [right[position].pairs_of(common_keys) for position in right_positions]
                yield _join(left_pairs, left_positions, right_pairs, right_positions)


def _by_keys(labels: LabelSets) -> dict[tuple[str, ...], list[int]]:
    """Return the positions of the items, by their label keys."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, label_set in enumerate(labels):
        groups.setdefault(label_set.keys, []).append(position)
    return groups


def _join(
    left_join_keys: Sequence[Hashable], left_positions: list[int], right_join_keys: Sequence[Hashable], right_positions: list[int]
) -> _Partners:
    """Return the left positions whose join key is also on the right, each with the right positions of that join key."""
    right_by_key: dict[Hashable, list[int]] = {}
    for key, position in zip(right_join_keys, right_positions, strict=True):
        right_by_key.setdefault(key, []).append(position)
    positions_with_partners = [
        (position, partners) for key, position in zip(left_join_keys, left_positions, strict=True) if (partners := right_by_key.get(key))
    ]
    return _Partners([position for position, _ in positions_with_partners], [partners for _, partners in positions_with_partners])


def _pair_positions(all_partners: list[_Partners], count: int, deadline: Deadline) -> tuple[Positions, Positions]:
    """Return the left and the right position of each of the ``count`` pairs, sorted by left, then by right position."""
    partner_counts = np.fromiter((len(positions) for partners in all_partners for positions in partners.right), np.intp)
    distinct_left = np.fromiter(chain.from_iterable(partners.left for partners in all_partners), np.intp)
    left: NDArray[np.intp] = np.repeat(distinct_left, partner_counts)
    right = np.empty(count, np.intp)
    right_positions = chain.from_iterable(positions for partners in all_partners for positions in partners.right)
    for start in range(0, count, _PAIRS_PER_CHECK):
        deadline.check()
        size = min(_PAIRS_PER_CHECK, count - start)
        right[start : start + size] = np.fromiter(right_positions, np.intp, size)
    if len(all_partners) > 1:
        order = np.lexsort((right, left))
        return left[order], right[order]
    return left, right
