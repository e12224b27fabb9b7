"""A dashboard as the rules see it: the same for the classic spec and the one with elements, whatever else stands in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.models.values import EXPRESSION_UIDS
from dashwright.jobs_worker.domain.trees import object_in

EXPRESSION: Final = "__expr__"

_ON_TIME_CHANGE: Final = (2, "onTimeRangeChanged")
_QUERY_VARIABLE: Final = ("query", "QueryVariable")
_SOURCE_VARIABLE: Final = ("datasource", "DatasourceVariable")


@dataclass(frozen=True, slots=True)
class Source:
    """A data source as something names it; both empty where it is the default one."""

    type: str = ""
    uid: str = ""

    @property
    def variable(self) -> str:
        """The name of the variable that stands for it, or empty."""
        return variable_in(self.uid)


@dataclass(frozen=True, slots=True)
class Variable:
    """``is_query``: its values are the answer to a query. ``source_type``: what kind of data source its value is, empty for any other."""

    name: str
    label: str
    is_query: bool
    source_type: str
    source: Source
    is_multi: bool
    all_value: str
    reloads_on_time_change: bool
    pointer: str


@dataclass(frozen=True, slots=True)
class Target:
    """A query of a panel. ``index`` counts from 0, ``type`` is that of its data source, empty where the dashboard does not tell."""

    index: int
    ref_id: str
    type: str
    query: Mapping[str, Any]
    pointer: str

    def text(self, name: str) -> str:
        value = self.query.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; ``pointer`` is where it stands in the spec. ``is_library``: what it shows stands elsewhere."""

    title: str
    description: str
    type: str
    source: Source
    targets: Sequence[Target]
    field_config: Mapping[str, Any]
    options: Mapping[str, Any]
    is_library: bool
    pointer: str


@dataclass(frozen=True, slots=True)
class Board:
    title: str
    is_editable: bool
    variables: Sequence[Variable]
    panels: Sequence[Panel]

    @property
    def queries_prometheus(self) -> bool:
        return any(target.type == "prometheus" for panel in self.panels for target in panel.targets)


def board_of(spec: Mapping[str, Any]) -> Board:
    """What has another shape than it should is as if it were not there."""
    if isinstance(spec.get("elements"), dict):
        variables = [_variable(object_in(item, "spec"), str(item.get("kind")), f"{at}/spec") for at, item in _listed(spec, "/variables")]
        named = _types(variables)
        places = [(f"/elements/{_escaped(name)}/spec", item) for name, item in spec["elements"].items()]
        found = [_element(object_in(item, "spec"), named, at) for at, item in places if _kind(item) == "Panel"]
        found += [_element({}, named, at, is_library=True) for at, item in places if _kind(item) == "LibraryPanel"]
    else:
        variables = [_variable(item, str(item.get("type")), at) for at, item in _listed(spec, "/templating/list")]
        named = _types(variables)
        found = [_panel(item, named, at) for at, item in _classic_panels(spec)]
    return Board(_text(spec, "title"), spec.get("editable", True) is not False, variables, found)


def variable_in(text: str) -> str:
    """The name in ``$name`` or ``${name}`` or ``${name:format}``; empty for any other text."""
    if text.startswith("${") and text.endswith("}"):
        return text[2:-1].partition(":")[0]
    return text[1:] if text.startswith("$") else ""


def is_expression(source: Source) -> bool:
    return source.type == EXPRESSION or source.uid in EXPRESSION_UIDS


def _types(variables: Sequence[Variable]) -> dict[str, str]:
    return {variable.name: variable.source_type for variable in variables if variable.source_type}


def _listed(tree: Mapping[str, Any], pointer: str, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a list with their JSON pointers; ``at`` is where ``tree`` itself stands."""
    *above, name = pointer.strip("/").split("/")
    for part in above:
        tree = object_in(tree, part)
    listed = tree.get(name)
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield f"{at}{pointer}/{index}", item


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _variable(item: Mapping[str, Any], kind: str, pointer: str) -> Variable:
    query = item.get("pluginId", item.get("query"))
    return Variable(
        name=_text(item, "name"),
        label=_text(item, "label"),
        is_query=kind in _QUERY_VARIABLE,
        source_type=query if kind in _SOURCE_VARIABLE and isinstance(query, str) else "",
        source=_source(item, object_in(item, "query")),
        is_multi=item.get("multi") is True,
        all_value=_text(item, "allValue"),
        reloads_on_time_change=item.get("refresh") in _ON_TIME_CHANGE,
        pointer=pointer,
    )


def _classic_panels(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield panels with their JSON pointers, also those in closed rows, and those of the rows of old."""
    for at, panel in _listed(spec, "/panels"):
        if panel.get("type") != "row":
            yield at, panel
        yield from _listed(panel, "/panels", at)
    for at, row in _listed(spec, "/rows"):
        yield from _listed(row, "/panels", at)


def _panel(item: Mapping[str, Any], named: Mapping[str, str], pointer: str) -> Panel:
    source = _source(item)
    listed = _listed(item, "/targets", pointer)
    targets = [_target(index, query, _source(query), source, named, at) for index, (at, query) in enumerate(listed)]
    return Panel(
        title=_text(item, "title"),
        description=_text(item, "description"),
        type=_text(item, "type"),
        source=source,
        targets=targets,
        field_config=object_in(item, "fieldConfig"),
        options=object_in(item, "options"),
        is_library="libraryPanel" in item,
        pointer=pointer,
    )


def _element(item: Mapping[str, Any], named: Mapping[str, str], pointer: str, *, is_library: bool = False) -> Panel:
    shown = object_in(item, "vizConfig")
    kind = _text(shown, "group") or _text(shown, "kind")
    places = [(f"{at}/spec", object_in(query, "spec")) for at, query in _listed(item, "/data/spec/queries", pointer)]
    queries = [query for _, query in places]
    targets = []
    for index, (at, query) in enumerate(places):
        asked = object_in(query, "query")
        body = {**object_in(asked, "spec"), "refId": _text(query, "refId")}
        targets.append(_target(index, body, _source(query, asked), Source(), named, at))
    source = _source(queries[0], object_in(queries[0], "query")) if queries else Source()
    config = object_in(shown, "spec")
    title, description = _text(item, "title"), _text(item, "description")
    options = object_in(config, "options")
    return Panel(title, description, kind, source, targets, object_in(config, "fieldConfig"), options, is_library, pointer)


def _target(index: int, query: Mapping[str, Any], own: Source, of_panel: Source, named: Mapping[str, str], pointer: str) -> Target:
    source = own if own != Source() else of_panel
    kind = EXPRESSION if is_expression(source) else source.type or named.get(source.variable, "")
    return Target(index, _text(query, "refId"), named.get(variable_in(kind), kind), query, pointer)


def _source(item: Mapping[str, Any], asked: Mapping[str, Any] | None = None) -> Source:
    """As ``item`` names it, or, in the spec with elements, as the query ``asked`` does: its group, or its kind, is the type."""
    named = item.get("datasource")
    if named is None and asked:
        named = asked.get("datasource")
    uid = named if isinstance(named, str) else _text(named, "uid") or _text(named, "name") if isinstance(named, dict) else ""
    kind = _text(named, "type") if isinstance(named, dict) else ""
    if not kind and asked:
        kind = _text(asked, "group") or ("" if _text(asked, "kind") == "DataQuery" else _text(asked, "kind"))
    return Source(kind, uid)


def _kind(item: Any) -> Any:
    return item.get("kind") if isinstance(item, dict) else None


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""
