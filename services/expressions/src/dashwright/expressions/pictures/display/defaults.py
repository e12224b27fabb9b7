"""Field configurations that Grafana fills in for each panel type, so that stored dashboards may omit them."""

from collections.abc import Mapping
from typing import Any, Final

#: The thresholds of panels without configured ones, as in Grafana.
_THRESHOLDS: Final = {"mode": "absolute", "steps": [{"value": None, "color": "green"}, {"value": 80, "color": "red"}]}
#: The colour mode of each panel type whose mode is not that of thresholds.
_COLOUR_MODES: Final = {
    **dict.fromkeys(("timeseries", "trend", "xychart", "barchart", "piechart", "histogram"), "palette-classic"),
    "state-timeline": "continuous-GrYlRd",
}


def completed_defaults(panel_type: str, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults of a panel's field configuration, completed by the defaults of the panel's type."""
    colour = {"mode": _COLOUR_MODES.get(panel_type, "thresholds")}
    return {"thresholds": _THRESHOLDS, "color": colour, **{name: value for name, value in defaults.items() if value is not None}}
