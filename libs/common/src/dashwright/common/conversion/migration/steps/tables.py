"""Migrations of table panels."""

from typing import Final

from dashwright.common.conversion.migration.document import Object, copy_list, copy_object, object_at, objects
from dashwright.common.conversion.migration.steps.fields import change_properties

#: The options of a cell by its old display mode. A mode that is not listed is the type of the cell.
_CELL_OPTIONS: Final = {
    "basic": {"type": "gauge", "mode": "basic"},
    "gradient-gauge": {"type": "gauge", "mode": "gradient"},
    "lcd-gauge": {"type": "gauge", "mode": "lcd"},
    "color-background": {"type": "color-background", "mode": "gradient"},
    "color-background-solid": {"type": "color-background", "mode": "basic"},
}


def align_columns(panel: Object) -> None:
    """Let the table align each column (version 22)."""
    if panel.get("type") == "table":
        for style in objects(copy_list(panel, "styles")):
            style["align"] = "auto"


def mark_old_table(panel: Object) -> None:
    """Mark a table with ``styles`` as one that was written for Angular (version 24)."""
    # As in Grafana, ``table2`` is read from the member ``table``, although it is a type.
    if panel.get("type") == "table" and panel.get("styles") is not None and panel.get("table") != "table2":
        panel["autoMigrateFrom"] = "table-old"


def use_cell_options(panel: Object) -> None:
    """Replace the display mode of cells by options (version 38)."""
    if panel.get("type") != "table":
        return
    custom = object_at(panel, "fieldConfig", "defaults", "custom")
    if custom is not None and "displayMode" in custom:
        config = copy_object(panel, "fieldConfig") or {}
        defaults = copy_object(config, "defaults") or {}
        custom = copy_object(defaults, "custom") or {}
        mode = custom.pop("displayMode")
        if isinstance(mode, str):
            custom["cellOptions"] = _cell_options(mode)
    change_properties(panel, "custom.displayMode", _use_cell_options)


def _use_cell_options(item: Object) -> None:
    """Replace an overridden display mode by overridden options of cells."""
    item["id"] = "custom.cellOptions"
    if "value" not in item:
        item["value"] = {}
    elif isinstance(item["value"], str):
        item["value"] = _cell_options(item["value"])


def _cell_options(mode: str) -> Object:
    return dict(_CELL_OPTIONS.get(mode, {"type": mode}))
