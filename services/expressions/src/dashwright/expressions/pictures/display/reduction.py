"""Calculations that reduce the values of a column to one value."""

import math

from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.javascript import values as javascript
from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.display.values import Value


def reduced(column: DisplayColumn, calculation: str) -> Value:
    """Return the result of a calculation on a column; the last value that is not null for an unknown calculation."""
    result = column.source.reduced(CALCULATIONS.get(calculation, CALCULATIONS["lastNotNull"]))
    if javascript.is_missing(result):
        return None
    if isinstance(result, bool | str):
        return result
    return ", ".join(map(javascript.text_of, result)) if isinstance(result, list) else float(result)


def percent_change(column: DisplayColumn) -> float:
    """Return the change from the first to the last number of a column in percent of the first; 0 if it is not known."""
    if column.type not in ("number", "time"):
        return 0.0
    change = column.source.reduced(CALCULATIONS["diffperc"])
    return change if isinstance(change, int | float) and math.isfinite(change) else 0.0
