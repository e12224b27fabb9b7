"""Conversion from elements (v2) to the classic form: settings, variables, annotations, and any document without an internal error."""

import contextlib
import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.elements_to_classic import elements_to_classic
from dashwright.common.conversion.failures import ConversionFailed

Tree = dict[str, Any]

# The members of every converted dashboard.
MINIMUM = {
    "title": "",
    "graphTooltip": 0,
    "schemaVersion": 42,
    "preload": False,
    "editable": True,
    "time": {"from": "now-6h", "to": "now"},
    "refresh": "",
    "fiscalYearStartMonth": 0,
    "annotations": {"list": []},
}


@pytest.mark.parametrize(
    ("spec", "added"),
    [
        ({}, {}),
        ({"tags": [], "links": [], "variables": [], "timeSettings": None, "description": None, "elements": {}}, {}),
        ({"title": "T", "description": "", "tags": ["a"]}, {"title": "T", "description": "", "tags": ["a"]}),
        ({"cursorSync": "Crosshair"}, {"graphTooltip": 1}),
        ({"cursorSync": "Tooltip"}, {"graphTooltip": 2}),
        ({"cursorSync": "Else"}, {}),
        (
            {"editable": False, "preload": True, "liveNow": False, "revision": 3},
            {"editable": False, "preload": True, "liveNow": False, "revision": 3},
        ),
        ({"timeSettings": {"from": "now-1h", "to": ""}}, {"time": {"from": "now-1h", "to": "now"}}),
        (
            {"timeSettings": {"timezone": "", "weekStart": "monday", "autoRefresh": "5s", "fiscalYearStartMonth": 2}},
            {"timezone": "", "weekStart": "monday", "refresh": "5s", "fiscalYearStartMonth": 2},
        ),
        ({"timeSettings": {"autoRefreshIntervals": ["1m"], "hideTimepicker": False}}, {"timepicker": {"refresh_intervals": ["1m"]}}),
        (
            {"timeSettings": {"hideTimepicker": True, "nowDelay": "1m", "quickRanges": [{"display": "D", "from": "a", "to": "b"}]}},
            {"timepicker": {"hidden": True, "nowDelay": "1m", "quick_ranges": [{"display": "D", "from": "a", "to": "b"}]}},
        ),
    ],
)
def test_settings_have_their_classic_names(spec: Tree, added: Tree) -> None:
    """Settings have their classic names. Settings with a default are always written, and settings without one only if they are set."""
    assert elements_to_classic(spec, EMPTY_CONTEXT) == MINIMUM | added


def test_links_have_all_their_members() -> None:
    """A link has all of its members, of which only the URL and the placement are optional."""
    default_members = {"title": "", "type": "", "icon": "", "tooltip": "", "tags": []}
    flags = {"asDropdown": False, "targetBlank": False, "includeVars": False, "keepTime": False}
    links = [{"title": "L", "unknown": 1}, {"url": "/x", "placement": "inControlsMenu", "keepTime": True}]
    assert elements_to_classic({"links": links}, EMPTY_CONTEXT)["links"] == [
        {**default_members, **flags, "title": "L"},
        {**default_members, **flags, "url": "/x", "placement": "inControlsMenu", "keepTime": True},
    ]


def variable_of(kind: str, **spec: Any) -> Tree:
    """Return a variable ``v`` after the conversion."""
    converted: Tree
    (converted,) = elements_to_classic({"variables": [{"kind": kind, "spec": {"name": "v", **spec}}]}, EMPTY_CONTEXT)["templating"]["list"]
    return converted


EMPTY_OPTION = {"text": "", "value": ""}
# Members of variables whose value is one of several options.
CHOICE = {"multi": False, "includeAll": False, "allowCustomValue": False, "current": EMPTY_OPTION, "options": []}


@pytest.mark.parametrize(
    ("kind", "classic"),
    [
        ("QueryVariable", {"type": "query", **CHOICE, "regex": "", "refresh": 0, "sort": 0, "query": {}}),
        ("DatasourceVariable", {"type": "datasource", **CHOICE, "regex": "", "refresh": 0, "query": ""}),
        ("CustomVariable", {"type": "custom", **CHOICE, "query": ""}),
        ("ConstantVariable", {"type": "constant", "query": "", "current": EMPTY_OPTION, "hide": 2}),
        (
            "IntervalVariable",
            {"type": "interval", "query": "", "auto": False, "auto_min": "", "auto_count": 0, "current": EMPTY_OPTION, "options": []},
        ),
        ("TextVariable", {"type": "textbox", "query": "", "current": EMPTY_OPTION}),
        ("GroupByVariable", {"type": "groupby", "multi": False, "current": EMPTY_OPTION, "options": []}),
        ("AdhocVariable", {"type": "adhoc", "allowCustomValue": False}),
        (
            "SwitchVariable",
            {
                "type": "switch",
                "query": "",
                "current": EMPTY_OPTION,
                # Both options are selected, because both have the current value, which is empty.
                "options": [{**EMPTY_OPTION, "selected": True}, {**EMPTY_OPTION, "selected": True}],
            },
        ),
    ],
)
def test_each_kind_of_variable_has_its_required_members(kind: str, classic: Tree) -> None:
    """A variable of each kind has its required members, with defaults for missing ones."""
    assert variable_of(kind) == {"name": "v", "hide": 0, "skipUrlSync": False} | classic
    labelled = variable_of(kind, label="L", description="D", skipUrlSync=True)
    assert labelled == variable_of(kind) | {"label": "L", "description": "D", "skipUrlSync": True}


@pytest.mark.parametrize(
    ("kind", "spec", "classic"),
    [
        ("CustomVariable", {"hide": "hideLabel"}, {"hide": 1}),
        ("CustomVariable", {"hide": "inControlsMenu"}, {"hide": 0}),
        ("ConstantVariable", {"hide": "dontHide"}, {"hide": 2}),
        ("QueryVariable", {"refresh": "onTimeRangeChanged", "sort": "naturalDesc"}, {"refresh": 2, "sort": 8}),
        (
            "QueryVariable",
            {"definition": "d", "allValue": ".*", "regexApplyTo": "text"},
            {"definition": "d", "allValue": ".*", "regexApplyTo": "text"},
        ),
        ("QueryVariable", {"query": {"kind": "loki", "spec": {"a": 1}}}, {"query": {"a": 1}, "datasource": {"type": "loki"}}),
        (
            "QueryVariable",
            {"query": {"kind": "loki", "spec": {"__legacyStringValue": "up"}}, "datasource": {"uid": "u"}},
            {"query": "up", "datasource": {"uid": "u", "type": "loki"}},
        ),
        (
            "QueryVariable",
            {"staticOptions": [{"text": "a", "value": "b"}], "staticOptionsOrder": "before"},
            {"staticOptions": [{"text": "a", "value": "b"}], "staticOptionsOrder": "before"},
        ),
        ("QueryVariable", {"staticOptions": []}, {}),
        ("DatasourceVariable", {"pluginId": "loki", "refresh": "onDashboardLoad"}, {"query": "loki", "refresh": 1}),
        (
            "CustomVariable",
            {"current": {"text": ["a"], "value": [], "selected": True}, "options": [{"text": "x", "value": "y", "selected": False}]},
            {"current": {"text": ["a"], "value": ""}, "options": [{"text": "x", "value": "y", "selected": False}]},
        ),
        (
            "SwitchVariable",
            {"current": "on", "enabledValue": "on", "disabledValue": "off"},
            {
                "current": {"text": "on", "value": "on"},
                "options": [{"text": "on", "value": "on", "selected": True}, {"text": "off", "value": "off", "selected": False}],
            },
        ),
        ("GroupByVariable", {"defaultValue": {"text": ["t"], "value": ["v"]}}, {"defaultValue": {"text": ["t"], "value": ["v"]}}),
        ("GroupByVariable", {"datasource": {"type": "loki", "uid": "u"}}, {"datasource": {"type": "loki", "uid": "u"}}),
        ("AdhocVariable", {"datasource": {"type": "loki"}, "filters": [], "defaultKeys": []}, {}),
        (
            "AdhocVariable",
            {"filters": [{"key": "k", "operator": "=", "values": [], "origin": "dashboard", "forceEdit": True}]},
            {"filters": [{"key": "k", "operator": "=", "value": "", "origin": "dashboard"}]},
        ),
        (
            "AdhocVariable",
            {"baseFilters": [{"value": "v", "values": ["v"]}], "defaultKeys": [{"text": "t", "group": None, "value": 1}]},
            {"baseFilters": [{"key": "", "operator": "", "value": "v", "values": ["v"]}], "defaultKeys": [{"text": "t", "value": 1}]},
        ),
    ],
)
def test_variables_keep_what_is_set(kind: str, spec: Tree, classic: Tree) -> None:
    """Variables keep their settings. Names of choices become the classic numbers, and options keep text, value and selection."""
    assert variable_of(kind, **spec) == variable_of(kind) | classic


def annotation_of(**spec: Any) -> Tree:
    """Return an annotation query after the conversion."""
    converted: Tree
    (converted,) = elements_to_classic({"annotations": [{"kind": "AnnotationQuery", "spec": spec}]}, EMPTY_CONTEXT)["annotations"]["list"]
    return converted


@pytest.mark.parametrize(
    ("spec", "added"),
    [
        ({}, {}),
        ({"builtIn": True}, {"builtIn": 1, "type": "dashboard"}),
        ({"builtIn": False}, {}),
        ({"query": {"kind": "loki", "spec": {"a": 1}}}, {"datasource": {"type": "loki"}, "target": {"a": 1}}),
        ({"query": {"kind": "loki", "spec": {}}, "datasource": {"uid": "u"}}, {"datasource": {"uid": "u", "type": "loki"}}),
        ({"filter": {"exclude": False, "ids": [1]}}, {"filter": {"exclude": False, "ids": [1]}}),
        ({"filter": {"ids": []}}, {}),
        (
            {"mappings": {"a": {"value": "x"}, "b": {"source": "skip"}, "c": {"source": "text"}, "d": {"value": "x", "regex": "r"}}},
            {
                "mappings": {
                    "a": {"source": "field", "value": "x"},
                    "b": {"source": "skip"},
                    "d": {"source": "field", "value": "x", "regex": "r"},
                }
            },
        ),
        ({"legacyOptions": {"type": "tags", "name": "other", "mappings": {}}, "builtIn": True}, {"builtIn": 1, "type": "tags"}),
        ({"placement": "inControlsMenu"}, {}),
    ],
)
def test_annotations_have_their_classic_form(spec: Tree, added: Tree) -> None:
    """An annotation query has its classic members. Legacy options become members, unless the query has a member of their name."""
    assert annotation_of(name="N", enable=True, **spec) == {"name": "N", "enable": True, "hide": False, "iconColor": ""} | added


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"tags": "a"}, "'tags' is a string; it must be a list"),
        ({"timeSettings": []}, "'timeSettings' is a list; it must be an object"),
        ({"cursorSync": {}}, "'cursorSync' is an object; it must be a string"),
        ({"variables": [{"kind": "Other"}]}, "spec.variables[0]: kind 'Other' is unknown; use one of QueryVariable"),
        ({"variables": [{"kind": "CustomVariable", "spec": {"hide": []}}]}, "spec.variables[0]: 'hide' is a list; it must be a string"),
        ({"annotations": [{}, {"spec": {"mappings": {"a": 1}}}]}, "spec.annotations[1]: 'a' is a number; it must be an object"),
        ({"elements": []}, "'elements' is a list; it must be an object"),
        (
            {"elements": {"e": 1}, "layout": {"kind": "RowsLayout", "spec": {"rows": [{}]}}},
            "element 'e' is a number; it must be an object",
        ),
    ],
)
def test_broken_parts_fail_with_their_place(spec: Tree, message: str) -> None:
    """The error of a broken part says what is wrong, where, and what is expected."""
    with pytest.raises(ConversionFailed) as caught:
        elements_to_classic(spec, EMPTY_CONTEXT)
    assert message in caught.value.message


# The strategies of random documents: parts in their correct form, of which a few are broken.
SCALARS = st.none() | st.booleans() | st.integers(-5, 30) | st.floats(0, 2) | st.sampled_from(["", "a", "custom", "v"])


# Values that break a document, because another type is expected.
BROKEN_VALUES: st.SearchStrategy[Any] = SCALARS | st.just([]) | st.just({})


def rarely_broken(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy that draws a broken value instead of ``value`` in one of 41 cases."""
    return st.integers(0, 40).flatmap(lambda number: BROKEN_VALUES if number == 40 else value)


def kinds(*names: str) -> st.SearchStrategy[Any]:
    """Return a strategy of names of kinds, rarely broken."""
    return rarely_broken(st.sampled_from(names))


def optional_members(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of objects with any of these members, rarely broken."""
    return rarely_broken(st.fixed_dictionaries({}, optional={name: rarely_broken(value) for name, value in members.items()}))


def lists_of(item: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of short lists, rarely broken."""
    return rarely_broken(st.lists(item, max_size=3))


NAMES = st.sampled_from(["e", "f", "none"])
SOURCE = optional_members(uid=NAMES, type=NAMES)
DATA_QUERY = optional_members(kind=NAMES, spec=optional_members(a=SCALARS, __legacyStringValue=SCALARS))
PANEL = optional_members(
    kind=kinds("Panel", "LibraryPanel"),
    spec=optional_members(
        id=SCALARS,
        title=SCALARS,
        links=lists_of(optional_members(title=SCALARS)),
        libraryPanel=optional_members(uid=SCALARS),
        data=optional_members(
            spec=optional_members(
                queries=lists_of(optional_members(spec=optional_members(query=DATA_QUERY, datasource=SOURCE, hidden=SCALARS))),
                transformations=lists_of(optional_members(spec=optional_members(id=SCALARS, filter=optional_members(id=SCALARS)))),
                queryOptions=optional_members(interval=SCALARS),
            )
        ),
        vizConfig=optional_members(
            kind=NAMES,
            spec=optional_members(
                options=SCALARS,
                fieldConfig=optional_members(
                    defaults=optional_members(
                        mappings=lists_of(optional_members(type=SCALARS)),
                        thresholds=optional_members(steps=lists_of(optional_members(value=SCALARS))),
                        actions=lists_of(SCALARS),
                    ),
                    overrides=lists_of(
                        optional_members(matcher=optional_members(scope=SCALARS), properties=lists_of(optional_members(id=SCALARS)))
                    ),
                ),
            ),
        ),
    ),
)
ITEM = optional_members(
    spec=optional_members(
        x=SCALARS, y=SCALARS, height=SCALARS, element=optional_members(name=NAMES), repeat=optional_members(value=SCALARS)
    )
)
GRID = optional_members(kind=kinds("GridLayout"), spec=optional_members(items=lists_of(ITEM)))
AUTO_GRID = optional_members(
    kind=kinds("AutoGridLayout"),
    spec=optional_members(items=lists_of(ITEM), maxColumnCount=SCALARS, rowHeight=SCALARS, rowHeightMode=kinds("custom", "tall")),
)


def sections_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of rows or tabs with inner layouts."""
    section = optional_members(
        spec=optional_members(layout=inner, title=SCALARS, collapse=SCALARS, hideHeader=SCALARS, repeat=optional_members(value=SCALARS))
    )
    return optional_members(kind=kinds("RowsLayout"), spec=optional_members(rows=lists_of(section))) | optional_members(
        kind=kinds("TabsLayout"), spec=optional_members(tabs=lists_of(section))
    )


VARIABLE_KINDS = tuple(
    f"{name}Variable" for name in ("Query", "Datasource", "Custom", "Constant", "Interval", "Text", "GroupBy", "Adhoc", "Switch")
)
VARIABLE = optional_members(
    kind=kinds(*VARIABLE_KINDS),
    spec=optional_members(
        name=SCALARS,
        current=optional_members(text=SCALARS),
        options=lists_of(optional_members(value=SCALARS)),
        query=DATA_QUERY | SCALARS,
        datasource=SOURCE,
        filters=lists_of(optional_members(key=SCALARS, values=lists_of(SCALARS))),
        hide=SCALARS,
        defaultValue=optional_members(text=SCALARS),
    ),
)
ANNOTATION = optional_members(
    spec=optional_members(
        query=DATA_QUERY,
        datasource=SOURCE,
        filter=optional_members(ids=lists_of(SCALARS)),
        mappings=optional_members(a=optional_members(value=SCALARS)),
        legacyOptions=optional_members(b=SCALARS),
    )
)
SPECS = st.fixed_dictionaries(
    {
        "elements": rarely_broken(st.fixed_dictionaries({"e": PANEL, "f": PANEL})),
        "layout": rarely_broken(st.recursive(GRID | AUTO_GRID, sections_of, max_leaves=5)),
        "variables": lists_of(VARIABLE),
        "annotations": lists_of(ANNOTATION),
        "timeSettings": optional_members(**{"from": SCALARS, "quickRanges": lists_of(SCALARS)}),
    }
)


@given(SPECS)
def test_any_document_is_converted_or_fails_with_a_message(spec: Tree) -> None:
    """Any document is converted to JSON, or raises ConversionFailed and nothing else. The document is not changed."""
    before = copy.deepcopy(spec)
    with contextlib.suppress(ConversionFailed):
        orjson.dumps(elements_to_classic(spec, EMPTY_CONTEXT))
    assert spec == before
