"""Matchers of fields, by the ids that Grafana gives them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, object_of, objects_of, string_of
from dashwright.expressions.calculations.table import calculation_of
from dashwright.expressions.javascript.comparisons import compare
from dashwright.expressions.javascript.values import is_missing, text_of
from dashwright.expressions.transformations.data import CellType, Column, DataFrame
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.patterns import TextPattern

#: Conditions may contain others this deep.
_MAX_DEPTH: Final = 20


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """A column to match, with what its names depend on."""

    column: Column
    frame: DataFrame
    names: DisplayNames

    @property
    def display_name(self) -> str:
        """The display name of the column."""
        return self.names.of(self.column, self.frame)

    def is_named(self, names: set[str]) -> bool:
        """Return whether the name or the display name is among ``names``."""
        return self.column.name in names or self.display_name in names


#: Returns whether a column matches.
FieldMatcher = Callable[[FieldPlace], bool]


def field_matcher(config: Mapping[str, Any], depth: int = 0) -> FieldMatcher:
    """Return the matcher of a condition ``{"id", "options"}``. Raises BadRequest for an unknown id or a nesting too deep."""
    name = string_of(config.get("id"))
    if depth > _MAX_DEPTH:
        raise BadRequest(f"the conditions of fields are nested deeper than {_MAX_DEPTH} levels")
    if create_nested := _NESTED.get(name):
        return create_nested(config.get("options"), depth + 1)
    create = FIELD_MATCHERS.get(name)
    if create is None:
        raise BadRequest(f"unknown condition of fields {name[:40]!r}; known are {', '.join([*FIELD_MATCHERS, *_NESTED])}")
    return create(config.get("options"))


def named(*names: str) -> FieldMatcher:
    """Return the matcher of columns with one of some names or display names."""
    wanted = set(names)
    return lambda place: place.is_named(wanted)


def _by_names(options: Any) -> FieldMatcher:
    settings = object_of(options)
    matches = named(*(name for name in list_of(settings.get("names")) if isinstance(name, str)))
    if settings.get("mode") == "exclude":
        return lambda place: not matches(place)
    return matches


def _by_pattern(options: Any) -> FieldMatcher:
    text = string_of(options)
    try:
        pattern = TextPattern.of(text) if text else None
    except BadRequest:
        # An invalid pattern matches no field, as in Grafana.
        pattern = None
    return lambda place: pattern is not None and pattern.search(place.display_name) is not None


def _by_pattern_or_names(options: Any) -> FieldMatcher:
    settings = object_of(options)
    by_names, by_pattern = _by_names({"names": settings.get("names")}), _by_pattern(settings.get("pattern"))
    return lambda place: by_names(place) or by_pattern(place)


def of_type(*types: str) -> FieldMatcher:
    """Return the matcher of columns with one of some types, such as ``number``."""
    return lambda place: place.column.type.value in types


def _by_value(options: Any) -> FieldMatcher:
    settings = object_of(options)
    if not settings.get("reducer"):
        return lambda _place: False
    calculation = calculation_of(settings["reducer"])
    operator, expected = settings.get("op") or "==", settings.get("value")
    if calculation.id in ("allIsNull", "allIsZero"):
        return lambda place: bool(place.column.reduced(calculation))
    return lambda place: holds(place.column.reduced(calculation), operator, expected)


def holds(left: Any, operator: str, right: Any) -> bool:
    """Return whether a comparison holds, such as ``>=``. A null is the text ``null``."""
    if (is_missing(left) or is_missing(right)) and operator in (">=", "<="):
        operator = "=="
    left, right = ("null" if is_missing(value) else value for value in (left, right))
    if operator in ("==", "!="):
        return (text_of(left) == text_of(right)) is (operator == "==")
    order = compare(left, right)
    if math.isnan(order):
        return False
    return {">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}.get(operator, False)


#: A function for each id, which returns the matcher with some options.
FIELD_MATCHERS: Final[Mapping[str, Callable[[Any], FieldMatcher]]] = {
    "byName": lambda options: named(string_of(options)),
    "byNames": _by_names,
    "byRegexp": _by_pattern,
    "byRegexpOrNames": _by_pattern_or_names,
    "byType": lambda options: of_type(string_of(options)),
    "byTypes": lambda options: of_type(*map(str, list_of(options))),
    "byFrameRefID": lambda options: lambda place: place.frame.ref_id == options,
    "byValue": _by_value,
    "numeric": lambda _options: of_type(CellType.NUMBER),
    "time": lambda _options: of_type(CellType.TIME),
    "first": lambda _options: lambda place: place.column is place.frame.columns[0],
    "firstTimeField": lambda _options: lambda place: place.column is place.frame.time_column,
    "alwaysMatch": lambda _options: lambda _place: True,
    "neverMatch": lambda _options: lambda _place: False,
}


def _any_of(options: Any, depth: int) -> FieldMatcher:
    children = [field_matcher(child, depth) for child in objects_of(options)]
    return lambda place: any(matches(place) for matches in children)


def _all_of(options: Any, depth: int) -> FieldMatcher:
    children = [field_matcher(child, depth) for child in objects_of(options)]
    return lambda place: all(matches(place) for matches in children)


def _not(options: Any, depth: int) -> FieldMatcher:
    matches = field_matcher(object_of(options), depth)
    return lambda place: not matches(place)


#: Matchers that contain others.
_NESTED: Final[Mapping[str, Callable[[Any, int], FieldMatcher]]] = {"anyMatch": _any_of, "allMatch": _all_of, "invertMatch": _not}
