"""Outlines of dashboards: sections with their panels, variables with their options, and links."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dashwright.common.models.dashboard_outline import PAGE_SIZE, DashboardOutline
from dashwright.common.models.pictures import PictureOptions
from dashwright.expressions.pictures.dashboard import read_sections
from dashwright.expressions.pictures.outline import outline_names, outline_of
from dashwright.expressions.pictures.placement import MAX_PLACED, TOO_MANY_PANELS
from dashwright.expressions.pictures.zones import picture_time
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Option, Value

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOSTS = Value(("a", "b"), ("Host A", "Host B"), is_list=True)


def panel(id_: int, x: int, y: int, title: str = "", **members: Any) -> dict[str, Any]:
    """Return a panel of half of the width."""
    return {"id": id_, "type": "stat", "title": title, "gridPos": {"x": x, "y": y, "w": 12, "h": 4}, **members}


def row(y: int, title: str, *panels: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a row. If it is collapsed, it contains its panels; otherwise, they follow it in the dashboard."""
    return {"id": 90 + y, "type": "row", "title": title, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}, "panels": list(panels), **members}


def read_outline(spec: dict[str, Any], options: dict[str, list[Option]] | None = None, **values: Value) -> DashboardOutline:
    """Return the outline of a dashboard whose variables have ``values`` and the ``options`` by their names."""
    resolution = Resolution(Scope(values), options or {})
    return outline_of(spec, read_sections(spec), resolution, picture_time(spec, PictureOptions(), NOW))


def test_panels_are_in_sections_with_their_positions() -> None:
    """A section has the panels of a row, sorted and moved up. Panels after a collapsed row are a section without a heading."""
    panels = [panel(1, 12, 5, "Right"), panel(2, 0, 3, "Left"), row(9, "Closed", panel(3, 0, 10), collapsed=True), panel(4, 0, 20)]
    sections = read_outline({"panels": [*panels, row(30, "Open"), panel(5, 0, 31)]}).sections
    assert [(section.title, section.has_heading, section.is_collapsed) for section in sections] == [
        ("", False, False),
        ("Closed", True, True),
        ("", False, False),
        ("Open", True, False),
    ]
    assert [(item.title, item.x, item.y, item.width, item.height) for item in sections[0].panels] == [
        ("Left", 0, 0, 12, 4),
        ("Right", 12, 0, 12, 4),
    ]
    assert [[item.id for item in section.panels] for section in sections] == [[2, 1], [3], [4], [5]]


def test_pages_have_a_panel_for_each_of_many_values() -> None:
    """A page repeats a panel for up to ``MAX_PLACED`` values, which are more than in a picture. The outline has the first of its pages."""
    values = tuple(f"h{number}" for number in range(MAX_PLACED + 1))
    hosts = Value(values, values, is_list=True)
    outline = read_outline({"panels": [panel(1, 0, 0, "On $host", repeat="host")]}, host=hosts)
    assert [item.title for item in outline.sections[0].panels] == [f"On h{number}" for number in range(PAGE_SIZE)]
    assert outline.panel_count == MAX_PLACED
    assert outline.notices == [f"$host has {MAX_PLACED + 1} values; panels are repeated for the first {MAX_PLACED}"]


def test_panels_of_every_schema_have_their_descriptions() -> None:
    """Variables in descriptions are replaced, in the classic schema and in that with elements."""
    element = {"kind": "Panel", "spec": {"id": 1, "title": "T", "description": "Of $host", "vizConfig": {"kind": "stat", "spec": {}}}}
    item = {"kind": "GridLayoutItem", "spec": {"element": {"name": "a"}, "x": 0, "y": 0, "width": 12, "height": 4}}
    elements = {"elements": {"a": element}, "layout": {"kind": "GridLayout", "spec": {"items": [item]}}}
    for spec in ({"panels": [panel(1, 0, 0, description="Of $host")]}, elements):
        assert read_outline(spec, host=HOSTS).sections[0].panels[0].description == "Of Host A + Host B"


def test_repeated_panels_and_rows_have_their_values() -> None:
    """Each copy of a repeated panel has the value with which it is drawn; other panels have none."""
    (section,) = read_outline({"panels": [panel(1, 0, 0, "On $host", repeat="host"), panel(2, 0, 4)]}, host=HOSTS).sections
    assert [(item.id, item.title, item.variables) for item in section.panels] == [
        (1, "On Host A", {"host": ["a"]}),
        (1, "On Host B", {"host": ["b"]}),
        (2, "", {}),
    ]
    rows = read_outline({"panels": [row(0, "For $host", repeat="host"), panel(2, 0, 1)]}, host=HOSTS).sections
    assert [(item.title, [panel_of_row.variables for panel_of_row in item.panels]) for item in rows] == [
        ("For Host A", [{"host": ["a"]}]),
        ("For Host B", [{"host": ["b"]}]),
    ]


@pytest.mark.parametrize(
    ("definition", "value", "options", "values"),
    [
        ({"type": "custom"}, Value(("x",), ("X",)), [("x", "X"), ("y", "Y")], ["x"]),
        ({"type": "custom", "includeAll": True}, Value(("x", "y"), is_all=True), [("$__all", "All"), ("x", "X"), ("y", "Y")], ["$__all"]),
        ({"type": "custom"}, Value(("gone",), ("Gone",)), [("x", "X"), ("y", "Y"), ("gone", "Gone")], ["gone"]),
        ({"type": "interval"}, Value(("10s",), ("auto",)), [("x", "X"), ("y", "Y"), ("$__auto", "auto")], ["$__auto"]),
    ],
)
def test_variables_have_their_options_and_values(
    definition: dict[str, Any], value: Value, options: list[tuple[str, str]], values: list[str]
) -> None:
    """A variable has its options and selected values. A selected value that is not an option is added, so that a form keeps it."""
    queried_options = {"v": [Option("x", "X"), Option("y", "Y")]}
    (variable,) = read_outline({"templating": {"list": [{"name": "v", **definition}]}}, queried_options, v=value).variables
    assert [(option.value, option.text) for option in variable.options] == options
    assert variable.values == values


@pytest.mark.parametrize("members", [{"hide": 2}, {"hide": "hideVariable"}, {"type": "constant"}, {"type": "adhoc"}])
def test_variables_that_users_cannot_set_are_left_out(members: dict[str, Any]) -> None:
    """Variables that users cannot set are omitted, and their options are not queried."""
    spec = {"templating": {"list": [{"name": "v", "type": "custom", **members}]}}
    assert read_outline(spec, v=Value(("x",))).variables == []
    assert "v" not in outline_names(spec, read_sections(spec))


def test_links_are_interpolated() -> None:
    """Variables in titles and addresses of links are replaced. A link to dashboards with tags has no address. Invalid links are omitted."""
    links = [
        {"type": "link", "title": "Of $host", "url": "/x?h=$host", "keepTime": True, "targetBlank": True, "tooltip": "T"},
        {"type": "dashboards", "tags": ["a", 1], "url": "ignored", "includeVars": True},
        "invalid",
    ]
    first, second = read_outline({"links": links}, host=Value(("a",), ("a",))).links
    assert first.title == "Of a"
    assert first.url == "/x?h=a"
    assert first.tooltip == "T"
    assert first.keeps_time
    assert first.opens_tab
    assert second.url == ""
    assert second.tags == ["a"]
    assert second.includes_variables


@pytest.mark.parametrize(
    "spec",
    [
        {"time": {"from": "now-1h", "to": "now"}, "refresh": "30s"},
        {"elements": {}, "timeSettings": {"from": "now-1h", "to": "now", "autoRefresh": "30s"}},
    ],
)
def test_both_schemas_have_a_range_and_an_interval(spec: dict[str, Any]) -> None:
    """An outline has the time range, as written and in milliseconds, and the interval of refreshes, from either schema."""
    outline = read_outline(spec)
    assert outline.from_ == "now-1h"
    assert outline.to == "now"
    assert outline.end - outline.start == 3_600_000
    assert outline.refresh == "30s"


@pytest.mark.parametrize(("page", "section_sizes"), [(1, [3, PAGE_SIZE - 3]), (2, [PAGE_SIZE]), (3, [7]), (4, [7])])
def test_pages_have_all_panels_below_their_headings(page: int, section_sizes: list[int]) -> None:
    """Each page begins at the top. A row that continues on a page has its heading again. A page after the last one equals the last one."""
    # Three panels precede the row, and the others follow it, so that the row is the last section of each page.
    above = [panel(index + 1, 0, index * 4) for index in range(3)]
    below = [panel(index + 10, 0, index * 4 + 20) for index in range(2 * PAGE_SIZE + 4)]
    spec = {"panels": [*above, row(15, "Open"), *below]}
    time = picture_time(spec, PictureOptions(), NOW)
    outline = outline_of(spec, read_sections(spec), Resolution(Scope()), time, page=page)
    assert [len(section.panels) for section in outline.sections] == section_sizes
    row_section = outline.sections[-1]
    assert row_section.title == "Open"
    assert row_section.panels[0].y == 0
    assert outline.panel_count == len(above) + len(below)


def test_a_panel_of_any_page_is_found_by_its_id() -> None:
    """The outline of one panel contains only this panel."""
    spec = {"panels": [panel(index + 1, 0, index) for index in range(PAGE_SIZE + 1)]}
    time = picture_time(spec, PictureOptions(), NOW)
    outline = outline_of(spec, read_sections(spec), Resolution(Scope()), time, panel_id=PAGE_SIZE + 1)
    assert [item.id for section in outline.sections for item in section.panels] == [PAGE_SIZE + 1]


def test_the_number_of_panels_is_limited() -> None:
    """The number of panels on all pages is limited, and a notice says so."""
    panels = [panel(index + 1, 0, index) for index in range(MAX_PLACED - 1)]
    outline = read_outline({"panels": [*panels, row(MAX_PLACED, "Row", panel(9_998, 0, 1), panel(9_999, 0, 2), collapsed=True)]})
    assert outline.panel_count == MAX_PLACED
    assert outline.notices == [TOO_MANY_PANELS]
