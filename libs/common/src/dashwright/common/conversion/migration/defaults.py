"""Members that Grafana adds to a dashboard and to its panels before it migrates them."""

from typing import Any, Final

from dashwright.common.conversion.migration.document import Object, copy_list, copy_object, objects, variables
from dashwright.common.conversion.migration.identifiers import free_ref_ids

#: The annotation query that shows annotations and alerts of the dashboard itself.
_OWN_ANNOTATIONS: Final[dict[str, Any]] = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}
_DASHBOARD_DEFAULTS: Final[tuple[tuple[str, Any], ...]] = (
    ("title", "No Title"),
    ("timezone", ""),
    ("weekStart", ""),
    ("editable", True),
    ("graphTooltip", 0),
    ("fiscalYearStartMonth", 0),
)


def fill_dashboard(dashboard: Object) -> None:
    """Add the members that a dashboard lacks, except its panels and its own annotations."""
    for name, default in _DASHBOARD_DEFAULTS:
        if dashboard.get(name) is None:
            dashboard[name] = default
    for name in ("tags", "links"):
        if dashboard.get(name) is None:
            dashboard[name] = []
    if dashboard.get("time") is None:
        dashboard["time"] = {"from": "now-6h", "to": "now"}
    if dashboard.get("timepicker") is None:
        dashboard["timepicker"] = {}
    for name in ("templating", "annotations"):
        holder = dashboard.get(name)
        if not isinstance(holder, dict):
            dashboard[name] = {"list": []}
        elif holder.get("list") is None:
            holder["list"] = []
    for variable in variables(dashboard):
        _drop_null_value(variable)


def _drop_null_value(variable: Object) -> None:
    """Remove the selected value of a variable if it is null or contains null."""
    current = variable.get("current")
    if isinstance(current, dict) and "value" in current:
        value = current["value"]
        if value is None or (isinstance(value, list) and any(item is None for item in value)):
            variable["current"] = {name: member for name, member in current.items() if name != "value"}


def fill_panel(panel: Object) -> None:
    """Add the members that a saved panel has even if they are empty, and the names of queries without one."""
    if panel.get("gridPos") is None:
        panel["gridPos"] = {"x": 0, "y": 0, "h": 3, "w": 6}
    if panel.get("title") is None:
        panel["title"] = ""
    config = panel.get("fieldConfig")
    if isinstance(config, dict) and not ("defaults" in config and "overrides" in config):
        panel["fieldConfig"] = {"defaults": {}, "overrides": [], **config}
    _name_queries(panel)


def _name_queries(panel: Object) -> None:
    """Give each query without a ``refId`` the first free one of A to Z, AA, AB and so on."""
    targets = panel.get("targets")
    if not isinstance(targets, list):
        return
    # Most panels need no copies of their queries.
    if all(target.get("refId") is not None for target in objects(targets)):
        return
    free = free_ref_ids({ref_id for target in objects(targets) if isinstance(ref_id := target.get("refId"), str)})
    for target in objects(copy_list(panel, "targets")):
        if target.get("refId") is None:
            target["refId"] = next(free)


def add_builtin_annotations(dashboard: Object) -> None:
    """Put the query of the dashboard's own annotations first, unless the dashboard has a built-in annotation query already."""
    holder = copy_object(dashboard, "annotations")
    if holder is None:
        return
    annotations = holder.get("list")
    if not isinstance(annotations, list):
        return
    # In Python, true equals 1. Grafana looks for the number only.
    if not any(query.get("builtIn") == 1 and query["builtIn"] is not True for query in objects(annotations)):
        holder["list"] = [_OWN_ANNOTATIONS | {"datasource": dict(_OWN_ANNOTATIONS["datasource"])}, *annotations]
