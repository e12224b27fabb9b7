"""Migrations that change panels, one schema version at a time."""

import copy
from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.migration import migrate

_Json = dict[str, Any]


def _override(*properties: _Json) -> _Json:
    """Return an override of the field ``cpu``."""
    return {"matcher": {"id": "byName", "options": "cpu"}, "properties": list(properties)}


def _fields(defaults: _Json, *overrides: _Json) -> _Json:
    """Return the member of a panel with these options of fields and overrides."""
    return {"fieldConfig": {"defaults": defaults, "overrides": list(overrides)}}


def _mappings(*mappings: _Json, **defaults: object) -> _Json:
    """Return the member of a panel with value mappings and other options of fields."""
    return _fields({"mappings": list(mappings), **defaults})


_STEPS = [{"color": "green", "value": None}, {"color": "red", "value": 5}]
_INFLUX = {
    "refId": "A",
    "tags": [],
    "fields": [{"name": "value", "func": "mean", "mathExpr": "*2", "asExpr": "twice"}, 7],
    "groupBy": [{"type": "time", "interval": "1m"}, {"type": "tag", "key": "host"}],
    "fill": "null",
}
_INFLUX_AFTER = {
    "refId": "A",
    "tags": [],
    "select": [
        [
            {"type": "field", "params": ["value"]},
            {"type": "mean", "params": []},
            {"type": "math", "params": ["*2"]},
            {"type": "alias", "params": ["twice"]},
        ]
    ],
    "groupBy": [{"type": "time", "params": ["1m"]}, {"type": "tag", "params": ["host"]}, {"type": "fill", "params": ["null"]}],
}
_CLOUDWATCH = {"refId": "A", "dimensions": {}, "namespace": "n", "region": "r", "metricName": "m"}
_CLOUDWATCH_AFTER = {**_CLOUDWATCH, "metricQueryType": 0, "metricEditorMode": 0}

# Each case has a schema version, and members of a panel before and after the migration to this version.
_CASES = [
    pytest.param(8, {"targets": [_INFLUX]}, {"targets": [_INFLUX_AFTER]}, id="8: fields of InfluxDB"),
    pytest.param(
        8,
        {"targets": [{"refId": "A", "tags": [], "groupBy": [], "fields": [], "fill": 0, "rawQuery": True}]},
        {"targets": [{"refId": "A", "tags": [], "groupBy": [], "rawQuery": True}]},
        id="8: raw query",
    ),
    pytest.param(9, {"type": "singlestat", "thresholds": "1,2,3"}, {"thresholds": "2,3"}, id="9: three thresholds"),
    pytest.param(9, {"type": "singlestat", "thresholds": "2,3"}, {"thresholds": "2,3"}, id="9: two thresholds"),
    pytest.param(
        10,
        {"type": "table", "styles": [{"thresholds": [1, 2, 3]}, {"thresholds": [1, 2]}]},
        {"styles": [{"thresholds": [2, 3]}, {"thresholds": [1, 2]}]},
        id="10: thresholds",
    ),
    pytest.param(17, {"minSpan": 8}, {"maxPerRow": 3}, id="17: smallest span"),
    pytest.param(17, {"minSpan": 5}, {"maxPerRow": 4}, id="17: span that does not divide"),
    pytest.param(17, {"minSpan": 24}, {"maxPerRow": 1}, id="17: all columns"),
    pytest.param(
        18,
        {"options-gauge": {"unit": "ms", "decimals": 2, "thresholds": [1, 2], "options": 1, "showLabels": True}},
        {"options": {"valueOptions": {"unit": "ms", "decimals": 2}, "thresholds": [2, 1], "showLabels": True}},
        id="18: options of a gauge",
    ),
    pytest.param(
        19,
        {"links": [{"dashboard": "My Own: Board", "keepTime": True, "includeVars": True, "params": "a=1", "targetBlank": True}]},
        {"links": [{"url": "dashboard/db/my-own-board?$__url_time_range&$__all_variables&a=1", "title": "", "targetBlank": True}]},
        id="19: dashboard by title",
    ),
    pytest.param(
        19,
        {"links": [{"dashUri": "db/x", "title": "t"}, {"url": "https://e.org"}, {}]},
        {
            "links": [
                {"url": "dashboard/db/x", "title": "t"},
                {"url": "https://e.org", "title": ""},
                {"url": "/", "title": ""},
            ]
        },
        id="19: other targets",
    ),
    pytest.param(
        20,
        {"options": {"dataLinks": [{"url": "?a=$__series_name&b=__value_time"}], "fieldOptions": {"defaults": {"title": "$__field_name"}}}},
        {
            "options": {
                "dataLinks": [{"url": "?a=${__series.name}&b=__value.time"}],
                "fieldOptions": {"defaults": {"title": "${__field.name}"}},
            }
        },
        id="20: names in links and titles",
    ),
    pytest.param(
        21,
        {"options": {"fieldOptions": {"defaults": {"links": [{"url": "?a=${__series.labels.x}"}]}}}},
        {"options": {"fieldOptions": {"defaults": {"links": [{"url": "?a=${__field.labels.x}"}]}}}},
        id="21: labels in links",
    ),
    pytest.param(22, {"type": "table", "styles": [{"align": "left"}, {}]}, {"styles": [{"align": "auto"}] * 2}, id="22: alignment"),
    pytest.param(24, {"type": "table", "styles": []}, {"type": "table", "autoMigrateFrom": "table-old"}, id="24: old table"),
    pytest.param(24, {"type": "table"}, {"type": "table"}, id="24: new table"),
    pytest.param(
        26, {"type": "text2", "options": {"angular": 1, "mode": "html"}}, {"type": "text", "options": {"mode": "html"}}, id="26: text"
    ),
    pytest.param(
        30,
        _mappings(
            {"type": 1, "value": "1", "text": "up"},
            {"type": 2, "from": "1", "to": 2.5, "text": "mid"},
            {"type": 1, "value": 0, "text": "7"},
        ),
        _mappings(
            {"type": "value", "options": {"1": {"text": "up"}, "0": {"text": "7"}}},
            {"type": "range", "options": {"from": 1, "to": 2.5, "result": {"text": "mid"}}},
        ),
        id="30: values and ranges",
    ),
    pytest.param(
        30,
        _mappings({"type": 1, "value": "null", "text": "7"}, thresholds={"steps": [_STEPS[1]]}),
        _mappings(
            {"type": "special", "options": {"match": "null", "result": {"text": "7", "color": "red"}}}, thresholds={"steps": [_STEPS[1]]}
        ),
        id="30: null in the color of its threshold",
    ),
    pytest.param(
        30,
        _mappings({"type": 1, "text": "no value"}, {"type": 3}, {"type": "special"}, {"type": "value", "options": {"1": {}}}),
        _mappings({"type": "value", "options": {"1": {}}}, {"type": "special"}),
        id="30: old and new forms",
    ),
    pytest.param(
        30,
        _mappings({"type": "special"}, {"type": "value", "options": {"1": {}}}),
        _mappings({"type": "special"}, {"type": "value", "options": {"1": {}}}),
        id="30: new forms",
    ),
    pytest.param(
        30,
        _mappings({"type": 1, "value": 1.0, "text": "3"}, {"type": 1, "value": "x", "text": "9"}, thresholds={"steps": _STEPS}),
        _mappings(
            {"type": "value", "options": {"1": {"text": "3", "color": "green"}, "x": {"text": "9", "color": "red"}}},
            thresholds={"steps": _STEPS},
        ),
        id="30: colors of thresholds",
    ),
    pytest.param(
        30,
        _fields({}, _override({"id": "mappings", "value": [{"type": 1, "value": True, "text": "on"}]})),
        _fields({}, _override({"id": "mappings", "value": [{"type": "value", "options": {"true": {"text": "on"}}}]})),
        id="30: mappings of an override",
    ),
    pytest.param(
        30,
        {"type": "timeseries", "options": {"tooltipOptions": {"mode": "multi"}}},
        {"options": {"tooltip": {"mode": "multi"}}},
        id="30: tooltip",
    ),
    pytest.param(
        31,
        {"transformations": [{"id": "labelsToFields"}, {"id": "organize"}]},
        {"transformations": [{"id": "labelsToFields"}, {"id": "merge", "options": {}}, {"id": "organize"}]},
        id="31: labels to fields",
    ),
    pytest.param(
        34,
        {"targets": [{**_CLOUDWATCH, "statistics": ["Average", "Sum"]}, {"refId": "B"}]},
        {
            "targets": [
                {**_CLOUDWATCH_AFTER, "statistic": "Average"},
                {"refId": "B"},
                {**_CLOUDWATCH_AFTER, "statistic": "Sum", "refId": "C"},
            ]
        },
        id="34: two statistics",
    ),
    pytest.param(34, {"targets": [{**_CLOUDWATCH, "statistics": []}]}, {"targets": [_CLOUDWATCH_AFTER]}, id="34: no statistic"),
    pytest.param(
        34,
        {"targets": [{**_CLOUDWATCH, "expression": "SEARCH(a)"}]},
        {"targets": [{**_CLOUDWATCH_AFTER, "expression": "SEARCH(a)", "metricEditorMode": 1}]},
        id="34: expression",
    ),
    pytest.param(
        35,
        {"type": "timeseries", **_fields({"custom": {"axisPlacement": "hidden"}})},
        _fields(
            {"custom": {"axisPlacement": "hidden"}},
            {"matcher": {"id": "byType", "options": "time"}, "properties": [{"id": "custom.axisPlacement", "value": "auto"}]},
        ),
        id="35: time axis",
    ),
    pytest.param(
        37,
        {"options": {"legend": {"displayMode": "hidden", "calcs": []}}},
        {"options": {"legend": {"displayMode": "list", "calcs": [], "showLegend": False}}},
        id="37: hidden legend",
    ),
    pytest.param(
        37,
        {"options": {"legend": {"displayMode": "table"}}},
        {"options": {"legend": {"displayMode": "table", "showLegend": True}}},
        id="37: visible legend",
    ),
    pytest.param(37, {"options": {"legend": True}}, {"options": {"legend": True}}, id="37: legend of another form"),
    pytest.param(
        38,
        {
            "type": "table",
            **_fields({"custom": {"displayMode": "lcd-gauge"}}, _override({"id": "custom.displayMode", "value": "json-view"})),
        },
        _fields(
            {"custom": {"cellOptions": {"type": "gauge", "mode": "lcd"}}},
            _override({"id": "custom.cellOptions", "value": {"type": "json-view"}}),
        ),
        id="38: display mode of cells",
    ),
    pytest.param(
        39,
        {"transformations": [{"id": "timeSeriesTable", "options": {"refIdToStat": {"A": "mean"}}}]},
        {"transformations": [{"id": "timeSeriesTable", "options": {"A": {"stat": "mean"}}}]},
        id="39: statistics of queries",
    ),
    pytest.param(
        42,
        _fields({}, _override({"id": "custom.hideFrom", "value": {"viz": True, "legend": False}})),
        _fields({}, _override({"id": "custom.hideFrom", "value": {"viz": True, "legend": False, "tooltip": True}})),
        id="42: hidden series",
    ),
]


def _migrate_panels(version: int, panels: list[_Json]) -> list[_Json]:
    """Return panels after the migration from the preceding schema version to ``version``."""
    migrated: list[_Json] = migrate({"schemaVersion": version - 1, "panels": panels}, EMPTY_CONTEXT, version)["panels"]
    return migrated


@pytest.mark.parametrize(("version", "before", "after"), _CASES)
def test_panels_are_upgraded(version: int, before: _Json, after: _Json) -> None:
    """Each old member of a panel is replaced by the member that the schema version has instead. The input is not changed."""
    original = copy.deepcopy(before)
    [panel] = _migrate_panels(version, [{"id": 1, **before}])
    assert before == original
    assert panel.items() >= after.items()
    assert not {"minSpan", "options-gauge"} & panel.keys()


@pytest.mark.parametrize(("version", "before", "after"), _CASES)
def test_panels_in_rows_are_upgraded(version: int, before: _Json, after: _Json) -> None:
    """A panel in a collapsed row is migrated like other panels."""
    [row] = _migrate_panels(version, [{"id": 1, "type": "row", "panels": [{"id": 2, **before}]}])
    [panel] = row["panels"]
    assert panel.items() >= after.items()


@pytest.mark.parametrize("span", [-1, 0, 1, 25, "wide", None])
def test_an_invalid_smallest_span_is_removed(span: object) -> None:
    """A smallest span from which no number of panels per row follows is removed."""
    [panel] = _migrate_panels(17, [{"id": 1, "minSpan": span}])
    assert panel == {"id": 1}


@pytest.mark.parametrize(
    ("statistics", "names"),
    [
        pytest.param(["Sum"], ["load"], id="one"),
        pytest.param(
            ["Sum", None, 7.0, True, {}], ["load - Sum", "load - null", "load - 7", "load - true", "load - [object Object]"], id="many"
        ),
        pytest.param([], ["load"], id="none"),
    ],
)
def test_annotation_queries_have_one_statistic(statistics: list[object], names: list[str]) -> None:
    """An annotation query of CloudWatch with several statistics becomes one query per statistic, whose name ends with the statistic."""
    query = {"name": "load", "dimensions": {}, "namespace": "n", "region": "r", "prefixMatching": False, "statistics": statistics}
    migrated = migrate({"schemaVersion": 33, "annotations": {"list": [query]}}, EMPTY_CONTEXT, 34)
    # Each migration adds a first query, for the annotations of the dashboard itself.
    assert [annotation["name"] for annotation in migrated["annotations"]["list"][1:]] == names


@pytest.mark.parametrize(
    ("panel", "new_type"),
    [
        pytest.param({"type": "graph"}, "timeseries", id="graph"),
        pytest.param({"type": "graph", "xaxis": {"mode": "histogram"}}, "histogram", id="graph of a histogram"),
        pytest.param({"type": "graph", "xaxis": {"mode": "series"}}, "barchart", id="graph of series"),
        pytest.param({"type": "graph", "xaxis": {"mode": "series"}, "legend": {"values": True}}, "bargauge", id="graph with values"),
        pytest.param({"type": "graphite"}, "timeseries", id="graphite"),
        pytest.param({"type": "singlestat"}, "stat", id="singlestat"),
        pytest.param({"type": "grafana-piechart-panel"}, "piechart", id="pie chart"),
    ],
)
def test_angular_types_are_replaced(panel: _Json, new_type: str) -> None:
    """The type of an Angular panel is replaced at any version, and the old type is kept in ``autoMigrateFrom``."""
    [migrated] = _migrate_panels(42, [panel])
    assert migrated["type"] == new_type
    assert migrated["autoMigrateFrom"] == panel["type"]
