"""Numbers without a unit, in several notations, and numbers as words for true and false."""

import math

from dashwright.expressions.javascript.number_text import shortest_text
from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.numbers import exponent_text, fixed_text, grouped_text, hexadecimal_text


def percent(factor: float) -> ValueFormat:
    """Return the format of percentages. Values are multiplied by ``factor``."""
    return lambda value, decimals, _context: FormattedValue(fixed_text(value * factor, decimals), suffix="%")


def unchanged(value: float, _decimals: int | None, _context: DateContext) -> FormattedValue:
    """Return a number with all of its digits."""
    return FormattedValue(shortest_text(value))


def scientific(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
    """Return a number in scientific notation."""
    return FormattedValue(exponent_text(value, decimals))


def grouped(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
    """Return a number with a comma between thousands, by default with at most three decimals."""
    return FormattedValue(grouped_text(value, 3 if decimals is None else decimals))


def hexadecimal(prefix: str) -> ValueFormat:
    """Return the format of numbers in base 16 after a prefix."""

    def format_hexadecimal(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        rounded = float(fixed_text(value, decimals)) if math.isfinite(value) else value
        if not math.isfinite(rounded):
            return FormattedValue(f"{prefix}NAN")
        return FormattedValue(("-" if rounded < 0 else "") + prefix + hexadecimal_text(abs(rounded)))

    return format_hexadecimal


def truth(true: str, false: str) -> ValueFormat:
    """Return the format of numbers as one of two words; 0 and NaN are false."""
    return lambda value, _decimals, _context: FormattedValue(true if value and not math.isnan(value) else false)


def custom_truth(notation: str) -> ValueFormat:
    """Return the format of two words with a slash between them. Without a slash, false is a hyphen."""
    true, slash, false = notation.partition("/")
    return truth(true, false if slash else "-")
