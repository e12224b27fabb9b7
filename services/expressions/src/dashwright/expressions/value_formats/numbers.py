"""Texts of numbers as JavaScript writes them, because Grafana formats values in the browser."""

import math
import sys
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

from dashwright.expressions.javascript.number_text import shortest_text

#: The maximum number of decimals of a text.
MAX_DECIMALS: Final = 20
_HEX_RADIX: Final = 16
#: The exponent of the largest power of ten that is a float. Numbers that need more decimals are written with all of their digits.
_MAX_AUTOMATIC_DECIMALS: Final = 308
#: More digits than any float has before and after its decimal point.
_EXACT_DIGITS: Final = 800


def rounded(value: float) -> float:
    """Return the nearest whole number; a half is rounded up, as by ``Math.round``."""
    if not math.isfinite(value):
        return value
    floor = math.floor(value)
    return float(floor + 1 if value - floor >= 0.5 else floor)


def automatic_decimals(value: float) -> int:
    """Return the number of decimals with which Grafana shows a number by default: so many that it has three significant digits."""
    if not math.isfinite(value) or value == math.trunc(value):
        return 0
    # As in Grafana; ``log10`` would be rounded differently.
    power = math.floor(math.log(abs(value)) / math.log(10))
    return max(0, 2 - power)


def fixed_text(value: float, decimals: int | None) -> str:
    """Return a number with decimals, by default with automatic ones. Numbers with an exponent are not padded."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    decimal_count = automatic_decimals(value) if decimals is None else min(max(decimals, 0), MAX_DECIMALS)
    if decimal_count > _MAX_AUTOMATIC_DECIMALS:
        return shortest_text(value)
    factor = 10.0**decimal_count
    scaled = value * factor
    text = shortest_text(rounded(scaled) / factor if math.isfinite(scaled) else value)
    if "e" in text:
        return text
    _, _, fraction = text.partition(".")
    if len(fraction) >= decimal_count:
        return text
    return text + ("" if fraction else ".") + "0" * (decimal_count - len(fraction))


def exponent_text(value: float, decimals: int | None) -> str:
    """Return a number in scientific notation, such as *1.5e+3*, by default with all of its digits."""
    if not math.isfinite(value):
        return shortest_text(value)
    if decimals is None:
        number = Decimal(repr(value)).normalize()
    else:
        with localcontext(prec=min(max(decimals, 0), MAX_DECIMALS) + 1, rounding=ROUND_HALF_UP):
            number = +Decimal(value)
    sign, digit_tuple, _ = number.as_tuple()
    digits = "".join(map(str, digit_tuple))
    power = number.adjusted() if number else 0
    if decimals is not None:
        digits = digits.ljust(min(max(decimals, 0), MAX_DECIMALS) + 1, "0")
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    # JavaScript writes negative zero without a sign.
    return f"{'-' * (sign and bool(value))}{digits[0]}{fraction}e{power:+d}"


def grouped_text(value: float, max_decimals: int, min_decimals: int = 0) -> str:
    """Return a number with a comma between thousands, as in English; a half is rounded away from zero."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    with localcontext(prec=_EXACT_DIGITS):
        number = Decimal(repr(value)).quantize(Decimal(1).scaleb(-min(max(max_decimals, 0), MAX_DECIMALS)), ROUND_HALF_UP)
    integer, _, fraction = f"{number:,f}".partition(".")
    fraction = fraction.rstrip("0").ljust(min(max(min_decimals, 0), MAX_DECIMALS), "0")
    return f"{integer}.{fraction}" if fraction else integer


def hexadecimal_text(value: float) -> str:
    """Return a number that is not negative in base 16, with as many digits of its fraction as distinguish it from its neighbours.

    The algorithm is that of ``toString(16)`` in V8, the JavaScript engine of Chrome.
    """
    integer = math.floor(value)
    fraction = value - integer
    # Half of the distance to the next number: further digits of the fraction would be noise.
    noise = max(0.5 * math.ulp(value), sys.float_info.min)
    digits: list[int] = []
    while fraction >= noise:
        fraction *= _HEX_RADIX
        noise *= _HEX_RADIX
        digits.append(int(fraction))
        fraction -= digits[-1]
        # Once the rest is noise, the last digit is rounded to the nearest one, and a half to the even one.
        if (fraction > 0.5 or (fraction == 0.5 and digits[-1] % 2)) and fraction + noise > 1:
            digits[-1] += 1
            break
    # Rounding may have raised the last digit to 16, which is carried to the digit before it.
    while digits and digits[-1] == _HEX_RADIX:
        digits.pop()
        if digits:
            digits[-1] += 1
        else:
            integer += 1
    return f"{integer:X}" + ("." + "".join(f"{digit:X}" for digit in digits) if digits else "")
