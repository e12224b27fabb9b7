"""Parts of panels that several migrations write: field configurations, overrides and thresholds."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, objects_of, string_of

#: The calculation of modern panels for each name that old panels use.
CALCULATIONS: Final[Mapping[str, str]] = {
    "min": "min",
    "max": "max",
    "avg": "mean",
    "current": "lastNotNull",
    "total": "sum",
    "first": "firstNotNull",
    "delta": "delta",
    "diff": "diff",
    "diffperc": "diffperc",
    "range": "range",
    "count": "count",
}


_MAX_STEPS: Final = 100
#: The maximum of each kind of mappings.
_MAX_MAPPINGS: Final = 500


def successor(
    panel: Mapping[str, Any], kind: str, options: Mapping[str, Any], defaults: Mapping[str, Any], overrides: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return a panel of the type ``kind`` with options and defaults.

    Options and defaults of the old panel have precedence over ``options`` and ``defaults``. ``overrides`` are placed before
    those of the panel. Defaults without a value are omitted.
    """
    config = object_of(panel.get("fieldConfig"))
    old_defaults = object_of(config.get("defaults"))
    custom = {**object_of(defaults.get("custom")), **object_of(old_defaults.get("custom"))}
    set_defaults = {name: value for name, value in defaults.items() if value is not None}
    return {
        **panel,
        "type": kind,
        "options": {**options, **object_of(panel.get("options"))},
        "fieldConfig": {
            "defaults": {**set_defaults, **old_defaults, **({"custom": custom} if custom else {})},
            "overrides": [*overrides, *objects_of(config.get("overrides"))],
        },
    }


def override(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return an override of the series with a name, or of all series that a pattern in slashes matches. ``properties`` are by id."""
    is_pattern = len(name) > 1 and name.startswith("/")
    members = [{"id": id_, "value": value} for id_, value in properties.items()]
    return {"matcher": {"id": "byRegexp" if is_pattern else "byName", "options": name}, "properties": members}


def fixed_colour(colour: Any) -> dict[str, Any]:
    """Return the value of the property ``color`` for one colour."""
    return {"mode": "fixed", "fixedColor": colour}


def colour_overrides(colours: Any) -> list[dict[str, Any]]:
    """Return an override for each name of the old member ``aliasColors``."""
    return [override(name, {"color": fixed_colour(colour)}) for name, colour in object_of(colours).items() if isinstance(colour, str)]


def steps_of(limits: Any, colours: Any) -> list[dict[str, Any]]:
    """Return the steps of thresholds from old limits, such as ``50,80``, and colours. The first colour is for values below all limits."""
    parts = limits.split(",") if isinstance(limits, str) else limits if isinstance(limits, list) else []
    values = [number for part in parts[:_MAX_STEPS] if (number := number_of(part)) is not None]
    names = [string_of(colour) for colour in colours] if isinstance(colours, list) else []
    return [{"value": value, "color": name} for value, name in zip([None, *values], names, strict=False)]


def mappings_of_old(panel: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the value mappings of the old members ``valueMaps`` and ``rangeMaps``."""
    mappings: list[dict[str, Any]] = []
    for item in objects_of(panel.get("valueMaps"))[:_MAX_MAPPINGS]:
        value, text = item.get("value"), item.get("text")
        if value == "null":
            mappings.append({"type": "special", "options": {"match": "null", "result": {"text": text}}})
        elif isinstance(value, str | int | float):
            mappings.append({"type": "value", "options": {str(value): {"text": text}}})
    for item in objects_of(panel.get("rangeMaps"))[:_MAX_MAPPINGS]:
        options = {"from": number_of(item.get("from")), "to": number_of(item.get("to")), "result": {"text": item.get("text")}}
        mappings.append({"type": "range", "options": options})
    return mappings
