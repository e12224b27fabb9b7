"""Changes that every migration makes, for any schema version of the dashboard."""

from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.migration import migrate
from dashwright.common.conversion.migration.registry import LATEST, MIGRATIONS

_Json = dict[str, Any]


def _migrate_to_latest(dashboard: _Json) -> _Json:
    """Return a dashboard of the latest version after a migration to that version."""
    return migrate({"schemaVersion": LATEST, **dashboard}, EMPTY_CONTEXT)


def _migrate_panel(panel: _Json) -> _Json:
    """Return the only panel of a dashboard of the latest version after a migration."""
    [migrated] = _migrate_to_latest({"panels": [{"id": 1, **panel}]})["panels"]
    migrated_panel: _Json = migrated
    return migrated_panel


@pytest.mark.parametrize(
    ("version", "message"),
    [(43, "newer than 42"), (99.0, "newer than 42"), ("43", "newer than 42"), (-1, "must be at least 0"), ("-1", "must be at least 0")],
)
def test_other_schema_versions_are_refused(version: object, message: str) -> None:
    """A schema version above the latest or below 0 is refused with a message that names the bound."""
    with pytest.raises(ConversionFailed, match=message):
        migrate({"schemaVersion": version}, EMPTY_CONTEXT)


@pytest.mark.parametrize("version", [None, "", "one", True, [], {}, float("inf"), "4.5", "__1"])
def test_an_invalid_schema_version_is_the_first(version: object) -> None:
    """A dashboard with an invalid schema version is migrated from version 0, so that early members such as the crosshair move."""
    assert migrate({"schemaVersion": version, "sharedCrosshair": True}, EMPTY_CONTEXT)["graphTooltip"] == 1


def test_a_target_is_reached_step_by_step() -> None:
    """Migrations up to the target are applied, and later ones are not."""
    migrated = migrate({"schemaVersion": 38, "refresh": False, "timepicker": {"time_options": []}}, EMPTY_CONTEXT, 40)
    assert migrated["schemaVersion"] == 40
    assert migrated["refresh"] == ""
    # Version 41 would remove the time options.
    assert migrated["timepicker"] == {"time_options": []}


def test_the_last_migration_leads_to_the_latest_version() -> None:
    """The last registered migration leads to the latest version."""
    assert max(MIGRATIONS) == LATEST


def test_missing_members_are_added() -> None:
    """An empty dashboard gets every member that Grafana expects."""
    assert migrate({}, EMPTY_CONTEXT) == {
        "annotations": {
            "list": [
                {
                    "builtIn": 1,
                    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
                    "enable": True,
                    "hide": True,
                    "iconColor": "rgba(0, 211, 255, 1)",
                    "name": "Annotations & Alerts",
                    "type": "dashboard",
                }
            ]
        },
        "editable": True,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 0,
        "links": [],
        "panels": [],
        "refresh": "",
        "schemaVersion": LATEST,
        "tags": [],
        "templating": {"list": []},
        "time": {"from": "now-6h", "to": "now"},
        "timepicker": {},
        "timezone": "",
        "title": "No Title",
        "weekStart": "",
    }


@pytest.mark.parametrize("value", [None, [], {"list": None}, {}])
def test_lists_of_variables_and_annotations_are_added(value: object) -> None:
    """Variables and annotation queries are lists, even if the dashboard has none, or values of another type."""
    migrated = _migrate_to_latest({"templating": value, "annotations": value})
    assert migrated["templating"] == {"list": []}
    assert len(migrated["annotations"]["list"]) == 1


@pytest.mark.parametrize(("built_in", "count"), [(1, 1), (1.0, 1), (True, 2), (0, 2), (None, 2)])
def test_own_annotations_are_added_once(built_in: object, count: int) -> None:
    """The query of the dashboard's own annotations is added unless one of the queries has the number 1 as ``builtIn``."""
    migrated = _migrate_to_latest({"annotations": {"list": [{"name": "mine", "builtIn": built_in}]}})
    assert len(migrated["annotations"]["list"]) == count


def test_members_of_exports_and_pages_are_not_saved() -> None:
    """Members that only exports, pages or early formats have are removed, and so are some members with their default."""
    removed = {"__inputs": [], "__requires": [], "__elements": {}, "iteration": 1, "version": 3, "meta": {}, "variables": {}}
    defaults = {"id": None, "gnetId": None, "style": "dark", "hideControls": False}
    assert not _migrate_to_latest({**removed, **defaults}).keys() & {*removed, *defaults}


def test_other_members_are_kept() -> None:
    """Unknown members of a dashboard are kept, and so are values other than the defaults."""
    other_members = {"id": 7, "gnetId": 0, "style": "light", "hideControls": True, "uid": "u", "x-own": {"y": [None]}, "preload": True}
    assert _migrate_to_latest(other_members).items() >= other_members.items()


@pytest.mark.parametrize(
    ("variable", "saved"),
    [
        pytest.param({"type": "query"}, {"type": "query", "options": []}, id="query"),
        pytest.param({"type": "query", "refresh": 0}, {"type": "query", "refresh": 0}, id="query that is never refreshed"),
        pytest.param({"type": "constant", "options": [1]}, {"type": "constant"}, id="constant"),
        pytest.param({"type": "datasource", "options": [1]}, {"type": "datasource", "options": []}, id="data source"),
        pytest.param({"type": "custom", "options": [1], "index": 2}, {"type": "custom", "options": [1]}, id="custom"),
        pytest.param({"current": {"text": "a", "value": ["a", None]}}, {"current": {"text": "a"}}, id="null is selected"),
        pytest.param({"datasource": None, "sort": None, "x": [None]}, {"x": [None]}, id="nulls"),
    ],
)
def test_variables_are_saved_without_derived_members(variable: _Json, saved: _Json) -> None:
    """Options that a query determines at run time, and null members, are not saved."""
    assert _migrate_to_latest({"templating": {"list": [variable]}})["templating"]["list"] == [saved]


@pytest.mark.parametrize(
    ("panel", "saved"),
    [
        pytest.param({"gridPos": {"x": 0, "y": 0, "w": 6, "h": 3}, "title": "", "transparent": False}, {}, id="defaults"),
        pytest.param({"transparent": 0, "title": "t"}, {"transparent": 0, "title": "t"}, id="other values"),
        pytest.param({"targets": [{"refId": "A"}], "options": {}, "links": []}, {}, id="empty members"),
        pytest.param({"targets": [], "transformations": [], "fieldConfig": {}}, {}, id="empty lists"),
        pytest.param(
            {"fieldConfig": {"defaults": {"unit": "s"}}}, {"fieldConfig": {"defaults": {"unit": "s"}, "overrides": []}}, id="fields"
        ),
        pytest.param(
            {"fieldConfig": {"defaults": {"custom": None}}}, {"fieldConfig": {"defaults": {"custom": {}}, "overrides": []}}, id="custom"
        ),
        pytest.param({"fieldConfig": {"defaults": {"unit": None}, "overrides": []}}, {}, id="fields of null"),
        pytest.param({"options": {"a": None, "b": [None, {"c": None}]}}, {"options": {"b": [None, {}]}}, id="nulls"),
        pytest.param({"scopedVars": {}, "isEditing": True, "key": "k"}, {}, id="members of a page"),
        pytest.param({"type": "row", "repeat": ""}, {"type": "row"}, id="row without repetition"),
        pytest.param({"type": "table", "sort": {}, "fontSize": "9"}, {"type": "table"}, id="table"),
        pytest.param(
            {"type": "table", "sort": {}, "autoMigrateFrom": "table-old"},
            {"type": "table", "sort": {}, "autoMigrateFrom": "table-old"},
            id="old table",
        ),
        pytest.param(
            {"libraryPanel": {"uid": "l"}, "type": "stat", "title": "t"}, {"libraryPanel": {"uid": "l"}, "title": "t"}, id="library"
        ),
        pytest.param({"x-own": [1, {"y": 2}]}, {"x-own": [1, {"y": 2}]}, id="unknown member"),
    ],
)
def test_panels_are_saved_without_defaults(panel: _Json, saved: _Json) -> None:
    """A saved panel has no null members, no members of a page, and no members with their default."""
    migrated_panel = _migrate_panel(panel)
    # Only library panels are saved with a default position.
    if "libraryPanel" in panel:
        assert migrated_panel.pop("gridPos") == {"x": 0, "y": 0, "w": 6, "h": 3}
    assert migrated_panel == {"id": 1, **saved}


def test_library_panels_have_a_title_and_a_position() -> None:
    """A library panel is saved with a title and a position, and without its other null members and empty ones."""
    saved = {"id": 1, "title": "", "gridPos": {"x": 0, "y": 0, "w": 6, "h": 3}, "libraryPanel": {"uid": "l", "name": None}}
    assert _migrate_panel({"libraryPanel": {"uid": "l", "name": None}, "targets": [], "description": None}) == saved


def test_copies_of_repeated_panels_are_not_saved() -> None:
    """Panels that the repetition of a panel or of a row made are removed. Members of a repetition that are null have no effect."""
    panels = [{"id": 1, "repeatPanelId": 7}, {"id": 2, "repeatedByRow": True}, {"id": 3, "repeatPanelId": None, "repeatedByRow": None}]
    assert _migrate_to_latest({"panels": panels})["panels"] == [{"id": 3}]


def test_panels_in_rows_get_no_defaults() -> None:
    """A panel in a row keeps empty transformations, and its fields are not completed. Only null members are removed."""
    nested = {"id": 2, "transformations": [], "fieldConfig": {"defaults": {}}, "options": {"a": None}}
    row = _migrate_panel({"type": "row", "panels": [nested]})
    assert row["panels"] == [{"id": 2, "transformations": [], "fieldConfig": {"defaults": {}}}]


@pytest.mark.parametrize(
    ("ids", "unique"),
    [([None, 4, "x"], [5, 4, 6]), ([3, 3, 3], [3, 4, 5]), ([0, -1, 1], [2, 3, 1]), ([True, 1.5, 1], [2, 1.5, 1])],
)
def test_panels_get_unique_ids(ids: list[object], unique: list[object]) -> None:
    """A panel without a positive id, or with the id of an earlier panel, gets the next id above all others."""
    panels = _migrate_to_latest({"panels": [{"id": panel_id, "type": "text"} for panel_id in ids]})["panels"]
    assert [panel["id"] for panel in panels] == unique


def test_ids_are_unique_in_rows_too() -> None:
    """A panel in a row does not share its id with any other panel."""
    migrated = _migrate_to_latest({"panels": [{"id": 1, "type": "row", "panels": [{"id": 1}]}, {"id": 2}]})
    assert migrated["panels"][0]["panels"][0]["id"] == 3


def test_panels_are_sorted_by_position() -> None:
    """Panels are saved from top to bottom and from left to right. Panels with the same position keep their order.

    A panel without a position is the first.
    """
    position_by_id = {1: (5, 9), 2: (0, 9), 3: (0, 2), 4: (0, 9)}
    panels = [{"id": panel_id, "gridPos": {"x": x, "y": y}} for panel_id, (x, y) in position_by_id.items()]
    assert [panel["id"] for panel in _migrate_to_latest({"panels": [*panels, {"id": 5}]})["panels"]] == [5, 3, 2, 4, 1]


def test_queries_get_free_names() -> None:
    """A query without a name gets the first letter that no query of the panel has, and two letters after Z."""
    panel = _migrate_panel({"targets": [{}, {"refId": "B"}, {"refId": None}, *({} for _ in range(25))]})
    names = [target["refId"] for target in panel["targets"]]
    # 28 queries: two more than there are letters.
    assert names[:4] == ["A", "B", "C", "D"]
    assert names[-2:] == ["AA", "AB"]


def test_unchanged_parts_are_shared() -> None:
    """A result contains the unchanged parts of its input themselves, not copies."""
    options = {"a": {"b": [1, 2]}}
    target = {"refId": "A", "expr": "up"}
    dashboard = {"panels": [{"id": 1, "options": options, "targets": [target]}], "x-own": [1]}
    migrated = _migrate_to_latest(dashboard)
    assert migrated["panels"][0]["options"] is options
    assert migrated["panels"][0]["targets"][0] is target
    assert migrated["x-own"] is dashboard["x-own"]


def test_deeply_nested_dashboards_are_refused() -> None:
    """A dashboard that is nested too deeply for the program is refused, and is not an internal error."""
    value: object = 1
    for _ in range(5000):
        value = [value]
    with pytest.raises(ConversionFailed, match="nested too deeply"):
        _migrate_panel({"options": value})


def test_rows_in_rows_may_be_deep() -> None:
    """Hundreds of rows in rows are migrated, because a migration does not call itself for each row."""
    row: _Json = {"type": "row", "panels": []}
    for _ in range(300):
        row = {"type": "row", "panels": [row]}
    assert _migrate_to_latest({"panels": [row]})["panels"][0]["type"] == "row"
