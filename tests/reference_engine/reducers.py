"""The reducers of the expression types reduce and resample: functions from many values to one."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.reference_engine.values import Value


def total(numbers: Sequence[float]) -> float:
    """Return the sum in order, starting with 0."""
    running_sum = 0.0
    for number in numbers:
        running_sum += number
    return running_sum


def mean(numbers: Sequence[float]) -> float:
    return total(numbers) / len(numbers)


def median(numbers: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle values."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


_REDUCERS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "sum": total,
    "mean": mean,
    "min": min,
    "max": max,
    "median": median,
}


def reduce_strictly(reducer: str, values: Sequence[Value]) -> Value:
    """Return the reduction in the mode strict: with a null or NaN among the values, the result is NaN.

    Exceptions: ``count`` counts nulls and NaN, and ``last`` returns them. Infinities are numbers. Without values, ``sum`` and
    ``count`` are 0, and the others NaN.
    """
    if reducer == "count":
        return float(len(values))
    if not values:
        return 0.0 if reducer == "sum" else math.nan
    if reducer == "last":
        return values[-1]
    numbers = [value for value in values if value is not None and not math.isnan(value)]
    return _REDUCERS[reducer](numbers) if len(numbers) == len(values) else math.nan
