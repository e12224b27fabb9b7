"""Migrations that change members of the dashboard itself, its variables and its layout, one schema version at a time."""

from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.migration import migrate

_Json = dict[str, Any]


def _migrate_to(version: int, dashboard: _Json) -> _Json:
    """Return a dashboard after the migration from the preceding schema version to ``version``."""
    return migrate({"schemaVersion": version - 1, **dashboard}, EMPTY_CONTEXT, version)


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        pytest.param(2, {"services": {"filter": {"time": {"from": "now-1h"}}}}, {"time": {"from": "now-1h"}}, id="time range"),
        pytest.param(7, {"nav": [{"now": True}, {"now": False}]}, {"timepicker": {"now": True}}, id="time picker"),
        pytest.param(14, {"sharedCrosshair": True}, {"graphTooltip": 1}, id="shared crosshair"),
        pytest.param(14, {"graphTooltip": 2}, {"graphTooltip": 0}, id="no shared crosshair"),
        pytest.param(40, {"refresh": False}, {"refresh": ""}, id="refresh is off"),
        pytest.param(40, {"refresh": "5s"}, {"refresh": "5s"}, id="refresh is a text"),
        pytest.param(41, {"timepicker": {"time_options": ["5m"], "hidden": True}}, {"timepicker": {"hidden": True}}, id="time options"),
    ],
)
def test_members_of_early_formats_move(version: int, before: _Json, after: _Json) -> None:
    """Each member of an early format moves to the member that replaces it."""
    migrated = _migrate_to(version, before)
    assert migrated.items() >= after.items()
    assert not migrated.keys() & {"services", "nav", "sharedCrosshair"}


def test_annotation_queries_of_pulldowns_are_moved() -> None:
    """The queries of the first member of ``pulldowns`` with annotations are appended to the annotation queries of the dashboard."""
    pulldowns = [{"type": "filtering"}, {"type": "annotations", "annotations": [{"name": "deployments"}]}]
    migrated = _migrate_to(6, {"pulldowns": pulldowns})
    assert [query["name"] for query in migrated["annotations"]["list"]] == ["Annotations & Alerts", "deployments"]
    assert "pulldowns" not in migrated


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [
        pytest.param(6, {"type": "filter"}, {"type": "query", "options": []}, id="6: filter"),
        pytest.param(6, {"type": "custom", "allFormat": None}, {"type": "custom"}, id="6: format of all"),
        pytest.param(12, {"refresh": True}, {"refresh": 1}, id="12: refresh"),
        pytest.param(12, {"refresh": False}, {"refresh": 0}, id="12: no refresh"),
        pytest.param(12, {"hideVariable": True}, {"hideVariable": True, "hide": 2}, id="12: hidden"),
        pytest.param(12, {"hideLabel": True}, {"hideLabel": True, "hide": 1}, id="12: without label"),
        pytest.param(
            23,
            {"multi": True, "current": {"value": "a", "text": "A"}},
            {"multi": True, "current": {"value": ["a"], "text": ["A"]}},
            id="23: several values",
        ),
        pytest.param(
            23,
            {"multi": False, "current": {"value": ["a", "b"], "text": []}},
            {"multi": False, "current": {"value": "a", "text": ""}},
            id="23: one value",
        ),
        pytest.param(
            27,
            {"type": "constant", "query": "eu", "hide": 0},
            {
                "type": "textbox",
                "query": "eu",
                "hide": 0,
                "current": {"selected": True, "text": "eu", "value": "eu"},
                "options": [{"selected": True, "text": "eu", "value": "eu"}],
            },
            id="27: visible constant",
        ),
        pytest.param(
            27,
            {"type": "constant", "query": "eu", "hide": 2},
            {"type": "constant", "query": "eu", "hide": 2, "current": {"selected": True, "text": "eu", "value": "eu"}},
            id="27: hidden constant",
        ),
        pytest.param(28, {"tags": [], "tagsQuery": "q", "useTags": False}, {"useTags": False}, id="28: tags"),
        pytest.param(
            29,
            {"type": "query", "refresh": 0, "options": [{"value": "a"}]},
            {"type": "query", "refresh": 1, "options": []},
            id="29: never refreshed",
        ),
        pytest.param(29, {"type": "query", "refresh": 2}, {"type": "query", "refresh": 2, "options": []}, id="29: refreshed"),
        pytest.param(29, {"type": "custom"}, {"type": "custom"}, id="29: no query"),
    ],
)
def test_variables_are_upgraded(version: int, before: _Json, after: _Json) -> None:
    """Each old member of a variable is replaced by the member that the schema version has instead."""
    assert _migrate_to(version, {"templating": {"list": [before]}})["templating"]["list"] == [after]


def _rows(*rows: _Json) -> list[_Json]:
    """Return the panels that replace rows."""
    migrated = _migrate_to(16, {"rows": list(rows)})
    assert "rows" not in migrated
    panels: list[_Json] = migrated["panels"]
    assert not any("span" in panel for panel in panels)
    return panels


def _grid_position(panel: _Json) -> tuple[int, int, int, int]:
    """Return column, line, width and height of a panel."""
    position = panel["gridPos"]
    return position["x"], position["y"], position["w"], position["h"]


@pytest.mark.parametrize(
    ("panels", "expected_positions"),
    [
        pytest.param([{"span": 6}, {"span": 6}], [(0, 0, 12, 7), (12, 0, 12, 7)], id="side by side"),
        pytest.param([{"span": 12}, {"span": 4}, {"span": 8}], [(0, 0, 24, 7), (0, 7, 8, 7), (8, 7, 16, 7)], id="next line"),
        pytest.param([{}, {"span": 0}], [(0, 0, 8, 7), (8, 0, 8, 7)], id="default span"),
        pytest.param([{"span": "3", "height": "380px"}], [(0, 0, 6, 10)], id="height of its own"),
        pytest.param([{"span": 6, "height": 100}, {"span": 6, "height": 100}], [(0, 0, 12, 3), (12, 0, 12, 3)], id="low panels"),
        pytest.param([{"span": 40}], [(0, 7, 80, 7)], id="wider than the grid"),
    ],
)
def test_panels_of_a_row_fill_the_grid(panels: list[_Json], expected_positions: list[tuple[int, int, int, int]]) -> None:
    """A unit of ``span`` is two columns, a row without a height has 250 pixels, and a panel that does not fit starts a line."""
    assert [_grid_position(panel) for panel in _rows({"panels": panels})] == expected_positions


def test_rows_follow_each_other_without_titles() -> None:
    """Rows follow each other without row panels if no row is collapsed, repeated or shows its title."""
    panels = _rows({"panels": [{"span": 12}]}, {"height": 90, "panels": [{"span": 12}]})
    assert [(_grid_position(panel), panel.get("type")) for panel in panels] == [((0, 0, 24, 7), None), ((0, 7, 24, 3), None)]


def test_rows_follow_each_other_with_titles() -> None:
    """If any row shows its title, each row has a row panel, which takes one line above the panels of its row."""
    rows: list[_Json] = [{"showTitle": True, "panels": [{"id": 1}]}, {"panels": [{"id": 2}]}]
    # The row panels have the free ids 3 and 4. Each panel has the default height of 7 lines.
    assert [(panel["id"], panel["gridPos"]["y"]) for panel in _rows(*rows)] == [(3, 0), (1, 1), (4, 8), (2, 9)]


def test_panels_of_expanded_rows_are_completed() -> None:
    """Panels of an expanded row get missing names of queries and missing overrides. Panels of a collapsed row do not."""
    panel = {"targets": [{"expr": "up"}], "fieldConfig": {"defaults": {"unit": "s"}}}
    (panel_of_expanded_row,) = _rows({"panels": [panel]})
    assert panel_of_expanded_row["targets"] == [{"expr": "up", "refId": "A"}]
    assert "overrides" in panel_of_expanded_row["fieldConfig"]
    (collapsed_row,) = _rows({"collapse": True, "panels": [panel]})
    (panel_of_collapsed_row,) = collapsed_row["panels"]
    assert panel_of_collapsed_row["targets"] == [{"expr": "up"}]
    assert "overrides" not in panel_of_collapsed_row["fieldConfig"]


def test_smallest_spans_are_doubled() -> None:
    """The smallest span of a repeated panel is counted in columns of the grid, and is not wider than the grid."""
    assert [panel["minSpan"] for panel in _rows({"panels": [{"minSpan": 2}, {"minSpan": 20}]})] == [4, 24]


def test_a_collapsed_row_contains_its_panels() -> None:
    """If any row is collapsed, every row becomes a row panel. A collapsed row contains its panels and takes one line."""
    collapsed, expanded, panel = _rows(
        {"collapse": True, "title": "hidden", "panels": [{"id": 8}]},
        {"title": "shown", "repeat": "host", "panels": [{"id": 9}]},
    )
    assert collapsed["title"] == "hidden"
    assert collapsed["collapsed"] is True
    assert [nested["id"] for nested in collapsed["panels"]] == [8]
    assert expanded["title"] == "shown"
    assert expanded["repeat"] == "host"
    assert expanded["gridPos"]["y"] == 1
    assert panel["id"] == 9
    assert panel["gridPos"]["y"] == 2
    # The ids of row panels follow the highest id of a panel.
    assert sorted([collapsed["id"], expanded["id"]]) == [10, 11]


def test_copies_of_repeated_rows_are_dropped() -> None:
    """A copy that the repetition of a row made is dropped with its panels."""
    assert [panel["id"] for panel in _rows({"panels": [{"id": 1}]}, {"repeatIteration": 7, "panels": [{"id": 2}]})] == [1]


def test_panels_of_rows_never_take_an_id_in_use() -> None:
    """Panels outside of rows, panels in rows and row panels have different ids."""
    migrated = _migrate_to(16, {"panels": [{}], "rows": [{"showTitle": True, "panels": [{"id": 5}, {"id": 5}]}]})
    ids = [panel["id"] for panel in migrated["panels"]]
    # The panel outside of rows, the row panel, and the two panels in the row.
    assert len(ids) == 4
    assert len(set(ids)) == 4


def test_copies_of_repeated_panels_are_dropped() -> None:
    """Copies that the repetition of a panel made are dropped, also from rows. A panel whose ``repeatPanelId`` is null is not a copy."""
    row = {"id": 3, "type": "row", "panels": [{"id": 4, "repeatPanelId": 1}, {"id": 5}]}
    migrated = _migrate_to(27, {"panels": [{"id": 1, "repeatPanelId": None}, {"id": 2, "repeatPanelId": 1}, row]})
    assert [panel["id"] for panel in migrated["panels"]] == [1, 3]
    assert [panel["id"] for panel in migrated["panels"][1]["panels"]] == [5]
