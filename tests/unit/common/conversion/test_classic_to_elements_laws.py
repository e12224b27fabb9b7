"""Laws of the conversion to elements (v2) for any classic dashboard, also for broken ones."""

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import EMPTY_CONTEXT

# Any JSON, with texts and keys that the conversion distinguishes, and with the integers that orjson can encode.
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(codec="utf-8"))
    | st.sampled_from(["$source", "row", "graph", "panel-1", "\ufeff", "5"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "type", "uid", "panels", "text", "value"]), inner, max_size=3)
    ),
    max_leaves=6,
)

#: A dashboard with each kind of member.
DASHBOARD: dict[str, Any] = {
    "title": "Ovens",
    "tags": ["bakery"],
    "time": {"from": "now-1h", "to": "now"},
    "timepicker": {"refresh_intervals": ["5s"], "quick_ranges": [{"display": "Shift", "from": "now-8h", "to": "now"}]},
    "links": [{"title": "Wiki", "url": "https://wiki.example", "tags": ["a"]}],
    "panels": [
        {
            "id": 1,
            "type": "graph",
            "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
            "datasource": {"type": "loki", "uid": "l1"},
            "targets": [{"refId": "A", "expr": "heat"}, {"datasource": {"uid": "p1"}}],
            "transformations": [{"id": "reduce", "options": {}, "filter": {"id": "byRefId"}}],
            "links": [{"title": "Manual", "url": "u"}],
            "fieldConfig": {
                "defaults": {
                    "thresholds": {"mode": "absolute", "steps": [{"value": None, "color": "green"}]},
                    "mappings": [
                        {"type": "value", "options": {"1": {"text": "on"}}},
                        {"type": "range", "options": {"from": 1, "result": {}}},
                    ],
                    "actions": [{"type": "fetch", "title": "t", "fetch": {"method": "GET", "url": "u", "headers": [["a", "b"]]}}],
                    "color": {"mode": "fixed"},
                    "links": [{"url": "u"}],
                },
                "overrides": [{"matcher": {"id": "byName", "options": "a"}, "properties": [{"id": "unit", "value": "s"}]}],
            },
        },
        {"id": 2, "type": "row", "gridPos": {"x": 0, "y": 8, "w": 24, "h": 1}, "repeat": "site", "panels": [{"id": 3, "type": "stat"}]},
        {"id": 4, "libraryPanel": {"uid": "l", "name": "n"}, "repeat": "site", "maxPerRow": 2},
    ],
    "templating": {
        "list": [
            {
                "type": "query",
                "name": "q",
                "datasource": {"uid": "p1"},
                "query": "up",
                "current": {"text": "a", "value": ["b"]},
                "options": [{}],
            },
            {"type": "switch", "name": "s", "options": [{"value": "1"}, {"value": "0"}]},
            {"type": "interval", "name": "i", "options": [{"value": "1m"}]},
            {"type": "adhoc", "name": "f", "filters": [{"key": "k", "values": ["v"]}], "defaultKeys": [{"text": "t"}]},
        ]
    },
    "annotations": {"list": [{"builtIn": 1, "type": "dashboard", "filter": {"ids": [1]}, "mappings": {"text": "message"}}]},
}


def _parents_and_keys(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object or list of a tree with each of its keys or positions."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _parents_and_keys(tree[key])


@st.composite
def dashboards(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the dashboard with some members replaced by junk or by other parts of it."""
    dashboard = copy.deepcopy(DASHBOARD)
    for _ in range(draw(st.integers(0, 8))):
        # Recomputed for each replacement, since the last one may have removed parents.
        parents_and_keys = list(_parents_and_keys(dashboard))
        parent, key = draw(st.sampled_from(parents_and_keys))
        source, source_key = draw(st.sampled_from(parents_and_keys))
        parent[key] = draw(JUNK | st.just(copy.deepcopy(source[source_key])))
        # Without a list of panels, further replacements would hardly test anything.
        if not isinstance(dashboard.get("panels"), list):
            break
    return dashboard


def _count_panels(listed: Any) -> int:
    """Return the number of panels in a list, and in the rows in it. Row panels do not count."""
    if not isinstance(listed, list):
        return 0
    panels = [panel for panel in listed if isinstance(panel, dict)]
    return sum(_count_panels(panel.get("panels")) if panel.get("type") == "row" else 1 for panel in panels)


def _names(layout: dict[str, Any]) -> list[str]:
    """Return the names of the elements in a layout."""
    if layout["kind"] == "GridLayout":
        return [item["spec"]["element"]["name"] for item in layout["spec"]["items"]]
    return [name for row in layout["spec"]["rows"] for name in _names(row["spec"]["layout"])]


@given(dashboards())
def test_each_panel_is_one_element_in_the_layout(dashboard: dict[str, Any]) -> None:
    """Each panel becomes one element, which the layout contains once, and the layout contains nothing else."""
    spec = classic_to_elements(dashboard, EMPTY_CONTEXT)
    names = _names(spec["layout"])
    assert sorted(names) == sorted(spec["elements"])
    assert len(names) == _count_panels(dashboard.get("panels"))
    assert names == [f"panel-{spec['elements'][name]['spec']['id']}" for name in names]


@given(dashboards())
def test_the_dashboard_is_not_changed(dashboard: dict[str, Any]) -> None:
    """The conversion does not change its argument, although the result shares parts with it."""
    original = orjson.dumps(dashboard)
    # The result is encoded, too, because it shares parts with the dashboard.
    orjson.dumps(classic_to_elements(dashboard, EMPTY_CONTEXT))
    assert orjson.dumps(dashboard) == original


@given(dashboards())
def test_the_result_is_json(dashboard: dict[str, Any]) -> None:
    """The result can be encoded as JSON, and has each member that the schema of dashboards requires."""
    spec = orjson.loads(orjson.dumps(classic_to_elements(dashboard, EMPTY_CONTEXT)))
    required = {"annotations", "cursorSync", "elements", "layout", "links", "preload", "tags", "timeSettings", "title", "variables"}
    assert required <= spec.keys()


@given(JUNK.filter(lambda tree: isinstance(tree, dict)))
def test_any_object_is_a_dashboard(junk: Any) -> None:
    """Any object is converted to a dashboard. Its title is empty, because no key in ``JUNK`` is a title."""
    assert classic_to_elements(junk, EMPTY_CONTEXT)["title"] == ""


@pytest.mark.parametrize("panels_per_row", [0, 10, 10_000], ids=["without rows", "many rows", "one row"])
def test_many_panels_are_converted(panels_per_row: int) -> None:
    """Each of 10,000 panels with the same id becomes an element of its own, with and without rows."""
    panels: list[Any] = []
    for number in range(10_000):
        if panels_per_row and number % panels_per_row == 0:
            panels.append({"type": "row", "panels": []})
        panels.append({"id": 1, "type": "stat", "targets": [{}]})
    spec = classic_to_elements({"panels": panels}, EMPTY_CONTEXT)
    assert len(spec["elements"]) == 10_000
    assert set(_names(spec["layout"])) == set(spec["elements"])
