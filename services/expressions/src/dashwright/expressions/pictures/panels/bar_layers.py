"""Ends of bars that are next to each other or stacked, and their range."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.pictures.panels.axes import padded_range

STACKED: Final = ("normal", "percent")


def bar_ends(values: Sequence[NDArray[np.float64]], stacking: str) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return where the bars of each series begin and end; NaN where there is no bar.

    Stacked bars begin at the end of the bar before. Negative values are stacked downwards. In percent, ends are shares of the sum
    of all bars of a stack.
    """
    if stacking not in STACKED:
        return [(np.where(np.isnan(row), np.nan, 0.0), row) for row in values]
    rows = np.array(values)
    if stacking == "percent":
        # Divided first, so that sums of huge values are finite.
        largest = np.nanmax(np.abs(np.where(np.isnan(rows), 0.0, rows)), axis=0)
        rows = rows / np.where(largest > 0, largest, 1.0)
        totals = np.nansum(np.abs(rows), axis=0)
        rows = rows / np.where(totals > 0, totals, 1.0)
    ends_by_series = []
    positive_ends, negative_ends = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for row in rows:
        is_negative = row < 0
        start = np.where(np.isnan(row), np.nan, np.where(is_negative, negative_ends, positive_ends))
        # Stacks of huge values end at finite numbers.
        end = np.clip(start + row, -1e308, 1e308)
        positive_ends = np.where(~is_negative & ~np.isnan(end), end, positive_ends)
        negative_ends = np.where(is_negative & ~np.isnan(end), end, negative_ends)
        ends_by_series.append((start, end))
    return ends_by_series


def value_range(
    ends: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], minimum: float | None, maximum: float | None, stacking: str
) -> tuple[float, float]:
    """Return the lowest and the highest value of the axis: as configured, else with room beyond the bars."""
    if stacking == "percent":
        lowest = min((float(np.nanmin(end)) for _, end in ends if not np.isnan(end).all()), default=0.0)
        return (-1.0 if lowest < 0 else 0.0), 1.0
    finite = np.concatenate([end[~np.isnan(end)] for _, end in ends])
    low, high = padded_range(float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    low, high = (low if minimum is None else minimum), (high if maximum is None else maximum)
    # An axis with equal or reversed ends would have no length.
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))
