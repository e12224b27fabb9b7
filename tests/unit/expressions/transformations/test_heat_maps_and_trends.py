"""Transformations that make trends, regressions and heat maps of time series."""

import math
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.transformations.tables import apply_all, cells, column, frame, transform

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.expressions.formats.codec import JsonFrameWriter
from dashwright.expressions.transformations.conversion import to_typed_frame
from dashwright.expressions.transformations.data import CellType, DataFrame, Trend

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def load_series(*values: float | None, ref_id: str = "A", **labels: str) -> DataFrame:
    """Return a series with a point for each value, one second apart."""
    return frame(ref_id, column("time", [1000 * row for row in range(len(values))]), column("Value", values, None, **labels))


def test_a_table_of_trends_has_a_row_for_each_series() -> None:
    """Each label is a column, which is empty in rows without the label. The value of a trend is its last one, or the result of ``stat``."""
    frames = [load_series(1, 5, None, host="a"), load_series(4, 2, job="x"), frame("A", host=["t"]), load_series(7, ref_id="B")]
    tables, first, second = apply_all(frames, {"id": "timeSeriesTable", "options": {"A": {"stat": "max"}}})
    assert cells([tables]) == [{"host": ["t"]}]
    assert [column.name for column in first.columns] == ["host", "job", "Trend #A"]
    assert [list(column.values) for column in first.columns[:2]] == [["a", ""], ["", "x"]]
    assert [trend.value for trend in first.columns[2].values] == [5, 4]
    assert first.columns[2].type is CellType.FRAME
    assert [(column.name, [trend.value for trend in column.values]) for column in second.columns] == [("Trend #B", [7])]


def test_frames_without_ascending_times_are_not_series() -> None:
    """Frames with repeated or descending times are tables, and unchanged."""
    table = frame("A", time=[1000, 1000], v=[1, 2])
    assert cells(apply_all([table], {"id": "timeSeriesTable"})) == cells([table])


def test_a_trend_is_written_as_a_frame_with_its_value() -> None:
    """In a response, a trend is a frame with its points, and has its last value as ``value``."""
    (table,) = apply_all([load_series(1, 5)], {"id": "timeSeriesTable"})
    typed = to_typed_frame(table)
    document = orjson.loads(b"".join(part for part, _ in JsonFrameWriter().write(typed.frame, typed.types)))
    assert document["schema"]["fields"][0]["type"] == "frame"
    ((trend,),) = document["data"]["values"]
    assert trend["value"] == 5
    assert trend["data"]["values"] == [[0, 1000], [1, 5]]


def test_trends_can_be_joined_and_sorted() -> None:
    """Tables of several queries become one by their labels, with a column of trends for each query."""
    frames = [load_series(1, host="a"), load_series(2, host="b"), load_series(3, ref_id="B", host="b")]
    (table,) = apply_all(frames, {"id": "timeSeriesTable"}, {"id": "joinByField", "options": {"byField": "host"}})
    assert [column.name for column in table.columns] == ["host", "Trend #A", "Trend #B"]
    hosts, trends_of_a, trends_of_b = (list(column.values) for column in table.columns)
    row = hosts.index("b")
    assert isinstance(trends_of_a[row], Trend)
    assert trends_of_a[row].value == 2
    assert trends_of_b[row].value == 3


def curve_of(points: DataFrame, **options: Any) -> dict[str, list[Any]]:
    """Return the cells of the curve by the names of its columns."""
    _, curve = apply_all([points], {"id": "regression", "options": options})
    return {column.name: list(column.values) for column in curve.columns}


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(2, 30))
def test_a_line_is_its_own_regression(slope: float, start: float, count: int) -> None:
    """The regression of points on a line is this line, from the first value to the last."""
    rows = list(range(count))
    options: dict[str, Any] = {"xFieldName": "x", "yFieldName": "y", "predictionCount": 5}
    curve = curve_of(frame("A", x=rows, y=[start + slope * row for row in rows]), **options)
    assert curve["x"][0] == 0
    assert curve["x"][-1] == count - 1
    assert curve["y predicted"] == pytest.approx([start + slope * x for x in curve["x"]], abs=1e-6)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_polynomial_has_the_least_squares(degree: int) -> None:
    """The curve is that of an independent solution of the normal equations, for numbers and for times."""
    y = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, None, 2.0]
    options: dict[str, Any] = {"modelType": "polynomial", "degree": degree, "yFieldName": "y", "predictionCount": 4}
    known_points = [(row, value) for row, value in enumerate(y) if value is not None]
    coefficients = np.polynomial.polynomial.polyfit([row for row, _ in known_points], [value for _, value in known_points], degree)
    # The points are at the numbers from 0 to 7, or at times with a distance of a minute.
    for name, scale, offset in (("x", 1, 0), ("time", 60_000, 1_700_000_000_000)):
        points = frame("A", column(name, [offset + scale * row for row in range(len(y))]), column("y", y))
        curve = curve_of(points, xFieldName=name, **options)
        expected = np.polynomial.polynomial.polyval([(x - offset) / scale for x in curve[name]], coefficients)
        assert curve["y predicted"] == pytest.approx(expected.tolist(), rel=1e-9)


def test_regressions_need_columns_of_one_frame() -> None:
    """Columns of several frames are an error, and so are invalid numbers in the options.

    If the columns are missing, frames are unchanged. The regression of a column of nulls is NaN.
    """
    frames = [frame("A", x=[1, 2]), frame("B", y=[1, 2])]
    with pytest.raises(BadRequest, match="'x' and 'y' must be in one frame"):
        transform(frames, "regression", xFieldName="x", yFieldName="y")
    assert transform(frames, "regression", xFieldName="gone", yFieldName="gone") == cells(frames)
    with pytest.raises(BadRequest, match="predictionCount must be a number from 1"):
        transform([frame("A", x=[1], y=[1])], "regression", xFieldName="x", yFieldName="y", predictionCount=0)
    curve = curve_of(frame("A", x=[1, 2], y=[None, None]), xFieldName="x", yFieldName="y", predictionCount=2)
    assert all(map(math.isnan, curve["y predicted"]))


@given(NUMBERS, st.sampled_from([0.5, 10, 1000]), st.integers(1, 5))
def test_cells_of_a_heat_map_count_each_value(values: list[float], size: float, seconds: int) -> None:
    """The counts add up to the number of values, and the cell with the time and value of each point has a count."""
    options: dict[str, Any] = {"xBuckets": {"mode": "size", "value": f"{seconds}s"}, "yBuckets": {"mode": "size", "value": str(size)}}
    try:
        (result,) = apply_all([load_series(*values)], {"id": "heatmap", "options": options})
    except TooLarge:
        # Distant values and small buckets would have too many cells.
        return
    lefts, bounds, counts = (list(column.values) for column in result.columns)
    assert [column.name for column in result.columns] == ["xMin", "yMin", "Count"]
    assert result.meta == {"type": "heatmap-cells"}
    assert sum(counts) == len(values)
    filled = [(left, bound) for left, bound, count in zip(lefts, bounds, counts, strict=True) if count]
    for row, value in enumerate(values):
        # Values are one second apart, and the left sides of cells are in milliseconds.
        expected_left = row // seconds * seconds * 1000
        expected_bound = math.floor(value / size) * size
        assert any(left == expected_left and bound == pytest.approx(expected_bound) for left, bound in filled)


def test_numbers_of_cells_give_sizes_that_grafana_chooses() -> None:
    """A number of columns or rows determines their size, which is rounded down to a usual size.

    A logarithmic scale has a row for each power.
    """
    # The times span 3 s, and the values 99: 3 s / (2 - 1) becomes 2 s, and 99 / (10 - 1) becomes 10.
    values = [1.0, 2.0, 5.0, 100.0]
    (linear,) = apply_all([load_series(*values)], {"id": "heatmap", "options": {"xBuckets": {"value": 2}, "yBuckets": {"value": 10}}})
    assert sorted(set(linear.columns[0].values)) == [0, 2000]
    assert sorted(set(linear.columns[1].values))[:3] == [0, 10, 20]
    scale = {"yBuckets": {"scale": {"type": "log", "log": 10}, "value": "1"}}
    (logarithmic,) = apply_all([load_series(*values)], {"id": "heatmap", "options": scale})
    assert sorted(set(logarithmic.columns[1].values)) == pytest.approx([1, 10, 100])


@pytest.mark.parametrize(
    ("values", "options", "problem"),
    [
        ([0.0, 1.0], {"yBuckets": {"scale": {"type": "log", "log": 2}}}, "only positive values"),
        ([0.0, 1e300], {"yBuckets": {"mode": "size", "value": 1e-300}}, "would produce"),
    ],
)
def test_a_heat_map_that_cannot_be_calculated_is_an_error(values: list[float | None], options: dict[str, Any], problem: str) -> None:
    """A logarithmic scale of values that are not positive, and too many cells, are errors with their reason."""
    with pytest.raises((BadRequest, TooLarge)) as error:
        transform([load_series(*values)], "heatmap", **options)
    assert problem in error.value.message


def test_the_original_frames_may_be_kept() -> None:
    """With ``keepOriginalData``, the original frames follow the heat map. Frames that are not series are unchanged."""
    result_frames = apply_all([load_series(1, 2)], {"id": "heatmap", "options": {"keepOriginalData": True}})
    assert [column.name for column in result_frames[1].columns] == ["time", "Value"]
    for unchanged in (frame("A", v=[1]), load_series(None)):
        assert transform([unchanged], "heatmap") == cells([unchanged])
