"""A dashboard as rules read it, alike for the classic spec and the one with elements. Parts of an unexpected shape are ignored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_at, object_of, text_at, text_of
from dashwright.common.models.values import EXPRESSION_UIDS

EXPRESSION: Final = "__expr__"

_ON_TIME_CHANGE: Final = (2, "onTimeRangeChanged")
_QUERY_VARIABLE: Final = ("query", "QueryVariable")
_SOURCE_VARIABLE: Final = ("datasource", "DatasourceVariable")


@dataclass(frozen=True, slots=True)
class Source:
    """A reference to a data source; both members are empty for the default one."""

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
    #: Its values come from a query.
    is_query: bool
    #: Type of the data sources that it chooses from, empty for another variable.
    source_type: str
    source: Source
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
    #: Type of its data source, empty if the dashboard does not contain it.
    type: str
    query: Mapping[str, Any]
    #: JSON pointer into the spec.
    pointer: str

    def text(self, name: str) -> str:
        """Return a string member of the query; empty for any other value."""
        return text_at(self.query, name)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of a dashboard."""

    title: str
    description: str
    type: str
    source: Source
    targets: Sequence[Target]
    field_config: Mapping[str, Any]
    options: Mapping[str, Any]
    #: Its content is in a library panel, not in this dashboard.
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
            _variable(object_at(item, "spec"), str(item.get("kind")), f"{at}/spec") for at, item in _pointed_objects(spec, "/variables")
        ]
        named = _types(variables)
        places = [(f"/elements/{_escaped(name)}/spec", item) for name, item in spec["elements"].items()]
        found = [_element(object_at(item, "spec"), named, at) for at, item in places if object_of(item).get("kind") == "Panel"]
        found += [_element({}, named, at, is_library=True) for at, item in places if object_of(item).get("kind") == "LibraryPanel"]
    else:
        variables = [_variable(item, str(item.get("type")), at) for at, item in _pointed_objects(spec, "/templating/list")]
        named = _types(variables)
        found = [_panel(item, named, at) for at, item in _classic_panels(spec)]
    return Board(text_at(spec, "title"), spec.get("editable", True) is not False, variables, found)


def variable_in(text: str) -> str:
    """Return the name in ``$name``, ``${name}`` or ``${name:format}``; empty for any other text."""
    if text.startswith("${") and text.endswith("}"):
        return text[2:-1].partition(":")[0]
    return text[1:] if text.startswith("$") else ""


def is_expression(source: Source) -> bool:
    """Return whether a data source is the one of expressions."""
    return source.type == EXPRESSION or source.uid in EXPRESSION_UIDS


def _types(variables: Sequence[Variable]) -> dict[str, str]:
    return {variable.name: variable.source_type for variable in variables if variable.source_type}


def _pointed_objects(tree: Mapping[str, Any], pointer: str, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a list with their JSON pointers. ``at`` is the pointer of ``tree`` itself."""
    *above, name = pointer.strip("/").split("/")
    for part in above:
        tree = object_at(tree, part)
    for index, item in enumerate(list_of(tree.get(name))):
        if isinstance(item, dict):
            yield f"{at}{pointer}/{index}", item


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _variable(item: Mapping[str, Any], kind: str, pointer: str) -> Variable:
    query = item.get("pluginId", item.get("query"))
    return Variable(
        name=text_at(item, "name"),
        label=text_at(item, "label"),
        is_query=kind in _QUERY_VARIABLE,
        source_type=query if kind in _SOURCE_VARIABLE and isinstance(query, str) else "",
        source=_source(item, object_at(item, "query")),
        is_multi=item.get("multi") is True,
        all_value=text_at(item, "allValue"),
        reloads_on_time_change=item.get("refresh") in _ON_TIME_CHANGE,
        pointer=pointer,
    )


def _classic_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield panels with their JSON pointers, also those in collapsed rows and in the rows of old dashboards."""
    for at, panel in _pointed_objects(spec, "/panels"):
        if panel.get("type") != "row":
            yield at, panel
        yield from _pointed_objects(panel, "/panels", at)
    for at, row in _pointed_objects(spec, "/rows"):
        yield from _pointed_objects(row, "/panels", at)


def _panel(item: Mapping[str, Any], named: Mapping[str, str], pointer: str) -> Panel:
    source = _source(item)
    listed = _pointed_objects(item, "/targets", pointer)
    targets = [_target(index, query, _source(query), source, named, at) for index, (at, query) in enumerate(listed)]
    return Panel(
        title=text_at(item, "title"),
        description=text_at(item, "description"),
        type=text_at(item, "type"),
        source=source,
        targets=targets,
        field_config=object_at(item, "fieldConfig"),
        options=object_at(item, "options"),
        is_library="libraryPanel" in item,
        pointer=pointer,
    )


def _element(item: Mapping[str, Any], named: Mapping[str, str], pointer: str, *, is_library: bool = False) -> Panel:
    shown = object_at(item, "vizConfig")
    kind = text_at(shown, "group") or text_at(shown, "kind")
    places = [(f"{at}/spec", object_at(query, "spec")) for at, query in _pointed_objects(item, "/data/spec/queries", pointer)]
    queries = [query for _, query in places]
    targets = []
    for index, (at, query) in enumerate(places):
        asked = object_at(query, "query")
        body = {**object_at(asked, "spec"), "refId": text_at(query, "refId")}
        targets.append(_target(index, body, _source(query, asked), Source(), named, at))
    source = _source(queries[0], object_at(queries[0], "query")) if queries else Source()
    config = object_at(shown, "spec")
    title, description = text_at(item, "title"), text_at(item, "description")
    options = object_at(config, "options")
    return Panel(title, description, kind, source, targets, object_at(config, "fieldConfig"), options, is_library, pointer)


def _target(index: int, query: Mapping[str, Any], own: Source, of_panel: Source, named: Mapping[str, str], pointer: str) -> Target:
    source = own if own != Source() else of_panel
    kind = EXPRESSION if is_expression(source) else source.type or named.get(source.variable, "")
    return Target(index, text_at(query, "refId"), named.get(variable_in(kind), kind), query, pointer)


def _source(item: Mapping[str, Any], asked: Mapping[str, Any] | None = None) -> Source:
    """Return the data source of ``item``, or in the spec with elements that of its query: the group or kind is the type."""
    named = item.get("datasource")
    if named is None and asked:
        named = asked.get("datasource")
    source = object_of(named)
    uid = text_of(named) or text_at(source, "uid") or text_at(source, "name")
    kind = text_at(source, "type")
    if not kind and asked:
        kind = text_at(asked, "group") or ("" if text_at(asked, "kind") == "DataQuery" else text_at(asked, "kind"))
    return Source(kind, uid)
