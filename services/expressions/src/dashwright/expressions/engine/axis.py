"""Time axes, and their alignment: one alignment serves every pair of series on the same two axes."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Columns = slice | NDArray[np.intp]

ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Grid:
    """Evenly spaced times: ``start``, ``start + step``, … in nanoseconds; ``n`` of them, with a step above zero."""

    start: int
    step: int
    n: int

    @property
    def last(self) -> int:
        """The last time of the grid."""
        return self.start + (self.n - 1) * self.step


class Axis:
    """Instants in nanoseconds since the Unix epoch, in their original order; duplicates and any order are allowed."""

    def __init__(self, times: Times) -> None:
        self.times = times

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def grid(self) -> Grid | None:
        """The axis as a regular grid of at least two times, or None."""
        if len(self.times) < 2:
            return None
        start, second, last = (int(self.times[i]) for i in (0, 1, -1))
        step = second - start
        if step <= 0 or last != start + (len(self.times) - 1) * step or not bool((np.diff(self.times) == step).all()):
            return None
        return Grid(start, step, len(self.times))

    @cached_property
    def is_ordered(self) -> bool:
        """True if each time is at or after the one before it."""
        return bool((self.times[1:] >= self.times[:-1]).all())

    def same(self, other: "Axis") -> bool:
        """Return whether both axes have the same times."""
        return self is other or self.times is other.times or np.array_equal(self.times, other.times)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The shared instants of two axes, and the columns of each side that hold them."""

    axis: Axis
    left: Columns
    right: Columns


def align(left: Axis, right: Axis) -> Alignment:
    """Return the inner join of two axes on the exact instant, in the order of ``left``.

    Of duplicate times on the right, the last is used; each duplicate on the left yields its own point.
    """
    if left.grid is not None and right.grid is not None:
        return _align_grids(left, left.grid, right, right.grid)
    if left.same(right) and _ascending(left.times):
        return Alignment(left, ALL, ALL)
    return _align_any(left, right)


def _align_grids(left_axis: Axis, left: Grid, right_axis: Axis, right: Grid) -> Alignment:
    if left == right:
        return Alignment(left_axis, ALL, ALL)
    step = math.lcm(left.step, right.step)
    divisor = math.gcd(left.step, right.step)
    offset = right.start - left.start
    if offset % divisor:
        return _nothing_shared()
    # Chinese remainder theorem: the first time at or after both starts that is on both grids.
    shift = (offset // divisor * pow(left.step // divisor, -1, right.step // divisor)) % (right.step // divisor)
    first = left.start + shift * left.step
    if first < right.start:
        first += -((first - right.start) // step) * step
    last = min(left.last, right.last)
    if first > last:
        return _nothing_shared()
    count = (last - first) // step + 1
    columns = _stride(left, first, step, count)
    axis = left_axis if count == left.n else Axis(left_axis.times[columns])
    return Alignment(axis, columns, _stride(right, first, step, count))


def _stride(grid: Grid, first: int, step: int, count: int) -> slice:
    start, stride = (first - grid.start) // grid.step, step // grid.step
    return ALL if count == grid.n else slice(start, start + (count - 1) * stride + 1, stride)


def _nothing_shared() -> Alignment:
    return Alignment(Axis(np.empty(0, np.int64)), slice(0, 0), slice(0, 0))


def _ascending(times: Times) -> bool:
    return bool((times[1:] > times[:-1]).all())


def _align_any(left: Axis, right: Axis) -> Alignment:
    if not len(right):
        return _nothing_shared()
    order = None if _ascending(right.times) else np.argsort(right.times, kind="stable")
    sorted_times = right.times if order is None else right.times[order]
    found = np.searchsorted(sorted_times, left.times, side="right") - 1
    matched = (found >= 0) & (sorted_times[found] == left.times)
    right_columns = found[matched] if order is None else order[found[matched]]
    if matched.all():
        return Alignment(left, ALL, right_columns)
    return Alignment(Axis(left.times[matched]), np.flatnonzero(matched), right_columns)
