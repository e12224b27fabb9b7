"""Time axes, and their alignment, which is computed once for all pairs of series on the same two axes."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Times in nanoseconds since the Unix epoch.
Times = NDArray[np.int64]

#: An index that selects columns of a block, that is, some times of its axis.
Columns = slice | NDArray[np.intp]

#: Selects all rows or columns.
ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Grid:
    """Evenly spaced times: ``start``, ``start + step`` and so on. The step is above zero."""

    start: int  #: In nanoseconds since the Unix epoch.
    step: int  #: In nanoseconds.
    count: int  #: The number of times.

    @property
    def end(self) -> int:
        """The last time of the grid."""
        return self.start + (self.count - 1) * self.step


class Axis:
    """The times of the columns of a block, in their original order, which may be unsorted and have duplicates."""

    def __init__(self, times: Times) -> None:
        self.times = times

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def grid(self) -> Grid | None:
        """The axis as a regular grid of at least two times, or None."""
        if len(self.times) < 2:
            return None
        start, second, end = (int(self.times[i]) for i in (0, 1, -1))
        grid = Grid(start, second - start, len(self.times))
        # The end is compared first, because it is far cheaper than all differences.
        if grid.step <= 0 or grid.end != end or not bool((np.diff(self.times) == grid.step).all()):
            return None
        return grid

    @cached_property
    def is_ordered(self) -> bool:
        """True if each time is at or after the one before it."""
        return bool((self.times[1:] >= self.times[:-1]).all())

    def has_same_times(self, other: "Axis") -> bool:
        """Return whether both axes have the same times."""
        return self is other or self.times is other.times or np.array_equal(self.times, other.times)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The times that two axes share."""

    axis: Axis
    left: Columns  #: The columns of the shared times on the left axis.
    right: Columns  #: The columns of the shared times on the right axis.


def align(left: Axis, right: Axis) -> Alignment:
    """Return the inner join of two axes on equal times, in the order of ``left``.

    Each of several equal times on the left is joined with the last equal time on the right.
    """
    if left.grid is not None and right.grid is not None:
        return _align_grids(left, left.grid, right.grid)
    # Repeated times are excluded: each of them is joined with the last equal time on the right, not with the same column.
    if left.has_same_times(right) and _is_strictly_ascending(left.times):
        return Alignment(left, ALL, ALL)
    return _align_any_times(left, right)


def _align_grids(left_axis: Axis, left: Grid, right: Grid) -> Alignment:
    """Return the alignment of two grids. It follows from their starts and steps, so no times are compared."""
    if left == right:
        return Alignment(left_axis, ALL, ALL)
    # The times that both grids share are a grid too, with this step.
    step = math.lcm(left.step, right.step)
    divisor = math.gcd(left.step, right.step)
    offset = right.start - left.start
    if offset % divisor:
        return _empty_alignment()
    # The smallest number of left steps from ``left.start`` to a time that the right grid, extended in both directions, also
    # has (Chinese remainder theorem).
    modulus = right.step // divisor
    left_steps = (offset // divisor * pow(left.step // divisor, -1, modulus)) % modulus
    start = left.start + left_steps * left.step
    if start < right.start:
        # The steps to the first shared time that is not before the right grid. The two negations round the quotient up.
        missing_steps = -((start - right.start) // step)
        start += missing_steps * step
    end = min(left.end, right.end)
    if start > end:
        return _empty_alignment()
    count = (end - start) // step + 1
    columns = _columns_of(left, start, step, count)
    axis = left_axis if count == left.count else Axis(left_axis.times[columns])
    return Alignment(axis, columns, _columns_of(right, start, step, count))


def _columns_of(grid: Grid, start: int, step: int, count: int) -> slice:
    """Return the columns of ``count`` times, from ``start`` in steps of ``step``. The grid must have these times."""
    if count == grid.count:
        return ALL
    first_column, stride = (start - grid.start) // grid.step, step // grid.step
    return slice(first_column, first_column + (count - 1) * stride + 1, stride)


def _empty_alignment() -> Alignment:
    return Alignment(Axis(np.empty(0, np.int64)), slice(0, 0), slice(0, 0))


def _is_strictly_ascending(times: Times) -> bool:
    return bool((times[1:] > times[:-1]).all())


def _align_any_times(left: Axis, right: Axis) -> Alignment:
    """Return the alignment of two axes in any order: a binary search finds each left time among the sorted right times."""
    if not len(right):
        return _empty_alignment()
    order = None if _is_strictly_ascending(right.times) else np.argsort(right.times, kind="stable")
    sorted_times = right.times if order is None else right.times[order]
    # The last right time at or before each left time; -1 if all right times are later.
    positions = np.searchsorted(sorted_times, left.times, side="right") - 1
    is_shared = (positions >= 0) & (sorted_times[positions] == left.times)
    right_columns = positions[is_shared] if order is None else order[positions[is_shared]]
    if is_shared.all():
        return Alignment(left, ALL, right_columns)
    return Alignment(Axis(left.times[is_shared]), np.flatnonzero(is_shared), right_columns)
