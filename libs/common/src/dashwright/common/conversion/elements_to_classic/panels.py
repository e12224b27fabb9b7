"""Classic form of panels and library panels."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.elements_to_classic.field_config import classic_field_config
from dashwright.common.conversion.elements_to_classic.queries import classic_target, panel_source, source_of
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import number_in, object_in, objects_in, specs_in, text_in

_QUERY_OPTIONS: Final = frozenset(
    {"cacheTimeout", "maxDataPoints", "interval", "hideTimeOverride", "queryCachingTTL", "timeFrom", "timeShift"}
)


def classic_panel(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classic form of an element without its position. Raises ConversionFailed if its kind is unknown."""
    kind = text_in(element, "kind")
    if kind == "Panel":
        return _panel(object_in(element, "spec"))
    if kind == "LibraryPanel":
        return _library_panel(object_in(element, "spec"))
    raise ConversionFailed(f"kind '{kind}' is unknown; use 'Panel' or 'LibraryPanel'")


def panel_id(element: Mapping[str, Any]) -> int:
    """Return the id of an element, as the id of a classic panel."""
    return int(number_in(object_in(element, "spec"), "id"))


def _panel(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classic form of the spec of a panel, without its position."""
    viz = object_in(spec, "vizConfig")
    viz_spec = object_in(viz, "spec")
    data = object_in(object_in(spec, "data"), "spec")
    queries = specs_in(data, "queries")
    sources = [source_of(query) for query in queries]
    panel: dict[str, Any] = {
        "id": int(number_in(spec, "id")),
        "title": spec.get("title") or "",
        "pluginVersion": viz_spec.get("pluginVersion") or "",
        "type": text_in(viz, "kind"),
        "targets": [classic_target(query, source) for query, source in zip(queries, sources, strict=True)],
    }
    if description := spec.get("description"):
        panel["description"] = description
    if (options := viz_spec.get("options")) is not None:
        panel["options"] = options
    if field_config := classic_field_config(viz_spec):
        panel["fieldConfig"] = field_config
    if spec.get("links"):
        panel["links"] = [_link(link) for link in objects_in(spec, "links")]
    if source := panel_source(sources):
        panel["datasource"] = source
    if data.get("transformations"):
        panel["transformations"] = [_transformation(transformation) for transformation in specs_in(data, "transformations")]
    if data.get("queryOptions"):
        options = object_in(data, "queryOptions")
        panel |= {name: value for name, value in options.items() if value is not None and name in _QUERY_OPTIONS}
    if (transparent := spec.get("transparent")) is not None:
        panel["transparent"] = transparent
    return panel


def _library_panel(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a panel that only refers to a library panel."""
    reference = object_in(spec, "libraryPanel")
    return {
        "id": int(number_in(spec, "id")),
        "title": spec.get("title") or "",
        "type": "library-panel-ref",
        "libraryPanel": {"uid": reference.get("uid") or "", "name": reference.get("name") or ""},
    }


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    classic = {"title": link.get("title") or "", "url": link.get("url") or ""}
    if (target_blank := link.get("targetBlank")) is not None:
        classic["targetBlank"] = target_blank
    return classic


def _transformation(spec: Mapping[str, Any]) -> dict[str, Any]:
    classic = {"id": spec.get("id") or "", "options": spec.get("options")}
    if (disabled := spec.get("disabled")) is not None:
        classic["disabled"] = disabled
    if spec.get("filter") is not None:
        matcher = object_in(spec, "filter")
        classic["filter"] = {"id": matcher.get("id") or "", "options": matcher.get("options")}
    return classic
