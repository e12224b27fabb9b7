"""Reducers of classic conditions: all but ``count`` skip null and NaN, and return null if no other point remains.

Names and edge cases are those of Grafana's alert rules: ``min`` is never above the largest float64 and ``max`` never below
its negative, and differences are 0 if only the first point of the series is not NaN.
"""

from collections.abc import Callable

import numpy as np

from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.reducers import REDUCERS, Reducer, row_chunks
from dashwright.expressions.engine.values import Cells, Floats

#: Reduces each row of an array with at least one column to one number, which is NaN if all points of the row are NaN.
Reduction = Callable[[Floats], Floats]

_MAX_FLOAT = np.finfo(np.float64).max


def _skipping_nan(reducer: Reducer) -> Reduction:
    """Return ``reducer`` as a reduction that skips NaN.

    Most rows have no NaN and are reduced in one step. Only rows whose result is NaN are reduced again with a mask.
    """

    def reduction(values: Floats) -> Floats:
        results = np.array(reducer.reduce(values))
        nan_rows = np.flatnonzero(np.isnan(results))
        if len(nan_rows):
            # Not copied if all rows are selected.
            selected_values = values if len(nan_rows) == len(values) else values[nan_rows]
            mask = ~np.isnan(selected_values)
            results[nan_rows] = np.where(mask.any(axis=1), reducer.reduce_selected(selected_values, mask), np.nan)
        return results

    return reduction


def _count_non_null(values: Floats) -> Floats:
    counts = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    return np.where(counts > 0, counts, np.nan)


def _difference(change: Callable[[Floats, Floats], Floats]) -> Reduction:
    """Return a reduction that applies ``change`` to the newest and the oldest point of each row."""

    def reduction(values: Floats) -> Floats:
        rows, mask = np.arange(len(values)), ~np.isnan(values)
        oldest = np.argmax(mask, axis=1)
        newest = values.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
        results = change(values[rows, newest], values[rows, oldest])
        has_first_point_only = (newest == 0) & mask[:, 0]
        return np.where(has_first_point_only, 0.0, results)

    return reduction


#: The reducers of ``REDUCERS`` that have a classic name, and those that differ or exist in classic conditions only.
_REDUCTIONS: dict[str, Reduction] = {
    reducer.classic_name: _skipping_nan(reducer) for reducer in REDUCERS.values() if reducer.classic_name
} | {
    "min": lambda values: np.minimum(np.fmin.reduce(values, axis=1), _MAX_FLOAT),
    "max": lambda values: np.maximum(np.fmax.reduce(values, axis=1), -_MAX_FLOAT),
    "count": REDUCERS["count"].reduce,
    "diff": _difference(lambda newest, oldest: newest - oldest),
    "diff_abs": _difference(lambda newest, oldest: np.abs(newest - oldest)),
    "percent_diff": _difference(lambda newest, oldest: (newest - oldest) / np.abs(oldest) * 100),
    "percent_diff_abs": _difference(lambda newest, oldest: np.abs((newest - oldest) / oldest * 100)),
    "count_non_null": _count_non_null,
}

#: The names of all reducers of classic conditions.
NAMES = tuple(_REDUCTIONS)


def reduce(name: str, values: Floats, deadline: Deadline) -> Cells:
    """Return each row reduced to one cell by the reducer ``name``; null if the row has no other points than null and NaN."""
    if not values.shape[1]:
        return Cells(np.full(len(values), np.nan), np.ones(len(values), np.bool_))
    results, nulls = np.empty(len(values)), np.zeros(len(values), np.bool_)
    with np.errstate(all="ignore"):
        for rows in row_chunks(values):
            deadline.check()
            results[rows] = _REDUCTIONS[name](values[rows])
    # The sum of two infinities may be NaN too, so a NaN becomes null only if the row has nothing but NaN and null.
    nan_rows = np.flatnonzero(np.isnan(results))
    nulls[nan_rows] = np.isnan(values[nan_rows]).all(axis=1)
    return Cells.with_nulls(results, nulls)
