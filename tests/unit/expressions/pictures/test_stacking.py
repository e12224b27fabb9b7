"""Stacks of series: groups, directions and totals."""

import numpy as np
import pytest

from dashwright.expressions.pictures.plots.stacking import StackMember, constant_value, direction, stack_groups

NAN = np.nan


def totals(*rows: list[float], is_percent: bool = False) -> list[list[float]]:
    """Return the running totals of series of one key, in the order of the series."""
    groups = stack_groups([StackMember(np.array(row, dtype=float), "key", is_percent) for row in rows])
    total_by_position = {position: row for group in groups for position, row in zip(group.members, group.totals.tolist(), strict=True)}
    return [total_by_position[position] for position in range(len(rows))]


def test_the_first_series_is_at_the_bottom() -> None:
    """The total of a series is the sum of its value and the values of all series before it."""
    assert totals([1, 2], [10, 20], [100, 200]) == [[1, 2], [11, 22], [111, 222]]


def test_series_stack_by_key_and_direction() -> None:
    """Series with the same key are stacked. Mostly negative series are a stack of their own, which extends downwards."""
    keys_and_values = [("a", [1.0]), ("b", [2.0]), ("a", [-3.0]), ("a", [4.0]), ("a", [-5.0])]
    upwards_a, upwards_b, downwards_a = stack_groups([StackMember(np.array(values), key) for key, values in keys_and_values])
    # Members are positions in the list of series.
    assert list(upwards_a.members) == [0, 3]
    assert list(upwards_b.members) == [1]
    assert list(downwards_a.members) == [2, 4]
    assert [upwards_a.direction, upwards_b.direction, downwards_a.direction] == [1, 1, -1]
    assert downwards_a.totals.tolist() == [[-3], [-8]]


def test_a_missing_value_repeats_the_total_below() -> None:
    """A missing value repeats the total below, or 0 at the bottom. A time without any value has no totals."""
    result = totals([1, NAN, NAN], [NAN, 10, NAN], [5, 5, NAN])
    np.testing.assert_equal(result, [[1, 0, NAN], [1, 10, NAN], [6, 15, NAN]])


def test_shares_add_up_to_the_whole() -> None:
    """The shares of a stack sum to 1, and those of negative series to -1. If the sum of the values is zero, all shares are zero."""
    assert totals([1, 0], [3, 0], [-2, -1], [-6, -1], is_percent=True) == [[0.25, 0], [1, 0], [-0.25, -0.5], [-1, -1]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 1),
        ([NAN], 1),
        ([0.0, 0.0], 1),
        ([-0.0], -1),
        ([-1, 1], 1),
        ([-1, -1, 1], -1),
        ([NAN, -5, NAN], -1),
        ([1.0] * 400 + [-1.0] * 600, -1),
    ],
)
def test_the_majority_of_samples_is_the_direction(values: list[float], expected: int) -> None:
    """A series with more negative than positive samples is stacked downwards, and any other series upwards."""
    assert direction(np.array(values)) == expected


@pytest.mark.parametrize(("values", "level"), [([NAN, 4, 9], 4), ([NAN], None), ([], None)])
def test_a_constant_is_the_first_value(values: list[float], level: float | None) -> None:
    """A constant is the first value of its series, and later values are ignored."""
    assert constant_value(np.array(values)) == level
