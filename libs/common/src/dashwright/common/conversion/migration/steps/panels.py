"""Migrations of the type, the options and the repetition of panels."""

from typing import Any, Final

from dashwright.common.conversion.migration.document import Object, copy_object, object_at, objects

_VALUE_OPTIONS: Final = ("unit", "stat", "decimals", "prefix", "suffix")


def restructure_gauge(panel: Object) -> None:
    """Replace ``options-gauge`` by ``options``, with the thresholds in ascending order (version 18)."""
    old_options = panel.get("options-gauge")
    if not isinstance(old_options, dict):
        return
    del panel["options-gauge"]
    moved = {*_VALUE_OPTIONS, "options", "thresholds"}
    options: Object = {"valueOptions": {name: old_options[name] for name in _VALUE_OPTIONS if name in old_options}}
    thresholds = old_options.get("thresholds")
    if isinstance(thresholds, list) and thresholds:
        options["thresholds"] = thresholds[::-1]
    panel["options"] = options | {name: value for name, value in old_options.items() if name not in moved}


def rename_text2(panel: Object) -> None:
    """Replace the type ``text2`` by ``text`` (version 26)."""
    if panel.get("type") == "text2":
        panel["type"] = "text"
        if "angular" in (object_at(panel, "options") or ()) and (options := copy_object(panel, "options")) is not None:
            del options["angular"]


def drop_repeated(dashboard: Object) -> None:
    """Remove the copies of repeated panels that older versions saved (version 27)."""
    panels = dashboard.get("panels")
    if isinstance(panels, list):
        dashboard["panels"] = [panel for panel in objects(panels) if not _is_set(panel, "repeatPanelId", "repeatByRow")]
        for row in objects(dashboard["panels"]):
            if row.get("type") == "row" and isinstance(row.get("panels"), list):
                row["panels"] = [panel for panel in objects(row["panels"]) if not _is_set(panel, "repeatPanelId")]


def _is_set(panel: Object, *names: str) -> bool:
    return any(panel.get(name) is not None for name in names)


def normalize_legend(panel: Object) -> None:
    """Show and hide a legend by ``showLegend`` only (version 37)."""
    legend = object_at(panel, "options", "legend")
    if legend is None:
        return
    is_hidden = legend.get("displayMode") == "hidden" or legend.get("showLegend") is False
    changes: dict[str, Any] = {"displayMode": "list", "showLegend": False} if is_hidden else {"showLegend": True}
    panel["options"] = {**panel["options"], "legend": {**legend, **changes}}
