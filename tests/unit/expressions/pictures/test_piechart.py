"""Pie charts: slices, labels and legends."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import draw_panel, panel_of, props_of, series, svg_of, visible_texts

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.panels.piechart import slices_of
from dashwright.expressions.pictures.svg import text_width
from dashwright.expressions.pictures.theme import THEMES

HIDE_B = {"matcher": {"id": "byName", "options": "b"}, "properties": [{"id": "custom.hideFrom", "value": {"viz": True}}]}


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=9))
def test_the_slices_sum_to_the_whole(values: list[float]) -> None:
    """The shares of all slices add up to 1, unless all values are nearly 0. Slices are in descending order."""
    frames = [series(value, n=str(index)) for index, value in enumerate(values)]
    shares = [item.share for item in slices_of(props_of(panel_of("piechart"), *frames))]
    if max(values) > 1e-300:
        assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)


def test_missing_hidden_and_negative_values_have_no_part_of_the_whole() -> None:
    """Missing values and hidden series are not drawn; a negative value is a slice without a size."""
    frames = [series(6, n="a"), series(99, n="b"), series(None, n="c"), series(2, n="d"), series(-5, n="e")]
    slices = slices_of(props_of(panel_of("piechart", overrides=[HIDE_B]), *frames))
    assert [(item.name, item.share) for item in slices] == [("a", 0.75), ("d", 0.25), ("e", 0)]


@pytest.mark.parametrize(
    ("parts", "texts"),
    [(["name"], ["a", "b"]), (["value"], ["3", "1"]), (["percent", "name"], ["a", "75%", "b", "25%"]), ("name", []), ([], [])],
)
def test_labels_have_the_parts_that_the_panel_selects(parts: object, texts: list[str]) -> None:
    """A label has a line for each part in the list. The option has no effect if it is not a list."""
    options = {"displayLabels": parts, "legend": {"showLegend": False}}
    assert visible_texts(draw_panel("piechart", series(3, n="a"), series(1, n="b"), options=options)) == texts


@pytest.mark.parametrize("pie_type", ["donut", "pie"])
def test_labels_are_not_wider_than_the_pie(pie_type: str) -> None:
    """Labels are completely on their pie or ring, because white letters beyond it would be invisible. They are smaller or cut."""
    frames = [series(1, n=f"a-very-long-name-{index}") for index in range(5)]
    options = {"pieType": pie_type, "displayLabels": ["name"], "legend": {"showLegend": False}}
    svg = svg_of(draw_panel("piechart", *frames, options=options, width=200, height=200))
    labels = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)" [^>]*font-size="([0-9.]+)"[^>]*>([^<]+)<', svg)
    radii = [float(radius) for radius in re.findall(r"A ?([0-9.]+)", svg)]
    inner_radius = min(radii) if pie_type == "donut" else 0
    assert labels
    # The pie is in the middle of the panel of 200 by 200 pixels. A label is inside if the ends of its middle line are.
    for x, y, size, text in labels:
        half_width = text_width(text, float(size)) / 2
        # The middle line of letters is 0.36 of the font size above their base line.
        height_from_middle = float(y) - float(size) * 0.36 - 100
        distance_from_middle = abs(float(x) - 100)
        assert math.hypot(distance_from_middle + half_width, height_from_middle) <= max(radii) + 1
        if abs(height_from_middle) < inner_radius:
            hole_half_width = math.sqrt(inner_radius**2 - height_from_middle**2)
            assert distance_from_middle - half_width >= hole_half_width - 1


def test_small_slices_have_no_label() -> None:
    """A slice with an angle below 0.3 radians has no label, as in Grafana."""
    options = {"displayLabels": ["name"], "legend": {"showLegend": False}}
    assert visible_texts(draw_panel("piechart", series(97, n="a"), series(3, n="b"), options=options)) == ["a"]


def test_the_legend_has_percentages_by_default() -> None:
    """By default, the legend is a list with percentages. A table has a column for each selected value."""
    frames = [series(3, n="a"), series(1, n="b")]
    assert visible_texts(draw_panel("piechart", *frames)) == ["a 75%", "b 25%"]
    table = {"legend": {"displayMode": "table", "values": ["value", "percent"]}}
    assert visible_texts(draw_panel("piechart", *frames, options=table)) == ["a", "b", "Name", "Value", "3", "1", "Percent", "75%", "25%"]
    assert visible_texts(draw_panel("piechart", *frames, options={"legend": {"displayMode": "hidden"}})) == []


@pytest.mark.parametrize(("pie_type", "arc_count"), [("pie", 2), ("donut", 4)])
def test_a_ring_is_a_pie_with_a_hole(pie_type: str, arc_count: int) -> None:
    """A single slice of a pie has two arcs, each of half a turn. A slice of a donut has inner arcs, too."""
    svg = svg_of(draw_panel("piechart", series(1), options={"pieType": pie_type, "legend": {"showLegend": False}}))
    # Each arc is a command "A" in the path of the slice.
    assert svg.count("A") == arc_count


def test_colours_are_those_of_the_field_or_of_the_value() -> None:
    """A slice has the next colour of the palette, the colour of an override, or, in the mode of thresholds, the colour of its threshold."""
    red = {
        "matcher": {"id": "byName", "options": "b"},
        "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "#ff0000"}}],
    }
    frames = [series(3, n="a"), series(1, n="b")]
    colours = [item.colour for item in slices_of(props_of(panel_of("piechart", overrides=[red]), *frames))]
    assert colours == ["#73bf69", "#ff0000"]
    steps = {"steps": [{"value": None, "color": "#00ff00"}, {"value": 2, "color": "#0000ff"}]}
    panel_by_value = panel_of("piechart", defaults={"color": {"mode": "thresholds"}, "thresholds": steps})
    assert [item.colour for item in slices_of(props_of(panel_by_value, *frames))] == ["#0000ff", "#00ff00"]


@pytest.mark.parametrize("frames", [[], [series()], [series(None)]])
def test_without_numbers_there_is_no_data(frames: list[Frame]) -> None:
    """A panel without a number shows a message."""
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("piechart", *frames)


def test_lines_of_the_background_separate_slices() -> None:
    """Each slice has an outline in the colour of the panel, as in Grafana; a slice that is the whole pie has none."""

    def outlines(*frames: Frame) -> list[str]:
        """Return the colour of the outline of each slice."""
        return re.findall(
            r'<path [^>]*stroke="([^"]+)"', svg_of(draw_panel("piechart", *frames, options={"legend": {"showLegend": False}}))
        )

    assert outlines(series(3, n="a"), series(1, n="b")) == [THEMES["dark"].panel, THEMES["dark"].panel]
    assert outlines(series(3, n="a")) == ["none"]
