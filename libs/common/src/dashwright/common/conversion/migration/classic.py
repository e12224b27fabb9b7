"""The conversion of a classic dashboard of any schema version to the version v1 of the API."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.migration.document import Object, objects, own_list, variables
from dashwright.common.conversion.migration.pipeline import migrate


def classic_to_v1(spec: Mapping[str, Any], context: ConversionContext) -> dict[str, Any]:
    """Return a classic dashboard in the form of v1: migrated, and with objects for data sources that variables select.

    Raises ConversionFailed if the dashboard cannot be migrated.
    """
    migrated = migrate(spec, context)
    for variable in variables(migrated):
        if variable.get("type") == "query":
            _make_reference(variable)
    pending = list(objects(migrated.get("panels")))
    for panel in pending:
        _make_reference(panel)
        if any(_selected_name(target) is not None for target in objects(panel.get("targets"))):
            for target in objects(own_list(panel, "targets")):
                _make_reference(target)
        if panel.get("type") == "row":
            pending += objects(panel.get("panels"))
    return migrated


def _make_reference(holder: Object) -> None:
    """Replace a data source such as ``$name`` by a reference with that uid."""
    name = _selected_name(holder)
    if name is not None:
        holder["datasource"] = {"uid": name}


def _selected_name(holder: Object) -> str | None:
    name = holder.get("datasource")
    return name if isinstance(name, str) and name.startswith("$") else None
