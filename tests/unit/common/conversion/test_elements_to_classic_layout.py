"""Conversion of rows, tabs and grids (v2) to classic panels, whose positions are the same as in Grafana 12.4."""

from collections.abc import Sequence
from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.elements_to_classic import elements_to_classic
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import MAX_LAYOUT_DEPTH

Tree = dict[str, Any]

#: Ids of the elements in the documents of this module. Row panels get the following ids.
IDS = range(1, 5)


def item(number: int, y: int = 0, height: int = 4, x: int = 0, **members: Any) -> Tree:
    """Return an item of a grid, for the element with a number."""
    reference = {"kind": "ElementReference", "name": f"e{number}"}
    spec = {"x": x, "y": y, "width": 6, "height": height, "element": reference, **members}
    return {"kind": "GridLayoutItem", "spec": spec}


def grid(*items: Tree) -> Tree:
    """Return a grid of items."""
    return {"kind": "GridLayout", "spec": {"items": list(items)}}


def auto_grid(*numbers: int, item_members: Tree | None = None, **settings: Any) -> Tree:
    """Return an automatic grid with the elements of these numbers."""
    items = [
        {"kind": "AutoGridLayoutItem", "spec": {"element": {"kind": "ElementReference", "name": f"e{number}"}, **(item_members or {})}}
        for number in numbers
    ]
    return {"kind": "AutoGridLayout", "spec": {"columnWidthMode": "standard", "rowHeightMode": "standard", "items": items, **settings}}


def row(layout: Tree | None, **members: Any) -> Tree:
    """Return a row with a layout in it, or without any."""
    return {"kind": "RowsLayoutRow", "spec": {**members, **({"layout": layout} if layout else {})}}


def rows(*rows: Tree) -> Tree:
    """Return a layout of rows."""
    return {"kind": "RowsLayout", "spec": {"rows": list(rows)}}


def tab(layout: Tree, **members: Any) -> Tree:
    """Return a tab with a layout in it."""
    return {"kind": "TabsLayoutTab", "spec": {**members, "layout": layout}}


def tabs(*tabs: Tree) -> Tree:
    """Return a layout of tabs."""
    return {"kind": "TabsLayout", "spec": {"tabs": list(tabs)}}


def panels_of(layout: Any) -> list[Tree]:
    """Return the panels of a converted dashboard with a layout and the elements ``e1`` to ``e4``, titled ``P1`` to ``P4``."""
    elements = {f"e{number}": {"kind": "Panel", "spec": {"id": number, "title": f"P{number}"}} for number in IDS}
    spec = {"title": "T", "elements": elements, "layout": layout}
    panels: list[Tree] = elements_to_classic(spec, EMPTY_CONTEXT).get("panels", [])
    return panels


def positions_of(panels: Sequence[Tree]) -> list[Any]:
    """Return the title and the line of each panel. The line of a panel without a position is None.

    A collapsed row with panels has a third item: the titles and lines of these inner panels.
    """
    positions: list[Any] = []
    for panel in panels:
        title = panel.get("title")
        line = panel.get("gridPos", {}).get("y")
        inner_panels = panel.get("panels")
        positions.append((title, line, positions_of(inner_panels)) if inner_panels else (title, line))
    return positions


FIRST_ITEM = item(1, y=0, height=4)
SECOND_ITEM = item(2, y=4, height=3)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        pytest.param(grid(FIRST_ITEM, SECOND_ITEM), [("P1", 0), ("P2", 4)], id="a grid keeps its positions"),
        pytest.param(None, [], id="without a layout there are no panels"),
        pytest.param(
            rows(row(grid(FIRST_ITEM, SECOND_ITEM), title="A"), row(grid(item(3)), title="B")),
            [("A", 0), ("P1", 0), ("P2", 4), ("B", 7), ("P3", 7)],
            id="panels of an expanded row begin on its line, and the next row below them",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A", collapse=True), row(grid(item(2)), title="B")),
            [("A", 0, [("P1", 1)]), ("B", 1), ("P2", 1)],
            id="panels of a collapsed row are in it, below its line",
        ),
        pytest.param(
            rows(row(grid(item(1, y=3)), hideHeader=True), row(grid(item(2)), title="B")),
            [("P1", 3), ("B", 7), ("P2", 7)],
            id="a row with a hidden header leaves its panels where they are",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A"), row(grid(item(2, y=1)), hideHeader=True, collapse=True)),
            [("A", 0), ("P1", 0), ("P2", 1)],
            id="a row with a hidden header is not collapsed",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A"), row(grid(), title="B"), row(grid(item(2)), title="C")),
            [("A", 0), ("P1", 0), ("B", None), ("C", 0), ("P2", 0)],
            id="an empty row has no position and moves the next one to the top",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A"), row(grid(), title="B", collapse=True), row(grid(item(2)), title="C")),
            [("A", 0), ("P1", 0), ("B", 4), ("C", 5), ("P2", 5)],
            id="an empty collapsed row has a position",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A"), row(None, title="B"), row(grid(item(2)), title="C")),
            [("A", 0), ("P1", 0), ("B", None), ("C", 4), ("P2", 4)],
            id="a row without a layout takes no line",
        ),
        pytest.param(
            tabs(tab(grid(FIRST_ITEM, SECOND_ITEM), title="A"), tab(grid(), title="B"), tab(grid(item(3)), title="C")),
            [("A", 0), ("P1", 1), ("P2", 5), ("B", 8), ("C", 9), ("P3", 10)],
            id="panels of a tab are below its line",
        ),
        pytest.param(
            rows(row(tabs(tab(grid(FIRST_ITEM), title="T")), title="A", collapse=True), row(grid(item(2)), title="B")),
            [("A", 0), ("T", 1), ("P1", 2), ("B", 6), ("P2", 6)],
            id="a row with tabs is expanded and in front of them",
        ),
        pytest.param(
            rows(row(rows(row(grid(FIRST_ITEM), title="I")), hideHeader=True), row(grid(item(2)), title="B")),
            [("I", 0), ("P1", 0), ("B", 4), ("P2", 4)],
            id="a hidden row with rows has no row panel",
        ),
        pytest.param(
            tabs(
                tab(rows(row(grid(FIRST_ITEM), title="I", collapse=True)), title="A"), tab(tabs(tab(grid(item(2)), title="U")), title="B")
            ),
            [("A", 0), ("I", 1, [("P1", 2)]), ("B", 2), ("U", 3), ("P2", 4)],
            id="rows and tabs in tabs follow them",
        ),
        pytest.param(
            rows(row(auto_grid(1, 2, 3, 4), title="A"), row(auto_grid(1), title="B")),
            [("A", 0), ("P1", 0), ("P2", 0), ("P3", 0), ("P4", 9), ("B", 18), ("P1", 18)],
            id="an automatic grid begins on the line of its row",
        ),
        pytest.param(
            tabs(tab(auto_grid(1, rowHeightMode="short"), title="A"), tab(auto_grid(2), title="B")),
            [("A", 0), ("P1", 1), ("B", 6), ("P2", 7)],
            id="an automatic grid begins below its tab",
        ),
        pytest.param(
            rows(row(auto_grid(1), title="A"), row(auto_grid(2), hideHeader=True), row(auto_grid(3), title="C", collapse=True)),
            [("A", 0), ("P1", 0), ("P2", 9), ("C", 18, [("P3", 19)])],
            id="an automatic grid follows the rows above it",
        ),
        pytest.param(
            rows(row(grid(FIRST_ITEM), title="A"), row(auto_grid(), title="B"), row(grid(item(2)), title="C")),
            [("A", 0), ("P1", 0), ("B", 4), ("C", 4), ("P2", 4)],
            id="an empty automatic grid takes no line",
        ),
    ],
)
def test_layouts_become_positions(layout: Any, expected: list[Any]) -> None:
    """Each panel has the grid position that Grafana 12.4 gives it."""
    assert positions_of(panels_of(layout)) == expected


@pytest.mark.parametrize(
    ("settings", "width", "height"),
    [
        ({}, 8, 9),
        ({"maxColumnCount": 4, "rowHeightMode": "short"}, 6, 5),
        ({"maxColumnCount": 5, "rowHeightMode": "tall"}, 4, 14),
        ({"maxColumnCount": 0, "rowHeightMode": "custom"}, 8, 9),
        # One unit of height has 38 pixels.
        ({"maxColumnCount": None, "rowHeightMode": "custom", "rowHeight": 38}, 8, 1),
        ({"maxColumnCount": 1, "rowHeightMode": "custom", "rowHeight": 39}, 24, 2),
        # Less than one column counts as one.
        ({"maxColumnCount": 1e-308, "rowHeightMode": "short"}, 24, 5),
    ],
)
def test_automatic_grids_have_equal_panels(settings: Tree, width: int, height: int) -> None:
    """Panels of an automatic grid have equal sizes in units of the grid.

    The width follows from the number of columns, and the height from the mode or from pixels.
    """
    (panel,) = panels_of(auto_grid(1, **settings))
    assert panel["gridPos"]["w"] == width
    assert panel["gridPos"]["h"] == height


def test_automatic_grids_break_lines_at_the_full_width() -> None:
    """Five columns of four units leave four of the 24 units of a line free, which a sixth panel fills."""
    # Seven items, which repeat the four elements.
    panels = panels_of(auto_grid(1, 2, 3, 4, 1, 2, 3, maxColumnCount=5))
    assert [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels] == [
        (0, 0),
        (4, 0),
        (8, 0),
        (12, 0),
        (16, 0),
        (20, 0),
        (0, 9),
    ]


@pytest.mark.parametrize(
    ("layout", "repetition"),
    [
        (grid(item(1, repeat={"mode": "variable", "value": "v", "direction": "v", "maxPerRow": 3})), ("v", "v", 3)),
        (grid(item(1, repeat={"mode": "variable", "value": "v"})), ("v", None, None)),
        (grid(item(1, repeat={"direction": "diagonal"})), ("", None, None)),
        (auto_grid(1, item_members={"repeat": {"mode": "variable", "value": "v"}}, maxColumnCount=4), ("v", "h", 4)),
    ],
)
def test_panels_keep_their_repetition(layout: Tree, repetition: tuple[Any, ...]) -> None:
    """Panels keep their repetition: variable, direction and maximum per row.

    A panel of an automatic grid is repeated from left to right, at most as often per row as the grid has columns.
    """
    (panel,) = panels_of(layout)
    assert (panel["repeat"], panel.get("repeatDirection"), panel.get("maxPerRow")) == repetition


@pytest.mark.parametrize(
    ("layout", "repeats"),
    [
        (rows(row(grid(FIRST_ITEM), repeat={"mode": "variable", "value": "v"})), ["v"]),
        (tabs(tab(grid(FIRST_ITEM), repeat={"mode": "variable", "value": "v"})), ["v"]),
        (rows(row(rows(row(grid(FIRST_ITEM))), repeat={"mode": "variable", "value": "v"})), [None, None]),
        (tabs(tab(rows(row(grid(FIRST_ITEM))), repeat={"mode": "variable", "value": "v"})), ["v", None]),
    ],
)
def test_rows_with_rows_lose_their_repetition(layout: Tree, repeats: list[Any]) -> None:
    """A row that contains rows loses its repetition. Other rows and tabs keep theirs."""
    assert [panel.get("repeat") for panel in panels_of(layout) if panel["type"] == "row"] == repeats


def test_row_panels_have_free_ids() -> None:
    """Ids of row panels follow the highest id of an element, in the order of the rows."""
    panels = panels_of(tabs(tab(rows(row(grid(FIRST_ITEM)))), tab(grid())))
    assert [panel["id"] for panel in panels] == [5, 6, 1, 7]


def test_row_panels_have_titles_and_states_that_were_set() -> None:
    """A row without a title or state has neither. A tab is an expanded row."""
    without_title, collapsed = panels_of(rows(row(grid()), row(grid(), collapse=True)))
    (row_of_tab,) = panels_of(tabs(tab(grid(), title="T")))
    assert without_title == {"type": "row", "id": 5}
    assert collapsed == {"type": "row", "id": 6, "collapsed": True, "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}}
    assert row_of_tab == {"type": "row", "id": 5, "title": "T", "collapsed": False, "panels": [], "gridPos": collapsed["gridPos"]}


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (grid(item(9)), "spec.layout: element 'e9' does not exist in spec.elements; add it or remove its item"),
        (auto_grid(9), "spec.layout: element 'e9' does not exist in spec.elements; add it or remove its item"),
        (grid(item(1, repeat=1)), "spec.layout: 'repeat' is a number; it must be an object"),
        (grid(item(1) | {"spec": []}), "spec.layout: 'spec' is a list; it must be an object"),
        ({"kind": "Columns"}, "kind 'Columns' is unknown; use 'GridLayout'"),
        (rows(row({"kind": 1})), "'kind' is a number; it must be a string"),
        ([], "'layout' is a list; it must be an object"),
        ({"kind": "RowsLayout", "spec": {"rows": "no"}}, "'rows' is a string; it must be a list"),
        ({"kind": "RowsLayout", "spec": {"rows": [True]}}, "an item of 'rows' is true; it must be an object"),
        (grid(item(1, height=10**400)), "'height' is a number; it must be a number between"),
        (grid(item(1) | {"spec": {"x": True}}), "'x' is true; it must be a number"),
    ],
)
def test_broken_layouts_fail_with_their_place(layout: Any, message: str) -> None:
    """The error of a broken layout says what is wrong, where, and what is expected."""
    with pytest.raises(ConversionFailed) as caught:
        panels_of(layout)
    assert message in caught.value.message


def nested_rows(depth: int) -> Tree:
    """Return a grid inside ``depth`` layouts, which are alternately tabs and rows."""
    layout = grid(FIRST_ITEM)
    for level in range(depth):
        layout = rows(row(layout)) if level % 2 else tabs(tab(layout))
    return layout


def test_layouts_are_nested_to_a_limit() -> None:
    """Layouts may be nested to a limit, and one more layout inside is an error."""
    # A row panel for each layout of rows or tabs, and the panel in the grid.
    assert len(panels_of(nested_rows(MAX_LAYOUT_DEPTH))) == MAX_LAYOUT_DEPTH + 1
    with pytest.raises(ConversionFailed, match="layouts inside each other; use fewer rows and tabs"):
        panels_of(nested_rows(MAX_LAYOUT_DEPTH + 1))
