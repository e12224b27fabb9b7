"""XY charts and trends: columns against columns."""

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import draw_panel, numbers, svg_of, texts, times, visible_texts

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing

#: Two series over the first column, with five points and a missing value.
FRAME = Frame([numbers("x", 1, 2, 3), numbers("a", 10, 20, None), numbers("b", 5, 5, 5)])
WRONG_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 1e308, "x", "a", [], {}, [{"x": "x", "y": "a"}], [{"x": {"matcher": 3}}]]
)


def count_points(drawing: PanelDrawing) -> int:
    """Return the number of points, each of which is drawn as two arcs."""
    return svg_of(drawing).count("a2.5 2.5") // 2


def test_points_are_columns_against_the_first_one() -> None:
    """Each numeric column after the first one is a series; a missing value is not a point."""
    drawing = draw_panel("xychart", FRAME)
    assert count_points(drawing) == 5
    assert visible_texts(drawing)[-2:] == ["a", "b"]
    assert "x" in visible_texts(drawing)


@pytest.mark.parametrize("reference", [str, lambda name: {"matcher": {"id": "byName", "options": name}}])
def test_series_are_configured_by_names_or_matchers(reference: Any) -> None:
    """The option ``series`` selects the columns of each series. A series with a missing column is not drawn."""
    series = [{"x": reference("b"), "y": reference("x")}, {"x": reference("missing"), "y": reference("x")}]
    drawing = draw_panel("xychart", FRAME, options={"series": series})
    assert count_points(drawing) == 3
    assert visible_texts(drawing)[-1] == "x"


def test_a_trend_is_a_line_over_the_configured_column() -> None:
    """A trend connects points in the order of the configured column, and has little more than a point for each pixel."""
    frame = Frame([numbers("v", *range(10_000)), numbers("x", *range(10_000, 0, -1))])
    line = re.findall('<polyline points="([^"]*)"', svg_of(draw_panel("trend", frame, options={"xField": "x"})))[-1]
    positions = [float(point.split(",")[0]) for point in line.split()]
    assert positions == sorted(positions)
    panel_width = 400
    assert len(positions) <= panel_width * 1.3


def test_points_of_one_pixel_are_one() -> None:
    """Points in the same pixel are drawn as one."""
    frame = Frame([numbers("x", *[1.0] * 5_000, 2), numbers("y", *[1.0] * 5_000, 2)])
    assert count_points(draw_panel("xychart", frame)) == 2


def test_times_are_a_horizontal_axis() -> None:
    """If the first column has times, the labels of the horizontal axis are times."""
    drawing = draw_panel("xychart", Frame([times(10), numbers("y", *range(10))]))
    assert "00:05" in " ".join(visible_texts(drawing))


def test_limits_cut_the_axes() -> None:
    """Points outside of configured limits are not drawn."""
    # Of the five points, only that of the value 20 exceeds the limit.
    assert count_points(draw_panel("xychart", FRAME, defaults={"min": 0, "max": 10})) == 4


@pytest.mark.parametrize("panel_type", ["xychart", "trend"])
@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], "No data"),
        ([Frame([numbers("x", None), numbers("y", 1)])], "No data"),
        ([Frame([texts("t", "a"), numbers("y", 1)])], "a column of numbers or times and one of numbers"),
    ],
)
def test_missing_columns_are_reported(panel_type: str, frames: list[Frame], reason: str) -> None:
    """A chart without columns for both axes shows a message."""
    with pytest.raises(NothingToDraw, match=reason):
        draw_panel(panel_type, *frames)


@given(
    panel_type=st.sampled_from(["xychart", "trend"]),
    values=st.lists(st.sampled_from([None, 0, -1, 1e308, -1e308, 5e-324]), min_size=2, max_size=2),
    setting=st.sampled_from(["min", "max", "show", "pointSize", "lineWidth"]),
    wrong_value=WRONG_VALUES,
)
def test_no_value_or_setting_breaks_a_chart(panel_type: str, values: list[float | None], setting: str, wrong_value: Any) -> None:
    """A chart of any values with any settings is drawn with finite positions, or shows a message."""
    frame = Frame([numbers("x", *values), numbers("y", *reversed(values)), numbers("z", 1, 2)])
    with contextlib.suppress(NothingToDraw):
        options = {"series": wrong_value, "xField": wrong_value}
        svg = svg_of(draw_panel(panel_type, frame, options=options, defaults={setting: wrong_value, "custom": {setting: wrong_value}}))
        assert not re.search(r'[" ,M](nan|inf|-inf)', svg)
