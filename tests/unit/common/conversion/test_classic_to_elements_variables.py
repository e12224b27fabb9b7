"""Variables and annotation queries of classic dashboards after the conversion to elements (v2)."""

from typing import Any

import pytest

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import ConversionContext, DataSourceIndex, KnownDataSource

CONTEXT = ConversionContext(
    DataSourceIndex(
        [KnownDataSource(uid="p1", type="prometheus", name="Metrics", is_default=True), KnownDataSource(uid="l1", type="loki", name="Logs")]
    )
)
# The expected value of a member that the converted dashboard does not have.
ABSENT = object()
# The expected value of a case whose converted value is equal to the classic value.
UNCHANGED = object()
EMPTY_OPTION = {"text": "", "value": ""}
# Sort orders with a classic number. The position of a name is its number.
NUMBERED_SORTS = ("disabled", "alphabeticalAsc", "alphabeticalDesc", "numericalAsc", "numericalDesc")
# Sort orders without a classic number.
NAMED_SORTS = ("alphabeticalCaseInsensitiveAsc", "alphabeticalCaseInsensitiveDesc", "naturalAsc", "naturalDesc")


def _variables(*variables: Any) -> list[Any]:
    """Return classic variables after the conversion."""
    converted: list[Any] = classic_to_elements({"templating": {"list": list(variables)}}, CONTEXT)["variables"]
    return converted


def _annotation(annotation: dict[str, Any]) -> Any:
    """Return a classic annotation query after the conversion. An entry that is not an object is left out."""
    (query,) = classic_to_elements({"annotations": {"list": [annotation, None]}}, CONTEXT)["annotations"]
    assert query["kind"] == "AnnotationQuery"
    return query["spec"]


@pytest.mark.parametrize(
    ("classic_type", "kind", "expected"),
    [
        (
            "query",
            "QueryVariable",
            {
                "current": EMPTY_OPTION,
                "refresh": "never",
                "query": {"kind": "prometheus", "spec": {}},
                "regex": "",
                "sort": "disabled",
                "options": [],
                "multi": False,
                "includeAll": False,
                "allowCustomValue": True,
            },
        ),
        (
            "datasource",
            "DatasourceVariable",
            {
                "pluginId": "prometheus",
                "refresh": "never",
                "regex": "",
                "current": EMPTY_OPTION,
                "options": [],
                "multi": False,
                "includeAll": False,
                "allowCustomValue": True,
            },
        ),
        (
            "custom",
            "CustomVariable",
            {"query": "", "current": EMPTY_OPTION, "options": [], "multi": False, "includeAll": False, "allowCustomValue": True},
        ),
        ("constant", "ConstantVariable", {"query": "", "current": EMPTY_OPTION}),
        ("textbox", "TextVariable", {"query": "", "current": EMPTY_OPTION}),
        (
            "interval",
            "IntervalVariable",
            {
                "query": "",
                "current": EMPTY_OPTION,
                "options": [],
                "auto": False,
                "auto_min": "",
                "auto_count": 0,
                "refresh": "onTimeRangeChanged",
            },
        ),
        ("switch", "SwitchVariable", {"current": "false", "enabledValue": "true", "disabledValue": "false"}),
        ("adhoc", "AdhocVariable", {"baseFilters": [], "filters": [], "defaultKeys": [], "allowCustomValue": True}),
        ("groupby", "GroupByVariable", {"current": EMPTY_OPTION, "options": [], "multi": True}),
    ],
)
def test_each_type_of_variable_is_complete(classic_type: str, kind: str, expected: dict[str, Any]) -> None:
    """A variable of each type has each required member, even if the classic variable has none of them."""
    common = {"name": "", "hide": "dontHide", "skipUrlSync": False}
    assert _variables({"type": classic_type}) == [{"kind": kind, "spec": {**common, **expected}}]


@pytest.mark.parametrize("variable", [None, "query", {}, {"type": "other"}, {"type": None}])
def test_unknown_variables_are_left_out(variable: Any) -> None:
    """An entry that is not a variable of a known type is left out."""
    assert _variables(variable) == []


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"type": "textbox", "name": "v", "label": "V", "description": "d"}, {"name": "v", "label": "V", "description": "d"}),
        ({"type": "textbox", "label": "", "description": None}, {"label": ABSENT, "description": ABSENT}),
        ({"type": "textbox", "hide": 1}, {"hide": "hideLabel"}),
        ({"type": "textbox", "hide": 2.0, "skipUrlSync": True}, {"hide": "hideVariable", "skipUrlSync": True}),
        ({"type": "textbox", "hide": 3}, {"hide": "dontHide"}),
        ({"type": "textbox", "hide": -1}, {"hide": "dontHide"}),
        ({"type": "textbox", "hide": "hideLabel"}, {"hide": "hideLabel"}),
        ({"type": "textbox", "hide": "other"}, {"hide": "dontHide"}),
        ({"type": "textbox", "current": {"text": ["a", 1], "value": 5}}, {"current": {"text": ["a"], "value": ""}}),
        ({"type": "textbox", "current": "a"}, {"current": EMPTY_OPTION}),
        ({"type": "textbox", "current": {"text": {"__legacyStringValue": "a"}}}, {"current": {"text": "a", "value": ""}}),
        (
            {"type": "custom", "options": [{"text": "a", "value": "b", "selected": True}, 1]},
            {"options": [{"selected": True, "text": "a", "value": "b"}]},
        ),
        ({"type": "custom", "valuesFormat": "json", "allValue": ".*"}, {"valuesFormat": "json", "allValue": ".*"}),
        ({"type": "custom", "valuesFormat": "csv"}, {"valuesFormat": "csv"}),
        ({"type": "custom", "valuesFormat": "xml", "allValue": ""}, {"valuesFormat": ABSENT, "allValue": ABSENT}),
        (
            {"type": "custom", "multi": True, "includeAll": True, "allowCustomValue": False},
            {"multi": True, "includeAll": True, "allowCustomValue": False},
        ),
        ({"type": "query", "query": "q"}, {"query": {"kind": "prometheus", "spec": {"__legacyStringValue": "q"}}}),
        ({"type": "query", "query": {"refId": "A", "expr": "q"}}, {"query": {"kind": "prometheus", "spec": {"refId": "A", "expr": "q"}}}),
        ({"type": "query", "datasource": {"uid": "l1"}}, {"datasource": {"type": "loki", "uid": "l1"}}),
        ({"type": "query", "datasource": {"type": "x"}}, {"datasource": ABSENT, "query": {"kind": "x", "spec": {}}}),
        ({"type": "query", "datasource": "$source"}, {"datasource": {"type": "", "uid": "$source"}, "query": {"kind": "", "spec": {}}}),
        ({"type": "query", "datasource": "Logs"}, {"datasource": ABSENT, "query": {"kind": "prometheus", "spec": {}}}),
        ({"type": "query", "refresh": 2, "sort": 4}, {"refresh": "onTimeRangeChanged", "sort": "numericalDesc"}),
        ({"type": "query", "refresh": True, "sort": 5}, {"refresh": "never", "sort": "disabled"}),
        *(({"type": "query", "sort": number}, {"sort": name}) for number, name in enumerate(NUMBERED_SORTS)),
        *(({"type": "query", "sort": name}, {"sort": name}) for name in (*NUMBERED_SORTS, *NAMED_SORTS)),
        ({"type": "query", "definition": "", "regexApplyTo": "text"}, {"definition": "", "regexApplyTo": "text"}),
        ({"type": "query", "definition": None}, {"definition": ABSENT}),
        (
            {"type": "query", "staticOptions": [{"text": "a", "value": "a"}], "staticOptionsOrder": "sorted"},
            {"staticOptions": [{"selected": False, "text": "a", "value": "a"}], "staticOptionsOrder": "sorted"},
        ),
        ({"type": "query", "staticOptions": [], "staticOptionsOrder": "other"}, {"staticOptions": ABSENT, "staticOptionsOrder": ABSENT}),
        ({"type": "datasource", "query": "loki", "regex": "/x/"}, {"pluginId": "loki", "regex": "/x/"}),
        ({"type": "constant", "query": "c"}, {"query": "c", "current": {"text": "c", "value": "c"}}),
        ({"type": "constant", "query": "c", "current": {}}, {"query": "c", "current": EMPTY_OPTION}),
        ({"type": "interval", "query": "1m,5m", "options": [{"value": "1h"}]}, {"query": "1m,5m"}),
        ({"type": "interval", "options": [{"value": "1m"}, {"text": "5m"}, {"value": "", "text": "x"}]}, {"query": "1m,5m"}),
        ({"type": "interval", "auto": True, "auto_min": "5s", "auto_count": "30"}, {"auto": True, "auto_min": "5s", "auto_count": 30}),
        (
            {"type": "switch", "options": [{"value": "on"}, {"text": "off"}]},
            {"enabledValue": "on", "disabledValue": "off", "current": "off"},
        ),
        (
            {"type": "switch", "options": [None, {"value": "0"}], "current": {"value": "1"}},
            {"enabledValue": "true", "disabledValue": "0", "current": "1"},
        ),
        ({"type": "adhoc", "datasource": {"type": "datasource"}}, {"datasource": ABSENT}),
        ({"type": "groupby", "datasource": {"type": "datasource"}}, {"datasource": {"type": "datasource", "uid": "grafana"}}),
        ({"type": "groupby", "multi": False}, {"multi": False}),
        (
            {"type": "adhoc", "filters": [{"key": "k", "value": "v", "keyLabel": "K", "values": ["v", 1], "valueLabels": []}, None]},
            {"filters": [{"key": "k", "operator": "=", "value": "v", "keyLabel": "K", "values": ["v"]}]},
        ),
        (
            {
                "type": "adhoc",
                "baseFilters": [
                    {"key": "a", "operator": "!=", "origin": "dashboard"},
                    {"key": "b", "origin": "scope"},
                    {"key": "c", "origin": None},
                ],
            },
            {"baseFilters": [{"key": "a", "operator": "!=", "value": ""}, {"key": "c", "operator": "=", "value": ""}]},
        ),
        (
            {"type": "adhoc", "defaultKeys": ["a", {"text": "b", "value": "x"}, {"text": ""}, 1]},
            {"defaultKeys": [{"text": "a", "value": "a"}, {"text": "b", "value": "b"}]},
        ),
    ],
)
def test_variables_have_their_types_or_defaults(variable: dict[str, Any], expected: dict[str, Any]) -> None:
    """A member of a variable with a valid value is kept, and any other value is replaced by the default or left out."""
    (converted,) = _variables(variable)
    assert {name: converted["spec"].get(name, ABSENT) for name in expected} == expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ({}, {"enable": False, "hide": False, "iconColor": "", "name": "", "query": {"kind": "", "spec": {}}, "datasource": ABSENT}),
        ({"enable": True, "hide": True, "iconColor": "red", "name": "Deployments"}, UNCHANGED),
        (
            {"datasource": {"type": "loki", "uid": "l1"}, "target": {"expr": "q"}},
            {"datasource": {"type": "loki", "uid": "l1"}, "query": {"kind": "loki", "spec": {"expr": "q"}}},
        ),
        ({"datasource": {"uid": "l1"}}, {"datasource": ABSENT, "query": {"kind": "", "spec": {}}}),
        ({"datasource": {"type": "loki"}}, {"datasource": ABSENT, "query": {"kind": "loki", "spec": {}}}),
        ({"builtIn": 1}, {"builtIn": True}),
        ({"builtIn": 0}, {"builtIn": False}),
        ({"builtIn": False}, {"builtIn": False}),
        ({"builtIn": "1"}, {"builtIn": ABSENT}),
        ({"filter": {"ids": [1, 2.0, -1, "3", 2**32], "exclude": False}}, {"filter": {"ids": [1, 2]}}),
        ({"filter": {"exclude": True}}, {"filter": {"exclude": True, "ids": []}}),
        ({"filter": []}, {"filter": ABSENT}),
        (
            {"mappings": {"text": "message", "tags": {"source": "skip"}, "time": {"value": "t", "regex": ""}, "title": "", "id": None}},
            {
                "mappings": {
                    "text": {"source": "field", "value": "message"},
                    "tags": {"source": "skip"},
                    "time": {"source": "field", "value": "t"},
                }
            },
        ),
        ({"mappings": {}}, {"mappings": ABSENT}),
        ({"type": "tags", "tags": ["a"], "limit": None}, {"legacyOptions": {"type": "tags", "tags": ["a"], "limit": None}}),
        ({"type": ""}, {"legacyOptions": ABSENT}),
    ],
)
def test_annotation_queries_are_kept(annotation: dict[str, Any], expected: Any) -> None:
    """An annotation query keeps its members. Members that the schema of elements does not have become legacy options."""
    expected_annotation = annotation if expected is UNCHANGED else expected
    spec = _annotation(annotation)
    assert {name: spec.get(name, ABSENT) for name in expected_annotation} == expected_annotation
