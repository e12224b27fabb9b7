"""Units with a suffix: plain ones, and those whose numbers are scaled by powers of 1000 or 1024."""

import math
from collections.abc import Sequence
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.numbers import fixed_text

#: The prefixes of units in ascending order, each 1000 times the previous one, or 1024 times for IEC.
_SI_PREFIXES: Final = ("f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y")
#: The position of the unit without a prefix.
_SI_CENTRE: Final = _SI_PREFIXES.index("")
_IEC_PREFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_SHORT_SCALE: Final = ("", " K", " Mil", " Bil", " Tri", " Quadr", " Quint", " Sext", " Sept")
#: The suffixes of counts and of amounts of money.
COUNT_SCALE: Final = ("", "K", "M", "B", "T")
#: The letters of SI prefixes in custom units, such as ``si:mF``. Micro is the micro sign or the Greek letter.
_PREFIX_LETTERS: Final = {**{letter: index - _SI_CENTRE for index, letter in enumerate(_SI_PREFIXES) if letter}, "μ": -2}


def suffixed(unit: str) -> ValueFormat:
    """Return the format of a unit that is written after the number, without scaling."""

    def format_plain(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        return FormattedValue(fixed_text(value, decimals), suffix=unit and f" {unit}")

    return format_plain


def prefixed(prefix: str) -> ValueFormat:
    """Return the format of a unit that is written before the number, without scaling."""
    return lambda value, decimals, _context: FormattedValue(fixed_text(value, decimals), prefix=prefix)


def si(unit: str, offset: int = 0) -> ValueFormat:
    """Return the format of a unit with the prefixes of SI. ``offset`` is the power of 1000 of the values: 1 for *k*, -1 for *m*."""
    return scaled(1000, [f" {prefix}{unit}" for prefix in _SI_PREFIXES], _SI_CENTRE + offset)


def si_with_prefix(unit: str) -> ValueFormat:
    """Return the format of values in a unit that may begin with an SI prefix, such as ``mF``."""
    offset = _PREFIX_LETTERS.get(unit[:1], 0)
    return si(unit[1:] if offset else unit, offset)


def iec(unit: str, offset: int = 0) -> ValueFormat:
    """Return the format of a unit with the prefixes of IEC. ``offset`` is the power of 1024 of the values: 1 for *Ki*."""
    return scaled(1024, [f" {prefix}{unit}" for prefix in _IEC_PREFIXES], offset)


def short() -> ValueFormat:
    """Return the format of numbers in the short scale, such as *1.5 Mil*."""
    return scaled(1000, _SHORT_SCALE)


def count(unit: str) -> ValueFormat:
    """Return the format of numbers in thousands (K) to trillions (T) of a unit, such as *1.5K ops/s*."""
    scale = scaled(1000, COUNT_SCALE)

    def format_count(value: float, decimals: int | None, context: DateContext) -> FormattedValue:
        number = scale(value, decimals, context)
        return FormattedValue(number.text, suffix=f"{number.suffix} {unit}")

    return format_count


def scaled(factor: float, suffixes: Sequence[str], start: int = 0) -> ValueFormat:
    """Return the format of values in the unit ``suffixes[start]``. Each unit in ``suffixes`` is ``factor`` times the previous one.

    NaN and infinity have no suffix.
    """

    def format_scaled(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        if not math.isfinite(value):
            return FormattedValue(fixed_text(value, None))
        power = math.floor(math.log10(abs(value)) / math.log10(factor)) if value else 0
        index = min(max(start + power, 0), len(suffixes) - 1)
        return FormattedValue(fixed_text(value / factor ** (index - start), decimals), suffix=suffixes[index])

    return format_scaled
