"""Field configurations of columns: defaults of a panel, and the override rules that match a column, as Grafana applies them.

A matcher is a function that returns whether a rule applies to a column; ``MATCHERS`` at the end has a constructor for each id.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, object_of, objects_of, string_of
from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.display_names import ColumnNames, frame_display_name, label_list
from dashwright.expressions.pictures.sections import number_of
from dashwright.expressions.pictures.series import calculated
from dashwright.expressions.variables.patterns import Pattern

#: Further rules of a panel are ignored.
_MAX_RULES: Final = 1_000
#: Levels of matchers in matchers. Deeper ones match nothing.
_MAX_DEPTH: Final = 8
#: A reference to the column or its frame, such as ``${__field.labels.instance}``.
_REFERENCE: Final = re.compile(r"\$\{__(field|series)\.([^}:]+)(?::[^}]*)?\}")
_PROPERTIES_OF_NUMBERS: Final = frozenset({"decimals", "min", "max", "fieldMinMax"})
_NANOS_PER_MILLISECOND: Final = 1e6


class PanelColumn:
    """A column with its configuration, to which rules are applied in order."""

    def __init__(self, field: Field, frame: Frame, names: ColumnNames) -> None:
        self.field = field
        self.frame = frame
        self.config: dict[str, Any] = {name: value for name, value in (field.config or {}).items() if value is not None}
        self._names = names
        self._name: str | None = None

    @property
    def display_name(self) -> str:
        """The display name with the rules applied so far."""
        if self._name is None:
            self._name = self._names.of_field(self.field, self.frame, self.config)
        return self._name

    @property
    def type(self) -> str:
        """Grafana's name of the column's type."""
        return _TYPE_NAMES.get(self.field.type, "number" if self.field.type.is_numeric else "other")

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers, times in milliseconds; NaN where there is none, as in columns of text."""
        if self.field.values.dtype == np.object_:
            return np.full(len(self.field), math.nan)
        numbers = self.field.values.astype(np.float64)
        if self.field.type is FieldType.TIME:
            numbers = numbers / _NANOS_PER_MILLISECOND
        return numbers if self.field.nulls is None else np.where(self.field.nulls, math.nan, numbers)

    def set_property(self, name: str, value: Any) -> None:
        """Set a property of the configuration, or remove it if there is no value. Some apply only to columns of numbers."""
        if name in _PROPERTIES_OF_NUMBERS and self.type != "number":
            return
        if name == "displayName" and isinstance(value, str):
            value = self._interpolated(value)
        if name.startswith("custom."):
            custom = object_of(self.config.get("custom"))
            self.config["custom"] = _with(custom, name.removeprefix("custom."), value)
        else:
            self.config = _with(self.config, name, value)
        self._name = None

    def _interpolated(self, template: str) -> str:
        """Return the text with references to the column and its frame replaced; unknown ones become empty."""
        return _REFERENCE.sub(lambda match: self._replacement(match[1], match[2]), template)

    def _replacement(self, subject: str, path: str) -> str:
        if subject == "series":
            return frame_display_name(self.frame) if path == "name" else ""
        labels = self.field.labels
        if path.startswith("labels."):
            pairs = labels.pairs if labels else ()
            name = path.removeprefix("labels.")
            return ", ".join(value for _, value in pairs) if name == "__values" else dict(pairs).get(name, "")
        known = {"name": lambda: self.field.name, "displayName": lambda: self.display_name, "labels": lambda: label_list(labels)}
        return known[path]() if path in known else ""


#: A function that returns whether a rule applies to a column.
Matcher = Callable[[PanelColumn], bool]


class FieldConfigs:
    """The field configuration of a panel: defaults, and rules in the order in which they apply."""

    def __init__(self, defaults: Mapping[str, Any], overrides: Sequence[Mapping[str, Any]]) -> None:
        self._defaults = defaults
        self._rules = [(matcher_of(rule.get("matcher")), objects_of(rule.get("properties"))) for rule in overrides[:_MAX_RULES]]

    def configure(self, column: PanelColumn) -> Mapping[str, Any]:
        """Apply the defaults and rules to a column, and return its configuration."""
        for name, value in self._defaults.items():
            if name != "custom" and name not in column.config and value is not None:
                column.set_property(name, value)
        column.config["custom"] = {**object_of(self._defaults.get("custom")), **object_of(column.config.get("custom"))}
        for matches, properties in self._rules:
            if properties and matches(column):
                for property_ in properties:
                    column.set_property(string_of(property_.get("id")), property_.get("value"))
        return _completed(column.config)


def matcher_of(matcher: Any, depth: int = 0) -> Matcher:
    """Return the matcher that a rule describes; one that matches nothing if it is unknown or invalid."""
    description = object_of(matcher)
    create = MATCHERS.get(string_of(description.get("id")))
    if create is None or depth > _MAX_DEPTH:
        return _nothing
    return create(description.get("options"), depth)


def _completed(config: dict[str, Any]) -> Mapping[str, Any]:
    """Return the configuration with ``min`` below ``max``, and coloured by its thresholds if it has them and no colour."""
    low, high = number_of(config.get("min")), number_of(config.get("max"))
    if low is not None and high is not None and low > high:
        config |= {"min": high, "max": low}
    if "color" not in config and config.get("thresholds"):
        config["color"] = {"mode": "thresholds"}
    return config


def _with(settings: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return the settings with one of them changed, or removed if there is no value."""
    return {key: item for key, item in {**settings, name: value}.items() if item is not None or key != name}


def _nothing(_column: PanelColumn) -> bool:
    return False


def _by_name(options: Any, _depth: int) -> Matcher:
    return lambda column: options in (column.field.name, column.display_name)


def _by_names(options: Any, _depth: int) -> Matcher:
    names = {name for name in list_of(object_of(options).get("names")) if isinstance(name, str)}
    is_excluding = object_of(options).get("mode") == "exclude"
    return lambda column: (column.display_name in names or column.field.name in names) != is_excluding


def _by_regexp(options: Any, _depth: int) -> Matcher:
    source = string_of(options)
    if source.startswith("/") and source.rindex("/") == 0:
        return _nothing
    try:
        pattern = Pattern(source if source.startswith("/") else f"/^{source}$/")
    except BadRequest:
        return _nothing

    def matches(column: PanelColumn) -> bool:
        try:
            return bool(pattern.matches(column.display_name))
        except BadRequest:
            return False

    return matches


def _by_regexp_or_names(options: Any, depth: int) -> Matcher:
    settings = object_of(options)
    by_pattern = _by_regexp(settings.get("pattern"), depth) if settings.get("pattern") else _nothing
    by_names = _by_names(settings, depth) if settings.get("names") else _nothing
    return lambda column: by_pattern(column) or by_names(column)


def _by_type(options: Any, _depth: int) -> Matcher:
    return lambda column: column.type == options


def _by_types(options: Any, _depth: int) -> Matcher:
    return lambda column: column.type in list_of(options)


def _by_ref_id(options: Any, _depth: int) -> Matcher:
    return lambda column: column.frame.ref_id == options


def _of_type(name: str) -> Callable[[Any, int], Matcher]:
    return lambda _options, _depth: lambda column: column.type == name


def _first(_options: Any, _depth: int) -> Matcher:
    return lambda column: column.frame.fields[:1] == [column.field]


def _first_time(_options: Any, _depth: int) -> Matcher:
    def matches(column: PanelColumn) -> bool:
        return column.field is next((field for field in column.frame.fields if field.type is FieldType.TIME), None)

    return matches


def _by_value(options: Any, _depth: int) -> Matcher:
    """Return a matcher by a calculation on the values, such as their maximum, which is compared with a number."""
    settings = object_of(options)
    calculation = CALCULATIONS.get(string_of(settings.get("reducer")))
    compare = _COMPARISONS.get(string_of(settings.get("op")))
    limit = number_of(settings.get("value"))
    if calculation is None:
        return _nothing

    def matches(column: PanelColumn) -> bool:
        result = calculated(column.numbers, calculation)
        if isinstance(result, bool):
            return result
        return compare is not None and limit is not None and isinstance(result, int | float) and bool(compare(result, limit))

    return matches


def _inverted(options: Any, depth: int) -> Matcher:
    inner = matcher_of(options, depth + 1)
    return lambda column: not inner(column)


def _combined(combine: Callable[[Any], bool]) -> Callable[[Any, int], Matcher]:
    def create(options: Any, depth: int) -> Matcher:
        matchers = [matcher_of(option, depth + 1) for option in list_of(options)]
        return lambda column: combine(matches(column) for matches in matchers)

    return create


_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "eq": operator.eq,
    "neq": operator.ne,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_TYPE_NAMES: Final = {
    FieldType.TIME: "time",
    FieldType.STRING: "string",
    FieldType.BOOL: "boolean",
    FieldType.ENUM: "enum",
}

#: The constructor of each matcher, by its id in override rules. It takes the options of the matcher and its depth in others.
MATCHERS: Final[Mapping[str, Callable[[Any, int], Matcher]]] = {
    "byName": _by_name,
    "byNames": _by_names,
    "byRegexp": _by_regexp,
    "byRegexpOrNames": _by_regexp_or_names,
    "byType": _by_type,
    "byTypes": _by_types,
    "byFrameRefID": _by_ref_id,
    "byValue": _by_value,
    "numeric": _of_type("number"),
    "time": _of_type("time"),
    "first": _first,
    "firstTimeField": _first_time,
    "allMatch": _combined(all),
    "anyMatch": _combined(any),
    "invertMatch": _inverted,
    "alwaysMatch": lambda _options, _depth: lambda _column: True,
    "neverMatch": lambda _options, _depth: _nothing,
}
