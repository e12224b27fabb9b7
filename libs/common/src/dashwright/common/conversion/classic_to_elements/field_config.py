"""Field configuration of a panel: defaults of all fields, and overrides of some."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.actions import field_action
from dashwright.common.conversion.classic_to_elements.byte_order_marks import without_marks
from dashwright.common.conversion.classic_to_elements.matchers import matcher
from dashwright.common.conversion.classic_to_elements.members import Members, child, children, is_number, shared, text
from dashwright.common.conversion.classic_to_elements.value_mappings import value_mappings

_MEMBERS_OF_PROPERTY: Final = 2  # an id and a value

#: Types of the plain options of a field.
_SCALARS: Final[Mapping[str, Collection[type]]] = {
    **dict.fromkeys(("displayName", "displayNameFromDS", "description", "path", "unit", "noValue", "nullValueMode"), (str,)),
    **dict.fromkeys(("writeable", "filterable", "fieldMinMax"), (bool,)),
    **dict.fromkeys(("decimals", "min", "max"), (int, float)),
}


def field_config(panel: Members) -> dict[str, Any]:
    """Return the field configuration of a panel, with only the options in the schema of fields."""
    config = child(panel, "fieldConfig")
    if not config:
        return {"defaults": {}, "overrides": []}
    defaults = _defaults(child(config, "defaults") or {})
    overrides = [_override(override) for override in children(config, "overrides")]
    return shared({"defaults": defaults, "overrides": overrides}, config)


def _defaults(defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the options of all fields that have the types of the schema."""
    converted: dict[str, Any] = {}
    for name, value in defaults.items():
        if expected := _SCALARS.get(name):
            # The exact type, because a boolean is an instance of int too.
            if type(value) in expected:
                converted[name] = value
        elif convert := _CONVERTERS.get(name):
            option = convert(value)
            if option is not None:
                converted[name] = option
    return shared(converted, defaults)


# Each of the next functions converts the value of one option. ``_CONVERTERS`` lists them.


def _custom(value: Any) -> Any:
    return value if isinstance(value, dict) and value else None


def _links(value: Any) -> Any:
    return without_marks(value) if isinstance(value, list) and value else None


def _actions(value: Any) -> list[dict[str, Any]] | None:
    actions = [field_action(action) for action in value if isinstance(action, dict)] if isinstance(value, list) else []
    return actions or None


def _mappings(value: Any) -> list[dict[str, Any]] | None:
    if not value:
        return None
    return shared(value_mappings(value), value) or None


def _color(value: Any) -> dict[str, Any] | None:
    """Return the color of a field, or None if it is not an object."""
    if not isinstance(value, dict):
        return None
    if len(value) == 1 and isinstance(value.get("mode"), str):
        return value
    converted = {"mode": text(value, "mode")}
    for name in ("fixedColor", "seriesBy"):
        if isinstance(color := value.get(name), str):
            converted[name] = color
    return shared(converted, value)


def _thresholds(value: Any) -> dict[str, Any] | None:
    """Return thresholds. A step without a number begins at null, which means minus infinity. Normally that is the first step."""
    if not isinstance(value, dict):
        return None
    steps = value.get("steps")
    converted = []
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            start, color = step.get("value"), step.get("color")
            converted.append({"value": start if is_number(start) else None, "color": color if isinstance(color, str) else ""})
    return shared({"mode": text(value, "mode"), "steps": converted}, value)


#: Conversions of the options of a field. An option is left out if its conversion returns None.
_CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "mappings": _mappings,
    "thresholds": _thresholds,
    "color": _color,
    "links": _links,
    "actions": _actions,
    "custom": _custom,
}


def _override(override: dict[str, Any]) -> dict[str, Any]:
    converted: dict[str, Any] = {
        "matcher": matcher(child(override, "matcher") or {}),
        "properties": [_property(option) for option in children(override, "properties")],
    }
    if isinstance(reference := override.get("__systemRef"), str):
        converted["__systemRef"] = reference
    return shared(converted, override)


def _property(option: dict[str, Any]) -> dict[str, Any]:
    """Return an overridden option with its id and its value."""
    value = option.get("value")
    cleaned = without_marks(value)
    # Sharing an option that would not change saves the memory of a copy.
    if cleaned is value and value is not None and len(option) == _MEMBERS_OF_PROPERTY and isinstance(option.get("id"), str):
        return option
    return {"id": text(option, "id")} if value is None else {"id": text(option, "id"), "value": cleaned}
