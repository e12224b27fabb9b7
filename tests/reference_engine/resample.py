"""The kind resample."""

from dataclasses import dataclass, replace

from tests.reference_engine.reducers import strict
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
    return Outcome([_resample_item(resample, item) for item in items])


def _resample_item(resample: Resample, item: Item) -> Item:
    """Return the resampled items; no data remains no data. The range must hold a whole window; labels and order are kept."""
    if isinstance(item, NoData):
        return item
    if not isinstance(item, Series):
        raise Refused("", "can only resample type series")
    if resample.end - resample.start < resample.window:
        raise Refused("", "the series cannot be sampled further; the time range is shorter than the interval")
    stamps = range(resample.start, resample.end + 1, resample.window)
    points = sorted(item.points, key=lambda point: point[0])
    return replace(item, points=[(stamp, _value_at(resample, points, stamp)) for stamp in stamps], name="")


def _value_at(resample: Resample, points: list[Point], stamp: int) -> Value:
    """Return the value of a stamp from the points after the stamp before it; the first stamp has all older points.

    A single point is unchanged (its count is 1), several are reduced, and without any the upsampler decides.
    """
    before = -(2**63) if stamp == resample.start else stamp - resample.window
    values_in_interval = [value for time, value in points if before < time <= stamp]
    if not values_in_interval:
        return _without(resample.upsampler, points, stamp)
    if len(values_in_interval) == 1 and resample.downsampler != "count":
        return values_in_interval[0]
    return strict(resample.downsampler, values_in_interval)


def _without(upsampler: str, points: list[Point], stamp: int) -> Value:
    """Return the value of a window without points.

    For ``pad`` it is the last point before the window, and for ``backfilling`` the next one, even after the time range. If that point
    does not exist, the value is null.
    """
    older = [value for time, value in points if time < stamp]
    newer = [value for time, value in points if time > stamp]
    if upsampler == "pad" and older:
        return older[-1]
    if upsampler == "backfilling" and newer:
        return newer[0]
    return None
