"""Differences of version ``v2beta1`` from ``v2alpha1``, as in Grafana 12.4.

Version ``v2alpha1`` stores plugin types as kinds, and data sources next to queries. ``v2beta1`` has fixed kinds with a group, and
references to data sources inside queries.
"""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion import v2alpha1
from dashwright.common.conversion.differences import Change, Difference, unchanged
from dashwright.common.conversion.elements_form import ElementsForm
from dashwright.common.conversion.parts import object_in, text_in

_QUERY_VERSION: Final = "v0"

#: Kinds of variables whose member ``current`` is an option with text and value.
_KINDS_WITH_OPTIONS: Final = (
    "ConstantVariable",
    "CustomVariable",
    "DatasourceVariable",
    "GroupByVariable",
    "IntervalVariable",
    "QueryVariable",
    "TextVariable",
)


def _data_query(group: str, source: Mapping[str, Any] | None, members: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query with the reference to its data source, if any."""
    query: dict[str, Any] = {"kind": "DataQuery", "group": group, "version": _QUERY_VERSION}
    if source is not None:
        query["datasource"] = source
    query["spec"] = members
    return query


def _viz_config(plugin: str, plugin_version: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a visualization with its plugin as the group."""
    return {"kind": "VizConfig", "group": plugin, "version": plugin_version, "spec": spec}


def _put_query(spec: dict[str, Any], source_type: str, uid: str, members: Mapping[str, Any]) -> None:
    spec["query"] = _data_query(source_type, {"name": uid} if uid else None, members)


def _with_data_query(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a panel query, variable or annotation with the data source inside its query."""
    query, reference = object_in(spec, "query"), None
    group = text_in(query, "kind")
    if spec.get("datasource") is not None:
        source = object_in(spec, "datasource")
        group = text_in(source, "type") or group
        reference = _name_reference(source)
    changed = {**spec, "query": _data_query(group, reference, object_in(query, "spec"))}
    changed.pop("datasource", None)
    return changed


def _without_data_query(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a panel query or variable with the data source next to its query."""
    query = object_in(spec, "query")
    group = text_in(query, "group")
    changed = {**spec, "query": {"kind": group, "spec": object_in(query, "spec")}}
    if (uid := object_in(query, "datasource").get("name")) is not None:
        changed["datasource"] = {"type": group, "uid": uid}
    return changed


def _annotation_without_data_query(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an annotation with the data source next to its query. An empty query without a data source is left out."""
    changed = _without_data_query(spec)
    if not changed["query"]["spec"] and "datasource" not in changed:
        del changed["query"]
    return changed


def _with_viz_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a visualization with its plugin as the group, and the plugin's version next to the spec."""
    spec = dict(object_in(config, "spec"))
    version = spec.pop("pluginVersion", None) or ""
    return {**config, **_viz_config(text_in(config, "kind"), version, spec)}


def _without_viz_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a visualization with its plugin as the kind, and the plugin's version in the spec."""
    changed = {**config, "kind": text_in(config, "group")}
    changed["spec"] = {"pluginVersion": changed.pop("version", None) or "", **object_in(config, "spec")}
    changed.pop("group", None)
    return changed


def _with_group(variable: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ad hoc or group-by variable with the data source next to its spec."""
    spec = dict(object_in(variable, "spec"))
    source = object_in(spec, "datasource")
    spec.pop("datasource", None)
    return {**variable, "group": text_in(source, "type"), "datasource": _name_reference(source), "spec": spec}


def _without_group(variable: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ad hoc or group-by variable with the data source in its spec."""
    changed = {name: value for name, value in variable.items() if name not in ("group", "datasource")}
    source: dict[str, Any] = {}
    if group := text_in(variable, "group"):
        source["type"] = group
    if (uid := object_in(variable, "datasource").get("name")) is not None:
        source["uid"] = uid
    spec = object_in(variable, "spec")
    changed["spec"] = {**spec, "datasource": source} if source else {**spec}
    return changed


def _refreshed_with_time_range(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an interval variable with the only ``refresh`` that Grafana writes in v2beta1."""
    return {**spec, "refresh": "onTimeRangeChanged"}


def _refreshed_on_load(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an interval variable with the only ``refresh`` that Grafana writes in v2alpha1, although its schema lacks it."""
    return {**spec, "refresh": "load"}


def _with_texts(option: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the option with empty strings in place of a missing text and a missing value."""
    if option.get("text") is not None and option.get("value") is not None:
        return option
    return {**option, "text": option.get("text") or "", "value": option.get("value") or ""}


def _name_reference(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference to a data source, in which v2beta1 names the uid ``name``."""
    uid = source.get("uid")
    return {} if uid is None else {"name": uid}


def _annotation_without_placement(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an annotation without the member that v2alpha1 lacks, and with the data source next to its query."""
    changed = _annotation_without_data_query(spec)
    changed.pop("placement", None)
    return changed


def _without(*names: str) -> Change:
    """Return a change that removes members, which the other version does not have."""

    def remove(part: Mapping[str, Any]) -> Mapping[str, Any]:
        return part if part.keys().isdisjoint(names) else {name: value for name, value in part.items() if name not in names}

    return remove


FORM: Final = ElementsForm(_put_query, _viz_config, v2alpha1.transformation, _with_group)

#: Everything that differs from ``v2alpha1``.
DIFFERENCES: Final = (
    Difference("elements{Panel}.spec.data.spec.queries[].spec", _with_data_query, _without_data_query),
    Difference("elements{Panel}.spec.data.spec.queryOptions", unchanged, _without("timeCompare")),
    Difference("elements{Panel}.spec.vizConfig", _with_viz_config, _without_viz_config),
    Difference("annotations[].spec", _with_data_query, _annotation_without_placement),
    Difference("variables[QueryVariable].spec", _with_data_query, _without_data_query),
    Difference("variables[IntervalVariable].spec", _refreshed_with_time_range, _refreshed_on_load),
    Difference("variables[AdhocVariable]", _with_group, _without_group),
    Difference("variables[GroupByVariable]", _with_group, _without_group),
    *(Difference(f"variables[{kind}].spec.current", _with_texts, _with_texts) for kind in _KINDS_WITH_OPTIONS),
    Difference("section", unchanged, _without("variables", "annotations")),
)
