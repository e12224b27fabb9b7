"""The functions of math. The result for a null is NaN, except for ``is_null`` and ``is_number``."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from tests.reference_engine.values import Value


def _keep_nan(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """Return a function of values that returns NaN for null and NaN."""

    def keep_nan(value: Value) -> Value:
        return math.nan if value is None or math.isnan(value) else function(value)

    return keep_nan


def _logarithm(number: float) -> float:
    """Return the natural logarithm: -Inf for 0, and NaN for negative numbers."""
    if number == 0:
        return -math.inf
    return math.nan if number < 0 else math.log(number)


def _rounding(direction: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that rounds a number in a direction. Infinities are unchanged, and the result has the sign of the number."""
    return lambda number: number if math.isinf(number) else math.copysign(direction(number), number)


def _half_away_from_zero(number: float) -> float:
    """Return the nearest whole number. Halves are rounded away from 0."""
    size = abs(number)
    whole = math.floor(size)
    rounded_size = whole + 1 if size - whole >= 0.5 else whole
    return math.copysign(rounded_size, number)


def _is_nan(value: Value) -> Value:
    return math.nan if value is None else float(math.isnan(value))


def _is_infinite(value: Value) -> Value:
    return math.nan if value is None else float(math.isinf(value))


FUNCTIONS: Final[Mapping[str, Callable[[Value], Value]]] = {
    "abs": _keep_nan(abs),
    "ceil": _keep_nan(_rounding(math.ceil)),
    "floor": _keep_nan(_rounding(math.floor)),
    "round": _keep_nan(_rounding(_half_away_from_zero)),
    "log": _keep_nan(_logarithm),
    "is_nan": _is_nan,
    "is_inf": _is_infinite,
    "is_null": lambda value: float(value is None),
    "is_number": lambda value: float(value is not None and math.isfinite(value)),
}

CONSTANTS: Final[Mapping[str, Value]] = {"nan": math.nan, "inf": math.inf, "infn": -math.inf, "null": None}
