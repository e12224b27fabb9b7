"""Calculations that reduce the values of a column to one value."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.display.value_mappings import Value
from dashwright.expressions.pictures.series import reduced_value

#: The position of the value that a calculation takes of a column of text.
_POSITIONS: Final = {"first": 0, "firstNotNull": 0}


def reduced(column: DisplayColumn, calculation: str) -> Value:
    """Return the result of a calculation on a column; null if there is none. Text has only a first and a last value."""
    values = column.values()
    if calculation not in ("first", "last"):
        values = [value for value in values if value is not None and (value == value or calculation == "count")]
    if calculation == "count":
        return float(len(values))
    if column.type in ("number", "time", "boolean", "enum"):
        if calculation in ("first", "last", "firstNotNull", "lastNotNull"):
            return _at(values, calculation)
        return reduced_value(np.array([float(value) for value in values if isinstance(value, int | float)]), calculation)
    return _at(values, calculation)


def percent_change(column: DisplayColumn) -> float:
    """Return the change from the first to the last number of a column in percent of the first; 0 if it is not known."""
    numbers = column.source.numbers
    numbers = numbers[~np.isnan(numbers)]
    if column.type != "number" or not len(numbers) or not numbers[0]:
        return 0.0
    first, last = float(numbers[0]), float(numbers[-1])
    change = (last - first) / first * 100
    return change if math.isfinite(change) else 0.0


def _at(values: Sequence[Value], calculation: str) -> Value:
    return values[_POSITIONS.get(calculation, -1)] if values else None
