"""The engine, which computes whole arrays, compared with a plain implementation that handles one value at a time."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.axis import Axis, align
from dashwright.expressions.engine.labels import NO_LABELS, Labels, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.math.operators import apply_binary
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.union import Union
from dashwright.expressions.engine.values import Block, Cells, Floats, Mask, Numbers, Series

pytestmark = pytest.mark.exhaustive

Value = float | None
_VALUES = st.none() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, -2.5]) | st.floats(-1e6, 1e6, width=32)
_LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3).map(Labels.of)
_PLAIN_OPERATORS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "||": lambda a, b: a != 0 or b != 0,
    "&&": lambda a, b: a != 0 and b != 0,
}


def cells(values: list[Value]) -> Cells:
    """Return a row of values as an array and a mask of nulls."""
    return Cells.with_nulls(np.array(values, np.float64), np.array([value is None for value in values], np.bool_))


def plain_values(cells: Cells) -> list[Value]:
    """Return the values of a row, with None for null."""
    return [None if null else value for value, null in zip(cells.values.tolist(), cells.null_mask().tolist(), strict=True)]


def apply_to_values(symbol: str, left: Value, right: Value) -> Value:
    """Return the result of an operator for two values, by the plain implementation."""
    if left is None or right is None:
        return None
    if symbol == "||" and left != 0:
        return 1
    if symbol == "&&" and left == 0:
        return 0
    if math.isnan(left) or math.isnan(right):
        return math.nan
    return float(_PLAIN_OPERATORS[symbol](left, right))


def are_equal(actual: list[Value], expected: list[Value]) -> bool:
    """Return whether two rows are equal up to rounding. NaN equals NaN, and null equals null."""

    def values_equal(a: Value, b: Value) -> bool:
        if a is None or b is None:
            return a is b
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)

    return len(actual) == len(expected) and all(map(values_equal, actual, expected))


@pytest.mark.parametrize("symbol", _PLAIN_OPERATORS)
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(_VALUES, _VALUES), min_size=1))
def test_operators_equal_the_plain_implementation(symbol: str, pairs: list[tuple[Value, Value]]) -> None:
    """Operators on arrays have the results of the plain implementation, and NaN in the array for null.

    Null decides first, then a left side that suffices for ``||`` or ``&&``, then NaN, and then the operator.
    """
    left, right = cells([a for a, _ in pairs]), cells([b for _, b in pairs])
    result = apply_binary(symbol, left, right)
    assert are_equal(plain_values(result), [apply_to_values(symbol, a, b) for a, b in pairs])
    assert np.isnan(result.values[result.null_mask()]).all()


@settings(deadline=None)
@given(st.lists(_LABELS, min_size=1, max_size=6), st.lists(_LABELS, min_size=1, max_size=6))
def test_the_union_is_that_of_two_nested_loops(left: list[Labels], right: list[Labels]) -> None:
    """The pairs of a union, their order and labels, and its unpaired items are those of a loop over both sets.

    Items are paired if one of them has no labels, or if the labels of one contain those of the other.
    """
    expected = []
    for i, j in product(range(len(left)), range(len(right))):
        a, b = dict(left[i].pairs).items(), dict(right[j].pairs).items()
        # The empty set of labels is a subset of any labels.
        if a <= b or b <= a:
            expected.append((i, j, left[i] if len(a) >= len(b) else right[j]))
    free_left = [i for i in range(len(left)) if i not in {pair[0] for pair in expected}]
    free_right = [j for j in range(len(right)) if j not in {pair[1] for pair in expected}]
    # Two single items are paired even if their labels differ.
    if not expected and len(left) == len(right) == 1:
        expected, free_left, free_right = [(0, 0, NO_LABELS)], [], []
    union = Union(tuple(left), tuple(right))
    pairs = union.pairs()
    assert union.count == len(expected)
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.labels, strict=True)) == expected
    assert pairs.unpaired_left.tolist() == free_left
    assert pairs.unpaired_right.tolist() == free_right


# Times at equal distances, and times in any order, also repeated ones.
_GRIDS = st.builds(
    lambda start, step, count: [start + step * number for number in range(count)],
    st.integers(-50, 50),
    st.integers(1, 12),
    st.integers(2, 12),
)
_TIMES = _GRIDS | st.lists(st.integers(-20, 20), max_size=12)


@settings(deadline=None)
@given(_TIMES, _TIMES)
def test_alignment_equals_a_lookup_of_each_left_time(left: list[int], right: list[int]) -> None:
    """The common times of two series have the order of the left series. Of equal times of the right series, the last one is used."""
    last_positions = {time: position for position, time in enumerate(right)}
    expected = [(position, last_positions[time]) for position, time in enumerate(left) if time in last_positions]
    alignment = align(Axis(np.array(left, np.int64)), Axis(np.array(right, np.int64)))
    # An index of an alignment may be a slice or an array of positions.
    left_positions = np.arange(len(left))[alignment.left].tolist()
    right_positions = np.arange(len(right))[alignment.right].tolist()
    assert list(zip(left_positions, right_positions, strict=True)) == expected
    assert alignment.axis.times.tolist() == [left[position] for position, _ in expected]


def reduce_row(reducer: str, mode: str, row: list[Value], replacement: float) -> Value:
    """Return the reduction of a row by the plain implementation. The modes drop or replace values that are not finite numbers."""

    def is_finite(value: Value) -> bool:
        return value is not None and math.isfinite(value)

    if mode == "dropNN":
        row = [value for value in row if is_finite(value)]
    if mode == "replaceNN":
        row = [value if is_finite(value) else replacement for value in row]
    if reducer in {"sum", "count"} and not row:
        return 0
    if reducer == "count":
        return len(row)
    if reducer == "last" and row:
        return row[-1]
    numbers = [math.nan if value is None else value for value in row]
    if not row or any(map(math.isnan, numbers)):
        return {"": math.nan, "dropNN": None, "replaceNN": replacement}[mode]
    middle_values = sorted(numbers)[(len(row) - 1) // 2 : len(row) // 2 + 1]
    return {
        "sum": sum(numbers),
        "mean": sum(numbers) / len(row),
        "min": min(numbers),
        "max": max(numbers),
        "median": sum(middle_values) / len(middle_values),
    }[reducer]


@pytest.mark.parametrize("mode", ["", "dropNN", "replaceNN"])
@pytest.mark.parametrize("reducer", ["sum", "mean", "min", "max", "count", "last", "median"])
@settings(max_examples=30, deadline=None)
@given(rows=st.integers(0, 4).flatmap(lambda width: st.lists(st.lists(_VALUES, min_size=width, max_size=width), min_size=1, max_size=4)))
def test_reducers_equal_the_reduction_of_each_row(reducer: str, mode: str, rows: list[list[Value]]) -> None:
    """The reduction of a block equals the reductions of its rows. In the mode ``replaceNN``, 7 replaces values that are not numbers."""
    width = len(rows[0])
    block = Block(Axis(np.arange(width, dtype=np.int64)), Cells.with_nulls(*_matrix(rows, width)))
    series = Series.stacked([Labels.of({"row": str(number)}) for number in range(len(rows))], [block])
    numbers = Reduce.of("A", reducer, mode, 7.0).evaluate({"A": series}, Limits()).values
    assert isinstance(numbers, Numbers)
    actual, expected = plain_values(numbers.cells), [reduce_row(reducer, mode, row, 7.0) for row in rows]
    # Values have single precision, so sums in different orders are almost equal. For sums near 0, the tolerance must be absolute.
    close = [a is not None and b is not None and abs(a - b) < 1e-6 for a, b in zip(actual, expected, strict=True)]
    assert all(is_close or are_equal([a], [b]) for is_close, a, b in zip(close, actual, expected, strict=True))


def _matrix(rows: list[list[Value]], width: int) -> tuple[Floats, Mask]:
    """Return rows as an array of values and a mask of nulls, both of the shape (rows, width)."""
    shape = (len(rows), width)
    return (
        np.array(rows, np.float64).reshape(shape),
        np.array([[value is None for value in row] for row in rows], np.bool_).reshape(shape),
    )


def test_a_set_may_have_the_rows_of_its_blocks_in_any_order() -> None:
    """Item i of a set is row ``row_of[i]`` of block ``block_of[i]``.

    Operators and reducers use the order of the set, not that of the blocks.
    """
    axis = Axis(np.arange(2, dtype=np.int64))
    blocks = tuple(Block(axis, Cells(np.array(rows, np.float64))) for rows in ([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
    labels = tuple(Labels.of({"n": name}) for name in "wxyz")
    series = Series(LabelSets.of(labels), blocks, np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0]))
    doubled = Math.parse("$A + $A").evaluate({"A": series}, Limits()).values
    assert isinstance(doubled, Series)
    # The sums of the rows 7, 8 and 3, 4 and 5, 6 and 1, 2.
    for values, expected in ((series, [15, 7, 11, 3]), (doubled, [30, 14, 22, 6])):
        numbers = Reduce.of("A", "sum").evaluate({"A": values}, Limits()).values
        assert isinstance(numbers, Numbers)
        assert numbers.cells.values.tolist() == expected


def test_label_sets_with_too_many_different_keys_are_rejected() -> None:
    """The number of different key sets is limited, because every key set of the left side is compared with every one of the right side."""
    # 1001 * 1001 pairs of key sets.
    sides = [tuple(Labels.of({f"{side}{number}": "x", f"{side}": "y"}) for number in range(1001)) for side in "ab"]
    with pytest.raises(TooLarge, match="different sets of keys"):
        Union(sides[0], sides[1])


def test_labels_with_equal_pairs_are_equal() -> None:
    """Equal pairs in any order give equal label sets with equal hashes."""
    labels = Labels.of({"b": "2", "a": "1"})
    assert labels == Labels.of([("a", "1"), ("b", "2")])
    assert hash(labels) == hash(Labels.of([("a", "1"), ("b", "2")]))
    assert str(labels) == "a=1, b=2"
    assert Labels.of({"a": "1"}) != Labels.of({"a": "2"})
