"""Migrations of references to data sources from names to objects."""

from typing import Any, Final

from dashwright.common.conversion.context import ConversionContext, DataSourceIndex, KnownDataSource
from dashwright.common.conversion.migration.document import Object, all_panels, annotations, copy_list, objects, text, top_panels, variables

#: The uid in panels whose queries have data sources of their own.
_MIXED: Final = "-- Mixed --"
#: The uid in queries that are expressions.
_EXPRESSION: Final = "__expr__"
#: The name by which old dashboards refer to the default data source.
_DEFAULT_NAME: Final = "default"


def resolve_names(dashboard: Object, context: ConversionContext) -> None:
    """Replace the names of data sources in panels and their queries by references (version 33)."""
    for panel in all_panels(dashboard):
        panel["datasource"] = _resolved_unless_default(panel.get("datasource"), context.data_sources)
        targets = panel.get("targets")
        if any(isinstance(target.get("datasource"), str) for target in objects(targets)):
            for target in objects(copy_list(panel, "targets")):
                resolved = _resolved_unless_default(target.get("datasource"), context.data_sources)
                if resolved is not None:
                    target["datasource"] = resolved


def reference_everywhere(dashboard: Object, context: ConversionContext) -> None:
    """Give annotation queries, query variables, panels and their queries a reference to a data source (version 36)."""
    index = context.data_sources
    for query in annotations(dashboard):
        query["datasource"] = _resolved(query.get("datasource"), index)
    for variable in variables(dashboard):
        if variable.get("type") == "query" and "datasource" in variable and variable["datasource"] is None:
            variable["datasource"] = _reference(index.default)
    for panel in top_panels(dashboard):
        if not _has_queries(panel):
            panel["targets"] = [{"refId": "A"}]
        _reference_in_panel(panel, index)
        for nested in objects(panel.get("panels")):
            if _has_queries(nested):
                _reference_in_panel(nested, index)


def _has_queries(panel: Object) -> bool:
    targets = panel.get("targets")
    return isinstance(targets, list) and bool(targets)


def _reference_in_panel(panel: Object, index: DataSourceIndex) -> None:
    """Give a panel and its queries a reference. A panel without one takes that of its queries, or else the default."""
    panel_had_no_source = panel.get("datasource") is None
    if panel.get("datasource") != {}:
        panel["datasource"] = _resolved(panel.get("datasource"), index)
    for target in objects(copy_list(panel, "targets")):
        source, panel_source = target.get("datasource"), panel["datasource"]
        has_no_source = source is None or (isinstance(source, dict) and source.get("uid") is None)
        can_inherit = (panel_source is None or isinstance(panel_source, dict)) and text(panel_source or {}, "uid") != _MIXED
        if has_no_source and can_inherit:
            target["datasource"] = dict(panel_source or {})
        else:
            target["datasource"] = _resolved(source, index)
        new_source = target["datasource"]
        if panel_had_no_source and isinstance(new_source, dict) and text(new_source, "uid") not in {"", _EXPRESSION}:
            panel["datasource"] = new_source


def _resolved_unless_default(source: Any, index: DataSourceIndex) -> Any:
    """Return the reference to a data source, or None for the default one."""
    return None if source is None or source == _DEFAULT_NAME else _resolved(source, index)


def _resolved(source: Any, index: DataSourceIndex) -> Any:
    """Return the reference to the data source with a name or uid (None: the default data source).

    An unknown name becomes a uid. An empty name becomes an empty reference, and a reference without uid and type becomes None. Other
    references and values of other types are returned unchanged.
    """
    if source is None:
        return _reference(index.default)
    if isinstance(source, dict):
        return source if text(source, "uid") or text(source, "type") else None
    if not isinstance(source, str):
        return source
    if not source:
        return {}
    known = index.default if source == _DEFAULT_NAME and index.default is not None else index.find(source)
    return _reference(known) or {"uid": source}


def _reference(source: KnownDataSource | None) -> Object | None:
    """Return the reference to a known data source."""
    if source is None:
        return None
    reference = {"uid": source.uid, "type": source.type}
    return {**reference, "apiVersion": source.api_version} if source.api_version else reference
