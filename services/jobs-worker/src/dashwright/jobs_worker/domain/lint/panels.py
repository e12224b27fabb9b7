"""Rules on panels. Library panels are skipped: their content is not in the dashboard."""

from collections.abc import Iterator
from typing import Any, Final

from dashwright.common.json_shapes import object_at, objects_of
from dashwright.jobs_worker.domain.lint.board import Board, Panel, Source, is_expression
from dashwright.jobs_worker.domain.lint.finding import Finding, in_panel

_WITH_NUMBERS: Final = ("stat", "singlestat", "graph", "table", "timeseries", "gauge")
_WITH_SOURCE: Final = ("singlestat", "graph", "table", "timeseries")
_FIXED: Final = ("grafana", "dashboard", "mixed")
"""Types of data sources that are the same everywhere."""

_FIXED_UIDS: Final = ("-- Mixed --", "-- Grafana --", "-- Dashboard --", "grafana")


def source_is_variable(board: Board) -> Iterator[Finding]:
    """Yield panels whose data source is fixed: the dashboard cannot be used with another one."""
    names = {variable.name for variable in board.variables if variable.source_type}
    for panel in _panels(board, _WITH_SOURCE):
        if panel.targets and not _is_fixed(panel.source) and panel.source.variable not in names:
            named = f"the data source {panel.source.uid}" if panel.source.uid else "the default data source"
            yield in_panel(panel, f"asks {named}: let a variable of type datasource choose it")


def has_title_and_description(board: Board) -> Iterator[Finding]:
    """Yield panels without a title or description."""
    for panel in _panels(board, _WITH_NUMBERS):
        if missing := [name for name in ("title", "description") if not getattr(panel, name).strip()]:
            yield in_panel(panel, f"has no {' and no '.join(missing)}")


def has_unit(board: Board) -> Iterator[Finding]:
    """Yield panels whose numbers have no unit."""
    for panel in _panels(board, _WITH_NUMBERS):
        if not (_units(panel) or _shows_words(panel)):
            yield in_panel(panel, "its values have no unit: set one in fieldConfig.defaults.unit (none, where they are counts)")


def has_targets(board: Board) -> Iterator[Finding]:
    """Yield panels without a query."""
    for panel in _panels(board, _WITH_NUMBERS):
        if not panel.targets:
            yield in_panel(panel, "has no query")


def _panels(board: Board, types: tuple[str, ...]) -> Iterator[Panel]:
    return (panel for panel in board.panels if panel.type in types and not panel.is_library)


def _is_fixed(source: Source) -> bool:
    return source.type in _FIXED or source.uid in _FIXED_UIDS or is_expression(source)


def _units(panel: Panel) -> bool:
    """Return whether all fields, or some, have a unit."""
    return bool(_defaults(panel).get("unit")) or any(name == "unit" and value for name, value in _overrides(panel))


def _shows_words(panel: Panel) -> bool:
    """Return whether values are mapped to words, or fields that need not be numbers are shown."""
    names_fields = panel.type == "stat" and bool(object_at(panel.options, "reduceOptions").get("fields"))
    return bool(_defaults(panel).get("mappings")) or names_fields


def _defaults(panel: Panel) -> dict[str, Any]:
    return object_at(panel.field_config, "defaults")


def _overrides(panel: Panel) -> Iterator[tuple[Any, Any]]:
    for override in objects_of(panel.field_config.get("overrides")):
        for item in objects_of(override.get("properties")):
            yield item.get("id"), item.get("value")
