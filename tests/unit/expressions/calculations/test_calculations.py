"""Calculations on the values of a field."""

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.calculations.table import CALCULATIONS, calculation_of, known_calculations
from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript.values import UNDEFINED

NAN = math.nan


def calculate(name: str, *values: Any, is_numeric: bool = True, nulls: NullMode = NullMode.IGNORE) -> Any:
    """Return the result of a calculation on the values of a field."""
    return CALCULATIONS[name](FieldValues(values, is_numeric, nulls))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("last", (1, None), None),
        ("lastNotNull", (1, 2, None, NAN), 2),
        ("first", (None, 1), None),
        ("firstNotNull", (None, NAN, 3), 3),
        ("min", (3, None, -2, NAN), -2),
        ("max", (3, None, -2, NAN), 3),
        ("min", (math.inf,), None),
        ("max", (-math.inf,), None),
        ("mean", (1, None, 3), 2),
        ("mean", (None,), None),
        ("sum", (1, None, NAN, 3), 4),
        ("sum", (None,), 0),
        ("count", (1, None, NAN), 2),
        ("countAll", (1, None, NAN), 3),
        ("range", (2, 7, None), 5),
        ("range", (None,), None),
        # The first increase after a decrease, which is the reset of a counter, does not count.
        ("delta", (10, 15, 3, 9), 5),
        ("delta", (5, 3, 4, 6), 2),
        ("step", (1, 4, 6), 2),
        ("step", (6, 1), -5),
        ("step", (6,), None),
        ("diff", (3, 9, 5), 2),
        ("diffperc", (4, 9, 5), 25),
        ("diffperc", (0, 5), math.inf),
        ("logmin", (-1, 0, 5, 2), 2),
        ("allIsZero", (0, None, 0), True),
        ("allIsZero", (None,), False),
        ("allIsNull", (None, NAN), True),
        ("allIsNull", (0,), False),
        ("changeCount", (1, 1, None, 2, 1), 2),
        ("distinctCount", (1, "1", True, 1.0, None), 3),
        ("median", (5, 1, None, 3, 2), 2.5),
        ("variance", (1, None, 3), 1),
        ("stdDev", (2, 4), 1),
        ("p50", (4, 1, 3), 3),
        ("p95", tuple(range(101)), 95),
        ("allValues", (1, None), [1, None]),
        ("uniqueValues", (2, 1, 2, None), [2, 1, None]),
    ],
)
def test_a_calculation_returns_its_value(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """Each calculation has the result of Grafana's calculation, also with nulls and NaN."""
    assert calculate(name, *values) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("sum", 0), ("count", 0), ("countAll", 0), ("allIsNull", True), ("mean", UNDEFINED), ("last", UNDEFINED)]
)
def test_calculations_of_an_empty_field_have_a_value(name: str, expected: Any) -> None:
    """Sums and counts of an empty field are 0; other calculations on numbers are undefined."""
    assert calculate(name) == expected


@pytest.mark.parametrize(
    ("mode", "mean", "count", "minimum"), [(NullMode.IGNORE, 2, 2, 1), (NullMode.KEEP, 2, 3, 1), (NullMode.ZERO, 4 / 3, 3, 0)]
)
def test_the_mode_of_a_field_decides_how_nulls_count(mode: NullMode, mean: float, count: int, minimum: float) -> None:
    """The mode of a field decides whether nulls are ignored, counted but not used in calculations, or used as zeros."""
    assert calculate("mean", 1, None, 3, nulls=mode) == mean
    assert calculate("count", 1, None, 3, nulls=mode) == count
    assert calculate("min", 1, None, 3, nulls=mode) == minimum


def test_text_is_counted_and_chosen_but_not_added() -> None:
    """Calculations that count or select values have a result for text. Calculations with numbers are null or 0."""
    expected = {"last": "a", "count": 3, "distinctCount": 2, "sum": 0, "mean": None, "max": None, "variance": 0}
    assert {name: calculate(name, "a", "b", "a", is_numeric=False) for name in expected} == expected


def test_older_ids_are_known_and_other_ids_are_errors() -> None:
    """Older ids are other names of calculations.

    An unknown id is an error where a single calculation is needed. In a list, it is omitted.
    """
    assert calculation_of("current").id == "lastNotNull"
    assert calculation_of("avg").id == "mean"
    assert calculation_of("total").id == "sum"
    assert calculation_of("p99").id == "p99"
    assert [calculation.name for calculation in known_calculations(["p1", "p22", "p13", "gone", 3])] == ["1st %", "22nd %", "13th %"]
    unknown: list[Any] = ["meann", None, [], "x" * 10_000]
    for name in unknown:
        with pytest.raises(BadRequest, match="unknown calculation"):
            calculation_of(name)


@given(st.lists(st.integers(-100, 100), min_size=1))
def test_numbers_agree_with_the_standard_library(values: list[int]) -> None:
    """Calculations on numbers have the results of Python's standard library."""
    expected = {
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "variance": statistics.pvariance(values),
        "stdDev": statistics.pstdev(values),
        "sum": sum(values),
        "range": max(values) - min(values),
        "diff": values[-1] - values[0],
    }
    assert {name: calculate(name, *values) for name in expected} == pytest.approx(expected)


ANY_VALUE = st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.just(UNDEFINED) | st.lists(st.none(), max_size=1)


@given(st.sampled_from(sorted(CALCULATIONS)), st.lists(ANY_VALUE), st.booleans(), st.sampled_from(NullMode))
def test_any_values_have_a_result(name: str, values: list[Any], is_numeric: bool, mode: NullMode) -> None:
    """Every calculation has a result for any values."""
    calculate(name, *values, is_numeric=is_numeric, nulls=mode)
