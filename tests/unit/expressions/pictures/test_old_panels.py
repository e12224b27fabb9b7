"""Panels of Grafana's Angular plugins become the panels that replaced them."""

import contextlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.expressions.json_trees import paths, replace_at
from tests.unit.expressions.pictures.panel_samples import props_of, series

from dashwright.common.json_shapes import member_at
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.migrations.registry import MIGRATIONS, migrated
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import NothingToDraw

#: Panels as the plugins stored them, with members that their successors store elsewhere.
GRAPH: dict[str, Any] = {
    "type": "graph",
    "lines": True,
    "fill": 3,
    "linewidth": 2,
    "points": False,
    "steppedLine": True,
    "nullPointMode": "connected",
    "stack": True,
    "percentage": True,
    "aliasColors": {"a": "#ff0000"},
    "seriesOverrides": [{"alias": "/b.*/", "yaxis": 2, "fill": 0, "stack": False, "bars": True}, {"alias": "a", "transform": "negative-Y"}],
    "yaxes": [{"format": "bytes", "min": "0", "max": None, "label": "size", "logBase": 2}, {"format": "percent", "max": 100, "show": True}],
    "xaxis": {"mode": "time"},
    "legend": {
        "show": True,
        "values": True,
        "current": True,
        "max": True,
        "alignAsTable": True,
        "rightSide": True,
        "sort": "max",
        "sortDesc": True,
    },
    "thresholds": [{"value": 5, "op": "gt", "colorMode": "critical", "fill": True, "line": True}],
}
STAT: dict[str, Any] = {
    "type": "singlestat",
    "format": "percent",
    "decimals": 1,
    "valueName": "avg",
    "colorBackground": True,
    "thresholds": "50,80",
    "colors": ["#00ff00", "#ffff00", "#ff0000"],
    "sparkline": {"show": True},
    "gauge": {"show": False, "minValue": 0, "maxValue": 100},
    "nullText": "none",
    "valueMaps": [{"value": "null", "op": "=", "text": "gone"}, {"value": "1", "text": "up"}],
    "rangeMaps": [{"from": "2", "to": "3", "text": "some"}],
    "tableColumn": "a.b",
}
TABLE: dict[str, Any] = {
    "type": "table-old",
    "transform": "timeseries_aggregations",
    "columns": [{"text": "Avg", "value": "avg"}, {"text": "Current", "value": "current"}],
    "styles": [
        {"pattern": "Time", "type": "date", "dateFormat": "YYYY-MM-DD", "alias": "When"},
        {
            "pattern": "/size.*/",
            "type": "number",
            "unit": "bytes",
            "decimals": 2,
            "colorMode": "cell",
            "thresholds": ["5"],
            "colors": ["red", "blue"],
        },
        {"pattern": "secret", "type": "hidden"},
        {"pattern": "/.*/", "type": "number", "unit": "short", "decimals": 1},
    ],
}
PIE: dict[str, Any] = {
    "type": "grafana-piechart-panel",
    "pieType": "donut",
    "legendType": "Right side",
    "legend": {"show": True, "values": True, "percentage": True},
    "valueName": "total",
    "format": "s",
    "aliasColors": {"a": "#00ff00"},
}
HEATMAP: dict[str, Any] = {
    "type": "heatmap",
    "dataFormat": "tsbuckets",
    "yBucketBound": "upper",
    "color": {"mode": "spectrum", "colorScheme": "interpolateSpectral", "min": 0},
    "cards": {"cardPadding": 3},
    "yAxis": {"format": "s", "logBase": 2, "splitFactor": 4},
    "xBucketSize": "5m",
    "legend": {"show": True},
    "hideZeroBuckets": True,
}
DISCRETE: dict[str, Any] = {
    "type": "natel-discrete-panel",
    "units": "short",
    "valueMaps": [{"value": "1", "text": "up"}],
    "colorMaps": [{"text": "up", "color": "#00ff00"}, {"text": "down", "color": "#ff0000"}],
}
OLD_PANELS = [GRAPH, STAT, TABLE, PIE, HEATMAP, DISCRETE, {"type": "grafana-worldmap-panel"}, STAT | {"type": "grafana-singlestat-panel"}]


def custom_settings(panel: Any) -> Any:
    """Return the defaults of the settings that only the panel's type has."""
    return member_at(panel, "fieldConfig", "defaults", "custom")


def override_properties(panel: Any) -> dict[str, dict[str, Any]]:
    """Return the properties of overrides by their matchers."""
    overrides = panel["fieldConfig"]["overrides"]
    return {rule["matcher"]["options"]: {item["id"]: item["value"] for item in rule["properties"]} for rule in overrides}


def test_a_graph_is_a_time_series_with_its_lines_axes_and_stacks() -> None:
    """Fills in tenths become percent. The settings of the left axis become those of all series."""
    panel: Any = migrated(GRAPH)
    assert panel["type"] == "timeseries"
    assert {
        name: custom_settings(panel)[name]
        for name in ("drawStyle", "fillOpacity", "lineWidth", "lineInterpolation", "spanNulls", "showPoints")
    } == {
        "drawStyle": "line",
        "fillOpacity": 30,
        "lineWidth": 2,
        "lineInterpolation": "stepAfter",
        "spanNulls": True,
        "showPoints": "never",
    }
    assert custom_settings(panel)["stacking"] == {"mode": "percent", "group": "A"}
    assert custom_settings(panel)["scaleDistribution"] == {"type": "log", "log": 2}
    assert custom_settings(panel)["axisLabel"] == "size"
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"] == "bytes"
    assert defaults["min"] == 0
    assert "max" not in defaults


def test_rules_of_a_graph_are_overrides() -> None:
    """An alias in slashes becomes a matcher by regular expression. Series of the right axis have its unit and limits."""
    panel: Any = migrated(GRAPH)
    assert [rule["matcher"]["id"] for rule in panel["fieldConfig"]["overrides"]] == ["byName", "byRegexp", "byName"]
    assert override_properties(panel)["/b.*/"] == {
        "custom.drawStyle": "bars",
        "custom.showPoints": "never",
        "custom.fillOpacity": 100,
        "unit": "percent",
        "max": 100,
        "custom.axisPlacement": "right",
        "custom.stacking": {"mode": "none", "group": "A"},
    }
    assert panel["fieldConfig"]["overrides"][0]["properties"] == [{"id": "color", "value": {"mode": "fixed", "fixedColor": "#ff0000"}}]


def test_legend_and_thresholds_of_a_graph_are_kept() -> None:
    """The legend has its calculations in order; thresholds have marks as lines and areas."""
    panel: Any = migrated(GRAPH)
    assert panel["options"]["legend"] == {
        "showLegend": True,
        "displayMode": "table",
        "placement": "right",
        "calcs": ["max", "lastNotNull"],
        "sortBy": "Max",
        "sortDesc": True,
    }
    assert custom_settings(panel)["thresholdsStyle"] == {"mode": "line+area"}
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert steps == [{"value": None, "color": "transparent"}, {"value": 5, "color": "red"}]


@pytest.mark.parametrize(
    ("axis", "legend", "panel_type"),
    [
        ({"mode": "series", "values": ["total"]}, {"values": True}, "bargauge"),
        ({"mode": "series", "values": ["total"]}, {}, "barchart"),
        ({"mode": "histogram", "buckets": 5}, {}, "histogram"),
        ({}, {}, "timeseries"),
    ],
)
def test_the_axis_of_a_graph_decides_its_successor(axis: dict[str, Any], legend: dict[str, Any], panel_type: str) -> None:
    """A graph over series becomes a bar gauge or bar chart, a graph over values a histogram, and any other graph a time series."""
    assert migrated({**GRAPH, "xaxis": axis, "legend": legend})["type"] == panel_type


def test_a_single_stat_is_a_stat_or_gauge() -> None:
    """A single stat becomes a stat with its calculation, column, colours and mappings, or a gauge if it showed a gauge."""
    panel: Any = migrated(STAT)
    assert panel["type"] == "stat"
    assert panel["options"]["colorMode"] == "background"
    assert panel["options"]["graphMode"] == "area"
    assert panel["options"]["reduceOptions"] == {"calcs": ["mean"], "fields": r"/^a\.b$/"}
    defaults = panel["fieldConfig"]["defaults"]
    assert [(step["value"], step["color"]) for step in defaults["thresholds"]["steps"]] == [
        (None, "#00ff00"),
        (50, "#ffff00"),
        (80, "#ff0000"),
    ]
    assert [mapping["type"] for mapping in defaults["mappings"]] == ["special", "value", "range"]
    gauge: Any = migrated({**STAT, "gauge": {"show": True, "minValue": 0, "maxValue": 10}})
    assert gauge["type"] == "gauge"
    assert gauge["fieldConfig"]["defaults"]["max"] == 10


def test_an_old_table_has_transformations_and_overrides() -> None:
    """The transform becomes a transformation, and each style of columns an override; the style of all columns is the default."""
    panel: Any = migrated(TABLE)
    assert panel["transformations"] == [{"id": "reduce", "options": {"reducers": ["mean", "lastNotNull"], "includeTimeField": False}}]
    assert panel["fieldConfig"]["defaults"] == {"unit": "short", "decimals": 1}
    assert override_properties(panel)["Time"] == {"displayName": "When", "unit": "time: YYYY-MM-DD"}
    assert override_properties(panel)["secret"] == {"custom.hidden": True}
    assert override_properties(panel)["/size.*/"]["custom.cellOptions"] == {"type": "color-background"}


def test_a_pie_of_the_plugin_is_a_pie_chart() -> None:
    """The ring, calculation, legend and colours of the old panel are kept."""
    panel: Any = migrated(PIE)
    assert panel["type"] == "piechart"
    assert panel["options"]["pieType"] == "donut"
    assert panel["options"]["reduceOptions"]["calcs"] == ["sum"]
    assert panel["options"]["legend"] == {"showLegend": True, "displayMode": "table", "placement": "right", "values": ["value", "percent"]}
    assert override_properties(panel) == {"a": {"color": {"mode": "fixed", "fixedColor": "#00ff00"}}}


def test_an_old_heat_map_has_options() -> None:
    """Buckets, colours, gaps and units are options; a new heat map is not changed."""
    panel: Any = migrated(HEATMAP)
    options = panel["options"]
    assert options["calculate"] is False
    assert options["cellGap"] == 3
    assert options["color"]["scheme"] == "Spectral"
    assert options["rowsFrame"]["layout"] == "le"
    assert options["calculation"] == {
        "xBuckets": {"mode": "size", "value": "5m"},
        "yBuckets": {"mode": "size", "value": "4.0", "scale": {"type": "log", "log": 2}},
    }
    new = {"type": "heatmap", "options": {"calculate": True}}
    assert migrated(new) == new


def test_states_of_the_plugin_have_their_colours() -> None:
    """A mapping of a value to a text has the colour of the text. In addition, each coloured text has a mapping with its colour."""
    panel: Any = migrated(DISCRETE)
    assert panel["fieldConfig"]["defaults"]["mappings"] == [
        {"type": "value", "options": {"1": {"text": "up", "color": "#00ff00"}}},
        {"type": "value", "options": {"up": {"color": "#00ff00"}}},
        {"type": "value", "options": {"down": {"color": "#ff0000"}}},
    ]


def test_settings_that_a_panel_has_already_take_precedence() -> None:
    """A panel that was partly migrated keeps its options, defaults and overrides."""
    rule = {"matcher": {"id": "byName", "options": "a"}, "properties": []}
    config = {"defaults": {"unit": "s", "custom": {"lineWidth": 9}}, "overrides": [rule]}
    panel: Any = migrated({**GRAPH, "fieldConfig": config, "options": {"legend": {"showLegend": False}}})
    assert panel["fieldConfig"]["defaults"]["unit"] == "s"
    assert custom_settings(panel)["lineWidth"] == 9
    # The panel had no new setting for the fill, so the old one is migrated.
    assert custom_settings(panel)["fillOpacity"] == 30
    assert panel["fieldConfig"]["overrides"][-1] == rule
    assert panel["options"]["legend"] == {"showLegend": False}


def test_old_panels_of_dashboards_with_elements_are_migrated() -> None:
    """In a dashboard with elements, an option contains the members of an old panel, and these are migrated."""
    members = {name: value for name, value in STAT.items() if name != "type"}
    options = {"__angularMigration": {"autoMigrateFrom": "singlestat", "originalOptions": members}}
    panel: Any = migrated({"type": "stat", "options": options})
    assert panel["type"] == "stat"
    assert panel["options"]["colorMode"] == "background"


#: The places where a wrong value is set: everywhere except in the type. The number is the index of the panel.
PANELS_AND_PATHS = [(index, path) for index, panel in enumerate(OLD_PANELS) for path in paths(panel) if path not in ((), ("type",))]
WRONG_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 1e308, 10**400, "", "x", "1e999", "/(/", [], {}, [1], {"a": 1}, [[]]]
)


@given(panel_and_path=st.sampled_from(PANELS_AND_PATHS), wrong_value=WRONG_VALUES)
# A list cannot be a key of the dictionary from texts to colours.
@example(panel_and_path=(OLD_PANELS.index(DISCRETE), ("valueMaps", 0, "text")), wrong_value=[])
def test_no_wrong_member_breaks_a_migration_or_a_drawing(panel_and_path: tuple[int, tuple[int | str, ...]], wrong_value: Any) -> None:
    """An old panel with a wrong value anywhere is drawn, or shows a message."""
    index, path = panel_and_path
    source = replace_at(OLD_PANELS[index], path, wrong_value)
    (panel,) = read_dashboard({"panels": [source]}).panels
    # The successor of the old heat map has the same type.
    assert panel.type not in MIGRATIONS or panel.type == "heatmap"
    if panel.type in DRAW_FUNCTIONS:
        with contextlib.suppress(NothingToDraw):
            DRAW_FUNCTIONS[panel.type](props_of(panel, series(1, None, 7, name="a"), series(3, 2, 1, name="b")))
