"""Tests of arrays of numbers against one or two bounds. As in IEEE 754, only ``ne`` holds for NaN."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Floats, Mask

Comparison = Callable[[Floats, float], Mask]
Combination = Callable[[Mask, Mask], Mask]

_COMPARISONS: dict[str, Comparison] = {
    "gt": np.greater,
    "lt": np.less,
    "eq": np.equal,
    "ne": np.not_equal,
    "gte": np.greater_equal,
    "lte": np.less_equal,
}
#: The comparison with the first bound, the combination of both results, and the comparison with the second bound.
_RANGES: dict[str, tuple[Comparison, Combination, Comparison]] = {
    "within_range": (np.greater, np.logical_and, np.less),
    "outside_range": (np.less, np.logical_or, np.greater),
    "within_range_included": (np.greater_equal, np.logical_and, np.less_equal),
    "outside_range_included": (np.less_equal, np.logical_or, np.greater_equal),
}

#: The number of bounds of each predicate, by name.
BOUND_COUNTS = dict.fromkeys(_COMPARISONS, 1) | dict.fromkeys(_RANGES, 2)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A test against one bound or a range.

    The bounds of a range are not sorted: with swapped bounds a range holds for no number or for all.
    """

    name: str
    bounds: tuple[float, ...]

    def holds(self, values: Floats) -> Mask:
        """Return a mask of the values for which the predicate holds. Nulls are tested as NaN; the caller masks them."""
        if self.name in _COMPARISONS:
            return _COMPARISONS[self.name](values, self.bounds[0])
        compare_lower, combine, compare_upper = _RANGES[self.name]
        return combine(compare_lower(values, self.bounds[0]), compare_upper(values, self.bounds[1]))
