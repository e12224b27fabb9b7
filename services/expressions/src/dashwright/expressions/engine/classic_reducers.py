"""How a classic condition reduces a series: null and NaN are passed over by all but ``count``; without anything left it is null.

The names and the outcomes of odd input are those of the alert rules that exist: ``min`` and ``max`` never leave the range of finite
numbers on the side they begin from, and differences are 0 where the newest point is the first of the series.
"""

from collections.abc import Callable

import numpy as np

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS, Reducer, slabs
from dashwright.expressions.engine.values import Cells, Floats

Reduction = Callable[[Floats], Floats]
"""Each row (at least one column) to one number; where nothing is left to reduce, to NaN."""

_LARGEST = np.finfo(np.float64).max


def _passing_over(reducer: Reducer) -> Reduction:
    """Most rows have nothing to pass over, and reduce at once; only those that NaN spoils are looked at again."""

    def reduction(values: Floats) -> Floats:
        outcome = np.array(reducer.rows(values))
        spoiled = np.flatnonzero(np.isnan(outcome))
        if len(spoiled):
            part = values if len(spoiled) == len(values) else values[spoiled]
            keep = ~np.isnan(part)
            outcome[spoiled] = np.where(keep.any(axis=1), reducer.kept(part, keep), np.nan)
        return outcome

    return reduction


def _count_non_null(values: Floats) -> Floats:
    count = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    return np.where(count > 0, count, np.nan)


def _difference(change: Callable[[Floats, Floats], Floats]) -> Reduction:
    """``change`` of the newest point and the oldest."""

    def reduction(values: Floats) -> Floats:
        rows, keep = np.arange(len(values)), ~np.isnan(values)
        oldest = np.argmax(keep, axis=1)
        newest = values.shape[1] - 1 - np.argmax(keep[:, ::-1], axis=1)
        outcome = change(values[rows, newest], values[rows, oldest])
        return np.where((newest == 0) & keep[:, 0], 0.0, outcome)

    return reduction


#: The reducers of ``REDUCERS`` that have a classic name, and those that only classic conditions have or reduce differently.
_REDUCTIONS: dict[str, Reduction] = {reducer.classic: _passing_over(reducer) for reducer in REDUCERS.values() if reducer.classic} | {
    "min": lambda values: np.minimum(np.fmin.reduce(values, axis=1), _LARGEST),
    "max": lambda values: np.maximum(np.fmax.reduce(values, axis=1), -_LARGEST),
    "count": REDUCERS["count"].rows,
    "diff": _difference(lambda newest, oldest: newest - oldest),
    "diff_abs": _difference(lambda newest, oldest: np.abs(newest - oldest)),
    "percent_diff": _difference(lambda newest, oldest: (newest - oldest) / np.abs(oldest) * 100),
    "percent_diff_abs": _difference(lambda newest, oldest: np.abs((newest - oldest) / oldest * 100)),
    "count_non_null": _count_non_null,
}

NAMES = tuple(_REDUCTIONS)


def reduced(name: str, values: Floats, deadline: Deadline) -> Cells:
    """One cell for each row."""
    if not values.shape[1]:
        return Cells(np.full(len(values), np.nan), np.ones(len(values), np.bool_))
    outcome, nulls = np.empty(len(values)), np.zeros(len(values), np.bool_)
    with np.errstate(all="ignore"):
        for rows in slabs(values):
            deadline.check()
            outcome[rows] = _REDUCTIONS[name](values[rows])
    # NaN is also what infinities come to; null is only where there was nothing but NaN and null.
    odd = np.flatnonzero(np.isnan(outcome))
    nulls[odd] = np.isnan(values[odd]).all(axis=1)
    return Cells.of(outcome, nulls)
