"""The first step of thresholds. Its value is minus infinity: null in elements, and missing in saved classic dashboards."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.migration.document import Object


def has_null_base(panel: Object) -> bool:
    """Return whether the first step of the thresholds of a panel has the value null."""
    config = panel.get("fieldConfig")
    defaults = config.get("defaults") if isinstance(config, dict) else None
    thresholds = defaults.get("thresholds") if isinstance(defaults, dict) else None
    steps = thresholds.get("steps") if isinstance(thresholds, dict) else None
    if not isinstance(steps, list) or not steps or not isinstance(steps[0], dict):
        return False
    # A missing value is not null.
    return steps[0].get("value", 0) is None


def without_null_bases(dashboard: Mapping[str, Any], context: ConversionContext) -> Mapping[str, Any]:
    """Return a classic dashboard whose thresholds have no null in their first step. Unchanged parts are shared."""
    del context
    panels = dashboard.get("panels")
    return {**dashboard, "panels": _without_null_bases(panels)} if isinstance(panels, list) and panels else dashboard


def _without_null_bases(panels: list[Any]) -> list[Any]:
    return [_without_null_base(panel) if isinstance(panel, dict) else panel for panel in panels]


def _without_null_base(panel: Object) -> Object:
    """Return a panel, and the panels in it, without a null in the first step of thresholds."""
    nested = panel.get("panels")
    if isinstance(nested, list) and nested:
        panel = {**panel, "panels": _without_null_bases(nested)}
    if not has_null_base(panel):
        return panel
    config = panel["fieldConfig"]
    defaults = config["defaults"]
    thresholds = defaults["thresholds"]
    first, *further_steps = thresholds["steps"]
    base = {name: member for name, member in first.items() if name != "value"}
    return {**panel, "fieldConfig": {**config, "defaults": {**defaults, "thresholds": {**thresholds, "steps": [base, *further_steps]}}}}
