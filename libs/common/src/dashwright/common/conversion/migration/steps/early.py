"""Migrations of members that dashboards already had in Grafana 1, of several schema versions."""

from dashwright.common.conversion.migration.document import Object, copy_list, copy_object, object_at, objects, variables


def move_filters(dashboard: Object) -> None:
    """Move the time range and the variables of ``services.filter`` to their own members (version 2)."""
    filters = object_at(dashboard, "services", "filter")
    if filters is None:
        return
    if filters.get("time") is not None:
        dashboard["time"] = filters["time"]
    if filters.get("list") is not None and (templating := copy_object(dashboard, "templating")) is not None:
        templating["list"] = filters["list"]
        copy_list(templating, "list")
    del dashboard["services"]


def move_annotations(dashboard: Object) -> None:
    """Move the annotation queries out of ``pulldowns``, and give variables a type and a data source (version 6)."""
    pulldown = next((pulldown for pulldown in objects(dashboard.get("pulldowns")) if pulldown.get("type") == "annotations"), None)
    if pulldown is not None:
        dashboard["annotations"] = {"list": [] if pulldown.get("annotations") is None else pulldown["annotations"]}
        copy_list(dashboard["annotations"], "list")
    for variable in variables(dashboard):
        variable.setdefault("datasource", None)
        if variable.get("type", "filter") == "filter":
            variable["type"] = "query"
        if "allFormat" in variable and variable["allFormat"] is None:
            del variable["allFormat"]


def move_time_picker(dashboard: Object) -> None:
    """Move the settings of the time picker out of ``nav`` (version 7)."""
    navigation = dashboard.get("nav")
    if isinstance(navigation, list) and navigation and isinstance(navigation[0], dict):
        dashboard["timepicker"] = navigation[0]


def replace_shared_crosshair(dashboard: Object) -> None:
    """Replace ``sharedCrosshair`` by a number in ``graphTooltip`` (version 14)."""
    dashboard["graphTooltip"] = 1 if dashboard.pop("sharedCrosshair", None) is True else 0


def make_refresh_a_text(dashboard: Object) -> None:
    """Replace a refresh interval that is not a text by an empty text (version 40)."""
    if not isinstance(dashboard.get("refresh"), str):
        dashboard["refresh"] = ""


def drop_time_options(dashboard: Object) -> None:
    """Remove the time ranges of the old time picker (version 41)."""
    if "time_options" in (object_at(dashboard, "timepicker") or ()) and (picker := copy_object(dashboard, "timepicker")) is not None:
        del picker["time_options"]
