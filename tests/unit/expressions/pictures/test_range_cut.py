"""Series cut to the time range of a plot."""

from dataclasses import replace

import numpy as np
import pytest

from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.pictures.plots.range_cut import within_range
from dashwright.expressions.pictures.series import milliseconds_of

NAN = np.nan


@pytest.mark.parametrize(
    ("times", "values", "interpolation", "expected"),
    [
        ([10, 15, 20], [1, 2, 3], "linear", {10: 1, 15: 2, 20: 3}),
        # Lines that cross both edges, by the interpolation; None is a series of separate points.
        ([5, 15, 30], [0, 10, 40], "linear", {10: 5, 15: 10, 20: 20}),
        ([5, 15, 30], [0, 10, 40], "stepAfter", {10: 0, 15: 10, 20: 10}),
        ([5, 15, 30], [0, 10, 40], "stepBefore", {10: 10, 15: 10, 20: 40}),
        ([5, 15, 30], [0, 10, 40], None, {15: 10}),
        ([5, 10, 20, 30], [0, 1, 2, 3], "linear", {10: 1, 20: 2}),
        ([5, 30], [0, 25], "smooth", {10: 5, 20: 15}),
        # Gaps at the edges.
        ([5, 15, 30], [NAN, 10, NAN], "linear", {15: 10}),
        ([5, 15, 30], [0, NAN, 4], "stepAfter", {15: NAN}),
        # No points in the range.
        ([1, 5], [0, 1], "linear", {}),
        ([25, 30], [0, 1], "linear", {}),
        ([], [], "linear", {}),
    ],
)
def test_lines_end_at_the_edges(times: list[float], values: list[float], interpolation: str | None, expected: dict[float, float]) -> None:
    """A line that crosses an edge of the range has a point at the edge. Gaps and separate points have no such point."""
    start, end = 10, 20
    cut_times, cut_values = within_range(np.array(times, dtype=float), np.array(values, dtype=float), start, end, interpolation)
    assert cut_times.tolist() == list(expected)
    np.testing.assert_allclose(cut_values, list(expected.values()))


def test_whole_milliseconds_are_exact() -> None:
    """Times of whole milliseconds are exact, so that the result of an instant query, at the very end of the range, is drawn."""
    milliseconds = np.arange(1_795_830_747_000, 1_795_830_748_000)
    field = Field("Time", FieldType.TIME, milliseconds * 1_000_000 + 250_000)
    assert milliseconds_of(replace(field, values=milliseconds * 1_000_000)).tolist() == milliseconds.tolist()
    assert milliseconds_of(field).tolist() == (milliseconds + 0.25).tolist()
