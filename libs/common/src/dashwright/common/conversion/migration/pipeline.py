"""The migration of a dashboard: defaults, the migrations between two schema versions, and the form that is saved."""

import re
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.migration.defaults import add_builtin_annotations, fill_dashboard, fill_panel
from dashwright.common.conversion.migration.document import Object, all_panels, draft_of, number, panels_in_any_layout, top_panels
from dashwright.common.conversion.migration.identifiers import make_ids_unique
from dashwright.common.conversion.migration.registry import LATEST, migrations_between
from dashwright.common.conversion.migration.save_model import reduce_dashboard
from dashwright.common.conversion.migration.steps.grid import GRID_VERSION

#: Members of a dashboard that was exported for import elsewhere.
_EXPORT_MEMBERS: Final = ("__elements", "__inputs", "__requires")
#: Whole number as text. Any number of 18 digits fits into 64 bits.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")


def migrate(dashboard: Mapping[str, Any], context: ConversionContext, target: int = LATEST) -> dict[str, Any]:
    """Return a classic dashboard with the schema version ``target``, in the form in which Grafana 12.4 saves it.

    The dashboard is not changed, and the result shares its unchanged parts. Members of unexpected types are kept as they are.

    Raises ConversionFailed if the schema version is above the target or below 0, or if the dashboard is nested too deeply.
    """
    version = schema_version(dashboard)
    if version < 0:
        raise ConversionFailed(f"the schemaVersion {version} is invalid; it must be at least 0")
    if version > target:
        raise ConversionFailed(f"the schemaVersion {version} is newer than {target}, the newest one that can be read")
    draft = draft_of(dashboard)
    try:
        _migrate_draft(draft, context, version, target)
    except RecursionError as error:
        raise ConversionFailed("the dashboard is nested too deeply; simplify its panels") from error
    return draft


def schema_version(dashboard: Mapping[str, Any]) -> int:
    """Return the schema version of a dashboard, which is 0 if it is missing or not a number."""
    value = dashboard.get("schemaVersion")
    if isinstance(value, str):
        return int(value) if _INTEGER.fullmatch(value) else 0
    return int(number(value) or 0)


def _migrate_draft(draft: Object, context: ConversionContext, version: int, target: int) -> None:
    """Change a draft to the schema version ``target`` and to the form that is saved."""
    for name in _EXPORT_MEMBERS:
        draft.pop(name, None)
    fill_dashboard(draft)
    for panel in top_panels(draft):
        fill_panel(panel)
    # Before ``GRID_VERSION``, ``rows`` contains panels, too. From it on, ``rows`` is an unknown member.
    panels = panels_in_any_layout(draft) if version < GRID_VERSION else all_panels(draft)
    make_ids_unique(panels)
    for migration in migrations_between(version, target):
        migration(draft, context)
    draft["schemaVersion"] = target
    add_builtin_annotations(draft)
    reduce_dashboard(draft)
