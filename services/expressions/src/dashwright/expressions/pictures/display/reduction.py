"""Calculations that reduce the values of a column to one value."""

import math
from typing import Final

from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript import values as javascript
from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.display.value_mappings import Value

_NUMERIC_TYPES: Final = frozenset({"number", "time", "boolean", "enum"})


def reduced(column: DisplayColumn, calculation: str) -> Value:
    """Return the result of a calculation on a column; the last value that is not null for an unknown calculation."""
    result = CALCULATIONS.get(calculation, CALCULATIONS["lastNotNull"])(_field_values(column))
    if javascript.is_missing(result):
        return None
    if isinstance(result, bool | str):
        return result
    return ", ".join(map(javascript.text_of, result)) if isinstance(result, list) else float(result)


def percent_change(column: DisplayColumn) -> float:
    """Return the change from the first to the last number of a column in percent of the first; 0 if it is not known."""
    if column.type not in ("number", "time"):
        return 0.0
    numbers = _field_values(column).numbers()
    if not numbers or not numbers[0]:
        return 0.0
    change = (numbers[-1] - numbers[0]) / numbers[0] * 100
    return change if math.isfinite(change) else 0.0


def _field_values(column: DisplayColumn) -> FieldValues:
    return FieldValues(column.values(), column.type in _NUMERIC_TYPES, NullMode.of(column.config.get("nullValueMode")))
