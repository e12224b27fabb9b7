"""Rules on panels. Each function is named for what its rule requires.

Library panels are skipped: their content is not in the dashboard.
"""

from collections.abc import Iterator
from typing import Any, Final

from dashwright.common.json_shapes import object_at, objects_of
from dashwright.jobs_worker.domain.lint.board import Board, Panel, SourceReference, is_expression
from dashwright.jobs_worker.domain.lint.finding import Finding, panel_finding

_VALUE_PANELS: Final = ("stat", "singlestat", "graph", "table", "timeseries", "gauge")
"""Panel types that need a title, a unit and a query."""

_VARIABLE_SOURCE_PANELS: Final = ("singlestat", "graph", "table", "timeseries")
"""Panel types whose data source must be a variable."""

_BUILT_IN_TYPES: Final = ("grafana", "dashboard", "mixed")
"""Types of data sources that every server has. Panels may refer to these data sources without a variable."""

_BUILT_IN_UIDS: Final = ("-- Mixed --", "-- Grafana --", "-- Dashboard --", "grafana")


def source_is_variable(board: Board) -> Iterator[Finding]:
    """Yield a finding for each panel with a fixed data source: the dashboard cannot be used with another data source."""
    source_variable_names = {variable.name for variable in board.variables if variable.source_type}
    for panel in _panels_of_types(board, _VARIABLE_SOURCE_PANELS):
        if panel.targets and not _is_built_in(panel.source) and panel.source.variable not in source_variable_names:
            source_description = f"the data source {panel.source.uid}" if panel.source.uid else "the default data source"
            yield panel_finding(panel, f"queries {source_description}: let a variable of type datasource choose it")


def has_title_and_description(board: Board) -> Iterator[Finding]:
    """Yield a finding for each panel without a title or description."""
    for panel in _panels_of_types(board, _VALUE_PANELS):
        if missing := [name for name in ("title", "description") if not getattr(panel, name).strip()]:
            yield panel_finding(panel, f"has no {' and no '.join(missing)}")


def has_unit(board: Board) -> Iterator[Finding]:
    """Yield a finding for each panel whose numbers have no unit."""
    for panel in _panels_of_types(board, _VALUE_PANELS):
        if not (_has_unit(panel) or _shows_text(panel)):
            yield panel_finding(panel, "its values have no unit: set one in fieldConfig.defaults.unit (none, where they are counts)")


def has_targets(board: Board) -> Iterator[Finding]:
    """Yield a finding for each panel without a query."""
    for panel in _panels_of_types(board, _VALUE_PANELS):
        if not panel.targets:
            yield panel_finding(panel, "has no query")


def _panels_of_types(board: Board, types: tuple[str, ...]) -> Iterator[Panel]:
    return (panel for panel in board.panels if panel.type in types and not panel.is_library)


def _is_built_in(source: SourceReference) -> bool:
    return source.type in _BUILT_IN_TYPES or source.uid in _BUILT_IN_UIDS or is_expression(source)


def _has_unit(panel: Panel) -> bool:
    """Return whether the default unit or the unit of some fields is set."""
    return bool(_defaults(panel).get("unit")) or any(name == "unit" and value for name, value in _override_properties(panel))


def _shows_text(panel: Panel) -> bool:
    """Return whether the panel maps values to text or shows selected fields, which may be text."""
    selects_fields = panel.type == "stat" and bool(object_at(panel.options, "reduceOptions").get("fields"))
    return bool(_defaults(panel).get("mappings")) or selects_fields


def _defaults(panel: Panel) -> dict[str, Any]:
    return object_at(panel.field_config, "defaults")


def _override_properties(panel: Panel) -> Iterator[tuple[Any, Any]]:
    """Yield the name and value of each property that an override sets."""
    for override in objects_of(panel.field_config.get("overrides")):
        for item in objects_of(override.get("properties")):
            yield item.get("id"), item.get("value")
