"""The union of two sets of items: their pairs, and the items without a partner."""

from dataclasses import dataclass

from tests.reference_engine.labels import contains
from tests.reference_engine.values import Item, Items, Labels


@dataclass(frozen=True)
class Union:
    """Pairs with the labels of their result, and for each side the labels of its items without a partner."""

    pairs: list[tuple[Item, Item, Labels]]
    unmatched: tuple[list[Labels], list[Labels]]


def union(left: Items, right: Items) -> Union:
    """Return a pair of each left item with each right item whose labels match, in the order of the left items.

    If no labels match and each side has a single item, these two are a pair without labels.
    """
    pairs = []
    #: The indexes of the items with a partner, for each side.
    paired_indices: tuple[set[int], set[int]] = set(), set()
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            labels = pair_labels(a.labels, b.labels)
            if labels is not None:
                pairs.append((a, b, labels))
                paired_indices[0].add(i)
                paired_indices[1].add(j)
    if not pairs and len(left) == len(right) == 1:
        return Union([(left[0], right[0], {})], ([], []))
    unmatched_labels = [
        [item.labels for index, item in enumerate(side) if index not in paired]
        for side, paired in zip((left, right), paired_indices, strict=True)
    ]
    return Union(pairs, (unmatched_labels[0], unmatched_labels[1]))


def pair_labels(left: Labels, right: Labels) -> Labels | None:
    """Return the labels of a pair, which are those of the larger set, or None if the two are not a pair.

    Two items are a pair if their labels are equal, one of them has no labels, or one has all labels of the other and
    more.
    """
    if len(left) >= len(right) and contains(left, right):
        return left
    return right if contains(right, left) else None
