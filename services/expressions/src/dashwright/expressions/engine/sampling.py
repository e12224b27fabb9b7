"""Sampling of a series onto evenly spaced stamps: the bucket of each point, and the value of each stamp, for whole blocks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.engine.values import Cells, Floats, Mask, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """The buckets of an ascending axis: bucket ``i`` has the ``sizes[i]`` columns before ``ends[i]``.

    A bucket reaches from after the stamp before it up to its own; the first also has every older point.
    """

    ends: Positions
    sizes: Positions
    points: int

    @staticmethod
    def of(times: Times, stamps: Times) -> "Buckets":
        """Return the buckets of the times between the stamps."""
        ends = np.searchsorted(times, stamps, side="right")
        return Buckets(ends, np.diff(ends, prepend=0), len(times))

    @property
    def starts(self) -> Positions:
        """The first column of each bucket."""
        return self.ends - self.sizes


#: The column that an empty bucket takes, -1 for null: the last point before it, the next one, or none.
UPSAMPLERS: dict[str, Callable[[Buckets], Positions]] = {
    "pad": lambda buckets: buckets.ends - 1,
    "backfilling": lambda buckets: np.where(buckets.ends < buckets.points, buckets.ends, -1),
    "fillna": lambda buckets: np.full(len(buckets.ends), -1, np.intp),
}


def sampled(cells: Cells, buckets: Buckets, downsampler: str, upsampler: str, deadline: Deadline) -> Cells:
    """Return one column a bucket.

    Two or more points are reduced, a single one is taken unchanged (``count`` makes it 1), and an empty bucket takes
    what the upsampler selects.
    """
    columns = np.where(buckets.sizes == 0, UPSAMPLERS[upsampler](buckets), buckets.ends - 1)
    values, nulls = _taken(cells, columns)
    filled = np.flatnonzero(buckets.sizes)
    fold = REDUCERS[downsampler].fold
    if fold is not None and len(filled):
        # Points after the last stamp belong to no bucket.
        within = cells.values[:, : buckets.ends[-1]]
        with np.errstate(all="ignore"):
            values[:, filled] = fold(within, buckets.starts[filled], deadline)
        nulls[:, buckets.sizes >= (1 if downsampler == "count" else 2)] = False
    return Cells.of(values, nulls)


def _taken(cells: Cells, columns: Positions) -> tuple[Floats, Mask]:
    missing = columns < 0
    if not cells.values.shape[1]:
        shape = len(cells.values), len(columns)
        return np.full(shape, np.nan), np.ones(shape, np.bool_)
    nulls = np.broadcast_to(missing, (len(cells.values), len(columns))) if cells.nulls is None else cells.nulls[:, columns] | missing
    return cells.values[:, columns], np.array(nulls)
