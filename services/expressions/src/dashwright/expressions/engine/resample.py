"""The type ``resample``: every series gets one point per bucket. Buckets as long as the ``window`` divide the time range.

The points are sorted by time first; points with equal times keep their order. A bucket contains the points after the timestamp of
the previous bucket, up to its own timestamp. The first bucket also contains all older points.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.axis import ALL, Axis, Grid
from dashwright.expressions.engine.duration import nanoseconds
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.limit_checks import POINT_BYTES
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.engine.sampling import UPSAMPLERS, Buckets, resample
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import Block, Cells, NoData, Numbers, Series, Values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: The last time that an int64 of nanoseconds since the epoch can represent. The first is as far before the epoch.
_LAST_NANOSECOND = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Resample:
    """A resampling of one input."""

    is_chainable: ClassVar[bool] = True

    input: str  #: A refId.
    timestamps: Grid  #: The times of every resampled series.
    downsampler: str
    upsampler: str

    @staticmethod
    def of(ref_id: str, window: str, downsampler: str, upsampler: str, time_range: TimeRange, limits: Limits) -> "Resample":
        """Return the resampling of a target. Raises BadRequest if it is invalid, TooLarge for too many buckets."""
        if downsampler not in REDUCERS:
            raise BadRequest(f"downsampling {downsampler} not implemented; use one of {', '.join(REDUCERS)}")
        if upsampler not in UPSAMPLERS:
            raise BadRequest(f"upsampling {upsampler} not implemented; use one of {', '.join(UPSAMPLERS)}")
        return Resample(ref_id, _timestamps(_step(window), time_range, limits), downsampler, upsampler)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refId that it reads."""
        return (self.input,)

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return the resampled series. Raises BadRequest for numbers, TooLarge for too many points."""
        values = inputs[self.input]
        if isinstance(values, NoData):
            return Outcome(values)
        if isinstance(values, Series | Numbers) and not len(values):
            return Outcome(Series.stacked((), ()))
        if not isinstance(values, Series):
            raise BadRequest(f"can only resample type series, got type {values.type_name}; resample ${self.input} before it is reduced")
        # One timestamp means that the time range is shorter than the window, which Grafana refuses too.
        if self.timestamps.count < 2:
            raise BadRequest(
                "the series cannot be sampled further; the time range is shorter than the interval: "
                "take a shorter window or a longer time range"
            )
        points = len(values) * self.timestamps.count
        if points > limits.query_points:
            problem = f"{len(values)} series at {self.timestamps.count} stamps each have {points} points"
            raise limits.refusal("query_points", problem, "take a longer window or a shorter time range")
        with limits.memory.temporarily(points * POINT_BYTES):
            return Outcome(self._resample(values, limits))

    def _resample(self, series: Series, limits: Limits) -> Series:
        # All series get the same timestamps, so the result is a single block.
        times = self.timestamps.start + self.timestamps.step * np.arange(self.timestamps.count)
        values, nulls = np.empty((len(series), len(times))), np.empty((len(series), len(times)), np.bool_)
        for block, members in series.by_block():
            limits.deadline.check()
            block = _sorted_by_time(block)
            cells = resample(block.cells, Buckets.of(block.axis.times, times), self.downsampler, self.upsampler, limits.deadline)
            rows = series.row_of[members]
            values[members], nulls[members] = cells.values[rows], cells.null_mask()[rows]
        return Series.stacked(series.labels, [Block(Axis(times), Cells.with_nulls(values, nulls))])


def _step(window: str) -> int:
    """Return the length of a bucket in nanoseconds. Raises BadRequest if the window is not a duration longer than 0."""
    try:
        step = nanoseconds(window)
    except BadRequest as error:
        raise BadRequest(f'failed to parse resample "window" duration field: {error.message}') from error
    if step <= 0:
        raise BadRequest(f'the resample "window" must be longer than 0, got "{window}"; write it like 30s or 5m')
    return step


def _timestamps(step: int, time_range: TimeRange, limits: Limits) -> Grid:
    """Return the timestamps of the buckets: the start of the time range, and each ``step`` until its end."""
    # Integer division of timedeltas is exact; floats of seconds would lose microseconds.
    start, end = ((instant - _EPOCH) // _MICROSECOND * 1000 for instant in (time_range.start, time_range.end))
    if start < -_LAST_NANOSECOND or end > _LAST_NANOSECOND:
        raise BadRequest("the time range to resample reaches beyond the years 1678 to 2261; take one within them")
    count = (end - start) // step + 1
    if count > limits.resample_buckets:
        problem = f"the time range holds {count} windows"
        raise limits.refusal("resample_buckets", problem, "take a longer window or a shorter time range")
    return Grid(start, step, count)


def _sorted_by_time(block: Block) -> Block:
    if block.axis.is_ordered:
        return block
    # A stable sort: the last of several points with equal times remains the last.
    order = np.argsort(block.axis.times, kind="stable")
    return Block(Axis(block.axis.times[order]), block.cells.at((ALL, order)))
