"""The chain of conversions, and the differences between the versions with elements and a layout."""

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.common.conversion.test_classic_to_elements_laws import dashboards

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import MAX_LAYOUT_DEPTH
from dashwright.common.conversion.versions import CLASSIC_VERSIONS, convert

Tree = dict[str, Any]

ELEMENT_VERSIONS = ("v2alpha1", "v2beta1", "v2")
VERSIONS = (*CLASSIC_VERSIONS, *ELEMENT_VERSIONS)


def convert_spec(spec: Tree, source: str, target: str) -> Any:
    """Return a spec of the version ``source`` in the version ``target``. Raises AssertionError if the input was changed."""
    before = copy.deepcopy(spec)
    result = convert(spec, source, target, EMPTY_CONTEXT)
    assert spec == before, "the input was changed"
    return result


def panel(queries: Sequence[Tree] = (), transformations: Sequence[Tree] = (), viz: Tree | None = None) -> Tree:
    """Return a spec with one panel."""
    data = {"kind": "QueryGroup", "spec": {"queries": list(queries), "transformations": list(transformations), "queryOptions": {}}}
    spec = {"id": 1, "title": "P", "description": "", "links": [], "data": data, **({"vizConfig": viz} if viz else {})}
    return {"elements": {"e": {"kind": "Panel", "spec": spec}}}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_version_is_not_copied(version: str) -> None:
    """A conversion to the same version returns the spec itself, not a copy."""
    spec: Tree = {"title": "T"}
    assert convert_spec(spec, version, version) is spec


@pytest.mark.parametrize("source", ["v1alpha1", "v1beta1", "v1"])
@pytest.mark.parametrize("target", CLASSIC_VERSIONS)
def test_classic_specs_of_version_1_have_several_names(source: str, target: str) -> None:
    """A conversion from a name of version 1 to any classic version returns the spec itself."""
    spec: Tree = {"title": "T"}
    assert convert_spec(spec, source, target) is spec


@pytest.mark.parametrize("source", ELEMENT_VERSIONS)
@pytest.mark.parametrize("target", CLASSIC_VERSIONS)
def test_layouts_have_a_form_in_each_classic_version(source: str, target: str) -> None:
    """A layout becomes panels of the current classic schema in each classic version."""
    viz = (
        {"kind": "stat", "spec": {"pluginVersion": "1"}} if source == "v2alpha1" else {"kind": "VizConfig", "group": "stat", "version": "1"}
    )
    item = {"kind": "GridLayoutItem", "spec": {"element": {"kind": "ElementReference", "name": "e"}}}
    spec = {**panel(viz=viz), "layout": {"kind": "GridLayout", "spec": {"items": [item]}}}
    classic = convert_spec(spec, source, target)
    assert classic["schemaVersion"] == 42
    (classic_panel,) = classic["panels"]
    assert classic_panel["type"] == "stat"
    assert classic_panel["pluginVersion"] == "1"


def test_unknown_versions_have_no_chain() -> None:
    """A conversion between versions without a chain is an error that names both."""
    with pytest.raises(ConversionFailed, match="a dashboard of v1 has no form in v9; read it in v1"):
        convert({}, "v1", "v9", EMPTY_CONTEXT)


#: Each case has an older version, a spec in it, the next version, and the same spec in that version.
EQUIVALENTS = [
    pytest.param(
        "v2alpha1",
        panel([{"kind": "PanelQuery", "spec": {"refId": "A", "query": {"kind": "loki", "spec": {"expr": "x"}}}}]),
        "v2beta1",
        panel(
            [
                {
                    "kind": "PanelQuery",
                    "spec": {"refId": "A", "query": {"kind": "DataQuery", "group": "loki", "version": "v0", "spec": {"expr": "x"}}},
                }
            ]
        ),
        id="query",
    ),
    pytest.param(
        "v2alpha1",
        panel([{"spec": {"query": {"kind": "loki", "spec": {}}, "datasource": {"type": "loki", "uid": "u"}}}]),
        "v2beta1",
        panel([{"spec": {"query": {"kind": "DataQuery", "group": "loki", "version": "v0", "datasource": {"name": "u"}, "spec": {}}}}]),
        id="query with a data source",
    ),
    pytest.param(
        "v2alpha1",
        panel(viz={"kind": "stat", "spec": {"pluginVersion": "1.2", "options": {"a": 1}, "fieldConfig": {}}}),
        "v2beta1",
        panel(viz={"kind": "VizConfig", "group": "stat", "version": "1.2", "spec": {"options": {"a": 1}, "fieldConfig": {}}}),
        id="visualization",
    ),
    pytest.param(
        "v2alpha1",
        {"annotations": [{"kind": "AnnotationQuery", "spec": {"name": "N", "query": {"kind": "loki", "spec": {"a": 1}}}}]},
        "v2beta1",
        {
            "annotations": [
                {
                    "kind": "AnnotationQuery",
                    "spec": {"name": "N", "query": {"kind": "DataQuery", "group": "loki", "version": "v0", "spec": {"a": 1}}},
                }
            ]
        },
        id="annotation",
    ),
    pytest.param(
        "v2alpha1",
        {"annotations": [{"kind": "AnnotationQuery", "spec": {"name": "N"}}]},
        "v2beta1",
        {
            "annotations": [
                {"kind": "AnnotationQuery", "spec": {"name": "N", "query": {"kind": "DataQuery", "group": "", "version": "v0", "spec": {}}}}
            ]
        },
        id="annotation without query",
    ),
    pytest.param(
        "v2alpha1",
        {
            "variables": [
                {"kind": "QueryVariable", "spec": {"query": {"kind": "loki", "spec": {}}, "datasource": {"type": "loki", "uid": "u"}}}
            ]
        },
        "v2beta1",
        {
            "variables": [
                {
                    "kind": "QueryVariable",
                    "spec": {"query": {"kind": "DataQuery", "group": "loki", "version": "v0", "datasource": {"name": "u"}, "spec": {}}},
                }
            ]
        },
        id="query variable",
    ),
    pytest.param(
        "v2alpha1",
        {"variables": [{"kind": "AdhocVariable", "spec": {"name": "a", "datasource": {"type": "loki", "uid": "u"}}}]},
        "v2beta1",
        {"variables": [{"kind": "AdhocVariable", "group": "loki", "datasource": {"name": "u"}, "spec": {"name": "a"}}]},
        id="filters",
    ),
    pytest.param(
        "v2alpha1",
        {"variables": [{"kind": "GroupByVariable", "spec": {"name": "a"}}]},
        "v2beta1",
        {"variables": [{"kind": "GroupByVariable", "group": "", "datasource": {}, "spec": {"name": "a"}}]},
        id="keys without a data source",
    ),
    pytest.param(
        "v2alpha1",
        {"variables": [{"kind": "IntervalVariable", "spec": {"refresh": "load"}}]},
        "v2beta1",
        {"variables": [{"kind": "IntervalVariable", "spec": {"refresh": "onTimeRangeChanged"}}]},
        id="interval",
    ),
    pytest.param(
        "v2beta1",
        panel(transformations=[{"kind": "merge", "spec": {"id": "merge", "disabled": True, "options": {"a": 1}}}]),
        "v2",
        panel(transformations=[{"kind": "Transformation", "group": "merge", "spec": {"disabled": True, "options": {"a": 1}}}]),
        id="transformation",
    ),
]


@pytest.mark.parametrize(("older", "old_spec", "newer", "new_spec"), EQUIVALENTS)
def test_neighbouring_versions_are_converted_both_ways(older: str, old_spec: Tree, newer: str, new_spec: Tree) -> None:
    """Equivalent specs of neighbouring versions are converted to each other."""
    assert convert_spec(old_spec, older, newer) == new_spec
    assert convert_spec(new_spec, newer, older) == old_spec


@pytest.mark.parametrize(
    ("source", "group", "new_source"),
    [
        ({"uid": "u"}, "loki", {"name": "u"}),
        ({"type": "", "uid": "u"}, "loki", {"name": "u"}),
        ({"type": "tempo", "uid": "u"}, "tempo", {"name": "u"}),
        ({"type": "tempo"}, "tempo", {}),
    ],
)
def test_the_group_of_a_query_is_the_type_of_its_data_source(source: Tree, group: str, new_source: Tree) -> None:
    """The group of a query is the type of its data source or, without a type, the kind of the query.

    The uid of the data source becomes its name.
    """
    spec = panel([{"spec": {"query": {"kind": "loki", "spec": {}}, "datasource": source}}])
    converted = convert_spec(spec, "v2alpha1", "v2beta1")
    (panel_query,) = converted["elements"]["e"]["spec"]["data"]["spec"]["queries"]
    query = panel_query["spec"]["query"]
    assert query["group"] == group
    assert query["datasource"] == new_source


@pytest.mark.parametrize("kind", ["QueryVariable", "TextVariable", "CustomVariable"])
def test_missing_texts_and_values_are_empty(kind: str) -> None:
    """The current value of a variable has a text and a value, which are empty if they are missing."""
    spec = {"variables": [{"kind": kind, "spec": {"current": {"text": None, "selected": True}}}]}
    (variable,) = convert_spec(spec, "v2alpha1", "v2beta1")["variables"]
    assert variable["spec"]["current"] == {"text": "", "value": "", "selected": True}


def test_a_panel_of_v2_may_have_no_description() -> None:
    """A panel of ``v2`` may have no description, which is empty in ``v2beta1``."""
    spec = panel()
    del spec["elements"]["e"]["spec"]["description"]
    assert convert_spec(spec, "v2", "v2beta1") == panel()


def test_what_v2alpha1_does_not_have_is_left_out() -> None:
    """Members that v2alpha1 does not have are removed.

    These are the placement of annotations, time comparisons, and variables and annotations of rows.
    """
    section = {"title": "R", "variables": [{"kind": "TextVariable", "spec": {}}], "annotations": [], "layout": {"kind": "GridLayout"}}
    tab = {
        "kind": "TabsLayoutTab",
        "spec": {"layout": {"kind": "RowsLayout", "spec": {"rows": [{"kind": "RowsLayoutRow", "spec": section}]}}},
    }
    spec = panel() | {
        "annotations": [{"kind": "AnnotationQuery", "spec": {"name": "N", "placement": "inControlsMenu"}}],
        "layout": {"kind": "TabsLayout", "spec": {"tabs": [tab]}},
    }
    spec["elements"]["e"]["spec"]["data"]["spec"]["queryOptions"] = {"interval": "1m", "timeCompare": "1d"}
    older = convert_spec(spec, "v2beta1", "v2alpha1")
    assert older["elements"]["e"]["spec"]["data"]["spec"]["queryOptions"] == {"interval": "1m"}
    assert older["annotations"][0]["spec"] == {"name": "N"}
    (older_tab,) = older["layout"]["spec"]["tabs"]
    (row,) = older_tab["spec"]["layout"]["spec"]["rows"]
    assert row == {"kind": "RowsLayoutRow", "spec": {"title": "R", "layout": {"kind": "GridLayout"}}}


def test_equal_parts_are_shared() -> None:
    """A converted spec shares equal parts with its source: the layout and the options of a visualization are not copied."""
    options = {"a": [1]}
    spec = panel(viz={"kind": "stat", "spec": {"options": options}}) | {"layout": {"kind": "RowsLayout", "spec": {"rows": [{"spec": {}}]}}}
    newest = convert_spec(spec, "v2alpha1", "v2")
    assert newest["layout"] is spec["layout"]
    assert newest["elements"]["e"]["spec"]["vizConfig"]["spec"]["options"] is options
    assert convert_spec(newest, "v2", "v2alpha1")["layout"] is spec["layout"]
    library_panel: Tree = {"elements": {"e": {"kind": "LibraryPanel", "spec": {}}}}
    assert convert_spec(library_panel, "v2alpha1", "v2") is library_panel


@pytest.mark.parametrize(
    ("source", "target", "spec", "message"),
    [
        ("v2alpha1", "v2beta1", {"elements": []}, "spec.elements: the value is a list; it must be an object"),
        ("v2alpha1", "v2beta1", {"elements": {"e": 1}}, "spec.elements.e: the value is a number; it must be an object"),
        ("v2alpha1", "v2beta1", {"variables": {}}, "spec.variables: the value is an object; it must be a list"),
        ("v2alpha1", "v2beta1", {"variables": [{"kind": "QueryVariable", "spec": ""}]}, "spec.variables[0].spec: the value is a string"),
        ("v2beta1", "v2alpha1", panel([{"spec": {"query": 1}}]), "spec.elements.e.spec.data.spec.queries[0].spec: 'query' is a number"),
        ("v2beta1", "v2alpha1", panel(viz={"group": True}), "spec.elements.e.spec.vizConfig: 'group' is true; it must be a string"),
        ("v2", "v2beta1", panel(transformations=[{"group": []}]), "spec.elements.e.spec.data.spec.transformations[0]: 'group' is a list"),
        ("v2beta1", "v2alpha1", {"layout": {"spec": {"rows": [1]}}}, "a row or tab of 'layout' is a number; it must be an object"),
    ],
)
def test_broken_parts_fail_with_their_path(source: str, target: str, spec: Tree, message: str) -> None:
    """The error of a broken part says what is wrong, where, and what is expected."""
    with pytest.raises(ConversionFailed) as caught:
        convert(spec, source, target, EMPTY_CONTEXT)
    assert message in caught.value.message


def test_layouts_are_nested_to_a_limit() -> None:
    """Layouts may be nested to a limit, and one more layout inside is an error."""

    def nested(depth: int) -> Tree:
        """Return a grid inside rows of this depth."""
        layout: Tree = {"kind": "GridLayout", "spec": {"items": []}}
        for _ in range(depth):
            layout = {"kind": "RowsLayout", "spec": {"rows": [{"kind": "RowsLayoutRow", "spec": {"layout": layout}}]}}
        return {"layout": layout}

    spec = nested(MAX_LAYOUT_DEPTH)
    assert convert_spec(spec, "v2", "v2alpha1") is spec
    with pytest.raises(ConversionFailed, match="layouts inside each other"):
        convert_spec(nested(MAX_LAYOUT_DEPTH + 1), "v2", "v2alpha1")


@given(dashboards(), st.sampled_from(["v2beta1", "v2"]))
def test_later_versions_are_written_in_one_step(dashboard: Tree, target: str) -> None:
    """A direct conversion to a later version has the same result as two conversions, to ``v2alpha1`` and from it to the later version."""
    in_one_step = convert_spec(dashboard, "v1", target)
    in_two_steps = convert_spec(convert_spec(dashboard, "v1", "v2alpha1"), "v2alpha1", target)
    # Texts are compared, because NaN differs from itself.
    assert orjson.dumps(in_one_step, option=orjson.OPT_SORT_KEYS) == orjson.dumps(in_two_steps, option=orjson.OPT_SORT_KEYS)


# The strategies of random documents, whose members and kinds are those that the conversion reads.
LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "loki", "Panel", "QueryVariable", "AdhocVariable", "RowsLayout"])
)
NAMES = st.sampled_from(
    [
        "kind",
        "spec",
        "query",
        "datasource",
        "name",
        "uid",
        "type",
        "group",
        "version",
        "data",
        "queries",
        "transformations",
        "vizConfig",
        "id",
        "rows",
        "layout",
    ]
)
ANY_VALUE = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12)
QUERY_HOLDER = st.fixed_dictionaries({"spec": st.fixed_dictionaries({"query": ANY_VALUE, "datasource": ANY_VALUE}) | ANY_VALUE})
PANEL = st.fixed_dictionaries(
    {
        "kind": st.just("Panel"),
        "spec": st.fixed_dictionaries(
            {
                "data": st.fixed_dictionaries(
                    {"spec": st.fixed_dictionaries({"queries": st.lists(QUERY_HOLDER, max_size=2), "transformations": ANY_VALUE})}
                ),
                "vizConfig": ANY_VALUE,
            }
        ),
    }
)
SPECS = st.fixed_dictionaries(
    {
        "elements": st.dictionaries(st.sampled_from("ab"), PANEL | ANY_VALUE, max_size=2) | ANY_VALUE,
        "variables": st.lists(st.fixed_dictionaries({"kind": LEAVES, "spec": ANY_VALUE, "group": LEAVES}), max_size=2) | ANY_VALUE,
        "annotations": st.lists(QUERY_HOLDER, max_size=2) | ANY_VALUE,
        "layout": ANY_VALUE,
    }
)


@given(SPECS, st.sampled_from(ELEMENT_VERSIONS), st.sampled_from(VERSIONS))
def test_any_document_is_converted_or_fails_with_a_message(spec: Tree, source: str, target: str) -> None:
    """Any document is converted to JSON, or raises ConversionFailed and nothing else. The document is not changed."""
    with contextlib.suppress(ConversionFailed):
        orjson.dumps(convert_spec(spec, source, target))
