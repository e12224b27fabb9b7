"""Resampling of blocks to evenly spaced timestamps: each point belongs to the bucket of a timestamp."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.engine.values import Cells, Floats, Mask, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """The buckets of an axis in the order of time, one for each timestamp.

    A bucket contains the points after the timestamp of the previous bucket, up to its own. The first bucket also contains all older points.
    """

    ends: Positions  #: The column after the last column of each bucket.
    sizes: Positions  #: The number of columns of each bucket.
    column_count: int  #: The number of columns of the axis.

    @staticmethod
    def of(times: Times, timestamps: Times) -> "Buckets":
        """Return the buckets of the times of an axis."""
        ends = np.searchsorted(times, timestamps, side="right")
        return Buckets(ends, np.diff(ends, prepend=0), len(times))

    @property
    def starts(self) -> Positions:
        """The first column of each bucket."""
        return self.ends - self.sizes


#: Functions that return, for each bucket, the column whose value it gets if it is empty. Column -1 is null.
UPSAMPLERS: dict[str, Callable[[Buckets], Positions]] = {
    "pad": lambda buckets: buckets.ends - 1,
    "backfilling": lambda buckets: np.where(buckets.ends < buckets.column_count, buckets.ends, -1),
    "fillna": lambda buckets: np.full(len(buckets.ends), -1, np.intp),
}


def resample(cells: Cells, buckets: Buckets, downsampler: str, upsampler: str, deadline: Deadline) -> Cells:
    """Return cells with one column per bucket.

    The downsampler reduces two or more points. A single point is unchanged, except that ``count`` makes it 1. The
    upsampler gives an empty bucket its value.
    """
    # Without a reduction, the value of a bucket is its last point.
    columns = np.where(buckets.sizes == 0, UPSAMPLERS[upsampler](buckets), buckets.ends - 1)
    values, nulls = _select_columns(cells, columns)
    non_empty_buckets = np.flatnonzero(buckets.sizes)
    reduce_runs = REDUCERS[downsampler].reduce_runs
    if reduce_runs is not None and len(non_empty_buckets):
        # Points after the last timestamp do not belong to a bucket.
        points = cells.values[:, : buckets.ends[-1]]
        with np.errstate(all="ignore"):
            values[:, non_empty_buckets] = reduce_runs(points, buckets.starts[non_empty_buckets], deadline)
        # A reduced bucket is not null: a null among its points counts as NaN.
        min_reduced_size = 1 if downsampler == "count" else 2
        nulls[:, buckets.sizes >= min_reduced_size] = False
    return Cells.with_nulls(values, nulls)


def _select_columns(cells: Cells, columns: Positions) -> tuple[Floats, Mask]:
    """Return the values and null mask of the columns; column -1 is null."""
    shape = len(cells.values), len(columns)
    if not cells.values.shape[1]:
        return np.full(shape, np.nan), np.ones(shape, np.bool_)
    is_missing = columns < 0
    nulls = np.broadcast_to(is_missing, shape) if cells.nulls is None else cells.nulls[:, columns] | is_missing
    return cells.values[:, columns], np.array(nulls)
