"""Data sources that panels and variables refer to, by uid, name, variable or default."""

from typing import Any

import pytest

from dashwright.expressions.pictures.panel_targets import PanelTargets, read_targets
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.variables.references import resolve_reference
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Value

PROM = CatalogEntry(uid="p", name="Prom", type="prometheus", is_default=True)
OTHER_SOURCE = CatalogEntry(uid="o", name="Other", type="prometheus")
SQL = CatalogEntry(uid="s", name="Sql", type="grafana-postgresql-datasource")
# The default data source is not the first of its type.
CATALOG = Catalog([OTHER_SOURCE, PROM, SQL])
# The value of ``gone`` is not a data source, and ``bad`` has a problem instead of a value.
SCOPE = Scope(
    {"ds": Value.of("o"), "named": Value.of("Other"), "many": Value.of(["o", "p"]), "gone": Value.of("x")},
    problems={"bad": "$bad is broken"},
)


@pytest.mark.parametrize(
    ("reference", "uid"),
    [
        (None, "p"),
        ("default", "p"),
        ({"uid": None, "type": None}, "p"),
        ({"type": "postgres"}, "s"),
        ({"type": "grafana-postgresql-datasource", "uid": "default"}, "s"),
        ("o", "o"),
        ("Other", "o"),
        ({"uid": "Other", "type": "prometheus"}, "o"),
        ("$ds", "o"),
        ({"uid": "${named}"}, "o"),
        ({"uid": "${many}", "type": "prometheus"}, "o"),
        ({"uid": "${DS_PROMETHEUS}"}, "p"),
        ({"uid": "${gone}", "type": "prometheus"}, "p"),
        ({"uid": "of another server", "type": "prometheus"}, "p"),
        ({"uid": "of another server", "type": "postgres"}, "s"),
        ({"uid": "of another server", "type": "victoriametrics-metrics-datasource"}, "p"),
        ({"type": "grafana-amazonprometheus-datasource"}, "p"),
    ],
)
def test_references_mean_a_data_source(reference: Any, uid: str) -> None:
    """A reference means the data source with its uid or name, otherwise one of its type, otherwise the default."""
    source = resolve_reference(reference, CATALOG, SCOPE)
    assert isinstance(source, dict)
    assert source["uid"] == uid


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ({"uid": "l", "type": "loki"}, "there is no data source 'l' of the type 'loki'; there are: none"),
        ({"uid": "${gone}"}, "there is no data source 'x' (${gone}; $gone is 'x'); there are: 'Other', 'Prom', 'Sql'"),
        ({"uid": "grafana", "type": "datasource"}, "the data source -- Grafana -- is not supported"),
        ({"type": "loki"}, "there is no default data source of the type 'loki' that you may query; set isDefault, or name a data source"),
    ],
)
def test_a_problem_names_the_variable_and_its_value(reference: Any, problem: str) -> None:
    """The problem of a reference without a data source names the reference, the values of its variables and the alternatives."""
    assert resolve_reference(reference, CATALOG, SCOPE) == problem


def test_data_sources_that_the_caller_may_not_query_replace_no_other() -> None:
    """An unknown data source is replaced by one that the caller may query. A known data source is not replaced, even if it is hidden."""
    hidden = CatalogEntry("p", "Prom", "prometheus", is_default=True, can_query=False)
    catalog = Catalog([hidden, OTHER_SOURCE])
    assert resolve_reference({"type": "prometheus", "uid": "gone"}, catalog, SCOPE) == {"type": "prometheus", "uid": "o"}
    assert resolve_reference({"type": "prometheus", "uid": "p"}, catalog, SCOPE) == {"type": "prometheus", "uid": "p"}
    assert isinstance(resolve_reference(None, catalog, SCOPE), str)


def test_a_data_source_of_the_type_is_not_replaced() -> None:
    """A type with PromQL is replaced by Prometheus only if no data source has the type itself."""
    metrics = CatalogEntry("v", "Metrics", "victoriametrics-metrics-datasource")
    assert resolve_reference({"type": metrics.type, "uid": "gone"}, Catalog([PROM, metrics]), SCOPE) == {"type": metrics.type, "uid": "v"}


def uids(datasource: Any, *targets: dict[str, Any], panels: dict[str, Any] | None = None) -> list[Any]:
    """Return the uid of the data source of each target of a panel."""
    resolved = read_targets({"datasource": datasource, "targets": list(targets)}, panels or {}, CATALOG, SCOPE)
    assert not resolved.problem, resolved.problem
    return [target["datasource"]["uid"] for target in resolved.targets]


def test_targets_use_the_data_source_of_their_panel() -> None:
    """Targets use the data source of their panel, unless it is mixed or unset. Expressions remain expressions."""
    target_with_source: dict[str, Any] = {"refId": "A", "datasource": {"uid": "o"}}
    unset: dict[str, Any] = {"refId": "B"}
    expression = {"refId": "C", "datasource": {"type": "__expr__", "uid": "__expr__"}}
    assert uids({"uid": "s"}, target_with_source, unset, expression) == ["s", "s", "__expr__"]
    assert uids({"uid": "-- Mixed --"}, target_with_source, unset) == ["o", "p"]
    assert uids("-- Mixed --", target_with_source) == ["o"]
    assert uids(None, target_with_source, unset) == ["o", "p"]


def test_panels_show_the_data_of_other_panels() -> None:
    """A panel with the data source ``-- Dashboard --`` has the targets of another panel, which has queries of its own."""
    shared = {"datasource": {"uid": "o"}, "targets": [{"refId": "A"}, {"refId": "B"}]}
    assert uids("-- Dashboard --", {"panelId": 4}, panels={"4": shared}) == ["o", "o"]
    missing = read_targets({"datasource": "-- Dashboard --", "targets": [{"panelId": 5}]}, {"4": shared}, CATALOG, SCOPE)
    assert missing == PanelTargets(problem="the panel shows the data of another panel, which the dashboard does not have")
    third = {"datasource": "-- Dashboard --", "targets": [{"panelId": 4}]}
    indirect = read_targets({"datasource": "-- Dashboard --", "targets": [{"panelId": 6}]}, {"4": shared, "6": third}, CATALOG, SCOPE)
    assert indirect.problem == "the panel shows the data of a panel without queries of its own; select the panel that has the queries"


def test_a_broken_variable_is_the_problem_of_its_panels() -> None:
    """The problem of a variable is that of each panel whose queries refer to it."""
    resolved = read_targets({"targets": [{"refId": "A", "expr": "up{x='$bad'}"}]}, {}, CATALOG, SCOPE)
    assert resolved.problem == "$bad is broken"


def test_a_problem_of_several_variables_is_shown_once() -> None:
    """A panel that refers to several variables with the same problem shows it once."""
    scope = Scope({}, dict.fromkeys(("a", "b"), "$a, $b are broken"))
    targets = read_targets({"targets": [{"refId": "A", "expr": "up{x='$a', y='$b'}"}]}, {}, CATALOG, scope)
    assert targets.problem == "$a, $b are broken"


def test_only_the_query_has_the_format_of_the_data_source() -> None:
    """In the query, a selection is a regular expression of PromQL; in the legend, it is the list of its values."""
    target = {"refId": "A", "expr": "x=~'$many'", "legendFormat": "$many"}
    (resolved,) = read_targets(
        {"targets": [target]}, {}, CATALOG, Scope({"many": Value(("a.", "b"), is_list=True, is_selection=True)})
    ).targets
    assert resolved["expr"] == "x=~'(a\\\\.|b)'"
    assert resolved["legendFormat"] == "{a.,b}"


def test_targets_with_one_id_are_distinguished() -> None:
    """Targets with equal ids or without one have distinct ids."""
    resolved = read_targets({"targets": [{"refId": "A"}, {"refId": "A"}, {}]}, {}, CATALOG, SCOPE)
    assert len({target["refId"] for target in resolved.targets}) == 3
