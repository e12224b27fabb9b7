"""E1 to E6: expressions on series in memory, compared with copying as many bytes as they must read and write, or with a plain loop."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from benchmarks import series
from benchmarks.measurement import Row, alternate, compare_functions, function_calls, median_ms, memcpy
from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.classic import ClassicConditions, Condition
from dashwright.expressions.engine.labels import LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce, ReduceMode
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.engine.resample import Resample
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.union import Union
from dashwright.expressions.engine.values import Block, Cells, Series, Values

_SERIES = 1000
_POINTS = 1000
_TOTAL_POINTS = _SERIES * _POINTS
#: Points of a long series.
_LONG_POINTS = 1_000_000
#: The series are the same in each call, so a limit on the memory of math is not needed.
_LIMITS = Limits(math_bytes=0)
_ADD = Math.parse("$A + $B")


def _add(left: Series, right: Series) -> Values | Table:
    """Return the sums of the series with equal labels."""
    return _ADD.evaluate({"A": left, "B": right}, _LIMITS).values


async def addition() -> list[Row]:
    """Measure E1: an addition of two sets of series, including the matching of their labels.

    Two values are read and one is written, 24 bytes per point.
    """
    axis = series.times(_POINTS)
    plain = [series.block(_SERIES, axis, seed) for seed in (1, 2)]
    with_nulls = [series.block(_SERIES, axis, seed, null_share=0.01) for seed in (1, 2)]
    copy = memcpy(24 * _TOTAL_POINTS)
    return [
        await compare_functions("E1", "$A + $B, 1,000 series x 1,000 on one axis", 1.5, partial(_add, *plain), copy, calls=15),
        await compare_functions("E1", "$A + $B, 1,000 series x 1,000 with 1 % nulls", 3.0, partial(_add, *with_nulls), copy, calls=15),
    ]


async def alignment() -> list[Row]:
    """Measure E2: additions of series with different time axes.

    Regular axes are compared with equal axes, and irregular ones with a loop that uses a dictionary of points for every pair of series.
    """
    axis = series.times(_POINTS)
    left = series.block(_SERIES, axis, 1)
    aligned = series.block(_SERIES, axis, 2)
    shifted = series.block(_SERIES, axis + 10 * series.STEP, 2)
    fine = series.block(_SERIES, series.times(2 * _POINTS, step=series.STEP // 2), 2)
    irregular = [series.block(_SERIES, _irregular(_POINTS, seed), seed) for seed in (1, 2)]
    long_irregular = [series.block(1, _irregular(_LONG_POINTS, seed), seed) for seed in (1, 2)]
    return [
        await compare_functions(
            "E2", "grids shifted by 10 steps, to the aligned case", 1.3, lambda: _add(left, shifted), lambda: _add(left, aligned)
        ),
        await compare_functions(
            "E2",
            "grids of 1 and 1/2 step, to the aligned case",
            1.3,
            partial(_add, left, fine),
            partial(_add, left, aligned),
            calls=15,
        ),
        await compare_functions(
            "E2",
            "irregular, 1,000 x 1,000, to a dict of points",
            1 / 30,
            lambda: _add(*irregular),
            lambda: _sums_by_dictionary(*irregular),
            calls=1,
        ),
        await compare_functions(
            "E2",
            "irregular, 1 x 1,000,000, to a dict of points",
            1 / 10,
            lambda: _add(*long_irregular),
            lambda: _sums_by_dictionary(*long_irregular),
            calls=1,
        ),
    ]


def _irregular(points: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return irregular timestamps. About 58 % of them are also in the result for another seed."""
    is_late = np.random.default_rng(seed).random(points) < 0.3
    return series.times(points) + np.where(is_late, series.STEP // 2, 0)


def _sums_by_dictionary(left: Series, right: Series) -> list[list[tuple[int, float]]]:
    """Return the sums of each pair of series by a plain loop, with a dictionary from timestamp to value."""
    left_times, right_times = left.blocks[0].axis.times.tolist(), right.blocks[0].axis.times.tolist()
    sums = []
    for left_values, right_values in zip(left.blocks[0].cells.values.tolist(), right.blocks[0].cells.values.tolist(), strict=True):
        right_by_time = dict(zip(right_times, right_values, strict=True))
        sums.append(
            [(time, value + right_by_time[time]) for time, value in zip(left_times, left_values, strict=True) if time in right_by_time]
        )
    return sums


async def union() -> list[Row]:
    """Measure E3: matching the labels of two sets of series. The second set is in reverse order.

    The reference, a nested loop, has a twentieth of the labels of each side, so its time is multiplied by 20².
    """
    left = series.labels(10_000)
    right = tuple(reversed(left))
    left_sample = [frozenset(item.pairs) for item in left[:500]]
    right_sample = list(reversed(left_sample))
    return [
        await compare_functions(
            "E3",
            "label union of 10,000 x 10,000, to a nested scan",
            1 / 300,
            lambda: Union(left, right).pairs(),
            lambda: _matching_pairs(left_sample, right_sample),
            calls=3,
            reference_scale=400,
        ),
        await _refusal_row(),
    ]


async def _refusal_row() -> Row:
    """Measure the time until the limit on series refuses an expression that triples the number of series at each step."""
    labels = [{"h": "a"}, {"z": "x"}, {"h": "a", "z": "x"}]
    three_series = Series.stacked(LabelSets.of_mappings(labels), [Block(Axis(series.times(2)), Cells(np.ones((3, 2))))])
    expression = Math.parse(" || ".join(["($A % $A > $A)"] * 20))

    def refuse() -> None:
        """Evaluate the expression. Raises AssertionError if it is not refused."""
        with suppress(TooLarge):
            raise AssertionError(expression.evaluate({"A": three_series}, Limits()))

    (seconds,) = await alternate(function_calls(refuse))
    return Row("E3", "refusal of an expression that multiplies series, to 100 ms", "ms", median_ms(seconds, 0), 100, 1)


# The reference: two label sets match if the right one contains the left one.
def _matching_pairs(left: list[frozenset[tuple[str, str]]], right: list[frozenset[tuple[str, str]]]) -> list[tuple[int, int]]:
    return [(i, j) for i, left_labels in enumerate(left) for j, right_labels in enumerate(right) if left_labels <= right_labels]


async def reduction() -> list[Row]:
    """Measure E4: reductions, which read every value once, 8 bytes per point. With nulls, these are dropped."""
    axis = series.times(_POINTS)
    plain, with_nulls = series.block(10 * _SERIES, axis, 1), series.block(10 * _SERIES, axis, 1, null_share=0.01)
    # The median is left out, because it needs more than one read of each value.
    copy = memcpy(8 * 10 * _TOTAL_POINTS)
    rows = []
    for name in (name for name in REDUCERS if name != "median"):
        strict, dropping = Reduce.of("A", name), Reduce.of("A", name, ReduceMode.DROP)
        for suffix, goal, reduce, values in (("", 1.5, strict, plain), (" with 1 % nulls", 3.0, dropping, with_nulls)):
            rows.append(
                await compare_functions(
                    "E4",
                    f"reduce {name}, 10,000 series x 1,000{suffix}",
                    goal,
                    partial(reduce.evaluate, {"A": values}, _LIMITS),
                    copy,
                    calls=3,
                )
            )
    return rows


async def resampling() -> list[Row]:
    """Measure E5: resampling, which reads every timestamp and value once, 16 bytes per point."""
    irregular = np.sort(series.times(_LONG_POINTS) + np.random.default_rng(1).integers(0, series.STEP, _LONG_POINTS))
    values = series.block(1, irregular, 2)
    # 10,000 windows, each of as many points.
    window_seconds = _LONG_POINTS // 10_000 * series.STEP // 10**9
    start = datetime.fromtimestamp(series.START / 10**9, UTC)
    time_range = TimeRange(start, start + timedelta(seconds=window_seconds * 9_999))
    rows = []
    for name in ("mean", "last", "max"):
        resample = Resample.of("A", f"{window_seconds}s", name, "fillna", time_range, _LIMITS)
        path = f"resample 1,000,000 points to 10,000, {name}"
        rows.append(await compare_functions("E5", path, 3.5, partial(resample.evaluate, {"A": values}, _LIMITS), memcpy(16 * _LONG_POINTS)))
    return rows


async def conditions() -> list[Row]:
    """Measure E6: a threshold reads and writes 16 bytes per point, a classic condition reads 8."""
    values = {"A": series.block(_SERIES, series.times(_POINTS), 1)}
    greater_than, within_range = (
        partial(Threshold("A", predicate_of(name, bounds)).evaluate, values, _LIMITS)
        for name, bounds in (("gt", (10.0,)), ("within_range", (-10.0, 10.0)))
    )
    classic = ClassicConditions.of([Condition.of(1, "and", ["A"], "avg", "gt", [10.0])])
    copy = memcpy(16 * _TOTAL_POINTS)
    return [
        await compare_functions("E6", "threshold gt, 1,000 series x 1,000", 2.0, greater_than, copy, calls=15),
        await compare_functions("E6", "threshold within_range, to gt", 1.5, within_range, greater_than, calls=15),
        await compare_functions(
            "E6",
            "classic avg gt, 1,000 series x 1,000",
            2.0,
            partial(classic.evaluate, values, _LIMITS),
            memcpy(8 * _TOTAL_POINTS),
            calls=15,
        ),
    ]
