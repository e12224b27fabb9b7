"""Migrations of references to data sources, and the conversion to v1."""

from typing import Any

import pytest

from dashwright.common.conversion.context import ConversionContext, DataSourceIndex, KnownDataSource
from dashwright.common.conversion.migration import migrate
from dashwright.common.conversion.migration.classic import migrate_fully
from dashwright.common.conversion.versions import convert

_Json = dict[str, Any]

_CONTEXT = ConversionContext(
    DataSourceIndex(
        [
            KnownDataSource(uid="main-uid", type="prometheus", name="Main", api_version="v1", is_default=True),
            KnownDataSource(uid="logs-uid", type="loki", name="Logs"),
        ]
    )
)
_MAIN = {"uid": "main-uid", "type": "prometheus", "apiVersion": "v1"}
_LOGS = {"uid": "logs-uid", "type": "loki"}
_MIXED = {"uid": "-- Mixed --", "type": "datasource"}


def _panel(version: int, panel: _Json) -> _Json:
    """Return a panel after the migration from the preceding schema version to ``version``."""
    migrated: _Json = migrate({"schemaVersion": version - 1, "panels": [{"id": 1, **panel}]}, _CONTEXT, version)["panels"][0]
    return migrated


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        pytest.param("Logs", _LOGS, id="name"),
        pytest.param("logs-uid", _LOGS, id="uid"),
        pytest.param("Main", _MAIN, id="with a version"),
        pytest.param("unknown", {"uid": "unknown"}, id="unknown"),
        pytest.param("$ds", {"uid": "$ds"}, id="variable"),
        pytest.param("", {}, id="empty"),
        pytest.param(_LOGS, _LOGS, id="reference"),
        pytest.param(7, 7, id="of another type"),
    ],
)
def test_names_become_references(source: object, reference: object) -> None:
    """Version 33 replaces the name or uid of a data source in panels and their queries by a reference."""
    panel = _panel(33, {"datasource": source, "targets": [{"refId": "A", "datasource": source}]})
    assert panel["datasource"] == reference
    assert panel["targets"] == [{"refId": "A", "datasource": reference}]


@pytest.mark.parametrize("source", [None, "default"])
def test_the_default_data_source_is_replaced_later(source: object) -> None:
    """Version 33 does not replace the default data source by a reference: only version 36 does."""
    panel = _panel(33, {"datasource": source, "targets": [{"refId": "A", "datasource": "default"}]})
    assert "datasource" not in panel
    assert panel["targets"] == [{"refId": "A", "datasource": "default"}]


@pytest.mark.parametrize(
    ("panel", "panel_reference", "target_references"),
    [
        pytest.param({}, _MAIN, [_MAIN], id="an empty panel"),
        pytest.param({"targets": []}, _MAIN, [_MAIN], id="no queries"),
        pytest.param({"datasource": "Logs", "targets": [{}, {"datasource": _MAIN}]}, _LOGS, [_LOGS, _MAIN], id="inherited"),
        pytest.param({"datasource": _LOGS, "targets": [{"datasource": {"type": "loki"}}]}, _LOGS, [_LOGS], id="without uid"),
        pytest.param({"datasource": _MIXED, "targets": [{}, {"datasource": "Logs"}]}, _MIXED, [_MAIN, _LOGS], id="mixed"),
        pytest.param({"targets": [{"datasource": _LOGS}]}, _LOGS, [_LOGS], id="from the query"),
        pytest.param({"targets": [{"datasource": "Logs"}]}, _LOGS, [_LOGS], id="from the name in the query"),
        pytest.param({"targets": [{"datasource": {"uid": "__expr__"}}]}, _MAIN, [{"uid": "__expr__"}], id="expression"),
    ],
)
def test_every_query_gets_a_reference(panel: _Json, panel_reference: object, target_references: list[object]) -> None:
    """Version 36 gives panels and their queries a reference, from each other or to the default data source."""
    migrated = _panel(36, panel)
    assert migrated["datasource"] == panel_reference
    assert [target["datasource"] for target in migrated["targets"]] == target_references


def test_panels_in_rows_without_queries_get_no_reference() -> None:
    """Version 36 adds no reference to a panel that is in a row and has no queries."""
    row = _panel(36, {"type": "row", "panels": [{"id": 2, "type": "text"}, {"id": 3, "targets": [{"refId": "A"}]}]})
    text, chart = row["panels"]
    assert "datasource" not in text
    assert chart["datasource"] == _MAIN


def test_annotations_and_variables_get_references() -> None:
    """Version 36 adds references to annotation queries, and to query variables whose data source is null."""
    variables = [{"type": "query", "datasource": None}, {"type": "query", "datasource": "Logs"}, {"type": "custom", "datasource": None}]
    dashboard = {"schemaVersion": 35, "annotations": {"list": [{"builtIn": 1}, {"datasource": "Logs"}]}, "templating": {"list": variables}}
    migrated = migrate(dashboard, _CONTEXT, 36)
    assert [query["datasource"] for query in migrated["annotations"]["list"]] == [_MAIN, _LOGS]
    assert [variable.get("datasource") for variable in migrated["templating"]["list"]] == [_MAIN, "Logs", None]


def test_selected_data_sources_become_references_in_v1() -> None:
    """In v1, a data source that a variable selects is an object in query variables, and in panels and their queries, also in rows."""
    panel = {"id": 1, "datasource": "$ds", "targets": [{"refId": "A", "datasource": "${ds}"}, {"refId": "B", "datasource": "Logs"}]}
    spec = {
        "schemaVersion": 42,
        "templating": {"list": [{"type": "query", "datasource": "$ds"}, {"type": "adhoc", "datasource": "$ds"}]},
        "panels": [panel, {"id": 2, "type": "row", "panels": [{**panel, "id": 3}]}],
    }
    converted = migrate_fully(spec, _CONTEXT)
    assert [variable["datasource"] for variable in converted["templating"]["list"]] == [{"uid": "$ds"}, "$ds"]
    for converted_panel in (converted["panels"][0], converted["panels"][1]["panels"][0]):
        assert converted_panel["datasource"] == {"uid": "$ds"}
        assert [target["datasource"] for target in converted_panel["targets"]] == [{"uid": "${ds}"}, "Logs"]


@pytest.mark.parametrize("target", ["v1", "v1beta1"])
def test_the_conversion_from_v0alpha1_to_v1_is_a_migration(target: str) -> None:
    """The conversion from v0alpha1 to v1, or to its alias v1beta1, migrates a dashboard. The conversion back is a copy."""
    spec = {"schemaVersion": 39, "refresh": False}
    converted = convert(spec, "v0alpha1", target, _CONTEXT)
    assert converted == migrate_fully(spec, _CONTEXT)
    assert convert(converted, target, "v0alpha1", _CONTEXT) == converted
