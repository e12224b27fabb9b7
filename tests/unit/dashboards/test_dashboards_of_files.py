"""Pictures of dashboards in files, with generated data, as ``make test-dashboards`` draws them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.dashboards.__main__ import EXAMPLES, print_report
from tests.dashboards.drawing import DRAWN, draw_files
from tests.dashboards.promql import label_names, label_values


def panel(kind: str, *targets: dict[str, Any], source: str = "prometheus", **members: Any) -> dict[str, Any]:
    """Return a panel whose title is its type, with up to three targets, for a data source that does not exist here."""
    listed = [{"refId": ref_id, **target} for ref_id, target in zip("ABC", targets, strict=False)]
    return {"type": kind, "title": kind, "datasource": {"type": source, "uid": "elsewhere"}, "targets": listed, **members}


#: The columns that a panel's transformation reads.
MATRIX = {"columnField": "year", "rowField": "month", "valueField": "value"}
#: Panels for each query language, some with transformations that need columns of the query.
PANELS = [
    panel("timeseries", {"expr": "sum by (job) (rate(hits[5m]))", "legendFormat": "{{job}}"}),
    panel("heatmap", {"expr": "sum by (le) (rate(seconds_bucket[5m]))", "format": "heatmap"}),
    panel(
        "table",
        {"expr": 'up{job="a"}', "format": "table", "instant": True},
        {"expr": "count by (job) (up)", "format": "table", "instant": True},
        transformations=[{"id": "merge"}, {"id": "organize", "options": {"renameByName": {"Value #A": "Up", "job": "Job"}}}],
    ),
    panel("stat", {"expr": "up", "format": "table"}, source="victoriametrics-metrics-datasource"),
    panel("logs", {"expr": '{app="shop"} |= "error"'}, source="loki"),
    panel(
        "barchart",
        {"query": "SELECT year, month, value FROM energy", "resultFormat": "table"},
        source="influxdb",
        transformations=[{"id": "groupingToMatrix", "options": MATRIX}],
    ),
    panel("barchart", {"query": "traces | summarize ms = avg(d) by phase"}, source="kusto", options={"xField": "phase"}),
    panel(
        "timeseries",
        {"query": "SELECT mean(a) FROM b", "hide": True},
        {"type": "math", "expression": "$A * 2", "datasource": {"type": "__expr__", "uid": "__expr__"}},
        source="influxdb",
    ),
    panel("piechart", {"rawSql": "SELECT n AS amount, kind AS name FROM t"}, source="mysql", options={"reduceOptions": {"values": True}}),
]


async def test_the_panels_of_all_examples_are_drawn() -> None:
    """Every panel of the example dashboards shows its data."""
    dashboards = await draw_files(EXAMPLES)
    assert sum(len(dashboard.panels) for dashboard in dashboards) > 10
    assert {panel.state for dashboard in dashboards for panel in dashboard.panels} == {"drawn"}


async def test_every_query_has_data(tmp_path: Path) -> None:
    """Data is generated for each query language, with the columns that the panel reads."""
    (tmp_path / "board.json").write_text(json.dumps({"panels": PANELS}))
    (dashboard,) = await draw_files(tmp_path)
    assert [(panel.type, panel.message) for panel in dashboard.panels if panel.state not in DRAWN] == []


async def test_the_report_names_what_is_not_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report has the counts of each dashboard, and the state and message of each panel that was not drawn.

    It leaves out files that are not dashboards.
    """
    (tmp_path / "board.yaml").write_text(json.dumps({"spec": {"panels": [panel("geomap"), panel("timeseries"), PANELS[0]]}}))
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "broken.json").write_text("{")
    total = print_report(await draw_files(tmp_path))
    assert total == {"drawn": 1, "noData": 1, "unsupported": 1}
    printed = capsys.readouterr().out
    assert printed.startswith("board.yaml: 1 drawn, 1 noData, 1 unsupported\n")
    assert "\n  unsupported geomap 1 'geomap': This panel shows data on a map" in printed
    assert "\n  noData      timeseries 2 'timeseries': No data\n" in printed


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("up", ["pod"]),
        ('rate(hits{job="a", zone=~"b|c"}[5m])', ["job", "zone", "pod"]),
        ("sum(hits) / sum(all)", []),
        ("100 - (avg by (instance) (rate(idle[1m])) * 100)", ["instance"]),
        ("histogram_quantile(0.9, sum(rate(b[5m])) by (le, job))", ["job"]),
        ('topk(5, sum without(zone) (hits{zone="1", job="2"}))', ["job", "pod"]),
        ('label_replace(up{a="1"}, "to", "$1", "a", "(.*)")', ["a", "pod", "to"]),
        ("load * on(instance) group_left(node) info", ["pod", "node"]),
        ("time() - started", ["pod"]),
        ('WITH (a = sum(x) by (month), b = label_set(1 - a, "series", "Own")) a or b', ["month", "series"]),
        ("vector(1)", []),
    ],
)
def test_labels_are_those_of_the_query(query: str, names: list[str]) -> None:
    """Generated series have the labels that PromQL would return. Without an aggregation, these include the default labels."""
    assert label_names(query, ["pod"]) == names


def test_values_of_labels_are_those_that_the_query_selects() -> None:
    """A label has the values that the query selects or sets, otherwise generated ones."""
    query = 'label_set(up{job="a", zone=~"b|c", pod=~".*"}, "series", "Own")'
    assert [label_values(query, name, 2) for name in ("job", "zone", "pod", "series")] == [["a"], ["b", "c"], ["pod-1", "pod-2"], ["Own"]]
