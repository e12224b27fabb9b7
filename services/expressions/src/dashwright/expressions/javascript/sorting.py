"""Sorting as browsers do it: comparison functions, and the order of text without regard to case and accents."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.values import UNDEFINED, is_nan

_DIGITS: Final = re.compile(r"\d+")
#: The number of digits of a number that determine its order. Text may have thousands, whose conversion takes long.
_MAX_DIGITS: Final = 300
#: Punctuation and symbols of ASCII in the order of the Unicode Collation Algorithm, which is before digits and letters.
_PUNCTUATION: Final = {character: index for index, character in enumerate("_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$")}


def sorted_by(values: Iterable[Any], comparison: Callable[[Any, Any], float]) -> list[Any]:
    """Return the values as ``sort`` orders them: stable, a comparison of NaN counts as equal, undefined values last."""
    all_values = list(values)
    defined = [value for value in all_values if value is not UNDEFINED]
    if comparison is difference and all(map(_is_ordered, defined)):
        # The same order, without a call for each comparison.
        return sorted(defined) + [UNDEFINED] * (len(all_values) - len(defined))
    defined.sort(key=cmp_to_key(lambda left, right: _sign(comparison(left, right))))
    return defined + [UNDEFINED] * (len(all_values) - len(defined))


def _is_ordered(value: Any) -> bool:
    """Return whether a value is a number that has an order among numbers, which NaN has not."""
    return isinstance(value, int | float) and not is_nan(value)


def _sign(number: float) -> int:
    return 0 if math.isnan(number) else (number > 0) - (number < 0)


def collation_key(text: str, *, is_numeric: bool = False) -> list[tuple[int, Any]]:
    """Return a key that sorts text as ``Intl.Collator`` with sensitivity ``base``: case and accents do not count.

    If ``is_numeric``, sequences of digits are compared as numbers.
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    base = "".join(character for character in folded if not unicodedata.combining(character))
    if not is_numeric:
        return [_weight(character) for character in base]
    key: list[tuple[int, Any]] = []
    end = 0
    for match in _DIGITS.finditer(base):
        key += map(_weight, base[end : match.start()])
        key.append((2, int(match[0][:_MAX_DIGITS])))
        end = match.end()
    return key + [_weight(character) for character in base[end:]]


def _weight(character: str) -> tuple[int, Any]:
    """Return the sort key of a character: spaces are first, then punctuation, digits and letters."""
    if character.isspace():
        return 0, ord(character)
    if character.isdigit():
        return 2, unicodedata.digit(character, 0)
    if character.isalpha():
        return 3, ord(character)
    # Symbols outside of ASCII follow those in the table.
    return 1, _PUNCTUATION.get(character, len(_PUNCTUATION) + ord(character))


def compare_texts(left: str, right: str, *, is_numeric: bool = False) -> int:
    """Return -1, 0 or 1 as ``Intl.Collator`` with sensitivity ``base`` compares text."""
    first, second = (collation_key(text, is_numeric=is_numeric) for text in (left, right))
    return (first > second) - (first < second)
