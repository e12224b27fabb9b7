"""E1 to E6: the engine's node types on arrays in memory, compared with copying the bytes that they must touch, or with a loop."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np

from benchmarks import series
from benchmarks.measurement import Row, compared, in_turns, median_of, memcpy, repeated
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

_COUNT = 1000
_POINTS = 1000
_TOTAL = _COUNT * _POINTS
_LONG = 1_000_000
_LIMITS = Limits(math_bytes=0)
_ADD = Math.parse("$A + $B")


def _add(left: Series, right: Series) -> Values | Table:
    return _ADD.evaluate({"A": left, "B": right}, _LIMITS).values


async def addition() -> list[Row]:
    """Measure E1: the whole node, including the label union. 24 bytes per point; with nulls a byte per mask as well."""
    axis = series.times(_POINTS)
    plain = [series.block(_COUNT, axis, seed) for seed in (1, 2)]
    holed = [series.block(_COUNT, axis, seed, null_share=0.01) for seed in (1, 2)]
    copy = memcpy(24 * _TOTAL)
    return [
        await compared("E1", "$A + $B, 1,000 series x 1,000 on one axis", 1.5, partial(_add, *plain), copy, runs=15),
        await compared("E1", "$A + $B, 1,000 series x 1,000 with 1 % nulls", 3.0, partial(_add, *holed), copy, runs=15),
    ]


async def alignment() -> list[Row]:
    """Measure E2: compared with the aligned case of as many shared points, and with a dictionary of points for every pair."""
    axis = series.times(_POINTS)
    left = series.block(_COUNT, axis, 1)
    aligned = series.block(_COUNT, axis, 2)
    shifted = series.block(_COUNT, axis + 10 * series.STEP, 2)
    coarse = series.block(_COUNT, series.times(2 * _POINTS, step=series.STEP // 2), 2)
    ragged = [series.block(_COUNT, _irregular(_POINTS, seed), seed) for seed in (1, 2)]
    long = [series.block(1, _irregular(_LONG, seed), seed) for seed in (1, 2)]
    return [
        await compared(
            "E2", "grids shifted by 10 steps, to the aligned case", 1.3, lambda: _add(left, shifted), lambda: _add(left, aligned)
        ),
        await compared(
            "E2",
            "grids of 1 and 1/2 step, to the aligned case",
            1.3,
            partial(_add, left, coarse),
            partial(_add, left, aligned),
            runs=15,
        ),
        await compared(
            "E2", "irregular, 1,000 x 1,000, to a dict of points", 1 / 30, lambda: _add(*ragged), lambda: _by_dict(*ragged), runs=1
        ),
        await compared("E2", "irregular, 1 x 1,000,000, to a dict of points", 1 / 10, lambda: _add(*long), lambda: _by_dict(*long), runs=1),
    ]


def _irregular(points: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return irregular instants, of which about half are also in the result of any other seed."""
    late = np.random.default_rng(seed).random(points) < 0.3
    return series.times(points) + np.where(late, series.STEP // 2, 0)


def _by_dict(left: Series, right: Series) -> list[list[tuple[int, float]]]:
    """Run the plain loop: for every pair of series a dictionary from instant to value."""
    left_times, right_times = left.blocks[0].axis.times.tolist(), right.blocks[0].axis.times.tolist()
    sums = []
    for left_values, right_values in zip(left.blocks[0].cells.values.tolist(), right.blocks[0].cells.values.tolist(), strict=True):
        known = dict(zip(right_times, right_values, strict=True))
        sums.append([(time, value + known[time]) for time, value in zip(left_times, left_values, strict=True) if time in known])
    return sums


async def union() -> list[Row]:
    """Measure E3: labels of two sets in opposite order. The nested scan is measured at a twentieth of each side."""
    sets = series.labels(10_000)
    few = [[frozenset(item.pairs) for item in sets[:500]], [frozenset(item.pairs) for item in sets[499::-1]]]
    turned = tuple(reversed(sets))
    return [
        await compared(
            "E3",
            "label union of 10,000 x 10,000, to a nested scan",
            1 / 300,
            lambda: Union(sets, turned).pairs(),
            lambda: _scan(*few),
            runs=3,
            scale=400,
        ),
        await _refusal(),
    ]


async def _refusal() -> Row:
    """Measure how long an expression runs that multiplies three series at each step, until the limit of series refuses it."""
    labels = [{"h": "a"}, {"z": "x"}, {"h": "a", "z": "x"}]
    few = Series.stacked(LabelSets.of_mappings(labels), [Block(Axis(series.times(2)), Cells(np.ones((3, 2))))])
    multiply = Math.parse(" || ".join(["($A % $A > $A)"] * 20))

    def refuse() -> None:
        with suppress(TooLarge):
            raise AssertionError(multiply.evaluate({"A": few}, Limits()))

    (measured,) = await in_turns(repeated(refuse))
    return Row("E3", "refusal of an expression that multiplies series, to 100 ms", "ms", median_of(measured, 0) * 1000, 100, 1)


def _scan(left: list[frozenset[tuple[str, str]]], right: list[frozenset[tuple[str, str]]]) -> list[tuple[int, int]]:
    return [(i, j) for i, mine in enumerate(left) for j, other in enumerate(right) if mine <= other]


async def reduction() -> list[Row]:
    """Measure E4: every value is read once, 8 bytes per point; nulls are dropped."""
    axis = series.times(_POINTS)
    plain, holed = series.block(10 * _COUNT, axis, 1), series.block(10 * _COUNT, axis, 1, null_share=0.01)
    copy = memcpy(8 * 10 * _TOTAL)
    rows = []
    for name in (name for name in REDUCERS if name != "median"):
        strict, dropping = Reduce.of("A", name), Reduce.of("A", name, ReduceMode.DROP)
        for path, goal, reduce, values in (("", 1.5, strict, plain), (" with 1 % nulls", 3.0, dropping, holed)):
            rows.append(
                await compared(
                    "E4",
                    f"reduce {name}, 10,000 series x 1,000{path}",
                    goal,
                    partial(reduce.evaluate, {"A": values}, _LIMITS),
                    copy,
                    runs=3,
                )
            )
    return rows


async def resampling() -> list[Row]:
    """Measure E5: irregular times and values are read once, 16 bytes per point."""
    late = np.sort(series.times(_LONG) + np.random.default_rng(1).integers(0, series.STEP, _LONG))
    values = series.block(1, late, 2)
    seconds = _LONG // 10_000 * series.STEP // 10**9
    start = datetime.fromtimestamp(series.START / 10**9, UTC)
    span = TimeRange(start, start + timedelta(seconds=seconds * 9_999))
    rows = []
    for name in ("mean", "last", "max"):
        resample = Resample.of("A", f"{seconds}s", name, "fillna", span, _LIMITS)
        path = f"resample 1,000,000 points to 10,000, {name}"
        rows.append(await compared("E5", path, 3.5, partial(resample.evaluate, {"A": values}, _LIMITS), memcpy(16 * _LONG)))
    return rows


async def conditions() -> list[Row]:
    """Measure E6: a threshold reads and writes 16 bytes per point, a classic condition reads 8."""
    values = {"A": series.block(_COUNT, series.times(_POINTS), 1)}
    single, between = (
        partial(Threshold("A", predicate_of(name, bounds)).evaluate, values, _LIMITS)
        for name, bounds in (("gt", (10.0,)), ("within_range", (-10.0, 10.0)))
    )
    classic = ClassicConditions.of([Condition.of(1, "and", ["A"], "avg", "gt", [10.0])])
    copy = memcpy(16 * _TOTAL)
    return [
        await compared("E6", "threshold gt, 1,000 series x 1,000", 2.0, single, copy, runs=15),
        await compared("E6", "threshold within_range, to gt", 1.5, between, single, runs=15),
        await compared(
            "E6", "classic avg gt, 1,000 series x 1,000", 2.0, partial(classic.evaluate, values, _LIMITS), memcpy(8 * _TOTAL), runs=15
        ),
    ]
