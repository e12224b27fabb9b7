"""Migration of old tables to tables: their transformations, and styles of columns as overrides."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.json_shapes import number_of, objects_of, string_of
from dashwright.expressions.pictures.migrations.members import CALCULATIONS, mappings_of_old, override, steps_of, successor

_MAX_STYLES: Final = 500
_MAX_COLUMNS: Final = 20
#: The type of cells for each ``colorMode`` of a style.
_CELL_TYPES: Final = {"cell": "color-background", "row": "color-background", "value": "color-text"}


def migrate_table(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table that replaces an old table."""
    styles = objects_of(panel.get("styles"))[:_MAX_STYLES]
    # Grafana makes the style for all columns the defaults of the new panel.
    general = next((style for style in styles if style.get("pattern") == "/.*/"), {})
    overrides = [_override(style) for style in styles if style is not general]
    changed = successor(panel, "table", {"showHeader": panel.get("showHeader") is not False}, _number_settings(general), overrides)
    return {**changed, "transformations": [*_transformations(panel), *objects_of(panel.get("transformations"))]}


def _transformations(panel: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the transformations that replace the option ``transform`` of an old table."""
    kind = panel.get("transform")
    if kind == "timeseries_to_rows":
        return [{"id": "seriesToRows", "options": {}}]
    if kind == "timeseries_to_columns":
        return [{"id": "seriesToColumns", "options": {}}]
    if kind == "timeseries_aggregations":
        reducers = [
            CALCULATIONS.get(string_of(column.get("value")), "lastNotNull") for column in objects_of(panel.get("columns"))[:_MAX_COLUMNS]
        ]
        return [{"id": "reduce", "options": {"reducers": reducers or ["mean"], "includeTimeField": False}}]
    return [{"id": "merge", "options": {}}] if kind == "table" else []


def _number_settings(style: Mapping[str, Any]) -> dict[str, Any]:
    """Return the unit and decimals of a style for numbers."""
    if style.get("type") != "number":
        return {}
    return {"unit": style.get("unit"), "decimals": number_of(style.get("decimals"))}


def _override(style: Mapping[str, Any]) -> dict[str, Any]:
    """Return the override that replaces the style of the columns that match a pattern."""
    properties: dict[str, Any] = {name: value for name, value in _number_settings(style).items() if value is not None}
    if alias := string_of(style.get("alias")):
        properties["displayName"] = alias
    if style.get("type") == "date" and (pattern := string_of(style.get("dateFormat"))):
        properties["unit"] = f"time: {pattern}"
    if style.get("type") == "hidden":
        properties["custom.hidden"] = True
    if cell_type := _CELL_TYPES.get(string_of(style.get("colorMode"))):
        properties["custom.cellOptions"] = {"type": cell_type}
    if steps := steps_of(style.get("thresholds"), style.get("colors")):
        properties["thresholds"] = {"mode": "absolute", "steps": steps}
    if mappings := mappings_of_old(style):
        properties["mappings"] = mappings
    if style.get("align") in ("left", "center", "right"):
        properties["custom.align"] = style["align"]
    return override(string_of(style.get("pattern")), properties)
