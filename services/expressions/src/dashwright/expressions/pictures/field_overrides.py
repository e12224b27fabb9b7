"""Field configurations of columns: defaults of a panel, and the override rules that match a column, as Grafana applies them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, number_of, object_of, objects_of, string_of
from dashwright.expressions.calculations.table import Calculation
from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.javascript.values import leading_number, text_of
from dashwright.expressions.pictures.display.values import values_of
from dashwright.expressions.pictures.display_names import ColumnNames, frame_display_name
from dashwright.expressions.transformations.data import guessed_type
from dashwright.expressions.transformations.matchers.fields import FieldMatcher, MatchedField, field_matcher
from dashwright.expressions.transformations.names import label_list

#: Further rules of a panel are ignored.
_MAX_RULES: Final = 1_000
#: A reference to the column or its frame, such as ``${__field.labels.instance}``.
_REFERENCE: Final = re.compile(r"\$\{__(field|series)\.([^}:]+)(?::[^}]*)?\}")
#: The properties whose values are numbers, and those whose values are texts.
_NUMBERS: Final = frozenset({"decimals", "min", "max"})
_TEXTS: Final = frozenset({"displayName", "noValue"})
#: The properties that defaults and rules set, in addition to custom ones. Grafana ignores all others.
_PROPERTIES: Final = _NUMBERS | _TEXTS | {"unit", "fieldMinMax", "color", "links", "actions", "mappings", "thresholds", "filterable"}
#: The start of the ids of custom properties.
_CUSTOM: Final = "custom."
_NANOS_PER_MILLISECOND: Final = 1e6
#: Grafana's names of the types whose values calculations can add and compare. In other columns they only count and choose values.
_COMPUTABLE_TYPES: Final = frozenset({"number", "time"})


class PanelColumn:
    """A column with its configuration, to which rules are applied in order."""

    def __init__(self, field: Field, frame: Frame, names: ColumnNames) -> None:
        self.field = field
        self.frame = frame
        self.type = _type_of(field)  #: Grafana's name of the type.
        self.config: dict[str, Any] = {name: value for name, value in (field.config or {}).items() if value is not None}
        self._names = names
        self._name: str | None = None

    @property
    def name(self) -> str:
        """The name in the frame."""
        return self.field.name

    @property
    def display_name(self) -> str:
        """The display name with the rules applied so far."""
        if self._name is None:
            self._name = self._names.of_field(self.field, self.frame, self.config, has_times=self.type == "time")
        return self._name

    @property
    def ref_id(self) -> str:
        """The refId of the frame."""
        return self.frame.ref_id

    @property
    def is_first(self) -> bool:
        """True for the first column of the frame."""
        return self.field is self.frame.fields[0]

    @property
    def is_first_time(self) -> bool:
        """True for the first column of times of the frame."""
        return self.field is self.frame.time_field

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers, times in milliseconds; NaN for a missing value and for a text."""
        if self.field.values.dtype == np.object_:
            return np.full(len(self.field), math.nan)
        numbers = self.field.values.astype(np.float64)
        if self.field.type is FieldType.TIME:
            numbers = numbers / _NANOS_PER_MILLISECOND
        return numbers if self.field.nulls is None else np.where(self.field.nulls, math.nan, numbers)

    def reduced(self, calculation: Calculation) -> Any:
        """Return the result of a calculation on the values."""
        nulls = NullMode.of(self.config.get("nullValueMode"))
        return calculation(FieldValues(values_of(self.field), self.type in _COMPUTABLE_TYPES, nulls))

    def set_default(self, name: str, value: Any) -> None:
        """Set a property for which the column has no value, if defaults of the property apply to the type of the column."""
        # Grafana adds the default links to those of the column.
        if name == "links" and "links" in self.config:
            value = [*list_of(self.config["links"]), *list_of(value)]
        elif self.config.get(name) is not None or not _has_default(name, self.type):
            return
        self.set_property(name, value)

    def set_property(self, name: str, value: Any) -> None:
        """Set a property of the configuration, or remove it if ``value`` is None."""
        if name.startswith(_CUSTOM):
            self.config["custom"] = _with_setting(object_of(self.config.get("custom")), name.removeprefix(_CUSTOM).split("."), value)
        elif name in _PROPERTIES:
            self.config = _with_setting(self.config, [name], self._converted(name, value))
            self._name = None

    def guess_type(self) -> None:
        """Replace an unknown type by the type that Grafana guesses from the name and the first value."""
        if self.type == _UNKNOWN_TYPE:
            self.type = guessed_type(self.name, self.field.values.tolist()) or _UNKNOWN_TYPE
            self._name = None

    def _converted(self, name: str, value: Any) -> Any:
        """Return the value of a property, converted if the property is a number or a text."""
        if value is None:
            return None
        if name in _NUMBERS:
            return number_of(leading_number(value) if isinstance(value, str) else value)
        if name in _TEXTS:
            value = text_of(value)
        return self._interpolated(value) if name == "displayName" else value

    def _interpolated(self, template: str) -> str:
        """Return the text with references to the column and its frame replaced; unknown references become empty."""
        return _REFERENCE.sub(lambda match: self._replacement(match[1], match[2]), template)

    def _replacement(self, subject: str, path: str) -> str:
        """Return the text of a member of the column (``field``) or of its frame (``series``), such as ``labels.instance``."""
        if subject == "series":
            return frame_display_name(self.frame) if path == "name" else ""
        labels = dict(self.field.labels.pairs) if self.field.labels else {}
        if path.startswith("labels."):
            name = path.removeprefix("labels.")
            return ", ".join(labels.values()) if name == "__values" else labels.get(name, "")
        text_functions = {"name": lambda: self.field.name, "displayName": lambda: self.display_name, "labels": lambda: label_list(labels)}
        return text_functions[path]() if path in text_functions else ""


class FieldConfigs:
    """The field configuration of a panel: defaults, and rules in the order in which they apply."""

    def __init__(self, defaults: Mapping[str, Any], overrides: Sequence[Mapping[str, Any]]) -> None:
        self._defaults = defaults
        self._rules = [(matcher_of(rule.get("matcher")), objects_of(rule.get("properties"))) for rule in overrides[:_MAX_RULES]]

    def configure(self, column: PanelColumn) -> Mapping[str, Any]:
        """Apply the defaults and rules to a column, and return its configuration."""
        for name, value in self._defaults.items():
            if name != "custom" and value is not None:
                column.set_default(name, value)
        column.config = _completed(column.config, object_of(self._defaults.get("custom")))
        for matches, properties in self._rules:
            if properties and matches(column):
                for property_ in properties:
                    column.set_property(string_of(property_.get("id")), property_.get("value"))
        column.guess_type()
        return column.config


def matcher_of(matcher: Any) -> FieldMatcher:
    """Return the matcher that a rule describes.

    An unknown or invalid matcher matches nothing. A pattern that takes too long does not match the column.
    """
    try:
        matches = field_matcher(object_of(matcher))
    except BadRequest:
        return lambda _column: False

    def is_matched(column: MatchedField) -> bool:
        try:
            return matches(column)
        except BadRequest:
            return False

    return is_matched


def _type_of(field: Field) -> str:
    return field.declared_type or _TYPE_NAMES.get(field.type, "number" if field.type.is_numeric else _UNKNOWN_TYPE)


def _has_default(name: str, type_: str) -> bool:
    """Return whether the default of a property applies to columns of a type."""
    if name == "mappings":
        return type_ != "time"
    return type_ == "number" or name not in _NUMBERS | {"fieldMinMax"}


def _completed(config: Mapping[str, Any], custom: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the defaults of custom properties, with ``min`` below ``max``, and with a colour mode.

    The colours are those of thresholds if there are thresholds but no mode.
    """
    completed = {**config, "custom": {**custom, **object_of(config.get("custom"))}}
    low, high = number_of(config.get("min")), number_of(config.get("max"))
    if low is not None and high is not None and low > high:
        completed |= {"min": high, "max": low}
    if "color" not in config and config.get("thresholds"):
        completed["color"] = {"mode": "thresholds"}
    return completed


def _with_setting(settings: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Return the settings with the setting at a path changed, or removed if ``value`` is None."""
    name, *inner_path = path
    if value is None and name not in settings:
        return dict(settings)
    if inner_path:
        value = _with_setting(object_of(settings.get(name)), inner_path, value)
    changed = {**settings, name: value}
    if value is None:
        del changed[name]
    return changed


_UNKNOWN_TYPE: Final = "other"
_TYPE_NAMES: Final = {
    FieldType.TIME: "time",
    FieldType.STRING: "string",
    FieldType.BOOL: "boolean",
    FieldType.ENUM: "enum",
}
