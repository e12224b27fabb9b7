"""Resample, threshold and classic conditions on blocks, compared with a plain implementation that handles one point at a time."""

import math
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
_TESTS: dict[str, Callable[[float, float, float], bool]] = {
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
    rows = []
    for number, row in zip(values.block_of.tolist(), values.row_of.tolist(), strict=True):
        cells = values.blocks[number].cells.at(row)
        rows.append([None if null else value for value, null in zip(cells.values.tolist(), cells.null_mask().tolist(), strict=True)])
    return rows


def are_equal(actual: Value, expected_value: Value) -> bool:
    if actual is None or expected_value is None or math.isnan(expected_value):
        return actual is expected_value or (actual is not None and expected_value is not None and math.isnan(actual))
    return math.isclose(actual, expected_value, rel_tol=1e-12, abs_tol=1e-9)


def all_alike(actual: list[Value], expected_value: list[Value]) -> bool:
    return len(actual) == len(expected_value) and all(map(are_equal, actual, expected_value))


def blocks(heights: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[list[int], Rows]]]:
    """Draw blocks of rows on times in any order, also repeated ones."""

    def rows_over(times: list[int]) -> st.SearchStrategy[tuple[list[int], Rows]]:
        row = st.lists(_VALUES, min_size=len(times), max_size=len(times))
        return heights.flatmap(lambda height: st.lists(row, min_size=height, max_size=height)).map(lambda rows: (times, rows))

    return st.lists(st.lists(st.integers(-5, 30), max_size=12).flatmap(rows_over), min_size=1, max_size=3)


def resample_points(points: list[tuple[int, Value]], stamps: list[int], downsampler: str, upsampler: str) -> list[Value]:
    points = sorted(points, key=lambda point: point[0])
    outcome: list[Value] = []
    used_points = 0
    for stamp in stamps:
        values_in_interval = [value for time, value in points[used_points:] if time <= stamp]
        used_points += len(values_in_interval)
        if not values_in_interval:
            before = points[used_points - 1][1] if used_points else None
            after = points[used_points][1] if used_points < len(points) else None
            outcome.append({"pad": before, "backfilling": after, "fillna": None}[upsampler])
        elif downsampler == "count":
            outcome.append(float(len(values_in_interval)))
        elif downsampler == "last" or len(values_in_interval) == 1:
            outcome.append(values_in_interval[-1])
        else:
            outcome.append(strictly(downsampler, values_in_interval))
    return outcome


_STRICTLY: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": lambda numbers: sum(numbers) / len(numbers),
    "min": min,
    "max": max,
    "median": median,
}


def strictly(reducer: str, values: list[Value]) -> float:
    numbers = [value for value in values if value is not None and not math.isnan(value)]
    if len(numbers) < len(values):
        return math.nan
    return _STRICTLY[reducer](numbers)


@pytest.mark.parametrize("upsampler", ["pad", "backfilling", "fillna"])
@pytest.mark.parametrize("downsampler", ["sum", "mean", "min", "max", "count", "median", "last"])
@settings(max_examples=25, deadline=None)
@given(data=blocks(st.integers(1, 3)), start=st.integers(-3, 10), window=st.integers(1, 12), length=st.integers(12, 30))
def test_resampling_fills_one_bucket_after_the_other(
    downsampler: str, upsampler: str, data: list[tuple[list[int], Rows]], start: int, window: int, length: int
) -> None:
    """Resampling equals a loop over the points of each series, with gaps, nulls, NaN, infinities, and times in any order."""
    data = [([time * 1000 for time in times], rows) for times, rows in data]
    span = TimeRange(_EPOCH + timedelta(microseconds=start), _EPOCH + timedelta(microseconds=start + length))
    kind = Resample.of("A", f"{window}us", downsampler, upsampler, span, Limits())
    outcome = kind.evaluate({"A": series(*data)}, Limits()).values
    assert isinstance(outcome, Series)
    stamps = list(range(start * 1000, (start + length) * 1000 + 1, window * 1000))
    body = [resample_points(list(zip(times, row, strict=True)), stamps, downsampler, upsampler) for times, rows in data for row in rows]
    assert all(item.axis.times.tolist() == stamps for item in outcome.blocks)
    assert all(map(all_alike, plain_rows(outcome), body))


def threshold_outcome(name: str, bounds: tuple[float, float], value: Value, *, unloading: bool = False) -> Value:
    return None if value is None else float(_TESTS[name](value, *bounds) is not unloading)


@pytest.mark.parametrize("name", _TESTS)
@settings(max_examples=25, deadline=None)
@given(data=blocks(st.integers(1, 3)), bounds=st.tuples(_BOUNDS, _BOUNDS), chosen=st.sets(st.integers(0, 8)))
def test_a_threshold_evaluates_every_point(
    name: str, bounds: tuple[float, float], data: list[tuple[list[int], Rows]], chosen: set[int]
) -> None:
    """With hysteresis, unloaded items precede loaded ones, which fire until the second condition holds."""
    values = series(*data)
    rows = [row for _, rows in data for row in rows]
    values_without_hysteresis = Threshold("A", predicate_of(name, bounds)).evaluate({"A": values}, Limits()).values
    assert isinstance(values_without_hysteresis, Series)
    assert plain_rows(values_without_hysteresis) == [[threshold_outcome(name, bounds, value) for value in row] for row in rows]

    loaded = frozenset(fingerprint(Labels.of({"row": str(number)})) for number in chosen)
    hysteresis = Hysteresis(predicate_of("lt", [0]), loaded)
    actual_values = Threshold("A", predicate_of(name, bounds), hysteresis).evaluate({"A": values}, Limits()).values
    assert isinstance(actual_values, Series)
    expected = [[threshold_outcome(name, bounds, value) for value in row] for number, row in enumerate(rows) if number not in chosen]
    expected += [[threshold_outcome("lt", (0, 0), v, unloading=True) for v in row] for number, row in enumerate(rows) if number in chosen]
    assert plain_rows(actual_values) == expected
    order = sorted(range(len(rows)), key=lambda number: number in chosen)
    assert [dict(item.pairs)["row"] for item in actual_values.labels] == [str(number) for number in order]


def reduce_row(reducer: str, row: list[Value]) -> Value:
    remaining = [(index, value) for index, value in enumerate(row) if value is not None and not math.isnan(value)]
    if reducer == "count" and row:
        return float(len(row))
    if not remaining:
        return None
    values = [value for _, value in remaining]
    (newest_place, newest), (_, oldest) = remaining[-1], remaining[0]
    with np.errstate(all="ignore"):
        change = float(np.float64(newest) - np.float64(oldest))
        share = float(np.float64(change) / np.float64(oldest) * 100)
    if newest_place == 0:
        change = share = 0.0
    outcomes: dict[str, Callable[[], float]] = {
        "avg": lambda: sum(values) / len(values),
        "sum": lambda: sum(values),
        "min": lambda: min(1.7976931348623157e308, *values),
        "max": lambda: max(-1.7976931348623157e308, *values),
        "last": lambda: newest,
        "median": lambda: median(values),
        "diff": lambda: change,
        "diff_abs": lambda: abs(change),
        "percent_diff": lambda: math.copysign(1, oldest) * share,
        "percent_diff_abs": lambda: abs(share),
        "count_non_null": lambda: float(len(values)),
    }
    return outcomes[reducer]()


_CLASSIC = ["avg", "sum", "min", "max", "count", "last", "median", "diff", "diff_abs", "percent_diff", "percent_diff_abs", "count_non_null"]


@pytest.mark.parametrize("reducer", _CLASSIC)
@settings(max_examples=40, deadline=None)
@given(data=blocks(st.integers(1, 3)), test=st.sampled_from([*_TESTS, "no_value"]), bounds=st.tuples(_BOUNDS, _BOUNDS))
def test_a_classic_condition_reduces_and_tests_every_series(
    reducer: str, test: str, bounds: tuple[float, float], data: list[tuple[list[int], Rows]]
) -> None:
    """The outcome is one number, with the reduced values that hold as matches; nulls count as missing, unless the
    condition tests for them.
    """
    params = list(bounds if "range" in test else bounds[:1])
    kind = ClassicConditions.of([Condition.of(1, "and", ["A"], reducer, test, params)])
    outcome = kind.evaluate({"A": series(*data)}, Limits())
    values = [reduce_row(reducer, row) for _, rows in data for row in rows]
    low, high = sorted(bounds) if "range" in test else bounds
    expected_matches = {
        str(number): value
        for number, value in enumerate(values)
        if (value is None if test == "no_value" else value is not None and _TESTS[test](value, low, high))
    }
    no_data = not expected_matches and all(value is None for value in values)
    assert isinstance(outcome.values, Numbers)
    assert outcome.matches is not None
    number = None if outcome.values.cells.null_mask()[0] else outcome.values.cells.values[0]
    assert number == (None if no_data else float(bool(expected_matches)))
    if no_data:
        assert [(match.value, match.metric) for match in outcome.matches] == [(None, "NoData")]
        return
    assert [dict(match.labels.pairs)["row"] for match in outcome.matches] == list(expected_matches)
    assert all_alike([match.value for match in outcome.matches], list(expected_matches.values()))
