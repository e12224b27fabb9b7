"""Panels of collapsed and repeated rows, and repeated panels: their positions and their number."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.composition import compose
from dashwright.expressions.pictures.dashboard import Panel, read_dashboard
from dashwright.expressions.pictures.layout import lay_out
from dashwright.expressions.pictures.outcomes import PanelOutcome, State
from dashwright.expressions.pictures.placement import MAX_PLACED, MAX_REPEATS
from dashwright.expressions.pictures.sections import unique_ids
from dashwright.expressions.pictures.svg import BOLD_WIDTH, text_width
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Value


def panel(id_: int, y: int, title: str = "", **members: Any) -> dict[str, Any]:
    """Return a panel of half of the width, with a height of 4 units of the grid."""
    return {"id": id_, "type": "text", "title": title, "gridPos": {"x": 0, "y": y, "w": 12, "h": 4}, **members}


def row(y: int, title: str, *panels: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a row. If it is collapsed, it contains its panels; otherwise, they follow it in the dashboard."""
    return {"id": 90 + y, "type": "row", "title": title, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}, "panels": list(panels), **members}


def place_panels(panels: list[dict[str, Any]], count: int = 3, **options: Any) -> list[Panel]:
    """Return the panels of a dashboard whose variable ``v`` has ``count`` values."""
    scope = Scope({"v": Value(tuple(f"v{index}" for index in range(count)), is_list=True)})
    return list(read_dashboard({"panels": panels}, Resolution(scope), **options).panels)


def boxes(panels: list[Panel]) -> list[tuple[str, int, int, int]]:
    """Return the title, the left edge, the upper edge and the width of each panel, in units of the grid."""
    return [(item.title, item.position.x, item.position.y, item.position.width) for item in panels]


RANGE = TimeRange(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
#: A collapsed row with two panels, followed by a row that is not collapsed and its panel.
COLLAPSED = [row(0, "Closed", panel(2, 1, "In"), panel(3, 5, "Below"), collapsed=True), row(1, "Open"), panel(4, 2, "Out")]


def test_collapsed_rows_show_how_many_panels_they_hide() -> None:
    """The title of a collapsed row has the number of its panels, which are not placed."""
    assert boxes(place_panels(COLLAPSED)) == [("Closed (2 panels)", 0, 0, 24), ("Open", 0, 1, 24), ("Out", 0, 2, 12)]


def test_headings_have_a_sign_for_collapsed_rows() -> None:
    """The heading of a collapsed row has another sign than that of an open row, even if it hides no panels. Expanded rows are open."""
    panels = [*COLLAPSED, row(9, "Empty", collapsed=True)]
    assert [(item.title, item.is_collapsed) for item in place_panels(panels)] == [
        ("Closed (2 panels)", True),
        ("Open", False),
        ("Out", False),
        ("Empty (0 panels)", True),
    ]
    assert not any(item.is_collapsed for item in place_panels(panels, expanded=True))
    layout = lay_out([item for item in place_panels(panels) if item.type == "row"], 600, None, is_single_panel=False)
    signs = re.findall('<polyline points="([^"]*)"', compose(layout, [PanelOutcome("", State.DRAWN)] * 3, THEMES["dark"], "", RANGE))
    assert len({len(sign.split()) for sign in signs}) == 1
    # The shape of a sign, independent of its position, is the offset of each of its points from the first one.
    closed, opened, empty = ([float(x) - float(sign.split(",")[0]) for x in re.findall("([0-9.]+),", sign)] for sign in signs)
    assert closed == empty
    assert closed != opened


def test_expanded_rows_push_the_others_down() -> None:
    """If a picture expands its rows, the panels of a collapsed row are below its heading, and later rows and panels move down."""
    positions = boxes(place_panels(COLLAPSED, expanded=True))
    assert positions == [("Closed", 0, 0, 24), ("In", 0, 1, 12), ("Below", 0, 5, 12), ("Open", 0, 9, 24), ("Out", 0, 10, 12)]


def test_panels_below_a_collapsed_row_are_not_hidden() -> None:
    """A collapsed row hides only the panels that it contains. The panels after it in the dashboard are placed."""
    assert boxes(place_panels([row(0, "Closed", panel(2, 1), collapsed=True), panel(3, 1, "Out")])) == [
        ("Closed (1 panel)", 0, 0, 24),
        ("Out", 0, 1, 12),
    ]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], []),
        ([None, None], [1, 2]),
        ([3, 1, 3, None], [3, 1, 4, 5]),
        (["7", 0, -1, 1.5, True, {}, 2**60], [7, 8, 9, 1, 10, 11, 12]),
    ],
)
def test_every_panel_has_an_id_of_its_own(ids: list[Any], expected: list[int]) -> None:
    """A missing, invalid or repeated id becomes the number after the highest one, as in Grafana's frontend."""
    assert unique_ids(ids) == expected


def test_panels_without_an_id_can_be_drawn_alone() -> None:
    """Panels without an id are numbered in stored order, and panels in a row after the row. A number selects its panel."""
    stored = [row(0, "Closed", panel(2, 1, "In"), collapsed=True), panel(2, 2, "Below"), panel(2, 3, "Last")]
    for source in (*stored, *stored[0]["panels"]):
        del source["id"]
    # The row has the number 1, but cannot be drawn alone. The number 5 is that of no panel.
    selected_titles = {id_: [item.title for item in place_panels(stored, panel_id=id_)] for id_ in range(1, 6)}
    assert selected_titles == {1: [], 2: ["In"], 3: ["Below"], 4: ["Last"], 5: []}
    element = {"kind": "Panel", "spec": {"title": "E", "vizConfig": {"kind": "text"}}}
    layout = {"kind": "GridLayout", "spec": {"items": [{"spec": {"element": {"name": name}}} for name in ("a", "b")]}}
    panels = read_dashboard({"elements": {"a": element, "b": element}, "layout": layout}, panel_id=2).panels
    assert [(item.id, item.title) for item in panels] == [(2, "E")]


@pytest.mark.parametrize("id_", [2, 4])
def test_one_panel_is_found_in_any_row(id_: int) -> None:
    """A panel of a collapsed row and one of an open row are selected by their ids."""
    assert [item.id for item in place_panels(COLLAPSED, panel_id=id_)] == [id_]


def test_headings_cannot_be_drawn_alone() -> None:
    """The id of a row selects no panel."""
    row_id = COLLAPSED[0]["id"]
    assert place_panels(COLLAPSED, panel_id=row_id) == []


def test_panels_are_repeated_side_by_side() -> None:
    """Copies of a panel are next to each other in equal columns, at most four or ``maxPerRow``. Panels below move down."""
    positions = boxes(place_panels([panel(1, 0, "$v", repeat="v", maxPerRow=2), panel(2, 4, "next")]))
    assert positions == [("v0", 0, 0, 12), ("v1", 12, 0, 12), ("v2", 0, 4, 12), ("next", 0, 8, 12)]


def test_panels_are_repeated_downwards() -> None:
    """In the vertical direction, each copy of a panel is below the one before, and keeps its width."""
    positions = boxes(place_panels([panel(1, 0, "$v", repeat="v", repeatDirection="v"), panel(2, 4, "next")], 2))
    assert positions == [("v0", 0, 0, 12), ("v1", 0, 4, 12), ("next", 0, 8, 12)]


def test_rows_are_repeated_with_their_panels() -> None:
    """Each copy of a row has a copy of its panels, in which the variable has the value of the row."""
    positions = boxes(place_panels([row(0, "Row $v", repeat="v"), panel(1, 1, "In $v"), row(5, "Last")], 2))
    assert positions == [("Row v0", 0, 0, 24), ("In v0", 0, 1, 12), ("Row v1", 0, 5, 24), ("In v1", 0, 6, 12), ("Last", 0, 10, 24)]


def test_elements_are_repeated_as_well() -> None:
    """Panels of the schema with elements are repeated, and their rows may be collapsed."""
    element = {"spec": {"id": 7, "title": "$v", "vizConfig": {"kind": "text", "spec": {}}}}
    repeat = {"mode": "variable", "value": "v", "direction": "h", "maxPerRow": 4}
    item = {"spec": {"x": 0, "y": 0, "width": 6, "height": 4, "element": {"name": "e"}, "repeat": repeat}}
    grid = {"kind": "GridLayout", "spec": {"items": [item]}}
    rows = {"kind": "RowsLayout", "spec": {"rows": [{"spec": {"title": "R", "collapse": True, "layout": grid}}]}}
    scope = Scope({"v": Value(("a", "b"), is_list=True)})
    spec = {"elements": {"e": element}, "layout": rows}
    assert [item.title for item in read_dashboard(spec, Resolution(scope)).panels] == ["R (1 panel)"]
    assert [item.title for item in read_dashboard(spec, Resolution(scope), expanded=True).panels] == ["R", "a", "b"]


def test_repetition_is_bounded_and_reported() -> None:
    """The copies of one panel and the panels of a dashboard are limited, and a notice names each limit."""
    scope = Scope({"v": Value(tuple(map(str, range(10_000))), is_list=True)})
    repeated_panels = [panel(index, index, "$v", repeat="v") for index in range(3_000)]
    board = read_dashboard({"panels": repeated_panels}, Resolution(scope))
    assert len(board.panels) <= MAX_PLACED + MAX_REPEATS
    assert board.notices == [
        "$v has 10000 values; panels are repeated for the first 60",
        "the dashboard has more than 2000 panels, of which the first 2000 are read",
    ]


def test_many_repeated_rows_are_bounded() -> None:
    """Copies of repeated rows count as panels, so their number is limited, too."""
    scope = Scope({"v": Value(tuple(map(str, range(60))), is_list=True)})
    board = read_dashboard({"panels": [row(index, "$v", repeat="v") for index in range(2_000)]}, Resolution(scope))
    assert len(board.panels) == MAX_PLACED
    assert board.notices == ["the dashboard has more than 2000 panels, of which the first 2000 are read"]


def test_old_rows_are_laid_out() -> None:
    """In the schema of old dashboards, panels of a row are next to each other, with spans of up to 12."""
    spec = {"rows": [{"panels": [{"span": 6, "title": "a"}, {"span": 6, "title": "b"}]}, {"panels": [{"title": "c"}]}]}
    assert boxes(list(read_dashboard(spec).panels)) == [("a", 0, 0, 12), ("b", 12, 0, 12), ("c", 0, 8, 24)]


def test_bold_titles_end_inside_of_their_panels() -> None:
    """The long titles of a dashboard, a row and a panel are cut so that their bold text ends inside of the picture."""
    title = "Average duration of requests by code, protocol, method and service " * 5
    panels = [row(0, title), panel(1, 1, title)]
    layout = lay_out(place_panels(panels), 600, None, is_single_panel=False)
    picture = compose(layout, [PanelOutcome("", State.DRAWN)] * 2, THEMES["dark"], title, RANGE)
    bold_texts = re.findall(r'<text x="([\d.]+)"[^>]*font-size="([\d.]+)"[^>]*font-weight="bold">([^<]*)<', picture)
    assert len(bold_texts) == 3
    # The picture is 600 pixels wide, with a margin of 8 pixels.
    for x, size, text in bold_texts:
        assert float(x) + text_width(text, float(size)) * BOLD_WIDTH < 600 - 8


def test_titles_use_the_width_of_narrow_panels() -> None:
    """Titles that end before the border of their panel are not cut."""
    narrow = panel(1, 0, "Running Pods")
    layout = lay_out(place_panels([{**narrow, "gridPos": {**narrow["gridPos"], "w": 2}}]), 1400, None, is_single_panel=False)
    assert ">Running Pods<" in compose(layout, [PanelOutcome("", State.DRAWN)], THEMES["dark"], "", RANGE)
