"""Migration of single stats to stats and gauges."""

import re
from collections.abc import Mapping
from typing import Any

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.migrations.members import CALCULATIONS, mappings_of_old, steps_of, successor


def migrate_singlestat(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stat or gauge that replaces a single stat."""
    gauge = object_of(panel.get("gauge"))
    name, column = string_of(panel.get("valueName")), string_of(panel.get("tableColumn"))
    colour_mode = "background" if panel.get("colorBackground") is True else "value" if panel.get("colorValue") is True else "none"
    # Single stats show the mean by default.
    reduce_options = {
        "calcs": [CALCULATIONS.get(name, "mean" if not name else "lastNotNull")],
        **({"fields": f"/^{re.escape(column)}$/"} if column else {}),
    }
    options: dict[str, Any] = {"reduceOptions": reduce_options, "orientation": "horizontal"}
    if name == "name":
        options["textMode"] = "name"
    steps = steps_of(panel.get("thresholds"), panel.get("colors"))
    defaults = {
        "unit": panel.get("format"),
        "decimals": panel.get("decimals"),
        "noValue": panel.get("nullText"),
        "mappings": mappings_of_old(panel) or None,
        "thresholds": {"mode": "absolute", "steps": steps} if steps else None,
        "color": {"mode": "thresholds"},
    }
    if gauge.get("show") is True:
        marks = {"showThresholdMarkers": gauge.get("thresholdMarkers"), "showThresholdLabels": gauge.get("thresholdLabels")}
        return successor(panel, "gauge", {**options, **marks}, {**defaults, "min": gauge.get("minValue"), "max": gauge.get("maxValue")})
    has_line = object_of(panel.get("sparkline")).get("show") is True
    return successor(panel, "stat", {**options, "colorMode": colour_mode, "graphMode": "area" if has_line else "none"}, defaults)
