"""Reducers: functions that compute one number from the points of a series. ``REDUCERS`` at the end has all of them.

The expressions ``reduce`` and ``resample`` and classic conditions use different fields of a reducer.
The names are those of ``ReducerName`` in ``dashwright.common.models.expressions``, from which the schemas are written.

All functions work on two-dimensional arrays with one row per series. The value at a null is NaN, so nulls need no
special case.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.values import Cells, Floats, Mask, Positions

#: Points that are reduced in one step, so that temporary arrays fit into the processor's cache, which is twice as fast.
_CHUNK_POINTS = 1 << 18

#: Points that one running sum adds up. Longer rows are added in parts, because rounding errors grow with the length.
_POINTS_PER_RUNNING_SUM = 1 << 14

#: Reduces each run of columns to one column. The second argument has the first column of each run; no run is empty.
RunReducer = Callable[[Floats, Positions, Deadline], Floats]


@dataclass(frozen=True, slots=True)
class Reducer:
    """A function that reduces the points of each row to one number, in several variants."""

    empty_value: float  #: The result of a row without points.
    reduce: Callable[[Floats], Floats]  #: Reduces all points of each row; requires at least one column.
    reduce_masked: Callable[[Floats, Mask], Floats]  #: Reduces the points that a mask selects; requires at least one point per row.
    doc: str  #: The description on the reference page.
    #: A fast reduction of the finite points of each row. It assumes that all points except nulls are finite, so only a finite
    #: result is correct; rows with another result are reduced again with a mask. None if a finite result may be wrong too.
    reduce_assuming_finite: Callable[[Cells], Floats] | None = None
    #: Reduces the points of each bucket in ``resample``. None takes the last point. A bucket of one point is
    #: reduced by ``count`` only.
    reduce_runs: RunReducer | None = None
    classic_name: str = ""  #: The name in classic conditions, where it skips null and NaN; empty if they do not share the reducer.

    def reduce_all(self, values: Floats) -> Floats:
        """Return one number per row, from all points; ``empty_value`` if there are no columns."""
        return self.reduce(values) if values.shape[1] else np.full(len(values), float(self.empty_value))

    def reduce_selected(self, values: Floats, mask: Mask) -> Floats:
        """Return one number per row, from the points that the mask selects; ``empty_value`` for a row without any."""
        if mask.all():
            return self.reduce_all(values)
        has_points = mask.any(axis=1)
        if has_points.all():
            return self.reduce_masked(values, mask)
        results = np.full(len(values), float(self.empty_value))
        results[has_points] = self.reduce_masked(values[has_points], mask[has_points])
        return results

    def reduce_finite(self, cells: Cells) -> Floats:
        """Return one number per row, from its finite points. Only rows without a finite ``reduce_assuming_finite`` need a mask."""
        values = cells.values
        if self.reduce_assuming_finite is None or not values.shape[1]:
            return self.reduce_selected(values, np.isfinite(values))
        results = np.array(self.reduce_assuming_finite(cells))
        not_finite = np.flatnonzero(~np.isfinite(results))
        if len(not_finite):
            results[not_finite] = self.reduce_selected(values[not_finite], np.isfinite(values[not_finite]))
        return results


def row_chunks(values: Floats) -> Iterator[slice]:
    """Yield slices that cover all rows, each of few rows, so that temporary arrays fit into the processor's cache."""
    height = max(1, _CHUNK_POINTS // max(1, values.shape[1]))
    for start in range(0, max(1, len(values)), height):
        yield slice(start, start + height)


def _masked_median(values: Floats, mask: Mask) -> Floats:
    counts = np.count_nonzero(mask, axis=1)
    # NaN sorts to the end, so the selected points of a row are its first ``counts`` columns.
    ordered = np.sort(np.where(mask, values, np.nan), axis=1)
    rows = np.arange(len(values))
    low, high = ordered[rows, (counts - 1) // 2], ordered[rows, counts // 2]
    # A single middle point is not averaged with itself: the sum of two very large points is infinite.
    middle: Floats = np.where(counts % 2, low, (low + high) / 2)
    return middle


def _median(values: Floats) -> Floats:
    has_nan = np.isnan(values).any(axis=1)
    return np.where(has_nan, np.nan, _masked_median(values, np.ones(values.shape, np.bool_)))


def _masked_last(values: Floats, mask: Mask) -> Floats:
    columns = values.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
    last: Floats = np.take_along_axis(values, columns[:, np.newaxis], axis=1)[:, 0]
    return last


def _count(values: Floats) -> Floats:
    return np.full(len(values), float(values.shape[1]))


def _sum(values: Floats) -> Floats:
    # einsum reads memory twice as fast as add.reduce, but keeps one running sum where add.reduce adds pairwise. Adding in
    # parts keeps the rounding error of long rows small.
    parts = [
        np.einsum("ij->i", values[:, start : start + _POINTS_PER_RUNNING_SUM])
        for start in range(0, values.shape[1], _POINTS_PER_RUNNING_SUM)
    ]
    total: Floats = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
    return total


def _masked_sum(values: Floats, mask: Mask) -> Floats:
    # Negating the mask as int8 sets all bits or none: one AND zeroes the points that are not selected, without a branch per point.
    bits = (-mask.view(np.int8)).astype(np.int64)
    np.bitwise_and(values.view(np.int64), bits, out=bits)
    return _sum(bits.view(np.float64))


def _masked_count(_values: Floats, mask: Mask) -> Floats:
    # Reading memory takes most of the time, and the packed bits are an eighth of the bytes.
    count: Floats = np.bitwise_count(np.packbits(mask, axis=1)).sum(axis=1, dtype=np.float64)
    return count


def _row_reducer(ufunc: np.ufunc) -> Callable[[Floats], Floats]:
    """Return ``ufunc.reduce`` along the rows, computed by ``reduceat``, which moves from row to row twice as fast."""

    def reduce(values: Floats) -> Floats:
        results: Floats = ufunc.reduceat(values.reshape(-1), np.arange(0, values.size, values.shape[1]))
        return results

    return reduce


def _mean(values: Floats) -> Floats:
    mean: Floats = _sum(values) / values.shape[1]
    return mean


def _masked_mean(values: Floats, mask: Mask) -> Floats:
    return _masked_sum(values, mask) / _masked_count(values, mask)


def _excluding_nulls(reduce: Callable[[Floats], Floats], reduce_masked: Callable[[Floats, Mask], Floats]) -> Callable[[Cells], Floats]:
    """Return a reduction of cells that skips nulls. It uses a mask only if there is a null."""

    def reduce_cells(cells: Cells) -> Floats:
        if cells.nulls is None or not cells.nulls.any():
            return reduce(cells.values)
        return reduce_masked(cells.values, ~cells.nulls)

    return reduce_cells


def _including_nulls(reduce: Callable[[Floats], Floats]) -> Callable[[Cells], Floats]:
    """Return a reduction of cells that treats nulls as NaN."""
    return lambda cells: reduce(cells.values)


def _last_column(values: Floats) -> Floats:
    return values[:, -1]


def _run_reducer(ufunc: np.ufunc) -> RunReducer:
    """Return ``ufunc.reduce`` along each run of columns."""

    def reduce_runs_by_ufunc(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
        results: Floats = ufunc.reduceat(values, starts, axis=1)
        return results

    return reduce_runs_by_ufunc


def _mean_of_runs(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
    total: Floats = np.add.reduceat(values, starts, axis=1)
    total /= _run_lengths(values, starts)
    return total


def _count_of_runs(values: Floats, starts: Positions, _deadline: Deadline) -> Floats:
    return np.broadcast_to(_run_lengths(values, starts).astype(np.float64), (len(values), len(starts)))


def _median_of_runs(values: Floats, starts: Positions, deadline: Deadline) -> Floats:
    # Runs of equal length form a matrix that is reduced in one step. There are at most about
    # sqrt(2 * points) distinct lengths.
    medians = np.empty((len(values), len(starts)))
    for length, runs in _by_length(_run_lengths(values, starts)):
        matrix = values[:, starts[runs][:, np.newaxis] + np.arange(length)].reshape(-1, length)
        chunks = []
        for rows in row_chunks(matrix):
            deadline.check()
            chunks.append(_median(matrix[rows]))
        medians[:, runs] = np.concatenate(chunks).reshape(len(values), len(runs))
    return medians


def _run_lengths(values: Floats, starts: Positions) -> Positions:
    return np.diff(starts, append=values.shape[1])


def _by_length(lengths: Positions) -> Iterator[tuple[int, Positions]]:
    """Yield each distinct length with the positions of the runs of that length."""
    order = np.argsort(lengths, kind="stable")
    for runs in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        yield int(lengths[runs[0]]), runs


REDUCERS: dict[str, Reducer] = {
    "sum": Reducer(
        empty_value=0,
        reduce=_sum,
        reduce_masked=_masked_sum,
        doc="sum of the points",
        reduce_assuming_finite=_excluding_nulls(_sum, _masked_sum),
        reduce_runs=_run_reducer(np.add),
        classic_name="sum",
    ),
    "mean": Reducer(
        empty_value=np.nan,
        reduce=_mean,
        reduce_masked=_masked_mean,
        doc="arithmetic mean",
        reduce_assuming_finite=_excluding_nulls(_mean, _masked_mean),
        reduce_runs=_mean_of_runs,
        classic_name="avg",
    ),
    "min": Reducer(
        empty_value=np.nan,
        reduce=_row_reducer(np.minimum),
        reduce_masked=lambda values, mask: np.where(mask, values, np.inf).min(axis=1),
        doc="smallest point",
        reduce_assuming_finite=_including_nulls(_row_reducer(np.fmin)),
        reduce_runs=_run_reducer(np.minimum),
    ),
    "max": Reducer(
        empty_value=np.nan,
        reduce=_row_reducer(np.maximum),
        reduce_masked=lambda values, mask: np.where(mask, values, -np.inf).max(axis=1),
        doc="largest point",
        reduce_assuming_finite=_including_nulls(_row_reducer(np.fmax)),
        reduce_runs=_run_reducer(np.maximum),
    ),
    "count": Reducer(
        empty_value=0,
        reduce=_count,
        reduce_masked=_masked_count,
        doc="number of points, null and NaN included",
        reduce_runs=_count_of_runs,
    ),
    "last": Reducer(
        empty_value=np.nan,
        reduce=_last_column,
        reduce_masked=_masked_last,
        doc="last point, unchanged, even if it is null or NaN",
        reduce_assuming_finite=_including_nulls(_last_column),
        classic_name="last",
    ),
    "median": Reducer(
        empty_value=np.nan,
        reduce=_median,
        reduce_masked=_masked_median,
        doc="middle point, or the mean of the two middle ones",
        reduce_runs=_median_of_runs,
        classic_name="median",
    ),
}
