"""Ticks of value axes: round values at a distance in pixels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.expressions.pictures.plots.scales import ValueScale

#: Steps between ticks are these multiples of a power of ten.
_MULTIPLES: Final = (1, 2, 2.5, 5)
#: The share of a step by which rounding errors may move a multiple of it.
_TOLERANCE: Final = 1e-9
#: Units whose ticks are multiples of powers of two.
_BINARY_UNITS: Final = frozenset(
    [f"{prefix}{unit}" for prefix in ("", "k", "m", "g", "t", "p") for unit in ("bytes", "bits")]
    + [f"{prefix}{unit}" for prefix in ("Ki", "Mi", "Gi", "Ti", "Pi") for unit in ("Bs", "bits")]
    + ["binbps", "binBps"]
)
#: The distance between two ticks in pixels on a high and on a low axis, and the maximum height of a low axis.
_SPACE, _SMALL_SPACE, _LOW_HEIGHT = 30.0, 15.0, 150.0
_MAX_TICKS: Final = 200


@dataclass(frozen=True, slots=True)
class ValueTicks:
    """The ticks of a value axis."""

    values: Sequence[float]
    step: float | None = None  #: The distance between two ticks, if it is the same everywhere.


def value_ticks(scale: ValueScale, unit_id: str, *, has_integers: bool) -> ValueTicks:
    """Return the ticks of a value axis in a unit."""
    space = _SMALL_SPACE if scale.height <= _LOW_HEIGHT else _SPACE
    if scale.distribution != "linear":
        return ValueTicks(_thinned(_powers(scale), scale, space))
    # Halved, so that the span of huge values is finite.
    min_step = (scale.high / 2 - scale.low / 2) * 2 * space / max(scale.height, 1)
    if not 0 < min_step < math.inf:
        return ValueTicks([scale.low])
    step = _binary_step(min_step) if unit_id in _BINARY_UNITS else _decimal_step(min_step)
    if has_integers:
        step = max(math.ceil(step), 1)
    first = math.ceil(scale.low / step - _TOLERANCE)
    count = min(math.floor(scale.high / step + _TOLERANCE) - first + 1, _MAX_TICKS)
    # Multiples are rounded, because 3 * 0.1 is not 0.3.
    decimals = max(0, 2 - math.floor(math.log10(step)))
    return ValueTicks([round((first + index) * step, decimals) for index in range(count)], step)


def step_decimals(step: float) -> int:
    """Return the number of decimals of a distance between ticks."""
    text = f"{step:.6f}".rstrip("0")
    return len(text.partition(".")[2])


def _decimal_step(min_step: float) -> float:
    """Return the smallest round step that is not less than ``min_step``."""
    power = math.floor(math.log10(min_step))
    steps = (multiple * 10.0**exponent for exponent in (power, power + 1) for multiple in _MULTIPLES)
    return next(step for step in steps if step >= min_step * (1 - _TOLERANCE))


def _binary_step(min_step: float) -> float:
    """Return the smallest power of two that is not less than ``min_step``."""
    return 2.0 ** math.ceil(math.log2(min_step) - _TOLERANCE)


def _powers(scale: ValueScale) -> list[float]:
    """Return the powers of the base on a logarithmic scale, in ascending order; zero too on a symmetric one."""
    base = float(scale.base)
    largest = max(abs(scale.low), abs(scale.high), 1e-300)
    smallest = scale.linear_threshold if scale.distribution == "symlog" else largest / base**_MAX_TICKS
    exponents = range(math.ceil(math.log(max(smallest, 1e-300), base) - _TOLERANCE), math.floor(math.log(largest, base) + _TOLERANCE) + 1)
    sizes = [base**exponent for exponent in exponents[-_MAX_TICKS:]]
    values = [-size for size in reversed(sizes)] + ([0.0] if scale.distribution == "symlog" else []) + sizes
    is_above_zero = scale.distribution == "log" and scale.high > 0
    tolerance = _TOLERANCE * largest
    return [value for value in values if scale.low - tolerance <= value <= scale.high + tolerance and not (is_above_zero and value <= 0)]


def _thinned(values: Sequence[float], scale: ValueScale, space: float) -> list[float]:
    """Return ascending values that are at least ``space`` pixels apart, among them zero or, without a zero, the first one."""
    origin = values.index(0.0) if 0.0 in values else 0
    spaced_values: list[float] = []
    for section in (values[origin:], values[:origin][::-1]):
        last = scale.position(values[origin]) if spaced_values else math.inf
        for value in section:
            position = scale.position(value)
            if abs(position - last) >= space:
                spaced_values.append(value)
                last = position
    return sorted(spaced_values)
