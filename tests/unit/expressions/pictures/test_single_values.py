"""Laws of stat panels, gauges and bar gauges: modes, layouts and colours."""

import re
from typing import Any

import pytest
from tests.unit.expressions.pictures.panel_samples import HOSTILE, draw_panel, numbers, panel_of, props_of, series, svg_of, visible_texts
from tests.unit.expressions.pictures.panel_samples import texts as strings

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.panels import stat
from dashwright.expressions.pictures.panels.item_cells import cells, panel_items
from dashwright.expressions.pictures.panels.scale_of_item import scale_of
from dashwright.expressions.pictures.svg import text_width

#: Thresholds: red from 50 on.
STEPS = {"mode": "absolute", "steps": [{"value": None, "color": "green"}, {"value": 50, "color": "red"}]}
GREEN, RED = "#73bf69", "#f2495c"
#: A series that doubles below the threshold, and one that falls above it.
TWO_HOSTS = [series(20, 40, host="a"), series(90, 60, host="b")]


@pytest.mark.parametrize(
    ("mode", "frames", "texts"),
    [
        ("auto", TWO_HOSTS[:1], ["40%"]),
        ("auto", TWO_HOSTS, ["a", "40%", "b", "60%"]),
        ("value", TWO_HOSTS, ["40%", "60%"]),
        ("value_and_name", TWO_HOSTS[:1], ["a", "40%"]),
        ("name", TWO_HOSTS, ["a", "b"]),
        ("none", TWO_HOSTS, []),
    ],
)
def test_text_mode_selects_the_texts_of_a_stat(mode: str, frames: list[Frame], texts: list[str]) -> None:
    """A stat shows names, values, both or neither. In the mode ``auto``, it shows names only if it has several values."""
    assert visible_texts(draw_panel("stat", *frames, options={"textMode": mode}, defaults={"unit": "percent"})) == texts


@pytest.mark.parametrize(
    ("mode", "coloured_parts"),
    [("value", {"text"}), ("none", set()), ("background_solid", {"rectangle"}), ("background", {"rectangle", "gradient"})],
)
def test_colour_mode_colours_the_text_or_the_background(mode: str, coloured_parts: set[str]) -> None:
    """The colour of the threshold is that of the text or of the background, which has a gradient unless it is solid."""
    svg = svg_of(draw_panel("stat", TWO_HOSTS[1], options={"colorMode": mode, "graphMode": "none"}, defaults={"thresholds": STEPS}))
    (text,) = re.findall(r"<text[^>]*>", svg)
    is_coloured = {"text": RED in text, "rectangle": "<rect" in svg, "gradient": "linearGradient" in svg}
    assert {part for part in is_coloured if is_coloured[part]} == coloured_parts


def test_sparkline_is_drawn_unless_the_panel_turns_it_off() -> None:
    """By default, a stat has a chart of its series. Values without times have no chart."""
    assert "<path" in svg_of(draw_panel("stat", TWO_HOSTS[0]))
    assert "<path" not in svg_of(draw_panel("stat", TWO_HOSTS[0], options={"graphMode": "none"}))
    assert "<path" not in svg_of(draw_panel("stat", Frame([numbers("n", 1, 2)])))


@pytest.mark.parametrize(("mode", "line", "area"), [("value", GREEN, (GREEN, "0.2")), ("background", "#d9ffcf", ("#ffffff", "0.4"))])
def test_charts_are_bright_on_a_background(mode: str, line: str, area: tuple[str, str]) -> None:
    """The line over a background is 40 % brighter than it, and the area below it is a translucent white, as in Grafana."""
    svg = svg_of(draw_panel("stat", TWO_HOSTS[0], options={"colorMode": mode}, defaults={"thresholds": STEPS}))
    assert re.findall(r'<path [^>]*fill="([^"]+)" fill-opacity="([\d.]+)" stroke="none"', svg) == [area]
    assert re.findall(r'<path [^>]*fill="none"[^>]* stroke="([^"]+)"', svg) == [line]


@pytest.mark.parametrize(("values", "share"), [((0, 0), 1.0), ((9, 9), 0.5), ((-9, -9), 0.5), ((1, 3), 1.0)])
def test_charts_of_constants_are_in_the_middle_unless_they_are_zero(values: tuple[float, float], share: float) -> None:
    """A line begins at ``share`` of the chart's height from its top. The lowest value and zero are at the bottom, other constants in
    the middle.
    """
    svg = svg_of(draw_panel("stat", series(*values)))
    ((first, bottom),) = re.findall(r'd="M[\d.]+ ([\d.]+)L.*? ([\d.]+)Z"', svg)
    # A falling line begins at the top of the chart.
    falling_svg = svg_of(draw_panel("stat", series(3, 1)))
    top = float(re.findall(r'd="M[\d.]+ ([\d.]+)L', falling_svg)[0])
    expected = top + share * (float(bottom) - top)
    assert float(first) == pytest.approx(expected, abs=0.2)


def test_long_values_next_to_short_names_are_legible() -> None:
    """A value that would be tiny in its share of a wide cell uses the space that the names do not need."""
    frame = Frame([strings("goversion", "go1.22.5"), strings("revision", "8d3a5a1c7c0f4ab5d9fd8f2b6e1b7f3c9b2c1e44")])
    options = {"orientation": "horizontal", "graphMode": "none", "reduceOptions": {"fields": "/.*/", "calcs": ["lastNotNull"]}}
    svg = svg_of(draw_panel("stat", frame, options=options, width=340, height=70))
    sizes = {text: float(size) for size, text in re.findall(r'font-size="([\d.]+)"[^>]*>([^<]+)<', svg)}
    # A legible size in pixels. All values of a panel have one size.
    assert 9 < sizes["go1.22.5"] < 12
    assert sizes["8d3a5a1c7c0f4ab5d9fd8f2b6e1b7f3c9b2c1e44"] == sizes["go1.22.5"]
    assert {"goversion", "revision"} <= sizes.keys()


@pytest.mark.parametrize(("mode", "colour"), [("standard", GREEN), ("inverted", RED), ("same_as_value", "#5794f2")])
def test_change_is_shown_in_the_colour_of_its_direction(mode: str, colour: str) -> None:
    """A rise is green, or red if colours are inverted. In the mode ``same_as_value``, it is as blue as the value."""
    options = {"showPercentChange": True, "percentChangeColorMode": mode, "graphMode": "none"}
    drawing = draw_panel("stat", TWO_HOSTS[0], options=options, defaults={"color": {"mode": "fixed", "fixedColor": "blue"}})
    assert visible_texts(drawing) == ["40", "▲ 100%"]
    change_element = re.findall(r"<text[^>]*>", svg_of(drawing))[-1]
    assert colour in change_element


def test_value_above_a_chart_leaves_a_quarter_to_it() -> None:
    """In a narrow cell, the value fills the space above the chart, which has a quarter of the cell's height."""
    svg = svg_of(draw_panel("stat", series(*range(9)), options={"graphMode": "area"}, width=200, height=200))
    cell_height, padding = 194, 12
    chart_height = 0.25 * cell_height
    # A line of text is 1.2 times as high as its font.
    expected_size = (cell_height - 2 * padding - chart_height) / 1.2
    assert float(re.findall(r'font-size="([\d.]+)"', svg)[0]) == pytest.approx(expected_size, abs=4)


def test_wide_cells_have_the_name_to_the_left_of_the_value() -> None:
    """In a wide cell, the name and the value are next to each other, unless the panel turns this layout off."""
    options = {"textMode": "value_and_name", "graphMode": "none"}

    def baselines(**panel_options: Any) -> list[str]:
        """Return the vertical positions of the name and the value."""
        return re.findall(
            r'<text x="[\d.]+" y="([\d.]+)"', svg_of(draw_panel("stat", TWO_HOSTS[0], options=options | panel_options, height=60))
        )

    wide, stacked = baselines(), baselines(wideLayout=False)
    # Baselines in pixels: next to each other, or below each other.
    assert abs(float(wide[0]) - float(wide[1])) < 15
    assert float(stacked[1]) - float(stacked[0]) > 15


def test_names_next_to_values_are_smaller_than_the_values_unless_there_is_a_chart() -> None:
    """Without a chart, the name is clearly smaller than the value. Above a chart, the value is smaller and the name nearly as large."""

    def sizes(graph_mode: str) -> list[float]:
        """Return the sizes of the fonts of the name and the value."""
        svg = svg_of(
            draw_panel("stat", TWO_HOSTS[0], options={"textMode": "value_and_name", "graphMode": graph_mode}, width=240, height=70)
        )
        return [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]

    name, value = sizes("none")
    assert name <= value * 0.7
    name_over_chart, value_over_chart = sizes("area")
    assert value_over_chart < value
    assert name_over_chart > value_over_chart * 0.7


@pytest.mark.parametrize(("theme", "colour"), [("dark", "#f7f8fa"), ("light", "#202226")])
def test_text_on_a_transparent_background_suits_the_theme(theme: str, colour: str) -> None:
    """Text is light in the dark theme, and dark in the light one."""
    steps = {"mode": "absolute", "steps": [{"value": None, "color": "transparent"}]}
    panel = panel_of("stat", options={"colorMode": "background"}, defaults={"thresholds": steps})
    assert colour in re.findall(r"<text[^>]*>", svg_of(stat.draw(props_of(panel, TWO_HOSTS[0], theme=theme))))[0]


@pytest.mark.parametrize(
    ("orientation", "count", "sizes"),
    [("horizontal", 2, {(388, 93)}), ("vertical", 4, {(91, 194)}), ("auto", 7, {(91, 93), (124, 93)}), ("auto", 1, {(388, 194)})],
)
def test_cells_cover_the_panel(orientation: str, count: int, sizes: set[tuple[float, float]]) -> None:
    """Cells are rows, columns or a grid, and together fill the panel. In a grid, cells of a shorter row are wider."""
    props = props_of(panel_of("stat", options={"orientation": orientation}))
    assert {(round(cell.width), cell.height) for cell in cells(props, count)} == sizes


@pytest.mark.parametrize(
    ("size", "count", "columns"),
    [((332, 116), 4, 4), ((332, 116), 9, 5), ((332, 116), 2, 2), ((132, 416), 3, 1), ((400, 200), 3, 3), ((400, 400), 5, 2)],
)
def test_automatic_grid_has_the_largest_squares(size: tuple[int, int], count: int, columns: int) -> None:
    """The number of columns, by the size of the panel and the count of values, is that of Grafana's ``calculateGridDimensions``."""
    areas = cells(props_of(panel_of("stat"), width=size[0], height=size[1]), count)
    assert len({area.x for area in areas if area.y == areas[0].y}) == columns


def test_centred_name_and_value_of_a_wide_cell_are_in_its_middle() -> None:
    """A centred name begins far to the right of its usual place at the left edge, and a centred value far to the left of its own."""

    def lefts(mode: str) -> list[float]:
        """Return the horizontal positions of the name and the value."""
        options = {"textMode": "value_and_name", "graphMode": "none", "justifyMode": mode}
        svg = svg_of(draw_panel("stat", TWO_HOSTS[0], options=options, width=400, height=70))
        return [float(left) for left in re.findall(r'<text x="([\d.]+)"', svg)]

    (auto_name, auto_value), (name, value) = lefts("auto"), lefts("center")
    assert name - auto_name > 100
    assert value < auto_value - 100


@pytest.mark.parametrize("panel_type", ["stat", "gauge"])
@pytest.mark.parametrize(
    ("orientation", "size", "visible_count", "notes"),
    [
        ("horizontal", (100, 50), 3, ["2 more values"]),
        ("vertical", (55, 100), 3, ["2 more values"]),
        ("auto", (32, 28), 4, ["1 more value"]),
        ("auto", (100, 100), 5, []),
        ("horizontal", (1, 1), 1, ["4 more values"]),
    ],
)
def test_values_that_do_not_fit_are_counted(
    panel_type: str, orientation: str, size: tuple[int, int], visible_count: int, notes: list[str]
) -> None:
    """If not all of five values fit legibly, the first ones are drawn, at least one, and a note has the number of the others."""
    frames = [series(number, host=f"h{number}") for number in range(11, 16)]
    drawing = draw_panel(panel_type, *frames, options={"orientation": orientation, "textMode": "value"}, width=size[0], height=size[1])
    assert drawing.notes == notes
    values = [text for text in visible_texts(drawing) if text.isdecimal()]
    assert len(values) == visible_count


def item_of(*values: float | None, **defaults: Any) -> DisplayItem:
    """Return the item of a gauge with one series."""
    return panel_items(props_of(panel_of("gauge", defaults=defaults), series(*values)))[0]


@pytest.mark.parametrize(
    ("values", "defaults", "expected_range"),
    [
        ((20, 40), {}, (20, 40)),
        ((20, 40), {"min": 0, "max": 50}, (0, 50)),
        ((40,), {}, (0, 100)),
        ((0.4,), {"unit": "percentunit"}, (0, 1)),
        ((-5,), {}, (-5, 100)),
        ((None,), {}, (0, 100)),
    ],
)
def test_scale_is_the_range_of_the_column(values: Any, defaults: Any, expected_range: tuple[float, float]) -> None:
    """The scale has the configured bounds or those of the column. A column of one value has at least 0 to 100, or 0 to 1 for shares."""
    scale = scale_of(item_of(*values, **defaults))
    low, high = expected_range
    assert scale.low == low
    assert scale.high == high


def test_gauge_shows_thresholds_on_its_ring_and_as_labels() -> None:
    """A gauge has a ring with a segment for each threshold, unless it is turned off, and labels of thresholds on demand."""
    defaults = {"thresholds": STEPS, "min": 0, "max": 100, "unit": "percent"}
    with_labels = draw_panel("gauge", TWO_HOSTS[0], options={"showThresholdLabels": True}, defaults=defaults)
    assert visible_texts(with_labels) == ["0%", "50%", "100%", "40%"]
    # The track, the value, and two segments of the ring.
    assert svg_of(with_labels).count("<path") == 4
    without_markers = draw_panel("gauge", TWO_HOSTS[0], options={"showThresholdMarkers": False}, defaults=defaults)
    assert svg_of(without_markers).count("<path") == 2


def test_gauge_of_another_colour_mode_has_a_ring_of_one_colour() -> None:
    """If the colours of values are not those of thresholds, the ring is one segment."""
    defaults = {"thresholds": STEPS, "min": 0, "max": 100, "color": {"mode": "continuous-GrYlRd"}}
    # The track, the value, and the ring.
    assert svg_of(draw_panel("gauge", TWO_HOSTS[0], defaults=defaults)).count("<path") == 3


@pytest.mark.parametrize(
    ("mode", "svg_parts"),
    [("gradient", ("<linearGradient",)), ("basic", ('fill-opacity="0.35"',)), ("lcd", ('fill-opacity="0.18"', "<radialGradient"))],
)
def test_display_mode_fills_the_bars(mode: str, svg_parts: tuple[str, ...]) -> None:
    """A bar is filled with a gradient, with one translucent colour, or with cells like those of a display."""
    defaults = {"thresholds": STEPS, "min": 0, "max": 100}
    svg = svg_of(draw_panel("bargauge", *TWO_HOSTS, options={"displayMode": mode, "orientation": "horizontal"}, defaults=defaults))
    assert all(svg_part in svg for svg_part in svg_parts)


@pytest.mark.parametrize(("value", "stops"), [(40, []), (90, [("0.0000", GREEN), ("0.2500", GREEN), ("0.9000", RED)])])
def test_gradient_has_the_thresholds_up_to_the_value(value: float, stops: list[tuple[str, str]]) -> None:
    """A bar below all thresholds has no gradient. In a longer bar, the gradient to the next colour begins half-way to its threshold."""
    options = {"displayMode": "gradient", "orientation": "horizontal"}
    svg = svg_of(draw_panel("bargauge", series(value), options=options, defaults={"thresholds": STEPS, "min": 0, "max": 100}))
    assert re.findall(r'<stop offset="([^"]+)" stop-color="([^"]+)"', svg) == stops


def test_cells_of_a_bar_are_lit_up_to_the_value() -> None:
    """The cells up to and including that of the value are lit, and the others are dim."""
    options = {"displayMode": "lcd", "orientation": "horizontal", "valueMode": "hidden"}
    svg = svg_of(draw_panel("bargauge", series(50), options=options, defaults={"min": 0, "max": 100}, width=252))
    # A bar of this width has 20 cells. The value is at the start of the eleventh cell.
    assert svg.count('fill="url(') == 11
    assert svg.count('fill-opacity="0.18"') == 9
    # A lit cell has a gradient from its bright middle to its edge.
    assert re.findall(r'stop-opacity="([\d.]+)"', svg)[:2] == ["0.95", "0.55"]


@pytest.mark.parametrize("panel_type", ["gauge", "bargauge"])
@pytest.mark.parametrize(("name", "texts"), [("", {"5"}), ("Load", {"Load", "5"})])
def test_single_value_has_only_a_configured_name(panel_type: str, name: str, texts: set[str]) -> None:
    """The name of the series is not drawn if the panel has only one value. A configured name is drawn."""
    drawing = draw_panel(panel_type, series(5, name="cpu"), defaults={"displayName": name, "min": 0, "max": 10})
    assert set(visible_texts(drawing)) == texts


def test_value_is_next_to_its_bar_if_the_unfilled_part_is_not_drawn() -> None:
    """If the unfilled part of bars is not drawn, the text of a larger value is further to the right."""
    options = {"orientation": "horizontal", "showUnfilled": False}

    def text_position(value: float) -> float:
        """Return the horizontal position of the text of a value."""
        svg = svg_of(draw_panel("bargauge", series(value), options=options, defaults={"min": 0, "max": 100}))
        return float(re.findall(r'<text x="([\d.]+)"', svg)[0])

    assert text_position(60) - text_position(10) > 100


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_bar_is_as_long_as_its_share(orientation: str) -> None:
    """The bar of the value 40 of 100 has 40 percent of the length of its panel."""
    options = {"displayMode": "gradient", "orientation": orientation, "valueMode": "hidden", "showUnfilled": False}
    defaults = {"color": {"mode": "fixed", "fixedColor": "blue"}, "min": 0, "max": 100}
    svg = svg_of(draw_panel("bargauge", TWO_HOSTS[0], options=options, defaults=defaults))
    width, height = re.findall(r'<rect [^>]*width="([\d.]+)" height="([\d.]+)"[^>]*fill="#5794f2"', svg)[0]
    # The area of the bar is 388 by 194 pixels.
    if orientation == "horizontal":
        assert float(width) == pytest.approx(388 * 0.4, abs=3)
    else:
        assert float(height) == pytest.approx(194 * 0.4, abs=3)


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, {"a", "b", "40%", "60%"}),
        ({"namePlacement": "hidden"}, {"40%", "60%"}),
        ({"namePlacement": "left"}, {"a", "b", "40%", "60%"}),
        ({"valueMode": "hidden"}, {"a", "b"}),
    ],
)
def test_names_and_values_of_bars_can_be_hidden(options: dict[str, Any], texts: set[str]) -> None:
    """Names and values of bars are drawn, unless the panel hides the names or the values."""
    drawing = draw_panel("bargauge", *TWO_HOSTS, options={"orientation": "horizontal", **options}, defaults={"unit": "percent"})
    assert set(visible_texts(drawing)) == texts


def test_bars_that_do_not_fit_are_counted() -> None:
    """If 25 bars would be too low, only the first 7 are drawn, and a note has the number of the others."""
    rows = Frame([numbers("n", *range(25))])
    drawing = draw_panel("bargauge", rows, options={"reduceOptions": {"values": True}, "orientation": "horizontal"})
    assert drawing.notes == ["18 more values"]


@pytest.mark.parametrize("panel_type", ["stat", "gauge", "bargauge"])
@pytest.mark.parametrize("frames", [[], [series()], [series(None)], [series(1e308, -1e308)]])
def test_panel_with_any_values_is_drawn(panel_type: str, frames: list[Frame]) -> None:
    """A panel without values, or with extreme ones, has at least one text."""
    assert visible_texts(draw_panel(panel_type, *frames, defaults={"noValue": "none"}))


@pytest.mark.parametrize("panel_type", ["stat", "gauge", "bargauge"])
def test_texts_of_users_are_escaped(panel_type: str) -> None:
    """Names, units and colours of a hostile dashboard are text or are ignored."""
    defaults = {"unit": HOSTILE, "displayName": HOSTILE, "noValue": HOSTILE, "color": {"mode": "fixed", "fixedColor": HOSTILE}}
    svg = svg_of(draw_panel(panel_type, *TWO_HOSTS, options={"textMode": "value_and_name", "colorMode": "background"}, defaults=defaults))
    assert "<script" not in svg
    assert "<image" not in svg


@pytest.mark.parametrize(("sizing", "height"), [("manual", 40.0), ("auto", 194.0), (None, 194.0)])
def test_sizes_of_bars_apply_if_they_are_manual(sizing: str | None, height: float) -> None:
    """A configured height of bars applies only in the manual mode. In any other mode, a bar fills the height of the panel."""
    options = {"orientation": "horizontal", "sizing": sizing, "maxVizHeight": 40, "displayMode": "basic"}
    heights = re.findall(r'<rect [^>]*height="([\d.]+)"', svg_of(draw_panel("bargauge", series(5), options=options)))
    assert float(heights[0]) == height


def test_bars_with_a_minimum_height_are_omitted_if_they_do_not_fit() -> None:
    """In the manual mode, bars that do not fit with the configured minimum height are omitted. In the automatic mode, all are drawn."""
    frames = [series(5, name=f"s{index}") for index in range(4)]
    options = {"orientation": "horizontal", "sizing": "manual", "minVizHeight": 90}
    assert draw_panel("bargauge", *frames, options=options).notes == ["2 more values"]
    assert not draw_panel("bargauge", *frames, options={**options, "sizing": "auto"}).notes


def test_a_configured_size_keeps_the_value_in_the_panel() -> None:
    """A value that would be wider than the panel is smaller, and a name ends before a wide value begins."""
    large_svg = svg_of(draw_panel("stat", series(123456), options={"text": {"valueSize": 90}, "graphMode": "none"}, width=150, height=60))
    (size,) = map(float, re.findall(r'font-size="([\d.]+)"', large_svg))
    assert 15 < size < 60
    frames = [series(123456, name="a long name of a value"), series(654321, name="another long name of it")]
    options = {"text": {"valueSize": 40}, "graphMode": "none", "orientation": "horizontal"}
    texts = re.findall(
        r'<text x="([\d.]+)"[^>]*font-size="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]+)',
        svg_of(draw_panel("stat", *frames, options=options, width=300, height=160)),
    )
    right_ends = [float(x) + text_width(text, float(size)) for x, size, anchor, text in texts if anchor == "start"]
    starts = [float(x) - text_width(text, float(size)) for x, size, anchor, text in texts if anchor == "end"]
    # Names are anchored at their start, and values at their end.
    assert len(right_ends) == len(starts) == 2
    assert all(end < start for end, start in zip(right_ends, starts, strict=True))
