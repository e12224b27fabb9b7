"""Migrations of the first threshold, which panels of Grafana 2 did not use."""

from dashwright.common.conversion.migration.document import Object, copy_list, objects

#: Maximum number of thresholds of which the first is kept.
_MAX_UNCHANGED = 2


def drop_first_of_singlestat(panel: Object) -> None:
    """Remove the first of three or more thresholds of a singlestat panel (version 9)."""
    thresholds = panel.get("thresholds")
    if panel.get("type") == "singlestat" and isinstance(thresholds, str):
        _, *further_thresholds = thresholds.split(",")
        if len(further_thresholds) >= _MAX_UNCHANGED:
            panel["thresholds"] = ",".join(further_thresholds)


def drop_first_of_table(panel: Object) -> None:
    """Remove the first of three or more thresholds of each style of a table (version 10)."""
    if panel.get("type") == "table":
        for style in objects(copy_list(panel, "styles")):
            thresholds = style.get("thresholds")
            if isinstance(thresholds, list) and len(thresholds) > _MAX_UNCHANGED:
                style["thresholds"] = thresholds[1:]
