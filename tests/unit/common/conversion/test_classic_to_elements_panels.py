"""Classic panels after the conversion to elements (v2)."""

from typing import Any

import pytest

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import EMPTY_CONTEXT

# The expected value of a case whose converted value is equal to the classic value.
UNCHANGED = object()
STEPS = [{"value": None, "color": "green"}, {"value": 80, "color": "red"}]


def _spec(panel: dict[str, Any]) -> Any:
    """Return the spec of the element that a panel becomes."""
    (element,) = classic_to_elements({"panels": [panel]}, EMPTY_CONTEXT)["elements"].values()
    assert element["kind"] == "Panel"
    return element["spec"]


def _visualization(panel: dict[str, Any]) -> Any:
    """Return the visualization of the element that a panel becomes."""
    return _spec(panel)["vizConfig"]


def _defaults(**defaults: Any) -> Any:
    """Return the converted options of fields of a panel, given the classic ones."""
    return _visualization({"fieldConfig": {"defaults": defaults}})["spec"]["fieldConfig"]["defaults"]


def test_an_empty_panel_is_complete() -> None:
    """A panel without members becomes a time series with each required member."""
    assert _spec({}) == {
        "id": 1,
        "title": "",
        "description": "",
        "links": [],
        "data": {"kind": "QueryGroup", "spec": {"queries": [], "transformations": [], "queryOptions": {}}},
        "vizConfig": {
            "kind": "timeseries",
            "spec": {"pluginVersion": "", "options": {}, "fieldConfig": {"defaults": {}, "overrides": []}},
        },
    }


def test_members_of_panels_are_kept() -> None:
    """Title, description and transparency of a panel are kept.

    Links lose byte-order marks, members of a wrong type get defaults, and entries that are not objects are left out.
    """
    links = [{"title": "Manual", "url": "https://\ufeffmanual.example", "targetBlank": "yes"}, {}, "link"]
    spec = _spec({"title": "Heat", "description": "of ovens", "transparent": True, "links": links})
    assert spec["title"] == "Heat"
    assert spec["description"] == "of ovens"
    assert spec["transparent"] is True
    assert spec["links"] == [{"title": "Manual", "url": "https://manual.example", "targetBlank": False}, {"title": "", "url": ""}]


@pytest.mark.parametrize(
    ("panel", "plugin", "predecessor"),
    [
        ({"type": "stat"}, "stat", None),
        ({"type": "singlestat"}, "stat", "singlestat"),
        ({"type": "grafana-singlestat-panel"}, "stat", "grafana-singlestat-panel"),
        ({"type": "table-old"}, "table", "table-old"),
        ({"type": "grafana-piechart-panel"}, "piechart", "grafana-piechart-panel"),
        ({"type": "grafana-worldmap-panel"}, "geomap", "grafana-worldmap-panel"),
        ({"type": "natel-discrete-panel"}, "state-timeline", "natel-discrete-panel"),
        ({"type": "graph"}, "timeseries", "graph"),
        ({"type": "graphite"}, "timeseries", "graphite"),
        ({"type": "graph", "xaxis": {"mode": "time"}}, "timeseries", "graph"),
        ({"type": "graph", "xaxis": {"mode": "histogram"}}, "histogram", "graph"),
        ({"type": "graph", "xaxis": {"mode": "series"}}, "barchart", "graph"),
        ({"type": "graph", "xaxis": {"mode": "series"}, "legend": {"values": True}}, "bargauge", "graph"),
        ({"type": "graph", "xaxis": {"mode": "series"}, "legend": {"values": 1}}, "barchart", "graph"),
        ({"type": "stat", "sparkline": {}}, "stat", "stat"),
        ({"type": "table", "autoMigrateFrom": "table-old"}, "table", "table-old"),
        ({"type": "graph", "autoMigrateFrom": "other"}, "graph", "other"),
        ({"type": "graph", "autoMigrateFrom": ""}, "timeseries", "graph"),
        ({"type": None}, "timeseries", None),
    ],
)
def test_angular_plugins_are_replaced(panel: dict[str, Any], plugin: str, predecessor: str | None) -> None:
    """A plugin of the Angular era is replaced by its successor.

    The options of the successor have the name of the old plugin, and the original options that the old plugin used.
    """
    converted = _visualization(panel)
    original_options = {name: value for name, value in panel.items() if name in {"xaxis", "legend", "sparkline"}}
    migration = {"__angularMigration": {"autoMigrateFrom": predecessor, "originalOptions": original_options}} if predecessor else {}
    assert converted["kind"] == plugin
    assert converted["spec"]["options"] == migration


def test_known_members_are_not_handed_over() -> None:
    """A panel that has only members of the schema of panels has no original options for a migration by its plugin."""
    known_members = (
        "cacheTimeout datasource description fieldConfig gridPos hideTimeOverride id interval links maxDataPoints maxPerRow options "
        "queryCachingTTL repeat repeatDirection targets timeCompare timeFrom timeShift title transformations transparent"
    )
    converted = _visualization({**dict.fromkeys(known_members.split()), "type": "stat", "pluginVersion": "12.4.3"})
    assert converted["kind"] == "stat"
    assert converted["spec"]["pluginVersion"] == "12.4.3"
    assert converted["spec"]["options"] == {}


def test_options_are_shared_unless_they_have_byte_order_marks() -> None:
    """A converted panel has the option objects of the dashboard. Only strings with a byte-order mark, and their parents, are copied."""
    clean = {"mode": "multi", "sizes": [1, 2]}
    options = {"clean": clean, "links": [{"url": "\ufeffhttps://a.example"}, clean]}
    converted = _visualization({"options": options})["spec"]["options"]
    assert converted == {"clean": clean, "links": [{"url": "https://a.example"}, clean]}
    assert converted["clean"] is clean
    assert converted["links"][1] is clean
    assert _visualization({"options": clean})["spec"]["options"] is clean


@pytest.mark.parametrize(
    "defaults",
    [
        {"unit": "celsius", "displayName": "", "noValue": "-", "nullValueMode": "connected", "path": "p", "description": "d"},
        {"displayNameFromDS": "oven"},
        {"decimals": 1, "min": -0.5, "max": 100},
        {"filterable": False, "writeable": True, "fieldMinMax": False},
        {"color": {"mode": "fixed", "fixedColor": "red", "seriesBy": "last"}},
        {"thresholds": {"mode": "absolute", "steps": STEPS}},
        {"links": [{"title": "t", "url": "u"}]},
        {"custom": {"lineWidth": 2}},
        {"mappings": [{"type": "value", "options": {"1": {"text": "on", "color": "green", "icon": "i", "index": 0}}}]},
        {"mappings": [{"type": "range", "options": {"from": 1, "to": None, "result": {"text": "low"}}}]},
        {"mappings": [{"type": "regex", "options": {"pattern": "/a/", "result": {"index": 1}}}]},
        {"mappings": [{"type": "special", "options": {"match": "null", "result": {"text": "-"}}}]},
        {
            "actions": [
                {"type": "fetch", "title": "Restart", "fetch": {"method": "POST", "url": "/r", "body": "{}", "headers": [["a", "b"]]}}
            ]
        },
        {"actions": [{"type": "infinity", "title": "t", "infinity": {"method": "GET", "url": "/", "datasourceUid": "u"}}]},
        {
            "actions": [
                {
                    "type": "fetch",
                    "title": "t",
                    "confirmation": "Sure?",
                    "oneClick": False,
                    "variables": [{"key": "k", "name": "n", "type": "string"}],
                    "style": {"backgroundColor": "red"},
                }
            ]
        },
    ],
)
def test_options_of_fields_are_kept(defaults: dict[str, Any]) -> None:
    """An option of fields with the expected type is kept."""
    assert _defaults(**defaults) == defaults


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ({"unit": 1, "decimals": "1", "min": True, "max": None, "filterable": 1, "unknown": "x"}, {}),
        ({"custom": {}, "links": [], "mappings": [], "actions": []}, {}),
        ({"custom": [], "links": {}, "mappings": None, "actions": "a", "thresholds": [], "color": "red"}, {}),
        ({"color": {"fixedColor": 1}}, {"color": {"mode": ""}}),
        ({"thresholds": {}}, {"thresholds": {"mode": "", "steps": []}}),
        (
            {"thresholds": {"mode": "percentage", "steps": [{"color": "red"}, None, {"value": "5"}]}},
            {"thresholds": {"mode": "percentage", "steps": [{"value": None, "color": "red"}, {"value": None, "color": ""}]}},
        ),
        ({"mappings": [{"type": "value"}]}, {"mappings": [{"type": "value", "options": {}}]}),
        (
            {"mappings": [{"type": "value", "options": {"a": {"text": 1, "index": 1.0}, "b": None}}]},
            {"mappings": [{"type": "value", "options": {"a": {"index": 1}}}]},
        ),
        ({"mappings": [{"type": "range", "options": {"from": None, "result": {}}}, {"type": "special", "options": {}}]}, {}),
        ({"mappings": [{"type": "regex"}, {"type": 1, "options": {}}, {"type": "other", "options": {"a": {}}}, None]}, {}),
        (
            {"mappings": [{"type": "range", "options": {"from": "1"}}, {"type": "regex", "options": {}}]},
            {
                "mappings": [
                    {"type": "range", "options": {"from": None, "to": None, "result": {}}},
                    {"type": "regex", "options": {"pattern": "", "result": {}}},
                ]
            },
        ),
        ({"links": [{"url": "\ufeffu"}]}, {"links": [{"url": "u"}]}),
        (
            {
                "actions": [
                    None,
                    {"fetch": {"queryParams": [], "headers": [["a", 1], "b"]}, "confirmation": "", "style": {}, "variables": []},
                ]
            },
            {"actions": [{"type": "", "title": "", "fetch": {"method": "", "url": "", "headers": [["a"]]}, "style": {}}]},
        ),
    ],
)
def test_options_of_fields_have_their_types(defaults: dict[str, Any], expected: dict[str, Any]) -> None:
    """An option of fields that is unknown, empty or of a wrong type is left out. An incomplete option is completed."""
    assert _defaults(**defaults) == expected


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"matcher": {"id": "byName", "options": "a"}, "properties": [{"id": "unit", "value": "s"}]}, UNCHANGED),
        ({"__systemRef": "hideSeriesFrom", "matcher": {"id": "byNames", "options": {}}, "properties": []}, UNCHANGED),
        ({"matcher": {"id": "byName", "scope": "nested"}}, {"matcher": {"id": "byName"}, "properties": []}),
        ({}, {"matcher": {"id": ""}, "properties": []}),
        ({"matcher": [], "properties": [None, {"value": None}]}, {"matcher": {"id": ""}, "properties": [{"id": ""}]}),
        (
            {"matcher": {"id": "a"}, "properties": [{"id": "links", "value": ["\ufeffu"]}]},
            {"matcher": {"id": "a"}, "properties": [{"id": "links", "value": ["u"]}]},
        ),
    ],
)
def test_overrides_are_complete(override: dict[str, Any], expected: Any) -> None:
    """An override has a matcher and properties, which are empty by default. Entries that are not objects are left out."""
    converted = _visualization({"fieldConfig": {"overrides": [override, None]}})["spec"]["fieldConfig"]["overrides"]
    assert converted == [override if expected is UNCHANGED else expected]
