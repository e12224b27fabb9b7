"""The operators of math on two values, and its signs (``-`` and ``!``) on one value."""

import math

from tests.reference_engine.values import Value


def apply_operator(symbol: str, left: Value, right: Value) -> Value:
    """Return the result of an operator on two values.

    The first of these rules that applies decides. If a side is null, the result is null. A left side that is not 0, such as NaN,
    decides ``||``, and a left side of 0 decides ``&&``. If a side is NaN, the result is NaN.
    """
    if left is None or right is None:
        return None
    if symbol == "||" and left != 0:
        return 1.0
    if symbol == "&&" and left == 0:
        return 0.0
    if math.isnan(left) or math.isnan(right):
        return math.nan
    return _apply_to_numbers(symbol, left, right)


def _apply_to_numbers(symbol: str, left: float, right: float) -> float:
    """Return the result of an operator on two numbers. Arithmetic is that of C; comparisons and logic give 1 or 0."""
    match symbol:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return quotient(left, right)
        case "%":
            return _remainder(left, right)
        case "**":
            return _power(left, right)
        case "==":
            return float(left == right)
        case "!=":
            return float(left != right)
        case ">":
            return float(left > right)
        case ">=":
            return float(left >= right)
        case "<":
            return float(left < right)
        case "<=":
            return float(left <= right)
        case "&&":
            return float(left != 0 and right != 0)
        case "||":
            return float(left != 0 or right != 0)
    raise AssertionError(symbol)


def quotient(left: float, right: float) -> float:
    """Return the quotient. Division by 0 gives an infinity whose sign follows from both signs; 0/0 is NaN."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.inf * math.copysign(1, left) * math.copysign(1, right)


def _remainder(left: float, right: float) -> float:
    """Return the remainder with the sign of the left side: NaN if the left side is infinite or the right side is 0."""
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def _power(left: float, right: float) -> float:
    """Return the power. Where Python raises, the result is that of C: NaN or an infinity."""
    is_odd = right % 2 == 1
    if left == 0 and right < 0:
        return math.copysign(math.inf, left) if is_odd else math.inf
    try:
        return math.pow(left, right)
    except OverflowError:
        return -math.inf if left < 0 and is_odd else math.inf
    except ValueError:
        return math.nan


def apply_sign(symbol: str, value: Value) -> Value:
    """Return the value with the sign applied. Null and NaN are unchanged. ``!`` gives 1 for 0, else 0."""
    if value is None or math.isnan(value):
        return value
    return -value if symbol == "-" else float(value == 0)
