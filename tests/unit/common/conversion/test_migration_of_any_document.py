"""Laws of the migration of any JSON document, even one that is not a dashboard."""

import copy
import string
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.conversion.context import ConversionContext, DataSourceIndex, KnownDataSource
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.migration import migrate
from dashwright.common.conversion.migration.classic import migrate_fully
from dashwright.common.conversion.migration.pipeline import schema_version
from dashwright.common.conversion.migration.registry import LATEST

_CONTEXT = ConversionContext(DataSourceIndex([KnownDataSource(uid="main-uid", type="prometheus", name="main", is_default=True)]))

_FIELDS: Final = {
    "defaults": {
        "custom": {"axisPlacement": "hidden", "displayMode": "lcd-gauge"},
        "mappings": [
            {"type": 1, "value": "1", "text": "7"},
            {"type": 2, "from": "1", "to": "2", "text": "x"},
            {"type": "value", "options": {}},
        ],
        "thresholds": {"steps": [{"color": "green", "value": None}, {"color": "red", "value": 5}]},
    },
    "overrides": [
        {
            "matcher": {"id": "byName", "options": "a"},
            "properties": [
                {"id": "custom.displayMode", "value": "basic"},
                {"id": "custom.hideFrom", "value": {"viz": True}},
                {"id": "mappings", "value": [{"type": 1, "value": None, "text": "x"}]},
            ],
        }
    ],
}
#: A panel with everything that a migration changes. Hypothesis chooses its type.
_PANEL: Final = {
    "id": 3,
    "type": "timeseries",
    "title": None,
    "datasource": "main",
    "gridPos": {"x": 0, "y": 4, "w": 6, "h": 3},
    "span": 6,
    "minSpan": 4,
    "height": "200px",
    "thresholds": "1,2,3",
    "styles": [{"thresholds": [1, 2, 3], "align": "left"}],
    "fieldConfig": _FIELDS,
    "options": {
        "legend": {"displayMode": "hidden"},
        "tooltipOptions": {"mode": "multi"},
        "dataLinks": [{"url": "?a=$__series_name"}],
        "fieldOptions": {"defaults": {"title": "__field_name", "links": [{"url": "?a=__series.labels.x"}]}},
    },
    "options-gauge": {"unit": "s", "thresholds": [1, 2]},
    "links": [{"dashboard": "A b", "keepTime": True, "params": "x=1"}],
    "xaxis": {"mode": "series"},
    "legend": {"values": True},
    "transformations": [{"id": "labelsToFields"}, {"id": "timeSeriesTable", "options": {"refIdToStat": {"A": "mean"}}}],
    "targets": [
        {"dimensions": {}, "namespace": "n", "region": "r", "metricName": "m", "statistics": ["Sum", "Average"], "datasource": "$ds"},
        {"fields": [{"name": "v", "func": "mean"}], "tags": [], "groupBy": [{"type": "time", "interval": "1m"}], "fill": "null"},
        {"refId": "B", "datasource": None},
    ],
}
_DASHBOARD: Final = {
    "schemaVersion": 0,
    "title": "x",
    "services": {"filter": {"time": {"from": "now-1h"}, "list": [{"name": "f", "type": "filter"}]}},
    "pulldowns": [{"type": "annotations", "annotations": [{"name": "a", "datasource": "main"}]}],
    "nav": [{"now": True, "time_options": ["5m"]}],
    "annotations": {
        "list": [{"name": "c", "dimensions": {}, "namespace": "n", "region": "r", "prefixMatching": False, "statistics": ["Sum", None]}]
    },
    "templating": {
        "list": [
            {"name": "q", "type": "query", "refresh": True, "multi": True, "current": {"text": "a", "value": "a"}, "datasource": None},
            {"name": "c", "type": "constant", "query": "eu", "hide": 0, "tags": ["t"], "hideLabel": True},
        ]
    },
    "panels": [_PANEL, {"id": 1, "type": "row", "gridPos": {"y": 1}, "panels": [_PANEL, {"repeatPanelId": 4}]}, {"repeatPanelId": 3}],
    "rows": [{"collapse": True, "height": "250px", "panels": [_PANEL]}, {"showTitle": True, "title": "r", "panels": [_PANEL, {}]}],
}
_TYPES: Final = ("graph", "row", "singlestat", "table", "text2", "timeseries", "table-old", "gauge")

# Names and values that migrations distinguish, and any others.
_texts = st.sampled_from(("", "1", "default", "$ds", "null", "row", "table", "query", "-- Mixed --", "250px")) | st.text(
    string.printable, max_size=4
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _texts
_junk = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=6)


@st.composite
def _dashboards(draw: st.DrawFn) -> dict[str, Any]:
    """Return dashboards of any schema version, with junk in some places."""
    dashboard: dict[str, Any] = copy.deepcopy(_DASHBOARD)
    dashboard["schemaVersion"] = draw(st.integers(0, LATEST))
    panel, row_panel, _ = dashboard["panels"]
    _, row = dashboard["rows"]
    for varied_panel in (panel, row_panel["panels"][0], row["panels"][0]):
        varied_panel["type"] = draw(st.sampled_from(_TYPES))
    for _ in range(draw(st.integers(0, 8))):
        _change(draw, dashboard)
    return dashboard


def _change(draw: st.DrawFn, container: Any) -> None:
    """Replace, remove or add one member at any depth of a document."""
    # At each level, the change usually concerns one of the inner members.
    while container and draw(st.integers(0, 5)):
        names = list(container) if isinstance(container, dict) else list(range(len(container)))
        name = draw(st.sampled_from(names))
        has_members = isinstance(container[name], dict | list)
        if not has_members or draw(st.integers(0, 4)) == 0:
            container[name] = draw(_junk)
            return
        container = container[name]
    if isinstance(container, list):
        container.append(draw(_junk))
    elif container and draw(st.booleans()):
        del container[draw(st.sampled_from(list(container)))]
    else:
        container[draw(_texts)] = draw(_junk)


def _sort_members(value: Any) -> Any:
    """Return a document whose members are in the order of their names, so that texts of equal documents are equal, NaN included."""
    if isinstance(value, dict):
        return {name: _sort_members(value[name]) for name in sorted(value)}
    return [_sort_members(item) for item in value] if isinstance(value, list) else value


# Few random changes reach the same migration, so many examples are needed.
@settings(max_examples=1000, deadline=None)
@given(_dashboards())
def test_any_document_can_be_migrated(dashboard: dict[str, Any]) -> None:
    """Any document with a valid schema version is migrated to the latest version, and is not changed itself.

    A second migration changes nothing.
    """
    before = copy.deepcopy(dashboard)
    if schema_version(dashboard) not in range(LATEST + 1):
        with pytest.raises(ConversionFailed):
            migrate(dashboard, _CONTEXT)
        return
    migrated = migrate(dashboard, _CONTEXT)
    # Texts are compared, because NaN differs from itself.
    assert repr(dashboard) == repr(before)
    assert migrated["schemaVersion"] == LATEST
    # The further changes of ``migrate_fully`` are made to the result only, too.
    migrate_fully(dashboard, _CONTEXT)
    assert repr(dashboard) == repr(before)
    result = repr(migrated)
    migrated_twice = migrate(migrated, _CONTEXT)
    assert repr(migrated) == result
    assert repr(_sort_members(migrated_twice)) == repr(_sort_members(migrated))


@pytest.mark.parametrize("member", ["panels", "rows"])
def test_panels_at_any_depth_are_not_changed(member: str) -> None:
    """A migration does not change its argument, not even the panels in rows of the dashboard or in rows of rows."""
    nested = {"type": "row", "panels": [{"type": "row", "panels": [copy.deepcopy(_PANEL)]}]}
    dashboard = {"schemaVersion": 0, member: [nested]}
    before = copy.deepcopy(dashboard)
    migrate(dashboard, _CONTEXT)
    assert dashboard == before


def test_a_large_dashboard_can_be_migrated() -> None:
    """Thousands of panels without ids receive ids in their order, and are then sorted by their position, here from last to first."""
    panels = [{**_PANEL, "id": None, "gridPos": {"x": 0, "y": -index}} for index in range(3000)]
    migrated = migrate({"schemaVersion": 20, "panels": panels}, _CONTEXT)
    assert [panel["id"] for panel in migrated["panels"]] == list(range(3000, 0, -1))
