"""Classic form of annotation queries."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.elements_to_classic.queries import classic_source, source_of
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import located, object_in, objects_in

#: Members that are always written, and their values if they are missing.
_DEFAULTS: Final[Mapping[str, Any]] = {"name": "", "enable": False, "hide": False, "iconColor": ""}

#: Members that ``legacyOptions`` cannot override.
_OWN_MEMBERS: Final = frozenset({*_DEFAULTS, "datasource", "target", "filter", "builtIn", "placement", "mappings"})


def classic_annotations(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the classic annotation queries of a spec. Raises ConversionFailed if a part has an unexpected type."""
    annotations = []
    for index, annotation in enumerate(objects_in(spec, "annotations")):
        try:
            annotations.append(_annotation(object_in(annotation, "spec")))
        except ConversionFailed as failure:
            raise located(f"spec.annotations[{index}]", failure) from failure
    return annotations


def _annotation(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classic form of the spec of an annotation query."""
    classic = {name: default if (value := spec.get(name)) is None else value for name, default in _DEFAULTS.items()}
    if spec.get("builtIn") is True:
        classic |= {"builtIn": 1, "type": "dashboard"}
    if source := classic_source(source_of(spec)):
        classic["datasource"] = source
    if target := object_in(object_in(spec, "query"), "spec"):
        classic["target"] = target
    if spec.get("filter") and (panel_filter := _filter(object_in(spec, "filter"))):
        classic["filter"] = panel_filter
    if spec.get("mappings") and (mappings := _mappings(object_in(spec, "mappings"))):
        classic["mappings"] = mappings
    if options := object_in(spec, "legacyOptions"):
        classic |= {name: value for name, value in options.items() if name not in _OWN_MEMBERS}
    return classic


def _filter(panel_filter: Mapping[str, Any]) -> dict[str, Any]:
    classic = {}
    if (exclude := panel_filter.get("exclude")) is not None:
        classic["exclude"] = exclude
    if ids := panel_filter.get("ids"):
        classic["ids"] = ids
    return classic


def _mappings(mappings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mappings of fields of events. A mapping without a value is only written if it skips the field."""
    classic = {}
    for name in mappings:
        mapping = object_in(mappings, name)
        source, value = mapping.get("source") or "field", mapping.get("value")
        if source == "skip" or value:
            texts = {"source": source, "value": value, "regex": mapping.get("regex")}
            classic[name] = {member: text for member, text in texts.items() if text}
    return classic
