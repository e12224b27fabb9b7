"""Queries of panels: filters of the dashboard, and queries that only expressions read."""

from dashwright.expressions.pictures.panel_targets import read_targets
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.scope import Scope

CATALOG = Catalog([CatalogEntry("p", "P", "prometheus"), CatalogEntry("q", "Q", "prometheus")])


def test_only_queries_to_the_data_source_of_the_filters_have_them() -> None:
    scope = Scope(filters={"p": [LabelFilter("zone", "=", ["eu"])]})
    targets = [{"refId": uid, "datasource": {"type": "prometheus", "uid": uid}, "expr": "up"} for uid in ("p", "q")]
    found = read_targets({"datasource": "-- Mixed --", "targets": targets}, {}, CATALOG, scope)
    assert [target["expr"] for target in found.targets] == ['up{zone="eu"}', "up"]


def test_an_expression_needs_hidden_queries() -> None:
    """The problem of a hidden query is that of the panel only if an expression may read the query."""
    hidden = {"refId": "A", "hide": True, "datasource": {"type": "other", "uid": "o"}}
    expression = {"refId": "B", "datasource": "__expr__", "type": "math", "expression": "$A"}
    assert not read_targets({"datasource": "-- Mixed --", "targets": [hidden]}, {}, CATALOG, Scope()).problem
    found = read_targets({"datasource": "-- Mixed --", "targets": [hidden, expression]}, {}, CATALOG, Scope())
    assert "there is no data source 'o'" in found.problem
