"""Stacks of series: groups, their directions and running totals, as Grafana computes them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: The approximate number of values from which the direction of a series is determined.
_SAMPLES: Final = 100


@dataclass(frozen=True, slots=True)
class StackMember:
    """A series of a stack. Series stack on each other if their keys and directions are equal."""

    values: NDArray[np.float64]  #: At the times that all members share; NaN where a value is missing.
    key: Hashable  #: Equal for series that may be stacked on each other.
    is_percent: bool = False  #: True if the values are shown as shares of their sum.


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Series that are stacked on each other."""

    members: Sequence[int]  #: Positions of the series, from the axis outwards.
    direction: int  #: 1 for upwards, -1 for downwards.
    totals: NDArray[np.float64]  #: The running total of each member: a row per member, NaN where no member has a value.


def stack_groups(members: Sequence[StackMember]) -> list[StackGroup]:
    """Return the groups of series in the order of their first members."""
    positions: dict[tuple[int, Hashable], list[int]] = {}
    for position, member in enumerate(members):
        positions.setdefault((direction(member.values), member.key), []).append(position)
    return [
        StackGroup(group, sign, _running_totals(np.array([members[position].values for position in group]), sign, members[group[0]]))
        for (sign, _), group in positions.items()
    ]


def direction(values: NDArray[np.float64]) -> int:
    """Return -1 if most of about 100 samples of the values are negative, otherwise 1."""
    positions = np.flatnonzero(~np.isnan(values))
    if not len(positions):
        return 1
    first, last = int(positions[0]), int(positions[-1])
    samples = values[first : last + 1 : max(1, (last - first + 1) // _SAMPLES)]
    samples = samples[~np.isnan(samples)]
    # A negative zero counts as negative: it is a zero that was turned upside down.
    return -1 if np.count_nonzero(np.signbit(samples)) > np.count_nonzero(samples > 0) else 1


def upside_down(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a series with the transform ``negative-Y``."""
    return -values


def constant_value(values: NDArray[np.float64]) -> float | None:
    """Return the level of a series with the transform ``constant``: its first value, or None without values."""
    positions = np.flatnonzero(~np.isnan(values))
    return float(values[positions[0]]) if len(positions) else None


def _running_totals(rows: NDArray[np.float64], sign: int, first: StackMember) -> NDArray[np.float64]:
    """Return the running totals of rows, or, if ``first`` is in percent, their shares of the last total with ``sign``."""
    numbers = np.nan_to_num(rows, nan=0.0)
    totals = np.cumsum(numbers, axis=0)
    if first.is_percent:
        sums = totals[-1]
        totals = np.divide(totals, sums, out=np.zeros_like(totals), where=sums != 0) * sign
    return np.where(np.isnan(rows).all(axis=0), np.nan, totals)
