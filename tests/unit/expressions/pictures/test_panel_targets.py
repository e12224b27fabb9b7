"""The queries that a panel sends: filters of the dashboard, hidden queries, and queries to Grafana's own data source."""

from typing import Any

import orjson
import pytest

from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.pictures.panel_targets import read_targets
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.scope import Scope

CATALOG = Catalog([CatalogEntry("p", "P", "prometheus"), CatalogEntry("q", "Q", "prometheus")])


def test_only_queries_to_the_data_source_of_a_filter_have_the_filter() -> None:
    """A filter of the dashboard is part of the queries to its data source, and of no other queries."""
    scope = Scope(filters={"p": [LabelFilter("zone", "=", ["eu"])]})
    targets = [{"refId": uid, "datasource": {"type": "prometheus", "uid": uid}, "expr": "up"} for uid in ("p", "q")]
    resolved = read_targets({"datasource": "-- Mixed --", "targets": targets}, {}, CATALOG, scope)
    assert [target["expr"] for target in resolved.targets] == ['up{zone="eu"}', "up"]


def test_an_expression_needs_hidden_queries() -> None:
    """The problem of a hidden query is that of the panel only if an expression may read the query."""
    hidden = {"refId": "A", "hide": True, "datasource": {"type": "other", "uid": "o"}}
    expression = {"refId": "B", "datasource": "__expr__", "type": "math", "expression": "$A"}
    assert not read_targets({"datasource": "-- Mixed --", "targets": [hidden]}, {}, CATALOG, Scope()).problem
    resolved = read_targets({"datasource": "-- Mixed --", "targets": [hidden, expression]}, {}, CATALOG, Scope())
    assert "there is no data source 'o'" in resolved.problem


@pytest.mark.parametrize("source", ["-- Grafana --", {"type": "datasource", "uid": "grafana"}, {"type": "grafana", "uid": "-- Grafana --"}])
@pytest.mark.parametrize("query_type", [None, "randomWalk"])
def test_queries_to_grafana_are_random_walks(source: Any, query_type: str | None) -> None:
    """A query to Grafana's own data source, in each notation of it, is a random walk unless it has another type."""
    resolved = read_targets({"datasource": source, "targets": [{"refId": "A", "queryType": query_type}]}, {}, CATALOG, Scope())
    assert [(target["refId"], target["scenarioId"]) for target in resolved.targets] == [("A", "random_walk")]


def test_snapshots_in_a_dashboard_are_data() -> None:
    """A snapshot in a dashboard becomes a query whose data are the frames of the snapshot, without members that only Grafana reads."""
    schema = {"refId": "S", "x": 1, "fields": [{"name": "n", "type": "number", "entities": {}, "config": {"unit": "s"}}]}
    target = {"refId": "A", "queryType": "snapshot", "snapshot": [{"schema": schema, "data": {"values": [[1, None]], "y": 2}}]}
    (query,) = read_targets({"datasource": "-- Grafana --", "targets": [target]}, {}, CATALOG, Scope()).targets
    (frame,) = read_frames(query["rawFrameContent"])
    assert frame.fields[0].config == {"unit": "s"}
    assert len(frame.fields[0]) == 2
    assert orjson.loads(query["rawFrameContent"])[0]["schema"]["refId"] == "S"


@pytest.mark.parametrize(
    ("query_type", "missing"),
    [("measurements", "live measurements"), ("annotations", "annotations"), ("list", "files"), ("odd", "queries of the type 'odd'")],
)
def test_queries_that_only_grafana_runs_are_named(query_type: str, missing: str) -> None:
    """The problem of a query that only Grafana runs names what is missing."""
    resolved = read_targets({"datasource": "-- Grafana --", "targets": [{"refId": "A", "queryType": query_type}]}, {}, CATALOG, Scope())
    assert resolved.problem.startswith("the data source -- Grafana -- has no ")
    assert missing in resolved.problem


def test_a_data_source_with_the_name_of_grafana_is_queried() -> None:
    """A data source whose uid is ``grafana`` has precedence over Grafana's own data source."""
    catalog = Catalog([CatalogEntry("grafana", "grafana", "prometheus")])
    resolved = read_targets({"datasource": {"uid": "grafana"}, "targets": [{"refId": "A", "expr": "up"}]}, {}, catalog, Scope())
    assert [target["datasource"] for target in resolved.targets] == [{"type": "prometheus", "uid": "grafana"}]
