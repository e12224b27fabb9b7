"""Heat maps: grids of counts and their colours."""

import contextlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import draw_panel, numbers, panel_of, props_of, series, svg_of, times, visible_texts

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.dashboard import Panel, read_dashboard
from dashwright.expressions.pictures.panels import heatmap
from dashwright.expressions.pictures.panels.colour_schemes import scheme_palette
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.panels.heat_cells import grid_of_cells
from dashwright.expressions.pictures.panels.heat_grid import grid_of
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry

WITHOUT_LEGEND = {"legend": {"show": False}}


def buckets(*columns: tuple[str, list[float | None]], **labels: str) -> list[Frame]:
    """Return a frame for each bucket, whose upper bound is the label ``le`` as in Prometheus."""
    return [Frame([times(len(values)), numbers("Value", *values, le=bound, **labels)], ref_id="A") for bound, values in columns]


def cumulative_panel() -> Panel:
    """Return a panel whose query has the format of Prometheus, in which each bucket includes those below it."""
    target = {"refId": "A", "format": "heatmap", "datasource": {"type": "prometheus", "uid": "p"}}
    catalog = Catalog([CatalogEntry("p", "P", "prometheus")])
    return read_dashboard({"panels": [{"type": "heatmap", "targets": [target]}]}, catalog=catalog).panels[0]


def calculated_grid(*values: float | None, width: float = 400, height: float = 200, **calculation: Any) -> Any:
    """Return the grid that a panel counts from the values of a series."""
    panel = panel_of("heatmap", options={"calculate": True, "calculation": calculation})
    return grid_of(props_of(panel, series(*values), width=width, height=height))


def test_cumulative_buckets_become_differences() -> None:
    """Buckets are sorted by their bounds as numbers, and each count is the difference to the bucket below, but never negative."""
    frames = buckets(("+Inf", [10, 9]), ("0.5", [1, 2]), ("10", [7, 9.0]), ("2", [4, 1]))
    grid = grid_of(props_of(cumulative_panel(), *frames))
    assert list(grid.names) == ["0.5", "2", "10", "+Inf"]
    assert grid.counts.tolist() == [[1, 2], [3, 0], [3, 8], [3, 0]]
    assert grid.name_place == "top"


def test_histograms_with_other_labels_are_added() -> None:
    """Differences are computed for each group of labels; cells with the same bounds are added."""
    frames = [*buckets(("1", [1]), ("2", [3]), host="a"), *buckets(("1", [10]), ("2", [30]), host="b")]
    grid = grid_of(props_of(cumulative_panel(), *frames))
    assert list(grid.names) == ["1", "2"]
    # Of each host, 1 or 10 values are in the first bucket, and 2 or 20 more in the second one.
    assert grid.counts.tolist() == [[11], [22]]


def cells_of(**columns: list[float]) -> Frame:
    """Return a frame whose rows are cells; ``minutes`` are the times of ``xMax``."""
    minutes = np.array(columns.pop("minutes"), dtype=np.int64)
    fields = [numbers(name, *values) for name, values in columns.items()]
    return Frame([Field("xMax", FieldType.TIME, minutes * 60_000_000_000), *fields], meta={"type": "heatmap-cells"})


def test_native_histograms_are_rows_between_their_bounds() -> None:
    """A gap between two buckets is a row without counts, and the bounds label the axis."""
    frame = cells_of(minutes=[1, 1, 3], yMin=[1, 4, 1], yMax=[2, 8, 2], count=[5, 6, 7])
    grid = grid_of_cells(frame, props_of(panel_of("heatmap"), frame))
    assert list(grid.edges) == [1, 2, 4, 8]
    assert grid.counts.tolist()[0] == [5, 7]
    assert np.isnan(grid.counts[1]).all()
    assert grid.counts[2, 0] == 6
    # The distance of the times, two minutes, is the width of the cells, which end at their times.
    assert grid.starts.tolist() == [-60_000, 60_000]
    assert grid.ends.tolist() == [60_000, 180_000]
    assert grid.is_logarithmic
    assert {"1", "2", "4", "8"} <= set(visible_texts(draw_panel("heatmap", frame, options=WITHOUT_LEGEND)))


@pytest.mark.parametrize(
    ("name", "edges"),
    [("yMin", [10, 20, 30]), ("yMax", [0, 10, 20]), ("y", [10, 20, 30])],
)
def test_one_bound_of_cells_is_enough(name: str, edges: list[float]) -> None:
    """If cells have only one bound, their other bound is that of the next row, or of the previous row for upper bounds."""
    frame = cells_of(minutes=[1, 1], Count=[1, 2], **{name: [10.0, 20.0]})
    grid = grid_of_cells(frame, props_of(panel_of("heatmap"), frame))
    assert list(grid.edges) == edges
    assert grid.counts.tolist() == [[1], [2]]
    assert not grid.is_logarithmic


@pytest.mark.parametrize(("name", "start"), [("xMin", 60_000), ("xMax", 0), ("x", 30_000)])
def test_times_are_those_of_the_named_edge(name: str, start: int) -> None:
    """A cell begins at ``xMin``, ends at ``xMax``, or is around ``x``."""
    cells = cells_of(minutes=[1, 2], yMin=[1, 1], Count=[1, 2])
    cells.fields[0].name = name
    grid = grid_of_cells(cells, props_of(panel_of("heatmap"), cells))
    assert grid.starts.tolist() == [start, start + 60_000]
    assert grid.ends.tolist() == [start + 60_000, start + 120_000]


def test_logarithmic_cells_grow_by_their_factor() -> None:
    """If each bound is the same multiple of the one below, the last edge is the next multiple."""
    frame = cells_of(minutes=[1, 1, 1], Count=[1, 2, 3], yMin=[1, 10, 100])
    grid = grid_of_cells(frame, props_of(panel_of("heatmap"), frame))
    assert list(grid.edges) == [1, 10, 100, 1000]


@pytest.mark.parametrize("second_bounds", [(2, 2), (3, 1)], ids=["equal bounds", "upper bound below the lower one"])
def test_cells_without_a_height_are_not_drawn(second_bounds: tuple[float, float]) -> None:
    """A cell whose upper bound is not above its lower bound is omitted."""
    low, high = second_bounds
    frame = cells_of(minutes=[1, 1], yMin=[1, low], yMax=[2, high], count=[5, 5])
    assert grid_of_cells(frame, props_of(panel_of("heatmap"), frame)).counts.tolist() == [[5]]


def test_only_cells_without_a_height_are_no_data() -> None:
    """A panel whose only cell has no height shows a message."""
    frame = cells_of(minutes=[1], yMin=[2], yMax=[2], count=[5])
    with pytest.raises(NothingToDraw, match="No data"):
        grid_of_cells(frame, props_of(panel_of("heatmap"), frame))


def test_cells_without_a_column_have_a_message() -> None:
    """The message of cells without a column of counts names the columns that they need. Cells without a count are no data."""
    with pytest.raises(NothingToDraw, match="no times, values or counts"):
        draw_panel("heatmap", cells_of(minutes=[1], yMin=[1]))
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("heatmap", cells_of(minutes=[1], yMin=[1], Count=[float("nan")]))


def test_many_cells_share_pixels() -> None:
    """The counts of cells that are smaller than two pixels are added."""
    frame = cells_of(minutes=list(range(1000)), yMin=[row % 500 for row in range(1000)], Count=[1] * 1000)
    # A panel of 100 by 100 pixels has space for 50 by 50 cells.
    grid = grid_of_cells(frame, props_of(panel_of("heatmap"), frame, width=100, height=100))
    assert max(grid.counts.shape) <= 50
    assert np.nansum(grid.counts) == 1000


def test_series_without_a_format_are_rows_with_unchanged_counts() -> None:
    """Series of queries without the format ``heatmap`` are rows whose counts are drawn unchanged. Rows with text names keep their order."""
    grid = grid_of(props_of(panel_of("heatmap"), *buckets(("1", [5]), ("2", [3]))))
    assert grid.counts.tolist() == [[5], [3]]
    grid = grid_of(props_of(panel_of("heatmap"), series(1, 2, name="z"), series(3, None, name="b")))
    assert list(grid.names) == ["z", "b"]
    assert grid.name_place == "middle"
    assert np.nan_to_num(grid.counts, nan=-1).tolist() == [[1, 2], [3, -1]]


@given(values=st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=11), count=st.integers(1, 60))
def test_calculated_cells_count_every_value(values: list[float], count: int) -> None:
    """The sum of all cells is the number of values, and each row has an upper and a lower edge."""
    grid = calculated_grid(*values, yBuckets={"mode": "count", "value": count})
    assert grid.counts.sum() == len(values)
    assert len(grid.edges) == len(grid.counts) + 1
    assert list(grid.edges) == sorted(grid.edges)


@given(
    x=st.sampled_from([None, "0.001ms", "1ms", "2h", "0", "-5m", "x", 1e-300, 1e300, [], "99999999999y"]),
    y=st.sampled_from([None, 1e-300, 1e-9, 1e300, "0", -1, "x", {}, "1"]),
    mode=st.sampled_from(["size", "count", 3]),
    scale=st.sampled_from([None, {"type": "log", "log": 2}, {"type": "log", "log": "x"}, {"type": "log", "log": 10}]),
    values=st.lists(st.sampled_from([None, 0, 1, -1, 5e-324, 1e308, -1e308, 1e15, 1e15 + 1]), min_size=1, max_size=5),
)
def test_a_grid_has_at_most_a_cell_for_two_pixels(x: Any, y: Any, mode: Any, scale: Any, values: list[float | None]) -> None:
    """The number of cells is limited by the pixels of a panel, for all sizes that a panel can request."""
    with contextlib.suppress(NothingToDraw):
        grid = calculated_grid(*values, xBuckets={"mode": mode, "value": x}, yBuckets={"mode": mode, "value": y, "scale": scale})
        rows, columns = grid.counts.shape
        assert columns <= 400 / 2 + 2
        assert rows <= 200 / 2 + 2


def test_logarithmic_rows_are_powers() -> None:
    """Each row of a logarithmic scale is larger by its base; values up to 0 are not counted."""
    grid = calculated_grid(1, 3, 9, 0, -5, yBuckets={"scale": {"type": "log", "log": 2}})
    assert list(grid.edges) == [1, 2, 4, 8, 16]
    assert grid.counts.sum() == 3


def test_narrow_columns_are_added() -> None:
    """If a panel has more times than fit, several times share a column. No count is lost."""
    frame = Frame([times(5_000, 100), numbers("1", *[1.0] * 5_000)])
    grid = grid_of(props_of(panel_of("heatmap"), frame))
    assert grid.counts.shape[1] <= 200
    assert grid.counts.sum() == 5_000
    assert (grid.starts <= grid.ends).all()


@pytest.mark.parametrize(("limits", "count"), [({}, 2), ({"le": 1}, 1), ({"le": -1}, 3), ({"le": -1, "ge": 5}, 2)])
def test_counts_outside_the_limits_are_not_drawn(limits: dict[str, Any], count: int) -> None:
    """Cells whose counts are outside the limits are not drawn. By default, these are cells without a count."""
    svg = svg_of(draw_panel("heatmap", series(None, 0, 1, 5), options={"filterValues": limits, **WITHOUT_LEGEND}))
    assert len(re.findall("M[0-9.]+ [0-9.]+h", svg)) == count


@pytest.mark.parametrize("name", ["Oranges", "Viridis", "Spectral", "unknown"])
@pytest.mark.parametrize("is_dark", [True, False])
def test_reversed_palettes_have_the_other_order(name: str, is_dark: bool) -> None:
    """A reversed palette has the same colours in the other order, and a palette has the requested number of colours."""
    palette = scheme_palette(name, 9, is_dark=is_dark, is_reversed=False)
    assert scheme_palette(name, 9, is_dark=is_dark, is_reversed=True) == palette[::-1]
    assert len(set(palette)) == 9


def test_sequential_palettes_begin_near_the_background() -> None:
    """Small counts are dark on dark panels and light on light ones."""
    on_dark = scheme_palette("Oranges", 3, is_dark=True, is_reversed=False)
    on_light = scheme_palette("Oranges", 3, is_dark=False, is_reversed=False)
    assert on_dark[0] == "#7f2704"
    assert on_light[0] == "#fff5eb"
    assert on_dark == on_light[::-1]


def test_opacity_is_exponential_or_linear() -> None:
    """The colours of the opacity mode range from the background of the panel to the fill colour, linearly or exponentially."""
    steps = {"mode": "opacity", "fill": "#ffffff", "steps": 3}
    linear, exponential = (
        re.findall(r'stop-color="(#\w+)"', svg_of(draw_panel("heatmap", series(1, 2), options={"color": {**steps, **options}})))
        for options in ({"scale": "linear"}, {"scale": "exponential", "exponent": 0.5})
    )
    for stops in (linear, exponential):
        assert stops[0] == THEMES["dark"].panel
        assert stops[-1] == "#ffffff"
    # Each of the three colours has two stops, so the third one is the first stop of the middle colour.
    assert linear[2] < exponential[2]


def test_labels_have_units_and_the_legend_its_range() -> None:
    """Labels of bounds have the unit of the axis, and the legend shows the lowest and the highest count."""
    texts = visible_texts(draw_panel("heatmap", *buckets(("0.5", [3]), ("1", [7])), options={"yAxis": {"unit": "s"}}))
    assert texts[:2] == ["500 ms", "1 s"]
    assert texts[-2:] == ["3", "7"]


@pytest.mark.parametrize("frames", [[], [series()], [series(None)]])
def test_without_counts_there_is_no_data(frames: list[Frame]) -> None:
    """A panel without counts shows a message."""
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("heatmap", *frames)
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel("heatmap", *frames, options={"calculate": True})


def test_frames_without_times_and_many_series_are_reported() -> None:
    """A frame without times or numbers has a message. Of 10,000 series, the first 50 are drawn."""
    with pytest.raises(NothingToDraw, match="No time"):
        draw_panel("heatmap", Frame([numbers("v", 1)]))
    with pytest.raises(NothingToDraw, match="No numbers"):
        draw_panel("heatmap", Frame([times(1)]))
    many_series = [Frame([times(1), *(numbers(str(index), 1) for index in range(10_000))])]
    assert heatmap.draw(props_of(panel_of("heatmap"), *many_series)).notes == ["only the first 50 of 10000 series"]
