"""Panels, their queries and their field settings after the conversion from elements (v2) to the classic form."""

from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.elements_to_classic import elements_to_classic
from dashwright.common.conversion.failures import ConversionFailed

Tree = dict[str, Any]


def query(kind: str = "prometheus", source: Any = None, spec: Any = None, **members: Any) -> Tree:
    """Return a query of a panel, with its data source if one is given."""
    query_spec: Tree = {"refId": "A", "hidden": False, "query": {"kind": kind, "spec": spec or {}}, **members}
    return {"kind": "PanelQuery", "spec": query_spec | ({"datasource": source} if source is not None else {})}


def element(*queries: Tree, data: Tree | None = None, viz: Tree | None = None, **members: Any) -> Tree:
    """Return a panel with queries.

    ``data``, ``viz`` and ``members`` replace members of the spec of its data, of its visualization and of the panel itself.
    """
    group = {"kind": "QueryGroup", "spec": {"queries": list(queries), "transformations": [], "queryOptions": {}, **(data or {})}}
    config = {
        "kind": "timeseries",
        "spec": {"pluginVersion": "", "options": {}, "fieldConfig": {"defaults": {}, "overrides": []}, **(viz or {})},
    }
    return {"kind": "Panel", "spec": {"id": 1, "title": "P", "description": "", "links": [], "data": group, "vizConfig": config, **members}}


def panel_of(element: Any) -> Tree:
    """Return the classic panel of a dashboard with one element."""
    reference = {"kind": "ElementReference", "name": "e"}
    items = [{"kind": "GridLayoutItem", "spec": {"x": 1, "y": 2, "width": 3, "height": 4, "element": reference}}]
    spec = {"elements": {"e": element}, "layout": {"kind": "GridLayout", "spec": {"items": items}}}
    panel: Tree
    (panel,) = elements_to_classic(spec, EMPTY_CONTEXT)["panels"]
    return panel


def test_a_plain_panel_has_its_required_members_only() -> None:
    """A plain panel has its required members only, without empty settings, descriptions and links."""
    assert panel_of(element()) == {
        "id": 1,
        "title": "P",
        "type": "timeseries",
        "pluginVersion": "",
        "options": {},
        "targets": [],
        "gridPos": {"x": 1, "y": 2, "w": 3, "h": 4},
    }


@pytest.mark.parametrize(
    "incomplete", [{"kind": "Panel"}, {"kind": "Panel", "spec": {"title": None, "data": {"spec": None}, "vizConfig": {}}}]
)
def test_missing_members_have_defaults(incomplete: Tree) -> None:
    """Missing members have defaults, and null counts as missing."""
    assert panel_of(incomplete) == {
        "id": 0,
        "title": "",
        "type": "",
        "pluginVersion": "",
        "targets": [],
        "gridPos": {"x": 1, "y": 2, "w": 3, "h": 4},
    }


def test_a_panel_keeps_what_is_set() -> None:
    """Description, links, transparency and query options keep their values. Options of null, and ``timeCompare``, are left out."""
    links = [{"title": "L", "url": "/x"}, {"title": "M", "url": "/y", "targetBlank": True}]
    options = {"maxDataPoints": 5, "interval": "1m", "queryCachingTTL": 3, "timeFrom": "1h"}
    all_options = {**options, "timeShift": None, "timeCompare": "1d"}
    panel = panel_of(element(data={"queryOptions": all_options}, description="D", links=links, transparent=False))
    assert panel["links"] == links
    assert panel["description"] == "D"
    assert panel["transparent"] is False
    assert {name: panel[name] for name in all_options if name in panel} == options


def test_a_library_panel_refers_to_its_body() -> None:
    """A library panel keeps its id and title in the dashboard, and the uid and name by which it refers to its body."""
    panel = panel_of({"kind": "LibraryPanel", "spec": {"id": 7, "title": "T", "libraryPanel": {"uid": "u", "name": "N"}}})
    del panel["gridPos"]
    assert panel == {
        "id": 7,
        "title": "T",
        "type": "library-panel-ref",
        "libraryPanel": {"uid": "u", "name": "N"},
    }


@pytest.mark.parametrize(
    ("query", "target"),
    [
        (query(spec={"expr": "up", "refId": "Z"}), {"expr": "up", "refId": "A", "datasource": {"type": "prometheus"}}),
        (query(hidden=True), {"refId": "A", "hide": True, "datasource": {"type": "prometheus"}}),
        (query(refId=None), {"refId": "", "datasource": {"type": "prometheus"}}),
        (query("", spec={"__legacyStringValue": "up"}), {"refId": "A", "query": "up"}),
        (query("", spec={"__legacyStringValue": 1, "query": "q"}), {"refId": "A", "query": "q"}),
        (query("loki", {"uid": "u"}), {"refId": "A", "datasource": {"uid": "u", "type": "loki"}}),
        (query("loki", {"uid": "u", "type": "tempo"}), {"refId": "A", "datasource": {"uid": "u", "type": "tempo"}}),
        (query("loki", {"uid": "u", "type": ""}), {"refId": "A", "datasource": {"uid": "u", "type": ""}}),
        (query("loki", {"uid": "", "type": "tempo"}), {"refId": "A", "datasource": {"type": "loki"}}),
        (query("", {"uid": "u"}), {"refId": "A", "datasource": {"uid": "u"}}),
    ],
)
def test_queries_become_targets(query: Tree, target: Tree) -> None:
    """A query becomes a target. If its data source has no type, the type is the kind of the query."""
    assert panel_of(element(query))["targets"] == [target]


MIXED = {"type": "mixed", "uid": "-- Mixed --"}


@pytest.mark.parametrize(
    ("queries", "source"),
    [
        ([], None),
        ([query("")], None),
        ([query("loki")], {"type": "loki"}),
        ([query("loki", {"uid": "u"}), query("loki", {"uid": "u", "type": "loki"})], {"type": "loki", "uid": "u"}),
        ([query("loki", {"uid": "u"}), query("loki", {"uid": "v"})], MIXED),
        ([query("loki", {"uid": "u"}), query("tempo", {"uid": "u"})], MIXED),
        ([query("loki", {"uid": "u"}), query("loki")], MIXED),
        ([query("datasource", {"uid": "-- Dashboard --"})], {"type": "datasource", "uid": "-- Dashboard --"}),
        ([query("x", {"uid": "-- Dashboard --"})], {"type": "datasource", "uid": "-- Dashboard --"}),
        ([query("datasource", {"uid": "-- Dashboard --"}), query("datasource", {"uid": "-- Dashboard --"})], MIXED),
    ],
)
def test_a_panel_has_the_common_data_source_of_its_queries(queries: list[Tree], source: Tree | None) -> None:
    """A panel has the data source that all of its queries have.

    It is mixed if queries have different data sources, or if several queries read results of other panels.
    """
    assert panel_of(element(*queries)).get("datasource") == source


def test_transformations_keep_ids_options_and_filters() -> None:
    """Transformations keep ids, options and filters. Their topic, and the scope of a filter, have no classic form."""
    full = {
        "id": "t",
        "options": {"a": 1},
        "disabled": False,
        "filter": {"id": "byName", "options": "x", "scope": "series"},
        "topic": "series",
    }
    transformations = [{"kind": "t", "spec": full}, {"kind": "u", "spec": {"id": "u"}}]
    assert panel_of(element(data={"transformations": transformations}))["transformations"] == [
        {"id": "t", "options": {"a": 1}, "disabled": False, "filter": {"id": "byName", "options": "x"}},
        {"id": "u", "options": None},
    ]


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ({}, None),
        ({"unit": "s", "unknown": 1}, {"unit": "s"}),
        ({"unit": "s", "min": None, "links": [], "custom": {}}, {"unit": "s", "links": [], "custom": {}}),
        ({"actions": [], "noValue": "-"}, {"noValue": "-"}),
        ({"actions": [{"title": "A"}]}, {"actions": [{"title": "A"}]}),
        (
            {"thresholds": {"mode": "absolute", "steps": [{"color": "red"}, {"color": "blue", "value": 1}]}},
            {"thresholds": {"mode": "absolute", "steps": [{"color": "red", "value": None}, {"color": "blue", "value": 1}]}},
        ),
        (
            {"mappings": [{"type": "range", "options": {"from": None, "to": 1, "result": {}}}, {"type": "value", "options": {}}]},
            {"mappings": [{"type": "range", "options": {"to": 1, "result": {}}}, {"type": "value", "options": {}}]},
        ),
    ],
)
def test_field_settings_have_the_known_members(defaults: Tree, expected: Tree | None) -> None:
    """Field settings have only known members. Open ends of ranges are not written, and a threshold without a value has null."""
    field_config = panel_of(element(viz={"fieldConfig": {"defaults": defaults, "overrides": []}})).get("fieldConfig")
    assert field_config == (None if expected is None else {"defaults": expected})


def test_overrides_lose_the_scope_of_their_matcher() -> None:
    """Overrides lose the scope of their matcher. Their missing options and values are null."""
    overrides = [
        {"__systemRef": "r", "matcher": {"id": "byName", "options": "a", "scope": "series"}, "properties": [{"id": "unit"}]},
        {"matcher": {"id": "byType"}, "properties": []},
    ]
    assert panel_of(element(viz={"fieldConfig": {"overrides": overrides}}))["fieldConfig"]["overrides"] == [
        {"__systemRef": "r", "matcher": {"id": "byName", "options": "a"}, "properties": [{"id": "unit", "value": None}]},
        {"matcher": {"id": "byType", "options": None}, "properties": []},
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"kind": "Chart"}, "element 'e': kind 'Chart' is unknown; use 'Panel' or 'LibraryPanel'"),
        ({"kind": "Panel", "spec": 1}, "element 'e': 'spec' is a number; it must be an object"),
        (element(id="1"), "element 'e': 'id' is a string; it must be a number"),
        (element({"spec": {"query": []}}), "element 'e': 'query' is a list; it must be an object"),
        (element(viz={"fieldConfig": {"defaults": "no"}}), "element 'e': 'defaults' is a string; it must be an object"),
        ([], "'e' is a list; it must be an object"),
    ],
)
def test_broken_panels_fail_with_their_name(broken: Any, message: str) -> None:
    """The error of a broken panel names the element and the member."""
    with pytest.raises(ConversionFailed) as caught:
        panel_of(broken)
    assert message in caught.value.message
