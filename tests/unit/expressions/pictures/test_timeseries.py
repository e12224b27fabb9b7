"""Time series panels: the marks of each style, stacks, axes, thresholds and legends."""

import contextlib
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import (
    HOSTILE,
    draw_panel,
    numbers,
    panel_of,
    props_of,
    series,
    svg_of,
    times,
    visible_texts,
)

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.series import MAX_POINTS, extremes
from dashwright.expressions.pictures.theme import THEMES

#: The size of the panels, without a legend, so that the height of their plots is 172 pixels.
HEIGHT = 200
NO_LEGEND = {"legend": {"showLegend": False}}
#: The fill of paths that are lines only.
NO_FILL = "none"
#: The first colour of the palette.
GREEN = "#73bf69"


def rule(name: str, **properties: Any) -> dict[str, Any]:
    """Return a rule for the series with a name. In names of properties, two underscores are a dot."""
    property_list = [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": property_list}


def svg(*frames: Frame, overrides: Any = (), options: Any = NO_LEGEND, custom: Any = None, height: float = HEIGHT, **defaults: Any) -> str:
    """Return the SVG of a panel, by default without points."""
    settings = {**defaults, "custom": {"showPoints": "never", **(custom or {})}}
    drawing = draw_panel("timeseries", *frames, options=options, height=height, defaults=settings, overrides=overrides)
    return svg_of(drawing)


def marks(content: str) -> list[dict[str, str]]:
    """Return the attributes of the paths in the plot, apart from the grid."""
    plot = ET.fromstring(f"<g>{content}</g>")[0]
    return [dict(element.attrib) for element in plot.iter("path")][1:]


def points(path: str) -> list[tuple[float, float]]:
    """Return the points of a path with straight lines."""
    coordinates = [float(number) for number in re.findall(r"-?\d+\.\d", path)]
    return list(zip(coordinates[::2], coordinates[1::2], strict=True))


def labels(content: str) -> list[str]:
    """Return all texts in the SVG of a panel."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", content)


def test_a_line_has_its_width_and_colour() -> None:
    """A line is one pixel wide by default, in the colour of the series, without an area."""
    [line] = marks(svg(series(1, 2, 3)))
    assert line["stroke"] == GREEN
    assert line["stroke-width"] == "1"
    assert line["fill"] == NO_FILL
    assert len(points(line["d"])) == 3
    [thick] = marks(svg(series(1, 2, 3), custom={"lineWidth": 4}))
    assert thick["stroke-width"] == "4"


def test_a_line_without_width_is_not_drawn() -> None:
    """A series with a line width of 0 is drawn by its area only."""
    [area] = marks(svg(series(1, 2, 3), custom={"lineWidth": 0, "fillOpacity": 30}))
    assert area["fill"] == GREEN
    assert area["fill-opacity"] == "0.3"


def test_each_series_has_a_style_of_its_own() -> None:
    """An override changes the marks of one series only."""
    style = {"custom__drawStyle": "bars", "custom__fillOpacity": 50, "custom__lineWidth": 3}
    first, second = marks(svg(series(1, 2, name="a"), series(3, 4, name="b"), overrides=[rule("b", **style)]))
    assert first["fill"] == NO_FILL
    assert first["stroke-width"] == "1"
    assert second["fill-opacity"] == "0.5"
    assert second["stroke-width"] == "3"


@pytest.mark.parametrize(
    ("interpolation", "commands", "count"), [("linear", "ML", 3), ("stepAfter", "ML", 5), ("stepBefore", "ML", 5), ("smooth", "MC", 7)]
)
def test_lines_are_interpolated(interpolation: str, commands: str, count: int) -> None:
    """Steps have corners, and smooth lines have two control points between two points."""
    [line] = marks(svg(series(1, 3, 2), custom={"lineInterpolation": interpolation}))
    assert "".join(re.findall("[A-Z]", line["d"])) == commands
    assert len(points(line["d"])) == count


def test_steps_change_before_or_after_a_point() -> None:
    """With ``stepAfter``, a line keeps the value of a point until the next time. With ``stepBefore``, it first has the next value."""
    [after] = marks(svg(series(1, 3), custom={"lineInterpolation": "stepAfter"}))
    [before] = marks(svg(series(1, 3), custom={"lineInterpolation": "stepBefore"}))
    (_, low), (_, corner_after), (_, high) = points(after["d"])
    _, (_, corner_before), _ = points(before["d"])
    assert corner_after == low
    assert corner_before == high


def test_smooth_lines_do_not_exceed_their_points() -> None:
    """A smooth line is monotone between two points, so it does not exceed them."""
    [line] = marks(svg(series(0, 0, 10, 10, 0, 0), custom={"lineInterpolation": "smooth"}))
    # Each third point is one of the line, and the others are control points.
    ys = [y for _, y in points(line["d"])]
    assert min(ys) == pytest.approx(min(ys[::3]))
    assert max(ys) == pytest.approx(max(ys[::3]))


def test_a_null_is_a_gap_and_lone_points_are_dots() -> None:
    """A null is a gap, and a point between two gaps is a dot, unless nulls are spanned."""
    # The point between gaps is 4. In the mode "auto", the other points are too close to each other to be dots.
    frame = Frame([times(65, step_ms=9_000), numbers("v", 1, 2, None, 4, None, *[3.0] * 60)])
    line, dots = marks(svg(frame, custom={"showPoints": "auto"}))
    assert line["d"].count("M") == 2
    assert dots["d"].count("h0") == 1
    [spanned] = marks(svg(frame, custom={"spanNulls": True}))
    assert spanned["d"].count("M") == 1


def test_missing_steps_are_gaps() -> None:
    """A missing step is a gap. The length of a step is the interval of the data source, or the setting of the panel."""
    # Steps of a minute, two of which are missing after 120 seconds.
    time = np.array([0, 60, 120, 300, 360], dtype=np.int64) * 1_000_000_000
    values = numbers("v", 1, 2, 3, 4, 5)
    without_interval = Frame([Field("time", FieldType.TIME, time), values])
    with_interval = Frame([Field("time", FieldType.TIME, time, config={"interval": 60_000}), values])

    def count_parts(content: str) -> int:
        """Return the number of parts of a line, each of which begins with a move."""
        return marks(content)[0]["d"].count("M")

    assert count_parts(svg(without_interval)) == 1
    assert count_parts(svg(with_interval)) == 2
    assert count_parts(svg(without_interval, custom={"insertNulls": 60_000})) == 2


def test_missing_values_become_the_number_of_no_value() -> None:
    """If the text for no value is a number, missing values are drawn as this number."""
    [line] = marks(svg(series(1, None, 3), noValue="2"))
    assert line["d"].count("M") == 1
    assert len(points(line["d"])) == 3


def test_missing_steps_extend_to_the_ends_of_the_range() -> None:
    """If missing values are drawn as a number, the line begins at the left edge, before the first point of the series."""
    time = Field("time", FieldType.TIME, np.array([240, 300], dtype=np.int64) * 1_000_000_000, config={"interval": 60_000})
    frame = Frame([time, numbers("v", 5, 6)])
    (left, _), *_, (right, _) = points(marks(svg(frame, noValue="0"))[0]["d"])
    (first, _), *_ = points(marks(svg(frame))[0]["d"])
    assert left == 0
    assert right > first > 0


@pytest.mark.parametrize(("mode", "dots"), [("auto", 4), ("always", 4), ("never", 0)])
def test_points_are_shown_if_there_is_room(mode: str, dots: int) -> None:
    """Points are shown always, never, or, in the mode ``auto``, if there is space between them."""
    drawn_marks = marks(svg(series(1, 2, 3, 4), custom={"showPoints": mode, "pointSize": 7}))
    assert sum(mark["d"].count("h0") for mark in drawn_marks) == dots
    # The first mark is the line.
    assert all(mark["stroke-width"] == "7" for mark in drawn_marks[1:])


def test_points_alone_have_no_line() -> None:
    """In the style ``points``, each point is a dot of the configured size, and no line connects them."""
    [dots] = marks(svg(series(1, None, 3), custom={"drawStyle": "points", "pointSize": 9}))
    assert dots["d"].count("h0") == 2
    assert dots["stroke-width"] == "9"
    assert dots["stroke-linecap"] == "round"


def test_bars_are_as_wide_as_the_smallest_distance_allows() -> None:
    """A bar is as wide as 0.6 of the smallest distance of two times. It is around its time, or begins at its time if it is aligned so."""
    [bars] = marks(svg(series(1, 2, 3), custom={"drawStyle": "bars", "lineWidth": 0}))
    # The first bar is cut at the left edge of the plot.
    _, second_left, third_left = (float(x) for x in re.findall(r"M(-?[\d.]+)", bars["d"]))
    second_width = float(re.findall(r"h([\d.]+)", bars["d"])[1])
    assert second_width == pytest.approx(0.6 * (third_left - second_left), abs=0.2)
    [after] = marks(svg(series(1, 2, 3), custom={"drawStyle": "bars", "lineWidth": 0, "barAlignment": 1}))
    second_left_after = float(re.findall(r"M(-?[\d.]+)", after["d"])[1])
    assert second_left_after == pytest.approx(second_left + second_width / 2, abs=0.2)


def test_narrow_bars_are_filled_with_the_colour_of_their_edges() -> None:
    """Bars with gaps of less than a pixel touch each other, and are filled with the colour of their edges."""
    style = {"drawStyle": "bars", "lineWidth": 2, "fillOpacity": 25}
    [bars] = marks(svg(Frame([times(300, 2_000), numbers("n", *[1.0] * 300)]), custom=style))
    assert bars["fill"] == GREEN
    assert "fill-opacity" not in bars
    assert "stroke" not in bars
    # Two bars in the middle of the plot touch each other.
    lefts = [float(x) for x in re.findall(r"M(-?[\d.]+)", bars["d"])]
    width = float(re.findall(r"h([\d.]+)", bars["d"])[10])
    assert width == pytest.approx(lefts[11] - lefts[10], abs=0.15)


def test_bars_of_zero_in_a_stack_are_not_drawn() -> None:
    """A stacked bar of the value 0 is not drawn, because it would look like a line on the bar below."""
    stack = {"drawStyle": "bars", "stacking": {"mode": "normal"}}
    _, second = marks(svg(series(1, 2, 3, name="a"), series(0, 5, 0, name="b"), custom=stack))
    assert second["d"].count("M") == 1


def test_the_plot_is_clipped_only_if_values_exceed_it() -> None:
    """The plot is clipped only if values exceed it, because clipping is slow. Lines and bars end at the edges of the range anyway."""
    assert svg(series(*range(100))).startswith("<g")
    assert svg(series(1, 2, 3), custom={"drawStyle": "bars"}).startswith("<g")
    assert 'overflow="hidden"' in svg(series(1, 2, 9), max=5)


def test_dashes_are_those_of_the_style() -> None:
    """Dashes have the lengths of their style, and dots have round ends."""
    [dashed] = marks(svg(series(1, 2), custom={"lineStyle": {"fill": "dash", "dash": [4, 2]}}))
    [dotted] = marks(svg(series(1, 2), custom={"lineStyle": {"fill": "dot"}}))
    assert dashed["stroke-dasharray"] == "4 2"
    assert dotted["stroke-dasharray"] == "0 10"
    assert dotted["stroke-linecap"] == "round"


def test_stacked_areas_begin_at_the_series_below() -> None:
    """The first series is at the bottom of a stack. Series of other styles are not stacked on it."""
    custom = {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 50, "lineWidth": 0}
    low, high, other = marks(
        svg(
            series(10, 10, name="a"),
            series(20, 20, name="b"),
            series(5, 5, name="c"),
            custom=custom,
            overrides=[rule("c", custom__lineInterpolation="smooth")],
            min=0,
            max=30,
        )
    )
    # The plot is 172 pixels high.
    assert {y for _, y in points(low["d"])} == {172.0, 114.7}
    assert {y for _, y in points(high["d"])} == {114.7, 0.0}
    assert max(y for _, y in points(other["d"])) == 172.0


def test_shares_fill_the_axis() -> None:
    """The stacked shares of all series reach the top of the axis, whose labels are percentages."""
    content = svg(series(1, 2, name="a"), series(3, 2, name="b"), custom={"stacking": {"mode": "percent"}}, unit="bytes")
    assert "100%" in labels(content)
    top = min(y for mark in marks(content) for _, y in points(mark["d"]))
    assert top == 0


def test_negative_series_are_below_zero() -> None:
    """``negative-Y`` turns a series upside down; its legend shows the original values."""
    options = {"legend": {"calcs": ["max"]}}
    content = svg(
        series(4, 4, name="in"), series(3, 3, name="out"), options=options, overrides=[rule("out", custom__transform="negative-Y")]
    )
    first, second = marks(content)
    assert points(first["d"])[0][1] < points(second["d"])[0][1]
    assert "out Max: 3" in labels(content)


def test_a_constant_extends_over_the_whole_range() -> None:
    """A constant is drawn over the whole range, at its first value."""
    [line] = marks(svg(series(None, 4, 9), custom={"transform": "constant"}))
    (start, first_y), (_, last_y) = points(line["d"])
    assert start == 0
    assert first_y == last_y


def test_an_area_may_end_at_another_series() -> None:
    """The area of a series may end at another series. Without a configured opacity, its opacity is 35 percent."""
    frames = series(1, 1, name="low"), series(3, 3, name="high")
    drawn_marks = marks(svg(*frames, overrides=[rule("high", custom__fillBelowTo="low")]))
    [area] = [mark for mark in drawn_marks if mark["fill"] != NO_FILL]
    assert area["fill-opacity"] == "0.35"
    low, high = (points(mark["d"])[0][1] for mark in drawn_marks if mark["fill"] == NO_FILL)
    assert {y for _, y in points(area["d"])} == {low, high}
    unknown = marks(svg(*frames, overrides=[rule("high", custom__fillBelowTo="missing")]))
    assert all(mark["fill"] == NO_FILL for mark in unknown)


def test_hidden_series_are_not_drawn() -> None:
    """A series that is hidden in the graph is not drawn, but is in the legend, unless it is hidden in the legend, too."""
    hidden_in_graph = {"viz": True, "legend": False, "tooltip": False}
    frames = series(1, 2, name="a"), series(1_000, 2_000, name="b")
    content = svg(*frames, options={}, overrides=[rule("b", custom__hideFrom=hidden_in_graph)])
    assert len(marks(content)) == 1
    assert "2.5" not in labels(content)
    assert {"a", "b"} <= set(labels(content))
    hidden_everywhere = {**hidden_in_graph, "legend": True}
    assert "b" not in labels(svg(*frames, options={}, overrides=[rule("b", custom__hideFrom=hidden_everywhere)]))


def test_another_unit_has_an_axis_at_the_right() -> None:
    """A series with another unit has an axis at the right without a grid, and a note in the legend."""
    content = svg(series(1, 2, name="a"), series(50, 60, name="b"), options={}, overrides=[rule("b", unit="percent")])
    assert "b (right y-axis)" in labels(content)
    assert 'text-anchor="start">50%<' in content
    assert 'text-anchor="end">1<' in content


@pytest.mark.parametrize(("placement", "anchors"), [("auto", {"end"}), ("left", {"end"}), ("right", {"start"}), ("hidden", set())])
def test_axes_are_placed(placement: str, anchors: set[str]) -> None:
    """Axes are at the left, at the right, or hidden."""
    content = svg(series(10, 20), unit="percent", custom={"axisPlacement": placement})
    assert set(re.findall(r'text-anchor="(\w+)">[\d.]+%<', content)) == anchors


def test_axes_have_titles_and_limits() -> None:
    """An axis has its title, and ends at its soft limits if no value exceeds them."""
    content = svg(series(1, 2), custom={"axisLabel": "in use", "axisSoftMin": 0, "axisSoftMax": 100})
    assert {"in use", "0", "100"} <= set(labels(content))
    assert "rotate(-90" in content


def test_times_are_those_of_the_range() -> None:
    """The axis has the range of the panel, ten minutes, although the series has only two values a minute apart."""
    assert {"00:00", "00:05"} <= set(labels(svg(series(1, 2))))


#: A threshold in the middle of an axis from 0 to 10.
THRESHOLDS = {"steps": [{"value": None, "color": "green"}, {"value": 5, "color": "#ff0000"}]}


@pytest.mark.parametrize(
    ("mode", "areas", "lines"), [("off", 0, 0), ("area", 2, 0), ("line", 0, 1), ("dashed", 0, 1), ("dashed+area", 2, 1)]
)
def test_thresholds_are_areas_and_lines(mode: str, areas: int, lines: int) -> None:
    """In modes with ``area``, the plot has an area for each step. Other modes except ``off`` have a line for each threshold."""
    content = svg(series(1, 9), custom={"thresholdsStyle": {"mode": mode}}, thresholds=THRESHOLDS, min=0, max=10)
    assert content.count('fill-opacity="0.15"') == areas
    threshold_lines = [mark for mark in marks(content) if mark.get("stroke-opacity") == "0.7"]
    assert len(threshold_lines) == lines
    for line in threshold_lines:
        assert line["stroke"] == "#ff0000"
        # The line begins at the left edge, at half of the plot's height.
        assert line["d"].startswith("M0 86.0H")
        assert ("stroke-dasharray" in line) == ("dashed" in mode)


def test_a_transparent_step_makes_a_limit_below() -> None:
    """A transparent step has no area, and its line has the colour of the step before."""
    steps = [{"value": None, "color": "red"}, {"value": 5, "color": "transparent"}]
    content = svg(series(1, 9), custom={"thresholdsStyle": {"mode": "line+area"}}, thresholds={"steps": steps}, min=0, max=10)
    assert content.count('fill-opacity="0.15"') == 1
    assert [mark["stroke"] for mark in marks(content) if mark.get("stroke-opacity")] == ["#f2495c"]


def test_colours_may_follow_the_values() -> None:
    """A line has the colour of its last value. In the gradient mode ``scheme``, the colour changes at the height of the threshold."""
    config: dict[str, Any] = {"color": {"mode": "thresholds"}, "thresholds": THRESHOLDS, "min": 0, "max": 10}
    [line] = marks(svg(series(1, 9), **config))
    assert line["stroke"] == "#ff0000"
    content = svg(series(1, 9), custom={"gradientMode": "scheme"}, **config)
    assert marks(content)[0]["stroke"].startswith("url(#gradient-")
    assert re.findall(r'offset="([\d.]+)" stop-color="(#\w+)"', content) == [
        ("0.0000", "#ff0000"),
        ("0.5000", "#ff0000"),
        ("0.5000", "#73bf69"),
        ("1.0000", "#73bf69"),
    ]


def test_an_opacity_gradient_ends_at_the_bottom() -> None:
    """An opacity gradient has the colour of the series at the top, and is transparent at the bottom."""
    content = svg(series(1, 9), custom={"gradientMode": "opacity", "fillOpacity": 40})
    # The first stop has no opacity of its own, so it is opaque.
    assert re.findall(r'<stop offset="([\d.]+)"[^>]*?(?: stop-opacity="([\d.]+)")?/>', content) == [("0.0000", ""), ("1.0000", "0")]


def test_points_are_those_of_the_series() -> None:
    """A line that continues outside of the time range ends at the edges of the plot, but has no points there."""
    # The first and the last time are outside of the range of ten minutes.
    times = np.array([-1, 2, 5, 11], dtype=np.int64) * 60_000_000_000
    frame = Frame([Field("time", FieldType.TIME, times), Field("Value", FieldType.FLOAT64, np.arange(4.0))])
    line, dots = marks(svg(frame, custom={"showPoints": "always"}))
    assert len(points(line["d"])) == 4
    assert len(points(dots["d"])) == 2
    assert len(points(marks(svg(series(*range(11)), custom={"showPoints": "always"}))[1]["d"])) == 11


def test_legends_are_tables_with_sorted_values() -> None:
    """A legend may be a table with sorted rows and a column for each calculation. Results have the unit of the series."""
    options = {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["max", "count"], "sortBy": "Max", "sortDesc": True}}
    frames = [series(1, 30, name="a"), series(50, 2, name="b"), series(None, None, name="c")]
    texts = visible_texts(draw_panel("timeseries", *frames, options=options, height=400, defaults={"unit": "percent"}))
    table = texts[texts.index("b") :]
    assert {"Name", "Max", "Count"} <= set(texts)
    assert [text for text in table if text in ("a", "b", "c")] == ["b", "a", "c"]
    assert table[table.index("Max") :][:4] == ["Max", "50%", "30%", ""]
    assert table[table.index("Count") :][:4] == ["Count", "2", "2", "0"]


@pytest.mark.parametrize("legend", [{"showLegend": False}, {"displayMode": "hidden"}])
def test_legends_may_be_hidden(legend: dict[str, Any]) -> None:
    """The legend is hidden by ``showLegend`` or by the display mode ``hidden``."""
    assert "a" not in labels(svg(series(1, 2, name="a"), options={"legend": legend}))


def test_narrow_legends_keep_their_columns() -> None:
    """Texts become smaller before columns are omitted. The number of omitted columns follows the title of the column of names."""
    legend = {"displayMode": "table", "placement": "bottom", "calcs": ["min", "max", "mean", "lastNotNull"]}
    frame = series(12.5, 23.6, name="a name that is too long for a narrow panel")
    # The sizes of fonts of the titles in all panels, from narrow to wide ones.
    sizes: dict[str, set[str]] = {}
    for width in range(150, 400, 10):
        drawing = draw_panel("timeseries", frame, options={"legend": legend}, width=width, defaults={"decimals": 1})
        sizes_of_titles = dict(re.findall(r'font-size="([\d.]+)"[^>]*>(Name[^<]*|Last \*)<', svg_of(drawing)))
        for size, title in sizes_of_titles.items():
            sizes.setdefault(title, set()).add(size)
    assert {"Last *", "Name (+1)"} <= sizes.keys()
    assert "9.0" in sizes["Last *"]
    assert sizes["Name (+1)"] == {"9.0"}


def test_names_are_cut_where_they_remain_distinct() -> None:
    """Names that differ only at their ends are cut in the middle if a legend is narrow, and others at their ends."""
    legend = {"displayMode": "table", "placement": "bottom", "calcs": ["min", "max", "mean", "lastNotNull"]}

    def cut_names(*names: str) -> list[str]:
        """Return the names of series that the legend cuts."""
        frames = [series(12.5, 23.6, name=name) for name in names]
        texts = visible_texts(
            draw_panel("timeseries", *frames, options={"legend": legend}, width=300, height=400, defaults={"decimals": 1})
        )
        return [text for text in texts if "…" in text]

    long_name = "a long name of a series of a system"
    assert all(name.startswith("a lon") for name in cut_names(f"{long_name} 1", f"{long_name} 2"))
    assert [name[-2:] for name in cut_names(f"{long_name} 1", f"{long_name} 2")] == [" 1", " 2"]
    assert all(name.endswith("…") for name in cut_names(f"1 {long_name}", f"2 {long_name}"))
    # In the usual font, only the equal beginnings of these names would fit, so the legend has a smaller font.
    assert len(set(cut_names(f"a long name of a sys 1 {long_name}", f"a long name of a sys 2 {long_name}"))) == 2


def test_fonts_are_smaller_before_names_are_cut() -> None:
    """A legend that is slightly too narrow for its names and columns has smaller texts, and whole names."""
    legend = {"displayMode": "table", "placement": "bottom", "calcs": ["min", "max", "mean", "lastNotNull"]}
    frame = series(12.5, 23.6, name="postgres-0 - node-1")
    drawing = draw_panel("timeseries", frame, options={"legend": legend}, width=270, height=400, defaults={"decimals": 1})
    assert re.findall(r'font-size="([\d.]+)"[^>]*>postgres-0 - node-1<', svg_of(drawing)) == ["10.0"]


def test_legends_show_values_that_a_line_does_not() -> None:
    """The legend shows calculations on infinite values and on NaN, although the graph has gaps at these values."""
    options = {"legend": {"displayMode": "table", "calcs": ["max", "last"], "sortBy": "Max", "sortDesc": True}}
    frames = [series(1, math.nan, name="a"), series(math.inf, math.inf, name="b")]
    texts = visible_texts(draw_panel("timeseries", *frames, options=options, height=400, defaults={"unit": "percentunit"}))
    assert [text for text in texts if text in ("a", "b")] == ["b", "a"]
    assert texts[texts.index("Max") :][:3] == ["Max", "∞%", "100%"]
    _, last_of_b, last_of_a = texts[texts.index("Last") :][:3]
    assert last_of_b == "∞%"
    assert last_of_a.startswith("NaN")


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(("descends", "direction"), [(True, "l3 3l3 -3"), (False, "l3 -3l3 3")])
def test_header_of_a_legend_has_a_sign_at_the_column_that_orders_it(theme: str, descends: bool, direction: str) -> None:
    """An arrow follows the title of the column by which the rows are sorted. It points down for a descending order."""
    legend = {"displayMode": "table", "placement": "right", "calcs": ["min", "max"], "sortBy": "Max", "sortDesc": descends}
    panel = panel_of("timeseries", options={"legend": legend})
    content = svg_of(DRAW_FUNCTIONS["timeseries"](props_of(panel, series(1, 2), theme=theme)))
    link = THEMES[theme].link
    (sign,) = re.findall(rf'<path d="M([\d.]+) [\d.]+{direction}"[^>]*stroke="{link}"', content)
    x_of_titles = {title: float(x) for x, title in re.findall(rf'<text x="([\d.]+)"[^>]*fill="{link}"[^>]*>(\w+)<', content)}
    assert x_of_titles["Min"] < x_of_titles["Max"] < float(sign)


def test_table_of_names_at_the_right_has_a_header() -> None:
    """A legend table without calculations has a header to the right of the plot. Below the plot, it is a list without a header."""

    def legend_texts(placement: str) -> list[str]:
        """Return the texts of a panel whose legend is at a place."""
        legend = {"displayMode": "table", "placement": placement, "calcs": []}
        return visible_texts(draw_panel("timeseries", series(1, 2, name="a"), options={"legend": legend}))

    assert "Name" in legend_texts("right")
    assert "Name" not in legend_texts("bottom")


def test_series_have_the_names_of_their_columns() -> None:
    """A name that a rule sets has the suffix of another time range. If a rule removes a configured name, the column has its own name."""
    removal = {"matcher": {"id": "byName", "options": "n"}, "properties": [{"id": "displayName"}]}
    shifted = Frame([times(2), numbers("m", 1, 2)], meta={"timeCompare": {"isTimeShiftQuery": True}})
    named_frame = Frame([times(2), replace(numbers("n", 1, 2), config={"displayName": "mine"})])
    drawing = draw_panel("timeseries", shifted, named_frame, height=300, overrides=[rule("m", displayName="M"), removal])
    texts = visible_texts(drawing)
    assert [text for text in texts if text in ("M", "M (comparison)", "mine", "n")] == ["M (comparison)", "n"]


def test_names_are_sorted_by_their_numbers() -> None:
    """If the legend is sorted by names, numbers in names are compared as numbers: ``node-2`` is before ``node-10``."""
    options = {"legend": {"displayMode": "table", "sortBy": "Name"}}
    texts = visible_texts(draw_panel("timeseries", *(series(1, name=f"node-{n}") for n in (10, 2, 1)), options=options, height=400))
    assert [text for text in texts if text.startswith("node")] == ["node-1", "node-2", "node-10"]


def test_booleans_are_steps_between_no_and_yes() -> None:
    """Booleans are drawn as steps: true is at the top of the plot, and false at the bottom."""
    frame = Frame([times(3), Field("up", FieldType.BOOL, np.array([True, False, True]))])
    [line] = marks(svg(frame))
    assert [y for _, y in points(line["d"])] == [0, 0, 172, 172, 0]


def test_peaks_and_totals_are_kept_by_downsampling() -> None:
    """Downsampling keeps the lowest and the highest point. In a stack, it keeps those of the totals."""
    values = np.ones(50_000)
    highest, lowest = 31_234, 777
    values[highest] = 99
    values[lowest] = -99
    assert {highest, lowest} <= set(extremes(values, MAX_POINTS).tolist())
    frame = Frame([times(50_000, step_ms=12), Field("v", FieldType.FLOAT64, values)])
    [line] = marks(svg(frame, min=-99, max=99))
    # The peaks are at the top and at the bottom of the plot.
    assert {0, 172} <= {y for _, y in points(line["d"])}
    assert len(points(line["d"])) <= MAX_POINTS
    stacked = marks(svg(frame, series(1, 1, name="b"), min=-99, max=99, custom={"stacking": {"mode": "normal"}}))
    assert 0 in {y for _, y in points(stacked[0]["d"])}


def test_times_in_any_order_are_drawn_from_left_to_right() -> None:
    """A line connects its points in the order of their times, even if the query returned them in another order."""
    time = Field("time", FieldType.TIME, np.array([120, 0, 60], dtype=np.int64) * 1_000_000_000)
    [line] = marks(svg(Frame([time, numbers("v", 1, 2, 3)])))
    xs = [x for x, _ in points(line["d"])]
    assert xs == sorted(xs)


def test_a_panel_without_times_shows_a_message() -> None:
    """A panel without times or without frames shows a message."""
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("timeseries")
    with pytest.raises(NothingToDraw, match="No time"):
        draw_panel("timeseries", Frame([numbers("v", 1)]))


def test_text_of_users_is_escaped() -> None:
    """Names, units, titles and colours of a hostile dashboard are text or are ignored."""
    custom = {"axisLabel": HOSTILE, "drawStyle": HOSTILE, "lineStyle": {"fill": "dash", "dash": [HOSTILE]}, "gradientMode": HOSTILE}
    content = svg(
        series(1, 2, name=HOSTILE), options={}, custom=custom, unit=HOSTILE, color={"mode": "fixed", "fixedColor": HOSTILE}, noValue=HOSTILE
    )
    assert "<script" not in content
    assert "<image" not in content
    ET.fromstring(f"<g>{content}</g>")


WRONG_VALUES = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1e308,
        -1e308,
        5e-324,
        10**400,
        "",
        "nan",
        "1e999",
        [],
        {},
        [1],
        {"mode": "percent"},
        {"type": "log", "log": 2},
        HOSTILE,
    ]
)
SETTINGS = st.sampled_from(
    re.findall(
        r"\w+",
        "drawStyle lineWidth fillOpacity gradientMode lineInterpolation showPoints pointSize barAlignment barWidthFactor spanNulls"
        " insertNulls stacking axisPlacement axisLabel axisWidth axisSoftMin axisSoftMax axisCenteredZero axisGridShow lineStyle"
        " scaleDistribution thresholdsStyle transform fillBelowTo hideFrom",
    )
)


@given(
    custom=st.dictionaries(SETTINGS, WRONG_VALUES, max_size=6),
    defaults=st.dictionaries(st.sampled_from(["min", "max", "decimals", "unit", "noValue", "color", "thresholds"]), WRONG_VALUES),
    legend=st.one_of(
        WRONG_VALUES, st.dictionaries(st.sampled_from(["calcs", "sortBy", "width", "displayMode", "placement"]), WRONG_VALUES)
    ),
    size=st.tuples(st.floats(20, 900), st.floats(10, 700)),
)
def test_no_setting_breaks_a_panel(custom: Any, defaults: Any, legend: Any, size: tuple[float, float]) -> None:
    """Settings of any shape are drawn as valid SVG with finite coordinates."""
    panel = panel_of("timeseries", defaults={**defaults, "custom": custom}, options={"legend": legend})
    for frames in ([series()], [series(None)], [series(1, 2, None), series(-4, None, 5)], [series(1e308, -1e308, 5e-324)]):
        with contextlib.suppress(NothingToDraw):
            content = svg_of(DRAW_FUNCTIONS["timeseries"](props_of(panel, *frames, width=size[0], height=size[1])))
            ET.fromstring(f"<g>{content}</g>")
            content_without_texts = re.sub(r">[^<]*<", "><", content)
            assert not re.search(r"\b(nan|inf)\b", content_without_texts)


@pytest.mark.parametrize(
    ("count", "visible_count", "row_height"),
    [(2, 2, 17), (4, 4, 13), (9, 3, 15)],
    ids=["all rows fit", "lower rows fit", "some rows are omitted"],
)
def test_rows_of_a_legend_are_lower_before_entries_are_left_out(count: int, visible_count: int, row_height: float) -> None:
    """If a legend does not fit, its rows become lower. If it would not fit with lower rows, entries are omitted."""
    frames = [series(1, 2, name=f"s{index}") for index in range(count)]
    options = {"legend": {"displayMode": "table", "calcs": ["max"]}}
    content = svg_of(draw_panel("timeseries", *frames, options=options, height=190))
    ys = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>s\d</text>', content)]
    assert len(ys) == visible_count
    assert ys[1] - ys[0] == pytest.approx(row_height, abs=0.2)
