"""Operators of calculated fields: unary ones with one value, binary ones with two."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import difference, product, quotient, rounded, total
from dashwright.expressions.javascript.values import number_of

#: The binary operators by their signs.
BINARY_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"+": total, "-": difference, "*": product, "/": quotient}


def _exponential(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _logarithm(number: float) -> float:
    if number == 0:
        return -math.inf
    return math.log(number) if number > 0 else math.nan


def _finite_only(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda number: function(number) if math.isfinite(number) else number


_FUNCTIONS: Final[Mapping[str, Callable[[float], float]]] = {
    "abs": abs,
    "exp": _exponential,
    "ln": _logarithm,
    "round": rounded,
    "floor": _finite_only(math.floor),
    "ceil": _finite_only(math.ceil),
}
#: The operator that divides each value by the sum of all.
_PERCENT: Final = "percent"


def apply_unary(operator: str, values: list[Any]) -> list[float] | None:
    """Return the results of a unary operator such as ``abs``; None for an unknown operator."""
    numbers = [number_of(value) for value in values]
    if operator == _PERCENT:
        total = sum(number for value, number in zip(values, numbers, strict=True) if value is not None and math.isfinite(number))
        return [quotient(number, total or 1) for number in numbers]
    function = _FUNCTIONS.get(operator)
    return None if function is None else [function(number) for number in numbers]
