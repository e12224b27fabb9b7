"""Sections of dashboards in the schema with elements and a layout, with panels in the classic schema."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.pictures.sections import COLUMNS, Repeat, Section, SourcePanel, read_position, unique_ids
from dashwright.expressions.variables.references import MIXED

#: Levels of layouts in layouts. Deeper layouts are ignored.
_MAX_DEPTH: Final = 8
#: The panels in each row of an automatic grid, and their height in grid rows.
_AUTO_COLUMNS: Final = 3
_AUTO_HEIGHT: Final = 8
#: The members of a panel that are options of its queries.
_QUERY_OPTIONS: Final = ("interval", "maxDataPoints", "timeFrom", "timeShift", "hideTimeOverride")


def elements_sections(spec: Mapping[str, Any]) -> list[Section]:
    """Return the sections of a dashboard of this schema: those of its rows and tabs, one below another."""
    specs = {name: object_of(element.get("spec")) for name, element in object_of(spec.get("elements")).items() if isinstance(element, dict)}
    ids = unique_ids([element.get("id") for element in specs.values()])
    elements = {name: {**element, "id": id_} for (name, element), id_ in zip(specs.items(), ids, strict=True)}
    return list(_sections(object_of(spec.get("layout")), elements, 0))


def _sections(layout: Mapping[str, Any], elements: Mapping[str, Mapping[str, Any]], depth: int) -> Iterator[Section]:
    """Yield the sections of a layout, which may contain further layouts. ``depth`` is its level, 0 for the outermost layout."""
    kind, spec = layout.get("kind"), object_of(layout.get("spec"))
    if depth > _MAX_DEPTH:
        return
    if kind not in ("RowsLayout", "TabsLayout"):
        yield Section(panels=list(_panels(kind, spec, elements)))
        return
    for item in objects_of(spec.get("rows" if kind == "RowsLayout" else "tabs")):
        item_spec = object_of(item.get("spec"))
        sections = list(_sections(object_of(item_spec.get("layout")), elements, depth + 1))
        is_collapsed = item_spec.get("collapse") is True
        # The heading and the panels directly below it are one section.
        first, *further_sections = sections if sections and not sections[0].has_heading else [Section(), *sections]
        repeat = Repeat.of(object_of(item_spec.get("repeat")), "value")
        yield Section(string_of(item_spec.get("title")), first.panels, has_heading=True, is_collapsed=is_collapsed, repeat=repeat)
        if not is_collapsed:
            yield from further_sections


def _panels(kind: Any, spec: Mapping[str, Any], elements: Mapping[str, Mapping[str, Any]]) -> Iterator[SourcePanel]:
    """Yield the panels of a layout of a kind other than rows and tabs. Items without a known element are omitted."""
    for index, item in enumerate(objects_of(spec.get("items"))):
        item_spec = object_of(item.get("spec"))
        element = elements.get(string_of(object_of(item_spec.get("element")).get("name")))
        if element is None:
            continue
        width = COLUMNS // _AUTO_COLUMNS
        row, column = divmod(index, _AUTO_COLUMNS)
        automatic = {"x": column * width, "y": row * _AUTO_HEIGHT, "width": width, "height": _AUTO_HEIGHT}
        position = read_position(automatic if kind == "AutoGridLayout" else item_spec, 0, ("x", "y", "width", "height"))
        yield SourcePanel(_as_classic(element), position, Repeat.of(object_of(item_spec.get("repeat")), "value"))


def _as_classic(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element's panel in the classic schema."""
    if isinstance(element.get("libraryPanel"), dict):
        return {name: element[name] for name in ("id", "title", "libraryPanel") if name in element}
    viz_config = object_of(element.get("vizConfig"))
    viz_spec = object_of(viz_config.get("spec"))
    data_spec = object_of(object_of(element.get("data")).get("spec"))
    queries, transformations = objects_of(data_spec.get("queries")), objects_of(data_spec.get("transformations"))
    query_options = object_of(data_spec.get("queryOptions"))
    return {
        "id": element.get("id"),
        "title": element.get("title"),
        "description": element.get("description"),
        "transparent": element.get("transparent"),
        "type": viz_config.get("group") or viz_config.get("kind"),
        "options": viz_spec.get("options"),
        "fieldConfig": viz_spec.get("fieldConfig"),
        "datasource": MIXED,
        "transformations": [{"id": item.get("group") or item.get("kind"), **object_of(item.get("spec"))} for item in transformations],
        **{name: query_options[name] for name in _QUERY_OPTIONS if name in query_options},
        "targets": [_as_target(object_of(query.get("spec"))) for query in queries],
    }


def _as_target(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element's query as a target of the classic schema."""
    data_query = object_of(query.get("query"))
    kind = data_query.get("group") or data_query.get("kind")
    datasource_ref = object_of(data_query.get("datasource"))
    datasource = query.get("datasource") or {"type": kind, **({"uid": datasource_ref["name"]} if "name" in datasource_ref else {})}
    return {**object_of(data_query.get("spec")), "refId": query.get("refId"), "hide": query.get("hidden") is True, "datasource": datasource}
