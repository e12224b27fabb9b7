"""Annotation queries of a dashboard."""

from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.members import (
    Members,
    child,
    children,
    filled_texts,
    flag,
    is_number,
    text,
    truncated,
)
from dashwright.common.conversion.elements_form import ElementsForm

#: Members of a classic annotation query that are converted one by one. All others are kept as legacy options.
_QUERY_MEMBERS: Final = frozenset({
    "builtIn",
    "datasource",
    "enable",
    "filter",
    "hide",
    "iconColor",
    "mappings",
    "name",
    "target",
    "type",
})  # fmt: skip

#: The ids in filters are unsigned 32-bit numbers in Grafana's schema.
_LARGEST_PANEL_ID: Final = 2**32 - 1


def annotation_queries(dashboard: Members, form: ElementsForm) -> list[dict[str, Any]]:
    """Return the annotation queries of a dashboard."""
    annotations = child(dashboard, "annotations") or {}
    return [{"kind": "AnnotationQuery", "spec": _spec(annotation, form)} for annotation in children(annotations, "list")]


def _spec(annotation: Members, form: ElementsForm) -> dict[str, Any]:
    """Return the spec of an annotation query. Members without a place in it become legacy options."""
    source = child(annotation, "datasource") or {}
    source_type, uid = text(source, "type"), text(source, "uid")
    spec: dict[str, Any] = {
        "enable": flag(annotation, "enable"),
        "hide": flag(annotation, "hide"),
        "iconColor": text(annotation, "iconColor"),
        "name": text(annotation, "name"),
    }
    # A uid without a type is left out: Grafana then looks up the data source when the query runs.
    form.put_query(spec, source_type, uid if source_type else "", child(annotation, "target") or {})
    built_in = annotation.get("builtIn")
    if isinstance(built_in, bool) or is_number(built_in):
        spec["builtIn"] = bool(built_in)
    if (panel_filter := child(annotation, "filter")) is not None:
        spec["filter"] = _panel_filter(panel_filter)
    if mappings := _field_mappings(child(annotation, "mappings") or {}):
        spec["mappings"] = mappings
    further_members = {name: value for name, value in annotation.items() if name not in _QUERY_MEMBERS}
    # A type that is empty or not a string is left out.
    if legacy_options := {**filled_texts(annotation, "type"), **further_members}:
        spec["legacyOptions"] = legacy_options
    return spec


def _panel_filter(panel_filter: Members) -> dict[str, Any]:
    """Return the filter for the panels that show an annotation query."""
    panel_ids = panel_filter.get("ids")
    numbers = [truncated(number) for number in panel_ids] if isinstance(panel_ids, list) else []
    ids = [number for number in numbers if number is not None and 0 <= number <= _LARGEST_PANEL_ID]
    return {"exclude": True, "ids": ids} if flag(panel_filter, "exclude") else {"ids": ids}


def _field_mappings(mappings: Members) -> dict[str, Any]:
    """Return the mappings from fields of a response to members of annotations. A string is the name of a field."""
    converted = {}
    for name, mapping in mappings.items():
        if isinstance(mapping, str) and mapping:
            converted[name] = {"source": "field", "value": mapping}
        elif isinstance(mapping, dict):
            converted[name] = {"source": text(mapping, "source") or "field", **filled_texts(mapping, "value", "regex")}
    return converted
