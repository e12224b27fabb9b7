"""The scale of an item: the range of values from the start to the end of its gauge or bar."""

import math
from dataclasses import dataclass
from typing import Final

from dashwright.expressions.pictures.display.items import DisplayItem

#: The ends of the range of columns whose values are all equal, by unit. Other units have the range of percentages.
_DEFAULT_ENDS: Final = {"percentunit": 1.0}
_DEFAULT_END: Final = 100.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far a value is from the start to the end, from 0 to 1; values beyond are at the ends, NaN at the start."""
        if math.isnan(value) or self.high <= self.low:
            return 0.0
        # Huge numbers are halved, so that their distance is finite. Half of the smallest numbers would be 0.
        divisor = 1 if math.isfinite(self.high - self.low) else 2
        low, high = self.low / divisor, self.high / divisor
        return min(max((value / divisor - low) / (high - low), 0.0), 1.0)

    def value(self, share: float) -> float:
        """Return the value at a share of the range."""
        return self.low * (1 - share) + self.high * share


def scale_of(item: DisplayItem) -> Scale:
    """Return the range of the column of an item. If all values of the column are equal, the range begins at 0."""
    low, high = item.processor.range
    if low == high:
        end = _DEFAULT_ENDS.get(str(item.processor.config.get("unit")), _DEFAULT_END)
        return Scale(min(low, 0.0), max(high, end))
    return Scale(min(low, high), max(low, high))
