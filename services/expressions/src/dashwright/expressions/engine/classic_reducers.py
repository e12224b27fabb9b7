"""Reducers of classic conditions: all but ``count`` skip null and NaN, and return null if nothing remains.

Names and edge cases are those of Grafana's alert rules: ``min`` and ``max`` never exceed the largest finite number on
the side they start from, and differences are 0 if the newest point is the first of the series.
"""

from collections.abc import Callable

import numpy as np

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS, Reducer, slabs
from dashwright.expressions.engine.values import Cells, Floats

#: Reduces each row (at least one column) to one number; NaN if nothing is left to reduce.
Reduction = Callable[[Floats], Floats]

_LARGEST = np.finfo(np.float64).max


def _passing_over(reducer: Reducer) -> Reduction:
    """Return ``reducer`` with NaN skipped.

    Most rows have no NaN and are reduced in one step. Only rows with the outcome NaN are reduced again with a mask.
    """

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
    """Return ``change`` applied to the newest and the oldest point of each row."""

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
    """Return one cell for each row."""
    if not values.shape[1]:
        return Cells(np.full(len(values), np.nan), np.ones(len(values), np.bool_))
    outcome, nulls = np.empty(len(values)), np.zeros(len(values), np.bool_)
    with np.errstate(all="ignore"):
        for rows in slabs(values):
            deadline.check()
            outcome[rows] = _REDUCTIONS[name](values[rows])
    # Sums of infinities are NaN, too. Only rows of nothing but NaN and null become null.
    odd = np.flatnonzero(np.isnan(outcome))
    nulls[odd] = np.isnan(values[odd]).all(axis=1)
    return Cells.of(outcome, nulls)
