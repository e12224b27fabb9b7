"""Ranges of value axes: the padding and rounding of uPlot, with the limits that Grafana adds."""

import math
from dataclasses import dataclass
from typing import Final

#: The share of the span of the values that is added at each end.
_PADDING: Final = 0.1
#: The span of an axis on which all values are 0.
_SPAN_OF_ZERO: Final = 1e3
#: A span is a rounding error if it is this many powers of ten smaller than the values.
_MAX_MAGNITUDES: Final = 10
#: A smaller span is that of equal values.
_MIN_SPAN: Final = 1e-24
#: The end of an axis whose computed ends are equal or reversed.
_FALLBACK_HIGH: Final = 100.0
#: Larger values are drawn at the end of an axis.
_MAX_VALUE: Final = 1e300


@dataclass(frozen=True, slots=True)
class RangeSettings:
    """The settings of an axis on which its range depends."""

    minimum: float | None = None
    maximum: float | None = None
    soft_minimum: float | None = None  #: The start of the axis, unless values are below it.
    soft_maximum: float | None = None  #: The end of the axis, unless values are above it.
    is_centred: bool = False  #: True for an axis with zero in its middle.
    has_integers: bool = False  #: True for values with zero decimals.
    is_percent: bool = False  #: True for stacks of shares.
    distribution: str = "linear"  #: ``linear``, ``log`` or ``symlog``.
    base: int = 10  #: The base of a logarithmic axis.


def value_range(settings: RangeSettings, low: float | None, high: float | None) -> tuple[float, float] | None:
    """Return the ends of an axis for values from ``low`` to ``high``, both None without values; None if it has no range."""
    if settings.is_percent:
        # Shares fill the axis, upwards and downwards.
        settings = RangeSettings(soft_minimum=0, soft_maximum=1, distribution=settings.distribution, base=settings.base)
    minimum, maximum = settings.minimum, settings.maximum
    is_logarithmic = settings.distribution == "log"
    if is_logarithmic:
        minimum, maximum = (limit if limit is not None and limit > 0 else None for limit in (minimum, maximum))
    # A configured limit is exactly an end of the axis, unless that end also has a soft limit.
    hard_minimum = minimum if settings.soft_minimum is None else None
    hard_maximum = maximum if settings.soft_maximum is None else None
    if hard_minimum is not None and hard_maximum is not None and not is_logarithmic:
        return _ordered(hard_minimum, hard_maximum, is_logarithmic=False)
    if low is None or high is None:
        return None if hard_minimum is None or hard_maximum is None else (hard_minimum, hard_maximum)
    if settings.is_centred and settings.distribution == "linear":
        high = max(abs(low), abs(high))
        low = -high
    low = _bounded(low if hard_minimum is None else hard_minimum)
    high = _bounded(high if hard_maximum is None else hard_maximum)
    if settings.distribution == "linear":
        ends = _linear_range(low, high, settings, minimum, maximum)
        if settings.has_integers:
            # The start is rounded down, and the end up.
            ends = (-_rounded_up(-ends[0]), _rounded_up(ends[1]))
        ends = (ends[0] if hard_minimum is None else hard_minimum, ends[1] if hard_maximum is None else hard_maximum)
    else:
        ends = _logarithmic_range(low, high, settings.base, has_integers=settings.has_integers and is_logarithmic)
    return _ordered(*ends, is_logarithmic=is_logarithmic)


def _ordered(low: float, high: float, *, is_logarithmic: bool) -> tuple[float, float]:
    """Return the ends of an axis, or default ends if the lower end is not below the upper one."""
    return (1.0 if is_logarithmic else 0.0, _FALLBACK_HIGH) if low >= high else (low, high)


def _linear_range(low: float, high: float, settings: RangeSettings, minimum: float | None, maximum: float | None) -> tuple[float, float]:
    """Return the ends of a linear axis: the values with padding, rounded outwards, within ``minimum`` and ``maximum``."""
    span = high - low
    largest = max(abs(low), abs(high))
    if span < _MIN_SPAN or abs(_magnitude(largest) - _magnitude(span)) > _MAX_MAGNITUDES:
        span = _MIN_SPAN if low == 0 or high == 0 else 0.0
    padded_span = span or largest or _SPAN_OF_ZERO
    step = 10.0 ** math.floor(_magnitude(padded_span)) / 10

    def padding(end: float) -> float:
        """Return the padding beyond an end. As in uPlot, equal values other than 0 have a padding as large as themselves."""
        if span:
            return padded_span * _PADDING
        return padded_span * (_PADDING if end == 0 else 1)

    new_low = -_rounded_up((padding(low) - low) / step) * step
    new_high = _rounded_up((high + padding(high)) / step) * step
    # Without a soft limit, zero limits the padding of values that do not cross it.
    soft_low, soft_high = settings.soft_minimum, settings.soft_maximum
    if soft_low is None:
        new_low = 0.0 if low >= 0 >= new_low else new_low
    elif low >= soft_low:
        new_low = soft_low
    if soft_high is None:
        new_high = 0.0 if high <= 0 <= new_high else new_high
    elif high <= soft_high:
        new_high = soft_high
    new_low = new_low if minimum is None else max(minimum, new_low)
    new_high = new_high if maximum is None else min(maximum, new_high)
    return (new_low, _FALLBACK_HIGH) if new_low == new_high == 0 else (new_low, new_high)


def _logarithmic_range(low: float, high: float, base: int, *, has_integers: bool) -> tuple[float, float]:
    """Return the whole powers of the base around the values, with the signs of the values."""
    if has_integers:
        low = max(low, 1.0)
    if low == high:
        low, high = (low * base, high / base) if low < 0 else (low / base, high * base)
    new_low = math.copysign(_power(low, base, is_up=low <= 0), low) if low else 0.0
    new_high = math.copysign(_power(high, base, is_up=high > 0), high) if high else 0.0
    if has_integers:
        # With NaN, the axis has no range: whole numbers on a logarithmic axis are 1 or more.
        return max(new_low, 1.0), math.nan if new_high < 0 else new_high and _power(new_high, base, is_up=True)
    return new_low, new_high


def _power(value: float, base: int, *, is_up: bool) -> float:
    """Return the nearest power of the base, with a whole exponent, above or below the absolute value."""
    exponent = _without_error(math.log2(abs(value)) if base == 2 else math.log10(abs(value)))
    return float(base) ** (math.ceil(exponent) if is_up else math.floor(exponent))


def _bounded(value: float) -> float:
    """Return a value whose sums and quotients with others are finite numbers."""
    return 0.0 if abs(value) < 1 / _MAX_VALUE else min(max(value, -_MAX_VALUE), _MAX_VALUE)


def _magnitude(value: float) -> float:
    """Return the logarithm of a value; infinite if it is not positive."""
    return math.log10(value) if value > 0 else -math.inf


def _rounded_up(value: float) -> float:
    """Return the next whole number, and an infinite value unchanged."""
    value = _without_error(value)
    return float(math.ceil(value)) if math.isfinite(value) else value


def _without_error(value: float) -> float:
    """Return the nearest whole number if only a rounding error is between it and the value."""
    nearest = round(value) if math.isfinite(value) else value
    return float(nearest) if abs(value - nearest) <= 1e-9 * max(1.0, abs(value) * 1e-3) else value
