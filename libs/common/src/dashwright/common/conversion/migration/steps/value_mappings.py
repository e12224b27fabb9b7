"""Migrations of value mappings and of the options of tooltips."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.common.conversion.migration.document import (
    Object,
    copy_object,
    number,
    number_text,
    object_at,
    objects,
    parsed_number,
    text,
)
from dashwright.common.conversion.migration.steps.fields import change_properties

#: Types of mappings before version 30.
_VALUE, _RANGE = 1, 2
_WITH_TOOLTIPS: Final = frozenset(("timeseries", "xychart", "xychart2"))


def upgrade_mappings(panel: Object) -> None:
    """Replace numbered types of value mappings by named ones, and ``tooltipOptions`` by ``tooltip`` (version 30)."""
    defaults = object_at(panel, "fieldConfig", "defaults")
    if defaults is not None and isinstance(mappings := defaults.get("mappings"), list):
        upgraded = _upgraded(mappings, object_at(defaults, "thresholds"))
        panel["fieldConfig"] = {**panel["fieldConfig"], "defaults": {**defaults, "mappings": upgraded}}
    change_properties(panel, "mappings", _upgrade_property)
    options = object_at(panel, "options")
    if options is not None and "tooltipOptions" in options and text(panel, "type") in _WITH_TOOLTIPS:
        options = copy_object(panel, "options") or {}
        options["tooltip"] = options.pop("tooltipOptions")


def _upgrade_property(item: Object) -> None:
    if isinstance(item.get("value"), list):
        item["value"] = _upgraded(item["value"], None)


def _upgraded(mappings: list[Any], thresholds: Object | None) -> list[Any]:
    """Return mappings of the new form: one mapping for all single values, followed by the other mappings in their order."""
    if all(_is_new(mapping) for mapping in objects(mappings)):
        return mappings
    values: Object = {}
    other_mappings: list[Object] = []
    for mapping in objects(mappings):
        if not _is_new(mapping):
            _upgrade(mapping, thresholds, values, other_mappings)
        elif mapping["type"] == "value" and isinstance(options := mapping.get("options"), dict):
            values.update(options)
        elif mapping["type"] != "value":
            other_mappings.append(mapping)
    return [*([{"type": "value", "options": values}] if values else ()), *other_mappings]


def _is_new(mapping: Object) -> bool:
    return isinstance(mapping.get("type"), str) and mapping["type"] != ""


def _upgrade(mapping: Object, thresholds: Object | None, values: Object, other_mappings: list[Object]) -> None:
    """Add the new form of a mapping to the single values or to the other mappings."""
    result = {"text": mapping.get("text")}
    text_number = parsed_number(mapping["text"]) if isinstance(mapping.get("text"), str) else None
    if thresholds is not None and text_number is not None and (color := _color(text_number, thresholds)) is not None:
        result["color"] = color
    old_type = number(mapping.get("type"))
    if old_type == _VALUE and "value" in mapping:
        if mapping["value"] == "null":
            other_mappings.append({"type": "special", "options": {"match": "null", "result": result}})
        else:
            values[_key(mapping["value"])] = result
    elif old_type == _RANGE:
        options = {"from": parsed_number(mapping.get("from")) or 0, "to": parsed_number(mapping.get("to")) or 0, "result": result}
        other_mappings.append({"type": "range", "options": options})


def _key(value: object) -> str:
    """Return the text of a mapped value as Grafana writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    return value if isinstance(value, str) else ""


def _color(value: float, thresholds: Object) -> Any:
    """Return the color of the last step of thresholds that a value reaches."""
    steps: Sequence[Object] = list(objects(thresholds.get("steps")))
    active: Object = {}
    for step in steps:
        if "value" in step:
            bound = step["value"]
            if bound is None:
                active = step
            elif (limit := number(bound)) is not None:
                if value < limit:
                    break
                active = step
    return active.get("color")
