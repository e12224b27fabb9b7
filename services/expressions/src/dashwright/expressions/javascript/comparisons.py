"""Operators of JavaScript: comparisons of values of any types, and arithmetic."""

import math
from typing import Any

from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number, key_of, number_of, text_of


def are_identical(left: Any, right: Any) -> bool:
    """Return whether ``===`` holds."""
    if type(left) is type(right) and isinstance(left, str | float | int):
        return bool(left == right)
    key = key_of(left)
    # Unlike in a ``Set``, NaN is not identical to itself.
    return key == key_of(right) and key[0] != "nan"


def are_equal(left: Any, right: Any) -> bool:
    """Return whether ``==`` holds, which converts values of different types: 5 equals ``'5'``."""
    if is_missing(left) or is_missing(right):
        return is_missing(left) and is_missing(right)
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        return left is right
    if isinstance(left, dict | list) and isinstance(right, str):
        return text_of(left) == right
    if isinstance(right, dict | list) and isinstance(left, str):
        return text_of(right) == left
    return number_of(left) == number_of(right)


def compare(left: Any, right: Any) -> float:
    """Return -1, 0 or 1 as ``<`` and ``>`` compare values; NaN if they cannot be compared."""
    if isinstance(left, list | dict):
        left = text_of(left)
    if isinstance(right, list | dict):
        right = text_of(right)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    first, second = number_of(left), number_of(right)
    if math.isnan(first) or math.isnan(second):
        return math.nan
    return (first > second) - (first < second)


def difference(left: Any, right: Any) -> float:
    """Return ``left - right``, NaN if one is not a number. It is the usual comparison for sorting."""
    return _arithmetic_number(left) - _arithmetic_number(right)


def total(left: Any, right: Any) -> Any:
    """Return ``left + right``: text if one of them is text, else a number."""
    if isinstance(left, str | list | dict) or isinstance(right, str | list | dict):
        return text_of(left) + text_of(right)
    return _arithmetic_number(left) + _arithmetic_number(right)


def product(left: Any, right: Any) -> float:
    """Return ``left * right``, NaN if one is not a number."""
    return _arithmetic_number(left) * _arithmetic_number(right)


def quotient(left: Any, right: Any) -> float:
    """Return ``left / right``: infinite for a division by zero, NaN if one is not a number or both are zero."""
    dividend, divisor = _arithmetic_number(left), _arithmetic_number(right)
    if divisor == 0:
        sign = math.copysign(1, dividend) * math.copysign(1, divisor)
        return math.nan if dividend == 0 or math.isnan(dividend) else sign * math.inf
    return dividend / divisor


def rounded(number: float) -> float:
    """Return the nearest integer, as ``Math.round`` does: halves are rounded up. NaN and infinities are unchanged."""
    if not math.isfinite(number):
        return number
    floor = math.floor(number)
    return floor + (number - floor >= 0.5)


def _arithmetic_number(value: Any) -> float:
    # Floats rather than integers, because integers of Python are unlimited and are divided differently.
    if value is UNDEFINED:
        return math.nan
    number = value if is_number(value) else number_of(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
