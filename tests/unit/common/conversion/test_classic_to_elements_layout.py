"""Grids and rows of classic dashboards after the conversion to elements (v2)."""

from typing import Any

import pytest

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import EMPTY_CONTEXT, ConversionContext


def _panel(number: Any, y: int | None = None, **members: Any) -> dict[str, Any]:
    """Return a panel with an id, and with a position if ``y`` is given."""
    position = {} if y is None else {"gridPos": {"x": 0, "y": y, "w": 12, "h": 4}}
    return {"id": number, "type": "stat", **position, **members}


def _row_panel(y: int | None, *panels: Any, **members: Any) -> dict[str, Any]:
    """Return a row panel that contains panels. Its id is derived from its position, so that each row has another id."""
    return _panel(100 + (y or 0), y, **members) | {"type": "row", "panels": list(panels)}


def _positions(grid: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the names of the elements of a grid with their vertical positions."""
    assert grid["kind"] == "GridLayout"
    return [(item["spec"]["element"]["name"], item["spec"]["y"]) for item in grid["spec"]["items"]]


def _rows(*panels: Any) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return the titles of the rows of a converted dashboard with the positions of their panels."""
    layout = classic_to_elements({"panels": list(panels)}, EMPTY_CONTEXT)["layout"]
    assert layout["kind"] == "RowsLayout"
    return [(row["spec"]["title"], _positions(row["spec"]["layout"])) for row in layout["spec"]["rows"]]


@pytest.mark.parametrize("panels", [None, "panels", {}, [], [None, 1, "panel", []]])
def test_without_panels_the_grid_is_empty(panels: Any) -> None:
    """A dashboard without panels has an empty grid. Entries that are not objects are left out."""
    spec = classic_to_elements({"panels": panels}, EMPTY_CONTEXT)
    assert spec["elements"] == {}
    assert spec["layout"] == {"kind": "GridLayout", "spec": {"items": []}}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({"x": 1, "y": 2, "w": 3, "h": 4}, (1, 2, 3, 4)),
        ({"x": "1", "y": 2.9, "w": None, "h": "tall"}, (1, 2, 6, 3)),
        ({"x": True, "y": 1e300, "w": -1e300, "h": float("nan")}, (0, 2**53, -(2**53), 3)),
        ({"x": 10**400, "w": float("inf"), "h": "9" * 400}, (2**53, 0, 6, 3)),
        ({}, (0, 0, 6, 3)),
        (None, (0, 0, 6, 3)),
    ],
)
def test_positions_are_whole_numbers(position: Any, expected: tuple[int, ...]) -> None:
    """Column, line, width and height are truncated to whole numbers within ±2**53.

    Missing and invalid members get the defaults: column 0, line 0, width 6 and height 3.
    """
    layout = classic_to_elements({"panels": [{"id": 1, "gridPos": position}]}, EMPTY_CONTEXT)["layout"]
    item = layout["spec"]["items"][0]["spec"]
    assert tuple(item[name] for name in ("x", "y", "width", "height")) == expected
    assert item["element"] == {"kind": "ElementReference", "name": "panel-1"}


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([None, 5, 5, "5", True, 0, -1, {}], [6, 5, 7, 8, 9, 10, 11, 12]),
        ([2.0, 2.5, 1e300], [2, 3, 4]),
    ],
)
def test_ids_become_unique(ids: list[Any], expected: list[int]) -> None:
    """Missing, invalid and repeated ids are replaced by numbers above the largest id, in the order of the panels."""
    spec = classic_to_elements({"panels": [_panel(number) for number in ids]}, EMPTY_CONTEXT)
    assert [element["spec"]["id"] for element in spec["elements"].values()] == expected
    assert list(spec["elements"]) == [f"panel-{number}" for number in expected]


def test_row_panels_take_part_in_unique_ids() -> None:
    """A row panel keeps its id, so a panel that repeats the id gets another one, although rows have no elements."""
    spec = classic_to_elements({"panels": [_panel(1, type="row"), _panel(1), _panel(2)]}, EMPTY_CONTEXT)
    assert list(spec["elements"]) == ["panel-3", "panel-2"]


@pytest.mark.parametrize(
    ("panels", "expected"),
    [
        pytest.param(
            [_row_panel(4, title="A"), _panel(1, 5), _panel(2, 9)],
            [("A", [("panel-1", 0), ("panel-2", 4)])],
            id="panels after the row panel",
        ),
        pytest.param(
            [_row_panel(4, _panel(1, 5), title="A"), _panel(2, 9)],
            [("A", [("panel-1", 0), ("panel-2", 4)])],
            id="panels in and after the row panel",
        ),
        pytest.param(
            [_row_panel(0, title="A"), _row_panel(1, title="B"), _panel(1, 2)], [("A", []), ("B", [("panel-1", 0)])], id="an empty row"
        ),
        pytest.param([_row_panel(4, title="A"), _panel(1)], [("A", [("panel-1", 0)])], id="a panel without position"),
        pytest.param([_row_panel(None, title="A"), _panel(1, 5)], [("A", [("panel-1", 4)])], id="a row panel without position"),
        pytest.param(
            [_row_panel(4, title="A"), _row_panel(None, title="B"), _panel(1, 9)],
            [("A", []), ("B", [("panel-1", 4)])],
            id="a second row panel without position",
        ),
        pytest.param(
            [_panel(1, 3), _panel(2, 7), _row_panel(9, title="A")],
            [("", [("panel-1", 0), ("panel-2", 7)]), ("A", [])],
            id="panels before the row panel",
        ),
        pytest.param(
            [_row_panel(0, _panel(1, 1), _row_panel(2, _panel(2, 3), title="B"), title="A"), _panel(3, 5), _row_panel(9, title="C")],
            [("A", [("panel-1", 0), ("panel-3", 4)]), ("B", [("panel-2", 0)]), ("C", [])],
            id="a row panel in a row panel",
        ),
    ],
)
def test_rows_have_grids_of_their_own(panels: list[Any], expected: list[Any]) -> None:
    """A row has the panels within its row panel, and those that follow it. Vertical positions count from below the row panel."""
    assert _rows(*panels) == expected


@pytest.mark.parametrize(
    ("row_panel", "expected"),
    [
        ({"title": "A", "collapsed": True}, {"title": "A", "collapse": True}),
        ({"collapsed": "yes", "title": 1}, {"title": "", "collapse": False}),
        ({"repeat": "site"}, {"title": "", "collapse": False, "repeat": {"mode": "variable", "value": "site"}}),
        ({"repeat": ""}, {"title": "", "collapse": False}),
    ],
)
def test_rows_keep_the_settings_of_row_panels(row_panel: dict[str, Any], expected: dict[str, Any]) -> None:
    """Title, collapse and repetition of a row are those of its row panel."""
    (row,) = classic_to_elements({"panels": [{"type": "row", **row_panel}]}, EMPTY_CONTEXT)["layout"]["spec"]["rows"]
    del row["spec"]["layout"]
    assert row == {"kind": "RowsLayoutRow", "spec": expected}


def test_panels_before_the_first_row_have_a_hidden_header() -> None:
    """Panels before the first row panel are in an expanded row whose header is hidden."""
    rows = classic_to_elements({"panels": [_panel(1, 0), _row_panel(4)]}, EMPTY_CONTEXT)["layout"]["spec"]["rows"]
    assert [row["spec"].get("hideHeader") for row in rows] == [True, None]
    assert [row["spec"]["collapse"] for row in rows] == [False, False]


@pytest.mark.parametrize(
    ("panel", "expected"),
    [
        ({"repeat": "site"}, {"mode": "variable", "value": "site"}),
        (
            {"repeat": "site", "repeatDirection": "v", "maxPerRow": 3},
            {"mode": "variable", "value": "site", "direction": "v", "maxPerRow": 3},
        ),
        ({"repeat": "site", "repeatDirection": "x", "maxPerRow": 0}, {"mode": "variable", "value": "site"}),
        ({"repeat": None, "repeatDirection": "h"}, None),
        ({"libraryPanel": {"uid": "ovens"}}, {"mode": "variable", "value": "oven", "direction": "h"}),
        ({"libraryPanel": {"uid": "ovens"}, "repeat": "site"}, {"mode": "variable", "value": "site"}),
        ({"libraryPanel": {"uid": "unknown"}}, None),
        ({"libraryPanel": {"uid": ["ovens"]}}, None),
    ],
)
def test_panels_are_repeated(panel: dict[str, Any], expected: Any) -> None:
    """The repetition of a panel is part of the layout. A panel without repetition has that of its library panel."""
    context = ConversionContext(library_panels={"ovens": {"repeat": "oven", "repeatDirection": "h"}})
    (item,) = classic_to_elements({"panels": [panel]}, context)["layout"]["spec"]["items"]
    assert item["spec"].get("repeat") == expected


def test_library_panels_are_references() -> None:
    """The element of a library panel has the id, title and reference of the panel, and no other member such as ``type``."""
    spec = classic_to_elements(
        {"panels": [{"id": 4, "title": "Heat", "type": "stat", "libraryPanel": {"uid": "u", "name": 1}}]}, EMPTY_CONTEXT
    )
    expected = {"kind": "LibraryPanel", "spec": {"id": 4, "title": "Heat", "libraryPanel": {"uid": "u", "name": ""}}}
    assert spec["elements"] == {"panel-4": expected}
