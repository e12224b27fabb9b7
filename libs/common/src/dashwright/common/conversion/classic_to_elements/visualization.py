"""Visualization of a panel: its plugin with options and field configuration.

Plugins of the Angular era are replaced by their successors. Options that are not in the schema of panels are moved to the option
``__angularMigration`` of the successor.
"""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.byte_order_marks import without_marks
from dashwright.common.conversion.classic_to_elements.field_config import field_config
from dashwright.common.conversion.classic_to_elements.members import Members, child, flag, text
from dashwright.common.conversion.elements_form import ElementsForm

#: Plugin of panels that name none.
_DEFAULT_PLUGIN: Final = "timeseries"

#: Successors of Angular plugins.
_SUCCESSORS: Final[Mapping[str, str]] = {
    "grafana-piechart-panel": "piechart",
    "grafana-singlestat-panel": "stat",
    "grafana-worldmap-panel": "geomap",
    "natel-discrete-panel": "state-timeline",
    "singlestat": "stat",
    "table-old": "table",
}

#: Angular plugins whose successor depends on their options.
_GRAPHS: Final = frozenset({"graph", "graphite"})

#: Members in the schema of panels.
_PANEL_MEMBERS: Final = frozenset({
    "autoMigrateFrom",
    "cacheTimeout",
    "datasource",
    "description",
    "fieldConfig",
    "gridPos",
    "hideTimeOverride",
    "id",
    "interval",
    "libraryPanel",
    "links",
    "maxDataPoints",
    "maxPerRow",
    "options",
    "pluginVersion",
    "queryCachingTTL",
    "repeat",
    "repeatDirection",
    "targets",
    "timeCompare",
    "timeFrom",
    "timeShift",
    "title",
    "transformations",
    "transparent",
    "type",
})  # fmt: skip


def visualization(panel: Members, form: ElementsForm) -> dict[str, Any]:
    """Return the member ``vizConfig`` of a panel."""
    plugin = text(panel, "type", _DEFAULT_PLUGIN)
    predecessor = text(panel, "autoMigrateFrom")
    has_original_options = not _PANEL_MEMBERS.issuperset(panel)
    if not predecessor:
        successor = _graph_successor(panel) if plugin in _GRAPHS else _SUCCESSORS.get(plugin)
        # A plugin without a successor migrates the original options itself.
        if successor or has_original_options:
            predecessor = plugin
        plugin = successor or plugin
    options = child(panel, "options") or {}
    if predecessor:
        original_options = {name: panel[name] for name in panel if name not in _PANEL_MEMBERS}
        options = {**options, "__angularMigration": {"autoMigrateFrom": predecessor, "originalOptions": original_options}}
    spec = {"options": without_marks(options), "fieldConfig": field_config(panel)}
    return form.visualization(plugin, text(panel, "pluginVersion"), spec)


def _graph_successor(panel: Members) -> str:
    """Return the successor of a graph, which depends on the meaning of its horizontal axis."""
    match text(child(panel, "xaxis") or {}, "mode"):
        case "series":
            return "bargauge" if flag(child(panel, "legend") or {}, "values") else "barchart"
        case "histogram":
            return "histogram"
        case _:
            return "timeseries"
