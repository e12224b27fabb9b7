"""Schema of dashboards with elements and a layout (v2)."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.elements_schema import check_elements
from dashwright.common.conversion.parts import MAX_LAYOUT_DEPTH
from dashwright.common.conversion.versions import convert

Tree = dict[str, Any]

VERSIONS = ("v2alpha1", "v2beta1", "v2")

QUERY = {"kind": "loki", "spec": {"any": 1}}
SOURCE = {"type": "loki", "uid": "u"}


def kind_and_spec(kind: str, **spec: Any) -> Tree:
    """Return a part of a dashboard: its kind, and its spec with these members."""
    return {"kind": kind, "spec": spec}


def reference(name: str) -> Tree:
    """Return the reference of a layout to an element."""
    return {"kind": "ElementReference", "name": name}


# The parts of the full dashboard below.
FIELD_DEFAULTS = {
    "mappings": [
        {"type": "value", "options": {"1": {"text": "one", "index": 0}}},
        {"type": "range", "options": {"from": None, "to": 5.5, "result": {}}},
        {"type": "regex", "options": {"pattern": "x", "result": {}}},
        {"type": "special", "options": {"match": "null+nan", "result": {}}},
    ],
    "thresholds": {"mode": "absolute", "steps": [{"color": "red", "value": None}]},
    "actions": [{"type": "fetch", "title": "A", "fetch": {"method": "GET", "url": "/", "headers": [["a", "b"]]}}],
}
OVERRIDES = [{"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "unit", "value": 1}]}]
PANEL = kind_and_spec(
    "Panel",
    id=1,
    title="P",
    description="",
    links=[{"title": "L", "url": "/x"}],
    data=kind_and_spec(
        "QueryGroup",
        queries=[kind_and_spec("PanelQuery", refId="A", hidden=False, query=QUERY)],
        transformations=[kind_and_spec("merge", id="merge", options=None, filter={"id": "byName"})],
        queryOptions={"maxDataPoints": 100.0},
    ),
    vizConfig=kind_and_spec("stat", pluginVersion="", options={"any": 1}, fieldConfig={"defaults": FIELD_DEFAULTS, "overrides": OVERRIDES}),
)
AUTO_GRID = kind_and_spec(
    "AutoGridLayout",
    maxColumnCount=3,
    columnWidthMode="standard",
    rowHeightMode="custom",
    items=[kind_and_spec("AutoGridLayoutItem", element=reference("panel"))],
)
GRID = kind_and_spec("GridLayout", items=[kind_and_spec("GridLayoutItem", x=0, y=0, width=6, height=4, element=reference("library"))])
INNER_ROWS = kind_and_spec("RowsLayout", rows=[kind_and_spec("RowsLayoutRow", layout=GRID)])
INNER_TABS = kind_and_spec(
    "TabsLayout", tabs=[kind_and_spec("TabsLayoutTab", title="T", layout=AUTO_GRID), kind_and_spec("TabsLayoutTab", layout=INNER_ROWS)]
)
CONDITIONS = kind_and_spec(
    "ConditionalRenderingGroup", visibility="show", condition="and", items=[kind_and_spec("ConditionalRenderingData", value=True)]
)

#: Dashboard of ``v2alpha1`` with each kind of layout, panel and variable.
FULL_DASHBOARD: Tree = {
    "title": "T",
    "cursorSync": "Off",
    "tags": ["a"],
    "links": [{"title": "L", "type": "link", "icon": "", "tooltip": "", "url": "/x", "placement": "inControlsMenu"}],
    "timeSettings": {"from": "now-1h", "to": "now", "quickRanges": [{"display": "D", "from": "a", "to": "b"}], "weekStart": "monday"},
    "annotations": [
        kind_and_spec("AnnotationQuery", name="N", enable=True, hide=False, iconColor="red", mappings={"a": {"source": "skip"}})
    ],
    "variables": [
        kind_and_spec("QueryVariable", name="q", query=QUERY, datasource=SOURCE, sort="naturalAsc"),
        kind_and_spec("TextVariable", name="t", current={"text": "a", "value": ["a"]}),
        kind_and_spec("ConstantVariable", name="c", query="x"),
        kind_and_spec("DatasourceVariable", name="d", pluginId="loki", refresh="never"),
        kind_and_spec("IntervalVariable", name="i", auto_count=3, refresh="load"),
        kind_and_spec("CustomVariable", name="u", options=[{"text": "a", "value": "b", "selected": True}], valuesFormat="csv"),
        kind_and_spec("SwitchVariable", name="s", current="on"),
        kind_and_spec("GroupByVariable", name="g", datasource=SOURCE, defaultValue={"text": "", "value": ""}),
        kind_and_spec("AdhocVariable", name="a", filters=[{"key": "k", "operator": "=", "value": "v"}], defaultKeys=[{"text": "t"}]),
    ],
    "elements": {"panel": PANEL, "library": kind_and_spec("LibraryPanel", id=2, title="L", libraryPanel={"name": "N", "uid": "u"})},
    "layout": kind_and_spec(
        "RowsLayout",
        rows=[
            kind_and_spec(
                "RowsLayoutRow",
                title="R",
                repeat={"mode": "variable", "value": "q"},
                conditionalRendering=CONDITIONS,
                layout=INNER_TABS,
            )
        ],
    ),
}

FULL_DASHBOARD_BY_VERSION = {version: convert(FULL_DASHBOARD, "v2alpha1", version, EMPTY_CONTEXT) for version in VERSIONS}


def full_dashboard_with(version: str, path: str, value: Any) -> Tree:
    """Return the full dashboard with another value at a path (``links/0/title``). The value ``...`` removes the member."""
    spec: Tree = orjson.loads(orjson.dumps(FULL_DASHBOARD_BY_VERSION[version]))
    *steps, last = path.split("/")
    target: Any = spec
    for step in steps:
        target = target[int(step) if isinstance(target, list) else step]
    key = int(last) if isinstance(target, list) else last
    if value is ...:
        del target[key]
    else:
        target[key] = value
    return spec


def faults(spec: Mapping[str, Any], version: str = "v2alpha1") -> list[tuple[str, str]]:
    """Return the path and the reason of each fault."""
    return [(cause.field, cause.reason) for cause in check_elements(spec, version).faults]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_dashboard_has_no_faults(version: str) -> None:
    """Each kind of layout, panel and variable is known. Tabs may be in rows, and rows in tabs."""
    assert check_elements(FULL_DASHBOARD_BY_VERSION[version], version) == ([], [])


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_title_is_required(version: str) -> None:
    """Only the title is required, because everything else has a default."""
    assert faults({"title": "T"}, version) == []
    assert faults({}, version) == [("spec.title", "FieldValueRequired")]


@pytest.mark.parametrize(("version", "other"), list(permutations(VERSIONS, 2)))
def test_a_dashboard_of_another_version_has_faults(version: str, other: str) -> None:
    """A dashboard of another version has faults, because its queries, visualizations or transformations have another form."""
    assert faults(FULL_DASHBOARD_BY_VERSION[other], version)


# Paths to parts of the full dashboard.
PANEL_PATH = "elements/panel/spec"
QUERIES = f"{PANEL_PATH}/data/spec/queries"
FIELDS = f"{PANEL_PATH}/vizConfig/spec/fieldConfig"
PANEL_FIELD = "spec.elements.panel.spec"
ROW = "layout/spec/rows/0/spec"
TABS = f"{ROW}/layout/spec/tabs"
GRID_ITEM = f"{TABS}/1/spec/layout/spec/rows/0/spec/layout/spec/items/0/spec"

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
UNSUPPORTED = "FieldValueNotSupported"


@pytest.mark.parametrize(
    ("path", "value", "field", "reason"),
    [
        ("title", 1, "spec.title", INVALID),
        ("title", None, "spec.title", REQUIRED),
        ("tags", ["a", 1], "spec.tags[1]", INVALID),
        ("editable", "yes", "spec.editable", INVALID),
        ("cursorSync", "Both", "spec.cursorSync", UNSUPPORTED),
        ("revision", 10**18, "spec.revision", INVALID),
        ("revision", 1.5, "spec.revision", INVALID),
        ("revision", True, "spec.revision", INVALID),
        ("links/0/title", ..., "spec.links[0].title", REQUIRED),
        ("timeSettings", [], "spec.timeSettings", INVALID),
        ("timeSettings/weekStart", "friday", "spec.timeSettings.weekStart", UNSUPPORTED),
        ("annotations/0/spec/enable", ..., "spec.annotations[0].spec.enable", REQUIRED),
        ("annotations/0/spec/mappings/a/source", "none", "spec.annotations[0].spec.mappings.a.source", UNSUPPORTED),
        ("variables/0/kind", "Other", "spec.variables[0].kind", UNSUPPORTED),
        ("variables/0/kind", ..., "spec.variables[0].kind", REQUIRED),
        ("variables/0/kind", [], "spec.variables[0].kind", UNSUPPORTED),
        ("variables/0/spec/query/kind", ..., "spec.variables[0].spec.query.kind", REQUIRED),
        ("variables/1/spec/current/text", 1, "spec.variables[1].spec.current.text", INVALID),
        ("variables/1/spec/current/value", ["a", 1], "spec.variables[1].spec.current.value", INVALID),
        ("variables/3/spec/name", "q", "spec.variables[3].spec.name", "FieldValueDuplicate"),
        ("elements", [], "spec.elements", INVALID),
        ("elements/panel", None, "spec.elements.panel", INVALID),
        ("elements/panel/kind", "Chart", "spec.elements.panel.kind", UNSUPPORTED),
        (f"{PANEL_PATH}/id", "1", "spec.elements.panel.spec.id", INVALID),
        (f"{PANEL_PATH}/data", ..., "spec.elements.panel.spec.data", REQUIRED),
        (f"{PANEL_PATH}/vizConfig", "stat", "spec.elements.panel.spec.vizConfig", INVALID),
        (f"{PANEL_PATH}/vizConfig/spec/options", [], "spec.elements.panel.spec.vizConfig.spec.options", INVALID),
        (f"{QUERIES}/0/spec/query", ..., "spec.elements.panel.spec.data.spec.queries[0].spec.query", REQUIRED),
        (
            f"{FIELDS}/defaults/mappings/0/type",
            "text",
            "spec.elements.panel.spec.vizConfig.spec.fieldConfig.defaults.mappings[0].type",
            UNSUPPORTED,
        ),
        ("elements/library/spec/libraryPanel/uid", ..., "spec.elements.library.spec.libraryPanel.uid", REQUIRED),
        ("layout", "grid", "spec.layout", INVALID),
        ("layout/kind", "Columns", "spec.layout.kind", UNSUPPORTED),
        (f"{ROW}/layout", ..., "spec.layout.spec.rows[0].spec.layout", REQUIRED),
        (f"{ROW}/collapse", 1, "spec.layout.spec.rows[0].spec.collapse", INVALID),
        (f"{ROW}/repeat/mode", "frame", "spec.layout.spec.rows[0].spec.repeat.mode", UNSUPPORTED),
        (
            f"{GRID_ITEM}/element/name",
            "none",
            "spec.layout.spec.rows[0].spec.layout.spec.tabs[1].spec.layout.spec.rows[0].spec.layout.spec.items[0].spec.element.name",
            "FieldValueNotFound",
        ),
        (
            f"{GRID_ITEM}/width",
            ...,
            "spec.layout.spec.rows[0].spec.layout.spec.tabs[1].spec.layout.spec.rows[0].spec.layout.spec.items[0].spec.width",
            REQUIRED,
        ),
    ],
)
def test_each_violation_is_a_cause_with_its_path(path: str, value: Any, field: str, reason: str) -> None:
    """Each violation is a cause with the path of the member and a reason that Kubernetes defines."""
    assert faults(full_dashboard_with("v2alpha1", path, value)) == [(field, reason)]


@pytest.mark.parametrize(
    ("version", "path", "value", "field", "reason"),
    [
        ("v2beta1", f"{PANEL_PATH}/vizConfig/group", ..., "spec.elements.panel.spec.vizConfig.group", REQUIRED),
        ("v2beta1", f"{PANEL_PATH}/vizConfig/kind", "stat", "spec.elements.panel.spec.vizConfig.kind", UNSUPPORTED),
        (
            "v2",
            f"{QUERIES}/0/spec/query/group",
            ...,
            f"{PANEL_FIELD}.data.spec.queries[0].spec.query.group",
            REQUIRED,
        ),
        (
            "v2",
            f"{PANEL_PATH}/data/spec/transformations/0/group",
            1,
            "spec.elements.panel.spec.data.spec.transformations[0].group",
            INVALID,
        ),
        (
            "v2beta1",
            f"{PANEL_PATH}/data/spec/transformations/0/spec/id",
            ...,
            f"{PANEL_FIELD}.data.spec.transformations[0].spec.id",
            REQUIRED,
        ),
        ("v2", "annotations/0/spec/query", ..., "spec.annotations[0].spec.query", REQUIRED),
        ("v2", "variables/8/group", ..., "spec.variables[8].group", REQUIRED),
        (
            "v2",
            f"{ROW}/variables",
            [kind_and_spec("TextVariable", name=1)],
            "spec.layout.spec.rows[0].spec.variables[0].spec.name",
            INVALID,
        ),
    ],
)
def test_later_versions_have_members_of_their_own(version: str, path: str, value: Any, field: str, reason: str) -> None:
    """In later versions, plugins are groups, and rows have variables."""
    assert faults(full_dashboard_with(version, path, value), version) == [(field, reason)]


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("", "titles", 'Forbidden: unknown field; did you mean "title"?'),
        ("variables/0/spec", "xyz", "Forbidden: unknown field; leave it out"),
        (f"{QUERIES}/0", "metadata", "Forbidden: unknown field; leave it out"),
        (ROW, "variables", "Forbidden: unknown field; leave it out"),
    ],
)
def test_unknown_members_are_apart_from_faults(path: str, name: str, message: str) -> None:
    """Unknown members are listed apart from faults, because only strict validation refuses them."""
    findings = check_elements(full_dashboard_with("v2alpha1", f"{path}/{name}".removeprefix("/"), {}), "v2alpha1")
    assert findings.faults == []
    (cause,) = findings.unknown
    assert cause.message == message
    assert cause.field.endswith(f".{name}")


def test_contents_of_plugins_are_free() -> None:
    """Queries, options of visualizations and custom field settings have any members."""
    spec = full_dashboard_with("v2alpha1", f"{FIELDS}/defaults/custom", {"x": [{}]})
    assert check_elements(spec, "v2alpha1") == ([], [])


def test_the_number_of_causes_is_limited() -> None:
    """At most 20 faults and 20 unknown members are listed."""
    wrong_tags = [1] * 1000
    unknown_members = {f"x{number}": 1 for number in range(1000)}
    assert len(check_elements({"title": "T", "tags": wrong_tags, **unknown_members}, "v2").faults) == 20
    assert len(check_elements({"title": "T", "tags": [], **unknown_members}, "v2").unknown) == 20


def nested_layout(depth: int) -> Tree:
    """Return a dashboard with a grid inside ``depth`` layouts, which are alternately tabs and rows."""
    layout = kind_and_spec("GridLayout", items=[])
    for level in range(depth):
        if level % 2:
            layout = kind_and_spec("RowsLayout", rows=[kind_and_spec("RowsLayoutRow", layout=layout)])
        else:
            layout = kind_and_spec("TabsLayout", tabs=[kind_and_spec("TabsLayoutTab", layout=layout)])
    return {"title": "T", "layout": layout}


def test_layouts_are_nested_to_the_limit_of_conversions() -> None:
    """Layouts may be nested to the limit of conversions, and one more layout inside is a fault.

    Layouts next to each other are not limited.
    """
    assert faults(nested_layout(MAX_LAYOUT_DEPTH)) == []
    # Twice as many layouts as may be nested.
    row = kind_and_spec("RowsLayoutRow", layout=kind_and_spec("GridLayout"))
    neighbours = kind_and_spec("RowsLayout", rows=[row] * 2 * MAX_LAYOUT_DEPTH)
    assert faults({"title": "T", "layout": neighbours}) == []
    (cause,) = check_elements(nested_layout(MAX_LAYOUT_DEPTH + 1), "v2alpha1").faults
    assert cause.field.endswith(".layout")
    assert f"inside more than {MAX_LAYOUT_DEPTH} other layouts" in cause.message


ANY_VALUE = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3) | st.just([None]) | st.just({"kind": 1, "spec": []})
)


def paths(tree: Any, prefix: str = "") -> list[str]:
    """Return the paths of all members and items of a tree, with slashes between names and positions."""
    if isinstance(tree, dict):
        members = list(tree.items())
    elif isinstance(tree, list):
        members = list(enumerate(tree))
    else:
        return []
    result = []
    for name, value in members:
        result += [f"{prefix}{name}", *paths(value, f"{prefix}{name}/")]
    return result


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_any_value_anywhere_is_checked_without_an_error(version: str, data: st.DataObject) -> None:
    """The check returns causes and never raises. A dashboard without faults can be converted."""
    path = data.draw(st.sampled_from(paths(FULL_DASHBOARD_BY_VERSION[version])))
    spec = full_dashboard_with(version, path, data.draw(ANY_VALUE))
    if not faults(spec, version):
        for target in (*VERSIONS, "v1"):
            convert(spec, version, target, EMPTY_CONTEXT)
