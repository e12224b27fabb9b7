"""Bar charts: categories, stacks, values and labels."""

import contextlib
import math
import re
from itertools import pairwise
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
    svg_of,
    texts,
    times,
    visible_texts,
)

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.panels.bar_layers import bar_ends, value_range
from dashwright.expressions.pictures.panels.bar_table import bar_table
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing
from dashwright.expressions.pictures.svg import text_width

#: Two categories with two series, in which one value is null.
FRAME = Frame([texts("name", "x", "y"), numbers("a", 1, 2), numbers("b", 31, None)])
WITHOUT_LEGEND = {"legend": {"showLegend": False}}
#: Numbers and NaN, which charts use for nulls.
VALUES = st.one_of(st.just(math.nan), st.floats(-1e308, 1e308))


def bar_count(drawing: PanelDrawing) -> int:
    """Return the number of bars, whose outlines begin with a horizontal line."""
    return len(re.findall(r"M[0-9.]+ [0-9.]+h[0-9.-]+v[0-9.-]+h", svg_of(drawing)))


def bars(*frames: Frame, **options: Any) -> PanelDrawing:
    """Return the drawing of a chart without a legend."""
    return draw_panel("barchart", *frames, options={**WITHOUT_LEGEND, **options})


def table_of(*frames: Frame, **options: Any) -> Any:
    """Return the categories and series of a chart."""
    return bar_table(props_of(panel_of("barchart", options=options), *frames))


def test_each_value_is_a_bar_of_its_category() -> None:
    """Texts are categories and numbers are series; a null has no bar."""
    table = table_of(FRAME)
    assert list(table.categories) == ["x", "y"]
    assert [(series.name, np.nan_to_num(series.values, nan=-1).tolist()) for series in table.series] == [
        ("a", [1, 2]),
        ("b", [31, -1]),
    ]
    assert bar_count(bars(FRAME)) == 3


def test_categories_are_the_configured_column_else_texts_else_times() -> None:
    """The option ``xField`` has precedence; without texts, times are the categories."""
    assert list(table_of(FRAME, xField="a").categories) == ["1", "2"]
    assert list(table_of(Frame([times(2), numbers("v", 1, 2)])).categories) == ["00:00", "00:01"]
    assert list(table_of(Frame([times(2), texts("t", "p", None), numbers("v", 1, 2)])).categories) == ["p", ""]


def test_frames_are_joined_by_their_categories() -> None:
    """The rows of several frames with the same category are one category."""
    table = table_of(Frame([texts("n", "x", "y"), numbers("a", 1, 2)]), Frame([texts("n", "y", "z"), numbers("b", 3, 4)]))
    assert list(table.categories) == ["x", "y", "z"]
    assert [np.nan_to_num(series.values, nan=-1).tolist() for series in table.series] == [[1, 2, -1], [-1, 3, 4]]


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=5))
def test_stacks_begin_where_the_bar_below_ends(values: list[list[float]]) -> None:
    """Bars start at or above 0 or extend downwards; the shares of a stack add up to 1, and the axis includes 0."""
    # Values are divided by ten, so that no sum of five values is infinite.
    rows = [np.array(row) / 10 for row in values]
    for (start, end), row in zip(bar_ends(rows, "normal"), rows, strict=True):
        assert np.array_equal(np.isnan(end), np.isnan(row))
        assert ((start >= 0) | (end <= start) | np.isnan(end)).all()
    shares = bar_ends(rows, "percent")
    totals = np.nansum(np.abs([end - start for start, end in shares]), axis=0)
    # A stack without values, or with zeros only, has no shares.
    assert all(total == pytest.approx(1) or total == 0 for total in totals)
    low, high = value_range(bar_ends(rows, "none"), None, None, "none")
    assert low <= 0 <= high
    assert low < high


def test_the_axis_has_the_configured_limits() -> None:
    """Bars are cut at the limits of the axis."""
    drawing = draw_panel("barchart", FRAME, options=WITHOUT_LEGEND, defaults={"min": 0, "max": 10})
    assert "10" in visible_texts(drawing)
    # The smallest vertical position is that of the highest bar, whose value of 31 exceeds the axis.
    tops = [float(y) for y in re.findall(r"M[0-9.]+ ([0-9.]+)h[0-9.]+v", svg_of(drawing))]
    # The plot begins 8 pixels below the top of the panel.
    assert min(tops) >= 8


@pytest.mark.parametrize(
    ("orientation", "width", "anchor"),
    [("horizontal", 400, "end"), ("vertical", 100, "middle"), ("auto", 100, "end"), ("auto", 400, "middle")],
)
def test_automatic_bars_are_horizontal_in_narrow_panels(orientation: str, width: float, anchor: str) -> None:
    """In a panel that is higher than wide, automatic bars extend to the right, with categories to the left."""
    drawing = draw_panel("barchart", FRAME, options={"orientation": orientation, "showValue": "never", **WITHOUT_LEGEND}, width=width)
    assert re.search(rf'text-anchor="{anchor}">x<', svg_of(drawing))


@pytest.mark.parametrize(("mode", "expected"), [("never", 0), ("auto", 3), ("always", 3), (3, 3)])
def test_values_are_shown_at_bars(mode: object, expected: int) -> None:
    """Each bar has its value with the unit of its series, unless the panel hides them."""
    drawing = draw_panel("barchart", FRAME, options={"showValue": mode, **WITHOUT_LEGEND}, defaults={"unit": "percent", "decimals": 2})
    assert sum(text in ("1.00%", "2.00%", "31.00%") for text in visible_texts(drawing)) == expected


def test_large_values_are_above_bars() -> None:
    """The value of a wide bar is above the bar, in a large font."""
    drawing = bars(Frame([texts("n", "a"), numbers("v", 485)]))
    ((y, size),) = re.findall(r'<text x="[0-9.]+" y="([0-9.]+)" [^>]*font-size="([0-9.]+)"[^>]*>485<', svg_of(drawing))
    (top,) = re.findall(r"M[0-9.]+ ([0-9.]+)h[0-9.]+v", svg_of(drawing))
    assert float(size) >= 14
    assert float(y) <= float(top)


@pytest.mark.parametrize("sign", [1, -1])
def test_values_of_horizontal_bars_do_not_cross_their_ends(sign: int) -> None:
    """The value of a bar is beyond its end, or completely in the bar if it does not fit beyond the end."""
    values = (100.123 * sign, 50.123 * sign)
    frame = Frame([texts("n", "a", "b"), numbers("v", *values)])
    drawing = draw_panel("barchart", frame, options={"orientation": "horizontal", **WITHOUT_LEGEND}, defaults={"decimals": 3}, width=300)
    outlines = re.findall(r"M([0-9.]+) [0-9.]+h([0-9.]+)v", svg_of(drawing))
    # The longer bar has no space beyond its end.
    for value, (x, length), is_inside in zip(values, outlines, (True, False), strict=True):
        ((text_x, size, anchor),) = re.findall(
            rf'<text x="([0-9.]+)" [^>]*font-size="([0-9.]+)"[^>]*anchor="(\w+)">{value:.3f}<', svg_of(drawing)
        )
        bar_left, bar_right = float(x), float(x) + float(length)
        width = text_width(f"{value:.3f}", float(size))
        left = float(text_x) - width if anchor == "end" else float(text_x)
        right = left + width
        if is_inside:
            assert left >= bar_left
            assert right <= bar_right
        else:
            assert right <= bar_left or left >= bar_right


def test_values_that_would_be_unreadable_are_shown_only_on_demand() -> None:
    """Bars that are too narrow for their values show no values, unless the panel always shows values."""
    frame = Frame([texts("n", *map(str, range(90))), numbers("v", *[7.0] * 90)])
    # The first texts are labels of the axis, one of which may be 7.
    assert "7" not in visible_texts(bars(frame))[10:]
    # Nearly all of the 90 bars have a value; some values may be cut.
    assert visible_texts(bars(frame, showValue="always")).count("7") > 80


@pytest.mark.parametrize(("count", "min_count"), [(8, 8), (40, 7), (300, 7)])
def test_labels_of_many_categories_are_sparse_and_legible(count: int, min_count: int) -> None:
    """Labels of categories have equal distances, have at least five characters, do not overlap and are distinct.

    If not all labels fit, at least ``min_count`` categories have labels.
    """
    frame = Frame([texts("n", *(f"service-with-a-long-name-{index:03d}" for index in range(count))), numbers("v", *[7.0] * count)])
    drawing = draw_panel("barchart", frame, options={"showValue": "never", **WITHOUT_LEGEND}, width=700)
    labels = [(float(x), text) for x, text in re.findall(r'<text x="([0-9.]+)"[^>]*text-anchor="middle">([^<]*)<', svg_of(drawing))]
    # Only the labels of categories are cut.
    labels = [(x, text) for x, text in labels if "…" in text]
    assert len({text for _, text in labels}) == len(labels) >= min_count
    assert min(len(text) for _, text in labels) >= 5
    first_x, first_text = labels[0]
    # The first label does not begin before the left edge of the panel. The tolerance is that of rounded positions.
    assert first_x + 0.1 >= text_width(first_text, 11) / 2
    distances = [right - left for (left, _), (right, _) in pairwise(labels[:-1])]
    assert max(distances) - min(distances) <= 0.2
    for (left, left_text), (right, right_text) in pairwise(labels):
        assert left + text_width(left_text, 11) / 2 <= right - text_width(right_text, 11) / 2


def test_labels_are_rotated_and_shortened() -> None:
    """Labels turn by the configured angle, and have at most the configured number of characters."""
    drawing = bars(Frame([texts("n", "abcdefgh"), numbers("v", 1)]), xTickLabelRotation=-45, xTickLabelMaxLength=3)
    assert "rotate(-45.0" in svg_of(drawing)
    assert "abc…" in visible_texts(drawing)


def test_colours_are_those_of_series_values_or_a_column() -> None:
    """Bars have the colour of their series, of their value in modes by value, or of the row in another column."""
    steps = {"steps": [{"value": None, "color": "#00ff00"}, {"value": 2, "color": "#ff0000"}]}
    panel_by_value = panel_of("barchart", defaults={"color": {"mode": "thresholds"}, "thresholds": steps})
    assert list(bar_table(props_of(panel_by_value, FRAME)).series[0].colours) == ["#00ff00", "#ff0000"]
    mappings = [{"type": "value", "options": {"x": {"color": "#0000ff"}}}]
    panel_by_column = panel_of("barchart", defaults={"mappings": mappings}, options={"colorByField": "name"})
    # The mapping colours "x"; the text "y" has the default colour.
    for series in bar_table(props_of(panel_by_column, FRAME)).series:
        assert list(series.colours) == ["#0000ff", "#73bf69"]


def test_the_legend_lists_the_series() -> None:
    """The legend lists all series except hidden ones."""
    hidden = {"matcher": {"id": "byName", "options": "b"}, "properties": [{"id": "custom.hideFrom", "value": {"viz": True}}]}
    assert visible_texts(draw_panel("barchart", FRAME))[-2:] == ["a", "b"]
    assert visible_texts(draw_panel("barchart", FRAME, overrides=[hidden]))[-1] == "a"


def test_categories_that_do_not_fit_are_counted() -> None:
    """A chart has at most a bar for each three of its 400 pixels, and a note with the number of all categories."""
    drawing = bars(Frame([texts("n", *map(str, range(10_000))), numbers("v", *range(10_000))]))
    assert drawing.notes == ["only the first 133 of 10000 categories"]
    assert bar_count(drawing) <= 133


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], "No data"),
        ([Frame()], "No data"),
        ([Frame([texts("n", "a"), numbers("v", None)])], "No data"),
        ([Frame([texts("n", "a")])], "No numbers"),
        ([Frame([numbers("v", 1)])], "No categories"),
    ],
)
def test_missing_columns_are_reported(frames: list[Frame], reason: str) -> None:
    """A chart without categories or numbers shows a message."""
    with pytest.raises(NothingToDraw, match=reason):
        bars(*frames)


WRONG_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 1e308, "x", [], {}, "normal", "percent", "horizontal", "a", HOSTILE, 1e-9]
)
OPTIONS = [
    "orientation",
    "stacking",
    "showValue",
    "groupWidth",
    "barWidth",
    "xField",
    "colorByField",
    "xTickLabelRotation",
    "xTickLabelMaxLength",
]


@given(
    options=st.dictionaries(st.sampled_from([*OPTIONS, "legend"]), WRONG_VALUES),
    values=st.lists(VALUES, min_size=2, max_size=2),
    width=st.integers(1, 300),
)
def test_no_option_breaks_a_chart(options: dict[str, Any], values: list[float], width: int) -> None:
    """A chart with any options and values is drawn with finite positions, or shows a message."""
    with contextlib.suppress(NothingToDraw):
        svg = svg_of(
            draw_panel(
                "barchart", Frame([texts("n", "x", HOSTILE), numbers("a", *values), numbers("b", 5e-324, -1)]), options=options, width=width
            )
        )
        assert "<script" not in svg
        assert not re.search(r'[" ](nan|inf|-inf)', svg)
