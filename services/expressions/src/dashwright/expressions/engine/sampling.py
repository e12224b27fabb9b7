"""Points of a series brought onto evenly spaced stamps: where each point falls, and what each stamp gets. Whole blocks at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.axis import Times
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.engine.values import Cells, Floats, Mask, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Where the points of an ascending axis fall: bucket ``i`` holds the ``sizes[i]`` columns before ``ends[i]``.

    It reaches from behind the stamp before up to its own; the first takes every older point, too.
    """

    ends: Positions
    sizes: Positions
    points: int

    @staticmethod
    def of(times: Times, stamps: Times) -> "Buckets":
        ends = np.searchsorted(times, stamps, side="right")
        return Buckets(ends, np.diff(ends, prepend=0), len(times))

    @property
    def starts(self) -> Positions:
        return self.ends - self.sizes


UPSAMPLERS: dict[str, Callable[[Buckets], Positions]] = {
    "pad": lambda buckets: buckets.ends - 1,
    "backfilling": lambda buckets: np.where(buckets.ends < buckets.points, buckets.ends, -1),
    "fillna": lambda buckets: np.full(len(buckets.ends), -1, np.intp),
}
"""Which column an empty bucket takes, -1 for none: the last point seen, the next one, or null."""


def sampled(cells: Cells, buckets: Buckets, downsampler: str, upsampler: str, deadline: Deadline) -> Cells:
    """One column a bucket. Two points or more are reduced, a single one is taken as it is (but counts as 1), none is made up for."""
    columns = np.where(buckets.sizes == 0, UPSAMPLERS[upsampler](buckets), buckets.ends - 1)
    values, nulls = _taken(cells, columns)
    filled = np.flatnonzero(buckets.sizes)
    fold = REDUCERS[downsampler].fold
    if fold is not None and len(filled):
        # Behind the last stamp points count no more.
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
