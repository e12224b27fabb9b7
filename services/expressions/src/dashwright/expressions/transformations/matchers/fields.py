"""Matchers of fields, by the ids that Grafana gives them, for transformations and for overrides of panels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.expressions.calculations.table import Calculation, calculation_of
from dashwright.expressions.javascript.comparisons import compare
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.javascript.values import is_missing, text_of
from dashwright.expressions.transformations.data import CellType, Column, DataFrame
from dashwright.expressions.transformations.matchers.conditions import matcher_of
from dashwright.expressions.transformations.names import DisplayNames


class MatchedField(Protocol):
    """A field of a frame, with the inputs of matchers."""

    @property
    def name(self) -> str:
        """The name in the frame."""

    @property
    def display_name(self) -> str:
        """The display name."""

    @property
    def type(self) -> str:
        """Grafana's name of the type, such as ``number``."""

    @property
    def ref_id(self) -> str:
        """The refId of the frame."""

    @property
    def is_first(self) -> bool:
        """True for the first field of the frame."""

    @property
    def is_first_time(self) -> bool:
        """True for the first field of times of the frame."""

    def reduced(self, calculation: Calculation) -> Any:
        """Return the result of a calculation on the values."""


#: Returns whether a field matches.
FieldMatcher = Callable[[MatchedField], bool]


@dataclass(frozen=True, slots=True)
class MatchedColumn:
    """A column of a transformation as a field to match."""

    column: Column
    frame: DataFrame
    names: DisplayNames

    @property
    def name(self) -> str:
        """The name in the frame."""
        return self.column.name

    @property
    def display_name(self) -> str:
        """The display name of the column."""
        return self.names.of(self.column, self.frame)

    @property
    def type(self) -> str:
        """Grafana's name of the type."""
        return self.column.type.value

    @property
    def ref_id(self) -> str:
        """The refId of the frame."""
        return self.frame.ref_id

    @property
    def is_first(self) -> bool:
        """True for the first column of the frame."""
        return self.column is self.frame.columns[0]

    @property
    def is_first_time(self) -> bool:
        """True for the first column of times of the frame."""
        return self.column is self.frame.time_column

    def reduced(self, calculation: Calculation) -> Any:
        """Return the result of a calculation on the cells."""
        return self.column.reduced(calculation)


def field_matcher(config: Mapping[str, Any]) -> FieldMatcher:
    """Return the matcher of a condition ``{"id", "options"}``. Raises BadRequest for an unknown id or a nesting too deep."""
    return matcher_of(config, FIELD_MATCHERS, "fields")


def named(*names: str) -> FieldMatcher:
    """Return the matcher of fields with one of some names or display names."""
    return lambda field: field.name in names or field.display_name in names


def _by_name(*names: Any) -> FieldMatcher:
    return named(*(name for name in names if isinstance(name, str)))


def _by_names(options: Any) -> FieldMatcher:
    settings = object_of(options)
    matches = _by_name(*list_of(settings.get("names")))
    if settings.get("mode") == "exclude":
        return lambda field: not matches(field)
    return matches


def _by_pattern(options: Any) -> FieldMatcher:
    text = string_of(options)
    try:
        pattern = TextPattern.of(text) if text else None
    except BadRequest:
        # An invalid pattern matches no field, as in Grafana.
        pattern = None
    return lambda field: pattern is not None and pattern.search(field.display_name) is not None


def _by_pattern_or_names(options: Any) -> FieldMatcher:
    settings = object_of(options)
    by_names, by_pattern = _by_names({"names": settings.get("names")}), _by_pattern(settings.get("pattern"))
    return lambda field: by_names(field) or by_pattern(field)


def of_type(*types: str) -> FieldMatcher:
    """Return the matcher of fields with one of some types, such as ``number``."""
    return lambda field: field.type in types


def _by_value(options: Any) -> FieldMatcher:
    settings = object_of(options)
    if not settings.get("reducer"):
        return lambda _field: False
    calculation = calculation_of(settings["reducer"])
    operator, expected = settings.get("op") or "eq", settings.get("value")
    if calculation.id in ("allIsNull", "allIsZero"):
        return lambda field: bool(field.reduced(calculation))
    return lambda field: _holds(field.reduced(calculation), operator, expected)


def _holds(left: Any, operator: str, right: Any) -> bool:
    """Return whether a comparison holds, such as ``gte``. A null is the text ``null``."""
    if (is_missing(left) or is_missing(right)) and operator in ("gte", "lte"):
        operator = "eq"
    left, right = ("null" if is_missing(value) else value for value in (left, right))
    if operator == "eq":
        return text_of(left) == text_of(right)
    if operator == "neq":
        return text_of(left) != text_of(right)
    order = compare(left, right)
    return {"gt": order > 0, "gte": order >= 0, "lt": order < 0, "lte": order <= 0}.get(operator, False)


#: A function for each id, which returns the matcher with some options.
FIELD_MATCHERS: Final[Mapping[str, Callable[[Any], FieldMatcher]]] = {
    "byName": _by_name,
    "byNames": _by_names,
    "byRegexp": _by_pattern,
    "byRegexpOrNames": _by_pattern_or_names,
    "byType": lambda options: of_type(string_of(options)),
    "byTypes": lambda options: of_type(*map(str, list_of(options))),
    "byFrameRefID": lambda options: lambda field: field.ref_id == options,
    "byValue": _by_value,
    "numeric": lambda _options: of_type(CellType.NUMBER),
    "time": lambda _options: of_type(CellType.TIME),
    "first": lambda _options: lambda field: field.is_first,
    "firstTimeField": lambda _options: lambda field: field.is_first_time,
    "alwaysMatch": lambda _options: lambda _field: True,
    "neverMatch": lambda _options: lambda _field: False,
}
