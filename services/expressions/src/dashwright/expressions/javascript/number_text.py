"""Texts of numbers as JavaScript converts them."""

import math
from decimal import Decimal
from typing import Final

#: Powers of ten from which upwards, and from which downwards, numbers are written with an exponent.
_MAX_PLAIN_POWER: Final = 21
_MIN_PLAIN_POWER: Final = -7


def shortest_text(value: float) -> str:
    """Return the shortest text that reads as the same number, such as *0.1*, *1e+21* or *Infinity*."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not value:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, digit_tuple))
    # The power of ten of the first digit.
    power = len(digits) + exponent - 1
    if not _MIN_PLAIN_POWER < power < _MAX_PLAIN_POWER:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{power:+d}"
    elif exponent >= 0:
        text = digits + "0" * exponent
    elif power >= 0:
        text = f"{digits[: power + 1]}.{digits[power + 1 :]}"
    else:
        text = "0." + "0" * (-power - 1) + digits
    return "-" * sign + text
