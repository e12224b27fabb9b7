"""The form in which Grafana saves a panel: without defaults, nulls and members of the running page."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.migration.document import Object, all_panels, object_at
from dashwright.common.conversion.migration.nulls import null_count, without_nulls

#: Members that only a panel on a page has.
_RUNTIME: Final = frozenset(
    (
        "cachedPluginOptions",
        "configRev",
        "dataSupport",
        "events",
        "getDisplayTitle",
        "hasRefreshed",
        "hasSavedPanelEditChange",
        "isEditing",
        "isInView",
        "isNew",
        "isViewing",
        "key",
        "plugin",
        "queryRunner",
        "refreshWhenInView",
        "replaceVariables",
        "scopedVars",
    )
)
_NO_FIELD_CONFIG: Final[Mapping[str, Any]] = {"defaults": {}, "overrides": []}
_DEFAULTS: Final[tuple[tuple[str, Any], ...]] = (
    ("gridPos", {"x": 0, "y": 0, "h": 3, "w": 6}),
    ("targets", [{"refId": "A"}]),
    ("options", {}),
    ("links", []),
    ("fieldConfig", _NO_FIELD_CONFIG),
    ("title", ""),
)
#: Members of a panel that shows a library panel. The library has all others.
_LIBRARY_PANEL_MEMBERS: Final = ("id", "title", "gridPos", "libraryPanel")

#: Members of table panels that their options replace.
_OLD_TABLE_MEMBERS: Final = ("pageSize", "scroll", "fontSize", "showHeader", "sort")

_GRAPHS: Final = ("graph", "graphite")

#: The types that replace the types of Angular panels, except for graphs.
_REPLACED_TYPES: Final = {
    "table-old": "table",
    "singlestat": "stat",
    "grafana-singlestat-panel": "stat",
    "grafana-piechart-panel": "piechart",
    "grafana-worldmap-panel": "geomap",
    "natel-discrete-panel": "state-timeline",
}


class PanelOrigins:
    """The panels of a draft that had certain members before defaults were added."""

    def __init__(self, dashboard: Object) -> None:
        # The panels are the values, because another object may get the id of a panel that is gone.
        self._with_transformations: dict[int, Object] = {}
        self._with_custom_fields: dict[int, Object] = {}
        for panel in all_panels(dashboard):
            if "transformations" in panel:
                self._with_transformations[id(panel)] = panel
            if isinstance(config := panel.get("fieldConfig"), dict):
                defaults = config.get("defaults")
                if isinstance(defaults, dict) and "custom" in defaults:
                    self._with_custom_fields[id(panel)] = panel

    def had_transformations(self, panel: Object) -> bool:
        """Return whether a panel had transformations, or an empty list of them."""
        return id(panel) in self._with_transformations

    def had_custom_fields(self, panel: Object) -> bool:
        """Return whether a panel had ``fieldConfig.defaults.custom``."""
        return id(panel) in self._with_custom_fields


def reduce_panel(panel: Object, origins: PanelOrigins, *, is_nested: bool) -> None:
    """Remove from a panel what a saved panel does not contain, and replace its type if it was written for Angular.

    The panels inside of a row are not changed.
    """
    _replace_type(panel)
    if is_nested:
        _drop_nulls(panel, is_nested=is_nested)
    if panel.get("libraryPanel") is not None:
        for name in [name for name in panel if name not in _LIBRARY_PANEL_MEMBERS or panel[name] is None]:
            del panel[name]
        return
    if panel.get("repeat") == "" and panel.get("type") == "row":
        del panel["repeat"]
    if not _RUNTIME.isdisjoint(panel):
        for name in _RUNTIME & panel.keys():
            del panel[name]
    for name, default in _DEFAULTS:
        if panel.get(name) == default:
            del panel[name]
    if panel.get("transparent") is False:
        del panel["transparent"]
    if panel.get("transformations") == [] and not (is_nested and origins.had_transformations(panel)):
        del panel["transformations"]
    if not is_nested:
        _drop_nulls(panel, is_nested=is_nested)
    if panel.get("type") == "table" and panel.get("autoMigrateFrom") != "table-old":
        for name in _OLD_TABLE_MEMBERS:
            panel.pop(name, None)
    if panel.get("targets") == []:
        del panel["targets"]
    _reduce_field_config(panel, keeps_custom=origins.had_custom_fields(panel))


def _drop_nulls(panel: Object, *, is_nested: bool) -> None:
    """Remove null members at any depth, except from the panels inside of a row, which are reduced one by one."""
    count = null_count(panel)
    if not count:
        return
    for name in [name for name, member in panel.items() if member is None]:
        del panel[name]
        count -= 1
    # Most nulls are the value of the first step of the thresholds, which is minus infinity.
    if not count or not (count := count - _drop_first_threshold(panel)):
        return
    for name, member in panel.items():
        if isinstance(member, dict) or (isinstance(member, list) and (is_nested or name != "panels")):
            panel[name] = without_nulls(member)


def _drop_first_threshold(panel: Object) -> int:
    """Remove the value of the first step of the thresholds if it is null. Return the number of removed members."""
    config = panel.get("fieldConfig")
    defaults = object_at(config, "defaults")
    thresholds = object_at(defaults, "thresholds")
    steps = thresholds and thresholds.get("steps")
    if not (config and defaults and thresholds and isinstance(steps, list) and steps and isinstance(first := steps[0], dict)):
        return 0
    if first.get("value", 0) is not None:
        return 0
    rest = {name: member for name, member in first.items() if name != "value"}
    panel["fieldConfig"] = {**config, "defaults": {**defaults, "thresholds": {**thresholds, "steps": [rest, *steps[1:]]}}}
    return 1


def _reduce_field_config(panel: Object, *, keeps_custom: bool) -> None:
    """Remove an empty ``fieldConfig``, but keep ``custom`` in one that had it, even if nothing is left in it."""
    config = object_at(panel, "fieldConfig")
    defaults = object_at(config, "defaults")
    if config is not None and defaults is not None and keeps_custom and "custom" not in defaults:
        panel["fieldConfig"] = {**config, "defaults": {**defaults, "custom": {}}}
    elif config == _NO_FIELD_CONFIG:
        del panel["fieldConfig"]


def _replace_type(panel: Object) -> None:
    """Replace the type of a panel that was written for Angular, and note the old type in ``autoMigrateFrom``."""
    old_type = panel.get("type")
    if isinstance(old_type, str):
        new_type = _graph_type(panel) if old_type in _GRAPHS else _REPLACED_TYPES.get(old_type)
        if new_type is not None:
            panel["autoMigrateFrom"] = old_type
            panel["type"] = new_type


def _graph_type(panel: Object) -> str:
    """Return the type that replaces a graph. It depends on the mode of the x-axis."""
    axis, legend = panel.get("xaxis"), panel.get("legend")
    mode = axis.get("mode") if isinstance(axis, dict) else None
    if mode == "series":
        return "bargauge" if isinstance(legend, dict) and legend.get("values") is True else "barchart"
    return "histogram" if mode == "histogram" else "timeseries"
