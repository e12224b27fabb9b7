"""Series cut to the time range of a plot, so that their lines end exactly at its edges and need no clipping."""

import math

import numpy as np
from numpy.typing import NDArray


def within_range(
    times: NDArray[np.float64], values: NDArray[np.float64], start: float, end: float, interpolation: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of a series between two times, with points at these times where a line crosses them.

    ``interpolation`` is that of the line, or None for separate points. All times ascend and are in milliseconds.
    """
    if not len(times) or (times[0] >= start and times[-1] <= end):
        return times, values
    first, last = np.searchsorted(times, start, "left"), np.searchsorted(times, end, "right")
    if first > last:
        return times[:0], values[:0]
    edges = [(time, _value_between(times, values, index, time, interpolation)) for index, time in ((int(first), start), (int(last), end))]
    (_, left_value), (_, right_value) = edges
    parts = [(times[first:last], values[first:last])]
    if not math.isnan(left_value) and (first == last or times[first] > start):
        parts.insert(0, (np.array([start]), np.array([left_value])))
    if not math.isnan(right_value) and (first == last or times[last - 1] < end):
        parts.append((np.array([end]), np.array([right_value])))
    return np.concatenate([part for part, _ in parts]), np.concatenate([part for _, part in parts])


def _value_between(times: NDArray[np.float64], values: NDArray[np.float64], index: int, time: float, interpolation: str | None) -> float:
    """Return the value of a line at a time between the points ``index - 1`` and ``index``; NaN if no line connects them."""
    if interpolation is None or not 0 < index < len(times):
        return math.nan
    before, after = float(values[index - 1]), float(values[index])
    if math.isnan(before) or math.isnan(after):
        return math.nan
    if interpolation == "stepAfter":
        return before
    if interpolation == "stepBefore":
        return after
    share = (time - times[index - 1]) / (times[index] - times[index - 1])
    return before + (after - before) * float(share)
