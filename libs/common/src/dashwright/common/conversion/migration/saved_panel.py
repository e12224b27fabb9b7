"""The form in which Grafana saves a panel: without defaults, nulls and members of the running page."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.migration.base_thresholds import has_null_base
from dashwright.common.conversion.migration.document import Object, object_at
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
#: Members that are not saved if they have these values.
_DEFAULTS: Final[tuple[tuple[str, Any], ...]] = (
    ("gridPos", {"x": 0, "y": 0, "h": 3, "w": 6}),
    ("targets", [{"refId": "A"}]),
    ("options", {}),
    ("links", []),
    ("fieldConfig", _NO_FIELD_CONFIG),
    ("title", ""),
)
#: Members of a panel that shows a library panel. All other members come from the library panel.
_LIBRARY_PANEL_MEMBERS: Final = ("id", "title", "gridPos", "libraryPanel")

#: Members of table panels that their options replace.
_OLD_TABLE_MEMBERS: Final = ("pageSize", "scroll", "fontSize", "showHeader", "sort")

_GRAPHS: Final = ("graph", "graphite")

#: The types that replace those of Angular panels, by old type. Graphs are missing: their new type depends on their members.
_NEW_TYPES: Final = {
    "table-old": "table",
    "singlestat": "stat",
    "grafana-singlestat-panel": "stat",
    "grafana-piechart-panel": "piechart",
    "grafana-worldmap-panel": "geomap",
    "natel-discrete-panel": "state-timeline",
}


def drop_common_nulls(panel: Object) -> int:
    """Remove the null members of a panel itself.

    Return their number, plus 1 if the first step of its thresholds has a null, which is kept.
    """
    names = [name for name, member in panel.items() if member is None]
    for name in names:
        del panel[name]
    return len(names) + has_null_base(panel)


def reduce_panel(panel: Object, *, is_nested: bool, has_nulls: bool) -> None:
    """Remove members that a saved panel does not have, and replace an Angular type.

    The panels in a row are not changed. Nulls are removed only if ``has_nulls`` is true.
    """
    had_custom = has_nulls and "custom" in (object_at(panel, "fieldConfig", "defaults") or ())
    _replace_type(panel)
    # As in Grafana, nested panels lose their nulls before their defaults, and other panels after them.
    if has_nulls and is_nested:
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
    if not is_nested and panel.get("transformations") == []:
        del panel["transformations"]
    if has_nulls and not is_nested:
        _drop_nulls(panel, is_nested=is_nested)
    if panel.get("type") == "table" and panel.get("autoMigrateFrom") != "table-old":
        for name in _OLD_TABLE_MEMBERS:
            panel.pop(name, None)
    if panel.get("targets") == []:
        del panel["targets"]
    if had_custom:
        _keep_custom(panel)
    # Without nulls, the settings have not changed since the loop over the defaults.
    if has_nulls and panel.get("fieldConfig") == _NO_FIELD_CONFIG:
        del panel["fieldConfig"]


def _drop_nulls(panel: Object, *, is_nested: bool) -> None:
    """Remove null members at any depth, except from the panels inside of a row, which are reduced one by one."""
    if null_count(panel):
        for name, member in panel.items():
            if isinstance(member, dict) or (isinstance(member, list) and (is_nested or name != "panels")):
                panel[name] = without_nulls(member)


def _keep_custom(panel: Object) -> None:
    """Add an empty ``custom`` to the defaults of fields, from which it was removed because it was null."""
    config = object_at(panel, "fieldConfig")
    defaults = object_at(config, "defaults")
    if config is not None and defaults is not None and "custom" not in defaults:
        panel["fieldConfig"] = {**config, "defaults": {**defaults, "custom": {}}}


def _replace_type(panel: Object) -> None:
    """Replace the type of a panel that was written for Angular, and note the old type in ``autoMigrateFrom``."""
    old_type = panel.get("type")
    if isinstance(old_type, str):
        new_type = _graph_type(panel) if old_type in _GRAPHS else _NEW_TYPES.get(old_type)
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
