"""Matchers of single values, by the ids that Grafana gives them."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.javascript.comparisons import are_equal, compare
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_number, leading_integer, number_of, text_of

#: Returns whether a value matches.
CellMatcher = Callable[[Any], bool]


def cell_matcher(config: Mapping[str, Any]) -> CellMatcher:
    """Return the matcher of a condition ``{"id", "options"}``. Raises BadRequest for an unknown id."""
    name = string_of(config.get("id"))
    create = CELL_MATCHERS.get(name)
    if create is None:
        raise BadRequest(f"unknown condition {name[:40]!r} of values; use one of {', '.join(CELL_MATCHERS)}")
    return create(object_of(config.get("options")))


def _compared(is_expected: Callable[[float], bool]) -> Callable[[Mapping[str, Any]], CellMatcher]:
    """Return a function that creates matchers from options. NaN never matches.

    ``is_expected`` receives the order of the value and the option ``value``: negative, 0 or positive.
    """

    def create(options: Mapping[str, Any]) -> CellMatcher:
        expected = options.get("value", UNDEFINED)
        return lambda value: not math.isnan(number_of(value)) and is_expected(compare(value, expected))

    return create


def _between(options: Mapping[str, Any]) -> CellMatcher:
    """Return the matcher of numbers between ``from`` and ``to``, without both. As in Grafana, text is read by ``parseInt``.

    If one of them is not a number, nothing matches.
    """
    low, high = (limit if is_number(limit) else leading_integer(limit) for limit in (options.get("from"), options.get("to")))
    return lambda value: low < number_of(value) < high


def _pattern(options: Mapping[str, Any]) -> CellMatcher:
    pattern = TextPattern(string_of(options.get("value")))
    return lambda value: pattern.search(text_of(value)) is not None


def _contains(options: Mapping[str, Any]) -> CellMatcher:
    """Return the matcher of text that contains ``value``. As in Grafana, every value contains the empty text."""
    substring = string_of(options.get("value")).lower()
    if options.get("value") == "":
        return lambda _value: True
    # A missing option, for which ``substring`` is empty too, matches nothing.
    return lambda value: isinstance(value, str) and bool(substring) and substring in value.lower()


def _does_not_contain(options: Mapping[str, Any]) -> CellMatcher:
    """Return the matcher of text that does not contain ``value``. As in Grafana, nothing matches if the text or ``value`` is empty."""
    substring = string_of(options.get("value")).lower()
    return lambda value: isinstance(value, str) and value != "" and substring != "" and substring not in value.lower()


#: A function for each id, which returns the matcher with some options.
CELL_MATCHERS: Final[Mapping[str, Callable[[Mapping[str, Any]], CellMatcher]]] = {
    "isNull": lambda _options: is_missing,
    "isNotNull": lambda _options: lambda value: not is_missing(value),
    "greater": _compared(lambda order: order > 0),
    "greaterOrEqual": _compared(lambda order: order >= 0),
    "lower": _compared(lambda order: order < 0),
    "lowerOrEqual": _compared(lambda order: order <= 0),
    "equal": lambda options: lambda value: are_equal(value, options.get("value", UNDEFINED)),
    "notEqual": lambda options: lambda value: not are_equal(value, options.get("value", UNDEFINED)),
    "substring": _contains,
    "notSubstring": _does_not_contain,
    "between": _between,
    "regex": _pattern,
}
