"""How many points become one: the reducers that the kinds ``reduce``, ``resample`` and ``classic_conditions`` share.

Rows of points reduce at once. A null lies in its slot as NaN, so nulls need no care of their own here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Cells, Floats, Mask

_SLAB = 1 << 18
_CHAIN = 1 << 14


@dataclass(frozen=True, slots=True)
class Reducer:
    """``rows`` reduces each row (at least one column); ``kept_rows`` only the points of a mask (at least one a row).

    ``guess`` reduces each row as if all that is not null were finite. Where the outcome is finite, that was so or makes no difference;
    there is none for a reducer of which this does not hold.
    """

    of_nothing: float
    rows: Callable[[Floats], Floats]
    kept_rows: Callable[[Floats, Mask], Floats]
    doc: str
    guess: Callable[[Cells], Floats] | None = None

    def all(self, values: Floats) -> Floats:
        return self.rows(values) if values.shape[1] else np.full(len(values), float(self.of_nothing))

    def kept(self, values: Floats, keep: Mask) -> Floats:
        """Each row's points of the mask; a row without any gives ``of_nothing``."""
        if keep.all():
            return self.all(values)
        some = keep.any(axis=1)
        if some.all():
            return self.kept_rows(values, keep)
        outcome = np.full(len(values), float(self.of_nothing))
        outcome[some] = self.kept_rows(values[some], keep[some])
        return outcome

    def finite(self, cells: Cells) -> Floats:
        """Each row's finite points. Only rows that the guess does not settle are tested point by point."""
        values = cells.values
        if self.guess is None or not values.shape[1]:
            return self.kept(values, np.isfinite(values))
        outcome = np.array(self.guess(cells))
        unsettled = np.flatnonzero(~np.isfinite(outcome))
        if len(unsettled):
            outcome[unsettled] = self.kept(values[unsettled], np.isfinite(values[unsettled]))
        return outcome


def slabs(values: Floats) -> Iterator[slice]:
    """The rows, a few at a time, so that what is made on the way stays in the processor's cache."""
    height = max(1, _SLAB // max(1, values.shape[1]))
    return (slice(start, start + height) for start in range(0, max(1, len(values)), height))


def _median(values: Floats, keep: Mask) -> Floats:
    counts = np.count_nonzero(keep, axis=1)
    # What is not kept sorts to the end, with NaN.
    ordered = np.sort(np.where(keep, values, np.nan), axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, (counts - 1) // 2], ordered[rows, counts // 2]
    # A single middle point is taken as it is: twice a very large one is infinite.
    middle: Floats = np.where(counts % 2, low, (low + high) / 2)
    return middle


def _strict_median(values: Floats) -> Floats:
    spoiled = np.isnan(values).any(axis=1)
    return np.where(spoiled, np.nan, _median(values, np.ones(values.shape, np.bool_)))


def _last(values: Floats, keep: Mask) -> Floats:
    position = values.shape[1] - 1 - np.argmax(keep[:, ::-1], axis=1)
    last: Floats = np.take_along_axis(values, position[:, np.newaxis], axis=1)[:, 0]
    return last


def _count(values: Floats) -> Floats:
    return np.full(len(values), float(values.shape[1]))


def _sum(values: Floats) -> Floats:
    # einsum adds with the widest registers, which reads memory twice as fast as add.reduce; but it adds on and on, so that long rows are
    # added in parts, to keep rounding small.
    parts = [np.einsum("ij->i", values[:, start : start + _CHAIN]) for start in range(0, values.shape[1], _CHAIN)]
    total: Floats = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return total


def _kept_sum(values: Floats, keep: Mask) -> Floats:
    # As a number of 8 bits, minus the mask has all bits set or none: what is not kept becomes 0 without a branch for each point.
    kept = (-keep.view(np.int8)).astype(np.int64)
    np.bitwise_and(values.view(np.int64), kept, out=kept)
    return _sum(kept.view(np.float64))


def _kept_count(_values: Floats, keep: Mask) -> Floats:
    # Packed to bits first, an eighth of the bytes is left to add, which is what takes the time.
    count: Floats = np.bitwise_count(np.packbits(keep, axis=1)).sum(axis=1, dtype=np.float64)
    return count


def _each_row(ufunc: np.ufunc) -> Callable[[Floats], Floats]:
    """As ``ufunc.reduce`` along the rows, which takes almost twice as long to get from one row to the next."""

    def rows(values: Floats) -> Floats:
        outcome: Floats = ufunc.reduceat(values.reshape(-1), np.arange(0, values.size, values.shape[1]))
        return outcome

    return rows


def _mean(values: Floats) -> Floats:
    mean: Floats = _sum(values) / values.shape[1]
    return mean


def _kept_mean(values: Floats, keep: Mask) -> Floats:
    return _kept_sum(values, keep) / _kept_count(values, keep)


def _non_null(rows: Callable[[Floats], Floats], kept_rows: Callable[[Floats, Mask], Floats]) -> Callable[[Cells], Floats]:
    def guess(cells: Cells) -> Floats:
        return rows(cells.values) if cells.nulls is None or not cells.nulls.any() else kept_rows(cells.values, ~cells.nulls)

    return guess


def _whatever_is_null(rows: Callable[[Floats], Floats]) -> Callable[[Cells], Floats]:
    return lambda cells: rows(cells.values)


def _newest(values: Floats) -> Floats:
    return values[:, -1]


REDUCERS = {
    "sum": Reducer(0, _sum, _kept_sum, "sum of the points", _non_null(_sum, _kept_sum)),
    "mean": Reducer(np.nan, _mean, _kept_mean, "arithmetic mean", _non_null(_mean, _kept_mean)),
    "min": Reducer(
        np.nan,
        _each_row(np.minimum),
        lambda values, keep: np.where(keep, values, np.inf).min(axis=1),
        "least point",
        _whatever_is_null(_each_row(np.fmin)),
    ),
    "max": Reducer(
        np.nan,
        _each_row(np.maximum),
        lambda values, keep: np.where(keep, values, -np.inf).max(axis=1),
        "greatest point",
        _whatever_is_null(_each_row(np.fmax)),
    ),
    "count": Reducer(0, _count, _kept_count, "number of points, nulls included"),
    "last": Reducer(np.nan, _newest, _last, "the last point as it is", _whatever_is_null(_newest)),
    "median": Reducer(np.nan, _strict_median, _median, "middle point, or the mean of the two middle ones"),
}
