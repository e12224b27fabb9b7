"""Resample, threshold and classic conditions on blocks, compared with a plain implementation that handles one point at a time."""

import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.classic import ClassicConditions, Condition
from dashwright.expressions.engine.hysteresis import Hysteresis, fingerprint
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.resample import Resample
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import Block, Cells, Numbers, Series

pytestmark = pytest.mark.exhaustive

Value = float | None
Rows = list[list[Value]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES = st.none() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, -2.5]) | st.integers(-1000, 1000).map(float)
_BOUNDS = st.sampled_from([-2.5, 0.0, 1.0, 7.0])
# Whether the condition of an evaluator holds for a value and its two bounds, of which most evaluators use only the first one.
_EVALUATORS: dict[str, Callable[[float, float, float], bool]] = {
    "gt": lambda v, a, _: v > a,
    "lt": lambda v, a, _: v < a,
    "eq": lambda v, a, _: v == a,
    "ne": lambda v, a, _: v != a,
    "gte": lambda v, a, _: v >= a,
    "lte": lambda v, a, _: v <= a,
    "within_range": lambda v, a, b: a < v < b,
    "outside_range": lambda v, a, b: v < a or v > b,
    "within_range_included": lambda v, a, b: a <= v <= b,
    "outside_range_included": lambda v, a, b: v <= a or v >= b,
}


def block(times: list[int], rows: Rows) -> Block:
    """Return a block of rows that share their times."""
    shape = len(rows), len(times)
    values = np.array(rows, np.float64).reshape(shape)
    return Block(
        Axis(np.array(times, np.int64)), Cells.with_nulls(values, np.array([[v is None for v in row] for row in rows]).reshape(shape))
    )


def series(*blocks: tuple[list[int], Rows]) -> Series:
    """Return series with the labels ``row=0``, ``row=1``, and so on."""
    count = sum(len(rows) for _, rows in blocks)
    return Series.stacked([Labels.of({"row": str(index)}) for index in range(count)], [block(*item) for item in blocks])


def plain_rows(values: Series) -> Rows:
    """Return the values of each series, in the order of the set."""
    rows = []
    for number, row in zip(values.block_of.tolist(), values.row_of.tolist(), strict=True):
        cells = values.blocks[number].cells.at(row)
        rows.append([None if null else value for value, null in zip(cells.values.tolist(), cells.null_mask().tolist(), strict=True)])
    return rows


def are_equal(actual: Value, expected: Value) -> bool:
    """Return whether two values are equal up to rounding. NaN equals NaN, and null equals null."""
    if actual is None or expected is None or math.isnan(expected):
        return actual is expected or (actual is not None and expected is not None and math.isnan(actual))
    return math.isclose(actual, expected, rel_tol=1e-12, abs_tol=1e-9)


def all_equal(actual: list[Value], expected: list[Value]) -> bool:
    """Return whether two rows have equal values."""
    return len(actual) == len(expected) and all(map(are_equal, actual, expected))


def blocks() -> st.SearchStrategy[list[tuple[list[int], Rows]]]:
    """Return a strategy of blocks: their times, in any order and possibly repeated, and rows with a value for each time."""

    def rows_over(times: list[int]) -> st.SearchStrategy[tuple[list[int], Rows]]:
        row = st.lists(_VALUES, min_size=len(times), max_size=len(times))
        return st.tuples(st.just(times), st.lists(row, min_size=1, max_size=3))

    return st.lists(st.lists(st.integers(-5, 30), max_size=12).flatmap(rows_over), min_size=1, max_size=3)


def resample_points(points: list[tuple[int, Value]], window_ends: list[int], downsampler: str, upsampler: str) -> list[Value]:
    """Return the value of each window by a plain loop. A window has the points after the preceding window up to its end."""
    points = sorted(points, key=lambda point: point[0])
    result: list[Value] = []
    used_points = 0
    for window_end in window_ends:
        values_in_interval = [value for time, value in points[used_points:] if time <= window_end]
        used_points += len(values_in_interval)
        if not values_in_interval:
            before = points[used_points - 1][1] if used_points else None
            after = points[used_points][1] if used_points < len(points) else None
            result.append({"pad": before, "backfilling": after, "fillna": None}[upsampler])
        elif downsampler == "count":
            result.append(float(len(values_in_interval)))
        elif downsampler == "last" or len(values_in_interval) == 1:
            result.append(values_in_interval[-1])
        else:
            result.append(reduce_strictly(downsampler, values_in_interval))
    return result


_STRICT_REDUCERS: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "min": min,
    "max": max,
    "median": median,
}


def reduce_strictly(reducer: str, values: list[Value]) -> float:
    """Return the reduction of values, which is NaN if one of them is null or NaN."""
    numbers = [value for value in values if value is not None and not math.isnan(value)]
    if len(numbers) < len(values):
        return math.nan
    return _STRICT_REDUCERS[reducer](numbers)


@pytest.mark.parametrize("upsampler", ["pad", "backfilling", "fillna"])
@pytest.mark.parametrize("downsampler", ["sum", "mean", "min", "max", "count", "median", "last"])
@settings(max_examples=25, deadline=None)
@given(data=blocks(), start=st.integers(-3, 10), window=st.integers(1, 12), length=st.integers(12, 30))
def test_resampling_equals_a_loop_over_windows(
    downsampler: str, upsampler: str, data: list[tuple[list[int], Rows]], start: int, window: int, length: int
) -> None:
    """Resampling equals a loop over the windows of each series, with gaps, nulls, NaN, infinities, and times in any order."""
    # Blocks have nanoseconds. The time range has a resolution of microseconds, so all times are whole microseconds.
    data = [([time * 1000 for time in times], rows) for times, rows in data]
    span = TimeRange(_EPOCH + timedelta(microseconds=start), _EPOCH + timedelta(microseconds=start + length))
    expression = Resample.of("A", f"{window}us", downsampler, upsampler, span, Limits())
    result = expression.evaluate({"A": series(*data)}, Limits()).values
    assert isinstance(result, Series)
    window_ends = list(range(start * 1000, (start + length) * 1000 + 1, window * 1000))
    expected_rows = [
        resample_points(list(zip(times, row, strict=True)), window_ends, downsampler, upsampler) for times, rows in data for row in rows
    ]
    assert all(item.axis.times.tolist() == window_ends for item in result.blocks)
    assert all(map(all_equal, plain_rows(result), expected_rows))


def threshold_outcome(name: str, bounds: tuple[float, float], value: Value) -> Value:
    """Return 1 if the evaluator holds for a value, 0 if it does not hold, and null for null."""
    return None if value is None else float(_EVALUATORS[name](value, *bounds))


def outcome_until_negative(value: Value) -> Value:
    """Return 0 if a value is below 0, so that a loaded item no longer fires, 1 if it is not, and null for null."""
    if value is None:
        return None
    return 0.0 if value < 0 else 1.0


@pytest.mark.parametrize("name", _EVALUATORS)
@settings(max_examples=25, deadline=None)
@given(data=blocks(), bounds=st.tuples(_BOUNDS, _BOUNDS), loaded_rows=st.sets(st.integers(0, 8)))
def test_a_threshold_evaluates_every_point(
    name: str, bounds: tuple[float, float], data: list[tuple[list[int], Rows]], loaded_rows: set[int]
) -> None:
    """A threshold is evaluated for every point.

    With hysteresis, loaded items fire until the unload evaluator holds, and follow the items that are not loaded.
    """
    values = series(*data)
    rows = [row for _, rows in data for row in rows]
    values_without_hysteresis = Threshold("A", predicate_of(name, bounds)).evaluate({"A": values}, Limits()).values
    assert isinstance(values_without_hysteresis, Series)
    assert plain_rows(values_without_hysteresis) == [[threshold_outcome(name, bounds, value) for value in row] for row in rows]

    loaded = frozenset(fingerprint(Labels.of({"row": str(number)})) for number in loaded_rows)
    hysteresis_until_negative = Hysteresis(predicate_of("lt", [0]), loaded)
    actual_values = Threshold("A", predicate_of(name, bounds), hysteresis_until_negative).evaluate({"A": values}, Limits()).values
    assert isinstance(actual_values, Series)
    loaded_numbers = [number for number in range(len(rows)) if number in loaded_rows]
    other_numbers = [number for number in range(len(rows)) if number not in loaded_rows]
    expected = [[threshold_outcome(name, bounds, value) for value in rows[number]] for number in other_numbers]
    expected += [[outcome_until_negative(value) for value in rows[number]] for number in loaded_numbers]
    assert plain_rows(actual_values) == expected
    assert [dict(item.pairs)["row"] for item in actual_values.labels] == [str(number) for number in other_numbers + loaded_numbers]


def reduce_row(reducer: str, row: list[Value]) -> Value:
    """Return the reduction of a row by a classic condition, which ignores null and NaN except in ``count``."""
    present = [(index, value) for index, value in enumerate(row) if value is not None and not math.isnan(value)]
    if reducer == "count" and row:
        return float(len(row))
    if not present:
        return None
    values = [value for _, value in present]
    (newest_index, newest), (_, oldest) = present[-1], present[0]
    with np.errstate(all="ignore"):
        difference = float(np.float64(newest) - np.float64(oldest))
        percentage = float(np.float64(difference) / np.float64(oldest) * 100)
    # As in Grafana, there is no difference if the only number is the first value of the row.
    if newest_index == 0:
        difference = percentage = 0.0
    # As in Grafana, the search for a minimum or maximum begins at the opposite end of all finite numbers.
    outcomes: dict[str, Callable[[], float]] = {
        "avg": lambda: sum(values) / len(values),
        "sum": lambda: sum(values),
        "min": lambda: min(sys.float_info.max, *values),
        "max": lambda: max(-sys.float_info.max, *values),
        "last": lambda: newest,
        "median": lambda: median(values),
        "diff": lambda: difference,
        "diff_abs": lambda: abs(difference),
        # The change relative to the absolute value of the oldest number.
        "percent_diff": lambda: math.copysign(1, oldest) * percentage,
        "percent_diff_abs": lambda: abs(percentage),
        "count_non_null": lambda: float(len(values)),
    }
    return outcomes[reducer]()


def is_match(evaluator: str, value: Value, low: float, high: float) -> bool:
    """Return whether an evaluator holds for a reduction. Only ``no_value`` holds for null."""
    if evaluator == "no_value":
        return value is None
    return value is not None and _EVALUATORS[evaluator](value, low, high)


_CLASSIC_REDUCERS = [
    "avg",
    "sum",
    "min",
    "max",
    "count",
    "last",
    "median",
    "diff",
    "diff_abs",
    "percent_diff",
    "percent_diff_abs",
    "count_non_null",
]


@pytest.mark.parametrize("reducer", _CLASSIC_REDUCERS)
@settings(max_examples=40, deadline=None)
@given(data=blocks(), evaluator=st.sampled_from([*_EVALUATORS, "no_value"]), bounds=st.tuples(_BOUNDS, _BOUNDS))
def test_a_classic_condition_reduces_and_compares_every_series(
    reducer: str, evaluator: str, bounds: tuple[float, float], data: list[tuple[list[int], Rows]]
) -> None:
    """A classic condition is evaluated for the reduction of every series.

    The result is one number, whose matches are the reductions for which the evaluator holds.
    The result is null if all reductions are null and none matches.
    """
    is_range = "range" in evaluator
    params = list(bounds if is_range else bounds[:1])
    expression = ClassicConditions.of([Condition.of(1, "and", ["A"], reducer, evaluator, params)])
    result = expression.evaluate({"A": series(*data)}, Limits())
    values = [reduce_row(reducer, row) for _, rows in data for row in rows]
    # The bounds of a range may be in any order.
    low, high = sorted(bounds) if is_range else bounds
    expected_matches = {str(number): value for number, value in enumerate(values) if is_match(evaluator, value, low, high)}
    no_data = not expected_matches and all(value is None for value in values)
    assert isinstance(result.values, Numbers)
    assert result.matches is not None
    number = None if result.values.cells.null_mask()[0] else result.values.cells.values[0]
    if no_data:
        assert number is None
        assert [(match.value, match.metric) for match in result.matches] == [(None, "NoData")]
        return
    assert number == (1.0 if expected_matches else 0.0)
    assert [dict(match.labels.pairs)["row"] for match in result.matches] == list(expected_matches)
    assert all_equal([match.value for match in result.matches], list(expected_matches.values()))
