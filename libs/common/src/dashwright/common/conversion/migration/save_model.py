"""The form in which Grafana saves a migrated dashboard: without defaults, nulls and members of the running page."""

from typing import Final

from dashwright.common.conversion.migration.document import Object, all_panels, number, object_at, objects, variables
from dashwright.common.conversion.migration.nulls import null_count, without_nulls
from dashwright.common.conversion.migration.saved_panel import drop_common_nulls, reduce_panel

#: Members that only a dashboard on a page has, and members of early formats.
_NOT_SAVED: Final = frozenset(
    (
        "appEventsSubscription",
        "events",
        "formatDate",
        "getVariablesFromState",
        "iteration",
        "lastRefresh",
        "meta",
        "nav",
        "originalDashboard",
        "originalLibraryPanels",
        "originalTemplating",
        "originalTime",
        "panelInEdit",
        "panelInView",
        "panelsAffectedByVariableChange",
        "pulldowns",
        "timeRangeUpdatedDuringEditOrView",
        "variables",
        "version",
    )
)


def reduce_dashboard(dashboard: Object) -> None:
    """Remove members that a saved dashboard does not have, and sort its panels by their position.

    Nulls in the first steps of thresholds may be kept. ``base_thresholds`` removes them.
    """
    for name in _NOT_SAVED & dashboard.keys():
        del dashboard[name]
    for name, default in (("gnetId", None), ("id", None), ("style", "dark")):
        if name in dashboard and dashboard[name] == default:
            del dashboard[name]
    if dashboard.get("hideControls") is False:
        del dashboard["hideControls"]
    if (templating := object_at(dashboard, "templating")) is not None:
        dashboard["templating"] = without_nulls(templating) if null_count(templating) else templating
        for variable in variables(dashboard):
            _reduce_variable(variable)
    panels = sorted((panel for panel in objects(dashboard.get("panels")) if not _is_copy(panel)), key=_position)
    dashboard["panels"] = panels
    nulls = null_count(panels)
    if nulls:
        # Most dashboards have only the nulls that drop_common_nulls counts. Then no null remains to be searched for at any depth.
        nulls -= sum(map(drop_common_nulls, all_panels(dashboard)))
    for panel in panels:
        reduce_panel(panel, is_nested=False, has_nulls=nulls > 0)
        if "panels" in panel:
            for nested in objects(panel["panels"]):
                reduce_panel(nested, is_nested=True, has_nulls=nulls > 0)


def _reduce_variable(variable: Object) -> None:
    """Remove the options of a variable that are not saved, and add an empty list where Grafana saves one."""
    variable.pop("index", None)
    match variable.get("type"):
        case "query":
            if number(variable.get("refresh")) != 0:
                variable.setdefault("options", [])
        case "constant":
            variable.pop("options", None)
        case "datasource":
            variable["options"] = []


def _is_copy(panel: Object) -> bool:
    """Return whether a panel is a copy that the repetition of a panel or row left in the dashboard."""
    return panel.get("repeatPanelId") is not None or panel.get("repeatedByRow") is not None


def _position(panel: Object) -> tuple[float, float]:
    """Return the line and the column of a panel. A missing or invalid number counts as 0."""
    position = panel.get("gridPos")
    if not isinstance(position, dict):
        return 0, 0
    return number(position.get("y")) or 0, number(position.get("x")) or 0
