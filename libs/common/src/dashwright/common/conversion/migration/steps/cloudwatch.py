"""Migration of CloudWatch queries with several statistics."""

from typing import Any, Final

from dashwright.common.conversion.migration.document import Object, number, number_text, objects, text
from dashwright.common.conversion.migration.identifiers import free_ref_ids

#: Members by which CloudWatch queries are recognized, as in Grafana.
_QUERY_MEMBERS: Final = frozenset(("dimensions", "namespace", "region", "metricName"))
_ANNOTATION_MEMBERS: Final = frozenset(("dimensions", "namespace", "region", "prefixMatching", "statistics"))
#: Values of ``metricQueryType``.
_SEARCH, _INSIGHTS = 0, 1
#: Values of ``metricEditorMode``.
_BUILDER, _CODE = 0, 1


def split_queries(panel: Object) -> None:
    """Replace each query with several statistics by one query for each statistic. New queries are last (version 34)."""
    targets = panel.get("targets")
    if not isinstance(targets, list) or not any(target.keys() >= _QUERY_MEMBERS for target in objects(targets)):
        return
    used = {ref_id for target in objects(targets) if isinstance(ref_id := target.get("refId"), str)}
    free = free_ref_ids(used)
    # All queries in their places, each with its first statistic.
    first_targets: list[Any] = []
    added_targets: list[Object] = []
    for target in targets:
        if not isinstance(target, dict) or not target.keys() >= _QUERY_MEMBERS:
            first_targets.append(target)
            continue
        query_type = target.get("metricQueryType", _SEARCH)
        mode = _CODE if number(query_type) == _INSIGHTS or text(target, "expression") else _BUILDER
        first, *further_targets = _split({"metricEditorMode": mode, "metricQueryType": query_type, **target})
        first_targets.append(first)
        added_targets += [{**further_target, "refId": next(free)} for further_target in further_targets]
    panel["targets"] = first_targets + added_targets


def split_annotations(dashboard: Object) -> None:
    """Replace each annotation query with several statistics by one for each statistic (version 34)."""
    holder = dashboard.get("annotations")
    annotations = holder.get("list") if isinstance(holder, dict) else None
    if not isinstance(annotations, list):
        return
    added_annotations: list[Object] = []
    for index, query in enumerate(annotations):
        if isinstance(query, dict) and query.keys() >= _ANNOTATION_MEMBERS:
            parts = _split(query)
            if len(parts) > 1 and isinstance(name := query.get("name"), str) and name:
                parts = [{**part, "name": f"{name} - {_suffix(part)}"} for part in parts]
            annotations[index], *further_parts = parts
            added_annotations += further_parts
    annotations += added_annotations


def _suffix(part: Object) -> str:
    """Return the statistic of a query as JavaScript writes it as text. Lists are an exception: their text is empty."""
    match part.get("statistic"):
        case None:
            return "null"
        case bool(value):
            return "true" if value else "false"
        case dict():
            return "[object Object]"
        case list():
            return ""
        case int(value) | float(value):
            return number_text(value)
        case value:
            return str(value)


def _split(query: Object) -> list[Object]:
    """Return one query for each entry of ``statistics``, or the query without that field if there are no entries."""
    statistics = query.get("statistics")
    query_without_statistics = {name: value for name, value in query.items() if name != "statistics"}
    if not isinstance(statistics, list) or not statistics:
        return [query_without_statistics]
    return [
        query_without_statistics if statistic is None else {**query_without_statistics, "statistic": statistic} for statistic in statistics
    ]
