"""The pairs of two sets of items, and the unpaired items."""

from dataclasses import dataclass

from tests.reference_engine.labels import contains
from tests.reference_engine.values import Item, Items, Labels


@dataclass(frozen=True)
class Union:
    """Pairs with the labels of their result, and the labels of the items of each side that found no partner."""

    pairs: list[tuple[Item, Item, Labels]]
    left_over: tuple[list[Labels], list[Labels]]


def union(left: Items, right: Items) -> Union:
    """Pair every item of the left with every item of the right whose labels match, in this order.

    If nothing matches and each side has a single item, the two are a pair without labels.
    """
    pairs = []
    used: tuple[set[int], set[int]] = set(), set()
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            labels = pair_labels(a.labels, b.labels)
            if labels is not None:
                pairs.append((a, b, labels))
                used[0].add(i)
                used[1].add(j)
    if not pairs and len(left) == len(right) == 1:
        return Union([(left[0], right[0], {})], ([], []))
    over = [[item.labels for place, item in enumerate(side) if place not in taken] for side, taken in zip((left, right), used, strict=True)]
    return Union(pairs, (over[0], over[1]))


def pair_labels(left: Labels, right: Labels) -> Labels | None:
    """Return the labels of a pair, which are those of the larger set, or None if the two are not a pair.

    Two items are a pair if their labels are equal, one of them has no labels, or one has all labels of the other and
    more.
    """
    if len(left) >= len(right) and contains(left, right):
        return left
    return right if contains(right, left) else None
