"""Scales of value axes: which series share one, and the positions of values on it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.plots.ranges import RangeSettings

# Parts of keys of scales without a setting, as Grafana writes them.
_NO_UNIT: Final = "__fixed"
_UNSET: Final = "na"
_BASES: Final = (2, 10)
#: Maximum distance of a position from the plot in pixels, because renderers limit coordinates.
_MAX_POSITION: Final = 20_000.0
#: The span of a scale below which divisions by it are not accurate.
_MIN_SPAN: Final = 1e-300

#: The settings that series of one scale have in common, as Grafana's ``buildScaleKey`` combines them.
ScaleKey = tuple[str, ...]


def scale_key(config: Mapping[str, Any], type_: str) -> ScaleKey:
    """Return the key of the scale of a column with a field configuration and one of Grafana's types, such as ``number``."""
    custom = object_of(config.get("custom"))
    distribution = object_of(custom.get("scaleDistribution"))
    distribution_name = string_of(distribution.get("type")) or "linear"
    return (
        string_of(config.get("unit")) or _NO_UNIT,
        f"{_part(config.get('min'))}-{_part(config.get('max'))}",
        f"{_part(custom.get('axisSoftMin'))}-{_part(custom.get('axisSoftMax'))}",
        string_of(custom.get("axisPlacement")) or "auto",
        f"{distribution_name}{_part(distribution.get('log'))}" if distribution_name == "log" else distribution_name,
        string_of(custom.get("axisLabel")) or _UNSET,
        type_,
    )


def range_settings(config: Mapping[str, Any], *, is_percent: bool) -> RangeSettings:
    """Return the settings of the range of the scale of a column, from its field configuration."""
    custom = object_of(config.get("custom"))
    distribution, base = distribution_of(custom)
    return RangeSettings(
        minimum=number_of(config.get("min")),
        maximum=number_of(config.get("max")),
        soft_minimum=number_of(custom.get("axisSoftMin")),
        soft_maximum=number_of(custom.get("axisSoftMax")),
        is_centred=custom.get("axisCenteredZero") is True,
        has_integers=number_of(config.get("decimals")) == 0,
        is_percent=is_percent,
        distribution=distribution,
        base=base,
    )


def distribution_of(custom: Mapping[str, Any]) -> tuple[str, int]:
    """Return ``linear``, ``log`` or ``symlog``, and the base of the logarithm."""
    distribution = object_of(custom.get("scaleDistribution"))
    name = distribution.get("type")
    base = number_of(distribution.get("log"))
    return name if name in ("log", "symlog") else "linear", int(base) if base in _BASES else 10


@dataclass(frozen=True, slots=True)
class ValueScale:
    """A mapping of values to vertical positions in a plot."""

    low: float  #: The value at the bottom.
    high: float  #: The value at the top.
    height: float  #: The height of the plot in pixels.
    distribution: str = "linear"  #: ``linear``, ``log`` or ``symlog``.
    base: int = 10  #: The base of a logarithmic scale.
    linear_threshold: float = 1.0  #: The absolute value below which a symmetric logarithmic scale is about linear.

    def positions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distances in pixels from the top of the plot; NaN for NaN, and the bottom for values without a logarithm."""
        low, high = self._transformed(np.array([self.low, self.high]))
        if not high > low:
            return np.where(np.isnan(values), np.nan, self.height / 2)
        # The position of a value far beyond a short scale is infinite.
        with np.errstate(over="ignore"):
            positions: NDArray[np.float64] = (1 - (self._transformed(values) - low) / (high - low)) * self.height
        return positions.clip(-_MAX_POSITION, self.height + _MAX_POSITION)

    def position(self, value: float) -> float:
        """Return the distance in pixels of a value from the top of the plot."""
        return float(self.positions(np.array([value]))[0])

    @property
    def baseline(self) -> float:
        """The position of zero, or of the end of the scale that is next to it."""
        if self.distribution == "log":
            return 0.0 if self.high < 0 else self.height
        return self.position(min(max(0.0, self.low), self.high))

    def _transformed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of which equal differences have equal distances in pixels."""
        if self.distribution == "linear":
            # Halves, so that the difference of the ends is finite.
            return values / 2
        if self.distribution == "symlog":
            return np.asarray(np.arcsinh(values / self.linear_threshold))
        # All values of a logarithmic scale have the sign of its ends.
        sign, smallest = (-1.0, -self.high) if self.high < 0 else (1.0, self.low)
        # A scale whose end is 0 covers four powers of the base.
        smallest = smallest if smallest > 0 else max(abs(self.low), abs(self.high)) / float(self.base) ** 4
        return sign * np.log(np.maximum(sign * values, smallest))


def scale_of(custom: Mapping[str, Any], ends: tuple[float, float], height: float) -> ValueScale:
    """Return the scale with its ends for a plot of a height in pixels."""
    distribution, base = distribution_of(custom)
    threshold = number_of(object_of(custom.get("scaleDistribution")).get("linearThreshold"))
    low, high = ends
    if not _MIN_SPAN < high / 2 - low / 2 < math.inf:
        low, high = 0.0, 1.0
    return ValueScale(low, high, height, distribution, base, threshold if threshold and threshold > 0 else 1.0)


def _part(value: Any) -> str:
    """Return a number as it is written in a key; a constant text for any other value."""
    number = number_of(value)
    return _UNSET if number is None else f"{number:.15g}"
