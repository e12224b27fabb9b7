"""The reducers: how many points become one. ``REDUCERS`` at the end is the table that everything else follows.

``reduce`` and ``resample``, classic conditions and the panels of pictures read it, each by its own members of an entry.
The names are those of ``ReducerName`` in ``dashwright.common.models.expressions``, from which the schemas are written.

All functions here work on whole blocks of rows. A null is NaN in its slot, so nulls need no case of their own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.values import Cells, Floats, Mask, Positions

#: Points that are reduced in one step. Their temporary arrays fit into the processor's cache, which is twice as fast.
_SLAB = 1 << 18

#: Points that one running sum adds up; longer rows are added in parts, because rounding errors grow with the length.
_CHAIN = 1 << 14

#: Reduces each run of columns, from its start to the next run's start, to one column; every run has at least one point.
Fold = Callable[[Floats, Positions, Deadline], Floats]


@dataclass(frozen=True, slots=True)
class Reducer:
    """A way to make one number of the points of each row."""

    of_nothing: float  #: The outcome of a row without points.
    rows: Callable[[Floats], Floats]  #: Reduces each row; there is at least one column.
    kept_rows: Callable[[Floats, Mask], Floats]  #: Reduces the points of a mask that has at least one point in each row.
    doc: str  #: What it returns, for the reference page.
    #: Reduces each row as if all its non-null points were finite. A finite outcome proves that this was so or made no
    #: difference; rows with another outcome are reduced again, point by point. None if a finite outcome proves nothing.
    guess: Callable[[Cells], Floats] | None = None
    #: Reduces the points of each stamp in ``resample``; None takes the newest point. A run of one point is
    #: returned unchanged, except by ``count``.
    fold: Fold | None = None
    classic: str = ""  #: Its name in classic conditions, where null and NaN are skipped; empty if it has none there.
    calculations: tuple[str, ...] = ()  #: Its names among the calculations of panels.

    def all(self, values: Floats) -> Floats:
        """Return each row reduced, or ``of_nothing`` if there are no columns."""
        return self.rows(values) if values.shape[1] else np.full(len(values), float(self.of_nothing))

    def kept(self, values: Floats, keep: Mask) -> Floats:
        """Return each row's points of the mask reduced, or ``of_nothing`` for a row without any."""
        if keep.all():
            return self.all(values)
        some = keep.any(axis=1)
        if some.all():
            return self.kept_rows(values, keep)
        outcome = np.full(len(values), float(self.of_nothing))
        outcome[some] = self.kept_rows(values[some], keep[some])
        return outcome

    def finite(self, cells: Cells) -> Floats:
        """Return each row's finite points reduced. Only rows that ``guess`` does not settle are tested point by point."""
        values = cells.values
        if self.guess is None or not values.shape[1]:
            return self.kept(values, np.isfinite(values))
        outcome = np.array(self.guess(cells))
        unsettled = np.flatnonzero(~np.isfinite(outcome))
        if len(unsettled):
            outcome[unsettled] = self.kept(values[unsettled], np.isfinite(values[unsettled]))
        return outcome


def slabs(values: Floats) -> Iterator[slice]:
    """Return slices of a few rows each, so that the arrays of intermediate steps stay in the processor's cache."""
    height = max(1, _SLAB // max(1, values.shape[1]))
    return (slice(start, start + height) for start in range(0, max(1, len(values)), height))


def _median(values: Floats, keep: Mask) -> Floats:
    counts = np.count_nonzero(keep, axis=1)
    # NaN sorts to the end, so the kept points of a row are its first ``counts`` columns.
    ordered = np.sort(np.where(keep, values, np.nan), axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, (counts - 1) // 2], ordered[rows, counts // 2]
    # A single middle point is not averaged with itself: the sum of two very large points is infinite.
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
    # einsum uses the widest registers, which reads memory twice as fast as add.reduce. It keeps one running sum, though,
    # where add.reduce adds pairwise; adding in parts keeps the rounding error of long rows small.
    parts = [np.einsum("ij->i", values[:, start : start + _CHAIN]) for start in range(0, values.shape[1], _CHAIN)]
    total: Floats = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return total


def _kept_sum(values: Floats, keep: Mask) -> Floats:
    # Minus the mask, as int8, has all bits set or none. An AND then zeroes the other points without a branch per point.
    kept = (-keep.view(np.int8)).astype(np.int64)
    np.bitwise_and(values.view(np.int64), kept, out=kept)
    return _sum(kept.view(np.float64))


def _kept_count(_values: Floats, keep: Mask) -> Floats:
    # Packed to bits, an eighth of the bytes remains to be added, and reading bytes is what takes the time.
    count: Floats = np.bitwise_count(np.packbits(keep, axis=1)).sum(axis=1, dtype=np.float64)
    return count


def _each_row(ufunc: np.ufunc) -> Callable[[Floats], Floats]:
    """Return ``ufunc.reduce`` along the rows, computed by ``reduceat``, which moves from row to row twice as fast."""

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


def _fold(ufunc: np.ufunc) -> Fold:
    def fold(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
        folded: Floats = ufunc.reduceat(values, starts, axis=1)
        return folded

    return fold


def _fold_mean(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
    total: Floats = np.add.reduceat(values, starts, axis=1)
    total /= _run_lengths(values, starts)
    return total


def _fold_count(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
    return np.broadcast_to(_run_lengths(values, starts).astype(np.float64), (len(values), len(starts)))


def _fold_median(values: Floats, starts: Positions, deadline: Deadline) -> Floats:
    # Runs of equal length form a matrix that is reduced in one step. Few lengths differ: at most about the square root
    # of twice the points.
    medians = np.empty((len(values), len(starts)))
    for size, members in _by_length(_run_lengths(values, starts)):
        matrix = values[:, starts[members][:, np.newaxis] + np.arange(size)].reshape(-1, size)
        found = []
        for rows in slabs(matrix):
            deadline.check()
            found.append(_strict_median(matrix[rows]))
        medians[:, members] = np.concatenate(found).reshape(len(values), len(members))
    return medians


def _run_lengths(values: Floats, starts: Positions) -> Positions:
    return np.diff(starts, append=values.shape[1])


def _by_length(lengths: Positions) -> Iterator[tuple[int, Positions]]:
    order = np.argsort(lengths, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        yield int(lengths[members[0]]), members


REDUCERS: dict[str, Reducer] = {
    "sum": Reducer(
        0,
        _sum,
        _kept_sum,
        "sum of the points",
        _non_null(_sum, _kept_sum),
        fold=_fold(np.add),
        classic="sum",
        calculations=("sum", "total"),
    ),
    "mean": Reducer(
        np.nan,
        _mean,
        _kept_mean,
        "arithmetic mean",
        _non_null(_mean, _kept_mean),
        fold=_fold_mean,
        classic="avg",
        calculations=("mean", "avg"),
    ),
    "min": Reducer(
        np.nan,
        _each_row(np.minimum),
        lambda values, keep: np.where(keep, values, np.inf).min(axis=1),
        "least point",
        _whatever_is_null(_each_row(np.fmin)),
        fold=_fold(np.minimum),
        calculations=("min",),
    ),
    "max": Reducer(
        np.nan,
        _each_row(np.maximum),
        lambda values, keep: np.where(keep, values, -np.inf).max(axis=1),
        "greatest point",
        _whatever_is_null(_each_row(np.fmax)),
        fold=_fold(np.maximum),
        calculations=("max",),
    ),
    "count": Reducer(0, _count, _kept_count, "number of points, nulls included", fold=_fold_count, calculations=("count",)),
    "last": Reducer(
        np.nan,
        _newest,
        _last,
        "the last point as it is",
        _whatever_is_null(_newest),
        classic="last",
        calculations=("lastNotNull", "current"),
    ),
    "median": Reducer(
        np.nan,
        _strict_median,
        _median,
        "middle point, or the mean of the two middle ones",
        fold=_fold_median,
        classic="median",
        calculations=("median",),
    ),
}
