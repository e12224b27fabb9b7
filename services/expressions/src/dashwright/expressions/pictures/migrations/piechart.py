"""Migration of the pie chart plugin to pie charts."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.migrations.members import CALCULATIONS, colour_overrides, successor

_PLACEMENTS: Final = {"Under graph": "bottom", "Right side": "right"}


def migrate_piechart(panel: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pie chart that replaces one of the plugin."""
    legend, kind = object_of(panel.get("legend")), string_of(panel.get("legendType"))
    values = [name for name, member in (("value", "values"), ("percent", "percentage")) if legend.get(member) is True]
    placement = _PLACEMENTS.get(kind)
    options = {
        "pieType": "donut" if panel.get("pieType") == "donut" else "pie",
        "reduceOptions": {"calcs": [CALCULATIONS.get(string_of(panel.get("valueName")), "lastNotNull")]},
        "displayLabels": ["name", *values] if kind == "On graph" else [],
        "legend": {
            "showLegend": placement is not None and legend.get("show") is not False,
            "displayMode": "table" if values else "list",
            "placement": placement or "bottom",
            "values": values,
        },
    }
    return successor(
        panel,
        "piechart",
        options,
        {"unit": panel.get("format"), "decimals": panel.get("decimals")},
        colour_overrides(panel.get("aliasColors")),
    )
