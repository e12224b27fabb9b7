"""The expression type resample."""

import math
from dataclasses import dataclass, replace

from tests.reference_engine.reducers import reduce_strictly
from tests.reference_engine.values import Item, Items, NoData, Outcome, Point, Refused, Series, Value


@dataclass(frozen=True)
class Resample:
    """A resample expression. ``window`` and the range are in nanoseconds."""

    expression: str
    window: int
    downsampler: str
    upsampler: str
    start: int
    end: int


def evaluate(resample: Resample, items: Items) -> Outcome:
    """Resample each series. Raises Refused for other items, except no data."""
    return Outcome([_resample_item(resample, item) for item in items])


def _resample_item(resample: Resample, item: Item) -> Item:
    """Return the item with a point at the end of each window. No data remains no data.

    Raises Refused for an item that is not a series, and for a time range that is shorter than a window.
    """
    if isinstance(item, NoData):
        return item
    if not isinstance(item, Series):
        raise Refused("", "can only resample type series")
    if resample.end - resample.start < resample.window:
        raise Refused("", "the series cannot be sampled further; the time range is shorter than the interval")
    ends = range(resample.start, resample.end + 1, resample.window)
    points = sorted(item.points, key=lambda point: point[0])
    return replace(item, points=[(end, _value_at(resample, points, end)) for end in ends], name="")


def _value_at(resample: Resample, points: list[Point], end: int) -> Value:
    """Return the value of the window that ends at a time. The first window contains all older points.

    The value of a single point is unchanged (its count is 1), and several points are reduced. Without points, the upsampler decides.
    """
    start = -math.inf if end == resample.start else end - resample.window
    values_in_window = [value for time, value in points if start < time <= end]
    if not values_in_window:
        return _fill_window(resample.upsampler, points, end)
    if len(values_in_window) == 1 and resample.downsampler != "count":
        return values_in_window[0]
    return reduce_strictly(resample.downsampler, values_in_window)


def _fill_window(upsampler: str, points: list[Point], end: int) -> Value:
    """Return the value of a window without points.

    ``pad`` takes the last point before the window, and ``backfilling`` the next point after it, even after the time range. Without such
    a point, the value is null.
    """
    older = [value for time, value in points if time < end]
    newer = [value for time, value in points if time > end]
    if upsampler == "pad" and older:
        return older[-1]
    if upsampler == "backfilling" and newer:
        return newer[0]
    return None
