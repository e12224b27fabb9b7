"""Migrations of the configuration of fields."""

from collections.abc import Callable

from dashwright.common.conversion.migration.document import Object, copy_list, copy_object, is_true, object_at, objects


def change_properties(panel: Object, property_id: str, change: Callable[[Object], None]) -> None:
    """Call a function with a copy of each property of that id in the overrides of a panel. The copies replace the properties."""
    config = panel.get("fieldConfig")
    overrides = config.get("overrides") if isinstance(config, dict) else None
    if not overrides or not any(_has_property(item, property_id) for item in objects(overrides)):
        return
    for override in objects(copy_list(copy_object(panel, "fieldConfig") or {}, "overrides")):
        if _has_property(override, property_id):
            for item in objects(copy_list(override, "properties")):
                if item.get("id") == property_id:
                    change(item)


def _has_property(override: Object, property_id: str) -> bool:
    """Return whether an override has a property of that id."""
    properties = override.get("properties")
    if isinstance(properties, list):
        for item in properties:
            if isinstance(item, dict) and item.get("id") == property_id:
                return True
    return False


def show_time_axis(panel: Object) -> None:
    """Show the time axis of a time series panel whose other axes are hidden (version 35)."""
    custom = object_at(panel, "fieldConfig", "defaults", "custom")
    if panel.get("type") != "timeseries" or custom is None or custom.get("axisPlacement") != "hidden":
        return
    config = copy_object(panel, "fieldConfig") or {}
    overrides = config.get("overrides")
    config["overrides"] = [
        *(overrides if isinstance(overrides, list) else ()),
        {"matcher": {"id": "byType", "options": "time"}, "properties": [{"id": "custom.axisPlacement", "value": "auto"}]},
    ]


def hide_from_tooltip(panel: Object) -> None:
    """Hide series from the tooltip that are hidden from the visualization (version 42)."""
    change_properties(panel, "custom.hideFrom", _hide_from_tooltip)


def _hide_from_tooltip(item: Object) -> None:
    value = item.get("value")
    if isinstance(value, dict) and is_true(value, "viz"):
        item["value"] = {**value, "tooltip": True}
