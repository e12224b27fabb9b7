"""The changes of a dashboard, panel by panel, in terms that users know."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.dashboard_comparison import Comparison, Detail, PanelAction, PanelChange, compare
from dashwright.common.json_documents import read_json


def panel(number: int, **settings: Any) -> dict[str, Any]:
    """Return a panel, whose id determines its title and position."""
    return {
        "id": number,
        "title": f"Panel {number}",
        "type": "timeseries",
        "gridPos": {"x": 0, "y": 8 * number, "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": "prom"},
        "targets": [{"refId": "A", "expr": "up", "legendFormat": "{{job}}"}],
        **settings,
    }


def dashboard(*panels: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a classic dashboard with these panels."""
    return {"title": "T", "panels": list(panels), **settings}


def element(number: int, expr: str = "up", **settings: Any) -> dict[str, Any]:
    """Return the panel with a number as an element of a dashboard (v2), with other values of ``settings``."""
    query = {"kind": "PanelQuery", "spec": {"refId": "A", "query": {"kind": "prometheus", "spec": {"expr": expr}}}}
    return {
        "kind": "Panel",
        "spec": {
            "id": number,
            "title": f"Panel {number}",
            "data": {"kind": "QueryGroup", "spec": {"queries": [query]}},
            "vizConfig": {"kind": "timeseries", "spec": {"fieldConfig": {"defaults": {}}, "options": {}}},
            **settings,
        },
    }


def elements(title: str = "Row", x: int = 0, **elements_by_name: Any) -> dict[str, Any]:
    """Return a dashboard with elements, all in one row with this title, at column ``x``."""
    items = [
        {"kind": "GridLayoutItem", "spec": {"x": x, "y": 0, "width": 6, "height": 4, "element": {"name": name}}}
        for name in elements_by_name
    ]
    row = {"kind": "RowsLayoutRow", "spec": {"title": title, "layout": {"kind": "GridLayout", "spec": {"items": items}}}}
    return {"title": "T", "elements": elements_by_name, "layout": {"kind": "RowsLayout", "spec": {"rows": [row]}}}


def only_change(comparison: Comparison) -> PanelChange:
    """Return the change of the only changed panel. No setting of the dashboard itself may have changed."""
    assert comparison.details == []
    assert comparison.other_names == []
    (change,) = comparison.panels
    return change


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"title": "New"}, Detail("title", "Panel 1", "New")),
        ({"type": "stat"}, Detail("type", "timeseries", "stat")),
        ({"description": "Why"}, Detail("description", "", "Why")),
        ({"targets": [{"refId": "A", "expr": "down", "legendFormat": "{{job}}"}]}, Detail("query A", "up", "down")),
        ({"targets": [{"refId": "A", "expr": "up"}]}, Detail("query A legendFormat", "{{job}}", "")),
        ({"datasource": "other"}, Detail("data source", "prom (prometheus)", "other")),
        ({"fieldConfig": {"defaults": {"unit": "bytes"}}}, Detail("unit", "", "bytes")),
        (
            {"fieldConfig": {"defaults": {"thresholds": {"steps": [{"color": "green", "value": None}, {"color": "red", "value": 80}]}}}},
            Detail("thresholds", "", "green from the start, red from 80"),
        ),
    ],
)
def test_changes_of_a_panel_have_known_names(settings: dict[str, Any], expected: Detail) -> None:
    """Settings have the names that users know, with the values before and after."""
    change = only_change(compare(dashboard(panel(1), panel(2)), dashboard(panel(1, **settings), panel(2))))
    assert change.id == "1"
    assert change.action == PanelAction.CHANGED
    assert change.details == [expected]
    assert change.other_names == []


def test_added_and_deleted_queries_are_named() -> None:
    """Added and deleted queries are named by refId, with their data source if that differs from the panel's."""
    queries = [
        {"refId": "B", "rawSql": "select 1", "datasource": {"type": "postgres", "uid": "pg"}},
        {"refId": "C", "metricId": 3},
    ]
    change = only_change(compare(dashboard(panel(1)), dashboard(panel(1, targets=queries))))
    assert change.details == [
        Detail("query B", "", "select 1"),
        Detail("query B data source", "", "pg (postgres)"),
        Detail("query C", "", '{"metricId":3}'),
        Detail("query A", "up", ""),
        Detail("query A legendFormat", "{{job}}", ""),
    ]


def test_added_deleted_and_moved_panels_are_listed_in_order() -> None:
    """Panels are in the order of the dashboard, deleted ones last; a new one is described by its content."""
    before = dashboard(panel(1), panel(2), panel(3))
    after = dashboard(panel(4), panel(1), panel(3, gridPos={"x": 12, "y": 0, "w": 12, "h": 8}))
    differences = compare(before, after)
    assert [(change.id, change.action) for change in differences.panels] == [
        ("4", PanelAction.ADDED),
        ("3", PanelAction.MOVED),
        ("2", PanelAction.REMOVED),
    ]
    assert differences.panels[0].details == [
        Detail("type", "", "timeseries"),
        Detail("data source", "", "prom (prometheus)"),
        Detail("query A", "", "up"),
    ]
    assert differences.panels[1].details == [Detail("position", "12 × 8 at 0, 24", "12 × 8 at 12, 0")]  # noqa: RUF001 - typography of a comment
    assert differences.count(PanelAction.MOVED) == 1


def test_another_library_panel_is_reported_by_name_and_uid() -> None:
    """Both the name and the UID of the other library panel are reported, so that a reader sees which one is shown instead."""
    before, after = (panel(1, libraryPanel={"uid": f"lib{number}", "name": f"Load {number}"}) for number in (1, 2))
    change = only_change(compare(dashboard(before), dashboard(after)))
    assert change.details == [Detail("library panel", "Load 1 (lib1)", "Load 2 (lib2)")]
    assert change.other_details == []


def test_settings_without_a_description_are_shown_as_json() -> None:
    """Settings without a description are named, with their JSON, so that no change of a panel is missed."""
    settings = {
        "options": {"legend": {"showLegend": False}},
        "fieldConfig": {"defaults": {"custom": {"lineWidth": 2}}, "overrides": [{}]},
        "transparent": True,
    }
    change = only_change(compare(dashboard(panel(1)), dashboard(panel(1, **settings))))
    assert change.details == []
    assert change.other_names == ["fieldConfig.defaults.custom", "fieldConfig.overrides", "options.legend", "transparent"]
    assert change.other_details[2:] == [Detail("options.legend", "", '{"showLegend":false}'), Detail("transparent", "", "true")]


#: A dashboard as text, in which NUMBER is replaced by the notation of a number.
DASHBOARD_WITH_NUMBERS = """
{
  "panels": [
    {
      "id": 1,
      "gridPos": {"x": NUMBER},
      "targets": [
        {"refId": "A", "expr": "up", "interval": NUMBER, "filter": {"above": [NUMBER]}},
        {"refId": "B", "raw": NUMBER}
      ],
      "fieldConfig": {"defaults": {"min": NUMBER, "thresholds": {"steps": [{"color": "red", "value": NUMBER}]}}}
    }
  ],
  "templating": {"list": [{"name": "v", "step": NUMBER}]}
}
"""


@pytest.mark.parametrize(
    ("before", "after"), [("4000000.0", "4000000"), ("1.10", "1.1"), ("1e3", "1000"), ("1e20", "100000000000000000000")]
)
def test_equal_numbers_are_not_a_change(before: str, after: str) -> None:
    """Numbers in another notation are equal. Numbers that differ in the last of 20 digits, and strings, are changes."""

    def dashboard_with(number: str) -> dict[str, Any]:
        tree: dict[str, Any] = read_json(DASHBOARD_WITH_NUMBERS.replace("NUMBER", number))
        return tree

    assert compare(dashboard_with(before), dashboard_with(after)) == Comparison([], [], [])
    assert compare(dashboard_with("12345678901234567890"), dashboard_with("12345678901234567891")) != Comparison([], [], [])
    assert compare(dashboard_with(f'"{before}"'), dashboard_with(f'"{after}"')) != Comparison([], [], [])


def test_changes_of_variables_and_annotations_are_named() -> None:
    """Variables and annotations are named; the current value of a variable is ignored."""
    variable = {"name": "job", "type": "query", "query": "label_values(job)"}
    before = dashboard(time={"from": "now-6h", "to": "now"}, templating={"list": [{**variable, "current": {"value": "a"}}]}, tags=["a"])
    after = dashboard(
        time={"from": "now-1h", "to": "now"},
        templating={"list": [{**variable, "current": {"value": "b"}}, {"name": "node", "type": "custom"}]},
        annotations={"list": [{"name": "Deploys", "enable": True}]},
        tags=["a", "b"],
        editable=False,
    )
    differences = compare(before, after)
    assert differences.details == [
        Detail("tags", "a", "a, b"),
        Detail("time range", "now-6h to now", "now-1h to now"),
        Detail("variable node", "", '{"type":"custom"}'),
        Detail("annotation Deploys", "", '{"enable":true}'),
    ]
    assert differences.other_names == ["editable"]


def test_panels_in_rows_are_compared() -> None:
    """Panels in collapsed rows and in the rows of old dashboards count: collapsing a row changes only the row."""
    row = {"id": 9, "type": "row", "title": "More", "collapsed": False, "panels": []}
    change = only_change(compare(dashboard(row, panel(1)), dashboard({**row, "collapsed": True, "panels": [panel(1)]})))
    assert change.title == "More"
    assert change.other_names == ["collapsed"]
    old = {"title": "T", "rows": [{"panels": [panel(1)]}]}
    assert compare(old, dashboard(panel(1))) == Comparison([], [], [])


def test_panels_without_an_id_are_matched_by_title() -> None:
    """Panels without an id are matched by title, and several with one title by their number."""
    panel_without_id = {"type": "text", "title": "Note", "options": {"content": "a"}}
    differences = compare(
        dashboard(panel_without_id, panel_without_id), dashboard(panel_without_id, {**panel_without_id, "options": {"content": "b"}})
    )
    assert [(change.id, change.details) for change in differences.panels] == [("Note (2)", [Detail("content", "a", "b")])]


def test_dashboards_with_elements_are_compared() -> None:
    """The changes of dashboards with elements have the same words, and the place names the row."""
    before = elements(a=element(1), b=element(2))
    after = elements(a=element(1, "down"), b=element(2), c=element(3))
    differences = compare(before, after)
    assert [(change.id, change.action) for change in differences.panels] == [("1", PanelAction.CHANGED), ("3", PanelAction.ADDED)]
    assert differences.panels[0].details == [Detail("query A", "up", "down")]
    moved = compare(elements(a=element(1)), elements("Other", 6, a=element(1))).panels
    assert [(change.action, change.details[0].after) for change in moved] == [
        (PanelAction.MOVED, "6 × 4 at 6, 0 in 'Other'")  # noqa: RUF001 - typography of a comment
    ]


def test_a_converted_dashboard_keeps_its_panels() -> None:
    """A panel has the same id in both forms, so the conversion of a dashboard to elements neither adds nor removes panels."""
    differences = compare(dashboard(panel(1), panel(2)), elements(a=element(1), b=element(2, "down")))
    assert not {PanelAction.ADDED, PanelAction.REMOVED} & {change.action for change in differences.panels}
    assert Detail("query A", "up", "down") in next(change for change in differences.panels if change.id == "2").details


NAMES = st.sampled_from(
    [
        *("panels", "elements", "layout", "spec", "targets", "refId", "id", "title", "data", "queries", "query", "rows"),
        *("fieldConfig", "defaults", "thresholds", "steps", "options", "content", "gridPos", "time", "element", "name"),
        *("datasource", "templating", "list", "annotations", "vizConfig", "x"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
SPECS = st.dictionaries(NAMES, JSON, max_size=4)


@given(SPECS, SPECS)
def test_any_tree_can_be_compared(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Dashboards of any structure can be compared, and each equals itself."""
    compare(before, after)
    assert compare(after, after) == Comparison([], [], [])


def test_comparing_panels_takes_linear_time() -> None:
    """Panels with equal names are compared in linear time, because any author of a pull request can have panels compared."""
    # In quadratic time, this would take a hundred million comparisons.
    nameless_panels: list[dict[str, Any]] = [{}] * 10_000
    changes = compare({}, dashboard(*nameless_panels)).panels
    assert [change.id for change in changes[:3]] == ["", " (2)", " (3)"]
    assert len({change.id for change in changes}) == 10_000


def test_long_titles_are_truncated() -> None:
    """Titles of rows and tabs are repeated for each panel in them, so a small file could otherwise exhaust memory."""
    elements_by_name = {"a": element(1), "b": element(2)}
    layout = {"title": "x" * 10_000, "items": [{"element": {"name": name}} for name in elements_by_name]}
    # Elements in an empty layout are compared, too.
    assert compare({}, {"elements": elements_by_name, "layout": {}}).panels
    moved = compare({"elements": elements_by_name}, {"elements": elements_by_name, "layout": layout})
    assert [change.action for change in moved.panels] == [PanelAction.MOVED, PanelAction.MOVED]
    assert all(len(detail.after) < 200 for change in moved.panels for detail in change.details)
