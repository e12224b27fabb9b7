"""Missing values of series: inserted, replaced and spanned."""

import math
from typing import Any

import numpy as np
import pytest

from dashwright.expressions.pictures.plots.nulls import inserted_rows, insertion_distance, number_of_text, spanned_points


def indices_with_gaps(times: list[float], distance: float, start: float | None = None, end: float | None = None) -> dict[float, int]:
    """Return all times after the insertion, each with its index in ``times``, or with -1 if it is inserted."""
    all_times, indexes = inserted_rows(np.array(times), distance, start, end)
    return dict(zip(all_times.tolist(), indexes.tolist(), strict=True))


@pytest.mark.parametrize(
    ("times", "distance", "start", "end", "expected"),
    [
        # Between points.
        ([10, 20, 30], 10, None, None, {10: 0, 20: 1, 30: 2}),
        ([10, 45], 10, None, None, {10: 0, 20: -1, 30: -1, 40: -1, 45: 1}),
        ([10, 30], 10, None, None, {10: 0, 20: -1, 30: 1}),
        # Before the first point; the first inserted time is not after the start.
        ([50], 10, 15, None, {10: -1, 20: -1, 30: -1, 40: -1, 50: 0}),
        ([50], 10, 60, None, {50: 0}),
        # After the last point, but not at the end.
        ([10], 10, None, 40, {10: 0, 20: -1, 30: -1}),
        ([10], 10, None, 5, {10: 0}),
        ([], 10, 0, 40, {}),
    ],
)
def test_missing_steps_are_inserted(
    times: list[float], distance: float, start: float | None, end: float | None, expected: dict[float, int]
) -> None:
    """A time is inserted for each missing step between points, from the start to the first point, and before the end."""
    assert indices_with_gaps(times, distance, start, end) == expected


def test_the_number_of_inserted_nulls_is_bounded() -> None:
    """With very many missing steps, each gap has a single null."""
    assert indices_with_gaps([0, 5, 1e12], 1, -1e15, 1e15) == {-1: -1, 0: 0, 1: -1, 5: 1, 6: -1, 1e12: 2, 1e12 + 1: -1}


@pytest.mark.parametrize(
    ("settings", "interval", "expected"),
    [
        ([], None, None),
        ([5_000], None, 5_000),
        ([5_000, None, 5_000], 1_000, 5_000),
        ([5_000, 6_000], 1_000, None),
        ([False, None], 1_000, 1_000),
        ([True, "x", -5], -1, None),
        ([5e-324], None, 1),
    ],
)
def test_columns_of_a_frame_agree_on_a_distance(settings: list[Any], interval: Any, expected: float | None) -> None:
    """A setting of columns has precedence over the interval of the data source. If the settings differ, no nulls are inserted."""
    assert insertion_distance(settings, interval) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        (" -1.5e2 ", -150),
        ("", 0),
        ("  ", 0),
        ("none", None),
        ("5 s", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        (None, None),
        (5, None),
    ],
)
def test_texts_for_missing_values_may_be_numbers(text: Any, expected: float | None) -> None:
    """Text that is a finite number has this number as its value. Empty text is 0, as in JavaScript."""
    assert number_of_text(text) == expected


@pytest.mark.parametrize(
    ("distance", "kept_points"),
    [
        (0, [True] * 8),
        (math.inf, [False, True, False, True, True, False, False, True]),
        (31, [True, True, False, True, True, False, False, True]),
        (30, [True, True, False, True, True, True, True, True]),
        (20, [True] * 8),
    ],
)
def test_short_gaps_are_spanned(distance: float, kept_points: list[bool]) -> None:
    """Nulls between points closer than the distance are left out, so that the line connects the points. All other points are kept."""
    # The two gaps between points are 20 and 30 wide.
    times = np.array([0, 10, 20, 30, 40, 50, 60, 70], dtype=np.float64)
    values = np.array([np.nan, 1, np.nan, 1, 1, np.nan, np.nan, 1])
    assert spanned_points(times, values, distance).tolist() == kept_points
    only_nulls = np.full(8, np.nan)
    assert spanned_points(times, only_nulls, 15).all()
