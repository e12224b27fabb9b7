"""A dashboard in the form that rules read, which is the same for classic specs and for specs with elements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_at, object_of, string_at, string_of
from dashwright.common.models.values import EXPRESSION_UIDS

EXPRESSION: Final = "__expr__"
"""Type of the data source of expressions."""

# Each tuple has the value in classic specs, then the value in specs with elements.
_ON_TIME_CHANGE: Final = (2, "onTimeRangeChanged")
_QUERY_VARIABLE: Final = ("query", "QueryVariable")
_SOURCE_VARIABLE: Final = ("datasource", "DatasourceVariable")


@dataclass(frozen=True, slots=True)
class SourceReference:
    """A reference to a data source; both members are empty for the default data source."""

    type: str = ""
    uid: str = ""

    @property
    def variable(self) -> str:
        """The name of the variable that chooses the data source, or empty."""
        return variable_in(self.uid)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a dashboard."""

    name: str
    label: str
    #: ``True`` if its values come from a query.
    is_query: bool
    #: Type of the data sources that the variable chooses from; empty if it does not choose a data source.
    source_type: str
    #: Data source of the query.
    source: SourceReference
    is_multi: bool
    #: Value that is used for "All".
    all_value: str
    reloads_on_time_change: bool
    #: JSON pointer into the spec.
    pointer: str


@dataclass(frozen=True, slots=True)
class Target:
    """A query of a panel."""

    #: Position in the panel, from 0.
    index: int
    ref_id: str
    #: Type of its data source, empty if the dashboard does not name the type.
    type: str
    query: Mapping[str, Any]
    #: JSON pointer into the spec.
    pointer: str

    def string(self, name: str) -> str:
        """Return a string member of the query; empty for any other value."""
        return string_at(self.query, name)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of a dashboard."""

    title: str
    description: str
    type: str
    #: Data source of the panel; queries may have their own.
    source: SourceReference
    targets: Sequence[Target]
    field_config: Mapping[str, Any]
    options: Mapping[str, Any]
    #: ``True`` if its content is in a library panel, not in this dashboard.
    is_library: bool
    #: JSON pointer into the spec.
    pointer: str


@dataclass(frozen=True, slots=True)
class Board:
    """The parts of a dashboard that rules look at."""

    title: str
    is_editable: bool
    variables: Sequence[Variable]
    panels: Sequence[Panel]

    @property
    def queries_prometheus(self) -> bool:
        """``True`` if the dashboard queries Prometheus."""
        return any(target.type == "prometheus" for panel in self.panels for target in panel.targets)


def board_of(spec: Mapping[str, Any]) -> Board:
    """Return the board of a spec. Parts of an unexpected shape are ignored."""
    if isinstance(spec.get("elements"), dict):
        variables = [
            _variable(object_at(item, "spec"), str(item.get("kind")), f"{pointer}/spec")
            for pointer, item in _objects_by_pointer(spec, "/variables")
        ]
        source_types = _source_types(variables)
        elements = [(f"/elements/{_escaped_name(name)}/spec", item) for name, item in spec["elements"].items()]
        panels = [
            _element(object_at(item, "spec"), source_types, pointer) for pointer, item in elements if object_of(item).get("kind") == "Panel"
        ]
        panels += [
            _element({}, source_types, pointer, is_library=True)
            for pointer, item in elements
            if object_of(item).get("kind") == "LibraryPanel"
        ]
    else:
        variables = [_variable(item, str(item.get("type")), pointer) for pointer, item in _objects_by_pointer(spec, "/templating/list")]
        source_types = _source_types(variables)
        panels = [_panel(item, source_types, pointer) for pointer, item in _classic_panels(spec)]
    return Board(string_at(spec, "title"), spec.get("editable", True) is not False, variables, panels)


def variable_in(value: str) -> str:
    """Return the name in ``$name``, ``${name}`` or ``${name:format}``; empty for any other value."""
    if value.startswith("${") and value.endswith("}"):
        return value[2:-1].partition(":")[0]
    return value[1:] if value.startswith("$") else ""


def is_expression(source: SourceReference) -> bool:
    """Return whether a reference is to the expression data source."""
    return source.type == EXPRESSION or source.uid in EXPRESSION_UIDS


def _source_types(variables: Sequence[Variable]) -> dict[str, str]:
    """Return the type of the data sources that each variable chooses from, by the name of the variable."""
    return {variable.name: variable.source_type for variable in variables if variable.source_type}


def _objects_by_pointer(tree: Mapping[str, Any], list_pointer: str, tree_pointer: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a list in ``tree``, each after its JSON pointer. ``tree_pointer`` is the pointer of ``tree`` itself."""
    *parent_names, name = list_pointer.strip("/").split("/")
    for parent_name in parent_names:
        tree = object_at(tree, parent_name)
    for index, item in enumerate(list_of(tree.get(name))):
        if isinstance(item, dict):
            yield f"{tree_pointer}{list_pointer}/{index}", item


def _escaped_name(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _variable(item: Mapping[str, Any], variable_type: str, pointer: str) -> Variable:
    # A variable for data sources has their type as ``pluginId`` in specs with elements, and as ``query`` in classic specs.
    plugin_or_query = item.get("pluginId", item.get("query"))
    return Variable(
        name=string_at(item, "name"),
        label=string_at(item, "label"),
        is_query=variable_type in _QUERY_VARIABLE,
        source_type=plugin_or_query if variable_type in _SOURCE_VARIABLE and isinstance(plugin_or_query, str) else "",
        source=_source(item, object_at(item, "query")),
        is_multi=item.get("multi") is True,
        all_value=string_at(item, "allValue"),
        reloads_on_time_change=item.get("refresh") in _ON_TIME_CHANGE,
        pointer=pointer,
    )


def _classic_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield panels with their JSON pointers, also those in collapsed rows and in the rows of old dashboards."""
    for panel_pointer, panel in _objects_by_pointer(spec, "/panels"):
        if panel.get("type") != "row":
            yield panel_pointer, panel
        yield from _objects_by_pointer(panel, "/panels", panel_pointer)
    for row_pointer, row in _objects_by_pointer(spec, "/rows"):
        yield from _objects_by_pointer(row, "/panels", row_pointer)


def _panel(item: Mapping[str, Any], source_types: Mapping[str, str], pointer: str) -> Panel:
    source = _source(item)
    queries_by_pointer = _objects_by_pointer(item, "/targets", pointer)
    targets = [
        _target(index, query, _source(query), source, source_types, query_pointer)
        for index, (query_pointer, query) in enumerate(queries_by_pointer)
    ]
    return Panel(
        title=string_at(item, "title"),
        description=string_at(item, "description"),
        type=string_at(item, "type"),
        source=source,
        targets=targets,
        field_config=object_at(item, "fieldConfig"),
        options=object_at(item, "options"),
        is_library="libraryPanel" in item,
        pointer=pointer,
    )


def _element(item: Mapping[str, Any], source_types: Mapping[str, str], pointer: str, *, is_library: bool = False) -> Panel:
    """Return the panel of an element. An element has no data source of its own, so that of its first query counts as the panel's."""
    visualization = object_at(item, "vizConfig")
    panel_type = string_at(visualization, "group") or string_at(visualization, "kind")
    queries_by_pointer = [
        (f"{query_pointer}/spec", object_at(query, "spec"))
        for query_pointer, query in _objects_by_pointer(item, "/data/spec/queries", pointer)
    ]
    queries = [query for _, query in queries_by_pointer]
    targets = []
    for index, (query_pointer, query) in enumerate(queries_by_pointer):
        data_query = object_at(query, "query")
        body = {**object_at(data_query, "spec"), "refId": string_at(query, "refId")}
        targets.append(_target(index, body, _source(query, data_query), SourceReference(), source_types, query_pointer))
    source = _source(queries[0], object_at(queries[0], "query")) if queries else SourceReference()
    config = object_at(visualization, "spec")
    title, description = string_at(item, "title"), string_at(item, "description")
    options = object_at(config, "options")
    return Panel(title, description, panel_type, source, targets, object_at(config, "fieldConfig"), options, is_library, pointer)


def _target(
    index: int,
    query: Mapping[str, Any],
    query_source: SourceReference,
    panel_source: SourceReference,
    source_types: Mapping[str, str],
    pointer: str,
) -> Target:
    """Return a query of a panel. A query without a data source uses that of the panel."""
    source = query_source if query_source != SourceReference() else panel_source
    source_type = EXPRESSION if is_expression(source) else source.type or source_types.get(source.variable, "")
    # The type, like the uid, may be written as the variable that chooses the data source.
    return Target(index, string_at(query, "refId"), source_types.get(variable_in(source_type), source_type), query, pointer)


def _source(item: Mapping[str, Any], data_query: Mapping[str, Any] | None = None) -> SourceReference:
    """Return the data source of a panel, query or variable.

    In a spec with elements, ``data_query`` is the ``DataQuery`` in ``item``, whose group or kind is the type of the data source.
    """
    reference = item.get("datasource")
    if reference is None and data_query:
        reference = data_query.get("datasource")
    source = object_of(reference)
    # In old dashboards, a reference is only the name of the data source, or its uid.
    uid = string_of(reference) or string_at(source, "uid") or string_at(source, "name")
    source_type = string_at(source, "type")
    if not source_type and data_query:
        source_type = string_at(data_query, "group") or (
            "" if string_at(data_query, "kind") == "DataQuery" else string_at(data_query, "kind")
        )
    return SourceReference(source_type, uid)
