"""Classic form of the settings of fields."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.parts import object_in, objects_in

#: Settings that classic dashboards have. Their values are the same in both forms.
_KNOWN_DEFAULTS: Final = frozenset(
    {
        "actions",
        "color",
        "custom",
        "decimals",
        "description",
        "displayName",
        "displayNameFromDS",
        "fieldMinMax",
        "filterable",
        "links",
        "mappings",
        "max",
        "min",
        "noValue",
        "nullValueMode",
        "path",
        "thresholds",
        "unit",
        "writeable",
    }
)

_MATCHER_MEMBERS: Final = {"id", "options"}


def classic_field_config(viz_spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classic field settings of the spec of a visualization. They are empty if nothing is set."""
    source = object_in(viz_spec, "fieldConfig")
    config: dict[str, Any] = {}
    if defaults := _defaults(object_in(source, "defaults")):
        config["defaults"] = defaults
    if source.get("overrides"):
        config["overrides"] = [_override(override) for override in objects_in(source, "overrides")]
    return config


def _defaults(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the classic settings of all fields. They are the argument itself if nothing changes, which saves copies."""
    if not settings.keys() <= _KNOWN_DEFAULTS or None in settings.values():
        settings = {name: value for name, value in settings.items() if value is not None and name in _KNOWN_DEFAULTS}
    if settings.get("actions") == []:
        settings = {name: value for name, value in settings.items() if name != "actions"}
    if settings.get("mappings"):
        settings = {**settings, "mappings": [_mapping(mapping) for mapping in objects_in(settings, "mappings")]}
    if "thresholds" in settings:
        thresholds = object_in(settings, "thresholds")
        steps = objects_in(thresholds, "steps")
        # A step without a value begins at minus infinity, which classic dashboards write as null.
        if not all("value" in step for step in steps):
            steps = [{"value": None, **step} for step in steps]
            settings = {**settings, "thresholds": {**thresholds, "steps": steps}}
    return settings


def _mapping(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the mapping of values. Missing ends of a range are left out instead of null."""
    if mapping.get("type") != "range":
        return mapping
    options = object_in(mapping, "options")
    if None not in options.values():
        return mapping
    return {**mapping, "options": {name: value for name, value in options.items() if value is not None}}


def _override(override: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the override. The scope of its matcher has no classic form, and missing options and values are null."""
    matcher, properties = object_in(override, "matcher"), objects_in(override, "properties")
    if matcher.keys() != _MATCHER_MEMBERS:
        matcher = {"id": matcher.get("id") or "", "options": matcher.get("options")}
    if not all("value" in item for item in properties):
        properties = [{"value": None, **item} for item in properties]
    return {**override, "matcher": matcher, "properties": properties}
