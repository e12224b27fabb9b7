"""The migration of each old type of panel."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.migrations.discrete import migrate_discrete
from dashwright.expressions.pictures.migrations.graph import migrate_graph
from dashwright.expressions.pictures.migrations.heatmap import migrate_heatmap
from dashwright.expressions.pictures.migrations.piechart import migrate_piechart
from dashwright.expressions.pictures.migrations.singlestat import migrate_singlestat
from dashwright.expressions.pictures.migrations.table import migrate_table

#: The function that migrates a panel, by its old type.
MIGRATIONS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "graph": migrate_graph,
    "grafana-piechart-panel": migrate_piechart,
    "grafana-singlestat-panel": migrate_singlestat,
    "grafana-worldmap-panel": lambda panel: {**panel, "type": "geomap"},
    "heatmap": migrate_heatmap,
    "natel-discrete-panel": migrate_discrete,
    "singlestat": migrate_singlestat,
    "table-old": migrate_table,
}
#: The option in which dashboards with elements keep the members of an old panel.
_OLD_PANEL: Final = "__angularMigration"


def migrated(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a panel in the form of its current type; a panel that is current already is returned as it is."""
    options = object_of(panel.get("options"))
    old = object_of(options.get(_OLD_PANEL))
    source = {**panel, **object_of(old.get("originalOptions"))} if old else panel
    old_type = string_of(old.get("autoMigrateFrom")) or string_of(panel.get("autoMigrateFrom")) or string_of(panel.get("type"))
    migrate = MIGRATIONS.get(old_type)
    return migrate(source) if migrate else panel
