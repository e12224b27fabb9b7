"""Targets of panels, with resolved references to data sources and interpolated variables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of
from dashwright.common.models.values import EXPRESSION_UIDS
from dashwright.expressions.pictures.grafana_targets import read_grafana_target
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.prometheus.label_filters import with_filters
from dashwright.expressions.variables.formats import DEFAULT
from dashwright.expressions.variables.references import (
    DASHBOARD,
    MIXED,
    means_grafana,
    parts_of,
    query_format,
    query_member,
    resolve_reference,
)
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import text_of

_EXPRESSION_TYPE: Final = "__expr__"


@dataclass(frozen=True, slots=True)
class PanelTargets:
    """The targets of a panel, or the reason why they cannot be run."""

    targets: Sequence[Mapping[str, Any]] = ()
    problem: str = ""


def read_targets(panel: Mapping[str, Any], panels: Mapping[str, Mapping[str, Any]], catalog: Catalog, scope: Scope) -> PanelTargets:
    """Return the targets of a panel. ``panels`` are all panels of the dashboard by id, because a panel may show the data of another."""
    source, targets = panel.get("datasource"), objects_of(panel.get("targets"))
    if parts_of(source, scope)[0] == DASHBOARD:
        shared = panels.get(text_of(targets[0].get("panelId"))) if targets else None
        if shared is None:
            return PanelTargets(problem="the panel shows the data of another panel, which the dashboard does not have")
        if parts_of(shared.get("datasource"), scope)[0] == DASHBOARD:
            return PanelTargets(
                problem="the panel shows the data of a panel without queries of its own; select the panel that has the queries"
            )
        source, targets = shared.get("datasource"), objects_of(shared.get("targets"))
    problems = dict.fromkeys(scope.problems[name] for name in names_in([source, targets]) if name in scope.problems)
    if problems:
        return PanelTargets(problem="; ".join(list(problems)[:3]))
    resolved = list(_resolved(source, targets, catalog, scope))
    problem = next((target for target in resolved if isinstance(target, str)), "")
    return PanelTargets(problem=problem) if problem else PanelTargets(_with_distinct_ids(resolved))


def _with_distinct_ids(targets: Sequence[Mapping[str, Any] | str]) -> list[Mapping[str, Any]]:
    """Return the targets with distinct refIds: a missing or repeated one is replaced."""
    used: set[str] = set()
    distinct_targets = []
    for index, target in enumerate(target for target in targets if not isinstance(target, str)):
        ref_id = target.get("refId")
        if not isinstance(ref_id, str) or not ref_id or ref_id in used:
            ref_id = f"{ref_id or ''}#{index}"
            target = {**target, "refId": ref_id}
        used.add(ref_id)
        distinct_targets.append(target)
    return distinct_targets


def _resolved(source: Any, targets: Sequence[Mapping[str, Any]], catalog: Catalog, scope: Scope) -> Iterator[Mapping[str, Any] | str]:
    """Yield each target with its data source, or the problem of a target without one.

    All targets of a panel use the data source of the panel, unless it is mixed or unset. The problem of a hidden target is
    omitted, unless an expression may read the target.
    """
    panel_uid, _ = parts_of(source, scope)
    uses_own, shared = panel_uid in (MIXED, ""), None if panel_uid == MIXED else source
    has_expression = any(map(_is_expression, targets))
    for target in targets:
        if _is_expression(target):
            yield scope.interpolate_tree(target)
            continue
        own = target.get("datasource")
        source_reference = own if uses_own and own else shared
        if means_grafana(source_reference, scope) and not catalog.find(parts_of(source_reference, scope)[0]):
            query_or_problem = read_grafana_target(target)
            if isinstance(query_or_problem, dict) or has_expression or target.get("hide") is not True:
                yield query_or_problem
            continue
        reference = resolve_reference(source_reference, catalog, scope)
        if isinstance(reference, dict):
            yield _interpolated(target, reference, scope)
        elif has_expression or target.get("hide") is not True:
            yield reference


def _interpolated(target: Mapping[str, Any], reference: Mapping[str, str], scope: Scope) -> Mapping[str, Any]:
    """Return the target with values instead of variables.

    In the query, values have the format of the data source; in other members, the default format.
    """
    member, query_style = query_member(reference["type"]), query_format(reference["type"])
    members = {name: scope.interpolate_tree(item, query_style if name == member else DEFAULT) for name, item in target.items()}
    filters = scope.filters.get(reference["uid"])
    if filters and isinstance(members.get(member), str):
        members[member] = with_filters(members[member], filters)
    return {**members, "datasource": dict(reference)}


def _is_expression(target: Mapping[str, Any]) -> bool:
    """Return whether a target is an expression, which has no data source."""
    source = target.get("datasource")
    members = object_of(source)
    # Older dashboards refer to a data source by a string.
    uid = members.get("uid") if members else source
    return members.get("type") == _EXPRESSION_TYPE or (isinstance(uid, str) and uid in EXPRESSION_UIDS)
