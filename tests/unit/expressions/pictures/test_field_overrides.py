"""Field configurations: which override rules match a column, and what they change."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.display.columns import FieldSettings, columns_of
from dashwright.expressions.pictures.display_names import ColumnNames
from dashwright.expressions.pictures.field_overrides import FieldConfigs, PanelColumn, matcher_of
from dashwright.expressions.pictures.outcomes import ignored_settings_notes
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.pipeline import read_steps
from dashwright.expressions.transformations.result import transformed_for_drawing
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Value

TIME = Field("Time", FieldType.TIME, np.array([1_000_000, 2_000_000, 3_000_000], dtype=np.int64))
READS = Field("Value", FieldType.FLOAT64, np.array([1.0, 5.0, 3.0]), labels=Labels.of({"device": "sda", "kind": "reads"}))
EMPTY = Field("spare", FieldType.FLOAT64, np.full(3, np.nan), nulls=np.ones(3, dtype=np.bool_))
IDLE = Field("idle", FieldType.FLOAT64, np.array([0, 0, np.nan]))
TEXT = Field("text", FieldType.STRING, np.array(["a", "b", "c"], dtype=object))
FRAME = Frame([TIME, READS, EMPTY, IDLE, TEXT], "disk", "A")
#: The display name of ``READS``.
READS_NAME = '{device="sda", kind="reads"}'
ALL = ["Time", READS_NAME, "spare", "idle", "text"]


def columns() -> list[PanelColumn]:
    """Return the columns of ``FRAME``."""
    names = ColumnNames([FRAME])
    return [PanelColumn(field, FRAME, names) for field in FRAME.fields]


def config_of(overrides: list[Any], **defaults: Any) -> Mapping[str, Any]:
    """Return the configuration of the column ``READS`` after the override rules; ``defaults`` are those of the panel."""
    return FieldConfigs(defaults, overrides).configure(columns()[1])


def rule(id_: str, options: Any, **properties: Any) -> dict[str, Any]:
    """Return an override rule with a matcher. In names of properties, two underscores are a dot."""
    property_list = [{"id": name.replace("__", "."), "value": value} for name, value in properties.items()]
    return {"matcher": {"id": id_, "options": options}, "properties": property_list}


@pytest.mark.parametrize(
    ("id_", "options", "expected"),
    [
        ("byName", "Value", [READS_NAME]),
        ("byName", READS_NAME, [READS_NAME]),
        ("byNames", {"names": ["spare", "text"]}, ["spare", "text"]),
        ("byNames", {"mode": "exclude", "names": ["spare", "text"]}, ["Time", READS_NAME, "idle"]),
        ("byRegexp", "/READS/i", [READS_NAME]),
        ("byRegexp", "s.*", ["spare"]),
        ("byRegexp", "par", []),
        ("byRegexp", "/(/", []),
        ("byRegexp", "/", []),
        ("byRegexp", "/(a+)+$/", []),
        ("byRegexpOrNames", {"pattern": "/^sp/", "names": ["text"]}, ["spare", "text"]),
        ("byType", "number", [READS_NAME, "spare", "idle"]),
        ("byTypes", ["time", "string"], ["Time", "text"]),
        ("byFrameRefID", "A", ALL),
        ("byFrameRefID", "B", []),
        ("byValue", {"reducer": "allIsNull", "op": "gte", "value": 0}, ["spare", "text"]),
        ("byValue", {"reducer": "allIsZero"}, ["idle"]),
        ("byValue", {"reducer": "max", "op": "gt", "value": 4}, [READS_NAME]),
        ("byValue", {"reducer": "lastNotNull", "op": "eq", "value": 3}, ["Time", READS_NAME]),
        ("byValue", {"op": "gt", "value": 4}, []),
        ("numeric", None, [READS_NAME, "spare", "idle"]),
        ("time", None, ["Time"]),
        ("first", None, ["Time"]),
        ("firstTimeField", None, ["Time"]),
        ("anyMatch", [{"id": "time"}, {"id": "byName", "options": "idle"}], ["Time", "idle"]),
        ("allMatch", [{"id": "numeric"}, {"id": "byRegexp", "options": "/d/"}], [READS_NAME, "idle"]),
        ("invertMatch", {"id": "numeric"}, ["Time", "text"]),
        ("alwaysMatch", None, ALL),
        ("neverMatch", None, []),
        ("unknown", None, []),
    ],
)
def test_matchers_select_columns(id_: str, options: Any, expected: list[str]) -> None:
    """Each matcher selects columns as Grafana's does; one that is unknown, invalid or too slow selects none."""
    matches = matcher_of({"id": id_, "options": options})
    assert [column.display_name for column in columns() if matches(column)] == expected


@pytest.mark.parametrize("options", [None, 3, "x", [], {}, {"names": 4}, [{"id": 5}], {"id": "invertMatch"}])
def test_options_of_any_shape_are_accepted(options: Any) -> None:
    """Options of any shape cause no error in any matcher."""
    for id_ in ("byName", "byNames", "byRegexp", "byRegexpOrNames", "byTypes", "byValue", "anyMatch", "allMatch", "invertMatch"):
        matches = matcher_of({"id": id_, "options": options})
        assert all(matches(column) in (True, False) for column in columns())


def test_the_last_rule_wins_and_objects_are_replaced() -> None:
    """Rules apply in stored order; the object of a later rule replaces the whole object of an earlier one."""
    rules = [
        rule("numeric", None, unit="s", custom__stacking={"mode": "normal"}),
        rule("byName", "Value", unit="bytes", custom__stacking={"group": "B"}),
    ]
    config = config_of(rules, unit="short", custom={"lineWidth": 3})
    assert config["unit"] == "bytes"
    assert config["custom"] == {"lineWidth": 3, "stacking": {"group": "B"}}


def test_a_property_without_a_value_removes_the_setting() -> None:
    """An override without a value removes a setting, also a custom setting of the panel's type."""
    removal = {
        "matcher": {"id": "byName", "options": "Value"},
        "properties": [{"id": "unit"}, {"id": "decimals", "value": None}, {"id": "custom.lineWidth"}],
    }
    assert config_of([removal], unit="s", decimals=1, custom={"lineWidth": 3}) == {"custom": {}}


def test_a_new_name_is_what_later_rules_match() -> None:
    """Later rules match the new name of a column."""
    rules = [rule("byName", READS_NAME, displayName="Reads of ${__field.labels.device}"), rule("byName", "Reads of sda", unit="iops")]
    assert config_of(rules)["unit"] == "iops"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("${__field.labels.device}/${__field.labels.missing}", "sda/"),
        ("${__field.labels.__values}", "sda, reads"),
        ("${__field.labels}", 'device="sda", kind="reads"'),
        ("${__field.name} of ${__series.name}", "Value of disk"),
        ("[${__field.displayName}]", f"[{READS_NAME}]"),
        ("${__field.unknown}${__series.labels}.", "."),
        ("$device", "$device"),
    ],
)
def test_names_refer_to_the_column(template: str, expected: str) -> None:
    """References to the column and its frame are replaced; missing labels are empty."""
    assert config_of([], displayName=template)["displayName"] == expected


def test_names_refer_to_variables_of_the_dashboard() -> None:
    """Variables are replaced in display names and labels of axes, by default and in rules, but neither in matchers nor in units."""
    defaults = {"displayName": "$env", "custom": {"axisLabel": "in $env"}, "unit": "$env"}
    overrides = [rule("byName", "$env", displayName="${env}: ${__field.name}", custom__axisLabel="$env", unit="$env")]
    source = {"type": "timeseries", "fieldConfig": {"defaults": defaults, "overrides": overrides}}
    resolution = Resolution(Scope({"env": Value.of("prod")}))
    panel = read_dashboard({"panels": [source]}, resolution).panels[0]
    assert panel.defaults == {"displayName": "prod", "custom": {"axisLabel": "in prod"}, "unit": "$env"}
    assert panel.overrides == [rule("byName", "$env", displayName="prod: ${__field.name}", custom__axisLabel="prod", unit="$env")]


def test_the_data_source_precedes_defaults_but_not_rules() -> None:
    """Settings in a frame have precedence over the defaults of the panel, and rules have precedence over settings in a frame."""
    field = Field("v", FieldType.FLOAT64, np.ones(1), config={"unit": "ms", "decimals": 1})
    frame = Frame([field])
    rules = [rule("byName", "v", decimals=3)]
    config = FieldConfigs({"unit": "s", "max": 9}, rules).configure(PanelColumn(field, frame, ColumnNames([frame])))
    assert config == {"unit": "ms", "decimals": 3, "max": 9, "custom": {}}


def test_bounds_are_ordered_and_thresholds_colour() -> None:
    """A minimum above the maximum is exchanged with it, and thresholds imply their colour mode. Times have no bounds by default."""
    thresholds = {"steps": [{"color": "red", "value": None}]}
    assert config_of([], min=9, max="2", thresholds=thresholds) == {
        "min": 2,
        "max": 9,
        "thresholds": thresholds,
        "color": {"mode": "thresholds"},
        "custom": {},
    }
    time_column = columns()[0]
    assert FieldConfigs({"min": 1, "unit": "s"}, []).configure(time_column) == {"unit": "s", "custom": {}}


@pytest.mark.parametrize(
    ("defaults", "field", "expected"),
    [
        ({"decimals": 1, "min": 2, "fieldMinMax": True}, TEXT, {}),
        ({"decimals": "2", "min": "1.5px", "max": "x"}, READS, {"decimals": 2, "min": 1.5}),
        ({"mappings": [{"type": "value"}]}, TIME, {}),
        ({"mappings": [{"type": "value"}]}, TEXT, {"mappings": [{"type": "value"}]}),
        ({"noValue": 0, "displayName": 7}, TEXT, {"noValue": "0", "displayName": "7"}),
        ({"displayNameFromDS": "other", "nullValueMode": "null as zero"}, READS, {}),
        ({"color": {"fixedColor": "red"}}, READS, {"color": {"fixedColor": "red"}}),
    ],
)
def test_defaults_apply_by_property_and_type(defaults: dict[str, Any], field: Field, expected: dict[str, Any]) -> None:
    """Defaults apply to the types for which Grafana registers their property; properties that it does not register are ignored."""
    column = PanelColumn(field, FRAME, ColumnNames([FRAME]))
    assert FieldConfigs(defaults, []).configure(column) == {**expected, "custom": {}}


def test_rules_apply_to_columns_of_any_type() -> None:
    """A rule sets decimals, bounds and mappings also for columns of times and texts, for which defaults do not apply."""
    rules = [rule("alwaysMatch", None, decimals=1, min="2", mappings=[{"type": "value"}], nullValueMode="null as zero")]
    expected = {"decimals": 1, "min": 2, "mappings": [{"type": "value"}], "custom": {}}
    for field in (TIME, TEXT):
        assert FieldConfigs({}, rules).configure(PanelColumn(field, FRAME, ColumnNames([FRAME]))) == expected


def test_rules_do_not_exchange_bounds() -> None:
    """A maximum by a rule may be below the minimum by default, as in Grafana."""
    config = config_of([rule("numeric", None, max=1)], min=5, max=9)
    assert config["min"] == 5
    assert config["max"] == 1


def test_custom_properties_have_paths() -> None:
    """A rule sets or removes one member of a custom property; removing a missing one changes nothing."""
    rules = [rule("numeric", None, custom__footer__reducers=["sum"], custom__gone__x=None)]
    assert config_of(rules, custom={"footer": {"x": 1}})["custom"] == {"footer": {"x": 1, "reducers": ["sum"]}}


def test_links_of_the_data_source_precede_those_of_the_panel() -> None:
    """A column has the links of its data source and those of the panel, unless a rule replaces all of them."""
    field = Field("v", FieldType.FLOAT64, np.ones(1), config={"links": [{"title": "a"}]})
    frame = Frame([field])
    defaults = {"links": [{"title": "b"}]}

    def links(*rules: dict[str, Any]) -> Any:
        return FieldConfigs(defaults, rules).configure(PanelColumn(field, frame, ColumnNames([frame])))["links"]

    assert links() == [{"title": "a"}, {"title": "b"}]
    assert links(rule("alwaysMatch", None, links=[{"title": "c"}])) == [{"title": "c"}]


@pytest.mark.parametrize(
    ("name", "values", "expected"), [("v", [None, 1], "number"), ("v", ["a"], "string"), ("time", ["a"], "time"), ("v", [[1]], "other")]
)
def test_types_of_documents_are_guessed(name: str, values: list[Any], expected: str) -> None:
    """A column of documents has the type that its name or its first value suggests, but rules match its unknown type."""
    cells = np.empty(len(values), np.object_)
    cells[:] = values
    field = Field(name, FieldType.JSON, cells)
    frame = Frame([field])
    column = PanelColumn(field, frame, ColumnNames([frame]))
    config = FieldConfigs({}, [rule("byType", "other", unit="s")]).configure(column)
    assert column.type == expected
    assert config["unit"] == "s"


def test_default_names_apply_to_transformed_columns() -> None:
    """The default name of a panel replaces the names that transformations compose of labels."""
    frames = transformed_for_drawing([[FRAME]], read_steps([{"id": "noop"}]), Context())
    (display_columns,) = columns_of(frames, FieldSettings({"displayName": "${__field.labels.device}!"}, [], THEMES["dark"]))
    assert [column.name for column in display_columns] == ["!", "sda!", "!", "!", "!"]


def test_only_unknown_matchers_are_reported() -> None:
    """The note of a picture names the override rules that it ignores because their matcher is unknown."""
    overrides = [rule("byRegexp", "/x/", unit="s"), rule("byColour", "red", unit="s")]
    panel = read_dashboard({"panels": [{"type": "timeseries", "fieldConfig": {"defaults": {}, "overrides": overrides}}]}).panels[0]
    assert ignored_settings_notes(panel) == ["without overrides byColour"]
