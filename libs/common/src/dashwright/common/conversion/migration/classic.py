"""The migration of a classic dashboard of any schema version to the form of the version v1 of the API."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.migration.document import Object, copy_list, objects, variables
from dashwright.common.conversion.migration.pipeline import migrate


def migrate_fully(spec: Mapping[str, Any], context: ConversionContext) -> dict[str, Any]:
    """Return a migrated classic dashboard, with references such as ``{"uid": "$name"}`` to data sources that variables select.

    Raises ConversionFailed if the dashboard cannot be migrated.
    """
    migrated = migrate(spec, context)
    for variable in variables(migrated):
        if variable.get("type") == "query":
            _make_reference(variable)
    pending = list(objects(migrated.get("panels")))
    # The list grows by the panels of rows while the loop runs over it.
    for panel in pending:
        _make_reference(panel)
        if any(isinstance(target.get("datasource"), str) for target in objects(panel.get("targets"))):
            for target in objects(copy_list(panel, "targets")):
                _make_reference(target)
        if panel.get("type") == "row":
            pending += objects(panel.get("panels"))
    return migrated


def _make_reference(holder: Object) -> None:
    """Replace a data source such as ``$name`` by a reference with that uid."""
    name = holder.get("datasource")
    if isinstance(name, str) and name.startswith("$"):
        holder["datasource"] = {"uid": name}
