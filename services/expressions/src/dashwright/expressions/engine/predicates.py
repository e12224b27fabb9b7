"""Tests of numbers against one or two bounds, on whole arrays. Comparisons follow IEEE 754: of NaN only ``ne`` holds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Floats, Mask

Comparison = Callable[[Floats, float], Mask]
Combination = Callable[[Mask, Mask], Mask]

_SINGLE: dict[str, Comparison] = {
    "gt": np.greater,
    "lt": np.less,
    "eq": np.equal,
    "ne": np.not_equal,
    "gte": np.greater_equal,
    "lte": np.less_equal,
}
_RANGES: dict[str, tuple[Comparison, Combination, Comparison]] = {
    "within_range": (np.greater, np.logical_and, np.less),
    "outside_range": (np.less, np.logical_or, np.greater),
    "within_range_included": (np.greater_equal, np.logical_and, np.less_equal),
    "outside_range_included": (np.less_equal, np.logical_or, np.greater_equal),
}

#: The number of bounds of each predicate, by name.
BOUNDS = dict.fromkeys(_SINGLE, 1) | dict.fromkeys(_RANGES, 2)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A test against one bound or a range.

    A range takes its bounds in the given order: with swapped bounds it holds for no number or for all.
    """

    name: str
    bounds: tuple[float, ...]

    def holds(self, values: Floats) -> Mask:
        """Return where the predicate holds. Nulls are NaN in their slots; callers mask them."""
        if self.name in _SINGLE:
            return _SINGLE[self.name](values, self.bounds[0])
        lower, combined, upper = _RANGES[self.name]
        return combined(lower(values, self.bounds[0]), upper(values, self.bounds[1]))
