"""Value mappings of a field configuration, which replace the texts and colours of single values, as in Grafana."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.javascript import values as javascript
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.pictures.display.values import Value, text_of

#: Further mappings of a column are ignored.
_MAX_MAPPINGS: Final = 500
#: The maximum number of regular expressions of a column. Further ones are ignored, because each may take a second.
_MAX_PATTERNS: Final = 20


@dataclass(frozen=True, slots=True)
class MappingResult:
    """The text and the colour that a mapping gives to a value."""

    text: str | None  #: None to keep the text of the value.
    colour: str  #: As written in the dashboard; empty to keep the colour of the value.


#: A function that returns the result of a mapping, or None if it does not match.
_Mapping = Callable[[Value], MappingResult | None]


def mappings_of(config: Mapping[str, Any]) -> Callable[[Value], MappingResult | None]:
    """Return a function that returns the result of the first mapping that matches a value, or None."""
    mappings: list[_Mapping] = []
    pattern_count = 0
    for source in objects_of(config.get("mappings"))[:_MAX_MAPPINGS]:
        kind, options = source.get("type"), object_of(source.get("options"))
        pattern_count += kind == "regex"
        create = _KINDS.get(kind) if isinstance(kind, str) else None
        if create and (kind != "regex" or pattern_count <= _MAX_PATTERNS):
            mappings.append(create(options))
    return lambda value: _first_result(mappings, value)


def _first_result(mappings: Sequence[_Mapping], value: Value) -> MappingResult | None:
    return next((result for mapping in mappings if (result := mapping(value)) is not None), None)


def _result(source: Any) -> MappingResult:
    """Return the result that a mapping stores as ``{"text", "color"}``; both are optional."""
    result = object_of(source)
    text = result.get("text")
    return MappingResult(text_of(text) if isinstance(text, str | int | float) else None, string_of(result.get("color")))


def _by_value(options: Mapping[str, Any]) -> _Mapping:
    """Return the mapping of single values, whose texts are the keys of the options."""
    results = {text: _result(result) for text, result in options.items() if isinstance(result, dict)}
    return lambda value: None if value is None else results.get(text_of(value))


def _by_range(options: Mapping[str, Any]) -> _Mapping:
    """Return the mapping of the numbers from one limit to another."""
    low, high = _limit(options.get("from")), _limit(options.get("to"))
    result = _result(options.get("result"))

    def map_range(value: Value) -> MappingResult | None:
        # Null and booleans are in no range.
        number = math.nan if value is None or isinstance(value, bool) else javascript.leading_number(value)
        is_inside = (low is None or number >= low) and (high is None or number <= high)
        return result if is_inside and not math.isnan(number) else None

    return map_range


def _limit(value: Any) -> float | None:
    """Return an end of a range, which may be text, or None for an open end."""
    number = javascript.float_of(value) if isinstance(value, str | int | float) else math.nan
    return None if math.isnan(number) else number


def _by_pattern(options: Mapping[str, Any]) -> _Mapping:
    """Return the mapping of texts that match a regular expression. The result may contain its groups."""
    result = _result(options.get("result"))
    source = string_of(options.get("pattern"))
    pattern: TextPattern | None
    try:
        pattern = TextPattern.of(source)
    except BadRequest:
        return lambda _value: None

    def map_text(value: Value) -> MappingResult | None:
        nonlocal pattern
        if not isinstance(value, str) or pattern is None:
            return None
        try:
            if pattern.search(value) is None:
                return None
            return result if result.text is None else MappingResult(pattern.replaced(value, result.text), result.colour)
        except BadRequest:
            # The limit of time of the pattern is used up: it would fail for each further value too.
            pattern = None
            return None

    return map_text


def _by_special(options: Mapping[str, Any]) -> _Mapping:
    """Return the mapping of a special value, such as null."""
    is_special = _SPECIAL_VALUES.get(string_of(options.get("match")))
    result = _result(options.get("result"))
    return lambda value: result if is_special and is_special(value) else None


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


#: The test of each special value, by its name in a mapping.
_SPECIAL_VALUES: Final[Mapping[str, Callable[[Value], bool]]] = {
    "null": lambda value: value is None,
    "nan": _is_nan,
    "null+nan": lambda value: value is None or _is_nan(value),
    "true": lambda value: value is True or value == "true",
    "false": lambda value: value is False or value == "false",
    "empty": lambda value: value == "",
}
#: The function that creates a mapping from its options, by the type of the mapping.
_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], _Mapping]]] = {
    "value": _by_value,
    "range": _by_range,
    "regex": _by_pattern,
    "special": _by_special,
}
