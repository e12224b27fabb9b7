"""Calculations with numbers. Values that are not numbers count as missing."""

import math
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript.comparisons import difference, quotient, rounded, total
from dashwright.expressions.javascript.sorting import sorted_by
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number

#: The largest number, which Grafana uses as the first minimum: infinity is therefore never the minimum.
_LARGEST: Final = sys.float_info.max


def lowest(field: FieldValues) -> float | None:
    """Return the minimum; null without numbers."""
    return min((value for value in field.comparable() if value < _LARGEST), default=None)


def highest(field: FieldValues) -> float | None:
    """Return the maximum; null without numbers."""
    return max((value for value in field.comparable() if value > -_LARGEST), default=None)


def lowest_positive(field: FieldValues) -> float:
    """Return the smallest number above zero; the largest number of all without one, as Grafana does."""
    return min((number for number in field.numbers() if 0 < number < _LARGEST), default=_LARGEST)


def value_range(field: FieldValues) -> float | None:
    """Return the difference of the maximum and the minimum; null without numbers."""
    low, high = lowest(field), highest(field)
    return None if low is None or high is None else high - low


def sum_of(field: FieldValues) -> float:
    """Return the sum; 0 without numbers."""
    result: float = 0
    # Added one after another, as Grafana does: ``sum`` of newer versions of Python compensates rounding errors.
    for number in field.numbers():
        result += number
    return result


def mean(field: FieldValues) -> float | None:
    """Return the mean; null without numbers."""
    numbers = field.numbers()
    return sum_of(field) / len(numbers) if numbers else None


def median(field: FieldValues) -> Any:
    """Return the median of all values, NaN included."""
    values = [value for value in field.values if not is_missing(value)]
    if field.nulls is not NullMode.IGNORE:
        values = [0 if is_missing(value) and field.nulls is NullMode.ZERO else value for value in field.values]
    ordered = sorted_by(values, difference)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return quotient(total(ordered[middle - 1], ordered[middle]), 2) if ordered else math.nan


def variance(field: FieldValues) -> float:
    """Return the variance of the population. A NaN makes it NaN; nulls are left out in any mode."""
    return variance_of(field.values) if field.is_numeric else 0


def variance_of(values: Any) -> float:
    """Return the variance of a sequence of values by Welford's method; 0 without numbers."""
    squares = running_mean = 0.0
    numbers = 0
    for value in values:
        if is_missing(value):
            continue
        numbers += 1
        before, number = running_mean, float(value) if isinstance(value, int | float) else math.nan
        running_mean += (number - before) / numbers
        squares += (number - before) * (number - running_mean)
    return squares / numbers if numbers else 0


def standard_deviation(field: FieldValues) -> float:
    """Return the standard deviation of the population."""
    return math.sqrt(variance(field))


def _steps(field: FieldValues) -> Iterator[float]:
    """Return the differences of consecutive numbers."""
    numbers = field.numbers()
    return (after - before for before, after in pairwise(numbers))


def smallest_step(field: FieldValues) -> float | None:
    """Return the smallest difference of two consecutive numbers, which may be negative; null without one."""
    return min((step for step in _steps(field) if step < _LARGEST), default=None)


def delta(field: FieldValues) -> float:
    """Return the sum of all increases of a counter. The first increase after a decrease does not count."""
    result: float = 0
    was_up = True
    for step in _steps(field):
        if step < 0:
            was_up = False
            continue
        result += step if was_up else 0
        was_up = True
    return result


def difference_of_ends(field: FieldValues) -> float | None:
    """Return the last number minus the first one; null without numbers."""
    values = field.present()
    return values[-1] - values[0] if values and is_number(values[0]) and is_number(values[-1]) else None


def difference_percent(field: FieldValues) -> float:
    """Return the difference of the last and the first number in percent of the first one; 0 without numbers."""
    change = difference_of_ends(field)
    return 0 if change is None else quotient(change, field.present()[0]) * 100


def percentile(share: float) -> Callable[[FieldValues], Any]:
    """Return a function that returns the value at a share of the sorted values: 0.95 for the 95th percentile."""

    def value_at_share(field: FieldValues) -> Any:
        values = field.values
        if field.nulls is not NullMode.KEEP:
            is_ignored = field.nulls is NullMode.IGNORE
            values = [0 if value is None else value for value in values if value is not None or not is_ignored]
        ordered = sorted_by(values, difference)
        index = int(rounded((len(ordered) - 1) * share))
        return ordered[index] if 0 <= index < len(ordered) else UNDEFINED

    return value_at_share
